"""Tokens taken out of a record where nothing happens, so that its world is small.

A model compares positions of an output, and never counts. Where in every log a token comes just
behind the one before it and just before the one after it, and no number in the logs is near, any
run of the model has a run without it and the other way round: it is emitted and received together
with its neighbours. So the world of a long output is as small as that of a short one to which the
same happened.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen


@frozen
class Numbers:
    """Which positions are kept, in order; what they and counts of tokens are called then."""

    kept: tuple[int, ...]

    def __contains__(self, position: int) -> bool:
        """Whether a position is kept; what is no position of an output is."""
        if position < 0:
            return True
        index = bisect_left(self.kept, position)
        return index < len(self.kept) and self.kept[index] == position

    def of(self, count: int) -> int:
        """A position, or how many tokens there are up to it: of those that are kept."""
        return bisect_left(self.kept, count) if count >= 0 else count

    @property
    def originals(self) -> Mapping[int, int]:
        """What the numbers stand for in the logs."""
        return dict(enumerate((*self.kept, self.kept[-1] + 1 if self.kept else 0)))


def numbers(
    logs: Iterable[Sequence[int | None]], counts: Iterable[int], near: Iterable[int]
) -> Numbers:
    """The positions that have to be kept, so that no two numbers that are told become one.

    logs: the positions of tokens as each log has them, None for anything else. counts: numbers of
    tokens that are told. near: further positions that matter.
    """
    kept = {0, *near}
    for count in counts:
        kept |= {count - 1, count}
    for log in logs:
        kept |= _uneven(log)
    return Numbers(tuple(sorted(position for position in kept if position >= 0)))


def _uneven(log: Sequence[int | None]) -> set[int]:
    """The positions that do not stand between their neighbours in a log."""
    found = set[int]()
    before: int | None = None
    for index, here in enumerate(log):
        if here is not None:
            after = log[index + 1] if index + 1 < len(log) else None
            if before != here - 1:
                found |= {here - 1, here}
            if after != here + 1:
                found |= {here, here + 1}
        before = here
    return found
