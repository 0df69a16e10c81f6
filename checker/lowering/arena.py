"""The expressions of one lowered model: hash-consed nodes over the ordinals of its slots.

One arena a model, never shared between two: a node's meaning (and its range) depends on the model's
slots. Every value is an integer; a truth value is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum

Node = int
Range = tuple[float, float]
"""The least and the greatest of some values: integers, or infinite where there is none."""


class Op(Enum):
    """What a node computes from its operands."""

    CONST = "const"
    """operand: the value itself"""
    VAR = "var"
    """operand: the index of a slot; the slot's ordinal"""
    ADD = "+"
    SUB = "-"
    MUL = "*"
    EQ = "=="
    LT = "<"
    LE = "<="
    NOT = "not"
    AND = "and"
    OR = "or"

    __hash__ = (
        object.__hash__
    )  # Enum's own is written in Python, and nodes are looked up all the time


BOOLEAN = (Op.EQ, Op.LT, Op.LE, Op.NOT, Op.AND, Op.OR)
_COMMUTATIVE = (Op.ADD, Op.MUL, Op.EQ, Op.AND, Op.OR)


class Arena:
    """Nodes in creation order: operands come before what uses them."""

    def __init__(self) -> None:
        """Start with no node."""
        self._nodes: list[tuple[Op, tuple[int, ...]]] = []
        self._index: dict[tuple[Op, tuple[int, ...]], Node] = {}
        self._values: list[int | None] = []
        self._choices: list[tuple[int, int] | None] = []
        self._slots: dict[Node, frozenset[int]] = {}

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def op(self, node: Node) -> Op:
        """What a node computes."""
        return self._nodes[node][0]

    def operands(self, node: Node) -> tuple[int, ...]:
        """The operands: nodes, but for CONST (the value) and VAR (the slot)."""
        return self._nodes[node][1]

    def part(self, node: Node) -> tuple[Op, tuple[int, ...]]:
        """What a node computes, and its operands."""
        return self._nodes[node]

    def value(self, node: Node) -> int | None:
        """The value of a constant node, None for any other."""
        return self._values[node]

    def choice(self, node: Node) -> tuple[int, int] | None:
        """The slot and the value that a node compares for equality, if that is what it does."""
        return self._choices[node]

    def const(self, value: int) -> Node:
        """A constant."""
        return self._intern(Op.CONST, (value,))

    def var(self, slot: int) -> Node:
        """The ordinal of a slot."""
        return self._intern(Op.VAR, (slot,))

    def add(self, a: Node, b: Node) -> Node:
        """The sum."""
        if self._values[a] == 0:
            return b
        if self._values[b] == 0:
            return a
        return self._arithmetic(Op.ADD, a, b, lambda x, y: x + y)

    def total(self, nodes: Iterable[Node]) -> Node:
        """The sum of several, the same node in whatever order they are given."""
        result = self.const(0)
        for node in sorted(nodes):
            result = self.add(result, node)
        return result

    def terms(self, node: Node) -> Iterator[Node]:
        """What a sum, a conjunction or a disjunction is made of, however it is nested."""
        op = self.op(node)
        if op not in (Op.ADD, Op.AND, Op.OR):
            yield node
            return
        pending = [node]
        while pending:
            item = pending.pop()
            if self.op(item) is op:
                pending.extend(self.operands(item))
            else:
                yield item

    def sub(self, a: Node, b: Node) -> Node:
        """The difference."""
        if self._values[b] == 0:
            return a
        return self._arithmetic(Op.SUB, a, b, lambda x, y: x - y)

    def mul(self, a: Node, b: Node) -> Node:
        """The product."""
        return self._arithmetic(Op.MUL, a, b, lambda x, y: x * y)

    def eq(self, a: Node, b: Node) -> Node:
        """Whether two values are the same."""
        if a == b:
            return self.const(1)
        return self._arithmetic(Op.EQ, a, b, lambda x, y: int(x == y))

    def lt(self, a: Node, b: Node) -> Node:
        """Whether the first is less than the second."""
        return self.const(0) if a == b else self._arithmetic(Op.LT, a, b, lambda x, y: int(x < y))

    def le(self, a: Node, b: Node) -> Node:
        """Whether the first is at most the second."""
        return self.const(1) if a == b else self._arithmetic(Op.LE, a, b, lambda x, y: int(x <= y))

    def not_(self, a: Node) -> Node:
        """The negation of a truth value."""
        value = self._values[a]
        if value is not None:
            return self.const(1 - value)
        if self.op(a) is Op.NOT:
            return self.operands(a)[0]
        return self._intern(Op.NOT, (a,))

    def and_(self, a: Node, b: Node) -> Node:
        """The conjunction of two truth values."""
        return self._junction(Op.AND, a, b, neutral=1)

    def or_(self, a: Node, b: Node) -> Node:
        """The disjunction of two truth values."""
        return self._junction(Op.OR, a, b, neutral=0)

    def slots(self, node: Node) -> frozenset[int]:
        """The slots a node depends on."""
        known = self._slots.get(node)
        if known is None:
            op, operands = self._nodes[node]
            if op is Op.VAR:
                known = frozenset(operands)
            elif op is Op.CONST:
                known = frozenset()
            else:
                known = frozenset().union(*(self.slots(operand) for operand in operands))
            self._slots[node] = known
        return known

    def rename(self, node: Node, change: Callable[[Op, int], Node | None]) -> Node:
        """Rebuild a node with some of its leaves (and comparisons with them) replaced.

        ``change(op, operand)`` gives the node for a VAR or CONST leaf, or None to keep it.
        """
        op, operands = self._nodes[node]
        if op in (Op.VAR, Op.CONST):
            return node if (new := change(op, operands[0])) is None else new
        return self.apply(op, tuple(self.rename(operand, change) for operand in operands))

    def apply(self, op: Op, operands: tuple[Node, ...]) -> Node:
        """Make the node of an operation, simplified as the named methods do."""
        return _MAKERS[op](self, *operands)

    def evaluate(self, node: Node, ordinals: Callable[[int], int]) -> int:
        """Compute a node's value from the slots' ordinals."""
        op, operands = self._nodes[node]
        if op is Op.CONST:
            return operands[0]
        if op is Op.VAR:
            return ordinals(operands[0])
        return _MEANING[op](*(self.evaluate(operand, ordinals) for operand in operands))

    def range(self, node: Node, of_slot: Callable[[int], Range]) -> Range:
        """Bounds of a node's value, given bounds of each slot."""
        op, operands = self._nodes[node]
        if op is Op.CONST:
            return operands[0], operands[0]
        if op is Op.VAR:
            return of_slot(operands[0])
        if op in (Op.ADD, Op.SUB, Op.MUL):
            (a, b), (c, d) = (self.range(operand, of_slot) for operand in operands)
            return _CORNERS[op](a, b, c, d)
        return self._truth_range(op, operands, of_slot)

    def fits(self, node: Node, of_slot: Callable[[int], Range], widest: int) -> bool:
        """Whether a node and all that it is computed from stay within ±widest."""
        op, operands = self._nodes[node]
        low, high = self.range(node, of_slot)
        if low < -widest or high > widest:
            return False
        return op in (Op.CONST, Op.VAR) or all(self.fits(o, of_slot, widest) for o in operands)

    def _truth_range(
        self, op: Op, operands: tuple[int, ...], of_slot: Callable[[int], Range]
    ) -> Range:
        ranges = [self.range(operand, of_slot) for operand in operands]
        if op is Op.NOT:
            return 1 - ranges[0][1], 1 - ranges[0][0]
        (a, b), (c, d) = ranges
        if op is Op.AND:
            return min(a, c), min(b, d)
        if op is Op.OR:
            return max(a, c), max(b, d)
        if op is Op.EQ:
            return int(a == b == c == d), int(a <= d and c <= b)
        if op is Op.LT:
            return int(b < c), int(a < d)
        return int(b <= c), int(a <= d)

    def _arithmetic(self, op: Op, a: Node, b: Node, meaning: Callable[[int, int], int]) -> Node:
        x, y = self._values[a], self._values[b]
        if x is not None and y is not None:
            return self.const(meaning(x, y))
        return self._intern(op, (a, b))

    def _junction(self, op: Op, a: Node, b: Node, neutral: int) -> Node:
        for this, other in ((a, b), (b, a)):
            value = self._values[this]
            if value is not None:
                return other if value == neutral else self.const(value)
        return a if a == b else self._intern(op, (a, b))

    def _choice(self, op: Op, operands: tuple[int, ...]) -> tuple[int, int] | None:
        if op is not Op.EQ:
            return None
        for this, other in (operands, operands[::-1]):
            value = self._values[other]
            if value is not None and self.op(this) is Op.VAR:
                return self.operands(this)[0], value
        return None

    def _intern(self, op: Op, operands: tuple[int, ...]) -> Node:
        if op in _COMMUTATIVE and operands[0] > operands[1]:
            operands = (operands[1], operands[0])
        key = (op, operands)
        node = self._index.get(key)
        if node is None:
            node = self._index[key] = len(self._nodes)
            self._nodes.append(key)
            self._values.append(operands[0] if op is Op.CONST else None)
            self._choices.append(self._choice(op, operands))
        return node

    def nodes(self) -> Iterator[tuple[Node, Op, tuple[int, ...]]]:
        """Every node, operands first."""
        for node, (op, operands) in enumerate(self._nodes):
            yield node, op, operands


_MAKERS: dict[Op, Callable[..., Node]] = {
    Op.ADD: Arena.add,
    Op.SUB: Arena.sub,
    Op.MUL: Arena.mul,
    Op.EQ: Arena.eq,
    Op.LT: Arena.lt,
    Op.LE: Arena.le,
    Op.NOT: Arena.not_,
    Op.AND: Arena.and_,
    Op.OR: Arena.or_,
}

_MEANING: dict[Op, Callable[..., int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.EQ: lambda a, b: int(a == b),
    Op.LT: lambda a, b: int(a < b),
    Op.LE: lambda a, b: int(a <= b),
    Op.NOT: lambda a: 1 - a,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
}


def _products(a: float, b: float, c: float, d: float) -> Range:
    corners = [x * y if x and y else 0 for x in (a, b) for y in (c, d)]
    return min(corners), max(corners)


_CORNERS: dict[Op, Callable[[float, float, float, float], Range]] = {
    Op.ADD: lambda a, b, c, d: (a + c, b + d),
    Op.SUB: lambda a, b, c, d: (a - d, b - c),
    Op.MUL: _products,
}
