"""What was checked, one by one, and what is wrong with it: all that a build system is told.

Everything but success is an error here, also what was not put to the test and what was left open: a
build must not be green because a check was skipped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Final

from attrs import frozen

from rackproof.checker.exams import Examined
from rackproof.checker.explain import asked
from rackproof.checker.report.counterexample import counterexample
from rackproof.checker.status import Status
from rackproof.checker.targets import Target
from rackproof.checker.verdicts import Result, Verdict
from rackproof.checker.verify import Failure, Report, Run
from rackproof.scenarios.stacks import stack_file

ROOTS: Final = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Where the files of a project are, in the environment of a build."""
NOT_DONE: Final = "not verified: interrupted before its turn or its end"
_LINE: Final = re.compile(r":(\d{1,9}): ")


@frozen
class Spot:
    """Where in a file something is said; column 0: the line as a whole."""

    file: Path
    line: int = 1
    column: int = 0

    @property
    def path(self) -> str:
        """The file as seen from the root of the project; of one that is not in it, all of it."""
        file = Path(os.path.abspath(self.file))  # noqa: PTH100 - a link stays what it is
        for root in (os.environ.get(name) for name in ROOTS):
            if root and file.is_relative_to(root):
                return file.relative_to(root).as_posix()
        inside = file.is_relative_to(Path.cwd())
        return (file.relative_to(Path.cwd()) if inside else file).as_posix()


@frozen(slots=False)
class Check:
    """One thing that was checked.

    name: of the property, or what else it is. label: of the case, where it is one of a case. kind:
    the verdict; for what is no property: vacuous, replay, bad-input, our-fault, interrupted. wrong:
    what is not as it should be; None where all is well. is_open: whether nothing is known, rather
    than something wrong.
    """

    report: Report
    name: str
    kind: str
    spot: Spot | None
    wrong: str | None = None
    is_open: bool = False
    label: str | None = None
    run: Run | None = None
    result: Result | None = None
    traceback: str | None = None

    @property
    def title(self) -> str:
        """The check in a few words: what, and in which case."""
        return f"{self.name}, {self.label}" if self.label else self.name

    @property
    def message(self) -> str:
        """What is wrong; of a violation also what came of it, where the property says that."""
        wrong, result = self.wrong or "", self.result
        broken = result.trace.broken(result.prop) if result and result.trace else ()
        return f"{wrong}: {' '.join(broken)}" if wrong and broken else wrong

    @property
    def reproduce(self) -> str:
        """The command that shows it again."""
        if self.kind == "replay":
            return asked.line("replay", self.report.target)
        return asked.again(self.report, self.run)

    @cached_property
    def details(self) -> list[str]:
        """What there is to say beside what is wrong: the counterexample or what the property says;
        last, the command that shows it again.
        """
        if self.result is not None and self.result.trace is not None:
            return counterexample(self.report, self.result, self.reproduce)
        told = [] if self.result is None else [f"  {self.result.prop.statement}"]
        return [*told, *filter(None, [self.traceback]), f"  To see it again: {self.reproduce}"]


def checks(reports: Iterable[Report]) -> list[Check]:
    """All that was checked, target by target."""
    return [check for report in reports for check in _checks(report)]


def not_done(target: Target) -> Report:
    """The report on a target that an interrupt left out."""
    return Report(target.label, target.file, failure=Failure((NOT_DONE,), Status.INTERRUPTED))


def _checks(report: Report) -> Iterator[Check]:
    for run, result in report.judged:
        if not result.is_absent:
            yield _property(report, run, result)
    for label in report.untested:
        told = "no property was put to the test"
        yield Check(
            report,
            "nothing was tested",
            "vacuous",
            _top(report),
            told,
            True,
            label=_case(report, label),
        )
    if report.replayed is not None:
        found = [_told(report, line) for line in report.replayed.complaints]
        spots = [spot for spot, _ in found]
        told = "\n".join(line for _, line in found)
        yield Check(report, "steps", "replay", next(iter(spots), _top(report)), told or None)
    if report.failure is not None:
        yield from _failed(report, report.failure)


def _property(report: Report, run: Run, result: Result) -> Check:
    """The check of a property: what counts and was not put to the test is as bad as a complaint."""
    verdict = result.verdict
    vacuous = f"vacuous: {result.reason}" if verdict is Verdict.VACUOUS else None
    undecided = result.status is Status.INCONCLUSIVE
    wrong = result.complaint or vacuous
    return Check(
        report,
        result.prop.name,
        "inconclusive" if undecided else verdict.value,
        _said(report, run, result),
        wrong,
        wrong is not None and (undecided or verdict is Verdict.VACUOUS),
        _case(report, run.label),
        run,
        result,
    )


def _case(report: Report, label: str) -> str | None:
    """What a case is called; None for the only one that a scenario has."""
    return label if len(report.runs) > 1 or isinstance(report, Examined) else None


def _failed(report: Report, failure: Failure) -> Iterator[Check]:
    """A check for each line on why a target could not be verified."""
    kind = failure.status.name.lower().replace("_", "-")
    for number, line in enumerate(failure.lines):
        spot, told = _told(report, line)
        if failure.problems and spot is not None and line.startswith(f"{spot.file}:"):
            problem = failure.problems[number]
            spot = Spot(spot.file, problem.line or 1, problem.column)
        yield Check(
            report, "cannot be verified", kind, spot, told, True, traceback=failure.traceback
        )


def _top(report: Report) -> Spot | None:
    """The file that a target is, or that it is made from, from its first line on."""
    file = report.file
    if file is None and report.scenario is not None:
        setting = report.scenario.case.setting
        file = setting.file or stack_file(report.target.removeprefix("stack:"))
    return None if file is None else Spot(file)


def _said(report: Report, run: Run, result: Result) -> Spot | None:
    """Where a property is expected to have a verdict; else, in one's own world, where it is."""
    top, expected = _top(report), result.expected
    if top is not None and expected is not None and expected.line:
        return Spot(top.file, expected.line, expected.column)
    if report.file is None and run.case.setting.file is not None:
        return defined(run, result.prop.where)
    return top


def defined(run: Run, where: str) -> Spot | None:
    """Where a function of a world of one's own is, by the name of its file as it was given."""
    name, line = where.rsplit(":", 1)
    file = run.case.setting.file
    if file is None or not Path(name).is_file():
        return None
    return Spot(file if Path(name) == file.resolve() else Path(name), int(line))


def _told(report: Report, line: str) -> tuple[Spot | None, str]:
    """A line of a report that begins with a file, and perhaps a line in it, apart from the rest."""
    top = _top(report)
    files = [report.file, report.scenario.path if report.scenario else None]
    files += [top.file if top else None]
    target, colon, _ = report.target.rpartition(":")
    files += [Path(target)] if colon and target.endswith(".py") else []
    for file in files:
        if file is not None and line.startswith(f"{file}:"):
            rest = line.removeprefix(str(file))
            found = _LINE.match(rest)
            number = max(int(found[1]), 1) if found else 1
            return Spot(file, number), rest[found.end() if found else 1 :].strip()
    return top, line
