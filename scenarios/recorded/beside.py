"""Many files read in several processes, and given out as if they were read by one.

Files that teach nothing to others are cut into portions, which the processes take in turn. A
process waits until what it found is taken, so that no more is held than goes into its pipe.
"""

from __future__ import annotations

import fcntl
import marshal
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from attrs import frozen

from rackproof.model.kernel import Place
from rackproof.scenarios.recorded.noted import Doubt
from rackproof.scenarios.recorded.runs import Run, unpacked
from rackproof.scenarios.worlds import InputError

LEAST: Final = 4 << 20
"""Bytes for which it is worth while to start processes."""
PORTION: Final = 1 << 18
"""Bytes of the files of a portion; what is found in them goes through a pipe at once."""
MOST_RUNS: Final = 512
"""Runs of a packet."""
PIPE: Final = 1 << 20
"""Bytes that may be in a pipe: how far a process may be ahead of one that is held up."""

TellDoubt = Callable[[Doubt], None]
Reads = Callable[[Sequence[int], TellDoubt], Iterator[Run]]
"""Reads the files of some numbers."""


def beside(files: Sequence[Path], read: Reads, tell: TellDoubt, processes: int) -> Iterator[Run]:
    """What the files say, in their order; ``InputError`` where a process is killed."""
    everything = range(len(files))
    sizes = [_size(file) for file in files]
    portions = list(_portions(sizes))
    processes = min(processes, len(portions))
    alone = processes < 2 or sum(sizes) < LEAST or multiprocessing.current_process().daemon
    with ExitStack() as stack:
        readers: list[_Reader] = []
        try:
            for first in range(0 if alone else processes):
                own = portions[first::processes]
                readers.append(stack.enter_context(_reader(read, own, readers)))
        except (OSError, ValueError):  # none can be started here
            readers.clear()
        if not readers:
            yield from read(everything, tell)
        for number in range(len(portions) if readers else 0):
            yield from readers[number % processes].portion(tell)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # which whoever reads it tells
        return 0


def _portions(sizes: Sequence[int]) -> Iterator[range]:
    first, held = 0, 0
    for number, size in enumerate(sizes):
        if held and held + size > PORTION:
            yield range(first, number)
            first, held = number, 0
        held += size
    yield range(first, len(sizes))


@frozen(eq=False)
class _Reader:
    """A process that reads; end: where what it finds comes out."""

    end: Connection
    process: BaseProcess

    def portion(self, tell: TellDoubt) -> Iterator[Run]:
        """What the next portion says."""
        is_last = False
        while not is_last:
            try:
                runs, doubts, is_last = marshal.loads(self.end.recv_bytes())
            except (EOFError, OSError):
                self.process.join()
                ended = f"ended with status {self.process.exitcode}: is there enough memory?"
                raise InputError(f"a process that reads the record {ended}") from None
            for file, line, words in doubts:
                tell(Doubt(Place(file, line), words))
            for about, run in runs:
                yield unpacked(about, run)


@contextmanager
def _reader(
    read: Reads, portions: Sequence[Sequence[int]], others: Sequence[_Reader]
) -> Iterator[_Reader]:
    """A process that reads some portions, and ends with this."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    with suppress(OSError, AttributeError):  # as large as the system lets it be
        fcntl.fcntl(there.fileno(), fcntl.F_SETPIPE_SZ, PIPE)
    ends = [here, *(other.end for other in others)]
    process = context.Process(target=_run, args=(read, portions, there, ends), daemon=True)
    with here:
        with there:
            process.start()
        try:
            yield _Reader(here, process)
        finally:
            process.terminate()
            process.join()


def _run(
    read: Reads, portions: Sequence[Sequence[int]], there: Connection, ends: Sequence[Connection]
) -> None:
    """In the new process: read, and send what is found. It ends when nobody is there to take it."""
    for end in ends:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(BrokenPipeError):
        for portion in portions:
            _send(there, read, portion)


def _send(there: Connection, read: Reads, portion: Sequence[int]) -> None:
    doubts: list[tuple[str, int | None, str]] = []
    runs = read(
        portion, lambda found: doubts.append((found.place.file, found.place.line, found.words))
    )
    is_last = False
    while not is_last:
        packet = [(run.about, run.packed()) for run in islice(runs, MOST_RUNS)]
        is_last = len(packet) < MOST_RUNS
        there.send_bytes(marshal.dumps((packet, doubts, is_last)))
        doubts.clear()
