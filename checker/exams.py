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
from rackproof.checker.engines import Options, explore
from rackproof.checker.searched import Progress
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target
from rackproof.checker.trace import EngineError, Trace
from rackproof.checker.trace import run as replayed
from rackproof.checker.verdicts import Result, Verdict, results
from rackproof.checker.verify import Report, Run, explored, failure, silent, verify
from rackproof.model.protocol import Mechanism, Protocol, mechanisms
from rackproof.scenarios.exams import Exam, exams
from rackproof.scenarios.schema import Case, Setting
from rackproof.scenarios.stacks import load_stack

Choice = Mapping[str, object]
"""Some mechanisms with values, as a scenario writes them."""

_RANK: Final = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.HOLDS, Verdict.VACUOUS)


@frozen
class Examined(Report):
    """A stack in every exam: a run each, of whose results those count that decide their property.

    mends: for each property that is violated, the choices of mechanisms of which each lets it hold
    in the exam that decides. unsaid: concerns of which the stack's file says nothing, so that it
    did not sit their exams.
    """

    mends: Mapping[str, tuple[Choice, ...]] = field(factory=dict)
    unsaid: frozenset[str] = frozenset()

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
        concerns = load_stack(stack).concerns
        sits = [exam for exam in exams() if exam.concerns <= concerns]
        asked = frozenset[str]().union(*(exam.concerns for exam in exams()))
        report = attrs.evolve(report, unsaid=asked - concerns)
        runs = [explored(exam.name, Case(exam.setting(stack)), options, progress) for exam in sits]
        report = attrs.evolve(report, runs=_judged(runs))
        report = attrs.evolve(report, mends=_mends(stack, report, options, progress))
    except (Exception, SystemExit) as error:
        report = attrs.evolve(report, failure=failure(error, report.scenario))
    return attrs.evolve(report, seconds=time.monotonic() - started)


def _judged(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs with each property judged in one of them."""
    decisive = {
        name: min(range(len(runs)), key=lambda i, name=name: _order(runs[i], name))  # type: ignore[misc]
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


def _order(run: Run, name: str) -> tuple[int, int, int, int]:
    """How a run comes before others: the gravest verdict, the least counterexample, few faults to
    choose from.
    """
    result = _result(run, name)
    size = (result.trace.faults, len(result.trace.steps)) if result.trace else (0, 0)
    return (_RANK.index(result.verdict), *size, sum(run.case.setting.budgets.values()))


def _mends(
    stack: str, report: Examined, options: Options, progress: Progress | None
) -> dict[str, tuple[Choice, ...]]:
    """What mends each violation in the exam that decides."""
    violated: dict[str, dict[str, Trace]] = {}
    for run, result in report.judged:
        if result.trace is not None:
            violated.setdefault(run.label, {})[result.prop.name] = result.trace
    found: dict[str, tuple[Choice, ...]] = {}
    for exam in exams():
        trials = _Trials(exam, stack, violated.get(exam.name, {}), options, progress)
        found.update((name, trials.mending(name)) for name in trials.traces)
    names = (result.prop.name for _, result in report.judged)
    return {name: found[name] for name in names if name in found}


@attrs.define
class _Trials:
    """An exam with mechanisms of the reference in place of the stack's own.

    traces: the counterexamples that the stack has in it, by property.
    """

    exam: Exam
    stack: str
    traces: Mapping[str, Trace]
    options: Options
    progress: Progress | None
    known: dict[frozenset[str], frozenset[str]] = field(factory=dict)

    def mending(self, name: str) -> tuple[Choice, ...]:
        """The single mechanisms that each mend a property; if there is none, a least set."""
        differing = differences(self.stack)
        designs = _designs()
        single = [one for one in differing if self._mends(name, [one])]
        single = [one for one in single if one not in designs] or single
        if single:
            return tuple({one: differing[one]} for one in single)
        needed = list(differing)
        if not self._mends(name, needed):
            return ()
        for one in sorted(differing, key=lambda one: one not in designs):
            rest = [other for other in needed if other != one]
            needed = rest if self._mends(name, rest) else needed
        return ({one: differing[one] for one in needed},)

    def _mends(self, name: str, chosen: Collection[str]) -> bool:
        """Whether a property holds once these mechanisms are the reference's.

        Where its counterexample is still one, nothing need be explored.
        """
        key = frozenset(chosen)
        if key not in self.known and self._survives(name, key):
            return False
        if key not in self.known:
            self.known[key] = frozenset(self._holding(key))
        return name in self.known[key]

    def _survives(self, name: str, chosen: Collection[str]) -> bool:
        """Whether the counterexample of a property is one of the changed stack too."""
        system = self._setting(chosen).system
        try:
            trace = replayed(system, [step.firing for step in self.traces[name].steps])
        except EngineError:
            return False
        return any(trace.violates(prop) for prop in system.properties if prop.name == name)

    def _holding(self, chosen: Collection[str]) -> Iterator[str]:
        """The properties with a counterexample that hold in the changed stack."""
        setting = self._setting(chosen)
        sought = tuple(prop for prop in setting.system.properties if prop.name in self.traces)
        system = attrs.evolve(setting.system, properties=sought)
        findings = explore(system, self.traces.keys(), self.options, self.progress)
        for result in results(system, findings, {}, silent(setting, findings)):
            if result.is_averted:
                yield result.prop.name

    def _setting(self, chosen: Collection[str]) -> Setting:
        values = differences(self.stack)
        return self.exam.setting(
            self.stack, {name: values[name] for name in values if name in chosen}
        )


def differences(stack: str) -> dict[str, object]:
    """The mechanisms in which a stack differs from the reference, with the reference's values."""
    protocol, reference = load_stack(stack).protocol, Protocol()
    return {
        mechanism.name: _written(mechanism)
        for mechanism in mechanisms()
        if getattr(protocol, mechanism.field) != getattr(reference, mechanism.field)
    }


def _designs() -> frozenset[str]:
    """The mechanisms that nobody changes for a mend if anything else will do."""
    return frozenset(mechanism.name for mechanism in mechanisms() if mechanism.design)


def _written(mechanism: Mechanism) -> object:
    """The reference's value as a scenario writes it."""
    return getattr(mechanism.default, "value", mechanism.default)
