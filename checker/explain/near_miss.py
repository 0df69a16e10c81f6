"""The near miss: the closest run that is safe, and where it parts from the counterexample.

It has as many first steps in common as any safe run has, and from there on the fewest faults, then
the fewest steps. It comes to rest, or goes on for ever where it cannot; the premise of the property
is met in it. Of a loop, it leaves at the last step in a round that has a shortest way out.
"""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.checker.explain.ahead import Ahead
from rackproof.checker.explain.explanation import NearMiss
from rackproof.checker.explain.pivot import goes_with, quoted
from rackproof.checker.report.escaping import line
from rackproof.checker.trace import EngineError, Trace
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Property, Scope, holds


def near_miss(trace: Trace, ahead: Ahead) -> NearMiss | None:
    """The closest safe run; None where there is none at all. ``Cut`` where it takes too long."""
    met = _met(trace, ahead)
    for number in range(len(trace.steps), 0, -1):
        step = trace.steps[number - 1]
        way = ahead.nearest(step.before, met[number - 1])
        if way is not None and not goes_with(way, step):
            found = way.after(Trace(trace.system, trace.steps[: number - 1]))
            if next(_violated(found, (ahead.prop,)), None):
                raise EngineError(f"{ahead.prop.name}: a run that is said to be safe is not")
            others = tuple(p for p in trace.system.properties if p.name != ahead.prop.name)
            also = tuple(_violated(found, others))
            return NearMiss(found, number, _words(trace, found, number, ahead.prop, also), also)
    return None


def _met(trace: Trace, ahead: Ahead) -> list[bool]:
    """Whether the premise has been met in each state of a run or before."""
    premise, found = ahead.prop.premise, [False]
    for state in [trace.system.initial, *(step.after for step in trace.steps)]:
        is_met = premise is None or holds(trace.system, premise, state)
        found.append(found[-1] or is_met)
    return found[1:]


def _violated(trace: Trace, properties: tuple[Property, ...]) -> Iterator[str]:
    """The properties that a run violates, anywhere on its way."""
    states = [trace.system.initial, *(step.after for step in trace.steps)]
    for prop in properties:
        if prop.scope is Scope.ALWAYS:
            if not all(holds(trace.system, prop, state) for state in states):
                yield prop.name
        elif trace.violates(prop):
            yield prop.name


def _words(trace: Trace, safe: Trace, number: int, prop: Property, also: tuple[str, ...]) -> str:
    told = f"{_way(trace, safe, number)}, and {line(prop.name)} holds in it."
    return told + (f" It violates {', '.join(map(line, also))}, though." if also else "")


def _way(trace: Trace, safe: Trace, number: int) -> str:
    """How a safe run goes."""
    own = quoted(trace.steps[number - 1])
    if not safe.steps:
        return f"The closest safe run takes no step at all, and so not {own}"
    common = f"the same up to step {number - 1}" if number > 1 else "another from the first step on"
    if len(safe.steps) < number:
        return f"The closest safe run is {common} and comes to rest there, without {own}"
    first = quoted(safe.steps[number - 1])
    rest = f"comes to rest after {counted(len(safe.steps), 'step')}"
    ends = rest if safe.loop is None else f"goes round for ever from step {safe.lead + 1} on"
    return f"The closest safe run is {common}, then {first} instead of {own}; it {ends}"
