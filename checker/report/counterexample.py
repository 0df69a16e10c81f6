"""A run in words: numbered steps, what each changed, and where it goes wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final

from rackproof.checker.exams import Examined
from rackproof.checker.report.setting import remedy, scope_in_words
from rackproof.checker.report.stack import mended
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.classes import Bounds
from rackproof.checker.timing.durations import Durations, with_values
from rackproof.checker.timing.moves import Moves
from rackproof.checker.timing.possible import Possible, amount_in_words, charges, possible
from rackproof.checker.timing.reach import violations
from rackproof.checker.trace import Step, Trace, run
from rackproof.checker.verdicts import Result, counted
from rackproof.checker.verify import Report
from rackproof.model.kernel import Property, Scope, System
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.quantities import in_words

INDENT: Final = "   "
WIDTH: Final = 100
MOST_CLASSES: Final = 2_000
"""State classes that are looked at for another run."""
FOR_EVER: Final = "-- from here on, for ever:"


def counterexample(report: Report, result: Result, reproduce: str) -> list[str]:
    """The lines of a violation, from the property to the command that shows it again."""
    trace = result.trace
    assert trace is not None, "only a violation has a counterexample"
    fixed = remedy(report, result)
    lines = [f"{result.prop.name} is {result.words}", "", f"  {result.prop.statement}"]
    if result.prop.why:
        lines.append(f"  Why it matters: {result.prop.why}")
    timing = possible(trace)
    lines += ["", *run_in_words(trace, timing=timing), "", *_verdict(trace, result)]
    if timing is not None:
        lines += [f"  {line}" for line in (*timing.lines, *another(timing, result.prop))]
    if isinstance(report, Examined):
        lines += _exam(report, result)
    if fixed:
        lines.append(f"  {fixed}")
    if report.scenario is not None and report.scenario.source:
        lines.append(f"  As reported: {report.scenario.source}")
    return [*lines, f"  To see it again: {reproduce}"]


def run_in_words(
    trace: Trace, pauses: Sequence[float | None] = (), timing: Possible | None = None
) -> list[str]:
    """The steps of a run, numbered, each with what it changed.

    pauses: the seconds before each step, where they are known. timing: when the steps can happen.
    """
    fields = Fields(trace.system)
    width = len(str(len(trace.steps)))
    lines, faults = [], 0
    told = _moments(timing.times) if timing and timing.times else _pauses(pauses)
    moments = itertools.chain(told, itertools.repeat(""))
    costs = charges(trace) if timing else []
    for number, (step, moment) in enumerate(zip(trace.steps, moments, strict=False), 1):
        if number == trace.lead + 1:
            lines.append(f"  {FOR_EVER}")
        faults += step.is_fault
        nth = f" (fault {faults} of {trace.faults})" if step.is_fault else ""
        lines.append(f"  {number:>{width}}. {moment}{step.words}{nth}")
        indent = " " * (width + 2) + INDENT
        spent = amount_in_words(costs[number - 1]) if costs else []
        lines += _wrapped([*changes_in_words(step, fields), *spent], indent)
    if trace.loop is not None:
        lines.append(f"  -- and back to the state before step {trace.lead + 1}")
    return lines or ["  (no step: the initial state itself)"]


def _moments(times: Sequence[Fraction]) -> Iterator[str]:
    """When each step happens."""
    return (f"at {in_units(time)}: " for time in times)


def _pauses(pauses: Sequence[float | None]) -> Iterator[str]:
    """How long after the one before each step happens, where that is written."""
    return ("" if pause is None else f"({in_words(pause)} later) " for pause in pauses)


def another(timing: Possible, prop: Property) -> list[str]:
    """Whether some other run violates a property that this one cannot violate in time."""
    if timing.is_possible or timing.timing.trace.loop is not None:
        return []
    moves = Moves(Durations(timing.timing.trace.system))
    seen = violations(moves, [prop], Bounds(classes=MOST_CLASSES))
    if prop.name in seen.violated:
        found = seen.violated[prop.name]
        size = f"{counted(found.trace.faults, 'fault')}, {counted(len(found.trace.steps), 'step')}"
        return [
            f"Another run that violates it is possible by default, with {size}:",
            *run_in_words(found.trace, timing=possible(found.trace)),
        ]
    if seen.reason is None and (kinder := by_other_values(timing, prop)):
        return kinder
    if seen.reason is not None:
        return [f"Whether another run is possible was not settled within {seen.reason}"]
    what = "no run that comes to an end" if prop.scope is Scope.EVENTUALLY else "no run"
    return [
        f"By default {what} violates it: {seen.classes:,} state classes were seen, all there are"
    ]


def by_other_values(timing: Possible, prop: Property) -> list[str]:
    """A run that violates a property once what is chosen does not stand in its way, and where it is
    possible; nothing where there is none.
    """
    for kinder in timing.kinder:
        other = _with_values(timing.timing.trace.system, kinder, prop)
        if other is not None and other.by_choice and not other.by_choice.is_never:
            told = other.by_choice.told
            return [
                f"By default no run violates it; this one does where {told}:",
                *run_in_words(other.timing.trace, timing=other),
            ]
    return []


def _with_values(system: System, values: Mapping[str, float], prop: Property) -> Possible | None:
    """A run that violates a property with other values, with its times by default."""
    moves = Moves(Durations(with_values(system, values)))
    found = violations(moves, [prop], Bounds(classes=MOST_CLASSES)).violated.get(prop.name)
    if found is None:
        return None
    return possible(run(system, [step.firing for step in found.trace.steps]))


def changes_in_words(step: Step, fields: Fields) -> Iterator[str]:
    """What a step changed, field by field; that a fault uses up its budget goes without saying."""
    spent = ("_left", f".{step.firing.transition.name}")
    for change in step.changes:
        field = fields.by_label.get(change.label)
        if field is not None and not (step.is_fault and change.label.endswith(spent)):
            before, after = field.words(change.before), field.words(change.after)
            yield f"{fields.short[change.label]}: {before} -> {after}"


def _exam(report: Examined, result: Result) -> list[str]:
    """Which exam this is, and what would mend it there."""
    run = next(run for run, other in report.judged if other is result)
    lines = [f"  In the exam {run.label}: {scope_in_words(run.case.setting)}"]
    mends = mended(report, result.prop.name)
    return [*lines, f"  There it holds with {mends}."] if mends else lines


def _wrapped(parts: list[str], indent: str) -> list[str]:
    """The parts on as few lines as they fit on; none is torn."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 2 <= WIDTH:
            lines[-1] += f"; {part}"
        else:
            lines.append(indent + part)
    return lines


