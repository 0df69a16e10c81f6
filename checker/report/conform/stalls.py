"""The migrations of a capture, as compact as they come: no column of which nothing is known."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final

from attrs import evolve
from rich.console import Console

from rackproof.checker.performance.answers import Answer, Table
from rackproof.checker.performance.tables import show

WIDTH: Final = 100
BESIDE: Final = {
    "detection_predicted_least": "detection_p50",
    "detection_predicted_most": "detection_p50",
    "prefill_predicted": "rest_p50",
}
"""Columns that stand beside another one for comparison."""
MOST: Final = {"detection_max": "detection_p50", "stall_max": "stall_p50"}
"""Columns that say nothing where there is one of each: the maximum of it is the median."""


def compact(table: Table) -> Table:
    """The same without what is not known of any row, or stands beside that."""
    keys = [column.key for column in table.columns]
    columns = dict(zip(keys, zip(*table.rows, strict=True), strict=True))
    known = {key for key, values in columns.items() if any(value is not None for value in values)}
    several = any(isinstance(count, int) and count > 1 for count in columns["count"])
    kept = [
        index
        for index, key in enumerate(keys)
        if key in known and BESIDE.get(key, key) in known and (several or key not in MOST)
    ]
    return evolve(
        table,
        columns=tuple(table.columns[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in table.rows),
    )


def in_lines(table: Table, width: int, every: bool) -> Iterator[str]:
    """The table in lines that end with their last letter. every: with what its columns mean."""
    told = compact(table) if every else evolve(compact(table), notes=())
    page = io.StringIO()
    show(
        Answer("migrations", (told,)),
        Console(file=page, width=min(width, WIDTH), color_system=None),
    )
    yield from (line.rstrip() for line in page.getvalue().splitlines())
