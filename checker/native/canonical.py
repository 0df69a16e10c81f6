"""The canonical form of a state as code: the least of all that exchanging bundles makes of it.

The records of a sorted class are put in order. Where classes are enumerated, their bundles are
exchanged two at a time until every order was met; the least state is kept.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from rackproof.checker.native.assembly import Code, Value
from rackproof.checker.native.layout import Layout, Move, Place, Record
from rackproof.checker.native.values import signed

MOST_IN_NETWORK: Final = 8
"""Up to so many records are sorted without a loop."""


def canonical_functions(layout: Layout) -> list[str]:
    """The functions ``canonical`` (in place), and what it calls."""
    sorts = [_sort(layout, k, records) for k, records in enumerate(layout.records)]
    return [*sorts, *_changes(layout), _canonical(layout)]


def less(code: Code, one: Sequence[Value], other: Sequence[Value]) -> Value:
    """Whether one state (or record) comes before another: the first words count most."""
    result = "false"
    for a, b in reversed(list(zip(one, other, strict=True))):
        below = code.is_("ult", a, b)
        if result == "false":
            result = below
        else:
            same = code.op("and", code.is_("eq", a, b), result, "i1")
            result = code.op("or", below, same, "i1")
    return result


def _canonical(layout: Layout) -> str:
    code = Code("canonical", ["ptr"], "void", "nounwind")
    (state,) = code.arguments
    _sort_all(layout, code, state)
    if layout.changes:
        _least_of_orders(layout, code, state)
    code.give()
    return code.text()


def _sort_all(layout: Layout, code: Code, state: Value) -> None:
    for number in range(len(layout.records)):
        code.call(f"sort{number}", "void", f"ptr {state}")


def _least_of_orders(layout: Layout, code: Code, state: Value) -> None:
    best = code.local(count=layout.words)
    code.put(code.words(state, layout.words), best)
    with code.counting(len(layout.changes)) as step:
        change = code.load(code.at("@changes", step, "i8"), "i8")
        code.call("exchange", "void", f"ptr {state}", f"i8 {change}")
        _sort_all(layout, code, state)
        now = code.words(state, layout.words)
        with code.when(less(code, now, code.words(best, layout.words))):
            code.put(now, best)
    code.put(code.words(best, layout.words), state)


def _changes(layout: Layout) -> Iterator[str]:
    """The order in which swaps are applied, and the function that applies one."""
    if not layout.changes:
        return
    values = ", ".join(f"i8 {change}" for change in layout.changes)
    yield f"@changes = internal constant [{len(layout.changes)} x i8] [{values}]\n"
    code = Code("exchange", ["ptr", "i8"], "void", "nounwind")
    state, which = code.arguments
    labels = {number: code.block() for number in range(len(layout.swaps))}
    after = code.block()
    code.switch(code.widen(which, "i8"), after, labels)
    for number, swap in enumerate(layout.swaps):
        code.begin(labels[number])
        words = code.words(state, layout.words)
        for move in swap:
            _move(code, words, move)
        code.put(words, state)
        code.jump(after)
    code.begin(after)
    code.give()
    yield code.text()


def _move(code: Code, words: list[Value], move: Move) -> None:
    """Exchange the bits of a mask with those some distance away."""
    away = _shifted(code, words[move.other], move.distance)
    differing = code.op("xor", words[move.word], away)
    differing = code.op("and", differing, signed(move.mask))
    words[move.word] = code.op("xor", words[move.word], differing)
    back = _shifted(code, differing, -move.distance)
    words[move.other] = code.op("xor", words[move.other], back)


def _shifted(code: Code, value: Value, up: int) -> Value:
    return code.op("shl" if up >= 0 else "lshr", value, abs(up)) if up else value


def _sort(layout: Layout, number: int, records: Sequence[Record]) -> str:
    code = Code(f"sort{number}", ["ptr"], "void", "nounwind")
    (state,) = code.arguments
    words = code.words(state, layout.words)
    values = [[_piece(code, words, place) for place in record] for record in records]
    pairs = itertools.pairwise(values)
    disorder = code.any_of([less(code, after, before) for before, after in pairs])
    with code.when(disorder):
        ordered = (
            _network(code, values) if len(values) <= MOST_IN_NETWORK else _inserted(code, values)
        )
        code.put(_assembled(code, words, records, ordered), state)
    code.give()
    return code.text()


def _piece(code: Code, words: Sequence[Value], place: Place) -> Value:
    shifted = _shifted(code, words[place.word], -place.shift)
    return code.op("and", shifted, signed((1 << place.width) - 1))


def _network(code: Code, values: list[list[Value]]) -> list[list[Value]]:
    """Compare and exchange by a fixed network (odd-even merge)."""
    values = list(values)
    for i, j in _comparisons(len(values)):
        swap = less(code, values[j], values[i])
        pairs = list(zip(values[i], values[j], strict=True))
        values[i] = [code.choose(swap, b, a) for a, b in pairs]
        values[j] = [code.choose(swap, a, b) for a, b in pairs]
    return values


def _comparisons(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's odd-even merge sort, for any number."""
    p = 1
    while p < count:
        k = p
        while k >= 1:
            for j in range(k % p, count - k, 2 * k):
                for i in range(min(k, count - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        yield i + j, i + j + k
            k //= 2
        p *= 2


def _inserted(code: Code, values: list[list[Value]]) -> list[list[Value]]:
    """Insertion in a loop: most records are where they belong already."""
    size = len(values[0])
    array = code.local(count=size * len(values))
    for i, record in enumerate(values):
        code.put(record, code.at(array, i * size))
    with code.counting(len(values) - 1) as last:
        at = code.variable(last)
        with code.forever() as (_, done):
            index = code.load(at)
            lower = code.at(array, code.op("mul", index, size))
            upper = code.at(lower, size)
            below, above = code.words(lower, size), code.words(upper, size)
            further, exchange = code.block(), code.block()
            code.branch(less(code, above, below), exchange, done)
            code.begin(exchange)
            code.put(above, lower)
            code.put(below, upper)
            code.branch(code.is_("eq", index, 0), done, further)
            code.begin(further)
            code.store(code.op("sub", index, 1), at)
    return [code.words(code.at(array, i * size), size) for i in range(len(values))]


def _assembled(
    code: Code, words: Sequence[Value], records: Sequence[Record], values: list[list[Value]]
) -> list[Value]:
    """The words with the records' bits replaced."""
    cleared: dict[int, int] = defaultdict(int)
    result = list(words)
    for record in records:
        for place in record:
            cleared[place.word] |= place.mask
    for word, mask in cleared.items():
        result[word] = code.op("and", result[word], signed(~mask & (1 << 64) - 1))
    for record, pieces in zip(records, values, strict=True):
        for place, piece in zip(record, pieces, strict=True):
            moved = _shifted(code, piece, place.shift)
            result[place.word] = code.op("or", result[place.word], moved)
    return result
