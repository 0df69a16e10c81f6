"""Every protocol that a setting might have, explored where no known run tells."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

import attrs
from attrs import define, field

from rackproof.checker.engines import Options, explore
from rackproof.checker.repair.runs import Conflict, asked_by, conflict
from rackproof.checker.repair.switches import Assignment, Switches, switches
from rackproof.checker.searched import Progress
from rackproof.checker.trace import EngineError, Trace, for_ever, run
from rackproof.checker.verdicts import Findings, Result, results
from rackproof.checker.verify import Run, silent
from rackproof.model.kernel import ModelError, Property
from rackproof.scenarios.schema import Setting


@define(slots=False)
class Protocols:
    """What is known of the properties of a setting under choices of its mechanisms.

    runs: counterexamples by property. explorations: how many protocols were explored, which is
    what takes time.
    """

    setting: Setting
    options: Options = field(factory=Options)
    progress: Progress | None = None
    switches: Switches = field(init=False)
    runs: dict[str, list[Trace]] = field(init=False, factory=dict)
    explorations: int = field(init=False, default=0)
    _conflicts: dict[str, list[Conflict]] = field(init=False, factory=dict)
    _known: dict[Assignment, Mapping[str, Result]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        """Find the mechanisms of the setting."""
        self.switches = switches(self.setting.system)

    @cached_property
    def asked(self) -> frozenset[int]:
        """The switches that the setting as it is asks at all."""
        return asked_by(self.switches, self.setting.system)

    def learn(self, known: Run) -> None:
        """Take over what is known of the setting as it is."""
        self._take(self.switches.present, known.findings, known.results)

    def _take(self, assignment: Assignment, findings: Findings, judged: Iterable[Result]) -> None:
        found = {result.prop.name: result for result in judged}
        for name, result in found.items():
            if result.trace is not None:
                self.runs.setdefault(name, []).append(result.trace)
        if findings.reason is None:
            self._known[assignment] = found

    def results(
        self, assignment: Assignment, until: Collection[str] | None = None
    ) -> Mapping[str, Result]:
        """The result of each property under a choice of mechanisms.

        until: where all of these are violated, the others need not be told. ``ModelError`` where
        the world cannot be run like that.
        """
        if assignment in self._known:
            return self._known[assignment]
        setting = attrs.evolve(self.setting, system=self.switches.at(assignment))
        self.explorations += 1
        options = attrs.evolve(self.options, coverage=False, compare=False)
        with contextlib.redirect_stdout(sys.stderr):  # what a model prints is no report
            findings = explore(setting.system, until, options, self.progress)
        judged = results(setting.system, findings, {}, silent(setting, findings))
        self._take(assignment, findings, judged)
        return {result.prop.name: result for result in judged}

    def conflicts(self, name: str) -> Sequence[Conflict]:
        """Under which choices each known counterexample to a property is one."""
        known, runs = self._conflicts.setdefault(name, []), self.runs.get(name, [])
        known += [self._conflict(name, trace) for trace in runs[len(known) :]]
        return known

    def _conflict(self, name: str, trace: Trace) -> Conflict:
        found = conflict(self.switches, trace, self._property(name))
        if not found.holds(self.switches.of(trace.system)):
            raise EngineError(f"{name}: a counterexample is none of its own protocol")
        return found

    def violates(self, name: str, assignment: Assignment) -> bool:
        """Whether a known run violates a property under a choice of mechanisms, too: as it is, or
        with the same steps through other states, which is learnt from.
        """
        if any(one.holds(assignment) for one in self.conflicts(name)):
            return True
        for trace in self.runs.get(name, ()):
            again = self._again(trace, assignment)
            if again is not None and again.violates(self._property(name)):
                self.runs[name].append(again)
                return True
        return False

    def trace(self, name: str, assignment: Assignment) -> Trace | None:
        """A known run that violates a property under a choice of mechanisms."""
        for trace, one in zip(self.runs.get(name, ()), self.conflicts(name), strict=True):
            if one.holds(assignment):
                again = self._again(trace, assignment)
                if again is None or not again.violates(self._property(name)):
                    raise EngineError(f"{name}: a run is no counterexample where it should be one")
                return again
        return None

    def _property(self, name: str) -> Property:
        return next(prop for prop in self.setting.system.properties if prop.name == name)

    def _again(self, trace: Trace, assignment: Assignment) -> Trace | None:
        """The same firings under a choice of mechanisms; None where one is not possible."""
        firings = [step.firing for step in trace.steps]
        try:
            lead = run(self.switches.at(assignment), firings[: trace.lead])
            return lead if trace.loop is None else for_ever(lead, firings[trace.lead :])
        except (EngineError, ModelError):
            return None
