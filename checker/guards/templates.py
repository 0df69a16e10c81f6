"""Tests of a model as templates: over the identifiers that a transition takes, not over this one
and that.

``retries[request-0].current == attempt-1`` in a firing for request-0 and attempt-1 is
``retries[request].current == attempt``, a test that every firing of the transition can make.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Relation
from rackproof.model.kernel import Firing, Identifiers, System, Transition
from rackproof.model.kernel.domains import Enumeration, Identifier, Scalar, Truth
from rackproof.model.kernel.schema import Path

MOST_READINGS: Final = 16
"""More ways than this to read one test as a template are not followed."""


@frozen
class Parameter:
    """The identifier that a transition takes in this place."""

    number: int


@frozen
class Field:
    """A field of the state; the indices of its path are numbers or parameters."""

    path: tuple[str | int | Parameter, ...]


@frozen
class Number:
    """A constant ordinal."""

    value: int


@frozen
class Operation:
    """An operation of the arena on templates."""

    op: Op
    operands: tuple[Template, ...]


Template = Parameter | Field | Number | Operation


class Templates:
    """The templates over the fields of one relation."""

    def __init__(self, relation: Relation) -> None:
        """Look up where each slot is."""
        self.relation, self.arena, self.system = relation, relation.arena, relation.system
        self.slots = relation.system.schema.slots
        self.by_path: Mapping[Path, int] = {s.path: i for i, s in enumerate(self.slots)}
        self.variables = {variable.slot for variable in relation.variables}

    # From a test to templates.

    def readings(self, node: Node, firing: Firing) -> tuple[Template, ...]:
        """The templates of which a node is the instance in a firing; none where it speaks of
        identifiers that the firing does not take.
        """
        return tuple(dict.fromkeys(itertools.islice(self._readings(node, firing), MOST_READINGS)))

    def _readings(self, node: Node, firing: Firing) -> Iterator[Template]:
        op, operands = self.arena.part(node)
        if op is Op.CONST:
            yield Number(operands[0])
        elif op is Op.VAR:
            yield from self._fields(operands[0], firing)
        else:
            parts = [list(self._operands(part, operands, firing)) for part in operands]
            for chosen in itertools.product(*parts):
                yield Operation(op, chosen)

    def _operands(self, node: Node, beside: Sequence[Node], firing: Firing) -> Iterator[Template]:
        """A constant beside an identifier is one too: a parameter, or one that has an order."""
        value = self.arena.value(node)
        sort = next(filter(None, map(self._sort, beside)), None)
        if value is None or sort is None or value < 0:
            yield from self._readings(node, firing)
            return
        yield from self._indices(sort, value, firing)

    def _sort(self, node: Node) -> Identifiers | None:
        """The sort of a field that holds an identifier."""
        op, operands = self.arena.part(node)
        domain = self.slots[operands[0]].domain if op is Op.VAR else None
        return domain.sort if isinstance(domain, Identifier) else None

    def _fields(self, slot: int, firing: Firing) -> Iterator[Template]:
        lanes = iter(self.slots[slot].lanes)
        parts: list[list[str | int | Parameter]] = []
        for part in self.slots[slot].path:
            if isinstance(part, int):
                choices = self._indices(*next(lanes), firing)
                parts.append([c.value if isinstance(c, Number) else c for c in choices])
            else:
                parts.append([part])
        yield from (Field(path) for path in itertools.product(*parts))

    def _indices(
        self, sort: Identifiers, index: int, firing: Firing
    ) -> Iterator[Parameter | Number]:
        pairs = zip(firing.transition.parameters, firing.arguments, strict=True)
        taken = [
            Parameter(number)
            for number, ((_, other), argument) in enumerate(pairs)
            if other == sort and argument == index
        ]
        yield from taken
        is_alone = self.system.schema.counts[sort] == 1
        if (is_alone and not taken) or (sort.ordered and not is_alone):
            yield Number(index)

    # From a template to the test of a firing.

    def instance(self, template: Template, arguments: Sequence[int]) -> Node | None:
        """The node of a template in a firing; None where there is no such field there."""
        match template:
            case Number(value):
                return self.arena.const(value)
            case Parameter(number):
                return self.arena.const(arguments[number])
            case Field(path):
                return self._field(path, arguments)
            case Operation(op, operands):
                parts = [self.instance(operand, arguments) for operand in operands]
                known = [part for part in parts if part is not None]
                return self.arena.apply(op, tuple(known)) if len(known) == len(parts) else None

    def _field(
        self, path: Iterable[str | int | Parameter], arguments: Sequence[int]
    ) -> Node | None:
        slot = self.by_path.get(
            tuple(arguments[p.number] if isinstance(p, Parameter) else p for p in path)
        )
        if slot is None:
            return None
        if slot in self.variables:
            return self.arena.var(slot)
        constant = self.relation.constants.get(slot)
        return None if constant is None else self.arena.const(constant)

    # In words.

    def words(self, template: Template, transition: Transition[..., object]) -> str:
        """A template over the names of fields and of what the transition takes."""
        return _Words(self, transition).told(template)

    def domain(self, template: Template) -> Scalar | None:
        """What a field holds; None for what is no field."""
        if not isinstance(template, Field):
            return None
        return self.slots[self.example(template.path)].domain

    def example(self, path: Iterable[str | int | Parameter]) -> int:
        """A slot that such a path may lead to."""
        return self.by_path[tuple(0 if isinstance(part, Parameter) else part for part in path)]


_SIGNS: Final = {Op.EQ: "==", Op.LT: "<", Op.LE: "<=", Op.ADD: "+", Op.SUB: "-", Op.MUL: "*"}
_OPPOSITES: Final = {Op.EQ: "!=", Op.LT: ">=", Op.LE: ">"}
_MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@frozen
class _Words:
    """Templates of one transition in words."""

    templates: Templates
    transition: Transition[..., object]

    def told(self, template: Template) -> str:
        match template:
            case Number(value):
                return str(value)
            case Parameter(number):
                return self.transition.parameters[number][0]
            case Field(path):
                return self._path(path)
            case Operation(Op.NOT, (part,)):
                return self._negated(part)
            case Operation(Op.AND | Op.OR as op, operands):
                return f" {op.value} ".join(self._inner(part) for part in operands)
            case Operation(op, operands):
                return self._compared(_SIGNS[op], operands)

    def _path(self, path: Iterable[str | int | Parameter]) -> str:
        """The label of a slot with the names of parameters in place of those of identifiers."""
        path = tuple(path)
        slot = self.templates.example(path)
        lanes = iter(self.templates.slots[slot].lanes)
        text = ""
        for part in path:
            if isinstance(part, str):
                text += f".{part}" if text else part
            else:
                name = self.templates.system.label(*next(lanes))
                text += f"[{self.told(part) if isinstance(part, Parameter) else name}]"
        return text

    def _negated(self, part: Template) -> str:
        if isinstance(part, Operation) and part.op in _OPPOSITES:
            return self._compared(_OPPOSITES[part.op], part.operands)
        return f"not {self._inner(part)}"

    def _compared(self, sign: str, operands: Sequence[Template]) -> str:
        one, other = operands
        if sign in _MIRRORED and not isinstance(one, Field | Operation):
            one, other, sign = other, one, _MIRRORED[sign]
        return f"{self._value(one, other)} {sign} {self._value(other, one)}"

    def _value(self, template: Template, beside: Template) -> str:
        """A constant as a value of the field it is compared with."""
        domain = self.templates.domain(beside)
        if not isinstance(template, Number) or domain is None:
            return self._inner(template)
        if isinstance(domain, Identifier):
            system: System = self.templates.system
            value = template.value
            return "none" if value < 0 else system.label(domain.sort, value)
        if isinstance(domain, Enumeration):
            return domain.decode(template.value).name
        return (
            str(domain.decode(template.value)).lower()
            if isinstance(domain, Truth)
            else (str(template.value))
        )

    def _inner(self, template: Template) -> str:
        text = self.told(template)
        is_simple = not isinstance(template, Operation) or template.op is Op.NOT
        return text if is_simple else f"({text})"


def negated(template: Template) -> Template:
    """The opposite of a test."""
    if isinstance(template, Operation) and template.op is Op.NOT:
        return template.operands[0]
    return Operation(Op.NOT, (template,))


def size(template: Template) -> int:
    """How much there is to read."""
    if isinstance(template, Operation):
        return (template.op is not Op.NOT) + sum(map(size, template.operands))
    return 1


def truths(relation: Relation, nodes: Iterable[Node]) -> Iterator[Node]:
    """Truth values and the truth values they are made of, each once; no constants."""
    seen: set[Node] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        op, operands = relation.arena.part(node)
        if node in seen or op is Op.CONST:
            continue
        seen.add(node)
        if op is Op.NOT:
            pending += operands
            continue
        yield node
        if op in (Op.AND, Op.OR):
            pending += operands
