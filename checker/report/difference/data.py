"""A difference as plain lists, maps, texts and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from rackproof.checker.diff.comparison import Comparison, Difference, Verdicts
from rackproof.checker.diff.gained import Gained
from rackproof.checker.diff.parting import Run
from rackproof.checker.diff.side import Judged
from rackproof.checker.report.difference.sections import headline


def as_data(difference: Difference) -> dict[str, Any]:
    """The whole report."""
    return {
        "a": difference.mine,
        "b": difference.theirs,
        "status": int(difference.status),
        "told": headline(difference),
        "only_a": list(difference.alone.mine),
        "only_b": list(difference.alone.theirs),
        "comparisons": [_comparison(each) for each in difference.comparisons],
        "reproduce": difference.footing.reproduce,
        "not_compared": list(difference.footing.not_checked),
        "next": list(difference.footing.next_moves),
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "case": found.case,
        "written": [_plain(each) for each in found.written],
        "transitions": {
            "only_a": list(found.rules.mine),
            "only_b": list(found.rules.theirs),
            "changed": {name: list(told) for name, told in found.changed.items()},
        },
        "same_form": found.is_of_one_form,
        "behaviours": found.gained and _gained(found.gained),
        "properties": [_verdicts(each) for each in found.verdicts],
        "asked_otherwise": dict(found.asked_otherwise),
        "costs": [_plain(each) for each in found.costs],
    }


def _plain(item: Any) -> dict[str, Any]:
    data = attrs.asdict(item)
    return {{"mine": "a", "theirs": "b"}.get(key, key): value for key, value in data.items()}


def _verdicts(each: Verdicts) -> dict[str, Any]:
    return {
        "name": each.name,
        "a": each.mine and _judged(each.mine),
        "b": each.theirs and _judged(each.theirs),
        "differs": each.differs,
        "worse": each.is_worse,
        "better": each.is_better,
    }


def _judged(judged: Judged) -> dict[str, Any]:
    keys = ("verdict", "reason", "faults", "steps")
    return {key: value for key in keys if (value := getattr(judged, key)) is not None}


def _gained(found: Gained) -> dict[str, Any]:
    return {
        "fired": _plain(found.fired),
        "values": {name: _plain(both) for name, both in found.values.items()},
        "changes": {name: _plain(both) for name, both in found.edges.items()},
        "states": None
        if found.states is None
        else {
            **{name: getattr(found.states, name) for name in ("both", "mine", "theirs")},
            "possible": {name: _plain(each) for name, each in found.states.possible.items()},
        },
        "runs": {
            "only_a": _runs(found.parting.mine.values()),
            "only_b": _runs(found.parting.theirs.values()),
        },
        "reasons": {"a": found.reasons[0], "b": found.reasons[1], "runs": found.parting.reason},
    }


def _runs(runs: Iterable[Run]) -> list[list[dict[str, Any]]]:
    return [[attrs.asdict(step) for step in run] for run in sorted(runs, key=len)]
