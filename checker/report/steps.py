"""The steps of a run in words: numbered, each with when it happens, what it changed and cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.possible import Possible, amount_in_words, charges
from rackproof.checker.trace import Step, Trace
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.quantities import in_words

INDENT: Final = "   "
WIDTH: Final = 100
FOR_EVER: Final = "-- from here on, for ever:"


def run_in_words(
    trace: Trace, pauses: Sequence[float | None] = (), timing: Possible | None = None
) -> list[str]:
    """The steps of a run, numbered, each with what it changed.

    pauses: the seconds before each step, where they are known. timing: when the steps can happen.
    """
    return [line for _, lines in parts_in_words(trace, pauses, timing) for line in lines]


def parts_in_words(
    trace: Trace, pauses: Sequence[float | None] = (), timing: Possible | None = None
) -> Iterator[tuple[int | None, list[str]]]:
    """The same, step by step: with the number of each; None for what is told between them."""
    fields = Fields(trace.system)
    width = len(str(len(trace.steps)))
    faults = 0
    told = _moments(timing.times) if timing and timing.times else _pauses(pauses)
    moments = itertools.chain(told, itertools.repeat(""))
    costs = charges(trace) if timing else []
    for number, (step, moment) in enumerate(zip(trace.steps, moments, strict=False), 1):
        if number == trace.lead + 1:
            yield None, [f"  {FOR_EVER}"]
        faults += step.is_fault
        nth = f" (fault {faults} of {trace.faults})" if step.is_fault else ""
        first = f"  {number:>{width}}. {moment}{step.words}{nth}"
        indent = " " * (width + 2) + INDENT
        spent = amount_in_words(costs[number - 1]) if costs else []
        yield number, [first, *wrapped([*changes_in_words(step, fields), *spent], indent)]
    if trace.loop is not None:
        yield None, [f"  -- and back to the state before step {trace.lead + 1}"]
    if not trace.steps:
        yield None, ["  (no step: the initial state itself)"]


def _moments(times: Sequence[Fraction]) -> Iterator[str]:
    """When each step happens."""
    return (f"at {in_units(time)}: " for time in times)


def _pauses(pauses: Sequence[float | None]) -> Iterator[str]:
    """How long after the one before each step happens, where that is written."""
    return ("" if pause is None else f"({in_words(pause)} later) " for pause in pauses)


def changes_in_words(step: Step, fields: Fields) -> Iterator[str]:
    """What a step changed, field by field."""
    for name, before, after in changed(step, fields):
        yield f"{name}: {before} -> {after}"


def changed(step: Step, fields: Fields) -> Iterator[tuple[str, str, str]]:
    """The fields that a step changed, by name, with the values before and after it in words; that
    a fault uses up its budget goes without saying.
    """
    for change in step.changes:
        field = fields.by_label.get(change.label)
        if field is not None and not step.spends(change.label):
            before, after = field.words(change.before), field.words(change.after)
            yield fields.short[change.label], before, after


def wrapped(parts: list[str], indent: str) -> list[str]:
    """The parts on as few lines as they fit on; none is torn."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 2 <= WIDTH:
            lines[-1] += f"; {part}"
        else:
            lines.append(indent + part)
    return lines
