"""Runs that never end: loops in which something that is to be true again and again never is.

First native code kills every state from which each run leaves what matters: what is not false
somewhere, and then, pass after pass, what has no living successor. Mostly nothing survives. What
does (the *core*) can go on for ever up to symmetry; it is unfolded into real states, as symmetry
does not tell whose turn it is. There a strongly connected component in which a property is false
throughout holds a loop if it can give each transition what its fairness promises.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

import numpy as np
from attrs import frozen

from rackproof.checker.native.memory import Own, Region, Shared
from rackproof.checker.native.native import Words
from rackproof.checker.search.graph import Graph
from rackproof.checker.search.paths import Cell, Cells, path_to
from rackproof.checker.search.results import Found
from rackproof.checker.search.store import LimitReached
from rackproof.checker.search.threads import Team

ROOM: Final = 5_000
"""Bytes that an unfolded state takes, with a dozen moves."""

UNORDERED: Final = "with orders of steps left out, it cannot be told which loops are fair"


class Cycles:
    """The loops among the first of the stored states, with which every calm successor is stored."""

    def __init__(self, team: Team, cells: Cells, bound: int) -> None:
        """bound: how many states to look at."""
        self.team, self.native, self.cells, self.bound = team, team.native, cells, bound
        self.rows = [cell for row in cells for cell in row]

    def loops(self, numbers: Collection[int]) -> Iterator[tuple[int, Found]]:
        """The best loop for each of some properties, with the number of its monitor.

        Where steps are taken alone, it can only be told that there is none: ``LimitReached``
        otherwise.
        """
        core = self._core(numbers)
        if core and self.native.alone:
            raise LimitReached(UNORDERED)
        graph = Graph(self.native, core, self._watch)
        graph.unfold(sorted(core))
        knots = list(graph.knots(graph.all))
        for number in numbers:
            found = self._loop(number, graph, knots, core)
            if found is not None:
                yield number, found

    # The core.

    def _core(self, numbers: Collection[int]) -> dict[Words, int]:
        """The states, with their numbers, that can go on for ever up to symmetry."""
        for number in range(len(self.native.monitors.properties)):
            self.team.opened.set_byte(number, number in numbers)
        self.team.store.spare(self.bound + 1, "which states can go on for ever")
        alive = Region(self.bound + 1)  # a byte each, after one for states that are not stored
        try:
            self.team.store.shared[Shared.ALIVE] = alive.address
            self.team.loop("mark", 0, self.bound)
            self._trim()
            left = np.flatnonzero(np.frombuffer(alive.copied(), dtype=np.uint8)) - 1
        finally:
            alive.close()
        self._make_room(len(left))
        width, states = self.native.layout.words, self.team.store.states
        return {states.words(int(n) * width, width): int(n) for n in left}

    def _trim(self) -> None:
        """Kill until nothing dies: mostly a few passes, as most transitions lead to later states
        and each pass begins with the last.
        """
        self.team.store.shared[Shared.LAST] = self.bound - 1
        before = -1
        while before < self.team.total(Own.KILLED):
            before = self.team.total(Own.KILLED)
            self.team.loop("trim", 0, self.bound)

    def _watch(self, count: int) -> None:
        """Called while a graph of so many states is made and looked at."""
        self._make_room(count)
        self.team.tick()

    def _make_room(self, count: int) -> None:
        self.team.store.spare(ROOM * count, f"looking for a loop among {count:,} states")

    # The best loop.

    def _loop(
        self, number: int, graph: Graph, knots: Sequence[set[int]], core: Mapping[Words, int]
    ) -> Found | None:
        """The loop after the fewest faults, then the fewest steps; of those the least state's."""
        best: Knot | None = None
        for predicate, knot in itertools.product(self._instances(number), knots):
            for component in graph.fair(graph.violating(predicate, knot)):
                self.team.tick()
                known = (graph.states[state] for state in component)
                ranks = [self._rank(words, core[words]) for words in known if words in core]
                if ranks and (best is None or min(ranks) < best.rank):
                    best = Knot(min(ranks), predicate, component)
        return None if best is None else self._found(number, graph, best, core[best.entry])

    def _instances(self, number: int) -> list[int]:
        prop, predicates = self.native.monitors.properties[number], self.native.relation.predicates
        return [i for i, predicate in enumerate(predicates) if predicate.property is prop]

    def _rank(self, words: Words, number: int) -> tuple[int, int, Words]:
        cell = self._cell(number)
        return cell.faults, cell.steps, words

    def _cell(self, number: int) -> Cell:
        return self.rows[bisect_right(self.rows, number, key=attrgetter("begin")) - 1]

    def _found(self, number: int, graph: Graph, knot: Knot, entry: int) -> Found:
        cell = self._cell(entry)
        path = self._real(path_to(self.team, self.cells, cell, knot.entry))
        if path[-1] != knot.entry:
            graph, knot = self._renamed(number, path[-1], graph, knot)
        states = tuple(self.native.ordinals(words) for words in path)
        loop = tuple(graph.round(graph.numbers[path[-1]], knot.component))
        return Found(cell.faults, cell.steps, knot.predicate, states, loop)

    def _renamed(self, number: int, entry: Words, graph: Graph, knot: Knot) -> tuple[Graph, Knot]:
        """The same knot under the names it has where a real path enters it."""
        least, states = self.native.least, graph.states
        core = {least(states[state]) for state in knot.component}
        graph = Graph(self.native, core, self._watch)
        graph.unfold([entry])
        for predicate in self._instances(number):
            for component in graph.fair(graph.violating(predicate, graph.all)):
                if graph.numbers[entry] in component:
                    return graph, Knot((*knot.rank[:2], entry), predicate, component)
        raise AssertionError("a loop is lost under other names")

    def _real(self, path: Sequence[Words]) -> list[Words]:
        """Real states whose canonical forms are those of a path."""
        native = self.native
        real = [native.layout.pack(native.relation.initial)]
        for target in path[1:]:
            ways = (after for _, after in native.moves(real[-1]) if native.least(after) == target)
            real.append(next(ways))
        return real


@frozen
class Knot:
    """States among which a run can stay for ever, be fair, and violate an instance of a property.

    rank: the fewest faults and steps to one of them, and which that is.
    """

    rank: tuple[int, int, Words]
    predicate: int
    component: set[int]

    @property
    def entry(self) -> Words:
        """The state by which a run enters."""
        return self.rank[2]
