"""What logs say beside that is not so, over all that a case stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve

from rackproof.checker.conform.matching import misread
from rackproof.checker.conform.outcome import Explained
from rackproof.model.kernel import Observation, Record, evidence_of
from rackproof.model.kernel.evidence import Case, Value

NUMBERS: Final = ("position", "delivered", "start", "completion", "tokens", "number")
"""Values that are a position of an output, or a number of tokens."""

Error = tuple[str, str, str, Value, Value]
"""The witness, the kind, of what, what is said of it, and what is so."""


def errors(found: Explained) -> tuple[Counter[Error], dict[Error, Observation]]:
    """How often each is in the logs, and the first observation with it.

    A token for which others were taken out of the case counts for all of them.
    """
    times, first = Counter[Error](), dict[Error, Observation]()
    for seen, record in _pairs(found):
        for name, (said, truth) in misread(seen, record).items():
            error = (seen.witness, seen.kind, name, said, truth)
            times[error] += _stands_for(record, found.case.numbered)
            first.setdefault(error, seen)
    return times, first


def _pairs(found: Explained) -> Iterator[tuple[Observation, Record]]:
    """Every observation with what was written of its step."""
    write = evidence_of(found.case.system).records
    for step, written in zip(found.trace.steps, found.written, strict=False):
        records = list(write(step.before, step.firing, step.after)) if written else []
        for seen in written:
            fitting = next((record for record in records if seen.fits(record)), None)
            if fitting is not None:
                records.remove(fitting)
                yield seen, fitting


def _stands_for(record: Record, numbered: Mapping[int, int]) -> int:
    position = record.values.get("position")
    if type(position) is int and position in numbered and position + 1 in numbered:
        return numbered[position + 1] - numbered[position]
    return 1


def as_written(seen: Observation, case: Case) -> Observation:
    """An observation with the positions and numbers that the log has."""
    return evolve(seen, values=_as_written(seen.values, case), aside=_as_written(seen.aside, case))


def _as_written(values: Mapping[str, Value], case: Case) -> dict[str, Value]:
    return {
        name: case.numbered.get(value, value) if name in NUMBERS and type(value) is int else value
        for name, value in values.items()
    }
