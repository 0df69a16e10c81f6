"""The counterexamples of a report: each explained, on a page of its own, with its other forms."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs
from attrs import define, field, frozen

from rackproof.checker.exams import Examined
from rackproof.checker.explain import Explanation, asked, explain
from rackproof.checker.explain.bound import Bound
from rackproof.checker.report.forms import FORMS
from rackproof.checker.report.page import page
from rackproof.checker.report.progress import Ticker
from rackproof.checker.report.review.folder import RUNS, Folder, called
from rackproof.checker.report.stack import mended
from rackproof.checker.report.titles import title
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import AS_REPORTED, Report, Run
from rackproof.scenarios.worlds import InputError

OTHERS: Final = tuple(form for form in FORMS.values() if form.name != "html")
"""The forms beside the page itself."""

SUFFIXES: Final = (".html", *(form.suffix for form in OTHERS))


@frozen
class Violation:
    """A result with its run explained; stem: what its files are called. forms: its other forms, by
    their names; a run that is none for a form is not in it.
    """

    report: Report
    run: Run
    result: Result
    stem: str
    explanation: Explanation
    forms: Mapping[str, str]

    @property
    def page(self) -> str:
        """Where its page is, from the index."""
        return f"{RUNS}/{self.stem}.html"

    @property
    def files(self) -> dict[str, str]:
        """What the files of its other forms are called, by the forms' names."""
        return {name: f"{self.stem}{FORMS[name].suffix}" for name in self.forms}

    @property
    def where(self) -> str:
        """In which of several cases, where that is to be told."""
        if isinstance(self.report, Examined):
            return f"exam {self.run.label}"
        return "" if self.run.label == AS_REPORTED else self.run.label

    @property
    def is_unexpected(self) -> bool:
        """Whether nobody expected it so."""
        return self.result.complaint is not None

    @property
    def mends(self) -> list[str]:
        """What stops it, as far as that was found out."""
        told = [" and ".join(mend.changes) for mend in self.explanation.mends]
        if not told and isinstance(self.report, Examined):
            told = [mended(self.report, self.result.prop.name) or ""]
        return [line for line in told if line]

    @property
    def pivot(self) -> str | None:
        """The step at which it was decided, in words, where that is not the last."""
        pivot, steps = self.explanation.pivot, self.explanation.trace.steps
        if pivot is None or pivot.number == len(steps):
            return None
        step = steps[pivot.number - 1]
        return f"step {pivot.number}: {step.words}"


@define
class Explaining:
    """The violations that count, the gravest first: those that are explained, those that are not.

    deep: of how many what would have saved them is looked for; None: of all. seconds: for that, of
    each.
    """

    pending: list[tuple[Report, Run, Result]]
    deep: int | None
    seconds: float
    told: list[Violation] = field(factory=list)

    @classmethod
    def of(cls, reports: Iterable[Report], deep: int | None, seconds: float) -> Explaining:
        """Every violation of some reports, none explained yet."""
        found = [
            (report, run, result)
            for report in reports
            for run, result in report.judged
            if result.trace is not None and report.scenario is not None
        ]
        return cls(sorted(found, key=lambda one: _gravity(one[2])), deep, seconds)

    def work(self, folder: Folder, ticker: Ticker) -> None:
        """Explain them one by one; what is told stays where an interrupt ends it."""
        of = len(self.pending)
        while self.pending:
            report, run, result = self.pending[0]
            ticker.says(f"explaining {result.prop.name}, {len(self.told) + 1:,} of {of:,}")
            bound = Bound(self.seconds) if self._is_deep else None
            self.told.append(_violation(report, run, result, folder, bound))
            del self.pending[0]

    @property
    def _is_deep(self) -> bool:
        return self.deep is None or len(self.told) < self.deep


def _gravity(result: Result) -> tuple[bool, int, int]:
    """What nobody expected comes first, then what takes few faults and few steps."""
    assert result.trace is not None, "it is a violation"
    return result.complaint is None, result.trace.faults, len(result.trace.steps)


def _violation(
    report: Report, run: Run, result: Result, folder: Folder, bound: Bound | None
) -> Violation:
    """bound: within which to look for what would have saved it; None: not at all."""
    stem = folder.stem(called(report, run, result.prop.name), RUNS, SUFFIXES)
    again = asked.again(report, run)
    told = explain(report, run, result, again, deep=bound is not None, bound=bound)
    told = attrs.evolve(told, title=title(report, run, result), folder=folder.path / RUNS)
    return Violation(report, run, result, stem, told, dict(_forms(told)))


def _forms(explanation: Explanation) -> Iterator[tuple[str, str]]:
    for form in OTHERS:
        with contextlib.suppress(InputError):
            yield form.name, form.write(explanation)


def pages(violation: Violation, back: Mapping[str, str]) -> dict[str, str]:
    """The files of a violation by their names: its page, and its run in every other form.

    back: the pages of the report by what they are called, from the index.
    """
    links = {name: f"../{address}" for name, address in back.items()} | violation.files
    files = {violation.files[name]: text for name, text in violation.forms.items()}
    files[f"{violation.stem}.html"] = page(violation.explanation, links)
    return {f"{RUNS}/{file}": text for file, text in files.items()}
