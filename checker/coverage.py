"""Which guards of a model came out the same way in every state that was seen.

A transition that never fires is easily missed: everything holds when nothing happens. The tests of
the lowered trees are evaluated on every state at once, and told by the lines they come from.
"""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from attrs import frozen

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.paths import Place
from rackproof.checker.lowering.relation import Relation, Test, Tree
from rackproof.checker.native.columns import Column, Columns
from rackproof.checker.search import Limits, explore
from rackproof.model.kernel import System

MOST_STATES: Final = 200_000

Places = Mapping[Node, frozenset[Place]]


@frozen
class Guard:
    """A line of the model at which a test came out one way only."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """The line itself."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}: {self.text}"


@frozen
class Coverage:
    """The guards that came out one way only; reason: why this cannot be told."""

    guards: tuple[Guard, ...] = ()
    reason: str | None = None


def coverage(system: System) -> Coverage:
    """Explore without symmetry and tell which guards always came out the same way."""
    relation = lower(system, places=True)
    seen = explore(relation, limits=Limits(max_states=MOST_STATES), keep=True)
    if not seen.exhausted:
        return Coverage(reason=f"guards are not told: more than {MOST_STATES:,} states")
    return Coverage(tuple(one_sided(outcomes(relation, seen.columns))))


def outcomes(relation: Relation, columns: Columns) -> Mapping[Place, set[bool]]:
    """How the tests of each line came out in some states; the relation knows their places."""
    return _Outcomes(relation, columns).outcomes


def one_sided(outcomes: Mapping[Place, set[bool]]) -> list[Guard]:
    """The lines with a test that came out one way only."""
    lines = {(file, line) for (file, line, _), seen in outcomes.items() if len(seen) == 1}
    return [Guard(file, line) for file, line in sorted(lines)]


class _Outcomes:
    """For each line, how its tests came out."""

    def __init__(self, relation: Relation, columns: Columns) -> None:
        self.columns = columns
        self.outcomes: dict[Place, set[bool]] = defaultdict(set)
        everywhere = np.ones(columns.states, dtype=bool)
        for action, places in zip(relation.actions, relation.places, strict=True):
            self._follow(action.tree, everywhere, places)

    def _follow(self, tree: Tree, here: Column, places: Places) -> None:
        if not isinstance(tree, Test):
            return
        true = self.columns.truth(tree.condition)
        for outcome, way in ((True, here & true), (False, here & ~true)):
            if way.any():
                self._note(places.get(tree.condition, ()), outcome)
                self._follow(tree.yes if outcome else tree.no, way, places)

    def _note(self, places: Iterable[Place], outcome: bool) -> None:
        for place in places:
            self.outcomes[place].add(outcome)
