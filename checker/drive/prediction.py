"""What the model says will happen: a run to try, and the property that it violates."""

from __future__ import annotations

from attrs import frozen

from rackproof.checker.engines import Options
from rackproof.checker.replay import replay, violated
from rackproof.checker.searched import Progress
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Verdict
from rackproof.checker.verify import AS_REPORTED, explored
from rackproof.model.kernel import Scope
from rackproof.scenarios.errors import unknown
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.worlds import InputError


@frozen(eq=False)
class Prediction:
    """A run, and the property it violates; None where it is to violate none."""

    scenario: Scenario
    trace: Trace
    prop: str | None

    @property
    def broken(self) -> tuple[str, ...]:
        """What is so instead, in sentences."""
        found = [p for p in self.trace.system.properties if p.name == self.prop]
        return tuple(sentence for p in found for sentence in self.trace.broken(p))

    @property
    def props(self) -> frozenset[str]:
        """All the properties that the run violates, beside the one that it is tried for."""
        always = [p for p in self.trace.system.properties if p.scope is Scope.ALWAYS]
        found = {p.name for p in always if list(self.trace.failing(p))}
        return frozenset(found | ({self.prop} if self.prop else set()))


def predicted(
    scenario: Scenario, wanted: str | None, options: Options, progress: Progress | None = None
) -> Prediction:
    """The run that a scenario has written down; where it has none, or another property is wanted,
    the shortest that the search finds. ``InputError`` where there is no such run.
    """
    known = [prop.name for prop in scenario.case.setting.system.properties]
    if wanted is not None and wanted not in known:
        raise InputError(unknown("property", wanted, known))
    if scenario.steps is not None:
        run = replay(scenario)
        if run.complaints:
            raise InputError(run.complaints[0])
        prop = violated(run)
        if wanted is None or (prop is not None and prop.name == wanted):
            return Prediction(scenario, run.trace, None if prop is None else prop.name)
    return _found(scenario, wanted, options, progress)


def _found(
    scenario: Scenario, wanted: str | None, options: Options, progress: Progress | None
) -> Prediction:
    run = explored(AS_REPORTED, scenario.case, options, progress)
    results = [r for r in run.results if r.verdict is Verdict.VIOLATED and r.trace is not None]
    expect = scenario.case.expect
    named = {name for name, told in expect.items() if told.verdict == "violated"}
    sought = {wanted} if wanted is not None else named or {r.prop.name for r in results}
    for result in (r for r in results if r.prop.name in sought):
        if result.trace is not None:
            return Prediction(scenario, result.trace, result.prop.name)
    others = ", ".join(r.prop.name for r in results) or "none"
    raise InputError(
        f"{scenario.path}: no run violates {wanted or 'what it expects to be violated'} "
        f"(violated: {others}); --property has one of these tried, and steps: a run of your own"
    )
