"""A failure in the published rack, and what must hold of any failure in any run."""

import math
from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import GB200, LINKS, study, workload

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.aftermath import Aftermath, aftermath
from rackproof.model.performance.failures.outage import Failure, Outages
from rackproof.model.performance.failures.recovery import Policy, Recovery, Storm
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    HandOff,
    Pool,
    PrefixCache,
    Record,
    Request,
    Run,
    simulate,
)

C2C = Link("4 x C2C", 1800, 10, 1.3)
RECOMPUTE = Recovery(Policy.RECOMPUTE)
REQUESTS = list(workload())
STUDY = study(12, 6)
ITL_S = 0.0175
"""Above the longest step of the study's decode pool, with one instance down."""


@pytest.fixture(scope="module")
def before() -> Run:
    return simulate(STUDY, REQUESTS)


def transfer(link: Link) -> Recovery:
    return Recovery(Policy.TRANSFER, link)


def checkpoints(every_s: float) -> Recovery:
    return Recovery(Policy.CHECKPOINT, C2C, every_s=every_s)


def decode_0(before: Run, recovery: Recovery, detection_s: float = 0.0) -> Aftermath:
    """The study's rack as its first decode instance fails, 8 s in."""
    failure = Failure(8.0, ("decode-0",), (recovery,), detection_s)
    return aftermath(STUDY, REQUESTS, [failure], before=before)


