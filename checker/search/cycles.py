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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final

import networkx as nx
import numpy as np
from attrs import frozen

from rackproof.checker.native import Native
from rackproof.checker.native.memory import Own, Region, Shared
from rackproof.checker.native.native import Words
from rackproof.checker.search.paths import Cell, Cells, holds, path_to
from rackproof.checker.search.results import Found
from rackproof.checker.search.threads import Team
from rackproof.model.kernel import Fairness, Kind

ROOM: Final = 2_000
"""Bytes that an unfolded state takes, its moves with it."""

Move = tuple[int, Words]
"""The number of an action and the state it leads to."""


class Cycles:
    """The loops among the first of the stored states, with which every calm successor is stored."""

    def __init__(self, team: Team, cells: Cells, bound: int) -> None:
        """bound: how many states to look at."""
        self.team, self.native, self.cells, self.bound = team, team.native, cells, bound
        self.rows = [cell for row in cells for cell in row]

    def loops(self, numbers: Collection[int]) -> dict[int, Found]:
        """The best loop for each of some properties, by the numbers of their monitors."""
        core = self._core(numbers)
        if not core:
            return {}
        graph = Graph(self.native, core, self._watch)
        graph.unfold(sorted(core))
        knots = list(graph.knots(graph.moves))
        found = ((number, self._loop(number, graph, knots, core)) for number in numbers)
        return {number: loop for number, loop in found if loop is not None}

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
        """Called while a graph of so many states grows."""
        self._make_room(count)
        self.team.tick()

    def _make_room(self, count: int) -> None:
        self.team.store.spare(ROOM * count, f"looking for a loop among {count:,} states")

    # The best loop.

    def _loop(
        self, number: int, graph: Graph, knots: Sequence[set[Words]], core: Mapping[Words, int]
    ) -> Found | None:
        """The loop after the fewest faults, then the fewest steps; of those the least state's."""
        best: Knot | None = None
        for predicate, knot in itertools.product(self._instances(number), knots):
            for component in graph.fair(graph.violating(predicate, knot)):
                self.team.tick()
                ranks = [self._rank(words, core[words]) for words in component & core.keys()]
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
            graph, knot = self._renamed(number, path[-1], knot)
        states = tuple(self.native.ordinals(words) for words in path)
        loop = tuple(graph.round(path[-1], knot.component))
        return Found(cell.faults, cell.steps, knot.predicate, states, loop)

    def _renamed(self, number: int, entry: Words, knot: Knot) -> tuple[Graph, Knot]:
        """The same knot under the names it has where a real path enters it."""
        core = {self.native.least(words) for words in knot.component}
        graph = Graph(self.native, core, self._watch)
        graph.unfold([entry])
        for predicate in self._instances(number):
            for component in graph.fair(graph.violating(predicate, graph.moves)):
                if entry in component:
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
    component: set[Words]

    @property
    def entry(self) -> Words:
        """The state by which a run enters."""
        return self.rank[2]


@frozen
class Owed:
    """The actions that fairness promises something to."""

    weak: frozenset[int]
    strong: frozenset[int]

    @classmethod
    def of(cls, native: Native) -> Owed:
        """Sort a relation's actions by their fairness."""
        kinds = [action.firing.transition.fairness for action in native.relation.actions]
        weak, strong = (
            frozenset(n for n, fairness in enumerate(kinds) if fairness is wanted)
            for wanted in (Fairness.WEAK, Fairness.STRONG)
        )
        return cls(weak, strong)


