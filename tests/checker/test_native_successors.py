"""Native code gives the plain functions' successors and verdicts."""

from __future__ import annotations

import naive
import pytest
import worlds
from random_worlds import random_world

from rackproof.checker.lowering import lower
from rackproof.checker.native import Native
from rackproof.checker.symmetry import interchangeable
from rackproof.model.kernel import System, successors

LARGE = {
    "pool-20-1": lambda: worlds.pool(20, 1, 2),
    "pool-6-3": lambda: worlds.pool(6, 3, 2),
    "ring-9": lambda: worlds.ring(9),
    "trays-4-5": lambda: worlds.trays(4, 5),
}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", worlds.WORLDS)
def test_on_every_reachable_state(name: str, symmetric: bool) -> None:
    agree(worlds.WORLDS[name][0](), symmetric, most=500)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", LARGE)
def test_in_worlds_of_many_bits(name: str, symmetric: bool) -> None:
    agree(LARGE[name](), symmetric, most=200)


@pytest.mark.parametrize("seed", range(60))
def test_in_random_worlds(seed: int) -> None:
    agree(random_world(seed), symmetric=seed % 2 == 0, most=100)


@pytest.mark.parametrize("seed", range(8))
def test_thoroughly_compiled(seed: int) -> None:
    agree(random_world(seed), symmetric=True, most=50, thorough=True)


def agree(system: System, symmetric: bool, most: int, thorough: bool = False) -> None:
    relation = lower(system)
    native = Native(relation, interchangeable(relation) if symmetric else ())
    if thorough:
        native.use(native.thorough())
    numbers = {
        (action.firing.transition.name, action.firing.arguments): number
        for number, action in enumerate(relation.actions)
    }
    for state in naive.reachable(system, most):
        ordinals = system.schema.flatten(state)
        before = native.layout.pack(ordinals)
        plain = []
        for firing, after in successors(system, state):
            words = native.layout.pack(system.schema.flatten(after))
            if words != before:
                plain.append((numbers[firing.transition.name, firing.arguments], words))
        assert native.successors(ordinals) == sorted(plain)


def test_several_words() -> None:
    relation = lower(worlds.pool(20, 1, 2))
    assert Native(relation, interchangeable(relation)).layout.words > 1
