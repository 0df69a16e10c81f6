"""The KV of earlier prompts, by the hashes of their blocks."""

from __future__ import annotations

from collections.abc import Sequence

from rackproof.model.performance.simulation.setting import PrefixCache


class Prefixes:
    """Blocks that are kept; the least recently used go first, of a prompt its end before its start.

    asked, hit: blocks of prompts looked up, and those that were there with all before them.
    """

    def __init__(self, kept: PrefixCache) -> None:
        self.block_tokens = kept.block_tokens
        self._most = kept.blocks
        self._blocks: dict[int, None] = {}
        self.asked = 0
        self.hit = 0

    def leading(self, blocks: Sequence[int]) -> int:
        """How many blocks from the start on are there."""
        known = self._blocks
        for count, block in enumerate(blocks):
            if block not in known:
                return count
        return len(blocks)

    def use(self, blocks: Sequence[int], found: int) -> None:
        """A prompt of these blocks is prefilled, and so many of them were there."""
        self.asked += len(blocks)
        self.hit += found
        self._touch(blocks[:found])

    def keep(self, blocks: Sequence[int]) -> None:
        """A prompt was prefilled."""
        self._touch(blocks)
        if self._most is not None:
            while len(self._blocks) > self._most:
                del self._blocks[next(iter(self._blocks))]

    def clear(self) -> None:
        """All is lost."""
        self._blocks.clear()

    def _touch(self, blocks: Sequence[int]) -> None:
        known = self._blocks
        for block in reversed(blocks):
            known.pop(block, None)
            known[block] = None
