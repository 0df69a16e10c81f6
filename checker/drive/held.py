"""The record of a live run, held against the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.search import Limits
from rackproof.checker.conform.sources import Stack
from rackproof.checker.explain.asked import changes as change_options
from rackproof.checker.explain.asked import line
from rackproof.checker.performance.answers import Table
from rackproof.checker.report.conform.words import sentence
from rackproof.model.kernel import Place
from rackproof.scenarios.changes import Change
from rackproof.scenarios.live.plan import ADJUSTABLE, STACK
from rackproof.scenarios.schema import Setting

NONE: Final[Mapping[str, float]] = {}
PATIENCE: Final = 30.0
"""Seconds for each request of the record."""


@frozen
class Held:
    """What ``conform`` finds in a record.

    answers: how many requests had which answer. broken: the properties that are broken, with what
    is so instead; defects: those of them that are broken in every run of the model that explains
    the record. rejected: where nothing in the model explains it; doubts: what could not be read.
    migrations: what each cost, beside what is predicted. again: the command that tells all of it.
    """

    answers: Mapping[str, int]
    broken: Mapping[str, str]
    rejected: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    migrations: tuple[str, ...] = ()
    defects: frozenset[str] = frozenset()
    again: str = ""

    def data(self) -> dict[str, Any]:
        """Plain lists, maps and texts."""
        return {
            "answers": dict(self.answers),
            "broken": dict(self.broken),
            "defects": sorted(self.defects),
            "rejected": list(self.rejected),
            "doubts": list(self.doubts),
            "migrations": list(self.migrations),
            "again": self.again,
        }


def held_against_the_model(
    folder: Path, setting: Setting, timeouts: Mapping[str, float] = NONE
) -> Held:
    """Hold a record against the model of a setting's stack, set as it was. timeouts: those of the
    deployment, in seconds. Driver and frontend are on one host, so that their clocks are one.
    """
    doubts: list[str] = []

    def doubt(place: Place, words: str) -> None:
        doubts.append(f"{place}: {words}")

    source = Stack(STACK, changes_of(setting), timeouts=timeouts, one_host=True)
    capture = source.capture(folder, doubt)
    explainer = Explainer(evolve(Limits(), seconds=PATIENCE))
    found = [explainer.explain(case) for case in capture.cases()]
    told = [one for one in found if one.answer is not Answer.INCONCLUSIVE]
    return Held(
        Counter(one.answer.value for one in found),
        {each.prop: sentence(each, one.case) for one in told for each in one.broken},
        tuple(_rejection(one) for one in found if one.answer is Answer.REJECTED),
        tuple(doubts),
        tuple(_costs(capture.stalls())),
        frozenset(one.prop for each in told for one in each.broken if one.predicted),
        _again(folder, source),
    )


def _again(folder: Path, source: Stack) -> str:
    options = [*source.options, *change_options(source.changes)]
    return " ".join([line("conform", str(folder), *options), *source.flags])


def _costs(table: Table | None) -> Iterator[str]:
    """What the migrations of each kind cost."""
    if table is None:
        return
    for values in table.rows:
        row = {column.key: value for column, value in zip(table.columns, values, strict=True)}
        seen, low, high, stall, usual = (
            _duration(value) if isinstance(value := row[name], float) else None
            for name in (
                "detection_max",
                "detection_predicted_least",
                "detection_predicted_most",
                "stall_max",
                "usual_gap",
            )
        )
        told = [f"{row['fault']}, noticed as {row['error']}: {row['path']}"]
        if seen is not None:
            expected = "" if low is None else f" (predicted: {low} to {high})"
            told.append(f"noticed after {seen}{expected}")
        if stall is not None:
            gap = "" if usual is None else f", {usual} between other tokens"
            told.append(f"stall of the client {stall}{gap}")
        yield "; ".join(told)


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def changes_of(setting: Setting) -> tuple[Change, ...]:
    """The mechanisms that a setting has set for the deployment."""
    given = setting.bundled.mechanisms if setting.bundled is not None else {}
    return tuple(
        Change(name, value if isinstance(value, bool) else str(value))
        for name, value in given.items()
        if name in ADJUSTABLE
    )


def _rejection(found: Explained) -> str:
    """Where the record of a request goes wrong."""
    assert found.rejection is not None, "a rejection says where"
    at = found.rejection.at
    values = "".join(f", {name} {value}" for name, value in at.values.items())
    why = "; ".join(found.rejection.failed[:2])
    return f"{at.place}: {at.witness} {at.kind}{values}: not allowed{f' ({why})' if why else ''}"
