"""The format of the Azure LLM inference traces: CSV of TIMESTAMP, ContextTokens, GeneratedTokens.

Time stamps have up to nine fractional digits (the published ones have seven, which
``datetime`` does not read) and may end in an offset such as +00:00.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rackproof.model.performance.workload.records import At, Row, in_order, lines, opened, tokens

COLUMNS: Final = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_STAMP: Final = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d)?", re.ASCII
)


def azure_rows(path: Path) -> Iterator[Row]:
    """The requests of a trace file, in order; ``ModelError`` names what cannot be used."""
    return in_order(_rows(path), path)


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    with opened(path) as file:
        reader = csv.reader(lines(file, path))
        places = _places(next(reader, []), path)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, _row(cells, places, At(path, reader.line_num))
        except csv.Error as error:
            At(path, reader.line_num).fail(f"is not CSV: {error}")


def _places(header: list[str], path: Path) -> tuple[int, ...]:
    """Where each column is."""
    names = [name.strip() for name in header]
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        seen = ", ".join(names)[:60] or "nothing"
        At(path, 1).fail(f"there is no column {', '.join(missing)} (the first line has: {seen})")
    return tuple(names.index(name) for name in COLUMNS)


def _row(cells: list[str], places: tuple[int, ...], at: At) -> Row:
    if len(cells) <= max(places):
        at.fail(f"has {len(cells)} columns, and the first line has {max(places) + 1} or more")
    time, prompt, output = (cells[place].strip() for place in places)
    return Row(_time_ns(time, at), tokens(prompt, COLUMNS[1], at), tokens(output, COLUMNS[2], at))


def _time_ns(text: str, at: At) -> int:
    expected = "a time such as 2023-11-16 18:17:03.9799600"
    stamp = _STAMP.fullmatch(text)
    if stamp is None:
        at.refuse(COLUMNS[0], text, expected)
    whole, fraction, offset = stamp.groups()
    try:
        moment = datetime.fromisoformat(f"{whole}{offset or '+00:00'}")
    except ValueError:
        at.refuse(COLUMNS[0], text, expected)
    past = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 10**9 + int((fraction or "0").ljust(9, "0"))
