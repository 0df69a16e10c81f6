"""The counterexamples of a report: each explained, on a page of its own, with its other forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from rackproof.checker.exams import Examined
from rackproof.checker.explain import Explanation, explain
from rackproof.checker.report.review.folder import RUNS, Folder
from rackproof.checker.report.stack import mended
from rackproof.checker.saving import as_yaml
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import AS_REPORTED, Report, Run


@frozen
class Violation:
    """A result with its run explained; stem: what its files are called. files: its other forms, by
    what they are in words, each with its name and its text.
    """

    report: Report
    run: Run
    result: Result
    stem: str
    explanation: Explanation
    files: Mapping[str, tuple[str, str]]

    @property
    def page(self) -> str:
        """Where its page is, from the index."""
        return f"{RUNS}/{self.stem}.html"

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
        if isinstance(self.report, Examined):
            told = mended(self.report, self.result.prop.name)
            return [told] if told else []
        return [" and ".join(mend.changes) for mend in self.explanation.mends]


def violations(reports: Iterable[Report], folder: Folder) -> list[Violation]:
    """Every violation that counts, explained; the gravest first."""
    found = [
        _violation(report, run, result, folder)
        for report in reports
        for run, result in report.judged
        if result.trace is not None and report.scenario is not None
    ]
    return sorted(found, key=_gravity)


def _gravity(violation: Violation) -> tuple[bool, int, int]:
    """What nobody expected comes first, then what takes few faults and few steps."""
    trace = violation.explanation.trace
    return not violation.is_unexpected, trace.faults, len(trace.steps)


def _violation(report: Report, run: Run, result: Result, folder: Folder) -> Violation:
    target = report.file.stem if report.file else report.target
    label = "" if run.label == AS_REPORTED else run.label
    stem = folder.stem(f"{target} {result.prop.name} {label}")
    explanation = explain(report, run, result, f"rackproof verify {report.target}")
    files = dict(_forms(report, run, result, stem, folder))
    return Violation(report, run, result, stem, explanation, files)


def _forms(
    report: Report, run: Run, result: Result, stem: str, folder: Folder
) -> Iterator[tuple[str, tuple[str, str]]]:
    assert report.scenario is not None, "it was loaded"
    text = as_yaml(report.scenario, run, result, folder.path / RUNS)
    yield "a scenario that replays it", (f"{stem}.yaml", text)


def found_at(several: Sequence[Violation]) -> dict[int, Violation]:
    """The violations by the identity of their results."""
    return {id(one.result): one for one in several}
