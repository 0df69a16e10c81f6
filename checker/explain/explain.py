"""Putting an explanation together: the run, its steps one by one, and what would have saved it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve

from rackproof.checker.explain.bound import Bound
from rackproof.checker.explain.drawn import message, picture
from rackproof.checker.explain.explanation import Explanation, Moment
from rackproof.checker.explain.footing import of_replay, of_result
from rackproof.checker.explain.mends import known
from rackproof.checker.replay import Replayed, seen
from rackproof.checker.report.setting import scope_in_words
from rackproof.checker.timing.possible import Possible, charges, possible
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import Report, Run
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
    drawn = picture(trace.system)
    scenario = report.scenario
    mends = tuple(one.mend for one in known(report, run, result))
    return Explanation(
        title=report.name,
        trace=trace,
        moments=tuple(_moments(trace, timing)),
        lanes=drawn.lanes,
        footing=of_result(report, result, reproduce, mends, timing is not None),
        prop=result.prop,
        verdict=result.words,
        culprits=tuple(trace.culprits(result.prop)),
        scope=scope_in_words(run.case.setting),
        source=scenario.source if scenario else None,
        notes=scenario.notes if scenario else None,
        timing=timing,
        mends=mends,
        setting=run.case.setting,
        base=scenario.path.parent if scenario else Path(),
        fewest_faults=result.fewest_faults,
    )


def explain_replay(scenario: Scenario, replayed: Replayed, reproduce: str) -> Explanation:
    """Explain a run that is written down."""
    trace, timing = replayed.trace, replayed.timing
    facts = tuple((fact.key, seen(replayed, fact)) for fact in replayed.facts)
    return Explanation(
        title=scenario.name,
        trace=trace,
        moments=tuple(_moments(trace, timing)),
        lanes=picture(trace.system).lanes,
        footing=evolve(of_replay(scenario, replayed), reproduce=reproduce),
        scope=scope_in_words(scenario.case.setting),
        source=scenario.source,
        notes=scenario.notes,
        timing=timing,
        complaints=replayed.complaints,
        facts=tuple(
            (key, told, told == fact.wanted)
            for (key, told), fact in zip(facts, replayed.facts, strict=True)
        ),
        setting=scenario.case.setting,
        base=scenario.path.parent,
    )


def _moments(trace: Trace, timing: Possible | None) -> Iterator[Moment]:
    """The steps of a run, with when they happen, what they cost and who believes what after."""
    drawn = picture(trace.system)
    times = itertools.chain(timing.times or () if timing else (), itertools.repeat(None))
    costs = itertools.chain(charges(trace), itertools.repeat(None))
    for number, (step, at, charge) in enumerate(zip(trace.steps, times, costs, strict=False), 1):
        yield Moment(
            number=number,
            step=step,
            message=message(drawn, step),
            at=at,
            charge=charge,
            beliefs=tuple(drawn.beliefs(step.after)),
        )
