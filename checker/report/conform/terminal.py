"""For a person: the verdict in a line, what is wrong, what was measured, what it all rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from attrs import frozen
from rich.console import Console
from rich.text import Text

from rackproof.checker.conform.conformity import Conformity
from rackproof.checker.conform.tally import Group, status_of
from rackproof.checker.report.conform.words import (
    alike,
    brief,
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
"""Kinds of findings, and lines of a list, unless all are asked for."""
STEP: Final = 44
"""The least width of a step, behind which stands what was recorded of it."""
COLOURS: Final = {Status.VIOLATED: "red", Status.INCONCLUSIVE: "yellow", Status.OK: ""}


@frozen
class Terminal:
    """Prints captures; verbosity -1 is quiet, 0 plain, 1 tells all, with the runs behind it."""

    out: Console
    verbosity: int = 0

    def show(self, found: Conformity) -> None:
        """Print one capture."""
        page = _Page(self.out, self.verbosity > 0, found)
        page.verdict()
        if self.verbosity < 0:
            page.briefly()
        else:
            page.went()
            page.findings()
            page.runs()
            page.errors()
            page.stalls()
            page.footing()
            self.out.print()

    def summary(self, captures: Sequence[Conformity]) -> None:
        """Print how many captures there are of each kind, where there are several."""
        if len(captures) > 1:
            counts = Counter(MARKS[found.status][0] for found in captures)
            told = ", ".join(f"{count} {mark}" for mark, count in sorted(counts.items()))
            self.out.print(f"{counted(len(captures), 'capture')}: {told}", soft_wrap=True)


@frozen
class _Page:
    """What is printed of one capture; files are told as seen from its folder. every: all of it."""

    out: Console
    every: bool
    found: Conformity

    def verdict(self) -> None:
        """The first line; or why nothing could be told."""
        found = self.found
        mark, colour = MARKS[found.status]
        told = Text(f"{mark:<6} ", colour)
        said = verdict(found.tally, found.noun, found.failure is not None)
        told.append(f"{visible(found.label)}: {said}", "bold")
        self.out.print(told, soft_wrap=True)
        if found.failure is not None:
            for line in filter(None, (found.failure.traceback, *found.failure.lines)):
                self.out.print(line, soft_wrap=True)

    def briefly(self) -> None:
        """A line for each kind of finding, with its file and line first."""
        for group in self.found.tally.findings():
            more = f" (and {group.count - 1:,} more like it)" if group.count > 1 else ""
            self._tell(f"  {brief(group.first, self.found.noun)}{more}")

    def went(self) -> None:
        """What became of each case that did not go plainly well."""
        tally = self.found.tally
        heading = f"In short, each {self.found.noun} that did not go plainly well:"
        self._list(heading, tally.went, tally.gone.total(), before=True)

    def runs(self) -> None:
        """The runs that explain what was accepted, where all is asked for."""
        for lines in self.found.runs:
            self.out.print()
            for line in lines:
                self._tell(line)

    def findings(self) -> None:
        """Each kind of finding, by one case."""
        groups = list(self.found.tally.findings())
        shown = groups if self.every else groups[:MOST_SHOWN]
        for group in shown:
            self.out.print()
            self._group(group)
        self._more(len(groups) - len(shown), "kind of finding")
        unkept = self.found.tally.unkept.total()
        if unkept:
            self._tell(f"and {counted(unkept, 'case')} of other kinds, which were only counted")

    def _group(self, group: Group) -> None:
        first, known = group.first, self.found.tally.known
        self._tell(title(first, self.found.noun), COLOURS[status_of(first, known)])
        for part in finding(first, known, self.every):
            self._tell(f"  {part.heading}")
            for line in part.lines:
                self._tell(f"    {line}")
        if self.every and first.trace.steps:
            before = "what comes before" if first.rejection else "the record"
            self._tell(f"  the run of the model that explains {before}:")
            for step, written in steps(first):
                for left, right in zip((step, *[""] * len(written)), written, strict=False):
                    self._tell(f"    {left:<{STEP}}  | {right}")
        if more := alike(group, self.every):
            self._tell(f"  {more}")

    def errors(self) -> None:
        """The errors of the logs, a line each."""
        told = (error(*one, self.found.noun) for one in self.found.tally.errors.items())
        self._list("Errors of the logs (they decide nothing):", list(told), before=True)

    def stalls(self) -> None:
        """What was measured."""
        if self.found.stalls is not None:
            from rackproof.checker.report.conform.stalls import in_lines  # noqa: PLC0415

            for line in in_lines(self.found.stalls, self.out.width, self.every):
                self.out.print(line, soft_wrap=True)

    def footing(self) -> None:
        """What it rests on, and how it is seen again."""
        found, tally = self.found, self.found.tally
        self.out.print()
        self._tell(f"Held against: {found.against}")
        self._list("Checked:", found.checked)
        assumed = [
            f"{what} ({counted(n, found.noun)})" for what, n in sorted(tally.assumed.items())
        ]
        self._list("Assumed, as no log tells of it:", assumed)
        self._list("Not checked:", found.unchecked)
        doubts = [f"{place}: {words}" for place, words in found.doubts.first]
        self._list("Passed over, as it could not be read:", doubts, found.doubts.count)
        if found.offers_changes:
            self._tell(
                "Next: --explain-changes tries which mechanism, set otherwise, would explain it"
            )
        self.out.print(f"To see it again: {found.again}", soft_wrap=True)

    def _list(
        self, heading: str, lines: Sequence[str], count: int = 0, before: bool = False
    ) -> None:
        if not lines:
            return
        if before:
            self.out.print()
        shown = lines if self.every else lines[:MOST_SHOWN]
        self._tell(heading)
        for line in shown:
            self._tell(f"  {line}")
        self._more(max(count, len(lines)) - len(shown), "line", "  ")

    def _more(self, number: int, what: str, indent: str = "") -> None:
        if number > 0:
            self._tell(f"{indent}and {counted(number, what)} more{'' if self.every else ' (-v)'}")

    def _tell(self, line: str, style: str = "") -> None:
        text = visible(line.replace(f"{self.found.label.rstrip('/')}/", ""))
        self.out.print(Text(text, style), soft_wrap=True)
