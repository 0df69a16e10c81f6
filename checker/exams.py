"""A stack put to the test in every exam: the verdict on each property, and what would mend it.

A property is violated if it is in one exam, of which the one with the least counterexample decides;
undecided if a search ended early; it holds if it holds wherever something put it to the test.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Final

import attrs
from attrs import frozen

from rackproof.checker.coverage import Guard
from rackproof.checker.engines import Options
from rackproof.checker.repair.diagnosis import Diagnosis, NoMechanisms, diagnose
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.repairs import Repairs, repairs
from rackproof.checker.repair.switches import Choice
from rackproof.checker.searched import Progress
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target
from rackproof.checker.verdicts import Result, Verdict
from rackproof.checker.verify import Report, Run, explored, failure, verify
from rackproof.model.protocol import Mechanism, Protocol, mechanisms
from rackproof.scenarios.changes import as_map, check_known
from rackproof.scenarios.exams import Exam, exams, named
from rackproof.scenarios.schema import Case
from rackproof.scenarios.stacks import load_stack
from rackproof.scenarios.worlds import InputError

_RANK: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.VACUOUS)


@frozen
class Examined(Report):
    """A stack in every exam: a run each, of whose results those count that decide their property.

    repairs: of each property that is violated, in the exam that decides. unsaid: concerns of which
    the stack's file says nothing, so that it did not sit their exams.
    """

    repairs: tuple[Repairs, ...] = ()
    unsaid: frozenset[str] = frozenset()

    @property
    def mends(self) -> dict[str, tuple[Choice, ...]]:
        """For each property that is violated, the least choices of mechanisms of which each lets it
        hold in the exam that decides.
        """
        return {one.names[0]: tuple(found.choice for found in one.found) for one in self.repairs}

    @property
    def judged(self) -> list[tuple[Run, Result]]:
        """The result that decides each property, in the order of the catalogue."""
        found = {r.prop.name: (run, r) for run in self.runs for r in run.results if r.judged}
        names = [r.prop.name for r in self.runs[0].results] if self.runs else []
        return [found[name] for name in names if name in found]

    def others(self, decisive: Result) -> list[str]:
        """The other exams that come to the same verdict on a property."""
        return [
            run.label
            for run in self.runs
            for result in run.results
            if result is not decisive
            and (result.prop.name, result.verdict) == (decisive.prop.name, decisive.verdict)
        ]

    @property
    def idle(self) -> list[str]:
        """The transitions that took effect in no exam."""
        fired = frozenset[str]().union(*(run.findings.fired for run in self.runs))
        known = self.runs[0].case.setting.system.transitions if self.runs else ()
        return [transition.name for transition in known if transition.name not in fired]

    @property
    def guards(self) -> list[Guard]:
        """The guards that came out the same way in every exam, where they were asked for."""
        found = [run.coverage.guards for run in self.runs if run.coverage]
        return (
            [guard for guard in found[0] if all(guard in those for those in found)] if found else []
        )

    @property
    def untested(self) -> list[str]:
        """What put nothing to the test: all the exams together, or nothing did not."""
        vacuous = self.runs and all(r.verdict is Verdict.VACUOUS for _, r in self.judged)
        return ["in any exam"] if vacuous else []

    @property
    def status(self) -> Status:
        """The gravest of all that was found."""
        found = [result.status for _, result in self.judged]
        found += [Status.VIOLATED for _ in self.untested]
        return worst([*found, self.failure.status] if self.failure else found)

    @property
    def complaints(self) -> list[str]:
        """What is not as it should be, one line each."""
        found = list(self.failure.lines) if self.failure else []
        for run, result in self.judged:
            if result.complaint:
                found.append(f"{result.prop.name}: {result.complaint} (exam {run.label})")
        return [*found, *(f"no property was put to the test {where}" for where in self.untested)]


def report_on(target: Target, options: Options, progress: Progress | None = None) -> Report:
    """Verify a target, whatever it is; only an interrupt gets out."""
    if target.stack is not None:
        return examine(target, target.stack, options, progress)
    report = verify(target, options, progress)
    return _with_diagnosis(report, options, progress) if options.repair else report


def _with_diagnosis(report: Report, options: Options, progress: Progress | None) -> Report:
    """A report with what mends and what is needed in the case as reported."""
    if report.failure is not None or report.scenario is None:
        return report
    started = time.monotonic()
    try:
        found = diagnose(report.runs[0], report.scenario.fix, options, progress)
        report = attrs.evolve(report, diagnosis=found)
    except NoMechanisms as error:
        report = attrs.evolve(report, note=f"nothing to repair: {error}")
    except Exception as error:
        report = attrs.evolve(report, failure=failure(error, report.scenario))
    return attrs.evolve(report, seconds=report.seconds + time.monotonic() - started)


def examine(
    target: Target, stack: str, options: Options, progress: Progress | None = None
) -> Examined:
    """Verify a stack in every exam; only an interrupt gets out."""
    started = time.monotonic()
    report = Examined(target.label, target.file, options=options)
    try:
        report = attrs.evolve(report, scenario=target.load())
        check_known(stack, target.changes)
        concerns = load_stack(stack).concerns
        sits = _sat(stack, concerns, options.exams)
        asked = frozenset[str]().union(*(exam.concerns for exam in exams()))
        report = attrs.evolve(report, unsaid=asked - concerns)
        changes = as_map(target.changes)
        runs = [
            explored(exam.name, Case(exam.setting(stack, changes)), options, progress)
            for exam in sits
        ]
        report = attrs.evolve(report, runs=_judged(runs, bool(options.exams)))
        report = attrs.evolve(report, repairs=_repairs(report, options, progress))
        if options.repair:
            report = attrs.evolve(report, diagnosis=Diagnosis(report.repairs, ()))
    except (Exception, SystemExit) as error:
        report = attrs.evolve(report, failure=failure(error, report.scenario))
    return attrs.evolve(report, seconds=time.monotonic() - started)


def _sat(stack: str, concerns: frozenset[str], names: Sequence[str]) -> list[Exam]:
    """The exams that a stack sits, of those named or of all."""
    known = [named(name) for name in names] or exams()
    sits = [exam for exam in known if exam.concerns <= concerns]
    for exam in known:
        if names and exam not in sits:
            unsaid = " and ".join(sorted(exam.concerns - concerns))
            raise InputError(
                f"exam {exam.name}: the file of stack {stack} says nothing of {unsaid}"
            )
    return sits


def _judged(runs: Sequence[Run], chosen: bool) -> tuple[Run, ...]:
    """The runs with each property judged in one of them.

    chosen: whether these exams were asked for by name; what they say nothing of is then not judged.
    """
    decisive = {
        name: min(range(len(runs)), key=lambda i, name=name: _order(runs[i], name))  # type: ignore[misc]
        for name in (result.prop.name for result in runs[0].results)
    }
    return tuple(
        attrs.evolve(
            run,
            results=tuple(
                attrs.evolve(r, judged=decisive[r.prop.name] == i and not (chosen and r.is_absent))
                for r in run.results
            ),
        )
        for i, run in enumerate(runs)
    )


def _result(run: Run, name: str) -> Result:
    return next(result for result in run.results if result.prop.name == name)


def _order(run: Run, name: str) -> tuple[int, int, int, int]:
    """How a run comes before others: the gravest verdict, the least counterexample, few faults to
    choose from.
    """
    result = _result(run, name)
    size = (result.trace.faults, len(result.trace.steps)) if result.trace else (0, 0)
    return (_RANK.index(result.verdict), *size, sum(run.case.setting.budgets.values()))


def _repairs(report: Examined, options: Options, progress: Progress | None) -> tuple[Repairs, ...]:
    """What mends each violation in the exam that decides."""
    found: dict[str, Repairs] = {}
    for run in report.runs:
        names = [r.prop.name for other, r in report.judged if other is run and r.trace is not None]
        if names:
            protocols = _protocols(run, names, options, progress)
            found.update((name, repairs(protocols, (name,), ())) for name in names)
    judged = [result.prop.name for _, result in report.judged]
    return tuple(found[name] for name in judged if name in found)


def _protocols(
    run: Run, names: Collection[str], options: Options, progress: Progress | None
) -> Protocols:
    """The protocols of an exam, in which these properties alone are asked, unless it is to be told
    what a mend does to the others.
    """
    setting = run.case.setting
    if not options.repair:
        asked = tuple(prop for prop in setting.system.properties if prop.name in names)
        setting = attrs.evolve(setting, system=attrs.evolve(setting.system, properties=asked))
    protocols = Protocols(setting, options, progress)
    protocols.learn(run)
    return protocols


def differences(stack: str) -> dict[str, object]:
    """The mechanisms in which a stack differs from the reference, with the reference's values."""
    protocol, reference = load_stack(stack).protocol, Protocol()
    return {
        mechanism.name: _written(mechanism)
        for mechanism in mechanisms()
        if getattr(protocol, mechanism.field) != getattr(reference, mechanism.field)
    }


def _written(mechanism: Mechanism) -> object:
    """The reference's value as a scenario writes it."""
    return getattr(mechanism.default, "value", mechanism.default)
