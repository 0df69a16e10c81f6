"""What steps take and cost on a rack: the figures of the study, and what a token stands for."""

import math
from itertools import product

import pytest
from timed import (
    Step,
    charged,
    duration_of,
    firing_of,
    moments,
    plain_pair,
    span,
    tagged,
    timing_of,
    tokens,
    world,
)

from rackproof.model.kernel import ModelError
from rackproof.model.kernel.timing import Charge
from rackproof.model.protocol import Protocol
from rackproof.model.rack import Rack, place, preset
from rackproof.model.scope import Scope
from rackproof.model.timing.clock import timing
from rackproof.model.timing.costs import Costs
from rackproof.model.timing.deployment import Deployment, deployment
from rackproof.model.timing.timeouts import TIMEOUTS, with_timeouts

PAIR = {"prefill": 1, "decode": 2}
KV = 3000 * 327_680
"""Bytes of a prompt of 3,000 tokens of Llama 3 70B in BF16."""


def costs(tokens: int = 3, rack: Rack | None = None, **parts: object) -> Costs:
    placement = place(rack or preset("nvl72"), prefill=1, decode=2)
    return Costs(deployment(parts), placement, tokens)


# The figures of the rack study (performance.md 1a, 1e).


def test_a_prefill_and_a_step_take_what_the_study_has() -> None:
    assert costs().prefill(0, 0).seconds == pytest.approx(96.37e-3, abs=5e-6)
    # A batch of 51, each half-way through an output of 600 behind a prompt of 3,000.
    assert costs(tokens=2).step_s(1) == pytest.approx(13.1e-3, abs=5e-5)


@pytest.mark.parametrize(
    ("options", "fallen_back", "expected"),
    [
        ({}, False, 273.07e-6 + 5e-6),
        ({}, True, 4.9152e-3 + 10e-6),
        ({"scale-out-GB-s": 3.125}, True, 78.6432e-3 + 10e-6),
    ],
)
def test_a_hand_off_takes_what_the_study_has(
    options: dict[str, object], fallen_back: bool, expected: float
) -> None:
    found = costs(rack=preset("nvl72", options))
    seconds = found.over(found.way(0, 1, fallen_back), found.kv_bytes(0), worst=False)
    assert seconds == pytest.approx(expected, rel=2e-5)


def test_the_world_charges_the_hand_off_and_its_worst() -> None:
    system = world(rack=PAIR, scope={"tokens": 2})
    *_, last = moments(system, plain_pair(0, 0, 1, 0, 2)[:4])
    least, most = span(system, last.after, firing_of(system, "land", 0, 0, 0, 1))
    assert least == pytest.approx(273.07e-6 + 5e-6, rel=1e-4)
    assert most == pytest.approx(273.07e-6 / 0.3 + 5e-6, rel=1e-4)


def test_a_hand_off_in_eight_bits_takes_half() -> None:
    assert costs(**{"kv-format": "fp8"}).kv_bytes(0) == KV / 2


@pytest.mark.parametrize("handles", [1, 3])
def test_handles_share_the_bytes_of_a_transfer(handles: int) -> None:
    system = world(rack=PAIR, scope={"tokens": 1, "handles": handles})
    steps = plain_pair(0, 0, 1, 0, 1)
    steps[4:5] = [steps[4]] * handles
    assert charged(system, steps).bytes_moved == pytest.approx(KV)


def test_a_read_after_a_fault_of_the_domain_goes_over_the_network() -> None:
    system = world(
        rack={"prefill": 1, "decode": 1},
        scope={"requests": 0, "links": 1},
        faults={"domain-fault": 1},
    )
    rest: list[Step] = [("ask", 0), ("connect", 0), ("begin_prepare", 0), ("end_prepare", 0)]
    lands = firing_of(system, "data_lands", 0)
    seconds = []
    for steps in ([*rest, ("post_read", 0)], [("domain_fault",), *rest, ("post_read", 0)]):
        *_, last = moments(system, steps)
        seconds.append(span(system, last.after, lands)[0])
    assert seconds == pytest.approx([278.07e-6, 4.9252e-3], rel=1e-4)


# Ways.


