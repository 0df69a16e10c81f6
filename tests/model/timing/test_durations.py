"""Every transition takes its time: durations exist, are used, and have bounds in their order."""

import math
import random
from pathlib import Path

import pytest
from timed import bound, duration_of, firing_of, moments, plain_pair, span, timing_of, world

from rackproof.model.build import TRANSITIONS
from rackproof.model.kernel import Kind, System, successors
from rackproof.model.protocol import Protocol, mechanisms, with_mechanisms
from rackproof.model.timing.durations import durations
from rackproof.scenarios.loader import load
from rackproof.scenarios.stacks import load_stack, stack_names

ROOT = Path(__file__).parents[3] / "scenarios"
SCENARIOS = sorted([*(ROOT / "bugs").glob("*.yaml"), *(ROOT / "drills").glob("*.yaml")])
PAIR = {"prefill": 1, "decode": 2}
FIVE_KINDS = (Kind.FAULT, Kind.CLIENT, Kind.ENVIRONMENT)


@pytest.mark.parametrize("stack", stack_names())
def test_every_transition_has_a_duration_and_every_duration_a_transition(stack: str) -> None:
    there = durations(load_stack(stack).protocol)
    assert {transition.duration for transition in TRANSITIONS} == set(there)
    assert all(name == duration.name and duration.text for name, duration in there.items())


def test_every_quantity_is_part_of_a_duration_and_has_a_source() -> None:
    timing = timing_of(world())
    protocols = [Protocol()] + [
        with_mechanisms(Protocol(), {item.name: getattr(value, "value", value)})
        for item in mechanisms()
        for value in item.values
    ]
    spans = [d for protocol in protocols for d in durations(protocol).values()]
    bounds = [b for d in spans for b in (d.least, d.most) if b is not None]
    assert {name for terms in bounds for name in terms.times} == set(timing.quantities)
    assert all(quantity.source and quantity.text for quantity in timing.quantities.values())
    assert all(name == quantity.name for name, quantity in timing.quantities.items())


def test_what_is_owed_to_nobody_has_no_bound_and_all_else_has_one() -> None:
    there = durations(Protocol())
    for transition in TRANSITIONS:
        most = there[str(transition.duration)].most
        assert (most is None) == (transition.kind in FIVE_KINDS), transition.name


def test_only_bookkeeping_takes_no_time_at_all() -> None:
    there = durations(Protocol())
    free = {t.name for t in TRANSITIONS if (d := there[str(t.duration)]).most == d.least}
    free = {name for name in free if not there_of(name).least.times}
    assert free == {"trust", "use_hot_copy", "begin_prepare"}


def there_of(name: str):  # type: ignore[no-untyped-def]
    transition = next(t for t in TRANSITIONS if t.name == name)
    return durations(Protocol())[str(transition.duration)]


def looked_at(system: System, seed: int, steps: int) -> None:
    """Bounds, charges, tags and clients of every instance on a random way."""
    timing, rng, state = timing_of(system), random.Random(seed), system.initial
    for _ in range(steps):
        possible = list(successors(system, state))
        for firing, after in possible:
            least, most = span(system, state, firing)
            assert 0 <= least <= most, firing.words(system)
            assert least < math.inf, firing.words(system)
            since = duration_of(system, firing).since
            assert since is None or since(state, firing), firing.words(system)
            charge = timing.charge(state, firing, after)
            assert 0 <= charge.bytes_moved < math.inf
            assert 0 <= charge.joules < math.inf
            assert charge.tokens_recomputed >= 0
            assert all(timing.tags(state, firing, after))
        assert len(timing.seen(state)) == len(timing.waiting(state)) == len(timing.clients)
        if not possible:
            return
        state = rng.choice(possible)[1]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_bounds_are_in_order_in_every_bundled_world(path: Path) -> None:
    looked_at(load(path).case.setting.system, seed=3, steps=16)


def test_a_lease_is_found_lost_after_five_to_ten_seconds() -> None:
    # performance.md 4.5: a TTL of 10 s, renewed every half: 5 to 10 s, 7.5 in the mean.
    system = world(stack="dynamo", rack={"aggregated": 1}, faults={"crash": 1})
    (crash,) = moments(system, [("crash", 0)])
    least, most = span(system, crash.after, firing_of(system, "lease_expires", 0))
    assert (least, most) == (5.0, 10.0)
    assert (least + most) / 2 == 7.5


def test_a_broken_stream_is_noticed_within_a_round_trip() -> None:
    system = world(rack={"aggregated": 1}, faults={"crash": 1})
    steps = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("crash", 0)]
    *_, last = moments(system, steps)
    least, most = span(system, last.after, firing_of(system, "notice", 0, 0, 0))
    assert 0 < least < most <= 1e-3


