"""The lines of a file, whatever it holds: compressed or not, huge, cut off, or no text at all."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BufferedIOBase
from pathlib import Path
from typing import Final

MOST_LINE: Final = 16 << 20
"""Longer lines than this many bytes are passed over."""
CHUNK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"

Tell = Callable[[int, str], None]
"""Called with the number of a line and what is wrong with it."""


def lines(path: Path, tell: Tell, most: int = MOST_LINE) -> Iterator[tuple[int, str, bool]]:
    """The lines that are text, each with its number and whether its end was written too.

    What is wrong with the others, or with the file, is told; nothing is raised.
    """
    for number, data, ended in _pieces(path, tell, most):
        if not data or data.isspace():
            continue
        if b"\0" in data:
            tell(number, "is binary: there is a NUL byte in it")
            continue
        try:
            text = data.decode("utf-8-sig" if number == 1 else "utf-8")
            if text and not text.isspace():  # there may be a byte order mark alone
                yield number, text, ended
        except UnicodeDecodeError as error:
            tell(number, f"is not UTF-8: there is the byte 0x{data[error.start]:02x} in it")


def opened(path: Path) -> BufferedIOBase:
    """The file as bytes, unpacked where it is compressed; ``OSError`` where there is none."""
    file = path.open("rb")
    if file.peek(2)[:2] != _GZIP:
        return file
    file.close()
    return gzip.open(path, "rb")


def _pieces(path: Path, tell: Tell, most: int) -> Iterator[tuple[int, bytes, bool]]:
    """The lines as bytes; none is ever held whole that is longer than the bound."""
    number, rest, skipping = 1, b"", False
    for chunk in _chunks(path, tell):
        *whole, tail = chunk.split(b"\n")
        for piece in whole:
            if skipping or len(rest) + len(piece) > most:
                tell(number, f"is longer than {most >> 20} MB, and is passed over")
            else:
                yield number, rest + piece if rest else piece, True
            number, rest, skipping = number + 1, b"", False
        rest = b"" if skipping else rest + tail
        if len(rest) > most:
            rest, skipping = b"", True
    if skipping:
        tell(number, f"is longer than {most >> 20} MB, and is passed over")
    elif rest:
        yield number, rest, False


def _chunks(path: Path, tell: Tell) -> Iterator[bytes]:
    if path.exists() and not path.is_file():  # a pipe might never end
        tell(0, "is not a regular file")
        return
    try:
        with closing(opened(path)) as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile):
        tell(0, "ends early, or is damaged: it cannot be unpacked to its end")
    except OSError as error:
        tell(0, f"cannot be read: {(error.strerror or str(error)).lower()}")
