"""What the tests call that ``rackproof export --to pytest`` writes.

A world is the text of a scenario, or the path of one from the test; paths in a text start there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rackproof.checker.engines import Options
from rackproof.checker.replay import Replayed, replay
from rackproof.checker.report.screen import shown
from rackproof.checker.report.steps import run_in_words
from rackproof.checker.saving import as_text, origin
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import AS_REPORTED, explored
from rackproof.model.kernel import Property
from rackproof.scenarios.loader import load, loads
from rackproof.scenarios.schema import VERSION, Case, Expectation, Scenario


def holds(world: str, name: str, file: str) -> None:
    """Explore every run of a world's scope, and fail unless the property holds in all of them.

    It fails too where that is not known, and where nothing puts the property to the test; what it
    is about need not happen any more. file: the test.
    """
    __tracebackhide__ = True
    scenario = _loaded(world, file)
    known = [prop.name for prop in scenario.case.setting.system.properties]
    if name not in known:
        raise ValueError(f"{file}: there is no property {name!r}; there are: {', '.join(known)}")
    case = Case(scenario.case.setting, {name: Expectation("holds")})
    run = explored(AS_REPORTED, case, Options(), None)
    (result,) = (result for result in run.results if result.prop.name == name)
    if not result.is_averted:
        raise AssertionError(shown("\n".join(_found(scenario, result))))


def no_longer(run: str, file: str, world: str = "") -> None:
    """Replay the steps of a scenario, and fail where they still violate what it says they do.

    It passes where a step is not possible, be it that it never was, or where what ``expect:`` has
    as violated holds at the end. run: the scenario; of another world, what it has beside that.
    ``ScenarioError`` where it names what the world no longer has: export it again.
    """
    __tracebackhide__ = True
    scenario = loads(_described(_loaded(world, file), file) + run if world else run, Path(file))
    expected = [name for name, e in scenario.case.expect.items() if e.verdict == "violated"]
    if scenario.steps is None or not expected:
        raise ValueError(f"{file}: needs steps, and a property that expect: has as violated")
    replayed = replay(scenario)
    if len(replayed.trace.steps) < len(scenario.steps):
        return
    violated = [
        prop
        for prop in replayed.trace.system.properties
        if prop.name in expected and replayed.trace.violates(prop)
    ]
    if violated:
        raise AssertionError(shown("\n".join(_told(scenario, replayed, violated))))


def _loaded(world: str, file: str) -> Scenario:
    return loads(world, Path(file)) if "\n" in world else load(Path(file).parent / world)


def _described(scenario: Scenario, file: str) -> str:
    """The keys of a scenario that describe its world, to be read beside the test."""
    own: Mapping[str, Any] = origin(scenario.case.setting, scenario.path.parent, Path(file).parent)
    return as_text({"rackproof": VERSION, "name": scenario.name, **own})


def _found(scenario: Scenario, result: Result) -> Iterator[str]:
    """What is known of a property that is to hold."""
    reason = f": {result.reason}" if result.reason else ""
    yield from (f"{result.prop.name} is {result.words}{reason}", f"  {scenario.name}")
    yield from (f"  {result.prop.statement}", "")
    if result.trace is not None:
        yield from run_in_words(result.trace)


def _told(scenario: Scenario, run: Replayed, violated: Sequence[Property]) -> list[str]:
    """What is violated, and the steps."""
    names = " and ".join(prop.name for prop in violated)
    pauses = [step.after for step in run.steps]
    return [
        f"this run is still possible, and {names} is violated",
        f"  {scenario.name}",
        *(f"  {prop.statement}" for prop in violated),
        *(f"  {sentence}" for prop in violated for sentence in run.trace.broken(prop)),
        "",
        *run_in_words(run.trace, pauses, run.timing),
    ]
