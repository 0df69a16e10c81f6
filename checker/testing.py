"""What the tests call that ``rackproof export --to pytest`` writes."""

from __future__ import annotations

from pathlib import Path

from rackproof.checker.replay import Replayed, replay
from rackproof.checker.report.screen import shown
from rackproof.checker.report.steps import run_in_words
from rackproof.model.kernel import Property
from rackproof.scenarios.loader import loads
from rackproof.scenarios.schema import Scenario


def no_longer(text: str, file: str) -> None:
    """Replay the steps of a scenario, and fail where they still violate what it says they do.

    It passes where a step is no longer possible, or what ``expect:`` has as violated holds at the
    end. text: the scenario; file: where paths in it start, that of the test. ``ScenarioError``
    where it names what the world no longer has: export the run again.
    """
    __tracebackhide__ = True
    scenario = loads(text, Path(file))
    expected = [name for name, e in scenario.case.expect.items() if e.verdict == "violated"]
    if not scenario.steps or not expected:
        raise ValueError(f"{file}: needs steps, and a property that expect: has as violated")
    run = replay(scenario)
    if len(run.trace.steps) < len(scenario.steps):
        return
    violated = [
        prop
        for prop in run.trace.system.properties
        if prop.name in expected and run.trace.violates(prop)
    ]
    if violated:
        raise AssertionError(shown("\n".join(_told(scenario, run, violated))))


def _told(scenario: Scenario, run: Replayed, violated: list[Property]) -> list[str]:
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
