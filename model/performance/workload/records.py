"""Rows of a trace file, read one by one; of one that cannot be used, where it is and why.

Messages are ``ModelError``: file:line, the column, what stands there, and what was expected.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn, TextIO

from attrs import frozen

from rackproof.model.kernel import ModelError

LONGEST_LINE: Final = 1 << 20
MOST_TOKENS: Final = 10_000_000
"""More than any context: a longer prompt is a mistake in the file."""
_DIGITS: Final = re.compile(r"[0-9]{1,12}")


@frozen
class Row:
    """A request of a trace: nanoseconds since an origin of the trace's own, tokens, and the
    identifiers of the prompt's blocks of KV (equal where a prefix is shared).
    """

    time_ns: int
    prompt: int
    output: int
    blocks: tuple[int, ...] = ()


@frozen
class At:
    """A line of a file."""

    path: Path
    line: int

    def refuse(self, column: str, seen: object, expected: str) -> NoReturn:
        """Say that a value is not what was expected."""
        shown = repr(seen)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        raise ModelError(f"{self.path}:{self.line}: {column}: {shown} is not {expected}")

    def fail(self, message: str) -> NoReturn:
        """Say what is wrong with the line as a whole."""
        raise ModelError(f"{self.path}:{self.line}: {message}")


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """A trace as text, unpacked where its name ends in .gz; ``ModelError`` where it is no such."""
    if not path.is_file():
        what = "is no regular file" if path.exists() else "there is no such trace"
        raise ModelError(f"{path}: {what}")
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8-sig", newline="")
        ) as file:
            yield file
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: is no text: {error.reason}") from None
    except (OSError, EOFError, zlib.error) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{path}: cannot be read: {told.lower()}") from None


def lines(file: TextIO, path: Path) -> Iterator[str]:
    """The lines of a file, none so long that it could not be one."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            At(path, number).fail(f"is longer than {LONGEST_LINE >> 20} MiB: is this a trace?")
        yield line


def in_order(rows: Iterator[tuple[int, Row]], path: Path) -> Iterator[Row]:
    """The rows of a trace; ``ModelError`` for one that is earlier than the last, and for none."""
    before: Row | None = None
    for line, row in rows:
        if before is not None and row.time_ns < before.time_ns:
            early = (before.time_ns - row.time_ns) / 1e9
            At(path, line).fail(
                f"is {early:g} s earlier than the row before; a trace is sorted by time"
            )
        before = row
        yield row
    if before is None:
        raise ModelError(f"{path}: has no requests")


def tokens(text: object, column: str, at: At) -> int:
    """A number of tokens, from a text or a number."""
    expected = f"a whole number of tokens from 1 to {MOST_TOKENS:,}"
    value = int(text) if isinstance(text, str) and _DIGITS.fullmatch(text) else text
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_TOKENS:
        at.refuse(column, text, expected)
    return value
