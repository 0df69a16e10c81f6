"""Many cases explained: those that look the same, once.

Two cases look the same where they are of the same world and their logs say the same, whatever their
places and times are.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final

from attrs import evolve

from rackproof.checker.conform.explain import DEFAULT, explain
from rackproof.checker.conform.moves import Moves
from rackproof.checker.conform.outcome import Explained
from rackproof.checker.conform.renaming import renamed, retold
from rackproof.checker.conform.search import Limits
from rackproof.model.kernel.evidence import Case, Value

MOST_STATES: Final = 100_000
"""States of all worlds together that are kept."""

MOST_ANSWERS: Final = 20_000
"""Answers that are kept."""


class Explainer:
    """Explains one case after another; ``explained`` counts those that had to be searched for."""

    def __init__(self, limits: Limits = DEFAULT) -> None:
        """Nothing is known yet; see ``explain``."""
        self.limits = limits
        self.explained = 0
        self._worlds: dict[Hashable, Moves] = {}
        self._answers: dict[Hashable, Explained] = {}

    def explain(self, case: Case) -> Explained:
        """What came of a case; of one that looks the same, with this one's places and names."""
        key = _looks(case)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._searched(case)
            if len(self._answers) > MOST_ANSWERS:
                del self._answers[next(iter(self._answers))]
        return renamed(retold(found, case), case.called)

    def _searched(self, case: Case) -> Explained:
        """What came of it, under the names of its system."""
        self.explained += 1
        world: Hashable = case.system if case.key is None else case.key
        moves = self._worlds.pop(world, None) or Moves(case.system)
        self._worlds[world] = moves
        plain = evolve(case, called={}, system=moves.system)
        found = explain(plain, self.limits, moves=moves)
        while sum(len(each.states) for each in self._worlds.values()) > MOST_STATES:
            del self._worlds[next(iter(self._worlds))]
        return found


def _looks(case: Case) -> Hashable:
    """What two cases have in common that look the same."""
    logs = tuple(
        tuple((o.witness, o.kind, _items(o.values), _items(o.aside)) for o in log)
        for log in case.logs
    )
    world: Hashable = case.system if case.key is None else case.key
    return (
        world,
        logs,
        case.complete,
        case.missing,
        case.ended,
        tuple(case.stopped),
        case.still_open is None,
    )


def _items(values: Mapping[str, Value]) -> Hashable:
    return tuple(sorted((name, type(value).__name__, value) for name, value in values.items()))