def test_all_gpus_of_an_instance_share_the_one_link_of_the_store() -> None:
    found = costs()
    assert found.store_way.bandwidth_GB_s == pytest.approx(50.0)
    assert found.way(0, 1).bandwidth_GB_s == pytest.approx(3600.0)
    assert found.way(0, 1, fallen_back=True).bandwidth_GB_s == pytest.approx(200.0)


def test_a_rack_without_a_store_has_the_host_for_one() -> None:
    rack = preset("nvl72")
    graph = rack.graph.copy()
    graph.remove_node("store")
    found = costs(rack=Rack("no store", graph))
    # Two hosts of a tray, each joined to two GPUs over a link of its own.
    assert found.store_way.bandwidth_GB_s == pytest.approx(4 * 450.0)


def test_where_there_is_no_way_an_error_names_both_ends() -> None:
    rack = preset("nvl72")
    graph = rack.graph.copy()
    graph.remove_node("network")
    alone = costs(rack=Rack("cut", graph))
    with pytest.raises(ModelError, match="there is no way from gpu-0 to gpu-4 on cut"):
        alone.way(0, 1, fallen_back=True)


# What a token of the world stands for.


@pytest.mark.parametrize(("scope", "output"), [*product([1, 2, 3, 7], [1, 2, 600])])
def test_tokens_of_the_world_stand_for_the_whole_output(scope: int, output: int) -> None:
    found = costs(tokens=scope, output=output)
    assert sum(found.between(i) for i in range(scope)) == pytest.approx(output)
    assert found.real(0) == 0
    assert found.real(scope) == pytest.approx(output)
    if scope > 1:
        assert found.real(1) == 1


def elapsed(tokens_of_scope: int) -> list[float]:
    """The least of each step of a run with no failure, from its prefill on."""
    system = world(rack=PAIR, scope={"tokens": tokens_of_scope})
    steps = plain_pair(0, 0, 1, 0, tokens_of_scope)
    return [span(system, m.before, m.firing)[0] for m in moments(system, steps)]


@pytest.mark.parametrize("scope", [1, 2, 3])
def test_a_run_takes_what_all_its_tokens_take(scope: int) -> None:
    found = costs(tokens=scope)
    engine, batch = found.engine(1), found.deployment.batch
    steps = sum(engine.decode(batch, batch * (3000 + i)).seconds for i in range(600))
    one_way = 0.5e-3
    # Two dispatches, the tokens and the finish over the network; the finish waits for no step.
    others = found.prefill(0, 0).seconds + 278.07e-6 + (3 + scope) * one_way
    assert sum(elapsed(scope)) == pytest.approx(others + steps, rel=1e-3)


def waits(steps: list[Step], **parts: object) -> list[bool]:
    """Whether the client of request-0 waits, at the start and behind each step."""
    system = world(**parts)
    waiting = timing_of(system).waiting
    states = [system.initial, *(m.after for m in moments(system, steps))]
    return [waiting(state)[0] for state in states]


def test_a_client_waits_from_its_first_dispatch_until_tokens_flow() -> None:
    steps = plain_pair(0, 0, 1, 0, 2)
    # Not come; dispatched, prefilled, dispatched, admitted, landed; then streamed to.
    expected = [False, *[True] * 5, *[False] * 5, True, False]
    assert waits(steps, rack=PAIR, scope={"tokens": 2}) == expected


def test_a_client_waits_again_once_its_worker_is_gone() -> None:
    for fault in ("crash", "hang"):
        steps: list[Step] = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), *tokens(0, 0, 0, 1)]
        steps += [(fault, 0)]
        found = waits(steps, rack={"aggregated": 2}, scope={"tokens": 2}, faults={fault: 1})
        assert found == [False, True, False, False, False, True]


def test_the_first_token_is_there_when_an_attempt_runs() -> None:
    # TTFT with the hand-off and a step in it, as DynoSim has it (performance.md 1e):
    # 96.37 + 0.273 + 13.1 ms, and what messages and latencies take.
    times = elapsed(2)
    assert sum(times[:6]) == pytest.approx(109.743e-3 + 1e-3, abs=4e-4)
    assert times[6] == 0.0


