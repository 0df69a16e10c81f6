"""State classes (Berthomieu and Diaz 1991): all runs with all their times, finitely many at once.

A class is a state and a region: what the times left until each instance fires can be, and how long
ago moments are that something counts from or somebody remembers. A region is a matrix of bounds on
differences, always as tight as it can be: ``region[i, j]`` is the most that variable i exceeds
variable j, with 0 for now. Bounds are whole ticks, exact in floats below 2**53.

A class whose region lies inside that of another with the same state adds nothing: whatever can
come of it can come of the other.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, Protocol

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from rackproof.checker.search import Snapshot
from rackproof.checker.searched import Progress
from rackproof.checker.timing.condition import longest_period
from rackproof.checker.timing.moves import Moves
from rackproof.checker.trace import Trace, run
from rackproof.model.kernel import Firing, Kind

Region = NDArray[np.float64]
EXACT: Final = 2.0**53
"""Ticks below which floats are exact."""
OFTEN: Final = 128
"""Classes between two looks at the clock."""


class Observer(Protocol):
    """Who looks on: what is remembered of a run, and which of its moments.

    A memory is a value that, with the state, decides all that is remembered later.
    """

    def start(self, state: Any) -> Hashable:
        """The memory at the start."""

    def follow(self, memory: Any, before: Any, firing: Firing, after: Any) -> Hashable:
        """The memory after a firing."""

    def moments(self, memory: Any, state: Any) -> tuple[Any, ...]:
        """The names of the moments that are remembered."""

    def begins(self, moment: Any, before: Any, after: Any) -> bool:
        """Whether a moment that is remembered before and after a firing is that firing's anew."""

    def is_over(self, memory: Any, state: Any) -> bool:
        """Whether what comes after is of no interest."""


class Blind:
    """An observer that remembers nothing."""

    def start(self, state: Any) -> Hashable:
        """Nothing."""
        del state
        return None

    def follow(self, memory: Any, before: Any, firing: Firing, after: Any) -> Hashable:
        """Nothing."""
        del memory, before, firing, after
        return None

    def moments(self, memory: Any, state: Any) -> tuple[Any, ...]:
        """None."""
        del memory, state
        return ()

    def begins(self, moment: Any, before: Any, after: Any) -> bool:
        """Never asked."""
        raise NotImplementedError

    def is_over(self, memory: Any, state: Any) -> bool:
        """Never."""
        del memory, state
        return False


@frozen(eq=False)
class Plan:
    """How the regions of one place become those of the next by a firing.

    column: of the variable that fires, 0 for one that may at any time. since, wait: the moment
    (0: none) after which so many ticks must have passed. old, new: the variables that go on, before
    and after; old_pairs, new_pairs: the places of their differences in the regions. most, least:
    the bounds (least negated) of the variables that begin, 0 for the others. running: the moments
    that count until so many ticks have passed, and then no more.
    """

    firing: int
    target: Place
    column: int
    since: int
    wait: float
    old: NDArray[np.intp]
    new: NDArray[np.intp]
    old_pairs: NDArray[np.intp]
    new_pairs: NDArray[np.intp]
    most: Region
    least: Region
    running: tuple[tuple[int, float], ...]
    is_fault: bool

    def is_possible(self, latest: Region) -> bool:
        """Whether this can be what happens next; latest: see ``Class.latest``."""
        if self.since:
            return bool(latest[self.since] >= self.wait)
        return bool(latest[self.column] >= 0.0)

    def region(self, before: Region, latest: Region) -> Region:
        """The region after the firing; latest: see ``Class.latest``."""
        column = before[:, self.column]
        if self.since:
            column = np.minimum(column, before[:, self.since] - self.wait)
        return self.fired(before, column, latest)

    def late(self, before: Region, timed: int, moment: int, ticks: float) -> Region | None:
        """The region after the firing where it comes so many ticks after a moment at least; None
        where it cannot. timed: how many variables bound when anything fires.
        """
        size = len(before)
        whole = np.full((size + 1, size + 1), math.inf)
        whole[:size, :size], whole[size, size] = before, 0.0
        whole[0, size] = 0.0
        whole[size, 1 : 1 + timed] = 0.0
        whole[moment, size] = min(whole[moment, size], -ticks)
        if self.since:
            whole[self.since, size] = min(whole[self.since, size], -self.wait)
        if self.column:
            whole[self.column, size] = whole[size, self.column] = 0.0
        for k in range(size + 1):
            whole = np.minimum(whole, whole[:, k, None] + whole[None, k, :])
        if (whole.diagonal() < 0.0).any():
            return None
        closed = np.ascontiguousarray(whole[:size, :size])
        return self.fired(closed, whole[:size, size], whole[size, :size])

    def fired(self, before: Region, column: Region, row: Region) -> Region:
        """The region after a firing, by the most that each variable exceeds it, and it each."""
        most, least = self.most.copy(), self.least.copy()
        most[self.new] = column[self.old]
        least[self.new] = row[self.old]
        after = most[:, None] + least
        flat = after.reshape(-1)
        known = before.reshape(-1)[self.old_pairs]
        flat[self.new_pairs] = np.minimum(flat[self.new_pairs], known)
        flat[:: len(most) + 1] = 0.0
        for moment, enough in self.running:
            if after[moment, 0] <= -enough:
                after[moment], after[:, moment] = after[0] - enough, after[:, 0] + enough
                after[moment, moment] = 0.0
        return after


