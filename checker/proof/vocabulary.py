"""What clauses over unbounded integers are made of: *features* of a state, each with few values.

A bounded field is a feature as it is. Two unbounded numbers that the model compares or copies, or
one of them and a constant that the model compares it with, have their difference as a feature, cut
off where it exceeds ``WINDOW`` either way. This is predicate abstraction (Graf, Saidi: Construction
of abstract state graphs with PVS, CAV 1997) with the predicates that difference constraints offer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from attrs import field, frozen

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import Relation, Test, Tree, Update, Verdict
from rackproof.checker.native.columns import Column
from rackproof.checker.proof.slicing import parts
from rackproof.checker.proof.terms import is_truth
from rackproof.model.kernel.schema import Lane

WINDOW: Final = 1
"""Differences beyond this are not told apart."""


@frozen
class Feature:
    """A field (right is None), or the difference of a field and another or a constant.

    values: all that it may have.
    """

    left: int
    right: Node | None
    values: tuple[int, ...]
    truth: bool = False

    def of(self, arena: Arena, ordinals: Mapping[int, int]) -> int:
        """The value in a state."""
        here = ordinals[self.left]
        if self.right is None:
            return here
        there = arena.evaluate(self.right, ordinals.__getitem__)
        return max(-WINDOW, min(WINDOW, here - there))

    def column(self, arena: Arena, columns: Mapping[int, Column]) -> Column:
        """The value in each of many states."""
        here = columns[self.left]
        if self.right is not None:
            constant = arena.value(self.right)
            there = columns[arena.operands(self.right)[0]] if constant is None else constant
            here = np.clip(here - there, -WINDOW, WINDOW)
        return np.ascontiguousarray(here.astype(np.int8))

    def among(self, arena: Arena, chosen: Iterable[int]) -> Node:
        """Whether the value is one of these."""
        left, wanted = arena.var(self.left), frozenset(chosen)
        if self.truth:
            return _truth(arena, left, wanted)
        if self.right is None:
            return _any(arena, [arena.eq(left, arena.const(v)) for v in sorted(wanted)])
        return _any(arena, [self._run(arena, left, run) for run in _runs(sorted(wanted))])

    def _run(self, arena: Arena, left: Node, run: tuple[int, int]) -> Node:
        """Whether the difference lies between two values, both included."""
        assert self.right is not None
        low, high = run
        if low == high and -WINDOW < low < WINDOW:
            return arena.eq(left, arena.add(self.right, arena.const(low)))
        above = arena.le(arena.add(self.right, arena.const(low)), left)
        below = arena.le(left, arena.add(self.right, arena.const(high)))
        if low == -WINDOW:
            return arena.const(1) if high == WINDOW else below
        return above if high == WINDOW else arena.and_(above, below)


def _truth(arena: Arena, node: Node, wanted: frozenset[int]) -> Node:
    if len(wanted) != 1:
        return arena.const(len(wanted) // 2)
    return node if 1 in wanted else arena.not_(node)


def _any(arena: Arena, nodes: Sequence[Node]) -> Node:
    result = arena.const(0)
    for node in nodes:
        result = arena.or_(result, node)
    return result


def _runs(values: Sequence[int]) -> Iterator[tuple[int, int]]:
    for _, group in itertools.groupby(enumerate(values), lambda pair: pair[1] - pair[0]):
        run = [value for _, value in group]
        yield run[0], run[-1]


def features(relation: Relation, further: Mapping[int, int]) -> tuple[Feature, ...]:
    """The features of a relation's states, in a fixed order.

    further: with how many constants above those that the model itself names a field is compared.
    """
    slots = relation.system.schema.slots
    plain = [
        Feature(v.slot, None, tuple(range(v.low, v.end + 1)), is_truth(relation, v.slot))
        for v in relation.variables
        if v.end is not None
    ]
    supplies = {v.slot for v in relation.variables if slots[v.slot].free}
    supplies = {slot for slot in supplies if not slots[slot].rigid}
    return (*plain, *_Differences(relation, supplies).features(further))


def lanes_of(relation: Relation, feature: Feature) -> frozenset[Lane]:
    """The identifiers that a feature belongs to."""
    arena, slots = relation.arena, relation.system.schema.slots
    fields = {feature.left} | (arena.slots(feature.right) if feature.right is not None else set())
    return frozenset(lane for slot in fields for lane in slots[slot].lanes)


@frozen
class _Differences:
    """Which numbers have anything to do with each other."""

    relation: Relation
    supplies: set[int]
    groups: dict[int, int] = field(factory=dict)
    constants: dict[int, set[int]] = field(factory=dict)

    def features(self, further: Mapping[int, int]) -> list[Feature]:
        arena = self.relation.arena
        wide = [v.slot for v in self.relation.variables if v.end is None]
        wide = [slot for slot in wide if slot not in self.supplies]
        self.groups.update({slot: slot for slot in wide})
        self._gather()
        window = tuple(range(-WINDOW, WINDOW + 1))
        found = [
            Feature(a, arena.var(b), window)
            for a, b in itertools.combinations(wide, 2)
            if self._group(a) == self._group(b) and self._share(a, b)
        ]
        for slot in wide:
            named = self._named(slot, further.get(slot, 0))
            found += [Feature(slot, arena.const(value), window) for value in named]
        return found

    def _named(self, slot: int, further: int) -> list[int]:
        """The constants that a number is compared with, or begins with; and some more."""
        named = set(self.constants.get(slot, ()))
        if self._is_rigid(slot):
            return sorted(named)
        named.add(self.relation.initial[slot])
        return sorted(named | {max(named) + n for n in range(1, further + 1)})

    def _is_rigid(self, slot: int) -> bool:
        return self.relation.system.schema.slots[slot].rigid

    def _share(self, a: int, b: int) -> bool:
        """Whether two fields belong to the same identifiers, as far as both belong to any."""
        slots = self.relation.system.schema.slots
        one, other = dict(slots[a].lanes), dict(slots[b].lanes)
        return all(one[sort] == other[sort] for sort in one.keys() & other.keys())

    def _gather(self) -> None:
        relation = self.relation
        for tree in (*(a.tree for a in relation.actions), *(p.tree for p in relation.predicates)):
            for part in parts(tree):
                self._part(part)
        for node in relation.given:
            self._node(node)

    def _part(self, part: Tree) -> None:
        match part:
            case Test(condition, _, _):
                self._node(condition)
            case Verdict(value):
                self._node(value)
            case Update(writes):
                for slot, node in writes:
                    if slot in self.groups:
                        self._join({slot, *self.relation.arena.slots(node)})
            case _:
                pass

    def _node(self, node: Node) -> None:
        """Take up the comparisons that an expression makes."""
        arena = self.relation.arena
        op, operands = arena.part(node)
        if op in (Op.NOT, Op.AND, Op.OR):
            for operand in operands:
                self._node(operand)
        elif op in (Op.EQ, Op.LT, Op.LE):
            self._join(arena.slots(node))
            for this, other in (operands, operands[::-1]):
                value = arena.value(other)
                if value is not None and arena.op(this) is Op.VAR:
                    self.constants.setdefault(arena.operands(this)[0], set()).add(value)

    def _join(self, slots: Iterable[int]) -> None:
        """These have to do with each other."""
        wide = sorted(slot for slot in slots if slot in self.groups)
        for slot in wide[1:]:
            self.groups[self._group(slot)] = self._group(wide[0])

    def _group(self, slot: int) -> int:
        while self.groups[slot] != slot:
            slot = self.groups[slot]
        return slot