def test_what_a_client_has_seen_changes_with_each_token_and_at_the_end() -> None:
    system = world(rack={"aggregated": 1}, scope={"tokens": 2})
    seen = timing_of(system).seen
    steps: list[Step] = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), *tokens(0, 0, 0, 2)]
    steps += [("finish", 0, 0, 0), ("receive_finish", 0, 0)]
    changed = [
        m.firing.transition.name for m in moments(system, steps) if seen(m.before) != seen(m.after)
    ]
    assert changed == ["start_stream", "receive", "receive", "finish", "receive_finish"]


def test_a_decode_worker_that_computes_the_prompt_takes_its_time() -> None:
    system = world(rack=PAIR, scope={"tokens": 2}, faults={"crash": 1})
    steps: list[Step] = [("crash", 0), ("lease_expires", 0), ("dispatch_without_prefill", 0, 1)]
    steps += [("admit", 0, 0, 1, 1)]
    *_, last = moments(system, steps)
    first = firing_of(system, "emit", 0, 0, 1)
    assert timing_of(system).waiting(last.after) == (True,)
    assert span(system, last.after, first)[0] == pytest.approx(96.37e-3, abs=5e-6)
    after = first.apply(system, last.after)
    assert timing_of(system).tags(last.after, first, after) == ("prefill at the decode worker",)
    # Nobody had computed it before.
    assert charged(system, [*steps, ("emit", 0, 0, 1)]).tokens_recomputed == 0


# Charges and tags.


def crash_of(count: int) -> list[Step]:
    """A decode worker dies when its client has so many tokens; another takes over."""
    steps = [*plain_pair(0, 0, 1, 0, 3)[: 6 + 2 * count], ("crash", 1), ("notice", 0, 0, 1)]
    return [*steps, *plain_pair(0, 1, 2, count, 3)]


def test_a_run_with_no_failure_recomputes_nothing() -> None:
    system = world(rack=PAIR, scope={"tokens": 3})
    charge = charged(system, plain_pair(0, 0, 1, 0, 3))
    assert (charge.bytes_moved, charge.tokens_recomputed) == (KV, 0)
    found = costs()
    engine, batch = found.engine(1), found.deployment.batch
    steps = sum(engine.decode(batch, batch * (3000 + i)).joules / batch for i in range(600))
    handed = 8 * KV * 5e-12
    assert charge.joules == pytest.approx(found.prefill(0, 0).joules + steps + handed, rel=1e-3)
    assert tagged(system, plain_pair(0, 0, 1, 0, 3)) == []


@pytest.mark.parametrize(
    ("count", "moment", "context"),
    [(0, "mid-decode", 3000), (1, "mid-decode", 3001), (2, "mid-decode", 3300)],
)
def test_a_crash_in_mid_decode_has_the_kv_computed_and_moved_again(
    count: int, moment: str, context: int
) -> None:
    system = world(rack=PAIR, scope={"tokens": 3}, faults={"crash": 1})
    charge = charged(system, crash_of(count))
    assert charge.tokens_recomputed == context
    assert charge.bytes_moved == pytest.approx(KV + context * 327_680)
    assert tagged(system, crash_of(count)) == [
        f"crash {moment}",
        "KV recomputed",
        "KV transferred",
    ]


def test_a_crash_after_all_was_sent_is_not_in_mid_decode() -> None:
    """It costs nothing, unless what was sent is not heard."""
    system = world(rack=PAIR, scope={"tokens": 3}, faults={"crash": 1})
    names = [step[0] for step in plain_pair(0, 0, 1, 0, 3)]
    last = max(i for i, name in enumerate(names) if name.startswith(("emit", "finish")))
    steps = [*plain_pair(0, 0, 1, 0, 3)[: last + 1], ("crash", 1)]
    assert tagged(system, steps) == ["crash after the last token"]
    assert charged(system, steps).tokens_recomputed == 0


