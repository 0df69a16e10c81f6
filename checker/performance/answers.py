"""What a question gives: tables and plots as data, in SI units (tables, plots: how to see them)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from attrs import field, frozen

Value = float | int | str | bool | None
_PREFIXES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


class Unit(Enum):
    """What a column counts: how it is written, and how its key ends in JSON."""

    TEXT = "text", "", ""
    COUNT = "count", "", ""
    SHARE = "share", "%", "share"
    SECONDS = "time", "s", "s"
    TOKENS = "tokens", "tokens", "tokens"
    BYTES = "size", "B", "B"
    JOULES = "energy", "J", "J"
    WATTS = "power", "W", "W"
    PER_S = "rate", "/s", "per_s"
    TOKENS_PER_S = "tokens a second", "tok/s", "tokens_per_s"
    BYTES_PER_S = "bandwidth", "B/s", "B_per_s"
    FLOP_PER_S = "operations a second", "FLOP/s", "FLOP_per_s"

    @property
    def symbol(self) -> str:
        """What follows a number."""
        return self.value[1]

    @property
    def ending(self) -> str:
        """The end of a key in JSON."""
        return self.value[2]

    def shown(self, value: Value, digits: int = 3) -> str:
        """A value in SI units as people read it, with so many digits; - where there is none."""
        if value is None or value != value:  # noqa: PLR0124 (NaN: it never came to be)
            return "-"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, str):
            return value
        if not math.isfinite(value):
            return "never" if self is Unit.SECONDS and value > 0 else str(value)
        return self._number(value, digits)

    def _number(self, value: float, digits: int) -> str:
        match self:
            case Unit.SECONDS:
                return _seconds(value, digits)
            case Unit.SHARE:
                return f"{100 * value:.1f} %"
            case Unit.BYTES | Unit.BYTES_PER_S | Unit.FLOP_PER_S | Unit.WATTS:
                factor, prefix = next((p for p in _PREFIXES if abs(value) >= p[0]), (1, ""))
                return f"{rounded(value / factor, digits)} {prefix}{self.symbol}"
            case _:
                return f"{rounded(value, digits)} {self.symbol}".rstrip()


def rounded(value: float, digits: int) -> str:
    """A number with so many digits, but never less than its whole part; whole ones as they are."""
    if value == round(value):
        return f"{round(value):,}"
    after = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{after}f}"


def _seconds(value: float, digits: int) -> str:
    for factor, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")):
        least = 2 * factor if factor > 1 else factor
        if abs(value) >= least:
            return f"{rounded(value / factor, digits)} {unit}"
    return f"{rounded(value * 1e6, digits)} us" if value else "0 s"


@frozen
class Column:
    """A column: its heading, its key in JSON (without the unit), what it counts, digits shown."""

    title: str
    key: str
    unit: Unit = Unit.TEXT
    digits: int = 3

    @property
    def name(self) -> str:
        """The key in JSON, which ends in the unit."""
        ending = self.unit.ending
        done = not ending or self.key == ending or self.key.endswith(f"_{ending}")
        return self.key if done else f"{self.key}_{ending}"


@frozen
class Table:
    """Rows of values in SI units, a value a column; notes are told below it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    names: int = 1
    """How many columns, from the first, name the rows."""
    in_words: bool = False
    """Sentences rather than numbers: people see a paragraph a row."""

    def data(self) -> dict[str, Any]:
        """Plain lists, maps, texts and numbers; no number that JSON does not have."""
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, map(_plain, row), strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, "notes": list(self.notes)}


def _plain(value: Value) -> Value:
    """The same; None for what never came to be, a text for what never ends."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


@frozen
class Axis:
    """An axis of a plot: what it shows (in which unit), and whether it is logarithmic."""

    label: str
    log: bool = False


@frozen
class Series:
    """A curve."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]


@frozen
class Mark:
    """A vertical line at x, with what it stands for."""

    x: float
    label: str


@frozen
class Plot:
    """A picture as data; its name becomes the name of a file."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    levels: tuple[tuple[float, str], ...] = ()
    """Horizontal lines, with what each stands for."""


@frozen
class Answer:
    """What a question gives. shortfalls: what is not as it was published or promised (status 1)."""

    question: str
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()
    notes: tuple[str, ...] = ()
    shortfalls: tuple[str, ...] = field(default=())

    def data(self) -> dict[str, Any]:
        """Plain lists, maps, texts and numbers."""
        return {
            "question": self.question,
            "tables": [table.data() for table in self.tables],
            "notes": list(self.notes),
            "shortfalls": list(self.shortfalls),
        }
