"""What the paths of a target take, as bars on one scale beside their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from rackproof.checker.report.cost import COSTS, TIMES, CostReport, in_words
from rackproof.checker.timing.paths import Range

WIDTH: Final = 160


@frozen
class Bar:
    """From the least to the most, in hundredths of the scale; endless: there is no most."""

    start: float
    length: float
    endless: bool


@frozen
class Way:
    """A class of paths: its cells by column, with a bar where there is one for it."""

    cells: tuple[tuple[str, str, Bar | None], ...]


@frozen
class Bars:
    """The classes of paths of a target; most: the end of the scale, in seconds."""

    columns: tuple[str, ...]
    ways: tuple[Way, ...]
    quantities: tuple[tuple[str, str, str], ...]


def bars(report: CostReport) -> Bars:
    """A row for each class; costs that nothing has are left out."""
    kinds = report.paths.classes
    told = [in_words(kind) for kind in kinds]
    costs = [name for name in COSTS if {row[name] for row in told} - {"0", "-", "0 B", "0 J"}]
    columns = ("path", "faults", *TIMES, *costs)
    drawn = [
        {"first delivery": kind.first, "worst stall": _to(kind.stall), "total": kind.total}
        for kind in kinds
    ]
    scales = {name: _scale(row[name] for row in drawn) for name in TIMES}
    ways = tuple(
        Way(
            tuple(
                (name, row[name], _bar(ranges[name], scales[name]) if name in ranges else None)
                for name in columns
            )
        )
        for row, ranges in zip(told, drawn, strict=True)
    )
    return Bars(columns, ways, tuple(report.quantities()))


def _to(known: Range) -> Range:
    """From nothing to the most."""
    return known if known.most is None else Range(known.most, known.most)


def _scale(ranges: Iterator[Range]) -> float:
    """The greatest that is finite."""
    ends = [float(x) for known in ranges for x in (known.least, known.most) if x is not None]
    return max((x for x in ends if x < math.inf), default=0.0)


def _bar(known: Range, scale: float) -> Bar | None:
    if known.least is None or known.most is None or not scale:
        return None
    endless = known.most == math.inf
    end = 100.0 if endless else 100 * float(known.most) / scale
    start = end if endless and known.least == math.inf else 100 * float(known.least) / scale
    return Bar(round(start, 2), round(end - start, 2), endless)
