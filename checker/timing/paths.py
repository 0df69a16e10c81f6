"""The ways that runs can go, put into classes by what their steps tell, each with what it takes.

A run goes from where the first client waits to where nobody waits and nobody will get anything any
more, or to where nothing need happen. What is told of a class is the least and the most over all of
its runs, with all the times they can have.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from attrs import define, field, frozen

from rackproof.checker.searched import Progress
from rackproof.checker.timing.amounts import ZERO
from rackproof.checker.timing.classes import EXACT, Blind, Bounds, Class, Classes, Place, Region
from rackproof.checker.timing.moves import Moves
from rackproof.checker.timing.network import Conflict, Schedule
from rackproof.checker.timing.stalls import nothing_ends, since
from rackproof.checker.timing.windows import longest, timed
from rackproof.checker.trace import Trace, run
from rackproof.model.kernel import Charge, Firing, Timing

Tags = tuple[str, ...]
START: Final = "start"
TRIED: Final = 24
"""Waits of a class of paths, the longest first, that are tried for a run that has them."""
MOST_WAYS: Final = 2_000
"""Ways on from a wait that are tried."""


@frozen
class Memory:
    """What is remembered of a run: tags (no two alike in a row), what it cost (bytes moved, tokens
    recomputed, joules), who was the first to wait, who began to wait later, who has got anything.
    """

    tags: Tags = ()
    costs: tuple[Fraction, Fraction, Fraction] = (ZERO, ZERO, ZERO)
    early: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()
    served: frozenset[int] = frozenset()


class Ways(Blind):
    """Remembers the tags, the cost, and the moments that times are measured from."""

    def __init__(self, moves: Moves) -> None:
        self.timing, self.moves = moves.durations.timing, moves
        self.is_done: dict[int, bool] = {}

    def start(self, state: Any) -> Memory:
        """Nothing told yet."""
        early = _true(self.timing.waiting(state))
        return Memory(early=early)

    def follow(self, memory: Any, before: Any, firing: Firing, after: Any) -> Memory:
        """What a firing adds."""
        timing = self.timing
        tags, charge = memory.tags, timing.charge(before, firing, after)
        for tag in timing.tags(before, firing, after):
            tags = tags if tags[-1:] == (tag,) else (*tags, tag)
        waits, asked = _true(timing.waiting(after)), memory.early | memory.late
        left = _true(timing.waiting(before)) - waits
        seen = zip(timing.seen(before), timing.seen(after), strict=True)
        got = {n for n, (old, now) in enumerate(seen) if old != now}
        early = memory.early or waits
        return Memory(
            tags,
            _added(memory.costs, charge),
            early,
            memory.late | (waits - early),
            memory.served | ((got | left) & asked),
        )

    def moments(self, memory: Any, state: Any) -> tuple[Any, ...]:
        """The start, who asked when if later, who first got something when, who waits since."""
        if not memory.early:
            return ()
        waits = [n for n, waiting in enumerate(self.timing.waiting(state)) if waiting]
        asked = [("asked", n) for n in sorted(memory.late)]
        first = [("first", n) for n in sorted(memory.served)]
        return (START, *asked, *first, *(("since", n) for n in waits))

    def begins(self, moment: Any, before: Any, after: Any) -> bool:
        """Only waiting begins anew, with whatever a client gets."""
        if moment[0] != "since":
            return False
        before, after = self.timing.seen(before), self.timing.seen(after)
        return bool(before[moment[1]] != after[moment[1]])

    def is_over(self, memory: Any, state: Any) -> bool:
        """Whether nobody waits, or gets anything, any more."""
        waits = any(self.timing.waiting(state))
        return bool(memory.early) and not waits and self._done(self.moves.number(state))

    def _done(self, state: int) -> bool:
        """Whether nothing that can come, at whatever time, is of any interest to a client."""
        if state not in self.is_done:
            reached, told = [state], self._told(state)
            known = {state}
            for at in reached:
                for _, after in self.moves.of(at):
                    if self._told(after) != told or self.is_done.get(after) is False:
                        self.is_done[state] = False
                        return False
                    if after not in known and after not in self.is_done:
                        known.add(after)
                        reached.append(after)
            self.is_done.update(dict.fromkeys(known, True))
        return self.is_done[state]

    def _told(self, state: int) -> tuple[object, object]:
        """What clients have, and whether they wait."""
        plain = self.moves.states[state]
        return self.timing.seen(plain), self.timing.waiting(plain)


def _true(waiting: Sequence[bool]) -> frozenset[int]:
    return frozenset(n for n, waits in enumerate(waiting) if waits)


def _added(
    costs: tuple[Fraction, Fraction, Fraction], charge: Charge
) -> tuple[Fraction, Fraction, Fraction]:
    moved, recomputed, joules = costs
    return (
        moved + Fraction(charge.bytes_moved),
        recomputed + Fraction(charge.tokens_recomputed),
        joules + Fraction(charge.joules),
    )


@define
class Range:
    """The least and the most of what was seen; None where nothing was."""

    least: Fraction | float | None = None
    most: Fraction | float | None = None

    def add(self, least: Fraction | float, most: Fraction | float) -> None:
        """Take in more."""
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)


@define(eq=False)
class PathClass:
    """All runs with the same tags; times in seconds, ``math.inf`` where something has no end.

    first: from when a client asks until it first gets something, or need not wait for it. total:
    until nobody waits. stall: the worst of any client; its least is what a run was seen to have,
    its most what none passes.
    example: a run with as few faults and steps as any. worst: one with its worst stall, and times.
    reason: why a wait in it may never end.
    """

    tags: Tags
    example: Class
    faults: Range = field(factory=Range)
    first: Range = field(factory=Range)
    total: Range = field(factory=Range)
    stall: Range = field(factory=Range)
    bytes_moved: Range = field(factory=Range)
    tokens_recomputed: Range = field(factory=Range)
    joules: Range = field(factory=Range)
    trace: Trace | None = None
    worst: Trace | None = None
    schedule: Schedule | None = None
    reason: str | None = None

    @property
    def is_exact(self) -> bool:
        """Whether a run was seen whose stall is the most that any can be."""
        return self.stall.least == self.stall.most


@frozen
class Paths:
    """The classes of paths, by faults and then length; reason: why some runs were not seen."""

    classes: tuple[PathClass, ...]
    explored: int
    states: int
    reason: str | None = None


def paths(moves: Moves, bounds: Bounds | None = None, progress: Progress | None = None) -> Paths:
    """Put all runs within the times into classes."""
    return _Search(moves, bounds or Bounds(), progress).found()


@frozen(eq=False)
class Wait:
    """The most ticks that somebody can have waited when the next firing after a class comes."""

    ticks: float
    found: Class
    moment: Any


class _Search:
    """The classes of states, with the way that each is on."""

    def __init__(self, moves: Moves, bounds: Bounds, progress: Progress | None) -> None:
        self.moves, self.timing = moves, moves.durations.timing
        self.ticks = moves.durations.ticks_a_second
        self.classes = Classes(moves, Ways(moves), bounds, progress)
        self.kinds: dict[Tags, PathClass] = {}
        self.all: list[Class] = []
        self.ends: dict[Tags, list[Class]] = defaultdict(list)

    def found(self) -> Paths:
        """Explore, then look for a run with the worst stall of each class."""
        for each in self.classes.explore():
            self.all.append(each)
            if self._may_end(each):
                self._end(each)
        reach = self._reach()
        for kind in self.kinds.values():
            kind.trace = self._trace(kind.example.firings)
            self._worst(kind, reach)
        ordered = sorted(self.kinds.values(), key=lambda k: (k.example.faults, k.example.depth))
        return Paths(tuple(ordered), self.classes.found, len(self.moves.states), self._reason())

    def _reason(self) -> str | None:
        if self.classes.reason is not None or not self.classes.loops:
            return self.classes.reason
        words = [
            step.words.rstrip(".") for step in self.classes.loops[0].trace(self.moves).repeated
        ]
        return f"runs that go round this loop are left out: {'; '.join(words)}"

    def _may_end(self, each: Class) -> bool:
        """Whether runs end here: nothing is of interest any more, or nothing need happen."""
        return each.place.is_over or (bool(each.place.moments) and each.latest[0] == math.inf)

    def _waits_for_ever(self, each: Class) -> bool:
        """Whether runs can end here with somebody who still waits."""
        return not each.place.is_over and any(m[0] == "since" for m in each.place.moments)

    def _trace(self, firings: Iterable[int]) -> Trace:
        return run(self.moves.system, [self.moves.firings[number] for number in firings])

    def _end(self, each: Class) -> None:
        """Take in a class of states in which runs end, or may."""
        memory: Memory = each.place.memory
        kind = self.kinds.setdefault(memory.tags, PathClass(memory.tags, each))
        if (each.faults, each.depth) < (kind.example.faults, kind.example.depth):
            kind.example = each
        self.ends[memory.tags].append(each)
        kind.faults.add(each.faults, each.faults)
        ranges = (kind.bytes_moved, kind.tokens_recomputed, kind.joules)
        for known, cost in zip(ranges, memory.costs, strict=True):
            known.add(cost, cost)
        least, most = self._between(each, START)
        kind.total.add(least, math.inf if self._waits_for_ever(each) else most)
        for client in memory.served:
            asked = ("asked", client) if client in memory.late else START
            kind.first.add(*self._between(each, asked, ("first", client)))
        if self._waits_for_ever(each):
            kind.reason = kind.reason or self._nothing_ends(each)

    def _nothing_ends(self, each: Class) -> str:
        """Why a run to a class can last for ever."""
        while each.latest[0] < math.inf and each.parent is not None:
            each = each.parent
        possible = [self.moves.firings[n] for n, _ in self.moves.of(each.place.state)]
        return nothing_ends(self.moves, possible)

    def _between(
        self, each: Class, begin: Hashable, end: Hashable | None = None
    ) -> tuple[Fraction | float, Fraction | float]:
        """The least and the most from a moment to another, or to now."""
        early, late = each.place.variable(begin), 0 if end is None else each.place.variable(end)
        least, most = -each.region[early, late], each.region[late, early]
        return self._seconds(least), self._seconds(most)

    def _seconds(self, ticks: float) -> Fraction | float:
        return Fraction(int(ticks), self.ticks) if math.isfinite(ticks) else ticks

    def _reach(self) -> dict[int, int]:
        """By the identity of each class, the kinds of ends (as bits) that it leads to."""
        bits = {tags: 1 << n for n, tags in enumerate(self.kinds)}
        reach: dict[int, int] = defaultdict(int)
        before: dict[int, list[Class]] = defaultdict(list)
        for each in self.all:
            for _, after in each.successors:
                before[id(_covering(after))].append(each)
        pending = [end for ends in self.ends.values() for end in ends]
        for end in pending:
            reach[id(end)] |= bits[end.place.memory.tags]
        while pending:
            after = pending.pop()
            for each in before[id(after)]:
                if reach[id(after)] & ~reach[id(each)]:
                    reach[id(each)] |= reach[id(after)]
                    pending.append(each)
        return reach

    def _worst(self, kind: PathClass, reach: dict[int, int]) -> None:
        """Find a run of a kind with as long a stall as any can have, or say how long it may be."""
        bit = 1 << list(self.kinds).index(kind.tags)
        endless = [end for end in self.ends[kind.tags] if self._waits_for_ever(end)]
        if endless:
            kind.stall = Range(math.inf, math.inf)
            self._take(kind, endless[0].firings)
            return
        kind.stall = Range(ZERO, ZERO)
        waits = [wait for wait in self._waits if reach[id(wait.found)] & bit]
        if waits and waits[0].ticks == math.inf:
            kind.reason = kind.reason or self._nothing_ends(waits[0].found)
        for wait in waits[:TRIED]:
            onward = self._onward(wait, kind.tags)
            if onward is not None:
                self._take(kind, [*wait.found.firings, *onward])
            kind.stall.most = self._seconds(waits[0].ticks)
            if kind.is_exact:
                break

    @cached_property
    def _waits(self) -> list[Wait]:
        """Every wait that can end with what fires next in a class; the longest first."""
        waits = [
            Wait(float(each.latest[each.place.variable(moment)]), each, moment)
            for each in self.all
            if each.successors
            for moment in each.place.moments
            if moment[0] == "since"
        ]
        return sorted(waits, key=lambda wait: -wait.ticks)

    def _onward(self, wait: Wait, tags: Tags) -> list[int] | None:
        """A way on to an end with some tags once a wait has been as long as it can be."""
        begin = wait.found
        ways: list[tuple[Place, Region, list[int]]] = []
        for plan in self.classes.plans(begin.place):
            timed, moment = len(begin.place.timed), begin.place.variable(wait.moment)
            ticks = min(wait.ticks, EXACT)
            region = plan.late(begin.region, timed, moment, ticks)
            if region is not None:
                ways.append((plan.target, region, [plan.firing]))
        known = set[tuple[int, bytes]]()
        for place, region, way in ways:
            if place.memory.tags == tags and self._may_end(Class(place, region, 0, 0)):
                return way
            if tags[: len(place.memory.tags)] != place.memory.tags or len(ways) > MOST_WAYS:
                continue
            latest = Class(place, region, 0, 0).latest
            for plan in self.classes.plans(place):
                if plan.is_possible(latest):
                    after = plan.region(region, latest)
                    if (key := (plan.target.number, after.tobytes())) not in known:
                        known.add(key)
                        ways.append((plan.target, after, [*way, plan.firing]))
        return None

    def _take(self, kind: PathClass, firings: Sequence[int]) -> None:
        """Solve a run, and keep it where its worst stall is the worst so far."""
        trace = self._trace(firings)
        timing = timed(trace, self.moves.durations)
        schedule = timing.solve()
        if isinstance(schedule, Conflict):
            return  # another class covers one on the way: this run is not among its own
        if kind.stall.least == math.inf:
            kind.worst, kind.schedule = trace, schedule
            return
        for begin, end in stalls_of(self.timing, trace):
            found = longest(timing, begin, end)
            assert found is not None, "it has a schedule"
            length = math.inf if found[0] is None else found[0]
            if length > (kind.stall.least or ZERO) or kind.worst is None:
                kind.stall.least = max(length, kind.stall.least or ZERO)
                kind.worst, kind.schedule = trace, found[1]


def _covering(found: Class) -> Class:
    """The class that covers one in the end."""
    while found.cover is not None:
        found = found.cover
    return found


def stalls_of(timing: Timing, trace: Trace) -> Iterator[tuple[int, int]]:
    """The steps between which a client of a run got nothing and waited, from each to each."""
    states = [trace.system.initial, *(step.after for step in trace.steps)]
    pairs = itertools.pairwise(states)
    for number, (before, after) in enumerate(pairs, 1):
        for client, waited in enumerate(timing.waiting(before)):
            seen = timing.seen(before)[client] != timing.seen(after)[client]
            ends = seen or not timing.waiting(after)[client] or number == len(trace.steps)
            if waited and ends:
                yield since(timing, trace, client, number - 1), number