def test_a_request_comes_when_it_likes_and_is_sent_again_at_once() -> None:
    system = world(rack={"aggregated": 2}, faults={"crash": 1})
    dispatch = firing_of(system, "dispatch", 0, 0)
    assert span(system, system.initial, dispatch)[1] == math.inf
    steps = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("crash", 0), ("notice", 0, 0, 0)]
    *_, last = moments(system, steps)
    assert span(system, last.after, firing_of(system, "dispatch", 0, 1)) == (0.5e-3, 1e-3)


def read_of(**timeouts: str) -> tuple[System, list]:  # type: ignore[type-arg]
    """A pair whose KV is held by a lease, up to the posted read."""
    system = world(
        mechanisms={"release": "lease"},
        rack=PAIR,
        scope={"tokens": 1},
        faults={"slow-read": 1},
        timeouts=timeouts,
    )
    return system, list(moments(system, plain_pair(0, 0, 1, 0, 1)[:4]))


def test_a_read_outlives_its_lease_from_the_prefill_on() -> None:
    system, run = read_of()
    slow = firing_of(system, "slow_read", 0, 0)
    since = duration_of(system, slow).since
    assert since is not None
    assert [since(m.after, slow) for m in run] == [False, True, True, True]
    assert [slow.apply(system, m.after) is not None for m in run] == [False, False, True, True]
    assert span(system, run[-1].after, slow) == (30.0, math.inf)


def test_the_condition_of_a_read_that_outlives_its_lease() -> None:
    # From the prefill on, the read is over after a dispatch, an admission and a transfer.
    system, run = read_of()
    held, dispatched, admitted = (m.after for m in run[1:])
    latest = (
        span(system, held, run[2].firing)[1]
        + span(system, dispatched, run[3].firing)[1]
        + span(system, admitted, firing_of(system, "land", 0, 0, 0, 1))[1]
    )
    assert latest == pytest.approx(1e-3 + 0.32 + 0.0129 + 9.15e-4, rel=1e-2)
    assert latest < 30.0
    short, run = read_of(**{"kv-lease": "300 ms"})
    slow = firing_of(short, "slow_read", 0, 0)
    assert span(short, run[-1].after, slow)[0] == 0.3 < latest


def test_a_frozen_worker_is_chosen_again_only_if_its_lease_outlasts_two_timers() -> None:
    # The worker freezes; the stream is given up, the inhibition ends, and it is still listed.
    system = world(
        mechanisms={"probe-before-restore": False}, rack={"aggregated": 1}, faults={"hang": 1}
    )
    steps = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("hang", 0)]
    hung = list(moments(system, steps))[-1].after
    timeout = firing_of(system, "stream_timeout", 0, 0, 0)
    given_up = timeout.apply(system, hung)
    restore = firing_of(system, "restore", 0)
    soonest = span(system, hung, timeout)[0] + span(system, given_up, restore)[0]
    latest = span(system, hung, firing_of(system, "lease_expires", 0))[1]
    assert (soonest, latest) == (35.0, 10.0)


def test_silence_begins_when_tokens_stop() -> None:
    system = world(rack={"aggregated": 1}, scope={"tokens": 2}, faults={"hang": 1})
    timeout = firing_of(system, "stream_timeout", 0, 0, 0)
    since = duration_of(system, timeout).since
    assert since is not None
    steps = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("emit", 0, 0, 0), ("hang", 0)]
    silent = [since(m.after, timeout) for m in moments(system, steps)]
    # No stream yet; streamed to; a token is on its way, also when the worker hangs.
    assert silent == [False, False, False, False]
    *_, last = moments(system, [*steps, ("receive", 0, 0)])
    assert since(last.after, timeout)


@pytest.mark.parametrize(("transfer", "expected"), [("pull", (0.0, 7.0)), ("push", (5.0, 10.0))])
def test_who_moves_kv_finds_a_peer_gone(transfer: str, expected: tuple[float, float]) -> None:
    system = world(mechanisms={"transfer": transfer}, rack=PAIR, faults={"crash": 1})
    steps = [*plain_pair(0, 0, 1, 0, 1)[:4], ("crash", 0)]
    *_, last = moments(system, steps)
    assert span(system, last.after, firing_of(system, "peer_is_gone", 0, 0, 0, 1)) == expected


