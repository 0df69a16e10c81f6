"""For programs: captures as plain lists, maps, texts and numbers (docs/conformance.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rackproof.checker.conform.conformity import Conformity
from rackproof.checker.conform.outcome import Answer, Broken, Explained, Misattributed, Rejection
from rackproof.checker.conform.tally import Tally
from rackproof.checker.report.conform.words import Rename, renaming, verdict
from rackproof.checker.status import Status
from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Value


def as_data(found: Conformity) -> dict[str, Any]:
    """A capture: its verdict, its counts, and what is not plainly accepted, case by case."""
    tally = found.tally
    stalls = found.stalls.data() if found.stalls is not None else None
    return {
        "capture": found.label,
        "against": found.against,
        "verdict": verdict(tally, found.noun),
        "status": int(found.status),
        "of": found.noun,
        "count": tally.count,
        **{answer.value: tally.answers[answer] for answer in Answer},
        "breaks": _broken(tally),
        "log_errors": [
            {
                "witness": error.first.at.witness,
                "kind": error.first.at.kind,
                "name": error.first.name,
                "times": error.times,
                "cases": error.cases,
                "first": _place(error.first.at.place),
            }
            for error in tally.errors.values()
        ],
        "assumed": dict(sorted(tally.assumed.items())),
        "missing": dict(sorted(tally.missing.items())),
        "checked": list(found.checked),
        "not_checked": list(found.unchecked),
        "doubts": {
            "count": found.doubts.count,
            "first": [{**_place(place), "words": words} for place, words in found.doubts.first],
        },
        "migrations": stalls,
        "failure": list(found.failure.lines) if found.failure else None,
        "reproduce": found.again,
        "cases": [told.data for told in found.in_full],
        "cases_left_out": found.not_plain - len(found.in_full),
    }


def _broken(tally: Tally) -> list[dict[str, Any]]:
    return [
        {
            "property": prop,
            "predicted": predicted,
            "known": prop in tally.known,
            "cases": tally.broken[prop, predicted],
        }
        for prop, predicted in sorted(tally.broken)
    ]


def case_as_data(found: Explained, status: Status) -> dict[str, Any]:
    """A case, with the run that explains it."""
    rename = renaming(found.case.called)
    rejection = found.rejection
    return {
        "name": found.case.name,
        "answer": found.answer.value,
        "status": int(status),
        "rejection": None if rejection is None else _rejection(rejection, rename),
        "breaks": [_break(one, rename) for one in found.broken],
        "log_errors": [_error(one, rename) for one in found.misattributed],
        "assumed": list(found.assumed),
        "missing": list(found.case.missing),
        "changes": list(found.changes),
        "reason": found.reason,
        "run": [
            {
                "step": rename(step.words),
                "fault": step.is_fault,
                "recorded": [_observation(one, rename) for one in written],
            }
            for step, written in zip(found.trace.steps, found.written, strict=False)
        ],
    }


def _rejection(rejection: Rejection, rename: Rename) -> dict[str, Any]:
    return {
        "at": _observation(rejection.at, rename),
        "allowed": [{"step": one.words, "recorded": one.written} for one in rejection.expected],
        "failed": list(rejection.failed),
        "after": rejection.after,
    }


def _break(one: Broken, rename: Rename) -> dict[str, Any]:
    return {
        "property": one.prop,
        "sentence": one.sentence,
        "at": None if one.at is None else _observation(one.at, rename),
        "predicted": one.predicted,
    }


def _error(one: Misattributed, rename: Rename) -> dict[str, Any]:
    return {
        "name": one.name,
        "said": _value(one.said, rename),
        "truth": _value(one.truth, rename),
        "times": one.times,
        "first": _place(one.at.place),
    }


def _observation(one: Observation, rename: Rename) -> dict[str, Any]:
    return {
        "witness": rename(one.witness),
        "kind": one.kind,
        "values": _values(one.values, rename),
        "aside": _values(one.aside, rename),
        **_place(one.place),
        "time": one.time,
    }


def _values(values: Mapping[str, Value], rename: Rename) -> dict[str, Value]:
    return {name: _value(value, rename) for name, value in values.items()}


def _value(value: Value, rename: Rename) -> Value:
    return rename(value) if isinstance(value, str) else value


def _place(place: Place | None) -> dict[str, Any]:
    return {"file": place.file if place else None, "line": (place.line or None) if place else None}
