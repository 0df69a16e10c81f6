"""A run that is written down, step by step, with what it was to lead to."""

from __future__ import annotations

from typing import Any, Final

from attrs import frozen

from rackproof.checker.timing.amounts import exact, in_units
from rackproof.checker.timing.possible import Possible, possible
from rackproof.checker.timing.stalls import worst_of
from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Firing, Property, Scope, System, holds, successors
from rackproof.scenarios import schema
from rackproof.scenarios.fields import Fact, Field
from rackproof.scenarios.steps import written

MOST_SHOWN: Final = 8


@frozen
class Replayed:
    """The steps that were possible, and what is not as the scenario says.

    timing: when they can happen, pauses that are written included; None where the world does not
    say how long anything takes.
    """

    trace: Trace
    complaints: tuple[str, ...]
    steps: tuple[schema.Step, ...]
    facts: tuple[Fact, ...]
    timing: Possible | None = None


def replay(scenario: schema.Scenario) -> Replayed:
    """Fire the steps of a scenario one after another with the plain functions.

    It ends at the first step that is not possible; whether a loop is one, and the facts of
    ``then``, are asked only at the end.
    """
    system = scenario.case.setting.system
    trace, complaints = Trace(system, ()), list[str]()
    steps = scenario.steps or ()
    for number, step in enumerate(steps, 1):
        before = trace.final
        after = step.firing.apply(system, before)
        where = f"{scenario.path}:{step.line}: step {number}"
        if after is None:
            complaints.append(f"{where}: {_impossible(system, step.firing, before)}")
            break
        trace = Trace(system, (*trace.steps, Step(system, step.firing, before, after)))
        complaints += [f"{where}: {line}" for line in _unmet(trace, step.then, steps)]
    else:
        trace = Trace(system, trace.steps, None if scenario.loop is None else scenario.loop - 1)
        if trace.loop is not None and trace.flaw is not None:
            complaints.append(f"{scenario.path}: loop: what begins there {trace.flaw}")
        for fact in scenario.then:
            complaints += [
                f"{scenario.path}:{fact.line}: then: {x}" for x in _unmet(trace, (fact,), steps)
            ]
    timing, hasty = _timed(trace, steps)
    if hasty:
        complaints.append(f"{scenario.path}: after: {hasty}")
    return Replayed(trace, tuple(complaints), steps, scenario.then, timing)


def _timed(trace: Trace, steps: tuple[schema.Step, ...]) -> tuple[Possible | None, str | None]:
    """When the steps can happen with the pauses that are written, or without where these are not
    possible; and then why not.
    """
    pauses = [step.after for step in steps[: len(trace.steps)]]
    timing = possible(trace, pauses)
    if timing is None or timing.is_possible or not any(pause is not None for pause in pauses):
        return timing, None
    without = possible(trace)
    if without is None or not without.is_possible:
        return without, None
    return without, f"with these pauses the run is not possible: {timing.told}"


def _unmet(trace: Trace, facts: tuple[Fact, ...], steps: tuple[schema.Step, ...]) -> list[str]:
    found = [(fact, *_found(trace, fact, steps)) for fact in facts]
    return [
        f"expected {f.key}: {f.wanted}, but it is {told}" for f, told, is_so in found if not is_so
    ]


def violated(run: Replayed) -> Property | None:
    """The first property that a run is to violate, by what is written, and does."""
    wanted = {fact.property for fact in run.facts if fact.wanted == "violated"}
    props = (prop for prop in run.trace.system.properties if prop.name in wanted)
    return next((prop for prop in props if run.trace.violates(prop)), None)


def seen(run: Replayed, fact: Fact) -> str:
    """What a fact's field or property is where a run ends, or how long its clients wait."""
    return met(run, fact)[0]


def met(run: Replayed, fact: Fact) -> tuple[str, bool]:
    """The same, and whether it is as the fact wants it."""
    return _found(run.trace, fact, run.steps)


def _found(trace: Trace, fact: Fact, steps: tuple[schema.Step, ...]) -> tuple[str, bool]:
    """What is so, in words, and whether it is as the fact wants it."""
    if fact.stall is not None:
        return _stalled(trace, fact.stall, [step.after for step in steps[: len(trace.steps)]])
    told = _holds(trace, fact) if fact.field is None else _value(trace, fact.field)
    return told, told == fact.wanted


def _holds(trace: Trace, fact: Fact) -> str:
    (prop,) = (prop for prop in trace.system.properties if prop.name == fact.property)
    if prop.scope is Scope.SOMETIMES:
        return "holds" if holds(trace.system, prop, trace.final) else "violated"
    return "violated" if trace.violates(prop) else "holds"


def _value(trace: Trace, field: Field) -> str:
    return field.words(field.value(trace.system.schema.flatten(trace.final)))


def _stalled(trace: Trace, most: float, pauses: list[float | None]) -> tuple[str, bool]:
    """The longest wait that the times of a run allow, and whether it is less than so much."""
    timing = possible(trace, pauses)
    if timing is None or not timing.is_possible:
        return "not known: the run is not possible within its times", False
    stall = worst_of(timing.paused)
    if stall is None:
        return "nothing: nobody waits", True
    if stall.seconds is None:
        return "without end", False
    return in_units(stall.seconds), stall.seconds < exact(most)


def _impossible(system: System, firing: Firing, state: Any) -> str:
    """Say that a step is not possible, and which are: those of the same transition first."""
    enabled = [other for other, _ in successors(system, state)]
    enabled.sort(key=lambda other: other.transition.name != firing.transition.name)
    names = [written(other, system) for other in enabled]
    shown = ", ".join(names[:MOST_SHOWN]) or "none at all"
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return f"{written(firing, system)} is not possible here; possible are: {shown}{more}"