def test_a_crash_before_anything_was_computed_recomputes_nothing() -> None:
    system = world(rack={"aggregated": 2}, scope={"tokens": 1}, faults={"crash": 1})
    steps: list[Step] = [("dispatch", 0, 0), ("crash", 0), ("lease_expires", 0)]
    steps += [("cancel_pending", 0, 0, 0), ("dispatch", 0, 1), ("start_stream", 0, 1, 1)]
    assert charged(system, steps).tokens_recomputed == 0
    assert tagged(system, steps) == ["crash before the first token"]


def test_a_second_failure_and_giving_up_are_told() -> None:
    system = world(rack={"aggregated": 2}, scope={"tokens": 1}, faults={"crash": 2})
    steps: list[Step] = []
    for attempt in (0, 1):
        steps += [("dispatch", 0, attempt), ("start_stream", 0, attempt, attempt)]
        steps += [("crash", attempt), ("notice", 0, attempt, attempt)]
    assert tagged(system, steps) == [
        "crash mid-decode",
        "KV recomputed",
        "crash mid-decode",
        "second failure",
        "gives up",
    ]


def test_a_crash_of_a_worker_that_serves_nobody_says_so() -> None:
    system = world(rack={"aggregated": 2}, faults={"crash": 1})
    assert tagged(system, [("dispatch", 0, 0), ("crash", 1)]) == ["crash, no request hit"]


def test_a_tray_that_goes_hits_whoever_is_on_it() -> None:
    system = world(rack={"aggregated": 2}, faults={"tray-loss": 1})
    assert tagged(system, [("dispatch", 0, 0), ("tray_loss", 0)]) == [
        "tray loss before the first token"
    ]


def test_a_client_that_leaves_is_no_failure() -> None:
    system = world(rack={"aggregated": 1}, faults={"leave": 1, "crash": 1})
    assert tagged(system, [("leave", 0), ("crash", 0)]) == ["cancelled", "crash, no request hit"]


def test_kv_that_a_frozen_worker_kept_is_told() -> None:
    system = world(rack={"aggregated": 1}, faults={"hang": 1, "resume": 1})
    steps: list[Step] = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("hang", 0), ("resume", 0)]
    assert tagged(system, steps)[-1] == "KV kept"


def test_an_object_from_the_store_moves_its_bytes_once() -> None:
    system = world(rack={"aggregated": 1}, scope={"requests": 0, "clients": 1, "stored": 1})
    steps: list[Step] = [("look_up", 0, 0), ("find", 0, 0, 0), ("read_first_half", 0, 0)]
    steps += [("read_second_half", 0, 0), ("validate", 0, 0), ("use", 0, 0, 0)]
    assert charged(system, steps).bytes_moved == KV
    assert tagged(system, steps) == ["KV from the store"]


