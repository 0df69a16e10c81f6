"""The command ``cost``: from a target to what its paths take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs
from attrs import frozen

from rackproof.checker.asking import ask, setting_of
from rackproof.checker.explain.asked import of_cost
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.report.cost import CostReport
from rackproof.checker.report.setting import scope_in_words
from rackproof.checker.searched import Progress
from rackproof.checker.session import Session
from rackproof.checker.targets import Target
from rackproof.checker.timing.classes import Bounds
from rackproof.checker.timing.durations import with_values
from rackproof.checker.timing.moves import moves_of
from rackproof.checker.timing.paths import paths
from rackproof.checker.timing.reach import violations
from rackproof.checker.timing.stalls import worst_stall
from rackproof.scenarios.schema import Scenario, Setting

PATIENCE: Final = 60.0
"""Seconds for each exploration, unless told otherwise."""


@frozen
class Cost:
    """What is asked of every target: with other values of some quantities, in seconds; and in which
    exam a stack.
    """

    session: Session
    values: Mapping[str, float]
    exam: str | None = None
    fixed: bool = False

    def tell(self, texts: Sequence[str]) -> int:
        """Find what the paths of every target take, and report."""
        status, _ = ask(texts, self.session, self._found, self._show, self._footing)
        return status

    def _found(self, target: Target, scenario: Scenario, progress: Progress) -> CostReport:
        if self.fixed and scenario.fix is not None:
            scenario = attrs.evolve(scenario, case=scenario.fix)
        setting = setting_of(target, scenario, self.exam, ())
        bounds = Bounds(self.session.options.seconds or PATIENCE)
        return cost_of(target.label, setting, self.values, bounds, progress)

    def _footing(self, report: CostReport) -> Footing:
        known = report.durations.timing.quantities
        names = [name for name in report.durations.values if name in known]
        others = [name for name in names if name not in self.values]
        return of_cost(report.target, self.values, self.exam, self.fixed, report.reasons, others)

    def _show(self, report: CostReport) -> None:
        report.show(self.session.terminal().out, self.session.verbosity)


def cost_of(
    label: str,
    setting: Setting,
    values: Mapping[str, float],
    bounds: Bounds,
    progress: Progress | None = None,
) -> CostReport:
    """What the paths of a setting take, with other values of some quantities, in seconds."""
    system = with_values(setting.system, values)
    moves = moves_of(system)
    return CostReport(
        label,
        scope_in_words(setting),
        moves.durations,
        frozenset(values),
        worst_stall(moves, bounds, progress),
        paths(moves, bounds, progress),
        violations(moves, system.properties, bounds, progress),
    )
