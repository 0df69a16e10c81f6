"""How native loops run: on threads, watched by a clock, with a larger table when they need one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Final

from rackproof.checker.native import Native
from rackproof.checker.native.memory import BATCH, Block, Own, Shared, Status, Thread, flags
from rackproof.checker.native.native import Words
from rackproof.checker.native.program import Compiled
from rackproof.checker.search.results import Limits
from rackproof.checker.search.store import LimitReached, Store

SMALL: Final = 4_096
"""Fewer states than this are not worth a second thread."""
TICK: Final = 0.1
"""Seconds between two looks at the clock."""
PATIENCE: Final = 15.0
"""A search that takes this many times its preparation is worth a more thorough compilation."""
ALL_OPEN: Final = 0x0101010101010101


class Team:
    """The threads of a search and what they share.

    report: called a few times a second. preparation: the seconds that compiling took.
    """

    def __init__(
        self,
        native: Native,
        limits: Limits,
        workers: int,
        report: Callable[[], None],
        preparation: float,
    ) -> None:
        """Start with an empty store."""
        self.native, self.limits, self._report = native, limits, report
        size = len(native.monitors) // 8 + 1
        self.opened = Block(size)
        self.opened.fill([ALL_OPEN] * size)
        self.threads = [native.thread(self.opened) for _ in range(workers)]
        slack = workers * (BATCH + len(native.relation.actions) + 2)
        self.store = Store(native.layout.words, limits, slack)
        self.started = self._ticked = time.monotonic()
        self._loops = native.loops()
        self._pool = ThreadPoolExecutor(workers + 1)
        self._patience = PATIENCE * preparation
        self._thorough: Future[Compiled] | None = None
        self._is_thorough = False

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the threads, and give the memory back."""
        self.store.shared[Shared.STOP] = 1
        self._pool.shutdown()
        self.store.close()

    @property
    def seconds(self) -> float:
        """How long this takes already."""
        return time.monotonic() - self.started

    def total(self, counter: Own) -> int:
        """What the threads counted."""
        return sum(thread.own[counter] for thread in self.threads)

    def fired(self) -> frozenset[int]:
        """The actions that changed a state."""
        count = len(self.native.relation.actions)
        return frozenset(n for thread in self.threads for n in flags(thread.fired, count))

    def hits(self) -> dict[int, Words]:
        """The monitors that saw what they wait for, each with the least state."""
        width, found = self.native.layout.words, dict[int, Words]()
        for thread in self.threads:
            for number in flags(thread.hit, len(self.native.monitors)):
                words = thread.best.slice(number * width, width)
                found[number] = min(words, found.get(number, words))
        return found

    def loop(self, name: str, begin: int, end: int) -> None:
        """Run a loop over a range of states; ``LimitReached`` where it cannot be finished."""
        self._share(begin, end)
        while True:
            status = self._call(name, end - self.store.shared[Shared.NEXT])
            if status is Status.DONE:
                return
            if status is Status.FULL:
                self._grow()

    def finish(self, name: str, begin: int, end: int) -> None:
        """Run a loop whatever the limits say."""
        self._share(begin, end)
        for thread in self.threads:
            self._loops[name](self.store.shared.address, thread.own.address)

    def predecessor(self, name: str, begin: int, end: int, target: Words) -> Words | None:
        """The least state of a range that has the target as a successor."""
        threads = [self.native.thread(self.opened) for _ in self.threads]
        share = -(-(end - begin) // len(threads)) if end - begin > SMALL else end - begin
        for i, thread in enumerate(threads):
            thread.target.fill(target)
            thread.own[Own.POSITION] = min(begin + i * share, end)
            thread.own[Own.END] = min(begin + (i + 1) * share, end)
        loop, shared = self._loops[name], self.store.shared.address
        list(self._pool.map(lambda thread: loop(shared, thread.own.address), threads))
        found = [thread.witness for thread in threads if thread.own[Own.FOUND]]
        return min((words.slice(0, len(target)) for words in found), default=None)

    def _share(self, begin: int, end: int) -> None:
        """Let the threads take their shares from a range."""
        shared = self.store.shared
        shared[Shared.NEXT], shared[Shared.END] = begin, end
        for thread in self.threads:
            thread.own[Own.POSITION] = thread.own[Own.END] = 0

    def _grow(self) -> None:
        """Replace the table by a larger one, and go on where each thread was."""
        shared = self.store.shared
        cursors = [(t.own[Own.POSITION], t.own[Own.END]) for t in self.threads]
        rest = shared[Shared.NEXT], shared[Shared.END]
        self.store.grow()
        self._share(0, self.store.count)
        self._call("rehash", self.store.count)
        shared[Shared.NEXT], shared[Shared.END] = rest
        for thread, cursor in zip(self.threads, cursors, strict=True):
            thread.own[Own.POSITION], thread.own[Own.END] = cursor

    def _call(self, name: str, size: int) -> Status:
        """Call a loop until one of the threads needs something."""
        if size < SMALL and not any(_is_amid(thread) for thread in self.threads[1:]):
            status = Status(self._run(name, self.threads[0]))
        else:
            futures = [self._pool.submit(self._run, name, thread) for thread in self.threads]
            self._wait(futures)
            status = max(Status(future.result()) for future in futures)
            self.store.shared[Shared.STOP] = 0
        self.tick()
        return status

    def _run(self, name: str, thread: Thread) -> int:
        return self._loops[name](self.store.shared.address, thread.own.address)

    def _wait(self, futures: Sequence[Future[int]]) -> None:
        """Wait for the threads, looking at the clock; whatever interrupts stops them first."""
        try:
            while wait(futures, timeout=TICK).not_done:
                self._report()
                if self._ended() or self._has_faster_code():
                    self.store.shared[Shared.STOP] = 1
        except BaseException:
            self.store.shared[Shared.STOP] = 1
            wait(futures)
            raise

    def tick(self) -> None:
        """Between loops: report, take up faster code, and stop when it is time."""
        if time.monotonic() - self._ticked > TICK:
            self._ticked = time.monotonic()
            self._report()
        if self._has_faster_code():
            assert self._thorough is not None
            self.native.use(self._thorough.result())
            self._loops, self._is_thorough = self.native.loops(), True
        if (reason := self._ended()) is not None:
            raise LimitReached(reason)

    def _ended(self) -> str | None:
        """Why it is to end, if it is."""
        limit, enough = self.limits.time_limit, self.limits.enough
        if limit is not None and self.seconds > limit:
            return f"out of time: {limit:g} s"
        return enough() if enough is not None else None

    def _has_faster_code(self) -> bool:
        """Whether a more thorough compilation, begun once the search takes long, is done."""
        if self._thorough is None and self.seconds > self._patience:
            self._thorough = self._pool.submit(self.native.thorough)
        is_done = self._thorough is not None and self._thorough.done()
        return is_done and not self._is_thorough


def _is_amid(thread: Thread) -> bool:
    """Whether a thread has begun a share."""
    return thread.own[Own.POSITION] < thread.own[Own.END]
