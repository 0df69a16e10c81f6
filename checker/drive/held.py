"""The record of a live run, held against the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen


@frozen
class Held:
    """What ``conform`` finds in a record.

    answers: how many cases had which answer. broken: the properties that are broken in it, with
    what is so instead. rejected: where nothing in the model explains it, in words.
    """

    answers: Mapping[str, int] = field(factory=dict)
    broken: Mapping[str, str] = field(factory=dict)
    rejected: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Plain lists, maps and texts."""
        return {
            "answers": dict(self.answers),
            "broken": dict(self.broken),
            "rejected": list(self.rejected),
        }


def held_against_the_model(folder: Path) -> Held:
    """Hold a record against the model."""
    return Held()
