"""What is to happen, in the order of time."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class Events:
    """Calls at times. At one time: those that bring something first, then the ends of steps."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0

    def at(self, time: float, call: Callable[..., None], *given: Any, step: bool = False) -> None:
        """Have something called; step: the end of a step, at which joins what came by then."""
        self._count += 1
        heappush(self._heap, (time, step, self._count, call, given))

    @property
    def due(self) -> float:
        """When the next is; infinity if there is none."""
        return self._heap[0][0] if self._heap else float("inf")

    def next(self) -> None:
        """Let the next happen."""
        self.now, _, _, call, given = heappop(self._heap)
        call(*given)
