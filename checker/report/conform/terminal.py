"""For a person: the verdict in a line, what is wrong, what was measured, what it all rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from attrs import frozen
from rich.console import Console
from rich.text import Text

from rackproof.checker.conform.conformity import Conformity
from rackproof.checker.conform.outcome import Answer
from rackproof.checker.conform.tally import Group, status_of
from rackproof.checker.report.conform.words import (
    Part,
    alike,
    error,
    finding,
    steps,
    title,
    verdict,
)
from rackproof.checker.report.escaping import visible
from rackproof.checker.report.style import MARKS
from rackproof.checker.status import Status
from rackproof.checker.verdicts import counted

MOST_SHOWN: Final = 5
"""Kinds of findings, doubts and errors that are shown unless all are asked for."""
MARGIN: Final = 44
"""The least width of a step, behind which stands what was recorded of it."""


@frozen
class Terminal:
    """Prints captures; verbosity -1 is quiet, 0 plain, 1 tells all, with the runs behind it.

    changes: whether all changes of mechanisms are told that would explain a record.
    """

    out: Console
    verbosity: int = 0
    changes: bool = False

    def show(self, found: Conformity) -> None:
        """Print one capture."""
        self._line(self._verdict(found))
        if found.failure is not None:
            for line in (found.failure.traceback, *found.failure.lines):
                self._line(line or "")
        if self.verbosity < 0:
            return
        groups = list(found.tally.findings())
        shown = groups if self.verbosity > 0 else groups[:MOST_SHOWN]
        for group in shown:
            self._group(group, found)
        self._left(len(groups) - len(shown), "kind of finding", found.tally.unkept.total())
        self._errors(found)
        self._stalls(found)
        self._footing(found)
        self.out.print()

    def summary(self, captures: Sequence[Conformity]) -> None:
        """Print how many captures there are of each kind, where there are several."""
        if len(captures) < 2:
            return
        counts = Counter(MARKS[found.status][0] for found in captures)
        told = ", ".join(f"{count} {mark}" for mark, count in sorted(counts.items()))
        self._line(f"{counted(len(captures), 'capture')}: {told}")

    def _verdict(self, found: Conformity) -> Text:
        mark, colour = MARKS[found.status]
        told = Text(f"{mark:<6} ", colour)
        told.append(f"{visible(found.label)}: {visible(verdict(found.tally, found.noun))}", "bold")
        return told

    def _group(self, group: Group, found: Conformity) -> None:
        known, first = found.tally.known, group.first
        self.out.print()
        colour = {Status.VIOLATED: "red", Status.INCONCLUSIVE: "yellow"}.get(
            status_of(first, known), ""
        )
        self._line(Text(visible(title(first, found.noun)), colour))
        for part in finding(first, known, self.verbosity > 0, self.changes):
            self._part(part)
        if self.verbosity > 0 or (first.answer is Answer.REJECTED and not first.trace.steps):
            self._steps(group)
        more = alike(group, self.verbosity > 0)
        if more:
            self._line(f"  {visible(more)}")

    def _part(self, part: Part) -> None:
        self._line(f"  {visible(part.heading)}")
        for line in part.lines:
            self._line(f"    {visible(line)}")

    def _steps(self, group: Group) -> None:
        if not group.first.trace.steps:
            return
        rejected = group.first.answer is Answer.REJECTED
        what = "what came before it" if rejected else "the record"
        self._line(f"  the run of the model that explains {what}:")
        for step, written in steps(group.first):
            first, *rest = map(visible, written)
            self._line(f"    {visible(step):<{MARGIN}}  | {first}")
            for line in rest:
                self._line(f"    {'':<{MARGIN}}  | {line}")

    def _errors(self, found: Conformity) -> None:
        errors = found.tally.errors
        if not errors:
            return
        self.out.print()
        self._line("Errors of the logs, which decide nothing:")
        for key, one in errors.items():
            self._line(f"  {visible(error(key, one, found.noun))}")

    def _stalls(self, found: Conformity) -> None:
        if found.stalls is None:
            return
        from rackproof.checker.performance.answers import Answer as Tables  # noqa: PLC0415
        from rackproof.checker.performance.tables import show  # noqa: PLC0415

        show(Tables("stalls", (found.stalls,)), self.out)

    def _footing(self, found: Conformity) -> None:
        self.out.print()
        tally = found.tally
        self._line(f"Held against: {found.against}")
        self._list("Checked:", found.checked)
        for heading, counts in (
            ("Assumed, as no log tells of it:", tally.assumed),
            ("Missing:", tally.missing),
        ):
            told = [f"{what} ({counted(n, found.noun)})" for what, n in sorted(counts.items())]
            self._list(heading, told)
        self._list("Not checked:", found.unchecked)
        doubts = [f"{place}: {words}" for place, words in found.doubts.first]
        self._list("Passed over, as it could not be read:", doubts, found.doubts.count)
        self._line(f"To see it again: {found.again}")

    def _list(self, heading: str, lines: Sequence[str], count: int | None = None) -> None:
        if not lines:
            return
        shown = lines if self.verbosity > 0 else lines[:MOST_SHOWN]
        self._line(heading)
        for line in shown:
            self._line(f"  {visible(line)}")
        self._left((len(lines) if count is None else count) - len(shown), "more", 0)

    def _left(self, number: int, what: str, unkept: int) -> None:
        if number > 0 and what == "more":
            self._line(f"  and {number:,} more{'' if self.verbosity > 0 else ' (-v)'}")
        elif number > 0:
            self._line(f"\nand {counted(number, what)} more (-v)")
        if unkept:
            self._line(f"\nand {counted(unkept, 'case')} of other kinds, which were only counted")

    def _line(self, line: str | Text) -> None:
        if line:
            self.out.print(line, soft_wrap=True)
