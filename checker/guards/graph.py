"""The reachable states of a relation and the moves between them, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.native.columns import Column
from rackproof.checker.search import Exploration
from rackproof.model.kernel import Kind

PROGRESS: Final = (Kind.STEP, Kind.TIMER)
Array = NDArray[Any]


class StateGraph:
    """States by number, the initial one 0; moves sorted by the state they leave.

    source, action, target: of each move; states are up to the symmetry that the search used.
    """

    def __init__(self, relation: Relation, seen: Exploration) -> None:
        """Compute every move of the states that an exhaustive search kept."""
        assert seen.exhausted, "all states are there"
        self.relation, self.columns, self.states = relation, seen.columns, seen.states
        native, stored = seen.native, seen.states_in_words()
        numbers = {words: number for number, words in enumerate(stored)}
        moves = [
            (number, action, numbers[native.least(after)])
            for number, words in enumerate(stored)
            for action, after in native.moves(words)
        ]
        table = np.array(moves, dtype=np.int64).reshape(len(moves), 3)
        self.source, self.action, self.target = table[:, 0], table[:, 1], table[:, 2]
        self.first = np.searchsorted(self.source, np.arange(self.states + 1))
        kinds = [action.firing.transition.kind in PROGRESS for action in relation.actions]
        self.is_progress = np.array(kinds, dtype=bool)[self.action]

    @property
    def all(self) -> Column:
        """Every move."""
        return np.ones(len(self.source), dtype=bool)

    def reached(self, kept: Column) -> Column:
        """Which states some of the moves lead to from the initial one."""
        found = np.zeros(self.states, dtype=bool)
        found[0] = True
        for layer in self._layers(kept):
            found[layer] = True
        return found

    def _layers(self, kept: Column) -> Iterator[Array]:
        """The states of each distance from the initial one."""
        known = np.zeros(self.states, dtype=bool)
        known[0] = True
        layer = np.zeros(1, dtype=np.int64)
        while len(layer):
            yield layer
            edges = self.leaving(layer)
            targets = np.unique(self.target[edges[kept[edges]]])
            layer = targets[~known[targets]]
            known[layer] = True

    def leaving(self, states: Array) -> Array:
        """The moves that leave some states."""
        begin, end = self.first[states], self.first[states + 1]
        lengths = end - begin
        offsets = np.repeat(begin - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        return offsets + np.arange(lengths.sum())

    def path(self, kept: Column, bad: Column) -> list[int] | None:
        """The moves of a shortest way to one of some states; None where there is none."""
        layers: list[Array] = []
        for layer in self._layers(kept):
            layers.append(layer)
            hits = layer[bad[layer]]
            if len(hits):
                return self._back(kept, layers, int(hits.min()))
        return None

    def _back(self, kept: Column, layers: list[Array], state: int) -> list[int]:
        found: list[int] = []
        for layer in layers[-2::-1]:
            edges = self.leaving(layer)
            edges = edges[kept[edges] & (self.target[edges] == state)]
            found.append(int(edges.min()))
            state = int(self.source[found[-1]])
        return found[::-1]

    def moving(self, kept: Column) -> Column:
        """The states in which one of these moves is a step or a timer."""
        found = np.zeros(self.states, dtype=bool)
        found[self.source[kept & self.is_progress]] = True
        return found
