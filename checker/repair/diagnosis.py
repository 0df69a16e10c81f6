"""A setting diagnosed: what mends each property that is violated, what each that holds needs."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from rackproof.checker.engines import Options
from rackproof.checker.repair.needs import Needs, needs
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.repairs import Repairs, repairs
from rackproof.checker.repair.switches import Assignment, Choice
from rackproof.checker.searched import Progress
from rackproof.checker.verdicts import Result, Verdict
from rackproof.checker.verify import Run
from rackproof.model.kernel import Scope
from rackproof.scenarios.schema import Case
from rackproof.scenarios.worlds import InputError

NONE: Final = (
    "there are no mechanisms to change: the world would have them as a constant, an attrs class of "
    "truth values and enums, such as protocol: Protocol = fixed()"
)


class NoMechanisms(InputError):
    """A world has nothing that a repair might change."""


@frozen
class Diagnosis:
    """What mends and what is needed.

    repairs: of each property that counts and is violated; where there are several, of all together
    too. needs: of each that counts and holds. reported: what the scenario's own fix changes.
    """

    repairs: tuple[Repairs, ...]
    needs: tuple[Needs, ...]
    reported: Choice | None = None

    def is_reported(self, choice: Choice) -> bool:
        """Whether a change is the one that the scenario says is the fix."""
        return self.reported is not None and dict(choice) == dict(self.reported)


def diagnose(
    run: Run, fix: Case | None, options: Options, progress: Progress | None = None
) -> Diagnosis:
    """Diagnose a case that was explored; ``NoMechanisms`` where its world has none."""
    protocols = Protocols(run.case.setting, options, progress)
    if not protocols.switches.all:
        raise NoMechanisms(f"{run.case.setting.system.name}: {NONE}")
    protocols.learn(run)
    results = protocols.results(protocols.switches.present)
    judged = [result for result in results.values() if _counts(run.case, result)]
    reported = _reported(protocols, fix)
    violated = [result.prop.name for result in judged if result.verdict is Verdict.VIOLATED]
    asked = [(name,) for name in violated] + ([tuple(violated)] if len(violated) > 1 else [])
    names = [result.prop.name for result in judged]
    present = protocols.switches.present
    return Diagnosis(
        repairs=tuple(repairs(protocols, those, names, reported) for those in asked),
        needs=tuple(needs(protocols, result.prop.name) for result in judged if _holds(result)),
        reported=None if reported is None else protocols.switches.choice(reported, present),
    )


def _counts(case: Case, result: Result) -> bool:
    """Whether a property counts: those that a scenario names, or all."""
    return result.prop.name in case.expect if case.expect else not result.is_absent


def _holds(result: Result) -> bool:
    return result.verdict is Verdict.HOLDS and result.prop.scope is not Scope.SOMETIMES


def _reported(protocols: Protocols, fix: Case | None) -> Assignment | None:
    """The protocol of a scenario's fix."""
    return None if fix is None else protocols.switches.of(fix.setting.system)
