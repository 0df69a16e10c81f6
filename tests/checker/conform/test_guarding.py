"""Guards lowered for some states alone."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from naive import reachable
from worlds import WORLDS

from rackproof.checker.lowering.lower import lower
from rackproof.checker.lowering.relation import Update
from rackproof.model.kernel import Firing, System


@pytest.mark.parametrize("name", ["lease", "counters", "pool-2-1", "ring-3", "stream-3-replay"])
def test_a_transition_that_is_lowered_for_some_states_is_right_in_those(name: str) -> None:
    system = WORLDS[name][0]()
    states = reachable(system)
    for kept in (states, states[::3]):
        ordinals = [system.schema.flatten(state) for state in kept]
        for transition in system.transitions:
            alone = evolve(system, transitions=(transition,), properties=())
            relation = lower(alone, keep=range(len(ordinals[0])), among=ordinals)
            trees = {action.firing: action.tree for action in relation.actions}
            for firing in alone.firings():
                for state, here in zip(kept, ordinals, strict=True):
                    tree = trees.get(firing)
                    leaf = relation.leaf(tree, here) if tree else None
                    assert _changes(relation, leaf, here) == _fires(system, firing, state)


def _fires(system: System, firing: Firing, state: Any) -> bool:
    return firing.apply(system, state) is not None


def _changes(relation: Any, leaf: Any, here: tuple[int, ...]) -> bool:
    writes = leaf.writes if isinstance(leaf, Update) else ()
    return any(relation.value(node, here) != here[slot] for slot, node in writes)
