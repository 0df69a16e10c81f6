"""Which properties runs violate that keep to the times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from attrs import frozen

from rackproof.checker.searched import Progress
from rackproof.checker.timing.classes import Bounds, Class, Classes
from rackproof.checker.timing.moves import Moves
from rackproof.checker.timing.network import Schedule
from rackproof.checker.timing.windows import timed
from rackproof.checker.trace import EngineError, Trace, run
from rackproof.model.kernel import Property, Scope, holds

AT_REST: Final = (Scope.AT_REST, Scope.EVENTUALLY)


@frozen
class TimedRun:
    """A run and times at which its steps can happen."""

    trace: Trace
    schedule: Schedule


@frozen
class Reached:
    """What runs within the times violate, each by one with the fewest faults and then steps.

    Loops are not looked at. reason: why not every run was seen; None where all were, or all that
    was asked for was found.
    """

    violated: Mapping[str, TimedRun]
    classes: int
    states: int
    reason: str | None


def violations(
    moves: Moves,
    properties: Collection[Property],
    bounds: Bounds | None = None,
    progress: Progress | None = None,
) -> Reached:
    """Look for a run that violates each of some properties."""
    classes = Classes(moves, None, bounds or Bounds(), progress)
    left = {p.name: p for p in properties if p.scope is not Scope.SOMETIMES}
    found: dict[str, TimedRun] = {}
    asked: set[int] = set()
    for each in classes.explore():
        if each.place.state not in asked:
            asked.add(each.place.state)
            for name in [n for n, prop in left.items() if _fails(moves, prop, each)]:
                found[name] = _run(moves, left.pop(name), each)
        if not left:
            break
    return Reached(found, classes.found, len(moves.states), classes.reason if left else None)


def _fails(moves: Moves, prop: Property, each: Class) -> bool:
    """Whether a property fails in the state of a class, where it is asked there."""
    if prop.scope in AT_REST and not moves.rests(each.place.state):
        return False
    return not holds(moves.system, prop, moves.states[each.place.state])


def _run(moves: Moves, prop: Property, each: Class) -> TimedRun:
    """The run to a class, with times; ``EngineError`` where the plain functions disagree."""
    trace = run(moves.system, [moves.firings[number] for number in each.firings])
    schedule = timed(trace, moves.durations).solve()
    rests = prop.scope in AT_REST and moves.rests(each.place.state)
    fails = next(trace.failing(prop), None) is not None if rests else trace.violates(prop)
    if not fails or not isinstance(schedule, Schedule):
        raise EngineError(f"{prop.name} is said to be violated within the times, and is not")
    return TimedRun(trace, schedule)
