"""Orders left out of a search: the same verdicts, no more states; what interferes is found out."""

from __future__ import annotations

from typing import Any

import pytest
import worlds
from random_worlds import random_loops, random_world

from rackproof.checker.engines import Options
from rackproof.checker.engines import explore as verified
from rackproof.checker.lowering import lower
from rackproof.checker.proof.reduction import Reduction, reduction
from rackproof.checker.reducing import explore_reduced
from rackproof.checker.search import Exploration, Limits, explore
from rackproof.checker.symmetry import interchangeable
from rackproof.checker.verdicts import Verdict, results
from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    at_rest,
    bounded,
    each,
    eventually,
    evolve,
    fault,
    frozen,
    put,
    sometimes,
    step,
    transition,
)

Lanes = Identifiers("lane")


@frozen
class Lane:
    count: int = bounded(0, 3)
    over: bool = False


@frozen
class World:
    lanes: tuple[Lane, ...] = each(Lanes)
    crashes_left: int = bounded(0, 1)
    down: bool = False
    bad: bool = False


def _lane(world: World, lane: int, **changes: Any) -> World:
    return evolve(world, lanes=put(world.lanes, lane, evolve(world.lanes[lane], **changes)))


@transition(step, lane=Lanes)
def count(world: World, lane: int) -> World | None:
    """{lane} counts."""
    here = world.lanes[lane]
    return None if here.count == 3 else _lane(world, lane, count=here.count + 1)


@transition(step, lane=Lanes)
def end(world: World, lane: int) -> World | None:
    """{lane} has counted all, and ends."""
    return _lane(world, lane, over=True) if world.lanes[lane].count == 3 else None


@transition(step, lane=Lanes)
def live_count(world: World, lane: int) -> World | None:
    """{lane} counts while the machine is up."""
    here = world.lanes[lane]
    if here.count == 3 or world.down:
        return None
    return _lane(world, lane, count=here.count + 1)


@transition(fault)
def crash(world: World) -> World | None:
    """The machine goes down: what had counted two is bad."""
    if not world.crashes_left or world.down:
        return None
    bad = any(lane.count == 2 for lane in world.lanes)
    return evolve(world, crashes_left=0, down=True, bad=bad)


@transition(fault)
def spare(world: World) -> World | None:
    """The machine would have gone down, and does not."""
    return evolve(world, crashes_left=0) if world.crashes_left else None


@transition(step, lane=Lanes)
def undo(world: World, lane: int) -> World | None:
    """{lane} counts down again."""
    here = world.lanes[lane]
    return None if here.count == 0 else _lane(world, lane, count=here.count - 1)


@always()
def never_bad(world: World) -> bool:
    """Nothing bad happens."""
    return not world.bad


@at_rest(lane=Lanes)
def all_over(world: World, lane: int) -> bool:
    """At rest every lane is over."""
    return world.lanes[lane].over


@always(lane=Lanes)
def never_two(world: World, lane: int) -> bool:
    """No lane is at two."""
    return world.lanes[lane].count != 2


@sometimes(lane=Lanes)
def at_two(world: World, lane: int) -> bool:
    """A lane is at two."""
    return world.lanes[lane].count == 2


@eventually(lane=Lanes)
def gets_over(world: World, lane: int) -> bool:
    """Every lane gets over."""
    return world.lanes[lane].over


def world(transitions: Any, properties: Any, crashes: int = 0, lanes: int = 3) -> System:
    """Lanes that count by themselves."""
    start = World(lanes=tuple(Lane() for _ in range(lanes)), crashes_left=crashes)
    return System("lanes", start, transitions, properties)


def certified(system: System) -> Reduction:
    return reduction(lower(system))


def states(system: System, symmetry: bool = False) -> tuple[int, int]:
    """With every order, and with those left out that z3 allows."""
    relation = lower(system)
    classes = interchangeable(relation) if symmetry else ()
    local = reduction(relation).local
    whole, part = explore(relation, classes), explore(relation, classes, alone=local)
    assert whole.exhausted
    assert part.exhausted
    return whole.states, part.states


def test_independent_lanes_go_one_after_another() -> None:
    system = world((count, end), (all_over,))
    assert certified(system).names == ("count", "end")
    assert states(system) == (5**3, 3 * 4 + 1)


def test_with_symmetry_too() -> None:
    assert states(world((count, end), (all_over,)), symmetry=True) == (35, 13)