@define(eq=False)
class Place:
    """A state with a memory: what the regions there are about.

    timed: the firings that have a variable, from 1 on; then those whose least counts from a moment
    of its own, and the moments of the observer. plans: None until they are asked for.
    """

    number: int
    state: int
    memory: Any
    timed: tuple[int, ...]
    running: tuple[int, ...]
    moments: tuple[Any, ...]
    is_over: bool
    plans: list[Plan] | None = None
    classes: list[Class] = field(factory=list)
    regions: Region = field(factory=lambda: np.empty((0, 0, 0)))

    def variable(self, moment: Any) -> int:
        """That of a moment of the observer."""
        return 1 + len(self.timed) + len(self.running) + self.moments.index(moment)

    def since(self, firing: int) -> int:
        """That of the moment from which the least of a firing counts."""
        return 1 + len(self.timed) + self.running.index(firing)

    @property
    def size(self) -> int:
        """How many variables there are, that of now included."""
        return 1 + len(self.timed) + len(self.running) + len(self.moments)

    def cover(self, region: Region) -> Class | None:
        """A class that a region lies inside of."""
        count = len(self.classes)
        if not count:
            return None
        outside = (self.regions[:count] < region).any(axis=(1, 2))
        best = int(np.argmin(outside))
        return None if np.take(outside, best) else self.classes[best]

    def add(self, found: Class) -> None:
        """Take a class in, in place of all that lie inside of it."""
        count, region = len(self.classes), found.region
        if not len(self.regions):
            self.regions = region[None].copy()
        inside = (self.regions[:count] <= region).all(axis=(1, 2))
        if inside.any():
            for number in np.flatnonzero(inside):
                self.classes[number].cover = found
            self.classes = [self.classes[number] for number in np.flatnonzero(~inside)]
            self.regions = self.regions[:count][~inside]
            count = len(self.classes)
        if count == len(self.regions):
            more = np.empty((2 * count + 1, *region.shape))
            more[:count] = self.regions[:count]
            self.regions = more
        self.regions[count] = region
        self.classes.append(found)


@define(eq=False)
class Class:
    """A place with a region, reached from another class by a plan; faults and depth of that way.

    cover: a class that it turned out to lie inside of. successors: of each firing that is possible,
    the class it leads to or one that covers that.
    """

    place: Place
    region: Region
    faults: int
    depth: int
    parent: Class | None = None
    plan: Plan | None = None
    cover: Class | None = None
    successors: list[tuple[int, Class]] = field(factory=list)

    @property
    def firings(self) -> list[int]:
        """The numbers of the firings that lead here."""
        found = [] if self.plan is None else [self.plan.firing]
        found += [at.plan.firing for at in self.ancestors if at.plan is not None]
        return found[::-1]

    @property
    def ancestors(self) -> Iterator[Class]:
        """The classes on the way here, the nearest first."""
        at = self.parent
        while at is not None:
            yield at
            at = at.parent

    @property
    def latest(self) -> Region:
        """The most that the next firing can come after each variable (0: after now)."""
        timed: Region = self.region[1 : 1 + len(self.place.timed)]
        latest: Region = timed.min(axis=0, initial=math.inf)
        return latest


