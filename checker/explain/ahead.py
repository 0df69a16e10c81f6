"""What may still come: whether, and how, a run can go on from a state without the violation.

A state is *bad* where the violation has come: where a property that must always hold fails; for
one that is asked at rest, or of what comes again and again, where it fails at rest. A run is *safe*
that meets no bad state and comes to rest, or goes round a fair loop for ever along which nothing
fails for good. Whether faults, clients and the environment do something is a choice too, within
what is left of their budgets. From a *doomed* state there is no safe run: every fair run ends in
the violation.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from rackproof.checker.explain.bound import Bound
from rackproof.checker.lowering import lower
from rackproof.checker.native import Native
from rackproof.checker.native.native import Words
from rackproof.checker.search.graph import Graph, Move
from rackproof.checker.search.paths import holds
from rackproof.checker.trace import Trace, for_ever, run
from rackproof.model.kernel import Firing, Kind, Property, Scope, System, eventually


@eventually(name="rounds")
def _rounds(_: Any) -> bool:
    """Nothing; but where it is asked, all is kept that tells rest, and which loops are fair."""
    return True


Node = tuple[Words, bool]
"""A state, and whether the premise has been met on the way there."""


@frozen
class Way:
    """How a run goes on: firings to rest, or to a loop and once round it."""

    lead: tuple[Firing, ...]
    loop: tuple[Firing, ...] = ()

    def after(self, trace: Trace) -> Trace:
        """The run that goes on like this from the end of another; replayed by the plain functions,
        ``EngineError`` where it is not possible.
        """
        firings = [*(step.firing for step in trace.steps), *self.lead]
        lead = run(trace.system, firings)
        return for_ever(lead, self.loop) if self.loop else lead


class Ahead:
    """The states ahead of those of a run, explored as far as they are asked for.

    States are real ones, without symmetry, as fairness asks for whose turn it is.
    """

    def __init__(self, system: System, prop: Property, bound: Bound) -> None:
        """Lower and compile the system with this property alone."""
        self.system, self.prop, self.bound = system, prop, bound
        whole = attrs.evolve(system, properties=(prop, _rounds))
        self.relation = lower(whole)
        self.native = Native(self.relation)
        actions = self.relation.actions
        self.firings = [action.firing for action in actions]
        self.is_fault = [f.transition.kind is Kind.FAULT for f in self.firings]
        self.is_progress = [f.is_progress for f in self.firings]
        mine = [n for n, p in enumerate(self.relation.predicates) if p.property is prop]
        self.instances = mine
        self.premises = [
            n for n, p in enumerate(self.relation.predicates) if p.property is prop.premise
        ]
        self._moves: dict[Words, list[tuple[int, Words]]] = {}
        self._met: dict[Words, bool] = {}
        self._doomed: set[Node] = set()
        self._safe: dict[Node, Way] = {}

    # States.

    def words(self, state: Any) -> Words:
        """A plain state as the search keeps it."""
        return self.native.layout.pack(self.system.schema.flatten(state))

    def moves(self, words: Words) -> list[tuple[int, Words]]:
        """What is possible in a state, in the order of the actions."""
        if words not in self._moves:
            self.bound.check(len(self._moves))
            self._moves[words] = self.native.moves(words)
        return self._moves[words]

    def number(self, firing: Firing) -> int:
        """The number of a firing among the actions."""
        return self.firings.index(firing)

    def rests(self, words: Words) -> bool:
        """Whether no step and no timer is possible."""
        return not any(self.is_progress[action] for action, _ in self.moves(words))

    def is_bad(self, words: Words) -> bool:
        """Whether the violation has come."""
        if self.prop.scope is not Scope.ALWAYS and not self.rests(words):
            return False
        return not all(self._holds(number, words) for number in self.instances)

    def meets(self, words: Words) -> bool:
        """Whether the premise is met in a state; there is always one where none is declared."""
        if self.prop.premise is None:
            return True
        if words not in self._met:
            self._met[words] = any(self._holds(number, words) for number in self.premises)
        return self._met[words]

    def _holds(self, number: int, words: Words) -> bool:
        tree = self.relation.predicates[number].tree
        return holds(self.relation, tree, self.native.ordinals(words)) is True

    # Safe runs.

    def nearest(self, state: Any, met: bool = True) -> Way | None:
        """The safe run from a state with the fewest faults and then steps; None where there is
        none. To rest, unless it cannot come to rest. met: whether the premise has been met before;
        else it must be on the way. ``Cut`` where that takes too long to tell.
        """
        return self.nearest_from(self.words(state), met)

    def nearest_from(self, words: Words, met: bool = True) -> Way | None:
        """The same from a state as the search keeps it."""
        start = words, met or self.meets(words)
        if start in self._safe:
            return self._safe[start]
        if start in self._doomed or self.is_bad(words):
            return None
        found = _Found(self, start)
        way = found.to_rest() or found.to_loop()
        if way is None:
            self._doomed.update(found.came)
        else:
            self._safe[start] = way
        return way

    def is_safe(self, words: Words) -> bool:
        """Whether a safe run begins in a state, the premise aside."""
        return self.nearest_from(words) is not None

    def further(self, node: Node) -> Iterator[tuple[int, Node]]:
        """The moves of a node to nodes that are neither bad nor known to be doomed."""
        words, met = node
        for action, after in self.moves(words):
            following = after, met or self.meets(after)
            if following not in self._doomed and not self.is_bad(after):
                yield action, following

    def ends(self, node: Node) -> bool:
        """Whether a run that stops here has come to rest safely."""
        words, met = node
        return met and self.rests(words)

    # Loops.

    def satisfied(self, graph: Graph, component: set[int]) -> list[set[int]] | None:
        """For each instance of a property that is to be true again and again, where in a component
        it is; None where one is nowhere.
        """
        if self.prop.scope is not Scope.EVENTUALLY:
            return []
        found = [
            {state for state in component if self._holds(number, graph.states[state])}
            for number in self.instances
        ]
        return found if all(found) else None


class _Found:
    """The nodes that one search came to: fewest faults first, then fewest steps."""

    def __init__(self, ahead: Ahead, start: Node) -> None:
        self.ahead, self.start = ahead, start
        self.came: dict[Node, tuple[int, Node] | None] = {}

    def to_rest(self) -> Way | None:
        """The way to the nearest place where a run can come to rest."""
        serial = itertools.count()
        pending: list[tuple[int, int, int, Node, tuple[int, Node] | None]]
        pending = [(0, 0, next(serial), self.start, None)]
        while pending:
            faults, steps, _, node, before = heapq.heappop(pending)
            if node in self.came:
                continue
            self.came[node] = before
            if self.ahead.ends(node):
                return Way(self._firings(node))
            self.ahead.bound.check(len(self.came))
            for action, after in self.ahead.further(node):
                if after not in self.came:
                    more = faults + self.ahead.is_fault[action]
                    heapq.heappush(pending, (more, steps + 1, next(serial), after, (action, node)))
        return None

    def _firings(self, node: Node) -> tuple[Firing, ...]:
        """How the search came to a node."""
        found = []
        while (before := self.came[node]) is not None:
            action, node = before
            found.append(self.ahead.firings[action])
        return tuple(found[::-1])

    def to_loop(self) -> Way | None:
        """The way to a fair loop that is safe, and round it."""
        states = {words: None for words, _ in self.came}
        graph = Graph(self.ahead.native, states, self.ahead.bound.check)
        graph.unfold(states)
        entries = {words: number for number, (words, met) in enumerate(self.came) if met}
        best: tuple[int, set[int], Sequence[set[int]]] | None = None
        for component in graph.fair(graph.all):
            spots = self.ahead.satisfied(graph, component)
            known = [entries[w] for s in component if (w := graph.states[s]) in entries]
            if spots is not None and known and (best is None or min(known) < best[0]):
                best = min(known), component, spots
        if best is None:
            return None
        node = list(self.came)[best[0]]
        begun = _tour(graph, graph.numbers[node[0]], best[1], best[2])
        loop = graph.round(graph.numbers[node[0]], best[1], begun)
        return Way(self._firings(node), tuple(self.ahead.firings[action] for action in loop))


def _tour(
    graph: Graph, start: int, component: set[int], spots: Iterable[set[int]]
) -> tuple[Move, ...]:
    """A walk from a state of a component through each of some sets of its states."""
    walk: list[Move] = []
    for those in spots:
        here = walk[-1][1] if walk else start
        if those.isdisjoint({start, *(state for _, state in walk)}):
            walk += _shortest(graph, here, component, those)
    return tuple(walk)


def _shortest(graph: Graph, here: int, component: set[int], goal: set[int]) -> list[Move]:
    came: dict[int, tuple[int, int] | None] = {here: None}
    for state in (order := [here]):
        if state in goal:
            return _walked(came, state)
        for action, after in graph.inner(state, component):
            if after not in came:
                came[after] = action, state
                order.append(after)
    raise AssertionError("a component is not connected")


def _walked(came: Mapping[int, tuple[int, int] | None], state: int) -> list[Move]:
    walk: list[Move] = []
    while (before := came[state]) is not None:
        walk.append((before[0], state))
        state = before[1]
    return walk[::-1]
