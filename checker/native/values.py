"""Expressions over the words of one state, as code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from attrs import define, field

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.native.assembly import Code, Value
from rackproof.checker.native.layout import Binary, Layout, OneHot, Place

_ARITHMETIC = {Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul"}
_COMPARISON = {Op.EQ: "eq", Op.LT: "slt", Op.LE: "sle"}
_TRUTHS = (Op.EQ, Op.LT, Op.LE, Op.NOT, Op.AND, Op.OR)


class Values:
    """What the arena's nodes are worth in the state whose words are at hand.

    facts: the values that a variable can still have, where the code before has decided it.
    """

    def __init__(self, layout: Layout, code: Code, words: Sequence[Value]) -> None:
        """Start with nothing computed."""
        self.layout, self.code, self.words = layout, code, words
        self.arena: Arena = layout.relation.arena
        self.facts: dict[int, tuple[int, ...]] = {}
        self._known: dict[tuple[Node, bool], Value] = {}

    @contextmanager
    def scope(self, facts: dict[int, tuple[int, ...]] | None = None) -> Iterator[None]:
        """Forget at the end what is computed (and decided) within."""
        before = self.facts, self._known
        self.facts, self._known = {**self.facts, **(facts or {})}, dict(self._known)
        yield
        self.facts, self._known = before

    def decided(self, node: Node) -> bool | None:
        """Whether the facts decide a test, and how."""
        slots = self.arena.slots(node)
        if not slots:
            return bool(self.arena.evaluate(node, _none))
        if len(slots) > 1 or not slots <= self.facts.keys():
            return None
        (slot,) = slots
        outcomes = {self.arena.evaluate(node, {slot: v}.__getitem__) for v in self.facts[slot]}
        return bool(outcomes.pop()) if len(outcomes) == 1 else None

    def truth(self, node: Node) -> Value:
        """A truth value, as an i1."""
        return self._once(node, True)

    def number(self, node: Node) -> Value:
        """A value, as an i64."""
        return self._once(node, False)

    def raw(self, place: Place) -> Value:
        """The bits of a place, shifted down."""
        shifted = self.words[place.word]
        if place.shift:
            shifted = self.code.op("lshr", shifted, place.shift)
        if place.shift + place.width == 64:
            return shifted
        return self.code.op("and", shifted, (1 << place.width) - 1)

    def has(self, place: Place, raw: int) -> Value:
        """Whether the bits of a place are these."""
        masked = self.code.op("and", self.words[place.word], signed(place.mask))
        return self.code.is_("eq", masked, signed(raw << place.shift))

    def _once(self, node: Node, as_truth: bool) -> Value:
        key = (node, as_truth)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._truth(node) if as_truth else self._number(node)
        return known

    def _truth(self, node: Node) -> Value:
        decided = self.decided(node)
        if decided is not None:
            return "true" if decided else "false"
        op, operands = self.arena.op(node), self.arena.operands(node)
        if op is Op.NOT:
            return self.code.op("xor", self.truth(operands[0]), "true", "i1")
        if op in (Op.AND, Op.OR):
            one, other = map(self.truth, operands)
            return self.code.op(op.value, one, other, "i1")
        if op is Op.EQ and (test := self._test(*operands) or self._test(*operands[::-1])):
            return test
        if op in _COMPARISON:
            return self.code.is_(_COMPARISON[op], *map(self.number, operands))
        return self.code.is_("ne", self.number(node), 0)

    def _test(self, variable: Node, other: Node) -> Value | None:
        """A comparison of a variable with a constant."""
        value = self.arena.value(other)
        if self.arena.op(variable) is not Op.VAR or value is None:
            return None
        stored = self.layout.stored[self.arena.operands(variable)[0]]
        if isinstance(stored, Binary):
            inside = stored.low <= value <= stored.high
            return self.has(stored.place, value - stored.low) if inside else "false"
        if value >= 0:
            return self._bit(stored, value)
        return self._is_no_one(stored)

    def _bit(self, stored: OneHot, member: int) -> Value:
        place = stored.bits.get(member)
        return "false" if place is None else self.has(place, 1)

    def _is_no_one(self, stored: OneHot) -> Value:
        return self.code.all_of(
            [
                self.code.is_("eq", self.code.op("and", self.words[word], signed(mask)), 0)
                for word, mask in stored.masks().items()
            ]
        )

    def _number(self, node: Node) -> Value:
        op, operands = self.arena.op(node), self.arena.operands(node)
        if op is Op.CONST:
            return str(operands[0])
        if op is Op.VAR:
            return self._variable(operands[0])
        if op in _TRUTHS:
            return self.code.widen(self.truth(node))
        if op is Op.ADD:
            return self._sum(node)
        return self.code.op(_ARITHMETIC[op], *map(self.number, operands))

    def _variable(self, slot: int) -> Value:
        values = self.facts.get(slot, ())
        if len(values) == 1:
            return str(values[0])
        stored = self.layout.stored[slot]
        if isinstance(stored, Binary):
            raw = self.raw(stored.place)
            return self.code.op("add", raw, stored.low) if stored.low else raw
        result = "-1"
        for member, place in stored.bits.items():
            result = self.code.choose(self.has(place, 1), str(member), result)
        return result

    def _sum(self, node: Node) -> Value:
        """A sum; single bits (the size of a set) are counted word by word."""
        masks: dict[int, int] = defaultdict(int)
        rest: list[Node] = []
        for term in self.arena.terms(node):
            place = self._single_bit(term)
            if place is None or masks[place.word] & place.mask:
                rest.append(term)
            else:
                masks[place.word] |= place.mask
        counts = [self._count(word, mask) for word, mask in masks.items() if mask]
        result, *others = counts + [self.number(term) for term in rest]
        for other in others:
            result = self.code.op("add", result, other)
        return result

    def _single_bit(self, node: Node) -> Place | None:
        if self.arena.op(node) is not Op.VAR:
            return None
        stored = self.layout.stored[self.arena.operands(node)[0]]
        single = isinstance(stored, Binary) and stored.low == 0 and stored.place.width == 1
        return stored.place if single and isinstance(stored, Binary) else None

    def _count(self, word: int, mask: int) -> Value:
        masked = self.code.op("and", self.words[word], signed(mask))
        return self.code.call("llvm.ctpop.i64", "i64", f"i64 {masked}")

    def after(self, writes: Sequence[tuple[int, Node]]) -> dict[int, Value]:
        """The words that an update changes, by number, with their new values."""
        changed: dict[int, _Word] = defaultdict(_Word)
        for slot, node in writes:
            stored = self.layout.stored[slot]
            if isinstance(stored, Binary):
                self._write(changed[stored.place.word], stored, node)
            else:
                self._write_one_hot(changed, stored, node)
        return {number: self._merged(number, word) for number, word in changed.items()}

    def _merged(self, number: int, word: _Word) -> Value:
        kept = signed(~word.cleared & (1 << 64) - 1)
        result = self.code.op("and", self.words[number], kept)
        if word.ones:
            result = self.code.op("or", result, signed(word.ones))
        for part in word.parts:
            result = self.code.op("or", result, part)
        return result

    def _write(self, word: _Word, stored: Binary, node: Node) -> None:
        place, value = stored.place, self.arena.value(node)
        word.cleared |= place.mask
        if value is not None:
            word.ones |= (value - stored.low) << place.shift
            return
        raw = self.number(node)
        if stored.low:
            raw = self.code.op("sub", raw, stored.low)
        word.parts.append(self.code.op("shl", raw, place.shift))

    def _write_one_hot(self, changed: dict[int, _Word], stored: OneHot, node: Node) -> None:
        for word, mask in stored.masks().items():
            changed[word].cleared |= mask
        value = self.arena.value(node)
        if value is None:
            number = self.number(node)
            for member, place in stored.bits.items():
                bit = self.code.widen(self.code.is_("eq", number, member))
                changed[place.word].parts.append(self.code.op("shl", bit, place.shift))
        elif value >= 0:
            changed[stored.bits[value].word].ones |= stored.bits[value].mask


@define
class _Word:
    """What an update does to a word: the bits it overwrites, and what it puts there."""

    cleared: int = 0
    ones: int = 0
    parts: list[Value] = field(factory=list)


def signed(word: int) -> int:
    """A word as the assembler wants its constants."""
    return word - (1 << 64) if word >> 63 else word


def _none(slot: int) -> int:
    raise AssertionError(slot)
