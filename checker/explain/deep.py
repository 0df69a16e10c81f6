"""What needs exploring again, put into an explanation: each part within its share of a bound."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from rackproof.checker.explain.ahead import Ahead
from rackproof.checker.explain.bound import Bound, Cut
from rackproof.checker.explain.explanation import Explanation, NearMiss
from rackproof.checker.explain.mends import looked_for
from rackproof.checker.explain.near_miss import near_miss
from rackproof.checker.explain.pivot import Choice, by_choice, dependants, pivot
from rackproof.checker.explain.smallest import smallest
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import Report, Run
from rackproof.model.kernel import Property


def deepened(
    explanation: Explanation, report: Report, run: Run, result: Result, bound: Bound
) -> Explanation:
    """The explanation of a violation with its pivot, near miss, smallest scope and mends."""
    trace = explanation.trace
    choice, near = _choices(trace, result, bound.until(0.3))
    mends, doubt = looked_for(report, run, result, bound.until(0.7))
    changes = [(one.mend.changes, one.system) for one in mends]
    assert report.scenario is not None, "it was explored"
    return attrs.evolve(
        explanation,
        pivot=pivot(trace, choice, changes, dependants(explanation.moments, explanation.reads)),
        near_miss=near if isinstance(near, NearMiss) else None,
        smallest=smallest(result, run.case.setting, report.scenario.path, bound),
        mends=tuple(one.mend for one in mends),
        untold=tuple(_untold(choice, near, doubt, result.prop)),
    )


def _choices(
    trace: Trace, result: Result, bound: Bound
) -> tuple[Choice | Cut, NearMiss | Cut | None]:
    """The pivot by choice and the near miss, or why they could not be told."""
    ahead = Ahead(trace.system, result.prop, bound)
    choice: Choice | Cut
    try:
        choice = by_choice(trace, ahead)
    except Cut as cut:
        choice = cut
    try:
        others = [prop for prop in trace.system.properties if prop.name != result.prop.name]
        return choice, near_miss(trace, ahead, others)
    except Cut as cut:
        return choice, cut


def _untold(
    choice: Choice | Cut, near: NearMiss | Cut | None, doubt: str | None, prop: Property
) -> Sequence[str]:
    """What could not be found out, or is not there."""
    found = [f"which choice would have saved it: {choice}"] if isinstance(choice, Cut) else []
    found += [f"the closest run that is safe: {near}"] if isinstance(near, Cut) else []
    if near is None and prop.premise is not None and isinstance(choice, Choice) and choice.number:
        found.append(
            f"a safe run that puts {prop.name} to the test: in no safe run of this scope "
            f"is its premise, {prop.premise.name}, met"
        )
    return found + ([doubt] if doubt else [])
