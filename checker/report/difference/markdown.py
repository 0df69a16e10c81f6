"""A difference as Markdown, for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.checker.diff.comparison import Difference
from rackproof.checker.report.difference.sections import (
    Block,
    Lines,
    Table,
    Told,
    headline,
    names,
    sections,
)
from rackproof.checker.report.escaping import fenced, in_markdown


def as_markdown(difference: Difference, verbosity: int = 0) -> str:
    """The whole report."""
    lines = ["## What differs", "", *(f"- {in_markdown(name)}" for name in names(difference)), ""]
    lines += [f"**{headline(difference)}**", ""]
    for section in sections(difference, verbosity):
        lines += [f"### {in_markdown(section.title)}", ""]
        for block in section.blocks:
            lines += [*_block(block), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Table):
        yield _row(block.columns)
        yield _row(("---",) * len(block.columns))
        yield from (_row(tuple(map(in_markdown, row))) for row in block.rows)
    elif isinstance(block, Lines):
        yield from (f"- {in_markdown(line)}" for line in block.lines)
    else:
        yield in_markdown(block.title)
        yield ""
        yield from fenced(block.lines)
    if not isinstance(block, Told) and block.more:
        yield ""
        yield f"... and {block.more:,} more."


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
