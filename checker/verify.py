"""Verifying a target: load it, explore it, judge it. What goes wrong is part of the report."""

from __future__ import annotations

import contextlib
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import field, frozen

from rackproof.checker.coverage import Coverage, coverage
from rackproof.checker.engines import Options, explore
from rackproof.checker.replay import Replayed, replay
from rackproof.checker.search import Limits
from rackproof.checker.searched import Progress
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Findings, Result, Verdict, results
from rackproof.model.kernel import ModelError, System
from rackproof.scenarios.changes import SET
from rackproof.scenarios.errors import Problem, ScenarioError
from rackproof.scenarios.schema import Case, Scenario, Setting
from rackproof.scenarios.worlds import InputError, theirs

if TYPE_CHECKING:
    from rackproof.checker.repair.diagnosis import Diagnosis

AS_REPORTED, WITH_FIX = "as reported", "with the fix"


@frozen
class Run:
    """One case of a scenario, explored and judged."""

    label: str
    case: Case
    findings: Findings
    results: tuple[Result, ...]
    coverage: Coverage | None = None

    @property
    def complaints(self) -> list[str]:
        """What is not as it should be, one line each."""
        names: dict[str, list[str]] = {}
        for result in self.results:
            if result.complaint:
                names.setdefault(result.complaint, []).append(result.prop.name)
        found = [f"{', '.join(those)}: {complaint}" for complaint, those in names.items()]
        return found or (["no property was put to the test"] if self.is_vacuous else [])

    @property
    def is_vacuous(self) -> bool:
        """Whether nothing was expected by name and nothing was really tested either."""
        return not self.case.expect and all(r.verdict is Verdict.VACUOUS for r in self.results)

    @property
    def status(self) -> Status:
        """The status that this run asks for."""
        own = Status.VIOLATED if self.is_vacuous else Status.OK
        return worst([own, *(result.status for result in self.results)])


@frozen
class Failure:
    """Why a target could not be verified: the user's mistake, or ours with its traceback.

    problems: the mistakes in a scenario behind the lines, one each, where it is those.
    """

    lines: tuple[str, ...]
    status: Status
    traceback: str | None = None
    problems: tuple[Problem, ...] = ()


@frozen
class Report:
    """All there is to say of one target. diagnosis: what mends and what is needed, if asked for;
    note: why there is none. options: how it was asked for.
    """

    target: str
    file: Path | None
    scenario: Scenario | None = None
    runs: tuple[Run, ...] = ()
    replayed: Replayed | None = None
    failure: Failure | None = None
    seconds: float = 0.0
    diagnosis: Diagnosis | None = None
    note: str | None = None
    options: Options = field(factory=Options)

    @property
    def world(self) -> str:
        """The target, with what is set otherwise than it is written."""
        return SET.join([self.target, *map(str, self.options.changes)])

    @property
    def name(self) -> str:
        """What the scenario is called."""
        return self.scenario.name if self.scenario else self.target

    @property
    def status(self) -> Status:
        """The gravest of all that was found."""
        parts = [run.status for run in self.runs]
        if self.replayed is not None and self.replayed.complaints:
            parts.append(Status.VIOLATED)
        if self.failure is not None:
            parts.append(self.failure.status)
        return worst(parts)

    @property
    def judged(self) -> list[tuple[Run, Result]]:
        """The results that count, each with its run."""
        return [(run, result) for run in self.runs for result in run.results if result.judged]

    @property
    def untested(self) -> list[str]:
        """The runs in which nothing was put to the test."""
        return [run.label for run in self.runs if run.is_vacuous]

    @property
    def complaints(self) -> list[str]:
        """What is not as it should be, one line each."""
        found = list(self.failure.lines) if self.failure else []
        for run in self.runs:
            prefix = "with the fix, " if run.label == WITH_FIX else ""
            found += [prefix + line for line in run.complaints]
        return found + (list(self.replayed.complaints) if self.replayed else [])


def verify(target: Target, options: Options, progress: Progress | None = None) -> Report:
    """Verify one target; only an interrupt gets out."""
    started = time.monotonic()
    report = Report(target.label, target.file, options=options)
    try:
        scenario = target.load()
        report = attrs.evolve(report, scenario=scenario)
        for label, case in _cases(scenario):
            run = explored(label, case, options, progress)
            report = attrs.evolve(report, runs=(*report.runs, run))
        if scenario.steps is not None:
            report = attrs.evolve(report, replayed=replay(scenario))
        report = _drawable(report, scenario)
    except (Exception, SystemExit) as error:
        report = attrs.evolve(report, failure=failure(error, report.scenario))
    return attrs.evolve(report, seconds=time.monotonic() - started)


def _drawable(report: Report, scenario: Scenario) -> Report:
    """A report whose runs can be told: without the picture of a world of one's own, and with what
    is wrong with that, where it cannot be drawn.
    """
    from rackproof.checker.explain.drawn import try_out  # noqa: PLC0415

    if _own_file(scenario) is None:
        return report
    try:
        for trace in _traces(report):
            try_out(trace)
    except (Exception, SystemExit) as error:
        return attrs.evolve(_undrawn(report), failure=failure(error, scenario))
    return report


