"""Runs with times, worked out by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import timed_worlds
from timed_worlds import Block, Raced, lease, left, racing, right, watchdog

from rackproof.checker.report.timed import within_times
from rackproof.checker.timing.amounts import exact
from rackproof.checker.timing.condition import clash, condition, longest_period
from rackproof.checker.timing.durations import Durations
from rackproof.checker.timing.moves import moves_of
from rackproof.checker.timing.network import Conflict, Schedule
from rackproof.checker.timing.possible import possible
from rackproof.checker.timing.reach import violations
from rackproof.checker.timing.windows import TimedTrace, longest, timed, windows
from rackproof.checker.trace import Trace, for_ever, run
from rackproof.model.kernel import Bound, Duration, Firing, System, Transition, evolve
from rackproof.scenarios.worlds import InputError


def ran(system: System, *steps: Transition[..., object]) -> TimedTrace:
    return timed(run(system, [Firing(each, ()) for each in steps]))


def schedule(timing: TimedTrace) -> Schedule:
    found = timing.solve()
    assert isinstance(found, Schedule)
    return found


def test_windows_open_where_an_instance_becomes_possible_and_close_where_it_ceases_to_be() -> None:
    system = lease()
    trace = run(system, [Firing(x, ()) for x in (timed_worlds.start, timed_worlds.expire)])
    found = {
        (w.firing.transition.name, w.opened, w.closed, w.fired)
        for w in windows(trace, Durations(system))
    }
    assert found == {
        ("start", 0, 1, True),
        ("expire", 0, 2, True),
        ("read", 1, 2, False),
        ("reuse", 2, 2, False),
    }


def test_an_instance_that_fires_and_still_is_possible_begins_anew() -> None:
    timing = ran(watchdog(1, 4, 100), timed_worlds.token, timed_worlds.token)
    assert schedule(timing).earliest == (0, 1, 2)
    assert schedule(timing).latest == (0, 4, 8)


def test_a_read_is_over_before_its_lease_ends() -> None:
    timing = ran(lease(), timed_worlds.start, timed_worlds.read, timed_worlds.expire)
    assert schedule(timing).earliest == (0, 0, 0, 30)
    assert schedule(timing).latest == (0, 2, exact(2.0003), 30)


def test_what_is_owed_by_then_has_happened() -> None:
    timing = ran(lease(), timed_worlds.start, timed_worlds.expire)
    found = timing.solve()
    assert isinstance(found, Conflict)
    assert clash(found, timing.durations.values) == (
        "it takes read + 2 s >= lease, but read is 300 us and lease is 30 s"
    )


def test_the_condition_of_an_overwritten_read() -> None:
    timing = ran(lease(), timed_worlds.start, timed_worlds.expire, timed_worlds.reuse)
    names = frozenset(timing.durations.values)
    assert condition(timing, names).words == ("read >= reuse", "read + 2 s >= lease + reuse")
    assert condition(timing, {"read"}).words == ("read >= 28.5 s",)
    assert condition(timing, {"lease"}).is_never
    by_lease = ran(lease(read_s=40), timed_worlds.start, timed_worlds.expire, timed_worlds.reuse)
    assert condition(by_lease, {"lease"}).words == ("lease <= 41.5 s",)
    assert condition(by_lease, {"lease"}).holds
    assert condition(by_lease, ()).amounts == ()


def test_a_watchdog_and_a_slow_token() -> None:
    timing = ran(watchdog(1, 4, 10), timed_worlds.token, timed_worlds.token, timed_worlds.give_up)
    assert schedule(timing).latest[3] == 10
    assert condition(timing, timing.durations.values).words == (
        "limit >= 2 x fast",
        "slow >= fast",
        "3 x slow >= limit",
    )
    early = ran(watchdog(1, 4, 1), timed_worlds.token, timed_worlds.token, timed_worlds.give_up)
    assert isinstance(early.solve(), Conflict)
    assert condition(early, {"limit"}).words == ("limit <= 12 s", "limit >= 2 s")


def test_two_racing_timers() -> None:
    first_left = ran(racing(3, 5), left, right)
    assert schedule(first_left).earliest == (0, 3, 5)
    assert condition(first_left, {"left", "right"}).words == ("right >= left",)
    first_right = ran(racing(3, 5), right)
    assert isinstance(first_right.solve(), Conflict)
    assert condition(first_right, {"left", "right"}).words == ("left >= right",)
    at_once = ran(racing(5, 5), right, left)
    assert schedule(at_once).earliest == (0, 5, 5)


def test_the_longest_time_between_two_steps_is_attained() -> None:
    timing = ran(watchdog(1, 4, 10), timed_worlds.token, timed_worlds.token, timed_worlds.give_up)
    found = longest(timing, 1, 3)
    assert found is not None
    assert found[0] == 8  # to come by second 10 while the second token is 1 to 4 s later
    assert found[1].earliest[3] - found[1].earliest[1] == 8
    assert longest(ran(racing(3, 5), right), 0, 1) is None


def test_a_wait_for_a_fault_has_no_bound() -> None:
    timing = ran(racing(1, 1), left, right, timed_worlds.break_down)
    assert schedule(timing).latest == (0, 1, 1, None)
    found = longest(timing, 2, 3)
    assert found is not None
    assert found[0] is None


def test_a_loop_is_timed_for_two_rounds() -> None:
    system = timed_worlds.heartbeat(2, 3)
    beat, tire = Firing(timed_worlds.beat, ()), Firing(timed_worlds.tire, ())
    looped = for_ever(Trace(system, ()), [beat, tire])
    assert schedule(timed(looped)).earliest == (0, 2, 3, 5, 6)
    assert longest_period(looped, Durations(system)) == 4
    found = possible(looped)
    assert found is not None
    assert found.times[:2] == (2, 3)


def test_a_loop_that_an_urgent_step_breaks_takes_no_time() -> None:
    system = timed_worlds.heartbeat(2, 3, stop_s=100.0)
    looped = Trace(
        system, run(system, [Firing(timed_worlds.beat, ()), Firing(timed_worlds.tire, ())]).steps, 0
    )
    assert longest_period(looped, Durations(system)) == 0


def test_a_world_without_timing_says_so() -> None:
    system = System("bare", Raced(), (left, right))
    assert possible(Trace(system, ())) is None
    with pytest.raises(InputError, match="bare does not say how long anything takes"):
        Durations(system)


def test_bad_values_are_told() -> None:
    with pytest.raises(InputError, match="token takes at least fast = 5 s and at most slow = 4 s"):
        ran(watchdog(5, 4, 10), timed_worlds.token)
    with pytest.raises(InputError, match="lease is nan s, and nothing takes less than no time"):
        ran(lease(lease_s=float("nan")), timed_worlds.start)


def test_bounds_that_change_begin_anew() -> None:
    system = watchdog(1, 4, 10)
    assert system.timing is not None
    limit = evolve(system.timing.quantities["limit"], value=lambda w, _: 10.0 + w.tokens)
    changed = evolve(system.timing, quantities={**system.timing.quantities, "limit": limit})
    timing = ran(evolve(system, timing=changed), timed_worlds.token, timed_worlds.give_up)
    assert isinstance(timing.solve(), Conflict)  # the second token comes within 4 s
    steps = (timed_worlds.token, timed_worlds.token)
    found = list(
        windows(
            run(evolve(system, timing=changed), [Firing(x, ()) for x in steps]), timing.durations
        )
    )
    assert {(w.opened, w.closed) for w in found if w.firing.transition.name == "give_up"} == {
        (0, 1),
        (1, 2),
        (2, 2),
    }


def counting_from_the_start(system: System, holds: Callable[[Any], bool]) -> System:
    """The block is written anew no earlier than 31 s after something is so."""
    assert system.timing is not None
    reuse = Duration("reuse", "", Bound(31.0), Bound(31.0), lambda world, _: holds(world))
    durations = {**system.timing.durations, "reuse": reuse}
    return evolve(system, timing=evolve(system.timing, durations=durations))


def test_a_least_may_count_from_before_a_step_is_possible() -> None:
    steps = (timed_worlds.start, timed_worlds.expire, timed_worlds.reuse)
    system = counting_from_the_start(
        lease(read_s=40), lambda w: w.reading or w.is_read or w.block == Block.FREED
    )
    timing = ran(system, *steps)
    assert schedule(timing).earliest == (0, 0, 30, 31)
    assert schedule(timing).latest == (0, 2, 30, 42)  # 40 s after the start at 2 s it is read
    found = violations(moves_of(system), system.properties)
    assert found.violated["no-overwrite"].schedule.earliest == (0, 0, 30, 31)


def test_what_a_least_counts_from_is_so_where_the_step_is_possible() -> None:
    system = counting_from_the_start(lease(read_s=40), lambda w: w.reading)
    with pytest.raises(InputError, match="reuse counts from what is not so where it is possible"):
        ran(system, timed_worlds.expire)


def test_what_waits_for_ever_never_happens() -> None:
    system = lease(lease_s=float("inf"))
    found = possible(
        run(system, [Firing(x, ()) for x in (timed_worlds.start, timed_worlds.expire)])
    )
    assert found is not None
    assert not found.is_possible
    assert list(found.lines) == [
        "Timing: impossible within these times (lease no end): "
        "never, as lease has no end: The lease ends",
        "This run is possible only when lease <= 2.01 s",
        "Whatever the times are, this run takes read + 2 s >= lease",
    ]


def test_quantities_of_a_state_have_a_name_for_each_value() -> None:
    system = watchdog(1, 4, 10)
    assert system.timing is not None
    slow = evolve(system.timing.quantities["slow"], value=lambda w, _: 4.0 + w.tokens)
    changed = evolve(system.timing, quantities={**system.timing.quantities, "slow": slow})
    timing = ran(evolve(system, timing=changed), timed_worlds.token, timed_worlds.token)
    assert schedule(timing).latest == (0, 4, 9)
    assert set(timing.durations.values) >= {"slow", "slow (5 s)"}
    assert condition(timing, {"slow (5 s)"}).words == ("slow (5 s) >= 1 s",)
    assert timing.durations.values["slow (5 s)"] == Fraction(5)


def test_times_that_contradict_one_another_are_no_way_to_violate_a_property() -> None:
    """The least of a token, without end, would be longer than its most, which is another time."""
    system = watchdog(1, 3, 10)
    trace = run(system, [Firing(timed_worlds.give_up, ())])
    timing = possible(trace)
    assert timing is not None
    assert ("fast", float("inf")) in timing.kinder
    found = within_times(trace, system.properties[0])
    assert found is not None
    assert within_times(trace, system.properties[0]) is found, "it is looked for once"
    told = list(found.lines)
    assert [line.split(" (")[0].strip() for line in told[3:5]] == ["limit <= 3 s", "slow >= 10 s"]
    assert "As here, where limit <= 3 s:" in told
