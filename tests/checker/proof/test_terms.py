"""Terms of a solver, and slices of a relation, agree with the plain functions."""

from __future__ import annotations

from typing import Any

import naive
import pytest
import worlds
import z3
from random_worlds import random_world

from rackproof.checker.lowering import Relation, lower
from rackproof.checker.lowering.relation import Predicate
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.slicing import sliced
from rackproof.checker.proof.terms import Vector
from rackproof.model.kernel import System, successors


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_of_small_worlds(name: str) -> None:
    agree(worlds.WORLDS[name][0](), most=40)


@pytest.mark.parametrize("seed", range(10))
def test_of_random_worlds(seed: int) -> None:
    agree(random_world(seed), most=25)


@pytest.mark.parametrize("seed", range(15))
def test_slices_of_random_worlds_have_the_same_runs(seed: int) -> None:
    system = random_world(seed)
    whole = lower(system)
    for predicate in whole.predicates:
        slice_of(whole, predicate, naive.reachable(system, 60))


def agree(system: System, most: int) -> None:
    relation = lower(system)
    for state in naive.reachable(system, most):
        ordinals = system.schema.flatten(state)
        expected = {
            (firing.transition.name, firing.arguments): kept(relation, system, after)
            for firing, after in successors(system, state)
        }
        before = kept(relation, system, state)
        assert {k: v for k, v in expected.items() if v != before} == moves(relation, ordinals)
        for predicate in relation.predicates:
            plain = bool(predicate.property.function(state, *predicate.arguments))
            assert truth(terms_at(relation, ordinals).holds(predicate)) is plain


def kept(relation: Relation, system: System, state: Any) -> tuple[int, ...]:
    return naive.projected(relation, system.schema.flatten(state))


def terms_at(relation: Relation, ordinals: tuple[int, ...]) -> z3terms.Z3Terms:
    names = z3terms.state(relation)
    numbers = {slot: z3.IntVal(ordinals[slot]) for slot in names.numbers}
    truths = {slot: z3.BoolVal(bool(ordinals[slot])) for slot in names.truths}
    return z3terms.terms(relation, Vector(numbers, truths))


def truth(term: z3.BoolRef) -> bool:
    value = z3.simplify(term)
    assert z3.is_true(value) or z3.is_false(value)
    return z3.is_true(value)


def moves(relation: Relation, ordinals: tuple[int, ...]) -> dict[Any, tuple[int, ...]]:
    """The enabled actions, by name and identifiers, with the kept slots of what they lead to."""
    found = {}
    terms = terms_at(relation, ordinals)
    for action in relation.actions:
        stepped = terms.action(action)
        assert not truth(stepped.raises)
        if truth(stepped.enabled):
            after = list(ordinals)
            for slot, number in stepped.after.numbers.items():
                after[slot] = z3.simplify(number).as_long()
            for slot, value in stepped.after.truths.items():
                after[slot] = int(truth(value))
            key = action.firing.transition.name, action.firing.arguments
            found[key] = naive.projected(relation, tuple(after))
    return found


def slice_of(whole: Relation, predicate: Predicate, states: list[Any]) -> None:
    """The sliced actions do to the slots that are left what the whole ones do."""
    part = sliced(whole, [predicate])
    left = [variable.slot for variable in part.variables]
    assert predicate.reads <= set(left)
    system = whole.system
    for state in states:
        ordinals = system.schema.flatten(state)
        expected = {
            tuple(system.schema.flatten(after)[slot] for slot in left)
            for _, after in successors(system, state)
        }
        steps = set(moves(part, ordinals).values())
        here = tuple(ordinals[slot] for slot in left)
        assert expected - {here} == steps
