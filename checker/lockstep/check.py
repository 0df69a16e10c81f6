"""Trying an implementation: many runs, or one that is written down."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from attrs import field, frozen

from rackproof.checker.lockstep.machine import Found, Tally, repeat, search
from rackproof.checker.lockstep.run import Action, Limits, Subject
from rackproof.checker.lockstep.telling import Judged, report
from rackproof.checker.report.screen import shown
from rackproof.checker.saving import as_yaml, origin
from rackproof.checker.targets import expand
from rackproof.model.kernel.implementation import Implementation
from rackproof.scenarios.loader import loads
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.worlds import InputError

STACK: Final = "stack:"
WORLD: Final = """\
rackproof: 1
name: {stack} in lock step with an implementation
protocol: {{stack: {stack}}}
rack: {{preset: nvl72, aggregated: 3}}
scope:
  tokens: 3
  retry-limit: 1
  faults: {{crash: 2, hang: 1, resume: 1, drain: 1, restart: 1, leave: 1, disconnect: 1}}
"""
"""What a stack is tried with where nothing else is said."""


@frozen
class Options:
    """How an implementation is tried.

    examples: how many runs. steps: the actions of each. seed: of what is drawn; the same one draws
    the same. known: properties that the stack is known to break, as its model says. save: the
    folder for the scenario of a failure. actions: only these, such as ``submit request-0; wait 2``.
    limits: how long things may take.
    """

    examples: int = 100
    steps: int = 12
    seed: int = 0
    known: Collection[str] = ()
    save: Path | None = None
    actions: str | None = None
    limits: Limits = field(factory=Limits)


def conforms(
    world: str,
    adapter: Callable[[], Implementation],
    options: Options = Options(),
    base: Path = Path(),
) -> Tally:
    """Try an implementation, and say what happened in the runs.

    Raises ``AssertionError`` with the report of a failure, ``InputError`` for a world that is none.
    """
    __tracebackhide__ = True
    scenario = _scenario(world, base)
    subject = Subject.of(adapter, scenario.case.setting.system, options.limits)
    tally, found = _tried(subject, options)
    if found is not None:
        text, judgement = report(found, world)
        if options.save is not None and judgement is not None:
            text += f"\nSaved: {_saved(scenario, found, judgement, options.save)}"
        raise AssertionError(shown(text)) from found.failure.__cause__  # of the adapter's own
    broken = [f"{name} (in {tally.broken[name]} runs)" for name in sorted(tally.broken)]
    unknown = [text for text in broken if text.split()[0] not in options.known]
    if unknown:
        raise AssertionError(
            f"lock step with {world}: the implementation does what the model does, and that breaks "
            f"{', '.join(unknown)}: a known defect of the stack is named in known=(...)"
        )
    return tally


def _tried(subject: Subject, options: Options) -> tuple[Tally, Found | None]:
    if options.actions is None:
        return search(subject, options.examples, options.steps, options.seed)
    try:
        actions = [Action.read(text) for text in options.actions.split(";")]
    except ValueError as error:
        raise InputError(f"actions: {error}") from None
    tally = Tally()
    return tally, repeat(subject, actions, tally)


def _scenario(world: str, base: Path) -> Scenario:
    if world.startswith(STACK):
        return loads(WORLD.format(stack=world.removeprefix(STACK)), Path(world))
    beside = base / world.rpartition(":")[0] if ".py:" in world else base / world
    text = str(base / world) if beside.exists() else world
    target, *others = expand([text]).found
    if others:
        raise InputError(f"{world} stands for {1 + len(others)} scenarios; take one of them")
    return target.load()


def _saved(scenario: Scenario, found: Found, judgement: Judged, folder: Path) -> Path:
    """The run of the model up to where the implementation leaves it, as a scenario."""
    name = judgement.broken[0].prop if judgement.broken else "unexplained"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"lockstep-{name}.yaml"
    described = origin(scenario.case.setting, scenario.path.parent, folder)
    title = f"{scenario.name}: up to what no run does"
    text = as_yaml(judgement.trace, None, title, None, described)
    actions = "; ".join(map(str, found.actions))
    path.write_text(f"{text}# What was done to the implementation: {actions}\n", "utf-8")
    return path
