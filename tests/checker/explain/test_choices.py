"""The pivot and the near miss: against brute force, and exactly in worlds that one can read."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import choosing
import naive
import pytest
from loops import LOOPS
from random_worlds import Maker, Workers, random_loops, random_world
from worlds import WORLDS

from rackproof.checker.engines import Options, explore
from rackproof.checker.explain.ahead import Ahead
from rackproof.checker.explain.bound import Bound, Cut
from rackproof.checker.explain.near_miss import near_miss
from rackproof.checker.explain.pivot import Choice, by_choice, parting, pivot
from rackproof.checker.trace import Trace
from rackproof.model.kernel import (
    Kind,
    Property,
    System,
    always,
    at_rest,
    bounded,
    evolve,
    frozen,
    sometimes,
    step,
    transition,
)

SEEDS = range(228, 288)
"""Among them are worlds with a pivot before the last step."""
SMALL = 150
"""States of a random world, at most."""


@functools.cache
def lease() -> System:
    return WORLDS["lease"][0]()


@functools.cache
def violations(system: System) -> list[tuple[Property, Trace]]:
    found = explore(system, None, Options("search", workers=1)).violated
    return [(prop, found[prop.name]) for prop in system.properties if prop.name in found]


safe_runs = functools.cache(choosing.safe)


@functools.cache
def ahead(system: System, prop: Property) -> Ahead:
    return Ahead(system, prop, Bound(seconds=600))


def choice(system: System, prop: Property, trace: Trace) -> Choice:
    return by_choice(trace, ahead(system, prop))


@functools.cache
def worlds() -> list[System]:
    """Random worlds that are small and violate something, and those with loops."""
    made = [*map(never, SEEDS), *map(random_loops, range(20))]
    small = [system for system in made if len(naive.reachable(system, SMALL)) < SMALL]
    return [system for system in small if violations(system)] + [f() for f, _ in LOOPS.values()]


def never(seed: int) -> System:
    """A random world, and what must never be so, or not at rest; initially it is not."""
    system, maker = random_world(seed), Maker(seed + 40)
    found = (maker.truth(), maker.truth())
    workers = range(len(system.initial.lanes))
    initial = [[bool(one(system.initial, worker)) for worker in workers] for one in found]

    @always(worker=Workers)
    def stays(world: Any, worker: int) -> bool:
        return bool(found[0](world, worker)) == initial[0][worker]

    @at_rest(worker=Workers)
    def rests(world: Any, worker: int) -> bool:
        return bool(found[1](world, worker)) == initial[1][worker]

    return attrs.evolve(system, properties=(stays, rests))


def test_the_pivot_is_the_last_step_from_a_safe_state_to_one_that_is_not() -> None:
    kinds = set[str | int]()
    for system in worlds():
        for prop, trace in violations(system):
            safe = safe_runs(system, prop)
            states = [system.initial, *(step.after for step in trace.steps)]
            last = [i for i, state in enumerate(states) if state in safe.begins]
            told = choice(system, prop, trace)
            if trace.loop is not None and last and last[-1] >= trace.loop:
                assert told.number > trace.lead
                kinds.add("out of a loop")
            else:
                assert told.number == (last[-1] + 1 if last else 0), (system.name, prop.name)
                kinds.add(len(trace.steps) - told.number if told.number else "never")
            _check_alternatives(trace, told, safe)
    assert kinds >= {"out of a loop", "never", 0, 1}


def _check_alternatives(trace: Trace, told: Choice, safe: choosing.Safe) -> None:
    if told.number:
        before = trace.steps[told.number - 1].before
        after = dict(safe.moves[before])
        own = trace.steps[told.number - 1].firing
        for firing in told.instead:
            assert firing != own
            assert after[firing] in safe.begins
            assert firing.transition.kind is not Kind.FAULT
        others = [
            firing
            for firing, state in after.items()
            if state in safe.begins and firing != own and firing.transition.kind is not Kind.FAULT
        ]
        assert bool(others) == bool(told.instead)


def test_the_near_miss_has_the_longest_way_in_common_and_then_the_least() -> None:
    ends = set()
    for system in worlds():
        for prop, trace in violations(system):
            safe = safe_runs(system, prop)
            found = near_miss(trace, ahead(system, prop))
            number = choice(system, prop, trace).number
            assert (found is None) == (number == 0), (system.name, prop.name)
            if found is not None:
                assert found.parts == number
                own, other = (t.steps[: number - 1] for t in (trace, found.trace))
                assert own == other
                assert found.trace.steps[number - 1 : number] != trace.steps[number - 1 : number]
                rest = found.trace.steps[number - 1 : found.trace.lead]
                least = safe.nearest(trace.steps[number - 1].before)
                assert (sum(step.is_fault for step in rest), len(rest)) == least
                ends.add(_check_end(found.trace, prop))
    assert ends == {"rest", "loop"}


def _check_end(trace: Trace, prop: Property) -> str:
    assert not trace.violates(prop)
    if trace.loop is None:
        assert trace.rests
        return "rest"
    assert trace.flaw is None
    return "loop"


# Worlds that one can read.


def test_a_lease_is_saved_by_the_reader_that_finishes_in_time() -> None:
    system = lease()
    prop, trace = violations(system)[0]
    found = choice(system, prop, trace)
    assert [step.words for step in trace.steps][1:] == [
        "A read takes longer than the lease: the block is freed under its reader.",
        "The producer writes another request's KV into the block.",
    ]
    assert found.number == 3
    assert [f.words(system) for f in found.instead] == ["reader-0 has read the block."]
    assert found.disarms
    missed = near_miss(trace, ahead(system, prop))
    assert missed is not None
    assert missed.parts == 3
    assert [step.firing.transition.name for step in missed.trace.steps] == [
        "start",
        "slow_read",
        "finish",
        "reuse",
    ]


def mended(system: System, then: Callable[[Any], Any], name: str = "reuse") -> System:
    """The same with something done to what a transition leads to."""

    def other(transition: Any) -> Any:
        @functools.wraps(transition.function)
        def function(world: Any) -> Any:
            after = transition.function(world)
            return None if after is None else then(after)

        return attrs.evolve(transition, function=function)

    changed = [other(t) if t.name == name else t for t in system.transitions]
    return attrs.evolve(system, transitions=changed)


def test_the_pivot_by_mechanism_is_where_the_same_steps_part() -> None:
    system = lease()
    prop, trace = violations(system)[0]

    waits = mended(system, lambda _: None)
    found = parting(trace, waits)
    assert found is not None
    assert (found.number, found.words) == (
        3,
        'step 3 ("The producer writes another request\'s KV into the block") would not have been '
        "possible",
    )
    told = pivot(trace, choice(system, prop, trace), [(("reuse: waits",), waits)])
    assert told is not None
    assert told.number == 3
    assert told.mechanisms == (f"with reuse: waits, {found.words}",)


def test_what_would_have_come_of_a_step_is_told() -> None:
    system = lease()

    found = parting(
        violations(system)[0][1],
        mended(system, lambda world: attrs.evolve(world, reading=frozenset())),
    )
    assert found is not None
    assert found.words == (
        'after step 3 ("The producer writes another request\'s KV into the block") '
        "reading would be [], not [reader-0]"
    )


def test_what_an_earlier_step_had_left_is_told_where_that_is_why() -> None:
    """And not where it is the step itself that was mended."""
    system = lease()
    trace = violations(system)[0][1]

    def held(world: Any) -> Any:
        return attrs.evolve(world, block=system.initial.block)

    def users(*_: object) -> frozenset[int]:
        return frozenset((3,))

    words = (
        'step 3 ("The producer writes another request\'s KV into the block") would not have been'
    )
    spared = mended(system, held, "slow_read")
    found = parting(trace, spared, users)
    assert found is not None
    assert found.words == f"{words} possible, as block would be held, not freed"
    both = parting(trace, mended(spared, lambda _: None), users)
    assert both is not None
    assert both.words == f"{words} possible"


def test_a_world_with_other_fields_is_not_compared() -> None:
    system = lease()
    trace = violations(system)[0][1]
    assert parting(trace, attrs.evolve(system, sizes={"slow": 1, "reader": 3})) is None


def test_a_limit_is_told() -> None:
    system = lease()
    prop, trace = violations(system)[0]
    with pytest.raises(Cut, match="more than 0 states"):
        by_choice(trace, Ahead(system, prop, Bound(states=0)))
    with pytest.raises(Cut, match="limit of 0 s"):
        by_choice(trace, Ahead(system, prop, Bound(seconds=0)))
    told = pivot(trace, Cut("the limit of 0 s was reached"), [(("x: y",), system)])
    assert told is not None
    assert "could not be told: the limit of 0 s was reached" in told.words


@frozen
class Door:
    """Where somebody stands."""

    at: int = bounded(0, 3)


def _goes(name: str, to: int) -> Any:
    def go(world: Door) -> Door | None:
        return evolve(world, at=to) if world.at == 0 else None

    go.__name__ = name
    return transition(step)(go)


@sometimes()
def went_in(world: Door) -> bool:
    """Somebody went in."""
    return world.at >= 2


@always(premise=went_in)
def not_lost(world: Door) -> bool:
    """Nobody is lost."""
    return world.at != 3


def test_a_near_miss_puts_the_property_to_the_test() -> None:
    """To stay outside is as short, and safe, and says nothing."""
    moves = (_goes("stay_out", 1), _goes("go_in", 2), _goes("get_lost", 3))
    system = System("door", Door(), moves, (not_lost,))
    prop, trace = violations(system)[0]
    found = near_miss(trace, ahead(system, prop))
    assert found is not None
    assert [step.firing.transition.name for step in found.trace.steps] == ["go_in"]
    told = choice(system, prop, trace)
    assert [firing.transition.name for firing in told.instead] == ["stay_out", "go_in"]


@always()
def not_in(world: Door) -> bool:
    """Nobody goes in."""
    return world.at != 2


def test_a_near_miss_that_violates_nothing_else_is_preferred() -> None:
    """To go in is as close, and to stay outside is no violation at all."""
    moves = (_goes("go_in", 2), _goes("stay_out", 1), _goes("get_lost", 3))
    lost = attrs.evolve(not_lost, premise=None)
    system = System("door", Door(), moves, (lost, not_in))
    trace = dict(violations(system))[lost]
    found = near_miss(trace, ahead(system, lost))
    other = near_miss(trace, ahead(system, lost), (not_in,))
    assert found is not None
    assert other is not None
    assert other.violates == ()
    assert [step.firing.transition.name for step in other.trace.steps] == ["stay_out"]
    inside = attrs.evolve(system, transitions=(moves[0], moves[2]))
    only = near_miss(dict(violations(inside))[lost], ahead(inside, lost), (not_in,))
    assert only is not None
    assert only.violates == ("not-in",)
    assert only.words.startswith(
        "The closest run in which not-lost holds (it violates not-in instead) is "
    )
