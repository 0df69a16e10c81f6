"""What those write down who see to the workers: what was done to them, and who is listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rackproof.model.evidence.step import Step
from rackproof.model.kernel import Record

OPERATOR: Final = "operator"
DISCOVERY: Final = "discovery"
DEEDS: Final = {
    **{name: name for name in ("crash", "hang", "resume", "drain", "restart")},
    "engine_restart": "restart",
    "rejoin": "restart",
}
"""What an operator calls each step that is a deed of theirs."""


def operator(step: Step) -> Iterator[Record]:
    """What was done to a worker."""
    if step.name in DEEDS:
        yield Record(OPERATOR, DEEDS[step.name], {"worker": step.workers[step.ids["worker"]]})


def discovery(step: Step) -> Iterator[Record]:
    """Who is no longer listed, and who is again."""
    if step.after.endpoints is step.before.endpoints:
        return
    pairs = zip(step.workers, step.before.endpoints, step.after.endpoints, strict=True)
    for name, was, now in pairs:
        if was.listed != now.listed:
            yield Record(DISCOVERY, "listed" if now.listed else "removed", {"worker": name})
