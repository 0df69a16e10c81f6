"""What runs are safe, by brute force: every state of a small world, with plain functions."""

from __future__ import annotations

import heapq
import itertools
from typing import Any

import naive
import networkx as nx
from attrs import frozen

from rackproof.model.kernel import Firing, Kind, Property, Scope, System, holds, successors
from rackproof.model.kernel.system import at_rest


@frozen
class Safe:
    """The states of a world that are not bad, and where a safe run can end or go on for ever."""

    moves: dict[Any, list[tuple[Firing, Any]]]
    rest: frozenset[Any]
    rounds: frozenset[Any]
    begins: frozenset[Any]
    """Where a safe run begins."""

    def nearest(self, start: Any) -> tuple[int, int]:
        """The fewest faults and then steps to rest; to a loop where no rest can be reached."""
        for goals in (self.rest, self.rounds):
            if (found := self._nearest(start, goals)) is not None:
                return found
        raise AssertionError("no safe run begins there")

    def _nearest(self, start: Any, goals: frozenset[Any]) -> tuple[int, int] | None:
        count, seen = itertools.count(), set[Any]()
        pending = [(0, 0, next(count), start)]
        while pending:
            faults, steps, _, state = heapq.heappop(pending)
            if state in goals:
                return faults, steps
            if state not in seen:
                seen.add(state)
                for firing, after in self.moves[state]:
                    more = faults + (firing.transition.kind is Kind.FAULT)
                    heapq.heappush(pending, (more, steps + 1, next(count), after))
        return None


def safe(system: System, prop: Property) -> Safe:
    """Where safe runs are, as ``checker/explain/ahead.py`` defines them."""

    def bad(state: Any) -> bool:
        asked = prop.scope is Scope.ALWAYS or at_rest(system, state)
        return asked and not holds(system, prop, state)

    states = {state for state in naive.reachable(system) if not bad(state)}
    moves = {
        state: [(f, after) for f, after in successors(system, state) if after in states]
        for state in states
    }
    calm, every = nx.MultiDiGraph(), nx.DiGraph()
    every.add_nodes_from(states)
    for state, found in moves.items():
        for firing, after in found:
            every.add_edge(state, after)
            if firing.transition.kind is not Kind.FAULT:
                calm.add_edge(state, after, firing=firing)
    rest = frozenset(state for state in states if at_rest(system, state))
    rounds = frozenset(
        state
        for part in naive.fair_parts(system, calm)
        if _is_satisfied(system, prop, list(part))
        for state in part
    )
    ends = rest | rounds
    begins = ends.union(*(nx.ancestors(every, state) for state in ends))
    return Safe(moves, rest, rounds, frozenset(begins))


def _is_satisfied(system: System, prop: Property, part: list[Any]) -> bool:
    """Whether a run all over a part makes each instance true again and again."""
    return prop.scope is not Scope.EVENTUALLY or all(
        any(prop.function(state, *ids) for state in part) for ids in system.choices(prop.parameters)
    )
