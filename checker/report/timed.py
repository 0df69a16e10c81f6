"""Whether the times of a world allow a violation: in the run that is shown, or in any other."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from operator import eq
from typing import Final

from attrs import frozen

from rackproof.checker.report.steps import run_in_words
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.classes import Bounds
from rackproof.checker.timing.durations import Durations, with_values
from rackproof.checker.timing.moves import Graph, Moves
from rackproof.checker.timing.possible import Possible, possible
from rackproof.checker.timing.reach import Reached, TimedRun, violations
from rackproof.checker.trace import Trace, run
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Property, Scope, System
from rackproof.scenarios.worlds import InputError

MOST_CLASSES: Final = 2_000
"""State classes that are looked at for another run."""
MOST_WAYS: Final = 3
"""Other values that are told."""
MOST_KEPT: Final = 256
"""Violations of which is kept what was found out."""
MOST_TRIED: Final = 5
"""Times of which other values are tried."""


class InTime(Enum):
    """Whether a property can be violated within the times of a world."""

    POSSIBLE = "possible"
    IN_OTHER_STEPS = "possible in other steps"
    IMPOSSIBLE = "impossible"
    OPEN = "not settled"


@frozen
class Time:
    """How long something takes, in words, and who says so; chosen: an operator sets it."""

    name: str
    value: str
    source: str
    chosen: bool


@frozen
class Way:
    """A value of one time with which a run violates the property: name, condition; what it is now,
    and why.
    """

    name: str
    condition: str
    now: str
    source: str
    trace: Trace

    @property
    def told(self) -> str:
        """The condition, with what is so now."""
        return f"{self.condition} (now {self.now}: {self.source})"


@frozen
class WithinTimes:
    """What the times of a world make of a violation.

    times: those that a run depends on. words: the verdict in a sentence and more. ways: other
    values of one time, each of which alone makes it possible. shown: a run that is possible, other
    than the one in question, with its times; condition: with which value, where not as it is set;
    difference: in what it differs from the one in question, in a sentence if it does.
    """

    verdict: InTime
    words: tuple[str, ...]
    times: tuple[Time, ...] = ()
    ways: tuple[Way, ...] = ()
    shown: Possible | None = None
    condition: str = ""
    difference: tuple[str, ...] = ()

    @property
    def told(self) -> Iterator[str]:
        """The verdict in words, and what it would take; without the other run."""
        yield from self.words
        if self.ways:
            known = {1: "where", 2: "with either of these alone:"}
            alone = known.get(len(self.ways), "with any of these alone:")
            yield f"It is possible, with all else as it is, {alone}"
            yield from (f"  {way.told}" for way in self.ways)

    @property
    def lines(self) -> Iterator[str]:
        """All of it in words, the other run too."""
        yield from self.told
        yield from self.difference
        if self.ways:
            yield f"As here, where {self.condition}:"
        if self.shown is not None:
            yield from run_in_words(self.shown.timing.trace, timing=self.shown)


@lru_cache(MOST_KEPT)
def within_times(trace: Trace, prop: Property) -> WithinTimes | None:
    """Whether a property can be violated within the times, and what it would take; None where its
    world says nothing of times.

    The run that is shown is the shortest whatever the times are. Where it is not possible, all runs
    of the scope within the times are looked at: that takes a while, and each form of a report asks.
    """
    timing = possible(trace)
    return None if timing is None else _within_times(timing, prop)


def _within_times(timing: Possible, prop: Property) -> WithinTimes:
    if timing.is_possible or timing.timing.trace.loop is not None:
        verdict = InTime.POSSIBLE if timing.is_possible else InTime.OPEN
        return WithinTimes(verdict, tuple(timing.lines), times_of(timing))
    graph = Graph(timing.timing.trace.system)
    seen = _reached(graph.system, prop, graph)
    if prop.name in seen.violated:
        return _by_another(timing, seen.violated[prop.name])
    if seen.reason is None:
        return _by_none(timing, prop, seen, graph)
    told = (
        f"Timing: not settled within these times{timing.set_to}. This run is impossible: "
        f"{timing.conflict}",
        f"Whether another run is possible was not found out within {seen.reason}",
        *timing.only,
    )
    return WithinTimes(InTime.OPEN, told, times_of(timing))


def times_of(timing: Possible) -> tuple[Time, ...]:
    """The times that a run depends on; what an operator sets comes first."""
    durations = timing.timing.durations
    known, values = durations.timing.quantities, durations.values
    names = sorted(timing.names & known.keys(), key=lambda name: (name not in timing.chosen, name))
    return tuple(
        Time(name, in_units(values[name]), known[name].source, name in timing.chosen)
        for name in names
        if values[name] or name in timing.chosen
    )


def _reached(system: System, prop: Property, graph: Graph) -> Reached:
    """What runs of a system with these states and moves violate within its times."""
    return violations(Moves(Durations(system), graph), [prop], Bounds(classes=MOST_CLASSES))


def _by_another(timing: Possible, found: TimedRun) -> WithinTimes:
    """Another run violates it."""
    other = possible(found.trace)
    assert other is not None, "it was found by its times"
    size = f"{counted(found.trace.faults, 'fault')}, {counted(len(found.trace.steps), 'step')}"
    told = (
        f"Timing: possible within these times{other.set_to}, in other steps. This run is not: "
        f"{timing.conflict}",
        f"Another run that violates it is possible, with {size}{other.tied}.",
    )
    difference = tuple(_difference(timing.timing.trace, found.trace))
    return WithinTimes(
        InTime.IN_OTHER_STEPS, told, times_of(other), shown=other, difference=difference
    )


def _by_none(timing: Possible, prop: Property, seen: Reached, graph: Graph) -> WithinTimes:
    """No run violates it; what would have to be otherwise, one time after another."""
    ends = " that comes to an end" if prop.scope is Scope.EVENTUALLY else ""
    told = (
        f"Timing: impossible within these times{timing.set_to}: no run of this scope{ends} "
        f"violates it ({seen.classes:,} state classes, all there are)",
        f"The run above is impossible: {timing.conflict}",
    )
    ways = tuple(itertools.islice(_ways(timing, prop, graph), MOST_WAYS))
    if ways:
        shown = possible(ways[0].trace)
        difference = tuple(_difference(timing.timing.trace, ways[0].trace))
        return WithinTimes(
            InTime.IMPOSSIBLE,
            told,
            times_of(timing),
            ways,
            shown,
            ways[0].condition,
            difference,
        )
    return WithinTimes(InTime.IMPOSSIBLE, (*told, *timing.only), times_of(timing))


def _difference(shown: Trace, other: Trace) -> Iterator[str]:
    """In what another run differs from the one that is shown, where it does."""
    firings, others = ([step.firing for step in trace.steps] for trace in (shown, other))
    if firings == others:
        return
    same = sum(1 for _ in itertools.takewhile(bool, map(eq, firings, others)))
    size = counted(len(others), "step")
    size += "" if len(others) == len(firings) else f" instead of {len(firings)}"
    what = "the same in another order" if Counter(firings) == Counter(others) else "other ones"
    yield (
        f"The run below is not the counterexample itself: {size}, {what} from step {same + 1} on."
    )


def _ways(timing: Possible, prop: Property, graph: Graph) -> Iterator[Way]:
    """For times that stand in the way: a run with another value, and from which value on."""
    system = graph.system
    known, values = timing.timing.durations.timing.quantities, timing.timing.durations.values
    for name, value in timing.kinder[:MOST_TRIED]:
        found = _violating(with_values(system, {name: value}), prop, graph)
        as_it_is = found and possible(_again(found.trace, system))
        where = as_it_is and as_it_is.where(name)
        if found is not None and where:
            condition, nearest = where
            trace = _again(found.trace, with_values(system, {name: float(nearest)}))
            yield Way(name, condition, in_units(values[name]), known[name].source, trace)


def _violating(system: System, prop: Property, graph: Graph) -> TimedRun | None:
    """A run that violates a property within the times of a system; None where none does, or where
    they contradict each other: something takes longer at least than at most.
    """
    try:
        return _reached(system, prop, graph).violated.get(prop.name)
    except InputError:
        return None


def _again(trace: Trace, system: System) -> Trace:
    """The same steps in a system with other times."""
    return run(system, [step.firing for step in trace.steps])
