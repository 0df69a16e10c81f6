"""Why a step was possible: the tests on its way, in words and with the values that they saw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from rackproof.checker.explain.decisions import Decisions, is_enabled
from rackproof.checker.explain.explanation import Condition
from rackproof.checker.explain.given import Given, Literal, unchanged
from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Leaf, Relation, Tree, Update
from rackproof.checker.proof.formula import MOST_VALUES, Formulas
from rackproof.model.kernel.domains import Interval
from rackproof.scenarios.fields import Field, Fields

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

    def least(
        self, tree: Tree, before: Sequence[int], after: Sequence[int], spent: frozenset[int]
    ) -> list[Literal]:
        """The tests by which a step is possible, those that are told together left out that it is
        possible without, whatever the fields are that nothing is said of. One that changes nothing
        is not possible: where that hangs on more than its guard, this is among them too.

        spent: slots of which nothing need be said.
        """
        way = self.decisions.way(tree, before, is_enabled)
        unseen = {slot for slot in range(len(before)) if before[slot] != after[slot]} - {
            variable.slot for variable in self.relation.variables
        }
        changed = [] if unseen else self._changed(way.leaf, before)

        def enables(groups: list[list[Literal]]) -> bool:
            return self._given(groups, before, spent).enables(tree, bool(changed))

        groups = self._unspent(way.literals, before, spent)
        groups += self._change(way.leaf, changed, self._given(groups, before, spent))
        if not enables(groups):
            way = self.decisions.way(tree, before, lambda leaf: leaf)
            more = self._unspent(way.literals, before, spent)
            more += self._change(way.leaf, changed, self._given(more, before, spent))
            groups = more if enables(more) else groups
        for group in list(groups):
            rest = [each for each in groups if each is not group]
            groups = rest if enables(rest) else groups
        return [literal for group in groups for literal in group]

    def _unspent(
        self, literals: Sequence[Literal], state: Sequence[int], spent: frozenset[int]
    ) -> list[list[Literal]]:
        """What is told together, of what is to be told."""
        slots = self.relation.arena.slots
        told = [(node, holds) for node, holds in literals if not slots(node) <= spent]
        return list(self._groups(told, state).values())

    def _changed(self, leaf: Leaf, state: Sequence[int]) -> list[Node]:
        """The tests, each of a field, that it is already as it is to be; of those that change."""
        arena = self.relation.arena
        writes = leaf.writes if isinstance(leaf, Update) else ()
        same = [arena.eq(arena.var(slot), node) for slot, node in writes]
        changed = [node for node in same if not self.relation.value(node, state)]
        return sorted(changed, key=lambda node: (len(arena.slots(node)), sorted(arena.slots(node))))

    def _change(self, leaf: Leaf, changed: list[Node], given: Given) -> list[list[Literal]]:
        """The least test by which a step changes anything, as it would not be possible else; none
        where it always does, or where other changes may stand in for that.
        """
        if not changed or not isinstance(leaf, Update) or given.changes(leaf):
            return []
        slots = self.relation.arena.slots(unchanged(self.relation.arena, leaf))
        is_told = len(changed) == 1 or given.is_small(slots)
        return [[(changed[0], False)]] if is_told else []

    def _given(
        self, groups: Iterable[list[Literal]], state: Sequence[int], spent: frozenset[int]
    ) -> Given:
        """What is known of a state when these are told."""
        values: dict[int, Sequence[int]] = {slot: (state[slot],) for slot in spent}
        tests = dict[Node, bool]()
        for literals in groups:
            slots = self.relation.arena.slots(literals[0][0])
            if self._key(literals[0]) == slots:
                (slot,) = slots
                kept = self._kept(slot, literals, state)
                values[slot] = [value for value in kept if value in values.get(slot, kept)]
            else:
                tests.update(literals)
        return Given(self.relation, self.said.values, values, tests)

    def _kept(self, slot: int, literals: list[Literal], state: Sequence[int]) -> Sequence[int]:
        """The values that a field is said to have had to keep to; its own, where that is all."""
        every = self._numbers(slot)
        allowed = [value for value in every if self._all_hold(literals, value)]
        return allowed if every and _within(allowed, every) else (state[slot],)

    def _numbers(self, slot: int) -> Sequence[int]:
        """The values of a field that is a number, in order; none of another, or of too many."""
        owner = self.said.owners[slot]
        if owner.is_set or not isinstance(owner.domain, Interval):
            return ()
        return _every(owner.domain) or self.said.values.get(slot) or ()

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
        self.said.state = state
        for key, together in self._groups(literals, state).items():
            slots = self.relation.arena.slots(together[0][0])
            alone = slots == key
            told = self._value(min(slots), together) if alone else self._formula(together)
            yield told, together

    def _groups(
        self, literals: Iterable[Literal], state: Sequence[int]
    ) -> dict[frozenset[int], list[Literal]]:
        """What is told together, of the tests that come out like that in a state."""
        groups: dict[frozenset[int], list[Literal]] = {}
        for node, holds in literals:
            if bool(self.relation.value(node, state)) is holds:
                groups.setdefault(self._key((node, holds)), []).append((node, holds))
        return groups

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
        every = self._numbers(slot)
        if not every:
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
