"""Truth values without a fork.

``&`` and ``|`` on booleans say the same as ``and`` and ``or``, but a transition that is lowered
does not branch on them. Over many workers that is the difference between one path and thousands.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_


def some(truths: Iterable[bool]) -> bool:
    """Whether one of them is true."""
    return reduce(or_, truths, False)


def lacks(members: frozenset[int], member: int) -> bool:
    """Whether a set does not hold an identifier."""
    return (members & frozenset({member})) == frozenset()
