"""State classes against the explorer that goes second by second."""

import math
from fractions import Fraction

import by_ticks
import numpy as np
import pytest
import timed_worlds

from rackproof.checker.timing.classes import Bounds, Classes
from rackproof.checker.timing.moves import moves_of
from rackproof.checker.timing.paths import Paths, paths
from rackproof.checker.timing.reach import violations
from rackproof.checker.timing.stalls import Waits, worst_stall
from rackproof.checker.timing.windows import longest, timed
from rackproof.checker.trace import run


@pytest.mark.parametrize("seed", range(80))
def test_the_same_states_and_the_same_worst_stall_as_second_by_second(seed: int) -> None:
    system = timed_worlds.random_timed(seed)
    moves = moves_of(system)
    states, stall = by_ticks.states_and_stall(system)
    assert {moves.states[c.place.state] for c in Classes(moves).explore()} == states
    found = worst_stall(moves)
    assert found.reason is None
    if found.worst is None:
        assert stall == 0
    else:
        assert (math.inf if found.worst.seconds is None else found.worst.seconds) == stall


@pytest.mark.parametrize("seed", range(100, 170))
def test_the_same_paths_as_second_by_second(seed: int) -> None:
    system = timed_worlds.random_timed(seed, most=3)
    found = paths(moves_of(system))
    expected = by_ticks.paths(system, most=1_500)
    if expected is None or found.reason is not None:
        return
    assert {kind.tags for kind in found.classes} == set(expected)
    for kind in found.classes:
        ranges = {
            "faults": kind.faults,
            "first": kind.first,
            "total": kind.total,
            "bytes": kind.bytes_moved,
            "tokens": kind.tokens_recomputed,
            "joules": kind.joules,
        }
        for name, known in ranges.items():
            assert (known.least, known.most) == expected[kind.tags].get(name, (None, None)), name
        assert kind.is_exact
        assert kind.stall.most == expected[kind.tags]["stall"][1]


def test_most_random_worlds_have_paths_to_compare() -> None:
    compared = [
        seed
        for seed in range(100, 130)
        if by_ticks.paths(timed_worlds.random_timed(seed, most=3), most=1_500) is not None
    ]
    assert len(compared) > 20


@pytest.mark.parametrize("seed", range(20))
def test_regions_are_as_tight_as_they_can_be(seed: int) -> None:
    moves = moves_of(timed_worlds.random_timed(seed))
    for found in Classes(moves, Waits(moves), Bounds(classes=300)).explore():
        closed = found.region.copy()
        for k in range(len(closed)):
            closed = np.minimum(closed, closed[:, k, None] + closed[None, k, :])
        assert (closed == found.region).all()


@pytest.mark.parametrize("seed", range(20))
def test_each_class_is_reached_by_a_run_whose_own_times_allow_it(seed: int) -> None:
    moves = moves_of(timed_worlds.random_timed(seed))
    for found in Classes(moves, None, Bounds(classes=100)).explore():
        trace = run(moves.system, [moves.firings[number] for number in found.firings])
        solved = longest(timed(trace, moves.durations), 0, 0)
        assert solved is not None


def test_a_violation_that_only_another_order_allows_is_found() -> None:
    system = timed_worlds.lease(read_s=40.0)
    found = violations(moves_of(system), system.properties)
    run_ = found.violated["no-overwrite"]
    assert [step.firing.transition.name for step in run_.trace.steps] == [
        "start",
        "expire",
        "reuse",
    ]
    assert run_.schedule.earliest == (0, 0, 30, Fraction(61, 2))
    assert found.reason is None


def test_nothing_is_violated_where_the_read_is_fast() -> None:
    system = timed_worlds.lease()
    found = violations(moves_of(system), system.properties)
    assert found.violated == {}
    assert found.reason is None


def test_rest_comes_only_as_the_times_allow() -> None:
    fast, slow = timed_worlds.watchdog(1, 3, 10), timed_worlds.watchdog(1, 4, 10)
    assert not violations(moves_of(fast), fast.properties).violated
    assert set(violations(moves_of(slow), slow.properties).violated) == {"all-tokens"}


def test_the_worst_stall_of_a_lease_is_that_of_a_late_start_and_a_slow_read() -> None:
    found = worst_stall(moves_of(timed_worlds.lease()))
    assert found.worst is not None
    assert found.worst.seconds == Fraction("2.0003")
    assert (found.worst.begin, found.worst.end) == (0, 2)
    assert found.worst.schedule is not None
    assert found.worst.schedule.earliest == (0, 2, Fraction("2.0003"))


def test_a_wait_that_only_a_fault_can_end_says_so() -> None:
    system = timed_worlds.racing(1, 2)
    assert system.timing is not None
    never = timed_worlds.waiting_for_ever(system)
    found = worst_stall(moves_of(never))
    assert found.worst is not None
    assert found.worst.seconds is None
    assert found.worst.reason == ("nothing with a bound is possible any more, only: It breaks")
    assert [step.firing.transition.name for step in found.worst.trace.steps] == ["left", "right"]


def test_a_heart_that_beats_for_ever_is_told_as_a_loop() -> None:
    found = worst_stall(moves_of(timed_worlds.heartbeat(2, 3)))
    assert found.worst is not None
    assert found.worst.seconds is None
    assert found.worst.trace.loop is not None
    assert "can go on for ever: The heart beats; It rests" in str(found.worst.reason)
    assert paths(moves_of(timed_worlds.heartbeat(2, 3))).reason is not None


def test_a_heart_that_is_stopped_is_told_to_the_second() -> None:
    found = worst_stall(moves_of(timed_worlds.heartbeat(2, 3, stop_s=7.5)))
    assert found.worst is not None
    assert found.worst.seconds == Fraction(15, 2)
    assert found.reason is None
    ways = paths(moves_of(timed_worlds.heartbeat(2, 3, stop_s=7.5)))
    assert ways.reason is None
    assert [kind.total.most for kind in ways.classes] == [Fraction(15, 2)]


def test_a_timer_that_is_not_set_never_goes_off() -> None:
    moves = moves_of(timed_worlds.racing(3, math.inf))
    names = {moves.firings[n].transition.name for c in Classes(moves).explore() for n in c.firings}
    assert names == {"left", "break_down"}
    stall = worst_stall(moves).worst
    assert stall is not None
    assert stall.reason == "nothing with a bound is possible any more, only: It breaks"


def test_paths_of_two_timers() -> None:
    found: Paths = paths(moves_of(timed_worlds.racing(3, 5)))
    kinds = {kind.tags: kind for kind in found.classes}
    assert set(kinds) == {(), ("broken",)}
    for kind in kinds.values():
        assert (kind.first.least, kind.first.most) == (3, 3)
        assert (kind.total.least, kind.total.most) == (5, 5)
        assert (kind.stall.most, kind.is_exact) == (3, True)
        assert kind.joules.most == Fraction(5, 2)
    assert [kind.faults.most for kind in found.classes] == [0, 1]


def test_an_exploration_that_is_cut_short_says_so() -> None:
    moves = moves_of(timed_worlds.watchdog(1, 4, 10))
    assert paths(moves, Bounds(classes=2)).reason == "the limit of 2 classes"
    assert worst_stall(moves, Bounds(seconds=0.0)).reason == "the time limit of 0 s"


def test_times_that_are_too_long_for_exact_ticks_are_not_told_wrong() -> None:
    found = worst_stall(moves_of(timed_worlds.racing(9e6, 9e7)))
    assert found.reason == "times that are too long to be told to the tick"