# What is wrong with what is given.


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        ({"kv-leese": 1.0}, "there is no timeout 'kv-leese'; did you mean kv-lease"),
        ({"lease": 0.0}, "the timeout lease is more than no time at all, not 0.0 s"),
        ({"lease": -1.0}, "not -1.0 s"),
        ({"lease": math.nan}, "not nan s"),
    ],
)
def test_timeouts_that_make_no_sense_are_refused(seconds: dict[str, float], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        with_timeouts(TIMEOUTS, seconds)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"outptu": 3}, "a deployment has no 'outptu'; did you mean output"),
        ({"prompt": 0}, "prompt is positive, not 0"),
        ({"output": 1.5}, "output is a whole number, not 1.5"),
        ({"link-share": 1.5}, "link_share is a share, above 0 and up to 1"),
        ({"network-rtt": math.nan}, "network_rtt is a number, not nan"),
        ({"queue-wait": -1.0}, "queue_wait is not negative"),
        ({"restart": 700.0}, "restart-at-worst is 600 s, less than the 700 s of restart"),
    ],
)
def test_deployments_that_make_no_sense_are_refused(parts: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        deployment(parts)


def test_names_that_are_not_known_are_told_when_they_are_looked_up() -> None:
    with pytest.raises(ModelError, match="there is no GPU 'gb2000'; did you mean gb200"):
        costs(gpu="gb2000").check()


def test_a_charge_of_a_step_that_moves_nothing_is_nothing() -> None:
    system = world()
    assert charged(system, [("dispatch", 0, 0)]) == Charge()
    assert duration_of(system, firing_of(system, "dispatch", 0, 0)).name == "dispatch"


def test_a_prefill_worker_that_goes_once_decode_runs_hits_nobody() -> None:
    system = world(rack=PAIR, scope={"tokens": 3}, faults={"crash": 1})
    read, running = (plain_pair(0, 0, 1, 0, 3)[:n] for n in (5, 6))
    assert tagged(system, [*read, ("crash", 0)]) == ["crash before the first token"]
    assert tagged(system, [*running, ("crash", 0)]) == ["crash, no request hit"]


def test_a_load_that_fails_and_is_recomputed_costs_a_prefill_more() -> None:
    system = world(
        mechanisms={"load-failure": "recompute"},
        rack=PAIR,
        scope={"tokens": 2},
        faults={"transfer-failure": 1},
    )
    steps = plain_pair(0, 0, 1, 0, 2)
    steps[4] = ("transfer_failure", 0, 0, 1)
    plain = charged(system, plain_pair(0, 0, 1, 0, 2))
    failed = charged(system, steps)
    assert (failed.bytes_moved, failed.tokens_recomputed) == (0, 3000)
    prefill, handed = costs().prefill(0, 0).joules, 8 * KV * 5e-12
    assert failed.joules == pytest.approx(plain.joules + prefill - handed, rel=1e-6)
    first = next(m for m in moments(system, steps) if m.firing.transition.name == "emit")
    assert span(system, first.before, first.firing)[0] == pytest.approx(96.37e-3, abs=5e-6)
    assert "prefill at the decode worker" in tagged(system, steps)


def test_a_short_prompt_takes_a_step_and_moves_nothing() -> None:
    system = world(rack=PAIR, scope={"tokens": 2, "short": True})
    steps = plain_pair(0, 0, 1, 0, 2)
    del steps[4:6]
    first = next(m for m in moments(system, steps) if m.firing.transition.name == "emit")
    assert span(system, first.before, first.firing)[0] == costs(tokens=2).step_s(1)
    assert charged(system, steps).bytes_moved == 0


def test_a_client_waits_when_its_connection_breaks_or_its_worker_forgets_it() -> None:
    start: list[Step] = [("dispatch", 0, 0), ("start_stream", 0, 0, 0)]
    one = {"rack": {"aggregated": 1}, "scope": {"tokens": 2}}
    broken = waits([*start, ("disconnect", 0, 0)], **one, faults={"disconnect": 1})
    assert broken == [False, True, False, True]
    again: list[Step] = [*start, ("crash", 0), ("restart", 0)]
    assert waits(again, **one, faults={"crash": 1, "restart": 1})[-2:] == [True, True]


def test_a_client_that_left_does_not_wait() -> None:
    steps: list[Step] = [("dispatch", 0, 0), ("leave", 0)]
    assert waits(steps, rack=PAIR, faults={"leave": 1}) == [False, True, False]


def test_an_attempt_that_goes_on_is_charged_for_what_it_emits() -> None:
    # Behind two tokens of three: the last is the first that the next attempt has.
    system = world(rack=PAIR, scope={"tokens": 3}, faults={"crash": 1})
    emitted = [m for m in moments(system, crash_of(2)) if m.firing.transition.name == "emit"]
    charge = timing_of(system).charge
    joules = [charge(m.before, m.firing, m.after).joules for m in emitted]
    assert len(joules) == 3
    assert joules[2] == pytest.approx(joules[0], rel=0.1)
    assert joules[1] == pytest.approx(299.5 * joules[0], rel=0.1)


def test_a_model_that_does_not_fit_is_refused_when_a_world_is_made() -> None:
    placement = place(preset("nvl72"), prefill=1, decode=1)
    with pytest.raises(ModelError, match="llama-3-405b does not fit"):
        timing(Protocol(), Scope(), placement, Deployment(model="llama-3-405b"))


def test_a_fault_among_peers_hits_no_request() -> None:
    system = world(rack={"prefill": 1, "decode": 1}, scope={"links": 1}, faults={"peer-crash": 1})
    steps: list[Step] = [("dispatch", 0, 0), ("peer_crash", 0)]
    assert tagged(system, steps) == ["peer crash, no request hit"]
