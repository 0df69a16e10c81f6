"""Explanations of worlds of a few fields, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from rackproof.checker.engines import Options, explore
from rackproof.checker.explain import study
from rackproof.checker.explain.ahead import Ahead
from rackproof.checker.explain.bound import Bound
from rackproof.checker.explain.deep import _untold
from rackproof.checker.explain.near_miss import near_miss
from rackproof.checker.explain.pivot import Pivot, by_choice, pivot
from rackproof.checker.explain.study import Study
from rackproof.checker.trace import Trace
from rackproof.model.kernel import (
    Fairness,
    Property,
    System,
    Transition,
    always,
    at_rest,
    bounded,
    client,
    environment,
    evolve,
    fault,
    frozen,
    sometimes,
    step,
    transition,
)
from rackproof.scenarios.fields import Fields

Moves = tuple[Transition[..., Any], ...]


@frozen
class World:
    a: int = bounded(0, 3)
    b: int = bounded(0, 3)
    bad: bool = False
    other: bool = False
    faults_left: int = bounded(0, 1, initial=1)


@sometimes()
def was_done(world: World) -> bool:
    """The other thing was done."""
    return world.other


@always()
def good(world: World) -> bool:
    """It is never bad."""
    return not world.bad


@always(premise=was_done)
def good_once_done(world: World) -> bool:
    """It is never bad."""
    return not world.bad


@at_rest()
def good_at_rest(world: World) -> bool:
    """At rest it is not bad."""
    return not world.bad


@transition(client)
def leave(world: World) -> World | None:
    """The client leaves."""
    return evolve(world, bad=True)


@transition(client)
def slam(world: World) -> World | None:
    """The client slams the door."""
    return None if world.bad else evolve(world, bad=True, other=True)


@transition(step)
def work(world: World) -> World | None:
    """The worker does its work."""
    return None if world.other else evolve(world, other=True)


@transition(step)
def spoil(world: World) -> World | None:
    """It goes bad."""
    return evolve(world, bad=True)


@transition(fault)
def stall(world: World) -> World | None:
    """It stalls."""
    if world.faults_left == 0 or world.other:
        return None
    return evolve(world, faults_left=0, other=True)


@transition(step)
def spoil_unless_stalled(world: World) -> World | None:
    """It goes bad."""
    return None if world.other else evolve(world, bad=True)


@transition(step)
def compares_twice(world: World) -> World | None:
    """It goes bad."""
    if world.a < world.b or not world.b <= world.a:
        return None
    return evolve(world, bad=True)


@transition(step)
def compares_a_comparison(world: World) -> World | None:
    """It goes bad."""
    return evolve(world, bad=True) if world.other == (world.a == 1) else None


@transition(step)
def rise(world: World) -> World | None:
    """The first number rises."""
    return evolve(world, a=world.a + 1) if world.a < 2 else None


@transition(step)
def climb(world: World) -> World | None:
    """The second number rises."""
    return evolve(world, b=world.b + 1) if world.b < 2 else None


@transition(step)
def both(world: World) -> World | None:
    """It does the other thing, and goes bad."""
    return evolve(world, other=True, bad=True) if world.a == 0 else None


@transition(step)
def skip(world: World) -> World | None:
    """It does nothing of the sort."""
    return evolve(world, a=1) if world.a == 0 and not world.other else None


@transition(client)
def ruin(world: World) -> World | None:
    """It is ruined."""
    return evolve(world, bad=True)


@transition(step)
def finish(world: World) -> World | None:
    """It finishes something else."""
    return evolve(world, other=True) if world.bad else None


@transition(environment, fairness=Fairness.WEAK)
def heal(world: World) -> World | None:
    """It heals some day."""
    return evolve(world, bad=False, other=False) if world.bad and world.other else None


@transition(step)
def notes(world: World) -> World | None:
    """It goes bad, and says so where nobody has."""
    if world.other:
        return evolve(world, bad=True, a=3 - world.a)
    return None if world.b else evolve(world, bad=True, a=3 - world.a, faults_left=0)


@transition(step)
def sets(world: World) -> World | None:
    """It goes bad where it has not."""
    return evolve(world, bad=world.a == 0)


def violated(moves: Moves, prop: Property) -> Trace:
    system = System("tiny", World(), moves, (prop,))
    return explore(system, None, Options("search", workers=1)).violated[prop.name]


def seen(moves: Moves, prop: Property) -> Study:
    trace = violated(moves, prop)
    return study.of_property(trace, prop, Fields(trace.system))


def turning(trace: Trace, prop: Property) -> Pivot:
    ahead = Ahead(trace.system, prop, Bound())
    found = pivot(trace, by_choice(trace, ahead), [])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ((leave, slam), "It is up to a client whether step 1 happens."),
        (
            (leave, work),
            "It is up to a client whether step 1 happens. This could have happened there instead, "
            "but step 1 would have been possible after it as well, and as harmful: "
            '"The worker does its work".',
        ),
        (
            (spoil_unless_stalled, stall),
            "Of what else could have happened there, only a fault might have saved it: "
            '"It stalls".',
        ),
    ],
)
def test_what_else_could_have_happened(moves: Moves, words: str) -> None:
    trace = violated(moves, good)
    told = turning(trace, good).words
    begun, ended = told.split("it could still have come out right", 1)
    assert begun.startswith("Until step 1")
    assert ended.removeprefix(".").strip() == words


@pytest.mark.parametrize(
    ("moves", "condition"),
    [
        ((compares_twice, rise, climb), "b (0) <= a (0)"),
        ((compares_a_comparison, rise, work), "(a (0) == 1) == other (false)"),
    ],
)
def test_comparisons_say_what_is_asked_for(moves: Moves, condition: str) -> None:
    assert [(c.text, c.since) for c in seen(moves, good).why(1)] == [
        (condition, None),
        ("bad is false", None),
    ]


def test_what_a_step_is_possible_without_is_no_condition_of_it() -> None:
    assert [c.text for c in seen((notes, climb, work, rise, stall), good).why(1)] == ["b is 0"]


def test_what_lets_a_step_change_anything_is_a_condition_of_it() -> None:
    assert [c.text for c in seen((sets, rise), good).why(1)] == ["(a (0) == 0) != bad (false)"]


def test_what_comes_of_itself_is_not_needed() -> None:
    found = seen((ruin, finish), good_at_rest)
    assert (dict(found.needed), found.enough) == ({1: True, 2: False}, (1,))
    assert not found.is_inevitable
    found = seen((spoil, finish), good_at_rest)
    assert (dict(found.needed), found.enough) == ({1: False, 2: False}, ())
    assert found.is_inevitable


def test_a_rest_that_something_owed_may_end_is_explained() -> None:
    found = seen((ruin, finish, heal), good_at_rest)
    assert found.slice is not None
    assert found.slice.numbers == {1, 2}
    assert (dict(found.needed), found.enough) == ({1: True, 2: False}, (1,))
    assert [(c.text, c.since) for c in found.failing] == [("bad is true", 1)]
    assert found.stays == ()


def test_it_is_told_where_no_safe_run_meets_the_premise() -> None:
    trace = violated((both, skip), good_once_done)
    ahead = Ahead(trace.system, good_once_done, Bound())
    choice = by_choice(trace, ahead)
    assert turning(trace, good_once_done).instead == ("It does nothing of the sort",)
    near = near_miss(trace, ahead)
    assert near is None
    assert _untold(choice, near, None, good_once_done) == [
        "a safe run that puts good-once-done to the test: in no safe run of this scope is its "
        "premise, was-done, met"
    ]
