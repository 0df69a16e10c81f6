"""For a build's summary or a ticket: captures in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rackproof.checker.conform.conformity import Conformity
from rackproof.checker.conform.tally import Group
from rackproof.checker.report.ci.summary import LARGEST, within
from rackproof.checker.report.conform.words import alike, error, lines, title, verdict
from rackproof.checker.report.escaping import fenced, in_markdown
from rackproof.checker.report.style import MARKS
from rackproof.checker.verdicts import counted

MOST: Final = 20
"""Kinds of findings, and lines of a list."""


def as_markdown(captures: Sequence[Conformity], room: int = LARGEST) -> str:
    """A table of the captures, and a section for each that fits into so many bytes."""
    rows = [
        f"| {MARKS[found.status][0]} | {in_markdown(found.label)} | {in_markdown(_short(found))} |"
        for found in captures
    ]
    head = ["## rackproof conform", "", "| | capture | |", "|---|---|---|", *rows, ""]
    parts = [head, *(list(_section(found)) for found in captures)]
    return within(["\n".join(part) for part in parts], room)


def _short(found: Conformity) -> str:
    if found.failure is not None and found.failure.lines:
        return found.failure.lines[0]
    return verdict(found.tally, found.noun, found.failure is not None)


def _section(found: Conformity) -> Iterator[str]:
    yield from (f"### {in_markdown(found.label)}", "")
    yield from (f"Held against {in_markdown(found.against)}.", "")
    yield from _list(
        f"In short, each {found.noun} that did not go plainly well",
        found.tally.went,
        found.tally.gone.total(),
    )
    groups = list(found.tally.findings())
    for group in groups[:MOST]:
        yield from _group(group, found)
    left = len(groups) - MOST
    if left > 0:
        yield from (f"And {counted(left, 'kind of finding')} more.", "")
    yield from _list(
        "Errors of the logs, which decide nothing",
        (error(key, one, found.noun) for key, one in found.tally.errors.items()),
    )
    yield from _stalls(found)
    yield from _list("Checked", found.checked)
    yield from _list("Not checked", (*sorted(found.tally.missing), *found.unchecked))
    doubts = [f"{place}: {words}" for place, words in found.doubts.first]
    yield from _list("Passed over, as it could not be read", doubts)
    yield from ("To see it again:", "", *fenced([found.again], "sh"), "")


def _group(group: Group, found: Conformity) -> Iterator[str]:
    _, *rest = lines(group.first, found.noun, found.tally.known)
    yield from (f"**{in_markdown(title(group.first, found.noun))}**", "")
    yield from fenced(line.removeprefix("  ") for line in rest)
    yield ""
    more = alike(group)
    if more:
        yield from (in_markdown(more), "")


def _list(heading: str, texts: Iterable[str], count: int = 0) -> Iterator[str]:
    told = list(texts)
    count = max(count, len(told))
    if told:
        yield from (f"{heading}:", "", *(f"- {in_markdown(text)}" for text in told[:MOST]))
        if count > MOST:
            yield f"- and {count - MOST:,} more"
        yield ""


def _stalls(found: Conformity) -> Iterator[str]:
    table = found.stalls
    if table is None:
        return
    yield from (f"{in_markdown(table.title)}:", "")
    yield f"| {' | '.join(in_markdown(column.title) for column in table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    for row in table.rows:
        cells = (
            in_markdown(column.unit.shown(value, column.digits))
            for column, value in zip(table.columns, row, strict=True)
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {in_markdown(note)}" for note in table.notes)
    yield ""