@frozen
class Loop:
    """A way from a class round to its place, where it can be later than it was."""

    begin: Class
    end: Class

    @property
    def firings(self) -> tuple[int, ...]:
        """Those of the way round."""
        return tuple(self.end.firings[self.begin.depth :])

    def trace(self, moves: Moves) -> Trace:
        """A run that goes on for ever."""
        whole = run(moves.system, [moves.firings[number] for number in self.end.firings])
        return Trace(moves.system, whole.steps, self.begin.depth)

    def period(self, moves: Moves) -> Fraction | None:
        """How long the way round can take each time for ever; None without bound."""
        return longest_period(self.trace(moves), moves.durations)


@frozen
class Bounds:
    """When an exploration is given up: seconds, classes (None: no limit)."""

    seconds: float | None = None
    classes: int | None = 2_000_000


class Classes:
    """The classes of a system, found in the order of their faults and then their steps."""

    def __init__(
        self,
        moves: Moves,
        observer: Observer | None = None,
        bounds: Bounds = Bounds(),
        progress: Progress | None = None,
    ) -> None:
        """Begin with the initial class."""
        self.moves, self.bounds, self.progress = moves, bounds, progress
        self.observer: Observer = observer or Blind()
        self.places: dict[tuple[int, Hashable], Place] = {}
        self.loops: list[Loop] = []
        self.reason: str | None = None
        self.found = 0
        self.edges = 0
        self._tried: dict[tuple[int, ...], Fraction | None] = {}
        self._pending: list[tuple[int, int, int, Class]] = []
        self.first = self._first()
        self._keep(self.first)

    def explore(self) -> Iterator[Class]:
        """Every class, each once its successors are known, but for those that others turned out
        to cover before; ``reason`` says, after the last, why some are missing.
        """
        began, looked = time.monotonic(), -OFTEN
        while self._pending and self.reason is None:
            if self.edges - looked >= OFTEN:
                looked = self.edges
                self._look(began)
                continue
            if self.bounds.classes is not None and self.found >= self.bounds.classes:
                self.reason = f"the limit of {self.bounds.classes:,} classes"
                continue
            current = heapq.heappop(self._pending)[-1]
            if current.cover is None:
                self._expand(current)
                yield current

    def _expand(self, current: Class) -> None:
        """Find the successors of a class."""
        latest = current.latest
        for plan in self.plans(current.place):
            if not plan.is_possible(latest):
                continue  # something else must have happened before, or it is too early
            self.edges += 1
            region = plan.region(current.region, latest)
            covered = plan.target.cover(region)
            after = covered or Class(
                plan.target,
                region,
                current.faults + plan.is_fault,
                current.depth + 1,
                current,
                plan,
            )
            current.successors.append((plan.firing, after))
            if covered is None:
                self._keep(after)

    def _keep(self, found: Class) -> None:
        found.place.add(found)
        self.found += 1
        if (found.depth + 1) * self.moves.longest >= EXACT:
            self.reason = "times that are too long to be told to the tick"
        if not self._goes_round(found):
            heapq.heappush(self._pending, (found.faults, found.depth, self.found, found))

    def _look(self, began: float) -> None:
        """Tell how far it is, and give up where that was asked for."""
        spent = time.monotonic() - began
        if self.progress is not None:
            told = f"{self.found:,} classes of {len(self.moves.states):,} states"
            self.progress(Snapshot(self.found, self.edges, spent, doing=told))
        if self.bounds.seconds is not None and spent > self.bounds.seconds:
            self.reason = f"the time limit of {self.bounds.seconds:g} s"

    def _first(self) -> Class:
        state = self.moves.states[0]
        place = self._place(0, self.observer.start(state))
        most, least = self._bounds(place, {})
        region = most[:, None] + least
        np.fill_diagonal(region, 0.0)
        return Class(place, region, 0, 0)

    def _bounds(self, place: Place, kept: Mapping[int, int]) -> tuple[Region, Region]:
        """The most and the negated least of each variable of a place that begins, 0 for others."""
        most, least = np.zeros(place.size), np.zeros(place.size)
        for variable, firing in enumerate(place.timed, 1):
            if variable not in kept:
                shortest, longest = self.moves.span(firing, place.state)
                most[variable] = longest
                least[variable] = -(longest if firing in self.moves.held else shortest)
        return most, least

    def _place(self, state: int, memory: Hashable) -> Place:
        key = (state, memory)
        if key not in self.places:
            plain = self.moves.states[state]
            self.places[key] = Place(
                len(self.places),
                state,
                memory,
                tuple(n for n, _ in self.moves.of(state) if self.moves.is_timed(n, state)),
                self.moves.running(state),
                self.observer.moments(memory, plain),
                self.observer.is_over(memory, plain),
            )
        return self.places[key]

    def plans(self, place: Place) -> list[Plan]:
        """What may fire in a place, if the region allows it."""
        if place.plans is None:
            moves = () if place.is_over else self.moves.of(place.state)
            place.plans = [self._plan(place, firing, after) for firing, after in moves]
        return place.plans

    def _plan(self, place: Place, number: int, after: int) -> Plan:
        firing = self.moves.firings[number]
        states = self.moves.states[place.state], self.moves.states[after]
        memory = self.observer.follow(place.memory, states[0], firing, states[1])
        target = self._place(after, memory)
        kept = dict(self._kept(place, number, target, states))
        old, new = np.array(list(kept.values()), np.intp), np.array(list(kept), np.intp)
        held, enough = self.moves.held, self.moves.held.__getitem__
        return Plan(
            number,
            target,
            1 + place.timed.index(number) if number in place.timed and number not in held else 0,
            place.since(number) if number in held else 0,
            self.moves.span(number, place.state)[0],
            old,
            new,
            (old[:, None] * place.size + old).reshape(-1),
            (new[:, None] * target.size + new).reshape(-1),
            *self._bounds(target, kept),
            tuple((target.since(n), enough(n)) for n in target.running),
            firing.transition.kind is Kind.FAULT,
        )

    def _kept(
        self, place: Place, number: int, target: Place, states: tuple[Any, Any]
    ) -> Iterator[tuple[int, int]]:
        """The variables of a target that go on, with the variable that each was before."""
        for variable, firing in enumerate(target.timed, 1):
            if firing != number and firing in place.timed:
                spans = (self.moves.span(firing, p.state) for p in (place, target))
                if next(spans) == next(spans):
                    yield variable, 1 + place.timed.index(firing)
        for firing in target.running:
            if firing in place.running and firing != number:
                yield target.since(firing), place.since(firing)
        for moment in target.moments:
            if moment in place.moments and not self.observer.begins(moment, *states):
                yield target.variable(moment), place.variable(moment)

    def _goes_round(self, found: Class) -> bool:
        """Whether a class only is where a run was before, with more behind it: a loop that can be
        gone round for ever, as its region has all that it had.

        It is then noted and not followed any further.
        """
        place, moments = found.place, set(found.place.moments)
        timed = place.size - len(moments)
        at = found
        while at.parent is not None and at.plan is not None:
            if not moments and place.memory is None:
                break
            new = set(at.plan.new.tolist())
            moments = {m for m in moments & set(at.place.moments) if at.place.variable(m) in new}
            at = at.parent
            if at.place.state == place.state and at.place.moments == place.moments:
                again = (found.region[:timed, :timed] >= at.region[:timed, :timed]).all()
                more = at.place is not place or any(_age(found, m) > _age(at, m) for m in moments)
                loop = Loop(at, found)
                if again and more and (at.place is not place or self._lasts(loop)):
                    self.loops.append(loop)
                    return True
        return False

    def _lasts(self, loop: Loop) -> bool:
        """Whether a loop can take some time each time for ever."""
        if loop.firings not in self._tried:
            self._tried[loop.firings] = loop.period(self.moves)
        return self._tried[loop.firings] != 0


def _age(found: Class, moment: Any) -> float:
    """The most ticks that a moment can be ago."""
    return float(found.region[0, found.place.variable(moment)])
