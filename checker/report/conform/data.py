"""For programs: captures as plain lists, maps, texts and numbers (docs/conformance.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rackproof.checker.conform.conformity import Conformity
from rackproof.checker.conform.errors import as_written, errors
from rackproof.checker.conform.outcome import Answer, Broken, Explained, Rejection
from rackproof.checker.conform.renaming import Rename, numbering, renaming
from rackproof.checker.conform.tally import Tally
from rackproof.checker.report.conform.words import in_words, sentence, verdict
from rackproof.checker.status import Status
from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Case, Value


def as_data(found: Conformity) -> dict[str, Any]:
    """A capture: its verdict, its counts, and what is not plainly accepted, case by case."""
    tally = found.tally
    stalls = found.stalls.data() if found.stalls is not None else None
    return {
        "capture": found.label,
        "against": found.against,
        "verdict": verdict(tally, found.noun, found.failure is not None),
        "status": int(found.status),
        "of": found.noun,
        "count": tally.count,
        **{answer.value: tally.answers[answer] for answer in Answer},
        "breaks": _broken(tally),
        "log_errors": [
            {
                "witness": witness,
                "kind": kind,
                "name": name,
                "times": error.times,
                "cases": error.cases,
                "first": {**_place(error.first.place), "said": error.said, "truth": error.truth},
            }
            for (witness, kind, name), error in tally.errors.items()
        ],
        "assumed": dict(sorted(tally.assumed.items())),
        "missing": dict(sorted(tally.missing.items())),
        "went": {"count": tally.gone.total(), "first": list(tally.went)},
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
    """A case, with the run that explains it; under the names and numbers of the logs."""
    case, rename = found.case, renaming(found.case.called)
    number, rejection = numbering(case.numbered), found.rejection
    return {
        "name": case.name,
        "answer": found.answer.value,
        "status": int(status),
        "rejection": None if rejection is None else _rejection(rejection, case),
        "breaks": [_break(one, case) for one in found.broken],
        "log_errors": _errors(found),
        "assumed": list(found.assumed),
        "missing": list(case.missing),
        "went": case.went,
        "changes": list(found.changes or ()),
        "reason": found.reason,
        "run": [
            {
                "step": rename(number(step.words)),
                "fault": step.is_fault,
                "recorded": [_observation(one, case) for one in written],
            }
            for step, written in zip(found.trace.steps, found.written, strict=False)
        ],
    }


def _rejection(rejection: Rejection, case: Case) -> dict[str, Any]:
    return {
        "at": _observation(rejection.at, case),
        "allowed": [{"step": one.words, "recorded": one.written} for one in rejection.expected],
        "failed": list(in_words(rejection.failed, case)),
        "after": rejection.after,
    }


def _break(one: Broken, case: Case) -> dict[str, Any]:
    return {
        "property": one.prop,
        "sentence": sentence(one, case),
        "at": None if one.at is None else _observation(one.at, case),
        "predicted": one.predicted,
    }


def _errors(found: Explained) -> list[dict[str, Any]]:
    if not found.misattributed:
        return []
    times, first = errors(found)
    rename = renaming(found.case.called)
    return [
        {
            "witness": rename(error[0]),
            "kind": error[1],
            "name": error[2],
            "said": _value(error[3], rename),
            "truth": _value(error[4], rename),
            "times": count,
            "first": _place(first[error].place),
        }
        for error, count in times.items()
    ]


def _observation(seen: Observation, case: Case) -> dict[str, Any]:
    rename, one = renaming(case.called), as_written(seen, case)
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
