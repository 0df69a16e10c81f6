"""A relation's native code as Python sees it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.native.layout import Layout
from rackproof.checker.native.memory import Block, Thread, stride
from rackproof.checker.native.monitors import Monitors
from rackproof.checker.native.program import Compiled, Local, compiled, program
from rackproof.checker.symmetry import Class

Words = tuple[int, ...]
Loop = Callable[[int, int], int]

LOOPS: Final = (
    *("expand_calm", "expand_faults", "trace_calm", "trace_faults"),
    *("judge", "rehash", "mark", "trim"),
)
_LOOP = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_MOVES = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_CHANGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Native:
    """The compiled transitions, predicates and search loops of a relation.

    classes: bundles that may be exchanged, each class shown to be interchangeable by the caller.
    alone: actions that are taken alone, each shown to lose nothing that matters.
    """

    def __init__(
        self, relation: Relation, classes: Sequence[Class] = (), alone: Sequence[Local] = ()
    ) -> None:
        """Lay out the state and compile."""
        self.relation, self.alone = relation, tuple(alone)
        self.layout = Layout.of(relation, classes)
        self.monitors = Monitors(relation)
        self._text = program(self.layout, self.monitors, alone)
        self._codes = [compiled(self._text, thorough=False)]

    def thorough(self) -> Compiled:
        """The same program compiled again, to run faster; this takes a while."""
        return compiled(self._text, thorough=True)

    def use(self, code: Compiled) -> None:
        """Use other code of the same program from now on; loops under way keep what they have."""
        self._codes.append(code)

    def loops(self) -> dict[str, Loop]:
        """The loops of the search: (shared block, own block) -> status, run without the GIL."""
        return {name: _LOOP(self._address(name)) for name in LOOPS}

    def _address(self, name: str) -> int:
        return self._codes[-1].address(name)

    def thread(self, opened: Block) -> Thread:
        """What one more thread needs."""
        relation = self.relation
        return Thread(self.layout.words, len(relation.actions), len(self.monitors), opened)

    def canonical(self, ordinals: Sequence[int]) -> Words:
        """The words of the canonical form of a state given by its slots' ordinals."""
        return self.least(self.layout.pack(ordinals))

    def least(self, words: Words) -> Words:
        """The words of the canonical form of a state given by its own words."""
        block = Block(self.layout.words)
        block.fill(words)
        self._canonical(block.address)
        return block.slice(0, self.layout.words)

    def successors(self, ordinals: Sequence[int]) -> list[tuple[int, Words]]:
        """The number of each action that changes a state, with what it leads to (not canonical)."""
        return self.moves(self.layout.pack(ordinals))

    def moves(self, words: Words) -> list[tuple[int, Words]]:
        """The same for a state given by its words."""
        thread, state = self._scratch, Block(self.layout.words)
        state.fill(words)
        end = thread.buffer.address
        for moves in self._moves:
            end = moves(thread.own.address, state.address, end)
        width, size = self.layout.words, stride(self.layout.words)
        entries = range(0, (end - thread.buffer.address) // 8, size)
        found = [(thread.buffer[at + width], thread.buffer.slice(at, width)) for at in entries]
        return sorted(found)

    def ordinals(self, words: Sequence[int]) -> tuple[int, ...]:
        """The ordinals of all slots; those that are not part of a state as they are initially."""
        known = self.layout.unpack(words)
        return tuple(known.get(slot, value) for slot, value in enumerate(self.relation.initial))

    @cached_property
    def _scratch(self) -> Thread:
        return self.thread(Block(len(self.monitors) // 8 + 1))

    @cached_property
    def _canonical(self) -> Callable[[int], None]:
        return _CHANGE(self._address("canonical"))

    @cached_property
    def _moves(self) -> list[Callable[[int, int, int], int]]:
        return [_MOVES(self._address(name)) for name in ("calm", "faults")]
