"""Several ways to the same answer, each in a process of its own; the others end with the first.

A process has its own session, so that what it starts ends with it; on Linux it also ends with its
parent, however that ends, and the operating system bounds its memory. Its time is bounded by the
clock of the parent. A result is sent over a pipe, so it must be of plain values.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Final

from attrs import define, evolve, field, frozen

Runner = Callable[[], Iterable[Any]]

_PR_SET_PDEATHSIG: Final = 1
_AWAITED: Final = 5.0


@frozen
class Told:
    """Something that a runner found out: a result; or at its end, trouble if it had any."""

    runner: str
    result: Any = None
    is_last: bool = False
    trouble: str | None = None


@define
class Race:
    """Runners by name, begun when the race is entered and ended when it is left.

    Each yields what it finds out. memory: bytes that each may take beyond what this process has;
    None for no limit.
    """

    runners: Mapping[str, Runner]
    memory: int | None = None
    _running: dict[Connection, tuple[str, BaseProcess]] = field(factory=dict)

    def __enter__(self) -> Race:
        """Begin all of them."""
        context = multiprocessing.get_context("fork")
        try:
            for name, runner in self.runners.items():
                here, there = context.Pipe(duplex=False)
                process = context.Process(
                    target=_run, args=(runner, there, self.memory, os.getpid()), daemon=True
                )
                process.start()
                there.close()
                self._running[here] = name, process
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    @property
    def is_over(self) -> bool:
        """Whether all have told what became of them."""
        return not self._running

    def news(self, seconds: float) -> Iterator[Told]:
        """What is found out within so many seconds, as it comes in."""
        deadline = time.monotonic() + seconds
        ready = wait(list(self._running), max(0.0, seconds)) if self._running else []
        while ready:
            for connection in ready:
                assert isinstance(connection, Connection)
                yield self._taken(connection)
            left = max(0.0, deadline - time.monotonic())
            ready = wait(list(self._running), left) if self._running else []

    def end(self) -> None:
        """End those that still run, and what they started."""
        for connection, (_, process) in self._running.items():
            _kill(process)
            connection.close()
        self._running.clear()

    def _taken(self, connection: Connection) -> Told:
        name, process = self._running[connection]
        try:
            told: Told = connection.recv()
        except (EOFError, OSError):
            process.join(_AWAITED)
            told = Told("", is_last=True, trouble=self._death(process.exitcode))
        if told.is_last:
            del self._running[connection]
            connection.close()
            _kill(process)
        return evolve(told, runner=name)

    def _death(self, code: int | None) -> str:
        """What it probably died of; a solver in C++ that gets no memory aborts."""
        signals = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGKILL)
        if self.memory is not None and code in signals:
            return OUT_OF_MEMORY
        return f"ended with status {code}"


OUT_OF_MEMORY: Final = "out of memory"


def _kill(process: BaseProcess) -> None:
    """End a process and whatever is in its session."""
    if process.pid is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(AttributeError, ProcessLookupError):
        process.kill()  # where it has no session of its own yet
    process.join(_AWAITED)


def _run(runner: Runner, connection: Connection, memory: int | None, parent: int) -> None:
    """In the new process: run, and tell."""
    os.setsid()
    _die_with(parent)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    trouble = None
    try:
        _limit(memory)
        for result in runner():
            connection.send(Told("", result))
    except MemoryError:
        trouble = OUT_OF_MEMORY
    except Exception as error:
        trouble = f"{type(error).__name__}: {error}"
    connection.send(Told("", is_last=True, trouble=trouble))
    connection.close()
    os._exit(0)  # nothing of the parent's is to be closed or flushed twice


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _limit(memory: int | None) -> None:
    if memory is None or sys.platform != "linux":
        return
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        pages = int(file.read().split()[0])
    own = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + memory, own + memory))
