"""Exact answers about functions of a whole number that never fall as it grows.

On lo..hi such a function lies between its values at the two ends. So a range on which the ends
decide needs no look inside; any other is halved, down to single numbers, which decide themselves.
Nothing is missed, however often two functions cross, and no formula needs to be known.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from functools import cache
from math import inf

Rising = Callable[[int], float]


def runs(one: Rising, other: Rising, first: int, last: int) -> tuple[tuple[int, int, bool], ...]:
    """The ranges of first..last on which one is below the other (True), or is not (False)."""
    one, other = cache(one), cache(other)

    def decided(lo: int, hi: int) -> Iterator[tuple[int, int, bool]]:
        if one(hi) < other(lo):
            yield lo, hi, True
        elif one(lo) >= other(hi):
            yield lo, hi, False
        else:
            middle = (lo + hi) // 2
            yield from decided(lo, middle)
            yield from decided(middle + 1, hi)

    found: list[tuple[int, int, bool]] = []
    for lo, hi, below in decided(first, last):
        joined = found and found[-1][2] is below
        found.append((found.pop()[0] if joined else lo, hi, below))
    return tuple(found)


def greatest_ratio(
    above: Rising, below: Rising, less: Rising, first: int, last: int
) -> tuple[int, float]:
    """Where above / (below - less) is greatest, and how great; infinite where nothing is left."""

    def bound(lo: int, hi: int) -> float:
        left = below(lo) - less(hi)
        return above(hi) / left if left > 0 else inf

    above, below, less = cache(above), cache(below), cache(less)
    ranges = [(-bound(first, last), first, last)]
    while True:
        value, lo, hi = heapq.heappop(ranges)
        if lo == hi:
            return lo, -value
        middle = (lo + hi) // 2
        for part in ((lo, middle), (middle + 1, hi)):
            heapq.heappush(ranges, (-bound(*part), *part))
