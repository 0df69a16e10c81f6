"""Why a step was possible: the tests on its way, in words and with the values that they saw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from rackproof.checker.explain.decisions import Decisions
from rackproof.checker.explain.explanation import Condition
from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.proof.formula import MOST_VALUES, Formulas
from rackproof.model.kernel.domains import Interval
from rackproof.scenarios.fields import Field, Fields

Literal = tuple[Node, bool]
_TRUE: Final = {Op.EQ: {0}, Op.LT: {-1}, Op.LE: {-1, 0}}
"""Comparisons, each with how the first number may compare with the second: less, equal, greater."""


class Said(Formulas):
    """Formulas about one state: each field under its shortest name, with the value it has."""

    def __init__(self, relation: Relation, fields: Fields) -> None:
        """Take the fields, and look up which slot is whose."""
        super().__init__(relation)
        self.fields = fields
        self.owners: dict[int, Field] = {slot: f for f in fields.all for slot in f.slots}
        self.state: Sequence[int] = ()

    def label(self, slot: int) -> str:
        """The name of a field, with the value it has in the state that is spoken of."""
        return f"{self.name(slot)} ({self.value(slot, self.state[slot])})"

    def name(self, slot: int) -> str:
        """The shortest name of a field; of a set, with the member that is meant."""
        owner = self.owners[slot]
        short = self.fields.short[owner.label]
        return f"{short}[{self.member(slot)}]" if owner.is_set else short

    def value(self, slot: int, ordinal: int) -> str:
        """What a field holds, as a scenario writes it."""
        owner = self.owners[slot]
        value = owner.domain.decode(ordinal)
        return str(bool(value)).lower() if owner.is_set else owner.words(value)

    def member(self, slot: int) -> str:
        """The member of a set that a slot is of."""
        sort, index = self.slots[slot].lanes[-1]
        return self.relation.system.label(sort, index)


class Guards:
    """Tells the tests of a run as conditions."""

    def __init__(self, decisions: Decisions, fields: Fields) -> None:
        """Take the relation that they are from, and the fields they speak of."""
        self.decisions, self.relation = decisions, decisions.relation
        self.said = Said(decisions.relation, fields)

    def conditions(
        self, literals: Iterable[Literal], states: Sequence[Sequence[int]]
    ) -> tuple[Condition, ...]:
        """Tests that came out like that, each field told once, as they are in the last of the
        states; those that are otherwise there (in a loop they may be) are left out.

        states: the initial one and those after each step, as ordinals.
        """
        return tuple(
            Condition(text, _since(self._same(together, states[-1]), states))
            for text, together in self._told(literals, states[-1])
        )

    def _same(
        self, literals: list[Literal], state: Sequence[int]
    ) -> Callable[[Sequence[int]], bool]:
        """Whether what is told of a state is so in another: the value of one field, or a test."""
        slots = self.relation.arena.slots(literals[0][0])
        if len(slots) == 1:
            (slot,) = slots
            return lambda other: other[slot] == state[slot]
        return lambda other: all(
            bool(self.relation.value(node, other)) is holds for node, holds in literals
        )

    def _told(
        self, literals: Iterable[Literal], state: Sequence[int]
    ) -> Iterator[tuple[str, list[Literal]]]:
        groups: dict[frozenset[int], list[Literal]] = {}
        for node, holds in literals:
            if bool(self.relation.value(node, state)) is holds:
                groups.setdefault(self._key((node, holds)), []).append((node, holds))
        self.said.state = state
        for key, together in groups.items():
            slots = self.relation.arena.slots(together[0][0])
            alone = slots == key
            told = self._value(min(slots), together) if alone else self._formula(together)
            yield told, together

    def _key(self, literal: Literal) -> frozenset[int]:
        """What tests are told together: those of one field, and comparisons of the same numbers."""
        arena = self.relation.arena
        slots = arena.slots(literal[0])
        if len(slots) == 1:
            return slots
        op, operands = arena.part(literal[0])
        return frozenset((-1, *operands) if op in _TRUE else (-1, literal[0]))

    def _value(self, slot: int, literals: list[Literal]) -> str:
        """What one field is, and within what it had to be where that is an interval."""
        said, ordinal = self.said, self.said.state[slot]
        name, owner = said.name(slot), said.owners[slot]
        if owner.is_set:
            short = said.fields.short[owner.label]
            return f"{said.member(slot)} is {'' if ordinal else 'not '}in {short}"
        text = f"{name} is {said.value(slot, ordinal)}"
        every = _every(owner.domain) or said.values.get(slot)
        if not isinstance(owner.domain, Interval) or every is None:
            return text
        allowed = [value for value in every if self._all_hold(literals, value)]
        return f"{text}{_within(allowed, every)}"

    def _all_hold(self, literals: list[Literal], value: int) -> bool:
        evaluate = self.relation.arena.evaluate
        return all(bool(evaluate(node, lambda _: value)) is holds for node, holds in literals)

    def _formula(self, literals: list[Literal]) -> str:
        arena = self.relation.arena
        if len(literals) > 1:
            return self.said.told(self._together(literals))
        node, holds = literals[0]
        return self.said.told(node if holds else arena.not_(node))

    def _together(self, literals: list[Literal]) -> Node:
        """Comparisons of the same two numbers as one: what all of them leave of less, equal and
        greater.
        """
        arena = self.relation.arena
        a, b = arena.operands(literals[0][0])
        left = frozenset.intersection(*(self._leaves(literal, a) for literal in literals))
        equal, less, greater = arena.eq(a, b), arena.lt(a, b), arena.lt(b, a)
        return {
            frozenset({-1}): less,
            frozenset({0}): equal,
            frozenset({1}): greater,
            frozenset({-1, 0}): arena.le(a, b),
            frozenset({0, 1}): arena.le(b, a),
        }.get(left, arena.not_(equal))

    def _leaves(self, literal: Literal, first: Node) -> frozenset[int]:
        """How a number may compare with another where a comparison comes out as it does."""
        node, holds = literal
        op, (a, _) = self.relation.arena.part(node)
        true = _TRUE[op] if a == first else {-sign for sign in _TRUE[op]}
        return frozenset(true if holds else {-1, 0, 1} - true)


def _since(holds: Callable[[Sequence[int]], bool], states: Sequence[Sequence[int]]) -> int | None:
    """The number of the step after which something was never otherwise."""
    since = len(states) - 1
    while since and holds(states[since - 1]):
        since -= 1
    return since or None


def _every(domain: object) -> range | None:
    """All that a number was declared to be, also what it never comes to: no bound of a guard."""
    if not isinstance(domain, Interval) or domain.high is None:
        return None
    return range(domain.low, domain.high + 1) if domain.high - domain.low < MOST_VALUES else None


def _within(allowed: list[int], every: Sequence[int]) -> str:
    """The bound that a number had to keep."""
    low, high = allowed[0], allowed[-1]
    if low == high or allowed != list(range(low, high + 1)):
        return ""
    if low == every[0]:
        return f", at most {high}"
    return f", at least {low}" if high == every[-1] else f", {low} to {high}"
