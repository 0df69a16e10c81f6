"""The matrix of verdicts: a row a case, a column a property that any of them has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.exams import Examined
from rackproof.checker.report.style import MARKS
from rackproof.checker.status import Status
from rackproof.checker.verdicts import Result, Verdict, counted
from rackproof.checker.verify import Report, Run
from rackproof.model.kernel import Property

SIGNS: Final = {
    Verdict.VIOLATED: ("✕", "violated", "bad"),
    Verdict.PROVED: ("◆", "proved", "good"),
    Verdict.HOLDS: ("✓", "holds", "good"),
    Verdict.VACUOUS: ("○", "untested", "warn"),
    Verdict.INCONCLUSIVE: ("?", "open", "warn"),
}
"""Of each verdict a sign, a word and a colour."""
MEANINGS: Final = {
    "violated": "by a run that is shown",
    "proved": "for runs of any length",
    "holds": "in every state of the scope",
    "untested": "nothing put it to the test",
    "open": "the search ended too early to tell",
}

Linked = Callable[[Result], str | None]


@frozen
class Cell:
    """A verdict: sign, word and colour; size: of its run; more: why it is so. wrong: not as it
    should be.
    """

    sign: str
    word: str
    colour: str
    size: str
    more: str
    wrong: bool
    link: str | None


@frozen
class Row:
    """A case: its target, which of several it is, how it went; None where it has no such property.

    anchor: where the rest of it is told. follows: whether the row before is of the same target.
    """

    name: str
    case: str
    mark: str
    fine: bool
    anchor: str
    follows: bool
    cells: tuple[Cell | None, ...]


@frozen
class Matrix:
    """Rows and columns."""

    columns: tuple[Property, ...]
    rows: tuple[Row, ...]


def matrix(reports: Sequence[Report], names: Sequence[str], linked: Linked) -> Matrix:
    """names: of the targets, in the same order; linked: the page of a result."""
    columns = tuple(_columns(reports))
    rows = [
        _row(report, run, name, f"target-{number}", columns, linked, len(reports) > 1)
        for number, (report, name) in enumerate(zip(reports, names, strict=True), 1)
        for run in report.runs
    ]
    return Matrix(columns, tuple(rows))


def results(report: Report, run: Run) -> Iterator[Result]:
    """The results of a case that are told: those that count, of an exam all it put to the test."""
    for result in run.results:
        if (result.judged or isinstance(report, Examined)) and not result.is_absent:
            yield result


def _columns(reports: Iterable[Report]) -> Iterator[Property]:
    """The properties of any row, those that are violated in most rows first."""
    every: dict[str, Property] = {}
    violated: dict[str, int] = {}
    for report in reports:
        for run in report.runs:
            for result in results(report, run):
                name = result.prop.name
                every.setdefault(name, result.prop)
                here = result.verdict is Verdict.VIOLATED
                violated[name] = violated.get(name, 0) + here
    yield from sorted(every.values(), key=lambda prop: -violated[prop.name])


def _row(
    report: Report,
    run: Run,
    name: str,
    anchor: str,
    columns: Sequence[Property],
    linked: Linked,
    many: bool,
) -> Row:
    found = {result.prop.name: result for result in results(report, run)}
    here = (found.get(prop.name) for prop in columns)
    cells = tuple(None if result is None else cell(result, linked) for result in here)
    if isinstance(report, Examined):
        return Row(run.label, f"exam of {name}" if many else "", "", True, anchor, False, cells)
    case = run.label if len(report.runs) > 1 else ""
    mark, fine = MARKS[run.status][0], run.status is Status.OK
    return Row(name, case, mark, fine, anchor, run is not report.runs[0], cells)


def cell(result: Result, linked: Linked) -> Cell:
    """A result, short."""
    sign, word, colour = SIGNS[result.verdict]
    wrong = result.complaint is not None
    return Cell(sign, word, colour, _size(result), result.reason or "", wrong, linked(result))


def _size(result: Result) -> str:
    trace = result.trace
    return (
        "" if trace is None else f"{counted(trace.faults, 'fault')}, {counted(trace.lead, 'step')}"
    )
