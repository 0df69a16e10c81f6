"""Answers at a terminal: tables that fold where it is narrow, notes below them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen
from rich.cells import cell_len
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from rackproof.checker.performance.answers import Answer, Column, Table, Unit

INDENT: Final = 2
GAP: Final = 2
FOLDED: Final = 24
"""The width to which a column of texts is folded, where there is need."""
STYLES: Final = {
    "ok": "green",
    "differs": "bold red",
    "missed": "bold red",
    "yes": "green",
    "no": "yellow",
}


def show(answer: Answer, out: Console) -> None:
    """Print every table of an answer, and what is to be said of it."""
    for table in answer.tables:
        out.print()
        out.print(Text(table.title, "bold"))
        if table.in_words:
            _paragraphs(table, out)
        else:
            for grid in _grids(table, out.width - INDENT):
                out.print(grid)
        _notes(table.notes, out)
    if answer.notes:
        out.print()
        _notes(answer.notes, out)
    for shortfall in answer.shortfalls:
        out.print(Text(shortfall, "bold red"))


@frozen
class _Strip:
    """A column with its values as they are shown."""

    column: Column
    cells: list[str]

    @property
    def is_text(self) -> bool:
        """Whether it stands on the left, and may be folded."""
        return self.column.unit is Unit.TEXT

    @property
    def most(self) -> int:
        """The width at which nothing is folded."""
        return max(map(cell_len, (self.column.title, *self.cells)))

    @property
    def least(self) -> int:
        """That of a number, of a text up to a limit, of the longest word of the heading."""
        widest = max(map(cell_len, self.cells), default=0)
        word = max(map(cell_len, self.column.title.split()), default=0)
        return max(min(widest, FOLDED) if self.is_text else widest, word)


def _grids(table: Table, width: int) -> Iterator[Grid]:
    """The table; where it is too wide, several below each other, all with what names the rows."""
    strips = [
        _Strip(column, [column.unit.shown(row[place], column.digits) for row in table.rows])
        for place, column in enumerate(table.columns)
    ]
    names, rest = strips[: table.names], strips[table.names :]
    chosen = list(names)
    for strip in rest:
        wide = sum(one.least + GAP for one in (*chosen, strip)) - GAP
        if wide > width and len(chosen) > len(names):
            yield _grid(chosen, width)
            chosen = list(names)
        chosen.append(strip)
    yield _grid(chosen, width)


def _grid(strips: list[_Strip], width: int) -> Grid:
    """Every column at its least width, and the room that is left to those that would fold."""
    grid = Grid(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    grid.add_column(width=INDENT - GAP)
    spare = width - sum(strip.least + GAP for strip in strips) + GAP
    widths = {}
    for place, strip in sorted(enumerate(strips), key=lambda one: not one[1].is_text):
        more = max(0, min(strip.most - strip.least, spare))
        widths[place], spare = strip.least + more, spare - more
    for place, strip in enumerate(strips):
        side: JustifyMethod = "left" if strip.is_text else "right"
        grid.add_column(strip.column.title, justify=side, width=widths[place])
    for cells in zip(*(strip.cells for strip in strips), strict=True):
        grid.add_row(Text(), *map(_cell, cells))
    return grid


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, INDENT), expand=False)


def _paragraphs(table: Table, out: Console) -> None:
    """The first two columns as a heading, each other one that is not empty on lines of its own."""
    for row in table.rows:
        cells = [c.unit.shown(value, c.digits) for c, value in zip(table.columns, row, strict=True)]
        out.print(_indented(Text(": ".join(cells[:2]), "bold")))
        for column, cell in zip(table.columns[2:], cells[2:], strict=True):
            if cell:
                told = Text.assemble((f"{column.title}: ", "dim"), cell)
                out.print(_indented(_indented(told)))


def _cell(text: str) -> Text:
    return Text(text, STYLES.get(text, ""))


def _notes(notes: tuple[str, ...], out: Console) -> None:
    for note in notes:
        out.print(_indented(Text(note, "dim")))
