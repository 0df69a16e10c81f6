"""A record gathered by request, in memory that does not grow with it.

Notes come as the files have them, and are wanted one request at a time. Tokens that follow one
another wait as one run, of a few bytes a token. When too much waits, it goes to a folder for the
time being, cut into parts by request; then each part is gathered alone, and the parts are merged
in the order in which requests were first met. The work is linear in the record either way.
"""

from __future__ import annotations

import heapq
import marshal
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self
from zlib import crc32

from attrs import define, field

from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.recorded.runs import Run, unpacked
from rackproof.scenarios.worlds import InputError

MOST: Final = 250_000
"""How many runs of notes wait in memory (a run of one takes half a kilobyte)."""
NEXT: Final = 1 / 32
"""What one more note of a run takes, in runs."""
PARTS: Final = 128

Learn = Callable[[Noted], None]
Gathering = tuple[str, list[Noted]]
"""What a request is called, and all that was noted about it."""


@define(eq=False)
class _Waiting:
    """What waits of one request; met: how many were met before it."""

    met: int
    runs: list[Run] = field(factory=list)


class Gathered(AbstractContextManager["Gathered"]):
    """The requests of a record in the order in which they were first met, to be gone through once.

    To be used in a ``with``, at whose end whatever was put aside in files is removed.
    """

    def __init__(self, runs: Iterable[Run], learn: Learn, most: int = MOST) -> None:
        """Gather all the notes; ``learn`` is called with the first of each run, and with all that
        are about nobody.
        """
        self._waiting: dict[str, _Waiting] = {}
        self._met = 0
        self._size = 0.0
        self._most = most
        self._folder: Path | None = None
        try:
            for run in runs:
                if run.about is None:
                    for noted in run.notes():
                        learn(noted)
                else:
                    learn(next(run.notes()))
                    self._take(run.about, run)
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __enter__(self) -> Self:
        return self

    def __iter__(self) -> Iterator[Gathering]:
        """Each request with its notes, in the order of the files."""
        if self._folder is None:
            for about in list(self._waiting):
                waiting = self._waiting.pop(about)
                yield about, [noted for run in waiting.runs for noted in run.notes()]
            return
        with _room():
            self._put_aside(self._folder)
            paths = [path for part in range(PARTS) if (path := _gathered(self._folder, part))]
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("rb")) for path in paths]
            for _met, about, runs in heapq.merge(*(_loaded(file) for file in files)):
                yield about, [noted for run in runs for noted in unpacked(about, run).notes()]

    @property
    def in_files(self) -> bool:
        """Whether there was too much to wait in memory."""
        return self._folder is not None

    def close(self) -> None:
        """Remove what was put aside."""
        self._waiting.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _take(self, about: str, run: Run) -> None:
        waiting = self._waiting.get(about)
        if waiting is None:
            waiting = self._waiting[about] = _Waiting(self._met)
            self._met += 1
        elif waiting.runs[-1].takes(run):
            self._size += NEXT * len(run.lines)
            return
        waiting.runs.append(run)
        self._size += 1 + NEXT * (len(run.lines) - 1)
        if self._size > self._most:
            with _room():
                if self._folder is None:
                    self._folder = Path(tempfile.mkdtemp(prefix="rackproof-"))
                self._put_aside(self._folder)

    def _put_aside(self, folder: Path) -> None:
        """Add all that waits to the files of its parts."""
        parts: list[list[tuple[int, str, list[Any]]]] = [[] for _ in range(PARTS)]
        for about, waiting in self._waiting.items():
            packed = [run.packed() for run in waiting.runs]
            parts[crc32(about.encode()) % PARTS].append((waiting.met, about, packed))
        for part, pieces in enumerate(parts):
            if pieces:
                with (folder / f"{part}").open("ab") as file:
                    _store(file, pieces)
        self._waiting.clear()
        self._size = 0.0


@contextmanager
def _room() -> Iterator[None]:
    """Where a file cannot be written, say what it is for."""
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        where = error.filename or tempfile.gettempdir()
        raise InputError(
            f"{where}: the record is too large for memory, and cannot wait here: {why} "
            "(TMPDIR names another folder)"
        ) from None


def _gathered(folder: Path, part: int) -> Path | None:
    """One part with the pieces of each request put together, in the order of when they were met."""
    path = folder / str(part)
    if not path.exists():
        return None
    whole: dict[str, tuple[int, list[Any]]] = {}
    with path.open("rb") as file:
        for pieces in _loaded(file):
            for met, about, runs in pieces:
                whole.setdefault(about, (met, []))[1].extend(runs)
    path.unlink()
    gathered = folder / f"{part}.gathered"
    with gathered.open("wb") as file:
        for about, (met, runs) in whole.items():
            _store(file, (met, about, runs))
    return gathered


def _store(file: BinaryIO, value: Any) -> None:
    """Write plain values behind those that are there, with their length."""
    data = marshal.dumps(value)
    file.write(len(data).to_bytes(8, "little") + data)


def _loaded(file: BinaryIO) -> Iterator[Any]:
    """What was written to a file, one after the other."""
    while length := file.read(8):
        yield marshal.loads(file.read(int.from_bytes(length, "little")))
