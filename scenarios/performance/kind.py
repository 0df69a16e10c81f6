"""Which files are for `rackproof simulate`, as the other commands need to know it."""

from __future__ import annotations

from typing import Final

from rackproof.scenarios.document import top_keys

PROTOCOL_KEYS: Final = frozenset(
    ("protocol", "rack", "scope", "timeouts", "world", "fix", "steps", "loop", "then")
)
"""What only a scenario of a protocol has; it can have a deployment too."""


def is_plan(text: str) -> bool:
    """Whether a text is meant for simulate.

    It has a workload at its top, or a deployment and nothing that only a protocol's scenario has.
    """
    keys = top_keys(text)
    return "workload" in keys or ("deployment" in keys and not keys & PROTOCOL_KEYS)
