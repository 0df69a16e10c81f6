"""A run in words: numbered steps, what each changed, and where it goes wrong."""

from __future__ import annotations

from rackproof.checker.exams import Examined
from rackproof.checker.report.setting import remedy, scope_in_words, source_label
from rackproof.checker.report.stack import mended
from rackproof.checker.report.steps import INDENT, run_in_words, wrapped
from rackproof.checker.report.timed import within_times
from rackproof.checker.timing.possible import possible
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import Report
from rackproof.model.kernel import Property, Scope
from rackproof.scenarios.fields import Fields


def counterexample(
    report: Report, result: Result, reproduce: str, *, other_run: bool = True
) -> list[str]:
    """The lines of a violation, from the property to the command that shows it again.

    other_run: whether to show the run that is possible within the times too, where it is another.
    """
    trace = result.trace
    assert trace is not None, "only a violation has a counterexample"
    fixed = remedy(report, result)
    lines = [f"{result.prop.name} is {result.words}", "", f"  {result.prop.statement}"]
    if result.prop.why:
        lines.append(f"  Why it matters: {result.prop.why}")
    timing = possible(trace)
    lines += ["", *run_in_words(trace, timing=timing), "", *_verdict(trace, result)]
    is_searchable = report.options.engine != "sample" or result.shortest
    if is_searchable and (within := within_times(trace, result.prop)) is not None:
        lines += [f"  {line}" for line in (within.lines if other_run else within.told)]
    if isinstance(report, Examined):
        lines += _exam(report, result)
    if fixed:
        lines.append(f"  {fixed}")
    if report.scenario is not None and report.scenario.source:
        source = report.scenario.source
        lines.append(f"  {source_label(source)}: {source}")
    return [*lines, f"  To see it again: {reproduce}"]


def _exam(report: Examined, result: Result) -> list[str]:
    """Which exam this is, and what would mend it there."""
    run = next(run for run, other in report.judged if other is result)
    lines = [f"  In the exam {run.label}: {scope_in_words(run.case.setting)}"]
    mends = mended(report, result.prop.name)
    return [*lines, f"  There it holds with {mends}."] if mends else lines


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


def where(trace: Trace, prop: Property) -> str:
    """Where a property fails, and for whom."""
    culprits = [", ".join(f"{k} = {v}" for k, v in c.items()) for c in trace.culprits(prop)]
    named = f" for {' and for '.join(culprits)}" if any(culprits) else ""
    link = ", and" if _rests(trace, prop) else ""
    return f"{_moment(trace, prop)}{link} it does not hold{named}"


def _moment(trace: Trace, prop: Property) -> str:
    """In which states of a run a property fails."""
    if trace.loop is not None:
        return f"In every state from step {trace.lead + 1} on"
    at = f"After step {len(trace.steps)}" if trace.steps else "In the initial state"
    return f"{at} nothing more can happen" if _rests(trace, prop) else at


def _rests(trace: Trace, prop: Property) -> bool:
    return trace.loop is None and prop.scope in (Scope.AT_REST, Scope.EVENTUALLY)


def outcome(trace: Trace, prop: Property) -> str:
    """Where a property fails, and what is so there, in its own words; nothing where it has none."""
    told = " ".join(trace.broken(prop))
    return f"{_moment(trace, prop)}: {told}" if told else ""


def few_faults(trace: Trace) -> str:
    """That no run with fewer faults violates it, of a run that has any."""
    one = trace.faults == 1
    enough = "1 fault suffices" if one else f"{trace.faults} faults suffice"
    return f"{enough}; {'without any' if one else 'with fewer'}, no run violates it."


def _verdict(trace: Trace, result: Result) -> list[str]:
    """What is so at the end, with the fields, and whether fewer faults would do."""
    lines = [f"  {outcome(trace, result.prop) or where(trace, result.prop) + ':'}"]
    lines += wrapped(_state(trace, result), f"  {INDENT}")
    if result.fewest_faults and trace.faults:
        lines.append(f"  {few_faults(trace)}")
    return lines
