"""Simple temporal networks (Dechter, Meiri, Pearl 1991): times bound by their differences.

Time 0 is that of the start; every other comes no earlier. Such a system has a solution unless going
round some of its bounds comes to less than nothing; its solutions' least and greatest values are
shortest paths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from attrs import frozen

from rackproof.checker.timing.amounts import Amount


@frozen
class Limit:
    """One time comes at most so much after another: t[later] - t[earlier] <= amount.

    why: what makes it so, for people; empty where it goes without saying. unless: the names that
    are infinite and make it so, where it says no more than that something never happens.
    """

    earlier: int
    later: int
    amount: Amount
    why: str = ""
    unless: tuple[str, ...] = ()


@frozen
class Schedule:
    """A solution: when each time is earliest and latest (None: as late as one likes), in seconds.

    The earliest times, all together, are a solution, and so are the latest where they are finite.
    """

    earliest: tuple[Fraction, ...]
    latest: tuple[Fraction | None, ...]


@frozen
class Conflict:
    """Limits that form a circle and come to less than nothing."""

    limits: tuple[Limit, ...]

    @property
    def amount(self) -> Amount:
        """What they come to."""
        return sum((limit.amount for limit in self.limits), Amount())


def solve(
    count: int, limits: Sequence[Limit], values: Mapping[str, Fraction]
) -> Schedule | Conflict:
    """Times that keep to all limits, for values of the names; or why there are none."""
    never = [limit for limit in limits if limit.unless]
    if never:
        return Conflict((never[0],))
    edges, ticks = _edges(limits, values)
    backward = [(later, earlier, weight, number) for earlier, later, weight, number in edges]
    before = _distances(count, backward, 0)
    if isinstance(before, list):
        return Conflict(tuple(limits[number] for number in reversed(before)))
    after = _distances(count, edges, 0)
    assert isinstance(after, dict), "the same circles, the other way round"
    return Schedule(
        tuple(Fraction(-before[i], ticks) for i in range(count)),
        tuple(Fraction(after[i], ticks) if i in after else None for i in range(count)),
    )


def most_between(
    count: int, limits: Sequence[Limit], values: Mapping[str, Fraction], begin: int, end: int
) -> Fraction | None:
    """The most that can pass between two times where there is a solution; None without bound."""
    edges, ticks = _edges(limits, values)
    after = _distances(count, edges, begin)
    assert isinstance(after, dict), "there is a solution"
    return Fraction(after[end], ticks) if end in after else None


Edge = tuple[int, int, int, int]
"""From a time to another, at most so many ticks later, and the number of the limit."""


def _edges(limits: Sequence[Limit], values: Mapping[str, Fraction]) -> tuple[list[Edge], int]:
    """The limits in whole ticks, and how many of these a second has."""
    weights = [limit.amount.value(values) for limit in limits]
    ticks = math.lcm(*(weight.denominator for weight in weights))
    edges = [
        (limit.earlier, limit.later, int(weight * ticks), number)
        for number, (limit, weight) in enumerate(zip(limits, weights, strict=True))
    ]
    return edges, ticks


def _distances(count: int, edges: Sequence[Edge], source: int) -> dict[int, int] | list[int]:
    """The shortest way from one time to each (Bellman and Ford); or a circle below nothing."""
    distance = {source: 0}
    arrived: dict[int, tuple[int, int]] = {}
    for _ in range(count):
        changed = None
        for start, end, weight, number in edges:
            known = distance.get(start)
            if known is not None and known + weight < distance.get(end, math.inf):
                distance[end] = known + weight
                arrived[end] = (start, number)
                changed = end
        if changed is None:
            return distance
    assert changed is not None, "a way of so many edges meets some time twice"
    return list(_circle(changed, count, arrived))


def _circle(end: int, count: int, arrived: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """The numbers of the edges of a circle that leads to a time, the last first."""
    for _ in range(count):
        end, _ = arrived[end]
    at = end
    while True:
        at, number = arrived[at]
        yield number
        if at == end:
            return
