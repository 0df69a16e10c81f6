"""How much may be done at a time."""

from __future__ import annotations

import os


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0))
