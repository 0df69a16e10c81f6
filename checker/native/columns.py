"""All the states that a search kept at once: a column for each variable, and what is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import Relation, Test, Tree, Verdict
from rackproof.checker.native.layout import Binary, Layout, Stored

Column = NDArray[Any]


def columns(relation: Relation, layout: Layout, stored: bytes) -> dict[int, Column]:
    """The ordinals of each variable in every state, from the words of all states."""
    words = np.frombuffer(stored, dtype=np.uint64).reshape(-1, layout.words)
    return {v.slot: _column(words, layout.stored[v.slot]) for v in relation.variables}


class Columns:
    """The values of nodes in some states, in their order."""

    def __init__(self, arena: Arena, variables: Mapping[int, Column], states: int) -> None:
        """variables: the column of each slot; states: how many there are."""
        self.arena, self.variables, self.states = arena, variables, states
        self._values: dict[Node, Column] = {}

    def value(self, node: Node) -> Column:
        """The value of a node in each state."""
        known = self._values.get(node)
        if known is None:
            known = self._values[node] = self._computed(node)
        return known

    def truth(self, node: Node) -> Column:
        """A truth value in each state."""
        return self.value(node).astype(bool)

    def holds(self, tree: Tree) -> Column:
        """What a predicate says in each state; false where it raises."""
        if isinstance(tree, Test):
            condition = self.truth(tree.condition)
            return np.where(condition, self.holds(tree.yes), self.holds(tree.no))
        if isinstance(tree, Verdict):
            return self.truth(tree.value)
        return np.zeros(self.states, dtype=bool)

    def _computed(self, node: Node) -> Column:
        op, operands = self.arena.part(node)
        if op is Op.CONST:
            return np.full(self.states, operands[0], dtype=np.int32)
        if op is Op.VAR:
            return self.variables[operands[0]]
        return _MEANING[op](*(self.value(operand) for operand in operands))


def _column(words: Column, stored: Stored) -> Column:
    if isinstance(stored, Binary):
        place = stored.place
        bits = (words[:, place.word] & np.uint64(place.mask)) >> np.uint64(place.shift)
        return bits.astype(np.int32) + np.int32(stored.low)
    column = np.full(len(words), -1, dtype=np.int32)
    for member, place in stored.bits.items():
        column[(words[:, place.word] & np.uint64(place.mask)) != 0] = member
    return column


_MEANING: Final[dict[Op, Callable[..., Column]]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.EQ: np.equal,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.NOT: np.logical_not,
    Op.AND: np.logical_and,
    Op.OR: np.logical_or,
}
