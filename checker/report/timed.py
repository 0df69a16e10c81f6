"""Whether the times of a world allow a violation: in the run that is shown, or in any other."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
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
MOST_TRIED: Final = 5
"""Times of which other values are tried."""


def within_times(timing: Possible, prop: Property) -> Iterator[str]:
    """Whether a property can be violated within the times, and what it would take.

    The run that is shown is the shortest whatever the times are. Where it is not possible, all runs
    of the scope within the times are looked at.
    """
    if timing.is_possible or timing.timing.trace.loop is not None:
        yield from timing.lines
        return
    graph = Graph(timing.timing.trace.system)
    seen = _reached(graph.system, prop, graph)
    if prop.name in seen.violated:
        yield from _by_another(timing, seen.violated[prop.name])
    elif seen.reason is not None:
        yield (
            f"Timing: not settled within these times{timing.set_to}. This run is impossible: "
            f"{timing.conflict}"
        )
        yield f"Whether another run is possible was not found out within {seen.reason}"
        yield from timing.only
    else:
        yield from _by_none(timing, prop, seen, graph)


def _reached(system: System, prop: Property, graph: Graph) -> Reached:
    """What runs of a system with these states and moves violate within its times."""
    return violations(Moves(Durations(system), graph), [prop], Bounds(classes=MOST_CLASSES))


def _by_another(timing: Possible, found: TimedRun) -> Iterator[str]:
    """Another run violates it."""
    other = possible(found.trace)
    assert other is not None, "it was found by its times"
    size = f"{counted(found.trace.faults, 'fault')}, {counted(len(found.trace.steps), 'step')}"
    shown = timing.timing.trace
    yield (
        f"Timing: possible within these times{other.set_to}, in other steps. This run is not: "
        f"{timing.conflict}"
    )
    yield from _difference(shown, found.trace)
    yield f"Another run that violates it, with {size}{other.tied}:"
    yield from run_in_words(found.trace, timing=other)


def _by_none(timing: Possible, prop: Property, seen: Reached, graph: Graph) -> Iterator[str]:
    """No run violates it; what would have to be otherwise, one time after another."""
    ends = " that comes to an end" if prop.scope is Scope.EVENTUALLY else ""
    yield (
        f"Timing: impossible within these times{timing.set_to}: no run of this scope{ends} "
        f"violates it ({seen.classes:,} state classes, all there are)"
    )
    ways = list(itertools.islice(_ways(timing, prop, graph), MOST_WAYS))
    yield f"The run above is impossible: {timing.conflict}"
    if ways:
        alone = {1: "where", 2: "with either of these alone:"}.get(
            len(ways), "with any of these alone:"
        )
        yield f"It is possible, with all else as it is, {alone}"
        yield from (f"  {way.told}" for way in ways)
        yield from _difference(timing.timing.trace, ways[0].trace)
        yield f"As here, where {ways[0].condition}:"
        yield from run_in_words(ways[0].trace, timing=possible(ways[0].trace))
    else:
        yield from timing.only


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


@frozen
class Way:
    """A value of one time with which a run violates the property; what it is now, and why."""

    condition: str
    now: str
    source: str
    trace: Trace

    @property
    def told(self) -> str:
        """The condition, with what is so now."""
        return f"{self.condition} (now {self.now}: {self.source})"


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
            yield Way(condition, in_units(values[name]), known[name].source, trace)


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
