"""What is found by exploring again: of bundled bugs, and of worlds that one can read."""

from __future__ import annotations

import functools
from pathlib import Path

import attrs
import pytest

from rackproof.checker.engines import Options
from rackproof.checker.exams import report_on
from rackproof.checker.explain import Explanation, explain
from rackproof.checker.explain.bound import Bound
from rackproof.checker.explain.mends import known
from rackproof.checker.explain.smallest import smallest
from rackproof.checker.targets import expand
from rackproof.checker.verdicts import Result, Verdict
from rackproof.checker.verify import Report, Run, explored
from rackproof.scenarios.schema import Case
from rackproof.scenarios.settings import bundled_setting

ROOT = Path(__file__).parents[3]
BUGS = ROOT / "scenarios" / "bugs"
LOCKS = BUGS / "mooncake-2486-two-lock-orders.yaml"
LATCH = BUGS / "dynamo-w1-finish-then-disconnect.yaml"
LEASE = f"{ROOT}/docs/examples/lease.py:world"


@functools.cache
def report(target: str) -> Report:
    return report_on(expand([target]).found[0], Options(workers=1))


def violated(target: str, name: str) -> tuple[Report, Run, Result]:
    told = report(target)
    run = told.runs[0]
    return told, run, next(result for result in run.results if result.prop.name == name)


@functools.cache
def deep(target: str, name: str) -> Explanation:
    return explain(*violated(target, name), "again", deep=True, bound=Bound(seconds=120))


def test_a_bug_is_told_whole() -> None:
    told = deep(str(LOCKS), "store-progress")
    assert told.pivot is not None
    assert (told.pivot.number, told.pivot.choice, len(told.trace.steps)) == (6, 6, 6)
    assert told.pivot.instead == (
        "The master finds no room for the put of client-0 and nothing to evict: it is given up",
    )
    assert told.pivot.mechanisms == (
        'with one-lock-order: false -> true, step 5 ("The put of client-0 takes the lock of '
        'objects, and then wants that of segments") would not have been possible',
    )
    assert told.near_miss is not None
    assert told.near_miss.parts == 6
    assert [(mend.changes, mend.verdict, mend.source) for mend in told.mends] == [
        (("one-lock-order: false -> true",), "holds", "the scenario's fix")
    ]
    assert told.smallest is not None
    assert told.smallest.faults == {"segment-loss": 1}
    assert told.untold == ()


def test_without_depth_nothing_is_explored_again() -> None:
    told = explain(*violated(str(LOCKS), "store-progress"), "again")
    assert (told.pivot, told.near_miss, told.smallest) == (None, None, None)


def test_what_is_told_to_be_smaller_is_violated_and_what_is_needed_is_not() -> None:
    """Each size is verified on its own, as a reader would do."""
    told, run, result = violated(str(LATCH), "terminal-latch")
    assert told.scenario is not None
    path, setting = told.scenario.path, run.case.setting
    found = smallest(result, setting, path, Bound(seconds=120))
    assert found.scope == ("retry-limit: 1 -> 0", "aggregated: 2 -> 1")
    assert found.needed == ()
    assert found.words.endswith("Retry limit 0 and 1 aggregated worker suffice.")
    bundled = setting.bundled
    assert bundled is not None
    least = attrs.evolve(
        bundled,
        scope={**bundled.scope, "retry-limit": 0},
        rack={**bundled.rack, "aggregated": 1},
    )
    assert _verdict(least, path, result) is Verdict.VIOLATED
    without = attrs.evolve(least, faults={"disconnect": 0})
    assert _verdict(without, path, result) is not Verdict.VIOLATED


def _verdict(bundled: object, path: Path, result: Result) -> Verdict:
    case = Case(bundled_setting(bundled, path))  # type: ignore[arg-type]
    found = explored("smaller", case, Options("search", workers=1), None)
    return next(r.verdict for r in found.results if r.prop.name == result.prop.name)


def test_what_is_needed_says_what_became_of_less() -> None:
    told, run, result = violated(str(LATCH), "nothing-after-finish")
    assert told.scenario is not None
    found = smallest(result, run.case.setting, told.scenario.path, Bound(seconds=120))
    assert found.needed == (
        "retry limit 1 is needed: with 0 it holds",
        "2 aggregated workers are needed: with 1 it holds",
    )
    assert found.words == (
        "1 disconnect is enough to violate it; without any fault, no run of this scope does. "
        "Nothing in this scope can be smaller. Retry limit 1 is needed: with 0 it holds. "
        "2 aggregated workers are needed: with 1 it holds."
    )


def test_of_a_world_of_ones_own_the_faults_are_counted() -> None:
    told, run, result = violated(LEASE, "no-overwrite-in-flight")
    assert told.scenario is not None
    found = smallest(result, run.case.setting, told.scenario.path, Bound())
    assert found.faults == {"slow-read": 1}
    assert found.words.endswith("The sizes of a world of one's own are left as they are.")


@pytest.mark.parametrize("target", [str(LOCKS), LEASE])
def test_a_limit_is_told_and_nothing_is_claimed(target: str) -> None:
    told, run, _ = violated(target, report(target).judged[0][1].prop.name)
    result = report(target).judged[0][1]
    found = explain(told, run, result, "again", deep=True, bound=Bound(seconds=0))
    assert found.near_miss is None
    assert [text.split(":")[0] for text in found.untold][:2] == [
        "which choice would have saved it",
        "the closest run that is safe",
    ]
    assert "the limit of 0 s was reached" in found.untold[0]
    assert found.smallest is not None
    assert found.smallest.scope == ()


def test_a_fix_is_known_from_its_run() -> None:
    (mended,) = known(*violated(str(LATCH), "terminal-latch"))
    assert mended.mend.changes == ("finish-latch: false -> true",)
    assert mended.mend.side_effects == ()
