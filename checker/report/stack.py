"""The report on a stack in every exam: a table of its own, and what would mend what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from rackproof.checker.exams import Examined
from rackproof.checker.repair.switches import Choice
from rackproof.checker.report.setting import written
from rackproof.checker.report.style import COLOURS, MARKS, UNTESTED
from rackproof.checker.verdicts import Result, Verdict, counted
from rackproof.checker.verify import Run

COLUMNS: Final = ("", "property", "verdict", "exam", "mended by")
FOLDED: Final = 24
"""The least width to which the last column is folded."""
_ORDER: Final = (
    Verdict.VIOLATED,
    Verdict.INCONCLUSIVE,
    Verdict.HOLDS,
    Verdict.PROVED,
    Verdict.VACUOUS,
)


def table(report: Examined, width: int) -> Table:
    """A row a property: its verdict, the exam that decides it, and what would mend it there.

    width: that of the terminal; of a table that is wider, the last column alone is folded.
    """
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    shown = [pair for pair in report.judged if not pair[1].is_absent]
    ordered = sorted(shown, key=lambda pair: _ORDER.index(pair[1].verdict))
    rows = [_row(report, run, result) for run, result in ordered]
    widest = [
        max(cell_len(str(cell)) for cell in cells) for cells in zip(COLUMNS, *rows, strict=True)
    ]
    least = sum(widest[:-1]) + 2 * len(widest) + FOLDED
    grid.width = least if least > width else None
    for name, cells in zip(COLUMNS, widest, strict=True):
        folds = name == COLUMNS[-1]
        grid.add_column(name, no_wrap=not folds, min_width=None if folds else cells)
    for row in rows:
        grid.add_row(*row)
    return grid


def _row(report: Examined, run: Run, result: Result) -> list[Text | str]:
    vacuous = result.verdict is Verdict.VACUOUS
    return [
        Text(*(UNTESTED if vacuous else MARKS[result.status])),
        result.prop.name,
        Text(result.words, COLOURS[result.verdict]),
        where(report, run, result),
        mended(report, result.prop.name) or "",
    ]


def where(report: Examined, run: Run, result: Result) -> str:
    """The exam that decides a property, and how many others come to the same."""
    others = report.others(result)
    if result.verdict is Verdict.VACUOUS:
        return ""
    if result.verdict is Verdict.HOLDS:
        return counted(len(others) + 1, "exam")
    return f"{run.label} (and {len(others)} more)" if others else run.label


def mended(report: Examined, name: str) -> str | None:
    """The choices of mechanisms of which each mends a violation; None where none is known."""
    return ", or ".join(map(choice, report.mends.get(name, ()))) or None


def choice(chosen: Choice) -> str:
    """Some mechanisms with values: finish-latch: true and release: quiescent."""
    return " and ".join(f"{name}: {written(value)}" for name, value in chosen.items())


def summary(report: Examined) -> str:
    """How many exams there were, and what became of the properties, in a line."""
    verdicts = [result.verdict for _, result in report.judged]
    counts: Sequence[tuple[Verdict, str]] = (
        (Verdict.VIOLATED, "violated"),
        (Verdict.HOLDS, "hold" if verdicts.count(Verdict.HOLDS) != 1 else "holds"),
        (Verdict.VACUOUS, "untested"),
        (Verdict.INCONCLUSIVE, "undecided"),
    )
    told = [f"{verdicts.count(kind)} {word}" for kind, word in counts if kind in verdicts]
    return f"{counted(len(report.runs), 'exam')}: {', '.join(told)}"


def left_out(report: Examined) -> str | None:
    """What the stack was not asked, because its file says nothing of it."""
    if not report.unsaid:
        return None
    return f"left out, as the stack's file says nothing of it: {', '.join(sorted(report.unsaid))}"


def as_data(report: Examined, run: Run, result: Result) -> dict[str, Any]:
    """What JSON says of a property beyond its result: where it was decided, and what mends it."""
    data: dict[str, Any] = {"exam": run.label, "exams": sorted([run.label, *report.others(result)])}
    if result.prop.name in report.mends:
        data["mended_by"] = [dict(one) for one in report.mends[result.prop.name]]
    return data
