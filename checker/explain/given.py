"""What follows from conditions alone: whether a step is possible wherever they are so."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Final

from attrs import evolve, field, frozen

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import Disabled, Relation, Test, Tree, Update

MOST_WAYS: Final = 256
"""Combinations of values that are tried for one test; what depends on more is left open."""

MOST_TESTS: Final = 500
"""Tests that are followed, each time they are come to."""

Literal = tuple[Node, bool]


@frozen
class Given:
    """States of which only this is known: by slot the values it may have (any of its domain, where
    nothing is said), and how some tests come out.
    """

    relation: Relation
    domains: Mapping[int, Sequence[int]]
    values: Mapping[int, Sequence[int]]
    tests: Mapping[Node, bool]
    known: dict[Node, bool | None] = field(factory=dict, eq=False)

    def enables(self, tree: Tree, effective: bool) -> bool:
        """Whether a step is possible in each such state (effective: and changes something); False
        too where that takes too long to tell.
        """
        pending, left = [(self, tree)], MOST_TESTS
        while pending:
            given, item = pending.pop()
            left -= 1
            if isinstance(item, Disabled) or not left:
                return False
            if isinstance(item, Test):
                pending += given._branches(item)
            elif isinstance(item, Update) and effective and not given.changes(item):
                return False
        return True

    def _branches(self, test: Test) -> Iterator[tuple[Given, Tree]]:
        """Where a test may lead, each with what is known then."""
        known = self.decides(test.condition)
        if known is not None:
            yield self, test.yes if known else test.no
            return
        for holds, tree in ((True, test.yes), (False, test.no)):
            given = self._where(test.condition, holds)
            if all(given.values.values()):
                yield given, tree

    def _where(self, node: Node, holds: bool) -> Given:
        """The same where a test comes out like that."""
        arena = self.relation.arena
        op, operands = arena.part(node)
        if op is Op.NOT:
            return self._where(operands[0], not holds)
        if op in (Op.AND, Op.OR) and holds is (op is Op.AND):
            given = self
            for part in arena.terms(node):
                given = given._where(part, holds)
            return given
        if op in (Op.AND, Op.OR):
            open_ = [part for part in arena.terms(node) if self.decides(part) is None]
            if len(open_) == 1:
                return self._where(open_[0], holds)
        values, slots = dict(self.values), arena.slots(node)
        if len(slots) == 1:
            (slot,) = slots
            values[slot] = [
                value
                for value in self._may_be(slot)
                if bool(arena.evaluate(node, lambda _: value)) is holds  # noqa: B023
            ]
        return evolve(self, values=values, tests={**self.tests, node: holds}, known={})

    def changes(self, leaf: Update) -> bool:
        """Whether an update makes some field other than it was in each such state."""
        return self.decides(unchanged(self.relation.arena, leaf)) is False

    def decides(self, node: Node) -> bool | None:
        """How a test comes out in each such state; None where that differs, or cannot be told."""
        if node not in self.known:
            self.known[node] = self._decided(node)
        return self.known[node]

    def _decided(self, node: Node) -> bool | None:
        if node in self.tests:
            return self.tests[node]
        op, operands = self.relation.arena.part(node)
        if op is Op.NOT:
            part = self.decides(operands[0])
            return None if part is None else not part
        if op in (Op.AND, Op.OR):
            parts = [self.decides(part) for part in self.relation.arena.terms(node)]
            settling = op is Op.OR
            if settling in parts:
                return settling
            if None not in parts:
                return not settling
        return self._tried(node)

    def is_small(self, slots: Iterable[int]) -> bool:
        """Whether all that some fields may be can be tried."""
        return math.prod(len(self._may_be(slot)) for slot in slots) <= MOST_WAYS

    def _tried(self, node: Node) -> bool | None:
        slots = sorted(self.relation.arena.slots(node))
        values = [self._may_be(slot) for slot in slots]
        if not self.is_small(slots):
            return None
        found = set[bool]()
        for chosen in itertools.product(*values):
            state = dict(zip(slots, chosen, strict=True))
            found.add(bool(self.relation.arena.evaluate(node, partial(_look_up, state))))
            if len(found) > 1:
                return None
        return found.pop() if found else None

    def _may_be(self, slot: int) -> Sequence[int]:
        anything = self.domains.get(slot, range(MOST_WAYS + 1))
        return self.values.get(slot, anything)


def unchanged(arena: Arena, leaf: Update) -> Node:
    """That an update changes nothing."""
    same = [arena.eq(arena.var(slot), node) for slot, node in leaf.writes]
    return reduce(arena.and_, same, arena.const(1))


def _look_up(state: Mapping[int, int], slot: int) -> int:
    return state[slot]