def _state(trace: Trace, result: Result) -> list[str]:
    """The fields that the property speaks of, as they are at the end or in turn in a loop."""
    flatten, fields = trace.system.schema.flatten, Fields(trace.system)
    states = [flatten(trace.final), *(flatten(step.after) for step in trace.repeated)]
    told = []
    for field in fields.all:
        if result.reads & set(field.slots):
            values = list(dict.fromkeys(field.words(field.value(state)) for state in states))
            words = ", ".join(f"now {value}" for value in values) if values[1:] else values[0]
            told.append(f"{fields.short[field.label]}: {words}")
    return told


def _where(trace: Trace, result: Result) -> str:
    """Where the property fails."""
    if trace.loop is not None:
        return f"In every state from step {trace.lead + 1} on"
    where = f"After step {len(trace.steps)}" if trace.steps else "In the initial state"
    rests = result.prop.scope in (Scope.AT_REST, Scope.EVENTUALLY)
    return f"{where} nothing more can happen, and" if rests else where


def _verdict(trace: Trace, result: Result) -> list[str]:
    """Which identifiers it fails for, and whether fewer faults would do."""
    culprits = [", ".join(f"{k} = {v}" for k, v in c.items()) for c in trace.culprits(result.prop)]
    named = " and for ".join(culprits) if any(culprits) else ""
    lines = [f"  {_where(trace, result)} it does not hold{f' for {named}' if named else ''}:"]
    lines += _wrapped(_state(trace, result), f"  {INDENT}")
    if result.fewest_faults and trace.faults:
        one = trace.faults == 1
        enough = "1 fault suffices" if one else f"{trace.faults} faults suffice"
        lines.append(f"  {enough}; {'without any' if one else 'with fewer'}, no run violates it.")
    return lines