class Graph:
    """Real states and their calm transitions, as far as their canonical forms are in the core."""

    def __init__(
        self, native: Native, core: Collection[Words], watch: Callable[[int], None]
    ) -> None:
        """Begin empty; watch: called with the number of states while they become more."""
        self.native, self.core, self.watch = native, core, watch
        self.owed = Owed.of(native)
        self.moves: dict[Words, list[Move]] = {}
        self.enabled: dict[Words, frozenset[int]] = {}
        self.known: dict[Words, bool] = {}
        actions = native.relation.actions
        self.calm = {n for n, a in enumerate(actions) if a.firing.transition.kind != Kind.FAULT}

    def unfold(self, seeds: Iterable[Words]) -> None:
        """Add states, and all that they lead to."""
        pending = list(seeds)
        while pending:
            state = pending.pop()
            if state not in self.moves:
                self.watch(len(self.moves))
                moves = self.native.moves(state)
                self.enabled[state] = frozenset(action for action, _ in moves)
                self.moves[state] = [move for move in moves if self._stays(move)]
                pending += (after for _, after in self.moves[state])

    def _stays(self, move: Move) -> bool:
        action, after = move
        return action in self.calm and (after in self.moves or self._is_core(after))

    def _is_core(self, state: Words) -> bool:
        known = self.known.get(state)
        if known is None:
            known = self.known[state] = self.native.least(state) in self.core
        return known

    def violating(self, predicate: int, states: Iterable[Words]) -> set[Words]:
        """The states in which an instance of a property is false."""
        relation, ordinals = self.native.relation, self.native.ordinals
        tree = relation.predicates[predicate].tree
        return {words for words in states if holds(relation, tree, ordinals(words)) is False}

    def inner(self, state: Words, states: Collection[Words]) -> Iterator[Move]:
        """The moves of a state that stay among some."""
        return (move for move in self.moves[state] if move[1] in states)

    def knots(self, states: Collection[Words]) -> Iterator[set[Words]]:
        """The strongly connected components among some states that have a transition inside."""
        graph: nx.DiGraph[Words] = nx.DiGraph()
        graph.add_edges_from(
            (state, after) for state in states for _, after in self.inner(state, states)
        )
        for component in nx.strongly_connected_components(graph):
            if len(component) > 1 or any(graph.has_edge(state, state) for state in component):
                yield component

    def fair(self, states: Collection[Words]) -> Iterator[set[Words]]:
        """Components in which a run can stay for ever and give each action what it is owed.

        Where one must be taken that no inner transition takes, no run may stay for ever: if it
        stays possible (weak fairness), or in what has a state in which it is possible (strong).
        """
        pending = [set(states)]
        while pending:
            for component in self.knots(pending.pop()):
                taken = {a for state in component for a, _ in self.inner(state, component)}
                enabled = [self.enabled[state] for state in component]
                starved = self.owed.strong & frozenset().union(*enabled) - taken
                if self.owed.weak.intersection(*enabled) - taken:
                    continue
                if starved:
                    pending.append({s for s in component if not self.enabled[s] & starved})
                else:
                    yield component

    def round(self, start: Words, component: Collection[Words]) -> list[int]:
        """A short way from a state of a fair component back to it that is fair itself.

        It goes to the nearest place that gives an action its due, from there to the next nearest,
        and home when nothing is owed; on the way home more may become owed.
        """
        visited, taken, here = [self.enabled[start]], list[int](), start
        while True:
            debts = self._debts(visited, taken)
            if taken and here == start and not debts:
                return taken
            way = self._way(here, component, debts, start)
            taken += (action for action, _ in way)
            visited += (self.enabled[state] for _, state in way)
            here = way[-1][1]

    def _debts(self, visited: Sequence[frozenset[int]], taken: Collection[int]) -> frozenset[int]:
        """The actions that a walk has not yet given what they are owed."""
        strong = self.owed.strong & frozenset().union(*visited)
        return (self.owed.weak.intersection(*visited) | strong).difference(taken)

    def _way(
        self, here: Words, component: Collection[Words], debts: frozenset[int], home: Words
    ) -> list[Move]:
        """The shortest way to where a debt is settled; without debts, the way home."""
        weak = debts & self.owed.weak
        ways: list[tuple[Words, list[Move]]] = [(here, [])]
        seen: set[Words] = set()
        for state, way in ways:
            for action, after in self.inner(state, component):
                settles = action in debts or bool(weak - self.enabled[after])
                longer = [*way, (action, after)]
                if settles if debts else after == home:
                    return longer
                if after not in seen:
                    seen.add(after)
                    ways.append((after, longer))
        raise AssertionError("a fair component has no fair loop")
