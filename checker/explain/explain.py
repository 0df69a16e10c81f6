"""Putting an explanation together: the run, its steps one by one, and what would have saved it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from rackproof.checker.explain import necessity, study
from rackproof.checker.explain.bound import Bound
from rackproof.checker.explain.drawn import message, picture
from rackproof.checker.explain.explanation import Explanation, Moment
from rackproof.checker.explain.footing import of_replay, of_result
from rackproof.checker.explain.mends import known
from rackproof.checker.explain.study import Study
from rackproof.checker.lowering import LoweringError
from rackproof.checker.replay import Replayed, met, violated
from rackproof.checker.report.counterexample import outcome, where
from rackproof.checker.report.setting import scope_in_words
from rackproof.checker.report.timed import within_times
from rackproof.checker.timing.possible import Possible, charges, possible
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Result, Verdict
from rackproof.checker.verify import AS_REPORTED, Report, Run
from rackproof.model.kernel import Property
from rackproof.scenarios.fields import Fields
from rackproof.scenarios.schema import Scenario


def explain(
    report: Report,
    run: Run,
    result: Result,
    reproduce: str,
    deep: bool = False,
    bound: Bound | None = None,
) -> Explanation:
    """Explain a violation; reproduce: the command that shows it again. deep: with what needs
    exploring again (the pivot, the near miss, what is the smallest, what mends it), within a bound.
    """
    found = _explained(report, run, result, reproduce)
    if not deep:
        return found
    from rackproof.checker.explain.deep import deepened  # noqa: PLC0415

    return deepened(found, report, run, result, bound or Bound())


def _explained(report: Report, run: Run, result: Result, reproduce: str) -> Explanation:
    trace = result.trace
    assert trace is not None, "only a violation has a counterexample"
    timing = possible(trace)
    scenario = report.scenario
    mends = tuple(one.mend for one in known(report, run, result))
    told = Explanation(
        title=report.name,
        trace=trace,
        moments=tuple(_moments(trace, timing)),
        lanes=picture(trace.system).lanes,
        footing=of_result(report, result, reproduce, mends, timing is not None),
        prop=result.prop,
        verdict=result.words,
        where=where(trace, result.prop),
        outcome=outcome(trace, result.prop),
        scope=scope_in_words(run.case.setting),
        source=scenario.source if scenario else None,
        notes=scenario.notes if scenario else None,
        timing=timing,
        in_time=within_times(trace, result.prop),
        mends=mends,
        setting=run.case.setting,
        base=scenario.path.parent if scenario else Path(),
        file=report.file if run.label == AS_REPORTED else None,
        fewest_faults=result.fewest_faults,
    )
    return _studied(told, study.of_property(trace, result.prop, told.fields))


def explain_replay(scenario: Scenario, replayed: Replayed, reproduce: str) -> Explanation:
    """Explain a run that is written down: why it violates what it says it does, or else how it
    comes to the values that it says it leads to.
    """
    trace, timing = replayed.trace, replayed.timing
    prop = violated(replayed)
    told = Explanation(
        title=scenario.name,
        trace=trace,
        moments=tuple(_moments(trace, timing)),
        lanes=picture(trace.system).lanes,
        footing=attrs.evolve(of_replay(scenario, replayed), reproduce=reproduce),
        prop=prop,
        verdict=Result(prop, Verdict.VIOLATED, trace=trace).words if prop else "",
        where=where(trace, prop) if prop else "",
        outcome=outcome(trace, prop) if prop else "",
        scope=scope_in_words(scenario.case.setting),
        source=scenario.source,
        notes=scenario.notes,
        timing=timing,
        complaints=replayed.complaints,
        facts=tuple((fact.key, *met(replayed, fact)) for fact in replayed.facts),
        setting=scenario.case.setting,
        base=scenario.path.parent,
        file=scenario.path,
    )
    try:
        return _studied(told, _study(trace, prop, replayed, told.fields))
    except LoweringError as error:
        return attrs.evolve(told, unexplained=f"this world cannot be followed: {error}")


def _study(trace: Trace, prop: Property | None, replayed: Replayed, fields: Fields) -> Study:
    if prop is not None:
        return study.of_property(trace, prop, fields)
    return study.of_values(trace, [f.field for f in replayed.facts if f.field is not None], fields)


def _studied(told: Explanation, seen: Study) -> Explanation:
    """With what the trees of its world tell of the run."""
    matters = None if seen.slice is None else seen.slice.numbers
    moments = tuple(
        attrs.evolve(
            moment,
            why=seen.why(moment.number),
            causes=seen.causes(moment.number),
            matters=matters is None or moment.number in matters,
            needed=seen.needed.get(moment.number),
            users=seen.users(moment.number),
        )
        for moment in told.moments
    )
    return attrs.evolve(
        told,
        moments=moments,
        reads=seen.labels,
        failing=seen.failing,
        stays=seen.stays,
        enough=seen.enough,
        necessity=tuple(necessity.told(moments, seen.enough, seen.is_inevitable)),
        unexplained=_unexplained(told, seen),
    )


def _unexplained(told: Explanation, seen: Study) -> str | None:
    """Why there is no more to say of a violation."""
    if told.prop is None or seen.slice is not None:
        return told.unexplained
    return "its end could not be followed back to the steps that it depends on"


def _moments(trace: Trace, timing: Possible | None) -> Iterator[Moment]:
    """The steps of a run, with when they happen, what they cost and who believes what after."""
    drawn = picture(trace.system)
    endless: itertools.repeat[Any] = itertools.repeat(None)
    times = itertools.chain(timing.times or () if timing else (), endless)
    costs = itertools.chain(charges(trace), endless)
    for number, (step, at, charge) in enumerate(zip(trace.steps, times, costs, strict=False), 1):
        yield Moment(
            number=number,
            step=step,
            message=message(drawn, step),
            at=at,
            charge=charge,
            beliefs=tuple(drawn.beliefs(step.after)),
        )
