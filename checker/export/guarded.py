"""Guarded commands: each way through a transition's tree that ends in an update."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import (
    Predicate,
    Raises,
    Relation,
    Test,
    Tree,
    Update,
    Verdict,
)
from rackproof.model.kernel import Scope

Literal = tuple[Node, bool]
Guard = tuple[Literal, ...]

_TRUTHS = (Op.EQ, Op.LT, Op.LE, Op.NOT, Op.AND, Op.OR)


@frozen
class Command:
    """Where all the literals hold, these slots get these values, all at once; or the model raises
    an error.
    """

    name: str
    guard: Guard
    writes: tuple[tuple[int, Node], ...]
    error: str | None = None


def commands(relation: Relation) -> Iterator[Command]:
    """Every way that every action can take effect."""
    for action in relation.actions:
        firing = action.firing
        name = identifier("_".join([firing.transition.name, *map(str, firing.arguments)]))
        for guard, leaf in _ways(relation, action.tree):
            if isinstance(leaf, Raises):
                yield Command(name, guard, (), leaf.message)
            elif isinstance(leaf, Update):
                yield Command(name, guard, leaf.writes)


def holding(relation: Relation, predicate: Predicate) -> list[Guard]:
    """The ways in which a predicate is true (where it raises it is not); one of them must hold."""
    found = []
    for guard, leaf in _ways(relation, predicate.tree):
        if isinstance(leaf, Verdict) and relation.arena.value(leaf.value) != 0:
            is_sure = relation.arena.value(leaf.value) is not None
            found.append(guard if is_sure else (*guard, (leaf.value, True)))
    return found


def invariants(relation: Relation) -> dict[str, list[list[Guard]]]:
    """The ``always`` properties by name: for each instance, the ways in which it holds."""
    found: dict[str, list[list[Guard]]] = {}
    for predicate in relation.predicates:
        if predicate.property.scope is Scope.ALWAYS:
            ways = holding(relation, predicate)
            found.setdefault(predicate.property.name, []).append(ways)
    return found


def _ways(relation: Relation, tree: Tree, guard: Guard = ()) -> Iterator[tuple[Guard, Tree]]:
    if isinstance(tree, Test):
        yield from _ways(relation, tree.yes, (*guard, (tree.condition, True)))
        yield from _ways(relation, tree.no, (*guard, (tree.condition, False)))
    else:
        yield _concise(relation, guard), tree


def _concise(relation: Relation, guard: Guard) -> Guard:
    """Say what a variable is, and not what it is not, where that is the same."""
    arena, left = relation.arena, _left(relation, guard)
    found: list[Literal] = []
    for node, value in guard:
        slot = _variable(arena, node)
        is_known = slot is not None and len(left[slot]) == 1
        if slot is not None and is_known:
            literal = arena.eq(arena.var(slot), arena.const(*left[slot])), True
        else:
            literal = node, value
        if literal not in found:
            found.append(literal)
    return tuple(found)


def _left(relation: Relation, guard: Guard) -> dict[int, set[int]]:
    """The values that comparisons with constants leave to each variable."""
    arena = relation.arena
    left = {v.slot: set(range(v.low, v.high + 1)) for v in relation.variables}
    for node, value in guard:
        slot = _variable(arena, node)
        if slot is not None:
            same = {_compared(arena, node)}
            left[slot] = left[slot] & same if value else left[slot] - same
    return left


def _compared(arena: Arena, node: Node) -> int:
    """The constant that a node compares a variable with."""
    values = (arena.value(operand) for operand in arena.operands(node))
    return next(value for value in values if value is not None)


def _variable(arena: Arena, node: Node) -> int | None:
    """The slot that a node compares with a constant."""
    if arena.op(node) is not Op.EQ:
        return None
    one, other = arena.operands(node)
    if arena.value(one) is not None:
        one, other = other, one
    if arena.value(other) is None or arena.op(one) is not Op.VAR:
        return None
    return arena.operands(one)[0]


def identifier(text: str) -> str:
    """A text as an identifier of any language."""
    return re.sub(r"\W+", "_", text).strip("_")


def names(relation: Relation) -> dict[int, str]:
    """A name for each variable; the slot's number keeps them apart."""
    slots = relation.system.schema.slots
    return {v.slot: f"{identifier(slots[v.slot].label)}_{v.slot}" for v in relation.variables}


@frozen
class Notation:
    """How a language writes expressions.

    symbols: of the operations. variable: a slot as a number. as_number: a truth value as a number.
    """

    arena: Arena
    symbols: Mapping[Op, str]
    variable: Callable[[int], str]
    as_number: Callable[[str], str]
    true: str = "true"
    false: str = "false"

    def guard(self, guard: Guard) -> str:
        """A conjunction."""
        return self._joined(Op.AND, [self.literal(*literal) for literal in guard], self.true)

    def any_of(self, guards: Sequence[Guard]) -> str:
        """A disjunction of conjunctions."""
        return self._joined(Op.OR, [f"({self.guard(guard)})" for guard in guards], self.false)

    def all_of(self, instances: Sequence[Sequence[Guard]]) -> str:
        """What holds where every instance does."""
        return self._joined(Op.AND, [f"({self.any_of(ways)})" for ways in instances], self.true)

    def literal(self, node: Node, value: bool) -> str:
        """A test, or its negation."""
        return self.truth(node) if value else f"{self.symbols[Op.NOT]}({self.truth(node)})"

    def truth(self, node: Node) -> str:
        """A node as a truth value."""
        op, operands = self.arena.op(node), self.arena.operands(node)
        if op is Op.NOT:
            return f"{self.symbols[op]}({self.truth(operands[0])})"
        if op in (Op.AND, Op.OR):
            return f"({self.truth(operands[0])} {self.symbols[op]} {self.truth(operands[1])})"
        if op in _TRUTHS:
            return f"({self.number(operands[0])} {self.symbols[op]} {self.number(operands[1])})"
        if op is Op.CONST:
            return self.true if operands[0] else self.false
        return f"({self.number(node)} {self.symbols[Op.EQ]} 1)"

    def number(self, node: Node) -> str:
        """A node as a number."""
        op, operands = self.arena.op(node), self.arena.operands(node)
        if op is Op.CONST:
            return str(operands[0]) if operands[0] >= 0 else f"({operands[0]})"
        if op is Op.VAR:
            return self.variable(operands[0])
        if op in _TRUTHS:
            return self.as_number(self.truth(node))
        return f"({self.number(operands[0])} {self.symbols[op]} {self.number(operands[1])})"

    def _joined(self, op: Op, parts: Sequence[str], empty: str) -> str:
        return f" {self.symbols[op]} ".join(parts) if parts else empty


def in_order(
    arena: Arena, writes: Sequence[tuple[int, Node]]
) -> tuple[list[tuple[int, Node]], list[tuple[int, Node]]]:
    """Writes as assignments one after another: those that need their value kept first, and the
    rest in an order in which none reads what was assigned before.
    """
    left, kept, ordered = list(writes), [], []
    while left:
        free = next((w for w in left if not _is_read(arena, w[0], left, w)), None)
        if free is None:
            kept.append(left.pop(0))
        else:
            ordered.append(free)
            left.remove(free)
    return kept, ordered


def _is_read(
    arena: Arena, slot: int, writes: Sequence[tuple[int, Node]], but: tuple[int, Node]
) -> bool:
    return any(slot in arena.slots(node) for write in writes if write != but for node in write[1:])
