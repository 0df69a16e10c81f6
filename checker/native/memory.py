"""The blocks of words that native code and Python share."""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

_NORESERVE: Final = 0x4000  # Linux; Python's mmap has no name for it before 3.13
_FLAGS: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE


class Shared(IntEnum):
    """One block for all threads; the last two, which all threads change, have a cache line each."""

    STATES = 0
    TABLE = 1
    SHIFT = 2
    INDICES = 3
    SLOTS = 4
    LIMIT = 5
    STOP = 6
    END = 7
    ALIVE = 8
    LAST = 9
    COUNT = 16
    NEXT = 24


class Own(IntEnum):
    """One block a thread."""

    POSITION = 0
    END = 1
    TRANSITIONS = 2
    RESTS = 3
    PROGRESS = 4
    BUFFER = 5
    FIRED = 6
    HIT = 7
    BEST = 8
    OPEN = 9
    FOUND = 10
    TARGET = 11
    WITNESS = 12
    WAITING = 13
    KILLED = 14


class Status(IntEnum):
    """Why a loop of the search came back."""

    DONE = 0
    FULL = 1
    STOPPED = 2


SHARED_WORDS: Final = 32
OWN_WORDS: Final = 32
BATCH: Final = 64
"""Successors that are looked up together."""
CHUNK: Final = 64
"""States that a thread takes at a time."""


def stride(words: int) -> int:
    """The words of an entry in the buffer of successors: a state, its action, its hash."""
    return words + 2


class Block:
    """Words that Python and native code both see."""

    def __init__(self, words: int) -> None:
        """Start with zeros."""
        self._words = (ctypes.c_uint64 * words)()
        self.address = ctypes.addressof(self._words)

    def __getitem__(self, index: int) -> int:
        return self._words[index]

    def __setitem__(self, index: int, value: int) -> None:
        self._words[index] = value

    def slice(self, start: int, count: int) -> tuple[int, ...]:
        """Some words."""
        return tuple(self._words[start : start + count])

    def fill(self, values: Iterable[int], start: int = 0) -> None:
        """Set words one after another."""
        for index, value in enumerate(values, start):
            self._words[index] = value

    def set_byte(self, index: int, value: int) -> None:
        """Set one byte."""
        ctypes.c_uint8.from_address(self.address + index).value = value


class Region:
    """Anonymous memory, zero at first, of which only what is touched takes room."""

    def __init__(self, size: int) -> None:
        """Reserve so many bytes of address space."""
        self.size = size
        self._map = mmap.mmap(-1, size, flags=_FLAGS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self._anchor: ctypes.c_char | None = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(self._anchor)

    def words(self, start: int, count: int) -> tuple[int, ...]:
        """Some words of it."""
        return tuple((ctypes.c_uint64 * count).from_address(self.address + 8 * start))

    def piece(self, count: int) -> bytes:
        """Its first words, as bytes."""
        return ctypes.string_at(self.address, 8 * count)

    def copied(self) -> bytes:
        """All its bytes."""
        return ctypes.string_at(self.address, self.size)

    def fill(self, values: Iterable[int]) -> None:
        """Set its first words."""
        for index, value in enumerate(values):
            ctypes.c_uint64.from_address(self.address + 8 * index).value = value

    def close(self) -> None:
        """Give it back."""
        self._anchor = None
        self._map.close()


class Thread:
    """What one thread works with: its block, its buffer of successors, what it saw."""

    def __init__(self, words: int, actions: int, monitors: int, opened: Block) -> None:
        """Make room for a batch and the successors of one more state."""
        self.own = Block(OWN_WORDS)
        self.buffer = Block((BATCH + actions + 2) * stride(words))
        self.fired, self.hit = (Block(count // 8 + 1) for count in (actions, monitors))
        self.best = Block(monitors * words + 1)
        self.target, self.witness = Block(words), Block(words)
        for at, block in (
            (Own.BUFFER, self.buffer),
            (Own.FIRED, self.fired),
            (Own.HIT, self.hit),
            (Own.BEST, self.best),
            (Own.OPEN, opened),
            (Own.TARGET, self.target),
            (Own.WITNESS, self.witness),
        ):
            self.own[at] = block.address


def flags(block: Block, count: int) -> set[int]:
    """The numbers of the bytes that are set."""
    raw = ctypes.string_at(block.address, count)
    return {found.start() for found in re.finditer(rb"[^\0]", raw)}