def test_hold_is_exact_under_a_lease_and_within_half_of_it_under_heartbeats() -> None:
    for release, least in (("lease", 30.0), ("heartbeat", 15.0)):
        hold = durations(with_mechanisms(Protocol(), {"release": release}))["kv-lease"]
        system = world(mechanisms={"release": release})
        firing = firing_of(system, "hold_expires", 0, 0, 0)
        assert bound(system, system.initial, firing, hold.least) == least
        assert hold.most is not None
        assert bound(system, system.initial, firing, hold.most) == 30.0
        assert (hold.since is not None) == (release == "lease")


def test_a_timeout_that_is_not_set_never_comes() -> None:
    system = world(rack={"aggregated": 1}, faults={"hang": 1}, timeouts={"stream-timeout": "none"})
    steps = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("hang", 0)]
    *_, last = moments(system, steps)
    timeout = firing_of(system, "stream_timeout", 0, 0, 0)
    assert span(system, last.after, timeout) == (math.inf, math.inf)


def test_a_read_of_a_block_that_was_given_away_may_meet_the_next_prefill() -> None:
    system, run = read_of()
    land = firing_of(system, "land", 0, 0, 0, 1)
    freed = firing_of(system, "slow_read", 0, 0).apply(system, run[-1].after)
    held, given_away = (span(system, state, land)[1] for state in (run[-1].after, freed))
    assert held == pytest.approx(9.15e-4, rel=1e-3)
    assert given_away == pytest.approx(held + 96.37e-3, rel=1e-3)


@pytest.mark.parametrize(("probes", "most"), [(False, 5.0), (True, 18.0)])
def test_who_is_probed_before_it_is_restored_waits_for_the_probe(probes: bool, most: float) -> None:
    system = world(
        mechanisms={"probe-before-restore": probes},
        rack={"aggregated": 1},
        faults={"disconnect": 1},
    )
    steps = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("disconnect", 0, 0)]
    *_, last = moments(system, [*steps, ("notice", 0, 0, 0)])
    assert span(system, last.after, firing_of(system, "restore", 0)) == (5.0, most)


def test_a_booking_is_as_old_as_its_dispatch() -> None:
    system = world(rack={"aggregated": 1}, scope={"tokens": 1}, faults={"lost-release": 1})
    steps = [("dispatch", 0, 0), ("start_stream", 0, 0, 0), ("finish_with_last_token", 0, 0, 0)]
    steps += [("receive", 0, 0), ("receive_finish", 0, 0), ("lost_release", 0)]
    expire = firing_of(system, "expire_booking", 0)
    since = duration_of(system, expire).since
    assert since is not None
    run = list(moments(system, steps))
    assert not since(run[0].before, expire)
    assert all(since(m.after, expire) for m in run)
    assert [expire.apply(system, m.after) is not None for m in run] == [False] * 5 + [True]
    assert span(system, run[-1].after, expire) == (300.0, 360.0)


@pytest.mark.parametrize(("release", "hold"), [("lease", {"kv-lease"}), ("heartbeat", set())])
def test_what_counts_from_before_is_what_was_set_going_before(release: str, hold: set[str]) -> None:
    there = durations(with_mechanisms(Protocol(), {"release": release}))
    assert {name for name, duration in there.items() if duration.since} == hold | {
        "booking-expiry",
        "inhibition",
        "load-timeout",
        "outlived-kv-lease",
        "outlived-store-lease",
        "recovery-timeout",
        "stream-timeout",
    }


def test_a_read_of_the_store_counts_from_its_look_up() -> None:
    system = world(
        mechanisms={"store-protection": "lease"},
        rack={"aggregated": 1},
        scope={"requests": 0, "clients": 1, "stored": 1},
        faults={"slow-get": 1},
    )
    slow = firing_of(system, "slow_get", 0, 0)
    since = duration_of(system, slow).since
    assert since is not None
    steps = [
        ("look_up", 0, 0),
        ("find", 0, 0, 0),
        ("read_first_half", 0, 0),
        ("read_second_half", 0, 0),
    ]
    assert [since(m.after, slow) for m in moments(system, steps)] == [False, True, True, True]


def test_a_load_counts_from_when_its_target_waits() -> None:
    system, run = read_of()
    late = firing_of(system, "load_timeout", 0, 0, 0, 1)
    since = duration_of(system, late).since
    assert since is not None
    assert [since(m.after, late) for m in run] == [False, False, False, True]


def test_a_router_that_started_counts_from_its_start() -> None:
    system = world(
        rack={"aggregated": 1},
        scope={"requests": 0, "prefixes": 1},
        faults={"router-restart": 1},
    )
    late = firing_of(system, "recovery_times_out")
    since = duration_of(system, late).since
    assert since is not None
    (restart,) = moments(system, [("router_restart",)])
    assert (since(restart.before, late), since(restart.after, late)) == (False, True)