def _traces(report: Report) -> Iterator[Trace]:
    found = [result.trace for run in report.runs for result in run.results]
    yield from (trace for trace in found if trace is not None)
    if report.replayed is not None:
        yield report.replayed.trace


def _undrawn(report: Report) -> Report:
    """A report of the same world without a picture."""
    runs = tuple(
        attrs.evolve(
            run,
            results=tuple(
                attrs.evolve(result, trace=result.trace and result.trace.undrawn)
                for result in run.results
            ),
        )
        for run in report.runs
    )
    replayed = report.replayed
    if replayed is not None:
        replayed = attrs.evolve(replayed, trace=replayed.trace.undrawn)
    return attrs.evolve(report, runs=runs, replayed=replayed)


def failure(error: BaseException, scenario: Scenario | None) -> Failure:
    """Whose mistake an exception is, and how to tell it."""
    if isinstance(error, ScenarioError):
        lines = tuple(problem.at(error.path) for problem in error.problems)
        return Failure(lines, Status.BAD_INPUT, problems=error.problems)
    if isinstance(error, InputError):
        return Failure((str(error),), Status.BAD_INPUT)
    file = _own_file(scenario)
    if file is not None and (isinstance(error, ModelError) or _passes_through(error, file)):
        return Failure((theirs(error, file),), Status.BAD_INPUT)
    whole = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Failure((f"a fault of rackproof itself: {what}",), Status.OUR_FAULT, whole)


def mistake(error: Exception | SystemExit, scenario: Scenario | None) -> Failure:
    """The user's mistake behind an exception; where there is none, it is raised on: it is ours."""
    found = failure(error, scenario)
    if found.status is not Status.BAD_INPUT:
        raise error
    return found


def _own_file(scenario: Scenario | None) -> Path | None:
    """The Python file of a user's own world."""
    return scenario.case.setting.file if scenario is not None else None


def _passes_through(error: BaseException, file: Path) -> bool:
    own = str(file.resolve())
    return any(frame.filename == own for frame in traceback.extract_tb(error.__traceback__))


def _cases(scenario: Scenario) -> list[tuple[str, Case]]:
    cases = [(AS_REPORTED, scenario.case)]
    return [*cases, (WITH_FIX, scenario.fix)] if scenario.fix else cases


def explored(label: str, case: Case, options: Options, progress: Progress | None) -> Run:
    """Explore a case and judge it."""
    system = case.setting.system
    own = case.setting.file is not None
    options = attrs.evolve(options, compare=own)
    _check_open(system, options)
    with contextlib.redirect_stdout(sys.stderr):  # what a model prints is no report
        findings = explore(system, sought(case), options, progress, case.expect or None)
        if findings.sampled is not None:
            findings = _with_impossible(case.setting, findings)
        if options.racks:
            findings = _in_every_rack(findings, case, options)
    never = silent(case.setting, findings)
    dead = [name for name in never if case.setting.faults[name] <= {*findings.impossible}]
    judged = results(system, findings, case.expect, never, dead)
    return Run(label, case, findings, judged, coverage(system) if options.coverage else None)


def _with_impossible(setting: Setting, findings: Findings) -> Findings:
    """What was sampled, with the transitions that never fired for that they never can, such as a
    fault without a budget.
    """
    from rackproof.checker.sample.engine import impossible  # noqa: PLC0415

    never = impossible(setting.system)
    idle = tuple(name for name in findings.idle if name not in never)
    return attrs.evolve(findings, idle=idle, impossible=never)


def _check_open(system: System, options: Options) -> None:
    """Refuse to leave open what this world does not."""
    for name in options.open:
        if name not in system.freedoms:
            there = ", ".join([*system.freedoms, "workers"])
            known = there if system.freedoms else "none, as it names no freedoms"
            raise InputError(
                f"--any {name}: there is no such size to leave open; there are: {known}"
            )


def _in_every_rack(findings: Findings, case: Case, options: Options) -> Findings:
    """What holds for any number of workers, too."""
    from rackproof.checker.opened import held_for_any_number  # noqa: PLC0415
    from rackproof.checker.proof.cutoff import family  # noqa: PLC0415

    system = case.setting.system
    names = [prop.name for prop in system.properties if not case.expect or prop.name in case.expect]
    try:
        racks = family(case.setting)
    except ModelError as error:
        raise InputError(f"--any workers: {error}") from error
    limits = Limits(options.seconds, options.memory)
    return held_for_any_number(findings, system, names, racks, limits)


def sought(case: Case) -> frozenset[str] | None:
    """The violations that settle a case as soon as all are found; None where all must be seen."""
    verdicts = {expected.verdict for expected in case.expect.values()}
    return frozenset(case.expect) if verdicts == {"violated"} else None


def silent(setting: Setting, findings: Findings) -> list[str]:
    """The faults with a budget that never took effect."""
    return [
        name
        for name, budget in setting.budgets.items()
        if budget and not setting.faults[name] & findings.fired
    ]
