"""Expressions and decision trees evaluated on every stored state at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Relation, Test, Tree, Verdict
from rackproof.checker.native.layout import Binary, Stored
from rackproof.checker.search import Exploration

Column = NDArray[Any]


class Columns:
    """The values of nodes in the states that an exploration kept, in their order."""

    def __init__(self, relation: Relation, seen: Exploration) -> None:
        """Unpack the variables."""
        assert seen.stored is not None, "the states were asked for"
        self.arena, self.states = relation.arena, seen.states
        words = np.array(seen.stored, dtype=np.uint64).reshape(seen.states, seen.words)
        stored = seen.native.layout.stored
        self._variables = {v.slot: _column(words, stored[v.slot]) for v in relation.variables}
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
            return np.full(self.states, operands[0], dtype=np.int64)
        if op is Op.VAR:
            return self._variables[operands[0]]
        return _MEANING[op](*(self.value(operand) for operand in operands))


def _column(words: Column, stored: Stored) -> Column:
    if isinstance(stored, Binary):
        place = stored.place
        bits = (words[:, place.word] & np.uint64(place.mask)) >> np.uint64(place.shift)
        return bits.astype(np.int64) + stored.low
    column = np.full(len(words), -1, dtype=np.int64)
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
