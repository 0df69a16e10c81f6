"""Where states are kept: an array that only grows, and the table that finds a state in it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from rackproof.checker.native.memory import SHARED_WORDS, Block, Region, Shared
from rackproof.checker.native.native import Words
from rackproof.checker.search.results import Limits

LOAD: Final = 0.7
"""How full the table gets before it grows."""
FULL_LOAD: Final = 0.9
"""How full it gets where it cannot grow."""
SMALLEST_TABLE: Final = 1 << 16
LARGEST_TABLE: Final = 1 << 32


class LimitReached(Exception):
    """The search ends here; the text says why."""


class Store:
    """The stored states and the table that finds them again."""

    def __init__(self, words: int, limits: Limits, slack: int) -> None:
        """Reserve room; slack: what the threads may still insert when told that it is full."""
        self.words, self.slack = words, slack
        self.most = limits.max_states
        self.memory = limits.memory or available_memory()
        self.shared = Block(SHARED_WORDS)
        self.capacity = SMALLEST_TABLE
        while self.capacity < 8 * slack:
            self.capacity *= 2
        self.states = _reserved(self.memory + 8 * words * 2 * slack)
        self.memory = min(self.memory, self.states.size - 8 * words * 2 * slack)
        self.table = Region(4 * self.capacity)
        self.shared[Shared.STATES] = self.states.address
        self._announce()

    @property
    def count(self) -> int:
        """How many states there are."""
        return self.shared[Shared.COUNT]

    @property
    def bytes(self) -> int:
        """What they and the table take."""
        return 8 * self.words * self.count + 4 * self.capacity

    def append(self, words: Words) -> None:
        """Put a first state into the array."""
        self.states.fill(words)
        self.shared[Shared.COUNT] = 1

    def close(self) -> None:
        """Give the memory back."""
        self.states.close()
        self.table.close()

    def spare(self, size: int, what: str) -> None:
        """Make sure that so many bytes are left for something beside the states."""
        if self.bytes + size > self.memory:
            raise LimitReached(
                f"out of memory: {what} takes {self.bytes + size:,} of {self.memory:,} bytes"
            )

    def grow(self) -> None:
        """Make a table of twice the size, empty as yet; or say why not."""
        if self.most is not None and self.count >= self.most:
            raise LimitReached(f"stopped at {self.count:,} states: the limit is {self.most:,}")
        if not self._can_grow:
            raise LimitReached(
                f"out of memory: {self.count:,} states take {self.bytes:,} of {self.memory:,} bytes"
            )
        self.table.close()
        self.capacity *= 2
        self.table = Region(4 * self.capacity)
        self._announce()

    @property
    def _can_grow(self) -> bool:
        larger = 8 * self.capacity + 8 * self.words * int(LOAD * self.capacity)
        return larger <= self.memory and 2 * self.capacity <= LARGEST_TABLE

    def _announce(self) -> None:
        """Tell native code where the table is and when to stop for a larger one."""
        index_bits = self.capacity.bit_length() - 1
        self.shared[Shared.TABLE] = self.table.address
        self.shared[Shared.SHIFT] = 64 - index_bits
        self.shared[Shared.INDICES] = self.capacity - 1
        self.shared[Shared.SLOTS] = self.capacity - 1
        load = LOAD if self._can_grow else FULL_LOAD
        room = int(load * self.capacity)
        if not self._can_grow:
            room = min(room, (self.memory - 4 * self.capacity) // (8 * self.words))
        limit = max(room - self.slack, 1)
        if self.most is not None:
            limit = min(limit, self.most - 1)
        self.shared[Shared.LIMIT] = limit


def _reserved(size: int) -> Region:
    """Address space for states; where so much is not to be had, the most that is."""
    while True:
        try:
            return Region(size)
        except OSError:
            if size < SMALLEST_TABLE:
                raise
            size //= 2


def available_memory() -> int:
    """Bytes that can be taken without harm: most of what is free now, here or in our container."""
    free = [_free_on_machine(), *_free_in_container(Path("/sys/fs/cgroup"))]
    return min(free) * 7 // 10


def _free_on_machine() -> int:
    with suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        figures = dict(line.split(":", 1) for line in lines)
        return int(figures["MemAvailable"].split()[0]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def _free_in_container(group: Path) -> list[int]:
    """What the control group leaves, where it has a limit."""
    with suppress(OSError, ValueError):
        most, used = (int((group / f"memory.{what}").read_text()) for what in ("max", "current"))
        return [max(most - used, 0)]
    return []