def test_what_a_property_sees_is_not_taken_alone() -> None:
    found = certified(world((count, end), (gets_over,)))
    assert found.names == ("count",)
    assert found.refused == (("end", "gets-over may see it"),)
    for prop in (never_two, at_two):
        found = certified(world((count, end), (all_over, prop)))
        assert found.names == ("end",)
        assert found.refused == (("count", f"{prop.name} may see it"),)


def test_a_hand_declared_reduction_would_miss_this() -> None:
    """Counting shares no variable with what a crash writes, but a crash looks at it."""
    system = world((count, end, crash), (never_bad,), crashes=1)
    relation = lower(system)
    assert "never-bad" in explore(relation).violations
    assert "never-bad" not in explore(relation, alone=_declared(system)).violations
    assert "never-bad" in explore_reduced(relation).seen.violations


def _declared(system: System) -> Any:
    """What one would declare by hand: counting is always taken alone."""
    calm = evolve(system, transitions=(count, end), properties=(all_over,))
    by_hand = reduction(lower(calm)).local
    relation = lower(system)
    numbers = [
        n for n, a in enumerate(relation.actions) if a.firing.transition.name in ("count", "end")
    ]
    always_true = relation.arena.const(1)
    return [type(by_hand[0])(number=number, condition=always_true) for number in numbers]


def test_taken_alone_only_once_the_crash_is_over() -> None:
    system = world((live_count, crash, spare), (all_over,), crashes=1)
    assert certified(system).names == ("live_count",)
    relation = lower(system)
    found = explore(relation, alone=reduction(relation).local)
    assert found.states == 3 * 4**3
    assert found.alone == pytest.approx((4**3 - 1) / found.states)


def test_no_loop_of_local_steps() -> None:
    found = certified(world((count, undo), (never_bad,)))
    assert found.names == ("count",)
    assert found.refused == (("undo", "no measure grows with it"),)


def test_a_violation_is_told_by_its_shortest_run() -> None:
    @at_rest()
    def rests_nowhere(world: World) -> bool:
        """There is no rest."""
        return world.down and not world.down

    system = world((count, end, crash), (rests_nowhere,), crashes=1)
    with_all = verified(system, None, Options())
    reduced = verified(system, None, Options(reduce=True))
    name = "rests-nowhere"
    assert reduced.violated[name].lead == with_all.violated[name].lead
    assert reduced.longer == frozenset()
    assert reduced.note is not None
    assert reduced.note.endswith("then without, for the shortest runs")


def test_a_run_is_not_called_the_shortest_where_none_was_looked_for() -> None:
    @at_rest()
    def rests_nowhere(world: World) -> bool:
        """There is no rest."""
        return world.down and not world.down

    system = world((count, end), (rests_nowhere,))
    relation = lower(system)
    found = explore_reduced(relation, limits=Limits(max_states=20))
    assert found.longer == {"rests-nowhere"}
    assert found.note.endswith("then without, which did not end")
    seen = verified(system, None, Options())
    (result,) = results(system, evolve(seen, longer=found.longer), {})
    assert result.verdict is Verdict.VIOLATED
    assert result.words == "violated: 0 faults, at most 12 steps"


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_small_worlds(name: str) -> None:
    make, _, orbits = worlds.WORLDS[name]
    relation = lower(make())
    assert same(relation) <= orbits


@pytest.mark.parametrize("seed", range(40))
def test_random_world(seed: int) -> None:
    same(lower(random_world(seed)))


@pytest.mark.parametrize("seed", range(12))
def test_random_loops(seed: int) -> None:
    relation = lower(random_loops(seed))
    whole = explore(relation, interchangeable(relation))
    found = explore_reduced(relation, interchangeable(relation)).seen
    assert outcome(whole) == outcome(found)


def same(relation: Any) -> int:
    """With and without orders left out, everything but the lengths of runs is the same."""
    classes = interchangeable(relation)
    local = reduction(relation).local
    whole, part = explore(relation, classes), explore(relation, classes, alone=local)
    assert part.states <= whole.states
    assert part.at_rest == whole.at_rest
    assert outcome(whole)[1:] == outcome(part)[1:]
    assert faults(whole) == faults(part)
    assert outcome(explore_reduced(relation, classes).seen) == outcome(whole)
    return part.states


def faults(found: Exploration) -> dict[str, int]:
    return {name: violation.faults for name, violation in found.violations.items()}


def outcome(found: Exploration) -> tuple[Any, ...]:
    return (
        {name: (f.faults, f.steps) for name, f in found.violations.items()},
        {prop.name for prop in found.reached},
        {found.native.relation.actions[n].firing.transition.name for n in found.fired},
        len(found.raises) > 0,
    )
