"""The near miss: the closest run that is safe, and where it parts from the counterexample.

It has as many first steps in common as any safe run has, and from there on the fewest faults, then
the fewest steps. It comes to rest, or goes on for ever where it cannot; the premise of the property
is met in it. Of a loop, it leaves at the last step in a round that has a shortest way out. Where
that one violates something else, another is looked for that does not, among a few.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from rackproof.checker.explain.ahead import Ahead, Way
from rackproof.checker.explain.explanation import NearMiss
from rackproof.checker.explain.pivot import goes_with, quoted
from rackproof.checker.report.escaping import line
from rackproof.checker.trace import EngineError, Step, Trace
from rackproof.checker.verdicts import counted, listed
from rackproof.model.kernel import Kind, Property, Scope, holds

MOST: Final = 12
"""Safe runs that are looked at for one that violates nothing else."""


def near_miss(trace: Trace, ahead: Ahead, others: Sequence[Property] = ()) -> NearMiss | None:
    """The closest safe run that violates none of some other properties, among a few; or else the
    closest safe run. None where there is none at all. ``Cut`` where it takes too long.
    """
    closest = None
    for number, found in itertools.islice(_safe(trace, ahead), MOST if others else 1):
        if next(_violated(found, (ahead.prop,)), None):
            raise EngineError(f"{ahead.prop.name}: a run that is said to be safe is not")
        also = tuple(_violated(found, others))
        if closest is None or not also:
            words = _words(_way(trace, found, number), ahead.prop, also, closest is None)
            told = NearMiss(found, number, words, also)
            closest = closest or told
            if not also:
                return told
    return closest


def _safe(trace: Trace, ahead: Ahead) -> Iterator[tuple[int, Trace]]:
    """Safe runs with the number of the step at which they part, the closest first: at each step the
    nearest one, then those by its other alternatives.
    """
    met = _met(trace, ahead)
    for number in range(len(trace.steps), 0, -1):
        step, begun = trace.steps[number - 1], Trace(trace.system, trace.steps[: number - 1])
        nearest = ahead.nearest(step.before, met[number - 1])
        if nearest is None or goes_with(nearest, step):
            continue
        yield number, nearest.after(begun)
        for way in _others(step, met[number - 1], ahead):
            if way != nearest:
                yield number, way.after(begun)


def _others(step: Step, met: bool, ahead: Ahead) -> Iterator[Way]:
    """The nearest safe runs by what else is possible than a step, the shortest first."""
    here = ahead.words(step.before)
    found = []
    for action, after in ahead.moves(here):
        firing = ahead.firings[action]
        way = ahead.nearest_from(after, met or ahead.meets(here)) if firing != step.firing else None
        if way is not None:
            found.append(Way((firing, *way.lead), way.loop))
    yield from sorted(found, key=lambda way: (_faults(way), len(way.lead)))


def _faults(way: Way) -> int:
    return sum(firing.transition.kind is Kind.FAULT for firing in way.lead)


def _met(trace: Trace, ahead: Ahead) -> list[bool]:
    """Whether the premise has been met in each state of a run or before."""
    premise, found = ahead.prop.premise, [False]
    for state in [trace.system.initial, *(step.after for step in trace.steps)]:
        is_met = premise is None or holds(trace.system, premise, state)
        found.append(found[-1] or is_met)
    return found[1:]


def _violated(trace: Trace, properties: Sequence[Property]) -> Iterator[str]:
    """The properties that a run violates, anywhere on its way."""
    states = [trace.system.initial, *(step.after for step in trace.steps)]
    for prop in properties:
        if prop.scope is Scope.ALWAYS:
            if not all(holds(trace.system, prop, state) for state in states):
                yield prop.name
        elif trace.violates(prop):
            yield prop.name


def _words(way: str, prop: Property, also: Sequence[str], is_closest: bool) -> str:
    """What is told of a safe run. also: the other properties that it violates."""
    if also:
        instead = listed([*map(line, also)])
        head = f"The closest run in which {line(prop.name)} holds (it violates {instead} instead)"
    elif is_closest:
        head = "The closest safe run"
    else:
        head = "The closest run found that violates no other property either"
    return f"{head} is {way}; {line(prop.name)} holds in it."


def _way(trace: Trace, safe: Trace, number: int) -> str:
    """How a safe run goes."""
    own = quoted(trace.steps[number - 1])
    if not safe.steps:
        return f"the one without any step, and so without {own}"
    common = f"the same up to step {number - 1}" if number > 1 else "another from the first step on"
    if len(safe.steps) < number:
        return f"{common} and comes to rest there, without {own}"
    first = quoted(safe.steps[number - 1])
    rest = f"comes to rest after {counted(len(safe.steps), 'step')}"
    ends = rest if safe.loop is None else f"goes round for ever from step {safe.lead + 1} on"
    return f"{common}, then {first} instead of {own}; it {ends}"
