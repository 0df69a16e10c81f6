"""The neutral format, written: what was noted, one object a line."""

from __future__ import annotations

import json
from typing import Any, Final

from rackproof.scenarios.recorded.noted import Noted

RUN: Final = "run"
"""The witness of steps, and what they are about where there is nothing else."""
TAKEN: Final = frozenset(("witness", "kind", "about", "time", "clock", "aside", "step"))
"""The fields that are no values."""


def neutral_line(noted: Noted) -> str:
    """A note as a line of the neutral format; ``ValueError`` where a value has a name of these.

    What it does not keep is where the note was read.
    """
    seen = noted.observation
    if not TAKEN.isdisjoint(seen.values):
        raise ValueError(f"no value can be called {min(TAKEN.intersection(seen.values))}")
    said: dict[str, Any] = {"witness": seen.witness, "kind": seen.kind, "about": noted.about}
    if seen.witness == RUN:
        said = {"step": seen.kind, "about": None if noted.about == RUN else noted.about}
    said |= {"time": seen.time, "clock": noted.clock, **seen.values, "aside": seen.aside or None}
    return json.dumps({name: value for name, value in said.items() if value is not None})
