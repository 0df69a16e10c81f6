"""From a file with KV events to cases: of each publisher's numbers, and of each block's life."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import define, field

from rackproof.model.kernel.evidence import Case
from rackproof.scenarios.recorded.kv.batches import Batch, Change, Cleared, Removed, Stored, Tier
from rackproof.scenarios.recorded.kv.files import batches, kv_mapping
from rackproof.scenarios.recorded.kv.lives import Cache
from rackproof.scenarios.recorded.kv.numbers import Numbers, Turn
from rackproof.scenarios.recorded.kv.worlds import Worlds
from rackproof.scenarios.recorded.noted import Doubt
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.worlds import InputError

EMPTY: frozenset[Turn] = frozenset({Turn.BEGINS, Turn.RESTART})
"""The turns after which a cache is empty; after the others nobody knows what is in it."""


def kv_cases(
    path: Path,
    doubt: Callable[[Doubt], None],
    base: Bundled | None = None,
    mapping: str | None = None,
) -> Iterator[Case]:
    """The cases of a file with KV events (of each one in a folder), in one pass over it.

    base: the stack, with mechanisms of its own. mapping: what the file was written by (see
    ``MAPPINGS``), by default what is recognised. doubt is told what cannot be read. Memory grows
    with the blocks that are cached at a time, not with the file. ``InputError`` where a folder has
    no such file.
    """
    worlds = Worlds(base or Bundled())
    for file in _files(path):
        yield from file_cases(file, doubt, worlds, mapping)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(item for item in path.rglob("*") if item.is_file())
    found = [item for item in files if kv_mapping(item) is not None]
    if not found:
        raise InputError(f"{path}: no file in it has KV events")
    return found


def file_cases(
    path: Path, doubt: Callable[[Doubt], None], worlds: Worlds, mapping: str | None
) -> Iterator[Case]:
    """The cases of one file; publishers of different files are different ones."""
    publishers = dict[str, Publisher]()
    for batch in batches(path, doubt, mapping):
        if batch.publisher not in publishers:
            publishers[batch.publisher] = Publisher(batch.publisher, worlds)
        yield from publishers[batch.publisher].take(batch)
    for publisher in publishers.values():
        yield from publisher.end()


@define(eq=False)
class Publisher:
    """What was read of one publisher: its numbers, and its caches."""

    name: str
    worlds: Worlds
    numbers: Numbers = field(init=False)
    caches: dict[Tier, Cache] = field(factory=dict)
    known: bool = False

    def __attrs_post_init__(self) -> None:
        self.numbers = Numbers(self.name)

    def take(self, batch: Batch) -> Iterator[Case]:
        """Go on with a batch; of one that was sent again, the first one counts."""
        if batch.number is not None:
            turn, cases = self.numbers.take(batch, self.worlds)
            yield from cases
            if turn is Turn.AGAIN:
                return
            if turn is not Turn.ON:
                yield from self._anew(turn in EMPTY, None)
        for kind, changes in itertools.groupby(batch.changes, key=_alike):
            yield from self._change(kind, list(changes), batch)

    def _change(
        self, kind: tuple[type[Change], Tier | None], changes: list[Change], batch: Batch
    ) -> Iterator[Case]:
        """Changes of one kind, of one cache, one behind the other."""
        if kind[1] is None:
            yield from self._anew(True, batch)
            return
        cache = self._cache(kind[1], batch)
        removed = [change for change in changes if isinstance(change, Removed)]
        if removed:
            yield from cache.remove(removed, batch)
        for change in changes:
            if isinstance(change, Stored):
                yield from cache.store(change, batch)

    def _cache(self, tier: Tier, batch: Batch) -> Cache:
        if tier not in self.caches:
            memory, _ = tier
            name = f"{self.name} in {memory}" if memory else self.name
            self.caches[tier] = Cache(name, self.worlds, self.known, batch.rules.copies)
        return self.caches[tier]

    def _anew(self, known: bool, cleared: Batch | None) -> Iterator[Case]:
        """All that was cached is gone, or nobody knows any more."""
        self.known = known
        for cache in self.caches.values():
            yield from cache.ended(known, cleared)

    def end(self) -> Iterator[Case]:
        """The record ends."""
        yield from self.numbers.ended(self.worlds)
        yield from self._anew(False, None)


def _alike(change: Change) -> tuple[type[Change], Tier | None]:
    return type(change), None if isinstance(change, Cleared) else change.tier
