"""How a command went: its exit status."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

APOLOGY: Final = (
    "This is a fault of rackproof itself, not of your input. Please report it, with these lines "
    "and the command that led to them."
)


class Status(IntEnum):
    """The exit status of a command; of several, the one that ``worst`` picks."""

    OK = 0
    VIOLATED = 1
    BAD_INPUT = 2
    INCONCLUSIVE = 3
    OUR_FAULT = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


_BY_GRAVITY = (
    Status.INTERRUPTED,
    Status.OUR_FAULT,
    Status.BAD_INPUT,
    Status.VIOLATED,
    Status.INCONCLUSIVE,
)


def worst(statuses: Iterable[Status]) -> Status:
    """The gravest: a fault of ours, bad input, a violation, an open question, success."""
    seen = set(statuses)
    return next((status for status in _BY_GRAVITY if status in seen), Status.OK)
