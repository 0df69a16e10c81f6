"""What ``rackproof.testing.machine`` does: sample a target, and fail with what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
from hypothesis import settings

from rackproof.checker.engines import Options
from rackproof.checker.report.plain import as_text
from rackproof.checker.report.sampling import lines
from rackproof.checker.sample.machine import Driver, WorldMachine, state_machine
from rackproof.checker.sample.tally import Plan
from rackproof.checker.targets import Target, expand
from rackproof.checker.verdicts import Result, Verdict
from rackproof.checker.verify import AS_REPORTED, Report, explored, verify
from rackproof.scenarios.quantities import duration
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.worlds import InputError
from rackproof.testing import asked

OWN: tuple[str, ...] = ("default", "ci")
"""The profiles that Hypothesis has without anybody's doing."""

told: list[str] = []
"""What the sampled runs of this process have been through, for pytest's summary."""


class SampledFailed(AssertionError):
    """Sampled runs are not as they should be; the message is the report."""


def check(
    target: str,
    base: Path,
    runs: int | None = None,
    steps: int = 100,
    seed: int = 0,
    driver: Callable[[], Driver] | None = None,
) -> Report:
    """Sample a target of a test in the folder base; ``SampledFailed`` unless it is as it should be.

    runs: None for what is asked of all tests.
    """
    __tracebackhide__ = True
    target = asked.nearest(target, base)
    runs, steps = _profile(runs or asked.runs or 200, steps)
    limit = duration(asked.time_limit) if asked.time_limit else None
    options = Options(
        engine="sample", seconds=limit, runs=runs, run_length=steps, seed=seed, driver=driver
    )
    found = _one(target)
    report = verify(found, options) if driver is None else _driven(found, options)
    been = list(_been_through(report))
    told.extend(f"{target}: {line}" for line in been)
    kept = _as_tests_see_it(report)
    if report.failure is not None or any(run.complaints for run in kept.runs):
        raise SampledFailed("\n".join([as_text(kept), *(f"  {line}" for line in been)]))
    return report


def _one(target: str) -> Target:
    """The only thing that a target stands for, which is no stack: that has no faults of its own."""
    found = expand([target]).found
    if any(one.stack is not None for one in found):
        named = target.replace(":", ": ", 1)
        raise InputError(f"{target}: has no faults of its own; write a scenario with {named}")
    if len(found) != 1:
        raise InputError(f"{target}: stands for {len(found)} scenarios; a test is of one")
    return found[0]


def _been_through(report: Report) -> Iterator[str]:
    """How each violation was found, and what the runs have been through."""
    for run in report.runs:
        where = f" ({run.label})" if len(report.runs) > 1 else ""
        told = [run.findings.note] if run.findings.note else []
        yield from (f"{line}{where}" for line in (*told, *lines(run.findings)))


def _driven(target: Target, options: Options) -> Report:
    """A report on a target; what goes along with its runs fails the test by itself."""
    scenario = target.load()
    run = explored(AS_REPORTED, scenario.case, options, None)
    return Report(target.label, target.file, scenario, runs=(run,), options=options)


def machine_of(target: str, driver: Callable[[], Driver] | None = None) -> type[WorldMachine]:
    """The state machine of a target's world."""
    scenario = _loaded(target)
    expected = {name for name, one in scenario.case.expect.items() if one.verdict == "violated"}
    system = scenario.case.setting.system
    return state_machine(system, plan=Plan(settled=frozenset(expected)), driver=driver)


def _loaded(target: str) -> Scenario:
    return _one(target).load()


def _profile(runs: int, steps: int) -> tuple[int, int]:
    """How much to sample: as the profile says that somebody loaded, else as was asked for."""
    name = settings.get_current_profile_name()
    if name in OWN:
        return runs, steps
    profile = settings.get_profile(name)
    return profile.max_examples, profile.stateful_step_count


def _as_tests_see_it(report: Report) -> Report:
    """A report in which what was sampled and not violated is as it should be."""
    runs = tuple(attrs.evolve(run, results=tuple(_passed(run.results))) for run in report.runs)
    return attrs.evolve(report, runs=runs)


def _passed(results: tuple[Result, ...]) -> Iterator[Result]:
    """The results; those are not judged that are open and that nobody expects to be violated."""
    for result in results:
        is_wanted = result.expected is not None and result.expected.verdict != "holds"
        is_open = result.verdict is Verdict.INCONCLUSIVE
        yield attrs.evolve(result, judged=False) if is_open and not is_wanted else result
