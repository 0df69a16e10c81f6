"""Which changes of a field happen in the states that were seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from attrs import frozen

from rackproof.checker.lowering import Relation, lower
from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Test, Tree, Update
from rackproof.checker.native.columns import Column, Columns
from rackproof.checker.search import Limits, explore
from rackproof.model.kernel import System
from rackproof.model.kernel.domains import Enumeration

MOST_STATES: Final = 200_000


@frozen
class Explored:
    """The states of a system, all of them or, where ``reason`` says why, the first."""

    relation: Relation
    columns: Columns
    reason: str | None = None


def named(system: System) -> tuple[int, ...]:
    """The slots that hold one of a few named values."""
    slots = enumerate(system.schema.slots)
    return tuple(number for number, slot in slots if isinstance(slot.domain, Enumeration))


def explored(system: System, most: int = MOST_STATES, seconds: float | None = None) -> Explored:
    """The states of a system, with every slot that has a machine, told apart by identifiers."""
    relation = lower(system, places=True, keep=named(system))
    seen = explore(relation, limits=Limits(seconds, max_states=most), keep=True)
    return Explored(relation, seen.columns, None if seen.exhausted else seen.reason)


def taken(found: Explored, slot: int) -> set[tuple[int, int, int]]:
    """What changed a slot: value before, value after, number of the action."""
    everywhere = np.ones(found.columns.states, dtype=bool)
    return {
        (before, after, number)
        for number, action in enumerate(found.relation.actions)
        if slot in action.writes
        for before, after in _pairs(found.columns, action.tree, everywhere, slot)
    }


def _pairs(columns: Columns, tree: Tree, here: Column, slot: int) -> Iterator[tuple[int, int]]:
    """The values before and after in some states, at each update of a slot below a tree."""
    if not here.any():
        return
    if isinstance(tree, Test):
        true = columns.truth(tree.condition)
        yield from _pairs(columns, tree.yes, here & true, slot)
        yield from _pairs(columns, tree.no, here & ~true, slot)
    elif isinstance(tree, Update):
        for written, node in tree.writes:
            if written == slot:
                yield from _differing(columns, node, here, slot)


def _differing(columns: Columns, node: Node, here: Column, slot: int) -> Iterator[tuple[int, int]]:
    before, after = columns.variables[slot][here], columns.value(node)[here]
    pairs = np.unique(np.stack([before, after])[:, before != after], axis=1)
    yield from zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)
