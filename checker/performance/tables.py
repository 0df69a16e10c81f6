"""Answers at a terminal: tables that fold where it is narrow, notes below them."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from rackproof.checker.performance.answers import Answer, Column, Table, Unit

STYLES = {"ok": "green", "differs": "bold red", "yes": "green", "no": "yellow"}


def show(answer: Answer, out: Console) -> None:
    """Print every table of an answer, and what is to be said of it."""
    for table in answer.tables:
        out.print()
        out.print(Text(table.title, "bold"))
        if table.in_words:
            _paragraphs(table, out)
        else:
            out.print(_grid(table))
        _notes(table.notes, out)
    if answer.notes:
        out.print()
        _notes(answer.notes, out)
    for shortfall in answer.shortfalls:
        out.print(Text(f"differs: {shortfall}", "bold red"))


def _grid(table: Table) -> Padding:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in table.columns:
        grid.add_column(column.title, justify="left" if _is_text(column) else "right")
    for row in table.rows:
        cells = zip(table.columns, row, strict=True)
        grid.add_row(*(_cell(column.unit.shown(value, column.digits)) for column, value in cells))
    return Padding(grid, (0, 0, 0, 2))


def _paragraphs(table: Table, out: Console) -> None:
    """The first two columns as a heading, each other one that is not empty on lines of its own."""
    for row in table.rows:
        cells = [c.unit.shown(value, c.digits) for c, value in zip(table.columns, row, strict=True)]
        out.print(Padding(Text(": ".join(cells[:2]), "bold"), (0, 0, 0, 2)))
        for column, cell in zip(table.columns[2:], cells[2:], strict=True):
            if cell:
                told = Text.assemble((f"{column.title}: ", "dim"), cell)
                out.print(Padding(told, (0, 0, 0, 4)))


def _cell(text: str) -> Text:
    return Text(text, STYLES.get(text, ""))


def _is_text(column: Column) -> bool:
    return column.unit is Unit.TEXT


def _notes(notes: tuple[str, ...], out: Console) -> None:
    for note in notes:
        out.print(Padding(Text(note, "dim"), (0, 0, 0, 2)))
