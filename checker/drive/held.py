"""The record of a live run, held against the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.search import Limits
from rackproof.checker.conform.sources import Stack
from rackproof.model.kernel import Place
from rackproof.scenarios.changes import Change
from rackproof.scenarios.live.plan import ADJUSTABLE, STACK
from rackproof.scenarios.schema import Setting

PATIENCE: Final = 30.0
"""Seconds for each request of the record."""


@frozen
class Held:
    """What ``conform`` finds in a record.

    answers: how many requests had which answer. broken: the properties that are broken, with what
    is so instead. rejected: where nothing in the model explains it; doubts: what could not be read.
    """

    answers: Mapping[str, int]
    broken: Mapping[str, str]
    rejected: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Plain lists, maps and texts."""
        return {
            "answers": dict(self.answers),
            "broken": dict(self.broken),
            "rejected": list(self.rejected),
            "doubts": list(self.doubts),
        }


def held_against_the_model(folder: Path, setting: Setting) -> Held:
    """Hold a record against the model of a setting's stack, set as it was."""
    doubts: list[str] = []

    def doubt(place: Place, words: str) -> None:
        doubts.append(f"{place}: {words}")

    capture = Stack(STACK, changes_of(setting)).capture(folder, doubt)
    explainer = Explainer(evolve(Limits(), seconds=PATIENCE))
    found = [explainer.explain(case) for case in capture.cases()]
    told = [one for one in found if one.answer is not Answer.INCONCLUSIVE]
    return Held(
        Counter(one.answer.value for one in found),
        {broken.prop: broken.sentence for one in told for broken in one.broken},
        tuple(_rejection(one) for one in found if one.answer is Answer.REJECTED),
        tuple(doubts),
    )


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