@pytest.mark.parametrize(
    ("link", "mean_ms", "most_ms"),
    [
        (LINKS["nvlink"], 47, 67),
        (C2C, 61, 94),
        (LINKS["4x400G"], 281, 520),
        (LINKS["100GbE"], 3994, 7757),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_storm_of_transfers(before: Run, link: Link, mean_ms: int, most_ms: int) -> None:
    found = decode_0(before, transfer(link))
    assert (found.hit, found.lost_tokens, found.recomputed_tokens) == (96, 294_490, 0)
    assert round(found.stall.mean_s * 1e3) == mean_ms
    assert round(found.stall.most_s * 1e3) == most_ms
    assert found.moved_bytes == 294_490 * 327_680
    assert f"{found.run.ttft_prefill.p99:.2f}" == "0.42"


def test_a_storm_of_transfers_is_its_closed_form(before: Run) -> None:
    """And at most the rest of a step, a step, and the step that was lost."""
    contexts = (3067,) * 96
    for link in LINKS.values():
        ends_s = Storm(contexts, 327_680, 1.0).ends_s(transfer(link))
        most_s = decode_0(before, transfer(link)).stall.most_s
        assert ends_s <= most_s <= ends_s + 3 * ITL_S


def test_a_storm_that_is_recomputed(before: Run) -> None:
    """Mean 561 and most 1,255 ms were published: the order within the storm makes 5 % of them."""
    found = decode_0(before, RECOMPUTE)
    assert found.recomputed_tokens == found.lost_tokens == 294_490
    assert found.stall.mean_s == pytest.approx(0.561, rel=0.03)
    assert found.stall.most_s == pytest.approx(1.255, rel=0.06)
    assert found.run.ttft_prefill.p99 == pytest.approx(0.998, rel=0.02)
    assert found.bystanders.prefill_p99_s > 2 * found.bystanders_before.prefill_p99_s
    # No sooner than the whole pool can do it; it then has a backlog, which takes W / (mu - lambda).
    storm = Storm((3067,) * 96, 327_680, 12 / 32.1e-6, before.prompt_tokens / before.last_arrival_s)
    assert storm.ends_s(RECOMPUTE) < found.stall.most_s < 2 * storm.ends_s(RECOMPUTE)
    assert found.drained_s == pytest.approx(storm.drained_s(), rel=0.3)


def test_in_turn_the_storm_waits_for_bystanders(before: Run) -> None:
    first, in_turn = (
        decode_0(before, Recovery(Policy.RECOMPUTE, first=first)) for first in (True, False)
    )
    assert first.stall.mean_s < in_turn.stall.mean_s
    assert first.bystanders.prefill_p99_s > in_turn.bystanders.prefill_p99_s


@pytest.mark.parametrize(("detection_s", "hit"), [(1.0, 103), (10.0, 152)])
def test_until_it_is_known_the_router_feeds_the_dead(
    before: Run, detection_s: float, hit: int
) -> None:
    found = decode_0(before, transfer(LINKS["nvlink"]), detection_s)
    assert found.hit == hit
    assert found.stall.most_s == pytest.approx(detection_s + 0.068, abs=0.004)


def test_after_ten_seconds_detection_is_nearly_all_of_the_stall(before: Run) -> None:
    assert f"{decode_0(before, transfer(LINKS['nvlink']), 10.0).stall.most_s:.2f}" == "10.07"
    recomputed = decode_0(before, RECOMPUTE, 10.0)
    assert recomputed.stall.most_s == pytest.approx(11.28, rel=0.04)
    assert 10 / recomputed.stall.most_s > 0.88


def test_the_choice_is_made_for_the_storm(before: Run) -> None:
    """One request is there sooner over 100GbE than recomputed; 96 are not."""
    choices = (transfer(LINKS["100GbE"]), RECOMPUTE)
    found = aftermath(STUDY, REQUESTS, [Failure(8.0, ("decode-0",), choices)], before=before)
    assert found.policies == (("recompute", 96),)
    assert repr(found.run) == repr(decode_0(before, RECOMPUTE).run)


def test_a_failure_that_never_comes_changes_nothing(before: Run) -> None:
    found = aftermath(STUDY, REQUESTS, [Failure(math.inf, ("decode-0",))], before=before)
    assert repr(found.run) == repr(before)
    assert (found.hit, found.work_J, found.idle_J, found.stall.resumed) == (0, 0, 0, 0)


@pytest.mark.parametrize("at_s", [100.0, 1e9])
def test_nor_does_one_after_the_last_request(before: Run, at_s: float) -> None:
    found = aftermath(STUDY, REQUESTS, [Failure(at_s, ("decode-0", "prefill-3"))], before=before)
    assert repr(found.run) == repr(before)


def test_the_same_failure_twice_is_the_same(before: Run) -> None:
    one, other = (decode_0(before, RECOMPUTE, 1.0) for _ in range(2))
    assert repr(one) == repr(other)


# Any failure of small deployments.

SMALL = study(2, 2)
FEW = list(workload(60, 20.0))


def small(failures: Sequence[Failure], deployment: Deployment = SMALL) -> Aftermath:
    found = aftermath(deployment, FEW, failures)
    check_ends(found)
    return found


def check_ends(found: Aftermath) -> None:
    """Every request ends, and once; nobody finishes before its tokens could be there."""
    run = found.run
    assert run.completed + run.lost + run.rejected == run.offered == len(FEW) == len(run.records)
    assert [record.index for record in run.records] == list(range(len(FEW)))
    for record, request in zip(run.records, FEW, strict=True):
        assert record.outcome in {"completed", "lost"}
        if record.outcome == "completed":
            assert request.arrival_s <= record.started_s
            assert record.prefilled_s <= record.finished_s
    assert found.lost_tokens >= found.recomputed_tokens >= 0 or found.hit > len(FEW)
    assert sum(count for _, count in found.policies) >= found.hit


def test_before_the_first_arrival_it_costs_capacity_only() -> None:
    found = small([Failure(0.0, ("decode-1",))])
    alone = simulate(study(2, 1), FEW)
    assert found.hit == 0
    assert [r.finished_s for r in found.run.records] == [r.finished_s for r in alone.records]


def test_an_idle_instance_costs_nothing_that_was_not_used() -> None:
    sparse = [Request(10.0 * i, 3000, 100) for i in range(1, 6)]
    found = aftermath(SMALL, sparse, [Failure(15.0, ("decode-1", "prefill-1"))])
    assert found.hit == 0
    assert repr(found.run.records) == repr(found.before.records)


def test_without_detection_it_is_never_known() -> None:
    found = small([Failure(1.0, ("decode-0",), detection_s=math.inf)])
    assert found.run.lost == found.hit > 0
    assert dict(found.policies) == {"none": found.hit}
    assert all("nothing happens any more" in reason for reason in found.run.reasons)


@pytest.mark.parametrize("detection_s", [0.0, 0.5])
def test_all_instances_down_and_back(detection_s: float) -> None:
    every = ("prefill-0", "prefill-1", "decode-0", "decode-1")
    found = small([Failure(1.0, every, detection_s=detection_s, restart_s=5.0)])
    assert found.run.completed == len(FEW)
    assert found.stall.most_s > 5.0 + detection_s
    assert found.slo < found.slo_before == 1.0
    # What waited is spread over all that came back.
    last = max(r.finished_s for r in found.run.records)
    assert last < 8.0 + detection_s + max(r.finished_s for r in found.before.records)


def test_all_instances_down_for_good() -> None:
    every = ("prefill-0", "prefill-1", "decode-0", "decode-1")
    found = small([Failure(1.0, every)])
    assert found.run.completed == sum(r.finished_s < 1.0 for r in found.before.records)


def test_two_failures_at_once_are_no_worse_than_one_of_both() -> None:
    """Over one egress and through one pool, whether they are one failure or two."""
    link = Link("thin", 25, 20, 15)
    both = small([Failure(1.0, ("decode-0", "prefill-0"), (transfer(link),), restart_s=1.0)])
    apart = small(
        [
            Failure(1.0, (name,), (transfer(link),), restart_s=1.0)
            for name in ("decode-0", "prefill-0")
        ]
    )
    assert both.hit == apart.hit
    assert both.moved_bytes == apart.moved_bytes > 0
    assert both.stall.most_s == pytest.approx(apart.stall.most_s, abs=0.1)


def test_one_that_is_down_cannot_fail_again() -> None:
    once = small([Failure(1.0, ("decode-0",), restart_s=2.0)])
    again = small([Failure(1.0, ("decode-0",), restart_s=2.0), Failure(1.5, ("decode-0",))])
    assert repr(once.run) == repr(again.run)


def test_a_prefill_instance_loses_what_it_computes_and_nothing_else() -> None:
    found = small([Failure(1.02, ("prefill-0",))])
    assert found.run.completed == len(FEW)
    assert found.hit > 0
    assert found.lost_tokens == 0
    assert all(name == "recompute" for name, _ in found.policies)


def test_kv_that_never_came_is_sent_again() -> None:
    """Over a slow link much is on its way to an instance that is down."""
    slow = study(2, 2, hand_off=HandOff(Link("slow", 12.5, 20, 15)), choose_early=True)
    lost, kept = (
        small([Failure(1.0, ("decode-0",), detection_s=0.5, resend=resend)], slow)
        for resend in (False, True)
    )
    assert "resend" in dict(kept.policies)
    assert kept.lost_tokens < lost.lost_tokens
    assert kept.recomputed_tokens < lost.recomputed_tokens


def test_abort_ends_them_and_store_looks_each_up() -> None:
    aborted = small([Failure(1.0, ("decode-0",), (Recovery(Policy.ABORT),))])
    assert aborted.run.lost == aborted.hit == aborted.stall.ended > 0
    link = LINKS["4x400G"]
    moved = small([Failure(1.0, ("decode-0",), (transfer(link),))])
    store = Recovery(Policy.STORE, link, lookup_s=0.25)
    fetched = small([Failure(1.0, ("decode-0",), (store,))])
    assert fetched.stall.most_s == pytest.approx(moved.stall.most_s + 0.25, abs=ITL_S)
    replica = small([Failure(1.0, ("decode-0",), (Recovery(Policy.REPLICA),))])
    assert replica.moved_bytes == 0
    assert replica.stall.most_s <= 3 * ITL_S


def test_of_checkpoints_the_rest_is_computed_again(before: Run) -> None:
    found = [decode_0(before, checkpoints(every_s)) for every_s in (0.03, 0.5, 4.0)]
    recomputed = [one.recomputed_tokens for one in found]
    assert 0 < recomputed[0] < recomputed[1] < recomputed[2] < 294_490
    assert [one.moved_bytes / 327_680 + one.recomputed_tokens for one in found] == [294_490] * 3
    most = [one.stall.most_s for one in found]
    whole = decode_0(before, RECOMPUTE).stall.most_s
    assert decode_0(before, transfer(C2C)).stall.most_s < most[0] < most[2] < whole


def test_a_checkpoint_that_never_came_saved_nothing(before: Run) -> None:
    never = decode_0(before, checkpoints(17.0))
    assert repr(never.run) == repr(decode_0(before, RECOMPUTE).run)
    assert never.moved_bytes == 0


@pytest.mark.parametrize(("at_s", "saved"), [(1.0, False), (1.21, True)])
def test_no_checkpoint_is_older_than_what_it_saved(at_s: float, saved: bool) -> None:
    """One at 0.4 s knows nothing of a request that comes at 0.5 s; one at 1.2 s does."""
    one = [Request(0.5, 5000, 300)]
    failure = Failure(at_s, ("worker-0",), (checkpoints(0.8),), restart_s=0.0)
    found = aftermath(Aggregated(pool=Pool(GB200, 1)), one, [failure], warm_up=0)
    assert found.moved_bytes / 327_680 + found.recomputed_tokens == found.lost_tokens > 5000
    if saved:
        assert 0 < found.recomputed_tokens < 10
    else:
        assert found.moved_bytes == 0


def test_a_prompt_of_one_token_has_nothing_to_save() -> None:
    failure = Failure(0.6, ("worker-0",), (checkpoints(0.5),), restart_s=0.0)
    one = [Request(0.5, 1, 2000)]
    found = aftermath(Aggregated(pool=Pool(GB200, 1)), one, [failure], warm_up=0)
    assert (found.run.completed, found.moved_bytes) == (1, 0)


def test_what_is_sent_to_the_dead_is_in_no_checkpoint() -> None:
    """Of 103 requests 7 are sent there after it failed, and a dead instance saves nothing."""
    outages = Outages([Failure(8.0, ("decode-0",), (checkpoints(0.03),), 1.0)])
    simulate(STUDY, REQUESTS, script=outages.script())
    late = [c for c in outages.casualties if c.job.handed_over_s > 8.0 and c.context]
    assert late
    assert all(casualty.lost_s == 8.0 for casualty in outages.casualties)


@pytest.mark.parametrize("restart_s", [1.0, math.inf])
def test_a_pool_that_will_be_back_can_recompute(restart_s: float) -> None:
    """With nobody up, to recompute takes the restart, too; that is better than to give up."""
    choices = (Recovery(Policy.ABORT), RECOMPUTE)
    failure = Failure(1.0, ("worker-0",), choices, restart_s=restart_s)
    found = small([failure], Aggregated(pool=Pool(GB200, 1)))
    kept = restart_s < math.inf
    assert found.policies[0][0] == ("recompute" if kept else "abort")
    assert (found.run.completed == len(FEW)) == kept
    assert restart_s < found.closed_s < restart_s + 5 if kept else found.closed_s == math.inf


@pytest.mark.parametrize("streaming", [False, True])
def test_a_way_that_nobody_knows_is_lost_takes_only_what_needs_it(streaming: bool) -> None:
    """Hand-offs that begin in time arrive; the channels that wait for ever are not busy."""
    hand_off = HandOff(LINKS["100GbE"], 2, streaming)
    failure = Failure(1.0, detoured=("prefill-0",), detour=LINKS["100GbE"], detection_s=math.inf)
    run = small([failure], study(2, 2, hand_off=hand_off)).run
    in_time = [r for r in run.records if r.handed_over_s < 1.0]
    assert in_time
    assert {r.outcome for r in in_time} == {"completed"}
    assert run.lost > 0
    assert 0 < run.hand_off_utilisation < 1
    assert all(use.kv_peak <= 1 for use in run.pools)


def test_a_way_that_is_lost_holds_up_hand_offs_only() -> None:
    thin = Link("thin", 12.5, 20, 15)
    names = ("prefill-0", "prefill-1")
    found = small([Failure(1.0, detoured=names, detour=thin, detection_s=0.5, restart_s=1.0)])
    assert (found.hit, found.run.completed) == (0, len(FEW))
    assert found.run.hand_off.most > 0.5
    assert all(took(r) < 0.001 for r in found.run.records if r.prefilled_s > 2.6)


def took(record: Record) -> float:
    return record.handed_over_s - record.prefilled_s


@pytest.mark.parametrize("early", [False, True])
def test_the_way_to_an_instance_may_be_lost(early: bool) -> None:
    thin = Link("thin", 12.5, 20, 15)
    failure = Failure(0.0, detoured=("decode-1",), detour=thin)
    found = small([failure], study(2, 2, choose_early=early))
    times = sorted(took(r) for r in found.run.records)
    assert times[len(times) // 3] < 0.001
    assert times[-len(times) // 3] > 0.01
    assert found.run.energy.hand_off_J > found.before.energy.hand_off_J


def test_an_aggregated_deployment_recovers_too() -> None:
    deployment = Aggregated(pool=Pool(GB200, 3))
    names = [f"worker-{i}" for i in range(3)]
    for recovery in (RECOMPUTE, transfer(LINKS["4x400G"])):
        found = small([Failure(1.5, (names[0],), (recovery,), 0.1, 5.0)], deployment)
        assert found.run.completed == len(FEW)
        assert found.hit > 0


def failures(names: Sequence[str]) -> st.SearchStrategy[Failure]:
    """Any failure of some of these instances, or of the ways to them."""
    some = st.lists(st.sampled_from(names), min_size=1, unique=True).map(tuple)
    times = {
        "at_s": st.sampled_from([0.0, 0.3, 1.0, 2.02, 3.7, 30.0]),
        "detection_s": st.sampled_from([0.0, 0.001, 0.7, math.inf]),
        "restart_s": st.sampled_from([0.0, 0.5, 3.0, math.inf]),
    }
    recoveries = [
        (RECOMPUTE,),
        (Recovery(Policy.RECOMPUTE, first=False),),
        (transfer(LINKS["100GbE"]), RECOMPUTE),
        (Recovery(Policy.REPLICA),),
        (Recovery(Policy.ABORT),),
        (checkpoints(0.25),),
    ]
    stopped = st.builds(
        Failure,
        stopped=some,
        recovery=st.sampled_from(recoveries),
        resend=st.booleans(),
        **times,
    )
    detoured = st.builds(Failure, detoured=some, detour=st.just(LINKS["100GbE"]), **times)
    return st.one_of(stopped, stopped, detoured)


FOUR = ("prefill-0", "prefill-1", "decode-0", "decode-1")
CACHED = [evolve(r, blocks=tuple(range(i % 3, 2 + i % 3))) for i, r in enumerate(FEW)]
DEPLOYMENTS: dict[str, tuple[Deployment, Sequence[str]]] = {
    "study": (SMALL, FOUR),
    "early": (study(2, 2, choose_early=True, decode_routing="estimated-completion"), FOUR),
    "pressed": (study(2, 2, back_pressure=True, decode_batch=8), FOUR),
    "streamed": (study(2, 2, hand_off=HandOff(LINKS["100GbE"], streaming=True)), FOUR),
    "common": (study(2, 2, prefill_routing="first-come", decode_routing="first-come"), FOUR),
    "cached": (study(2, 2, cache=PrefixCache(block_tokens=256, blocks=4)), FOUR),
    "aggregated": (Aggregated(pool=Pool(GB200, 2)), ("worker-0", "worker-1")),
}


@pytest.mark.parametrize("name", DEPLOYMENTS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_request_ends_and_no_token_comes_twice(name: str, data: st.DataObject) -> None:
    deployment, names = DEPLOYMENTS[name]
    some = data.draw(st.lists(failures(names), min_size=1, max_size=3))
    requests = CACHED if name == "cached" else FEW
    outages = Outages(some)
    run = simulate(deployment, requests, script=outages.script(), warm_up=0)
    assert run.completed + run.lost + run.rejected == run.offered == len(FEW)
    assert not run.rejected
    for casualty in outages.casualties:
        job = casualty.job
        assert job.outcome in {"completed", "lost"}
        assert (job.emitted == job.output) == (job.outcome == "completed")
        assert 0 <= job.emitted <= job.output
        assert casualty.context in range(job.prompt + job.output + 1)
        assert casualty.recomputed in range(job.prompt + job.output + 1)
    if not run.lost:
        # Each token but the first ends a gap; those that a recomputation gave are told elsewhere.
        again = sum(casualty.recomputed > 0 for casualty in outages.casualties)
        gaps = sum(request.output - 1 for request in FEW)
        assert gaps - again <= run.itl.count <= gaps
    for record in run.records:
        if record.outcome == "completed":
            assert record.arrival_s <= record.prefilled_s <= record.finished_s
    assert all(0 <= use.kv_mean <= use.kv_peak for use in run.pools)
    assert not run.hand_off_utilisation > 1
    if all(math.isfinite(f.detection_s + f.restart_s) for f in some):
        aborted = sum(policy == "abort" for policy in (c.policy for c in outages.casualties))
        assert run.lost == aborted


def test_bad_failures() -> None:
    with pytest.raises(ModelError, match="at_s is not negative; it is -1"):
        Failure(-1, ("decode-0",))
    with pytest.raises(ModelError, match="detection_s is not negative; it is nan"):
        Failure(1, ("decode-0",), detection_s=math.nan)
    with pytest.raises(ModelError, match="this takes nothing"):
        Failure(1)
    with pytest.raises(ModelError, match="which link has it now"):
        Failure(1, detoured=("decode-0",))
    with pytest.raises(ModelError, match="needs a recovery"):
        Failure(1, ("decode-0",), ())
    with pytest.raises(ModelError, match="no instance 'decode-9' to fail; there are prefill-0"):
        small([Failure(1, ("decode-9",))])
    with pytest.raises(ModelError, match="has 60 records; the workload has 1"):
        aftermath(SMALL, FEW[:1], [], before=simulate(SMALL, FEW))
