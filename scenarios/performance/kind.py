"""Which files are for `rackproof simulate`, as the other commands need to know it."""

from __future__ import annotations

from rackproof.scenarios.document import top_keys


def is_plan(text: str) -> bool:
    """Whether a text is meant for simulate: it has a deployment or a workload at its top."""
    return bool(top_keys(text) & {"deployment", "workload"})
