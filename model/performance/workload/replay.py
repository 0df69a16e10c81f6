"""A trace replayed: faster or slower, over and over, or only its first requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, Final

from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import positive
from rackproof.model.performance.simulation.setting import Request
from rackproof.model.performance.workload.records import Row

_PASS: Final = 40
"""Bits for the identifiers of blocks within one pass over a trace."""


@frozen
class Replayed:
    """The requests of a trace file, the first of them at time 0.

    rows: reads the file. speed: 2 is twice as fast. passes: how often the trace is gone through
    (None: until there are enough requests); it begins anew as long after its last request as its
    requests are apart on average, and with prefixes of its own. requests: at most so many in all.
    """

    CALLED: ClassVar[str] = "trace"

    path: Path
    rows: Callable[[Path], Iterator[Row]]
    speed: float = field(default=1.0, validator=positive)
    passes: int | None = 1
    requests: int | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse what would never end, or never begin."""
        for what, many in (("passes", self.passes), ("requests", self.requests)):
            if many is not None and many < 1:
                raise ModelError(f"{self.path}: {what} are 1 or more, not {many}")
        if self.passes is None and self.requests is None:
            raise ModelError(f"{self.path}: is repeated without end; say how many requests")

    def __iter__(self) -> Iterator[Request]:
        """Read the requests, from the file's beginning every time."""
        made = begins = passed = 0
        while passed != self.passes:
            first, count, now = None, 0, begins
            for row in self.rows(self.path):
                first = row.time_ns if first is None else first
                now = begins + row.time_ns - first
                yield self._request(row, now, passed)
                made, count = made + 1, count + 1
                if made == self.requests:
                    return
            begins = now + (now - begins) // max(count - 1, 1)
            passed += 1

    def __len__(self) -> int:
        """How many there are; where that is not said, the trace is read for it."""
        if self.passes is None:
            assert self.requests is not None, "refused when it was made"
            return self.requests
        there = self.passes * sum(1 for _ in self.rows(self.path))
        return there if self.requests is None else min(there, self.requests)

    def _request(self, row: Row, now_ns: int, passed: int) -> Request:
        blocks = tuple(passed << _PASS | block for block in row.blocks) if passed else row.blocks
        return Request(now_ns / 1e9 / self.speed, row.prompt, row.output, blocks)
