"""What tests of the bundled world share: runs step by step, and counts that engines agree on."""

from typing import Any

import naive

from rackproof.checker.lowering import lower
from rackproof.checker.search import explore
from rackproof.checker.symmetry import interchangeable
from rackproof.model.kernel import System
from rackproof.model.world import World


def run(world: World, *moves: tuple[Any, ...]) -> World:
    """Fire one after the other; each must be possible."""
    for transition, *arguments in moves:
        after = transition(world, *arguments)
        assert isinstance(after, World), f"{transition.name}{tuple(arguments)} is not possible"
        world = after
    return world


def count(system: System, states: int, orbits: int) -> None:
    """Plain functions and native search come to these numbers, without and with symmetry."""
    relation = lower(system)
    classes = interchangeable(relation)
    found = naive.reachable(system)
    kept = {naive.projected(relation, system.schema.flatten(state)) for state in found}
    assert len(kept) == explore(relation).states == states
    assert naive.orbits(relation, classes, found) == orbits
    assert explore(relation, classes).states == orbits
