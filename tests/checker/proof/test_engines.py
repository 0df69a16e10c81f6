"""Reachability, bounded checks and ABC come to what plain breadth-first search comes to."""

from __future__ import annotations

import naive
import pytest
import worlds
from proofs import check_invariant, check_path, fits
from random_worlds import random_world

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Arena
from rackproof.checker.lowering.relation import Variable
from rackproof.checker.proof import abc
from rackproof.checker.proof.bounded import bounded
from rackproof.checker.proof.fields import among
from rackproof.checker.proof.obligations import SAFETY, Obligation, obligation, unreachable
from rackproof.checker.proof.outcomes import Budget, Invariant, Path, Unknown, walked
from rackproof.checker.proof.pdr import pdr
from rackproof.model.kernel import System

needs_abc = pytest.mark.skipif(abc.program() is None, reason="needs berkeley-abc")
BY_ABC = range(0, 24, 6)


@pytest.mark.parametrize("seed", range(24))
def test_of_random_worlds(seed: int) -> None:
    agree(random_world(seed), with_abc=seed in BY_ABC)


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_of_small_worlds(name: str) -> None:
    agree(worlds.WORLDS[name][0](), with_abc=True)


def agree(system: System, *, with_abc: bool) -> None:
    relation = lower(system)
    for prop in system.properties:
        if prop.scope in SAFETY:
            asked, expected = obligation(relation, [prop.name]), naive.nearest(system, [prop])
            same(asked, expected, pdr(asked))
            if with_abc and abc.program():
                same(asked, expected, abc.abc(asked))
            shortest(asked, expected)


def same(asked: Obligation, expected: int | None, found: Invariant | Path | Unknown) -> None:
    if expected is None:
        assert isinstance(found, Invariant), found
        check_invariant(asked, found)
    else:
        assert isinstance(found, Path), found
        fits(asked.relation, found)
        assert len(check_path(asked, found).steps) >= expected


def shortest(asked: Obligation, expected: int | None) -> None:
    found = bounded(asked, 4 if expected is None else None)
    if expected is None:
        assert found == Unknown("no path of up to 4 steps", 4)
    else:
        assert isinstance(found, Path), found
        assert len(check_path(asked, found).steps) == expected


def test_what_is_wrong_after_sixty_steps_is_found() -> None:
    relation = lower(worlds.shift(3))
    asked = obligation(relation, ["unfinished"])
    found = bounded(asked)
    assert isinstance(found, Path)
    assert len(check_path(asked, found).steps) == 60
    deep = pdr(asked)
    assert isinstance(deep, Path)
    assert len(check_path(asked, deep).steps) >= 60


def test_a_goal_is_reached_by_a_shortest_way() -> None:
    system = worlds.shift(2)
    asked = unreachable(lower(system), ["all-down"])
    found = bounded(asked)
    assert isinstance(found, Path)
    prop = asked.predicates[0].property
    assert len(found.states) - 1 == naive.nearest(system, [prop])


def test_nothing_is_claimed_without_time() -> None:
    asked = obligation(lower(worlds.shift(3)), ["unfinished"])
    for engine in (pdr, abc.abc):
        found = engine(asked, Budget.of(0.0))
        assert isinstance(found, Unknown)
    late = bounded(asked, budget=Budget.of(0.0))
    assert isinstance(late, Unknown)
    assert late.reason == "out of time"


def test_nothing_is_claimed_without_memory() -> None:
    asked = obligation(lower(worlds.shift(3)), ["unfinished"])
    none_left = Budget(memory=1)
    found = pdr(asked, none_left)
    assert isinstance(found, Unknown)
    assert found.reason == "out of memory"
    assert bounded(asked, budget=none_left) == Unknown("out of memory", 1)


@pytest.mark.parametrize("name", ["pool-3-2", "trays-2-2", "stream-3-replay", "lease"])
def test_no_clause_of_an_invariant_can_go(name: str) -> None:
    relation = lower(worlds.WORLDS[name][0]())
    for names in {p.property.name for p in relation.predicates if p.property.scope in SAFETY}:
        asked = obligation(relation, [names])
        found = pdr(asked)
        if isinstance(found, Invariant):
            check_invariant(asked, found)
            for clause in found.clauses:
                rest = Invariant(tuple(other for other in found.clauses if other != clause))
                with pytest.raises(AssertionError):
                    check_invariant(asked, rest)


def test_clauses_are_over_whole_fields() -> None:
    arena, variable = Arena(), Variable(0, -1, 4)
    for size in range(1, 64):
        values = [value for value in range(-1, 5) if size >> value + 1 & 1]
        node = among(arena, variable, values)
        assert [v for v in range(-1, 5) if arena.evaluate(node, [v].__getitem__)] == values


def test_an_invariant_is_the_same_again() -> None:
    found = [pdr(obligation(lower(worlds.pool(3, 2, 2)), ["fails-last"])) for _ in range(2)]
    assert found[0] == found[1]


def test_a_path_is_walked_with_the_plain_functions() -> None:
    relation = lower(worlds.stream(3, replays=False))
    found = pdr(obligation(relation, ["no-duplicate"]))
    assert isinstance(found, Path)
    trace = walked(relation, found)
    assert trace.final.doubled
