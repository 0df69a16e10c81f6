"""The life of each block in a cache: stored, with its parent there, until it is removed.

A case has one life of one block: that its parent was stored (if it has one), that it was stored,
and how that ended. That is exact. Whatever was observed of a block last says whether it is there,
and the model asks nothing else: a block is stored where it is not and its parent is, evicted where
it is and none that continues it is. Each of these is asked in one case, of the two blocks. A case
goes to the end of the life: what the index makes of it is looked at when nothing more comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import define, field

from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Case
from rackproof.scenarios.recorded.kv.batches import Batch, Block, Copies, Removed, Stored
from rackproof.scenarios.recorded.kv.worlds import WORKER, Worlds, case, complete, observed

KINDS: Final = complete("stored", "removed", "cleared", "missing")
NAMES: Final = ("prefix-0", "prefix-1")
UNSEEN: Final = "record of whether the block was there"
PARENT_UNSEEN: Final = "record of whether its parent was there"
"""What is not there, in words that are the same for every block, so that it is explained once."""
REMEMBERED: Final = 100_000
"""How many blocks of a cache that was not empty at the start are remembered to be gone."""


@define(eq=False)
class Held:
    """A block that is in a cache.

    place: of what said that it was stored; None where it must have been before the record begins.
    parent: without which it cannot be there. depth: how many parents it has that are known. copies:
    of those that were seen to be stored. children: the blocks that cannot be there without it.
    """

    place: Place | None = None
    time: float | None = None
    parent: Block | None = None
    depth: int = 0
    copies: int = 1
    children: dict[Block, None] | None = None


@define(eq=False)
class Cache:
    """One cache of a publisher, as far as it was observed.

    known: what was not observed to be in it is not in it; otherwise nobody knows, but of what is
    gone. copies: what it means that a block is stored that is there.
    """

    publisher: str
    worlds: Worlds
    known: bool
    copies: Copies
    held: dict[Block, Held] = field(factory=dict)
    gone: set[Block] = field(factory=set)

    def store(self, change: Stored, batch: Batch) -> Iterator[Case]:
        """Blocks are stored, one behind the other."""
        parent = change.parent if change.chained else None
        for block in change.blocks:
            if block in self.held:
                yield from self._store_again(block, self.held[block], batch)
            else:
                yield from self._store(block, parent, batch)
            parent = block if change.chained else None

    def _store(self, block: Block, parent: Block | None, batch: Batch) -> Iterator[Case]:
        """A block is stored that was not there."""
        self.gone.discard(block)
        above = None if parent is None else self._above(parent)
        new = self.held[block] = Held(batch.place, batch.time)
        if parent is None:
            return
        if above is None:
            yield self._case(block, parent, (_seen("stored", 1, batch.place, batch.time),))
            return
        new.parent, new.depth = parent, above.depth + 1
        if above.children is None:
            above.children = {}
        above.children[block] = None

    def _above(self, parent: Block) -> Held | None:
        """A parent, if it can be there."""
        if parent not in self.held and not self.known and parent not in self.gone:
            self.held[parent] = Held()
        return self.held.get(parent)

    def _store_again(self, block: Block, there: Held, batch: Batch) -> Iterator[Case]:
        """A block is stored that is there."""
        if self.copies is Copies.COUNTED:
            there.copies += 1
        elif self.copies is Copies.NONE:
            yield self._life(block, there, ("stored", batch))
        if there.place is None or self.copies is Copies.NONE:
            there.place, there.time = batch.place, batch.time

    def remove(self, changes: Sequence[Removed], batch: Batch) -> Iterator[Case]:
        """Blocks are removed, all at once: a batch tells them in no particular order (SGLang begins
        with the parents).
        """
        left = [
            (block, change.remaining[i] if change.remaining else None)
            for change in changes
            for i, block in enumerate(change.blocks)
        ]
        if len(left) > 1:
            left.sort(key=lambda item: -self._depth(item[0]))
        for block, remaining in left:
            yield from self._remove(block, remaining, batch)

    def _depth(self, block: Block) -> int:
        held = self.held.get(block)
        return held.depth if held else 0

    def _remove(self, block: Block, remaining: int | None, batch: Batch) -> Iterator[Case]:
        if block not in self.held and (self.known or block in self.gone):
            yield self._case(block, None, (_seen("removed", 0, batch.place, batch.time),))
            return
        there = self.held.setdefault(block, Held())
        if self.copies is Copies.COUNTED:
            there.copies = there.copies - 1 if remaining is None else remaining
            if there.copies > 0:
                return
        if self._may_have_more(remaining):
            if not there.children:
                yield self._life(block, there, ("removed", batch))
                self._let_go(block, there)
            return
        yield self._life(block, there, ("removed", batch))
        self._let_go(block, there)
        if not self.known:
            self._note_gone(block)

    def _note_gone(self, block: Block) -> None:
        """Remember that a block is gone; what is forgotten is not known: weaker, never wrong."""
        if len(self.gone) >= REMEMBERED:
            self.gone.clear()
        self.gone.add(block)

    def _may_have_more(self, remaining: int | None) -> bool:
        """Whether copies may be left that were stored before the record begins."""
        return self.copies is Copies.COUNTED and not self.known and remaining is None

    def _let_go(self, block: Block, there: Held) -> None:
        """A block is gone: cut it from its parent and from what it is the parent of."""
        del self.held[block]
        for child in there.children or ():
            self.held[child].parent = None
        above = None if there.parent is None else self.held.get(there.parent)
        if above is not None and above.children:
            above.children.pop(block, None)

    def ended(self, known: bool, cleared: Batch | None) -> Iterator[Case]:
        """The lives of all blocks end: in that the cache is cleared, or unseen.

        known: whether it is known to be empty from here on. (The model has no clearing of an empty
        cache, which would change nothing.)
        """
        for block, there in self.held.items():
            if there.place is not None:
                yield self._life(block, there, None if cleared is None else ("cleared", cleared))
        self.held.clear()
        self.gone.clear()
        self.known = known

    def _life(self, block: Block, there: Held, end: tuple[str, Batch] | None) -> Case:
        """The case of a life, and how it ended: of a block behind its parent; of one that is
        removed while another one is there that needs it, with that one behind it.
        """
        removed = end is not None and end[0] == "removed"
        if there.children and (removed or there.place is None):
            child = next(iter(there.children))
            return self._pair((block, there), (child, self.held[child]), 0, end)
        above = None if there.parent is None else self.held[there.parent]
        if there.parent is None or above is None or there.place is None:
            return self._pair(None, (block, there), 1, end)
        return self._pair((there.parent, above), (block, there), 1, end)

    def _pair(
        self,
        above: tuple[Block, Held] | None,
        below: tuple[Block, Held],
        ending: int,
        end: tuple[str, Batch] | None,
    ) -> Case:
        """The case of a block (behind its parent), of which one ends."""
        chain = [pair for pair in (above, below) if pair is not None]
        log, unseen = [], [block for block, held in chain if held.place is None]
        for prefix, (_, held) in enumerate(chain):
            if held.place is not None:
                log.append(_seen("stored", prefix, held.place, held.time))
        if end is not None:
            kind, batch = end
            ended = None if kind == "cleared" else ending - (above is None)
            log.append(_seen(kind, ended, batch.place, batch.time))
        missing: tuple[str, ...] = ()
        if unseen:
            missing = (PARENT_UNSEEN if above else UNSEEN,)
        parent = None if above is None else above[0]
        return self._case(below[0], parent, tuple(log), len(unseen), missing)

    def _case(
        self,
        block: Block,
        parent: Block | None,
        log: tuple[Observation, ...],
        held: int = 0,
        missing: tuple[str, ...] = (),
    ) -> Case:
        """A case of a block, behind its parent where it has one."""
        called = {WORKER: self.publisher}
        chain = (block,) if parent is None else (parent, block)
        called.update(zip(NAMES, (f"block {item}" for item in chain), strict=False))
        system = self.worlds.world(len(chain), held)
        name = f"block {block} of {self.publisher}"
        return case(name, system, log, KINDS, called, missing, ended=True)


def _seen(kind: str, prefix: int | None, place: Place, time: float | None) -> Observation:
    block = {} if prefix is None else {"block": NAMES[prefix]}
    return observed(kind, place, time, **block)
