"""Which files are for `rackproof simulate`, as the other commands need to know it."""

from __future__ import annotations


def is_plan(text: str) -> bool:
    """Whether a text is meant for simulate: it has a deployment or a workload at its top."""
    keys = {line.split(":", 1)[0].strip() for line in text.splitlines() if line[:1].isalpha()}
    return bool(keys & {"deployment", "workload"})
