"""Formulas in words: over the names of fields, and values as a person writes them.

What depends on one field is told by the values it allows; a clause is told as an implication.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import frozen

from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.proof.terms import limits
from rackproof.model.kernel.domains import Enumeration, Identifier, Interval, Truth

MOST_VALUES: Final = 256
"""A field that takes more is not told value by value."""

_SIGNS: Final = {Op.EQ: "==", Op.LT: "<", Op.LE: "<=", Op.ADD: "+", Op.SUB: "-", Op.MUL: "*"}
_OPPOSITES: Final = {Op.EQ: "!=", Op.LT: ">=", Op.LE: ">"}
_STRICTER: Final = {"<=": "<", ">": ">="}
"""Of whole numbers: ``a + 1 <= b`` is ``a < b``."""


def words(relation: Relation, node: Node) -> str:
    """A truth value as a formula; a clause (a disjunction) as an implication."""
    return Formulas(relation).told(node)


def ordered(relation: Relation, clauses: Iterable[Node]) -> tuple[Node, ...]:
    """The clauses of an invariant, each once, by the fields they speak of and then by their words:
    in one order however they were found.
    """
    formulas = Formulas(relation)
    arena = relation.arena
    keys = {clause: (sorted(arena.slots(clause)), formulas.told(clause)) for clause in clauses}
    return tuple(sorted(keys, key=keys.__getitem__))


@frozen
class _Literal:
    """A part of a clause: a slot and the values that make it true, or some other formula.

    text, opposite: the formula and its negation. is_premise: whether the negation is simpler.
    """

    key: tuple[int, ...]
    text: str
    opposite: str
    is_premise: bool


class Formulas:
    """The formulas over the fields of a relation."""

    def __init__(self, relation: Relation) -> None:
        """Look up the values that each variable takes."""
        self.relation, self.arena = relation, relation.arena
        self.slots = relation.system.schema.slots
        self.values: Mapping[int, range] = {
            variable.slot: range(low, high + 1)
            for variable in relation.variables
            for low, high in [limits(variable)]
            if low is not None and high is not None and high - low < MOST_VALUES
        }

    def told(self, node: Node) -> str:
        """A truth value in words."""
        literals = self._literals(node)
        premises = [literal.opposite for literal in literals if literal.is_premise]
        rest = [literal.text for literal in literals if not literal.is_premise]
        if len(literals) == 1:
            return literals[0].text
        if not rest:
            return f"not ({' and '.join(premises)})"
        told = " or ".join(rest)
        return f"{' and '.join(premises)} => {told}" if premises else told

    def label(self, slot: int) -> str:
        """What a field is called."""
        return self.slots[slot].label

    def value(self, slot: int, ordinal: int) -> str:
        """What a field holds, as a person writes it."""
        domain = self.slots[slot].domain
        if isinstance(domain, Enumeration):
            return domain.decode(ordinal).name
        if isinstance(domain, Identifier):
            return "none" if ordinal < 0 else self.relation.system.label(domain.sort, ordinal)
        return str(domain.decode(ordinal)).lower() if isinstance(domain, Truth) else str(ordinal)

    def _literals(self, node: Node) -> list[_Literal]:
        """The parts of a disjunction, those on the same field put together, in slot order."""
        arena = self.arena
        parts = list(arena.terms(node)) if arena.op(node) is Op.OR else [node]
        by_slot: dict[int, Node] = {}
        others = []
        for part in parts:
            slots = arena.slots(part)
            if len(slots) == 1 and (slot := next(iter(slots))) in self.values:
                by_slot[slot] = arena.or_(by_slot.get(slot, arena.const(0)), part)
            else:
                others.append(self._other(part))
        literals = [self._values(slot, part) for slot, part in by_slot.items()]
        return sorted([*literals, *others], key=lambda each: (each.key, each.text))

    def _values(self, slot: int, node: Node) -> _Literal:
        allowed = [v for v in self.values[slot] if self.arena.evaluate(node, lambda _: v)]  # noqa: B023
        excluded = [v for v in self.values[slot] if v not in allowed]
        return _Literal(
            (slot,),
            self._among(slot, allowed),
            self._among(slot, excluded),
            is_premise=len(excluded) < len(allowed)
            or (isinstance(self.slots[slot].domain, Truth) and allowed == [0]),
        )

    def _other(self, node: Node) -> _Literal:
        is_negated = self.arena.op(node) is Op.NOT
        opposite = self.arena.not_(node)
        return _Literal(
            tuple(sorted(self.arena.slots(node))),
            self._text(node),
            self._text(opposite),
            is_negated and self.arena.op(opposite) not in (Op.LT, Op.LE),
        )

    def _among(self, slot: int, allowed: list[int]) -> str:
        """That a field has one of some values, in the shortest of the ways to say it."""
        label, every = self.label(slot), list(self.values[slot])
        if not allowed or allowed == every:
            return "true" if allowed else "false"
        if isinstance(self.slots[slot].domain, Truth):
            return label if allowed == [1] else f"not {label}"
        excluded = [value for value in every if value not in allowed]
        if len(allowed) == 1:
            return f"{label} == {self.value(slot, allowed[0])}"
        is_interval = isinstance(self.slots[slot].domain, Interval)
        if is_interval and (told := _interval(label, allowed, every)):
            return told
        if len(excluded) == 1:
            return f"{label} != {self.value(slot, excluded[0])}"
        few, sign = (excluded, "not in") if len(excluded) < len(allowed) else (allowed, "in")
        return f"{label} {sign} {{{', '.join(self.value(slot, value) for value in few)}}}"

    def _text(self, node: Node) -> str:
        """Any formula or number, with parentheses where its parts are not simple."""
        arena = self.arena
        op, operands = arena.part(node)
        if op is Op.CONST:
            return str(operands[0])
        if op is Op.VAR:
            return self.label(operands[0])
        if op in (Op.AND, Op.OR):
            parts = sorted({self._inner(part) for part in arena.terms(node)})
            return f" {op.value} ".join(parts)
        if op is Op.NOT:
            return self._negated(operands[0])
        return self._binary(node, _SIGNS[op])

    def _negated(self, node: Node) -> str:
        op = self.arena.op(node)
        if op in _OPPOSITES:
            return self._binary(node, _OPPOSITES[op])
        text = self._text(node)
        return f"not {text}" if op is Op.VAR else f"not ({text})"

    def _binary(self, node: Node, sign: str) -> str:
        op, (a, b) = self.arena.part(node)
        commutes = op in (Op.EQ, Op.ADD, Op.MUL)
        if commutes and self._position(b) < self._position(a):
            a, b = b, a
        if sign in _STRICTER and (less := self._one_less(a)) is not None:
            a, sign = less, _STRICTER[sign]
        left = self._value_beside(a, b) or self._operand(a)
        right = self._value_beside(b, a) or self._operand(b)
        return f"{left} {sign} {right}"

    def _one_less(self, node: Node) -> Node | None:
        """What a number is one more than, if it is said like that."""
        op, operands = self.arena.part(node)
        rest = [operand for operand in operands if op is Op.ADD and self.arena.value(operand) != 1]
        return rest[0] if len(rest) == 1 else None

    def _position(self, node: Node) -> tuple[bool, list[int], str]:
        """Where a node belongs beside another, whatever its number: constants come last."""
        slots = sorted(self.arena.slots(node))
        return not slots, slots, self._text(node)

    def _value_beside(self, node: Node, other: Node) -> str | None:
        """A constant as a value of the field it is compared with."""
        op, operands = self.arena.part(other)
        value = self.arena.value(node)
        if value is None or op is not Op.VAR:
            return None
        return self.value(operands[0], value)

    def _operand(self, node: Node) -> str:
        """A part of a comparison or a sum: a comparison within it stands in parentheses."""
        text = self._inner(node)
        is_simple = not self._is_truth(node) or self.arena.op(node) is Op.VAR or text[0] == "("
        return text if is_simple else f"({text})"

    def _inner(self, node: Node) -> str:
        slots = self.arena.slots(node)
        if len(slots) == 1 and (slot := next(iter(slots))) in self.values and self._is_truth(node):
            return self._values(slot, node).text
        text = self._text(node)
        return f"({text})" if re.search(" (and|or|=>|[-+<=>!]=?|==) ", text) else text

    def _is_truth(self, node: Node) -> bool:
        op, operands = self.arena.part(node)
        if op is Op.VAR:
            return isinstance(self.slots[operands[0]].domain, Truth)
        return op not in (Op.CONST, Op.ADD, Op.SUB, Op.MUL)


def _interval(label: str, values: list[int], every: list[int]) -> str | None:
    """Values without a gap as a comparison; None where there is one."""
    low, high = values[0], values[-1]
    if values != list(range(low, high + 1)):
        return None
    if low == every[0]:
        return f"{label} <= {high}"
    return f"{label} >= {low}" if high == every[-1] else f"{low} <= {label} <= {high}"


def state_in_words(relation: Relation, ordinals: Mapping[int, int]) -> Iterator[tuple[str, str]]:
    """The label and the value of each variable of a state."""
    formulas = Formulas(relation)
    for variable in relation.variables:
        slot = variable.slot
        yield formulas.slots[slot].label, formulas.value(slot, ordinals[slot])
