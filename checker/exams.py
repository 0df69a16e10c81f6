"""A stack put to the test in every exam: the verdict on each property, and what would mend it.

A property is violated if it is in one exam, of which the one with the least counterexample decides;
undecided if a search ended early; it holds if it holds wherever something put it to the test.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import attrs
from attrs import field, frozen

from rackproof.checker.coverage import Guard
from rackproof.checker.engines import Options, Progress, explore
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target
from rackproof.checker.verdicts import Result, Verdict, results
from rackproof.checker.verify import Report, Run, explored, failure, silent, verify
from rackproof.model.protocol import Mechanism, Protocol, mechanisms
from rackproof.scenarios.exams import Exam, exams
from rackproof.scenarios.schema import Case
from rackproof.scenarios.stacks import load_stack

Choice = Mapping[str, object]
"""Some mechanisms with values, as a scenario writes them."""

_RANK: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.VACUOUS)


@frozen
class Examined(Report):
    """A stack in every exam: a run each, of whose results those count that decide their property.

    mends: for each property that is violated, the choices of mechanisms of which each lets it hold
    in the exam that decides.
    """

    mends: Mapping[str, tuple[Choice, ...]] = field(factory=dict)

    @property
    def judged(self) -> list[tuple[Run, Result]]:
        """The result that decides each property, in the order of the catalogue."""
        found = {r.prop.name: (run, r) for run in self.runs for r in run.results if r.judged}
        return [found[r.prop.name] for r in self.runs[0].results] if self.runs else []

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
    if target.stack is None:
        return verify(target, options, progress)
    return examine(target, target.stack, options, progress)


def examine(
    target: Target, stack: str, options: Options, progress: Progress | None = None
) -> Examined:
    """Verify a stack in every exam; only an interrupt gets out."""
    started = time.monotonic()
    report = Examined(target.label, target.file)
    try:
        report = attrs.evolve(report, scenario=target.load())
        runs = [
            explored(exam.name, Case(exam.setting(stack)), options, progress) for exam in exams()
        ]
        report = attrs.evolve(report, runs=_judged(runs))
        report = attrs.evolve(report, mends=_mends(stack, report, options, progress))
    except (Exception, SystemExit) as error:
        report = attrs.evolve(report, failure=failure(error, report.scenario))
    return attrs.evolve(report, seconds=time.monotonic() - started)


def _judged(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs with each property judged in one of them."""
    decisive = {
        name: min(range(len(runs)), key=lambda i, name=name: _order(_result(runs[i], name)))  # type: ignore[misc]
        for name in (result.prop.name for result in runs[0].results)
    }
    return tuple(
        attrs.evolve(
            run,
            results=tuple(attrs.evolve(r, judged=decisive[r.prop.name] == i) for r in run.results),
        )
        for i, run in enumerate(runs)
    )


def _result(run: Run, name: str) -> Result:
    return next(result for result in run.results if result.prop.name == name)


def _order(result: Result) -> tuple[int, int, int]:
    """How a result comes before others: the gravest verdict, then the least counterexample."""
    size = (result.trace.faults, len(result.trace.steps)) if result.trace else (0, 0)
    return (_RANK.index(result.verdict), *size)


def _mends(
    stack: str, report: Examined, options: Options, progress: Progress | None
) -> dict[str, tuple[Choice, ...]]:
    """What mends each violation, exam by exam."""
    violated: dict[str, list[str]] = {}
    for run, result in report.judged:
        if result.verdict is Verdict.VIOLATED:
            violated.setdefault(run.label, []).append(result.prop.name)
    found: dict[str, tuple[Choice, ...]] = {}
    for exam in exams():
        trials = _Trials(exam, stack, tuple(violated.get(exam.name, ())), options, progress)
        found.update((name, trials.mending(name)) for name in trials.names)
    return {
        result.prop.name: found[result.prop.name]
        for _, result in report.judged
        if result.prop.name in found
    }


@attrs.define
class _Trials:
    """The same exam with mechanisms of the reference in place of the stack's own."""

    exam: Exam
    stack: str
    names: tuple[str, ...]
    options: Options
    progress: Progress | None
    known: dict[frozenset[str], Collection[str]] = field(factory=dict)

    def mending(self, name: str) -> tuple[Choice, ...]:
        """The single mechanisms that each mend a property; if there is none, a least set."""
        differing = differences(self.stack)
        single = [one for one in differing if name in self._holding([one])]
        if single:
            return tuple({one: differing[one]} for one in single)
        needed = list(differing)
        if name not in self._holding(needed):
            return ()
        for one in differing:
            rest = [other for other in needed if other != one]
            needed = rest if name in self._holding(rest) else needed
        return ({one: differing[one] for one in needed},)

    def _holding(self, chosen: Collection[str]) -> Collection[str]:
        """The sought properties that hold once these mechanisms are the reference's."""
        key = frozenset(chosen)
        if key not in self.known:
            self.known[key] = frozenset(self._tried(key))
        return self.known[key]

    def _tried(self, chosen: Collection[str]) -> Iterator[str]:
        changes = {name: value for name, value in differences(self.stack).items() if name in chosen}
        setting = self.exam.setting(self.stack, changes)
        sought = tuple(prop for prop in setting.system.properties if prop.name in self.names)
        system = attrs.evolve(setting.system, properties=sought)
        findings = explore(system, self.names, self.options, self.progress)
        for result in results(system, findings, {}, silent(setting, findings)):
            if result.verdict is Verdict.HOLDS:
                yield result.prop.name


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
