"""What a path has decided so far: truth values of tests, and the values each slot can still have.

A set of values is a bit mask over the slot's domain (bit 0 is the lowest ordinal), so that refining
it is one machine-word operation for all but the largest domains. An endless set, with all values
from some one on, is a negative mask, whose bits have no end either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rackproof.checker.lowering.arena import BOOLEAN, Arena, Node, Op, Range


class Facts:
    """Truths decided on one path, and what follows from them.

    arena: where the tests live. masks: the values each slot may have at the start of the path.
    lows: the lowest ordinal of each slot's domain. ``consulted`` collects the slots whose set of
    values decided something, so that a caller can redo the path when that set grows.
    """

    def __init__(
        self, arena: Arena, masks: Sequence[int], lows: Sequence[int], consulted: set[int]
    ) -> None:
        """Start with nothing decided."""
        self._arena, self._masks, self._lows = arena, masks, lows
        self._narrowed: dict[int, int] = {}
        self._known: dict[Node, bool] = {}
        self._open: dict[Node, int] = {}  # what was open, and after how many decisions
        self._decided = 0
        self.consulted = consulted

    def branch(self) -> Facts:
        """The same, to go on another way from here."""
        other = Facts(self._arena, self._masks, self._lows, self.consulted)
        other._narrowed, other._known = dict(self._narrowed), dict(self._known)
        return other

    def mask(self, slot: int) -> int:
        """The values a slot can still have."""
        self.consulted.add(slot)
        return self._narrowed.get(slot, self._masks[slot])

    def bounds(self, slot: int) -> Range:
        """The least and the greatest of them."""
        mask, low = self.mask(slot), self._lows[slot]
        least = low + (mask & -mask).bit_length() - 1
        return least, math.inf if mask < 0 else low + mask.bit_length() - 1

    def range(self, node: Node) -> Range:
        """Bounds of a node's value on this path."""
        return self._arena.range(node, self.bounds)

    def values(self, node: Node) -> list[int]:
        """The values a node can have on this path, at most (exact for a slot)."""
        if self._arena.op(node) is Op.VAR:
            slot = self._arena.operands(node)[0]
            mask, low = self.mask(slot), self._lows[slot]
            return [low + i for i in range(mask.bit_length()) if mask >> i & 1]
        least, greatest = self.range(node)
        return list(range(int(least), int(greatest) + 1))

    def is_endless(self, node: Node) -> bool:
        """Whether the values that a node can have have no end."""
        low, high = self.range(node)
        return math.isinf(low) or math.isinf(high)

    def truth(self, node: Node) -> bool | None:
        """Whether a test is decided, and how."""
        known = self._known.get(node)
        if known is not None:
            return known
        if self._open.get(node) == self._decided:
            return None
        known = self._derived(node)
        if known is None:
            self._open[node] = self._decided
        else:
            self._known[node] = known
        return known

    def _derived(self, node: Node) -> bool | None:
        choice = self._arena.choice(node)
        if choice is not None:
            mask, bit = self.mask(choice[0]), self._bit(*choice)
            return False if not mask & bit else True if mask == bit else None
        op, operands = self._arena.part(node)
        if op is Op.CONST:
            return bool(operands[0])
        if op in (Op.NOT, Op.AND, Op.OR):
            return self._junction(op, operands)
        if op is Op.EQ:
            left, right = self._set(operands[0]), self._set(operands[1])
            if left is not None and right is not None:
                return _equal(left, right)
        low, high = self.range(node)
        return bool(low) if low == high else None

    def assume(self, node: Node, value: bool) -> None:
        """Take a test for decided, and narrow the slots it speaks of."""
        self._known[node] = value
        self._decided += 1
        choice = self._arena.choice(node)
        if choice is not None:
            bit = self._bit(*choice)
            self._keep(choice[0], bit if value else ~bit)
            return
        op, operands = self._arena.part(node)
        if op is Op.NOT:
            self.assume(operands[0], not value)
        elif op is Op.VAR:
            self._keep(operands[0], 1 << (int(value) - self._lows[operands[0]]))
        elif (op is Op.AND and value) or (op is Op.OR and not value):
            for operand in operands:
                self.assume(operand, value)
        elif op is Op.EQ:
            self._narrow_equal(operands[0], operands[1], value)
        elif op in (Op.LT, Op.LE):
            self._narrow_order(op, operands[0], operands[1], value)

    def simplified(self, node: Node) -> Node:
        """The constant a node is on this path, or the node."""
        if self._arena.value(node) is not None:
            return node
        known = self.truth(node) if self._is_truth(node) else None
        if known is not None:
            return self._arena.const(int(known))
        low, high = self.range(node)
        return self._arena.const(int(low)) if low == high else node

    def _is_truth(self, node: Node) -> bool:
        return self._arena.op(node) in BOOLEAN

    def _junction(self, op: Op, operands: tuple[int, ...]) -> bool | None:
        truths = [self.truth(operand) for operand in operands]
        if op is Op.NOT:
            return None if truths[0] is None else not truths[0]
        decisive = op is Op.OR
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive

    def _set(self, node: Node) -> tuple[int, int] | None:
        """The possible values of a slot or a constant as a mask and its lowest ordinal."""
        op, operands = self._arena.part(node)
        if op is Op.CONST:
            return 1, operands[0]
        if op is Op.VAR:
            return self.mask(operands[0]), self._lows[operands[0]]
        return None

    def _bit(self, slot: int, value: int) -> int:
        shift = value - self._lows[slot]
        return 1 << shift if shift >= 0 else 0

    def _keep(self, slot: int, mask: int) -> None:
        self._narrowed[slot] = self.mask(slot) & mask

    def _narrow_equal(self, a: Node, b: Node, same: bool) -> None:
        for this, other in ((a, b), (b, a)):
            values = self._set(other)
            if self._arena.op(this) is not Op.VAR or values is None:
                continue
            slot = self._arena.operands(this)[0]
            mask, shift = values[0], values[1] - self._lows[slot]
            mask = mask << shift if shift >= 0 else mask >> -shift
            if same:
                self._keep(slot, mask)
            elif mask & (mask - 1) == 0:
                self._keep(slot, ~mask)

    def _narrow_order(self, op: Op, a: Node, b: Node, value: bool) -> None:
        if not value:  # not a < b is b <= a; not a <= b is b < a
            a, b, op = b, a, Op.LE if op is Op.LT else Op.LT
        gap = int(op is Op.LT)
        if self._arena.op(a) is Op.VAR:
            slot = self._arena.operands(a)[0]
            top = self.range(b)[1] - gap - self._lows[slot]
            if not math.isinf(top):
                self._keep(slot, (1 << max(int(top) + 1, 0)) - 1)
        if self._arena.op(b) is Op.VAR:
            slot = self._arena.operands(b)[0]
            bottom = self.range(a)[0] + gap - self._lows[slot]
            if not math.isinf(bottom):
                self._keep(slot, -1 << max(int(bottom), 0))


def _equal(left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    """Whether two values are the same, given the set (a mask and its lowest ordinal) each is in."""
    (mask_a, low_a), (mask_b, low_b) = left, right
    low = min(low_a, low_b)
    if not mask_a << (low_a - low) & mask_b << (low_b - low):
        return False
    single = mask_a & (mask_a - 1) == 0 and mask_b & (mask_b - 1) == 0
    return True if single else None
