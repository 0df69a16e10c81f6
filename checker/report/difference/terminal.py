"""A difference at a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from rackproof.checker.diff.comparison import Difference
from rackproof.checker.report.difference.sections import (
    Block,
    Lines,
    Table,
    headline,
    names,
    sections,
)

MARKS = {"worse": "bold red", "better": "green"}


def show(difference: Difference, out: Console, verbosity: int = 0) -> None:
    """Print it; quiet: only what became of it."""
    for name in names(difference):
        out.print(name, soft_wrap=True)
    out.print(Text(headline(difference), "bold"), soft_wrap=True)
    if verbosity < 0:
        return
    for section in sections(difference, verbosity):
        out.print()
        out.print(Text(section.title, "bold"), soft_wrap=True)
        for block in section.blocks:
            _show(block, out)


def _show(block: Block, out: Console) -> None:
    if isinstance(block, Table):
        out.print(_grid(block), crop=False)
    elif isinstance(block, Lines):
        for line in block.lines:
            out.print(f"  {line}", soft_wrap=True)
    else:
        out.print(f"  {block.title}", soft_wrap=True)
        out.print("\n".join(f"  {line}" for line in block.lines), soft_wrap=True)
        return
    if block.more:
        out.print(f"  ... and {block.more:,} more (-v)", soft_wrap=True)


def _grid(block: Table) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 2), header_style="bold")
    for name in block.columns:
        grid.add_column(name, overflow="fold")
    for row in block.rows:
        grid.add_row(*(Text(cell, MARKS.get(cell, "")) for cell in row))
    return grid
