"""What the review report says of one target: its verdicts, and what was looked at beside them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.asking import DEFAULT_EXAM, setting_of
from rackproof.checker.coverage import outcomes
from rackproof.checker.engines import Options
from rackproof.checker.exams import Examined, report_on
from rackproof.checker.explain.survival import Survival, survival
from rackproof.checker.lowering.paths import Place
from rackproof.checker.machines import Machine, explored, machines
from rackproof.checker.report.cost import CostReport
from rackproof.checker.report.progress import Ticker
from rackproof.checker.targets import Target
from rackproof.checker.timing.classes import Bounds
from rackproof.checker.timing.command import cost_of
from rackproof.checker.verify import Report, Run, failure

PATIENCE: Final = 20.0
"""Seconds for each exploration beside those of the verdicts, unless told otherwise."""
MOST_STATES: Final = 5_000
"""States of a case up to which it is in the map of what survives."""


@frozen
class Covered:
    """Of the states of a case: how the tests of each line of its model came out, and its machines.

    reason: why these are not all states.
    """

    outcomes: Mapping[Place, set[bool]]
    machines: tuple[Machine, ...]
    reason: str | None = None


@frozen
class Study:
    """A target's report, what covers its cases (by label), what survives in them, and what its
    paths take.
    """

    report: Report
    covered: Mapping[str, Covered]
    survivals: tuple[Survival, ...] = ()
    cost: CostReport | None = None


def study(target: Target, options: Options, ticker: Ticker, *, full: bool) -> Iterator[Study]:
    """Verify a target, and look at what is beside its verdicts: what is known after each part.

    full: at what survives and at what paths take, too.
    """
    known = Study(report_on(target, options, ticker), {})
    yield known
    if known.report.failure is not None:
        return
    try:
        for look in (_covered, *((_survivals, _cost) if full else ())):
            with contextlib.redirect_stdout(sys.stderr):  # what a model prints is no report
                known = look(known, target, patience(options), ticker)
            yield known
    except Exception as error:
        yield Study(evolve(known.report, failure=failure(error, known.report.scenario)), {})


def patience(options: Options) -> float:
    """Seconds for each part that is beside the verdicts."""
    return min(options.seconds or PATIENCE, PATIENCE)


def _looked_at(report: Report) -> Iterator[Run]:
    """The cases of which the states are looked at again: all exams, or the case as reported."""
    yield from report.runs if isinstance(report, Examined) else report.runs[:1]


def _covered(known: Study, _target: Target, seconds: float, ticker: Ticker) -> Study:
    covered = {}
    for run in _looked_at(known.report):
        ticker.says(f"coverage and state machines, {run.label}")
        system = run.case.setting.system
        found = explored(system, seconds=seconds)
        tests = outcomes(found.relation, found.columns)
        covered[run.label] = Covered(tests, machines(system, found), found.reason)
    return evolve(known, covered=covered)


def _survivals(known: Study, _target: Target, seconds: float, ticker: Ticker) -> Study:
    survivals = []
    for run in _looked_at(known.report):
        ticker.says(f"what survives, {run.label}")
        survivals.append(survival(run.case.setting.system, MOST_STATES, seconds))
    return evolve(known, survivals=tuple(survivals))


def _cost(known: Study, target: Target, seconds: float, ticker: Ticker) -> Study:
    scenario = known.report.scenario
    assert scenario is not None, "it was loaded"
    ticker.says("what paths take")
    setting = setting_of(target, scenario, None, ())
    if setting.system.timing is None:
        return known
    exam = f"{target.label}, exam {DEFAULT_EXAM}" if target.stack else target.label
    return evolve(known, cost=cost_of(exam, setting, {}, Bounds(seconds), ticker))
