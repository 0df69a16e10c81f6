"""The slowest engine there is: breadth first over plain functions, and orbits by brute force."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import Any

import networkx as nx

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.symmetry import Class
from rackproof.model.kernel import (
    Fairness,
    Firing,
    Kind,
    Property,
    Scope,
    System,
    holds,
    successors,
)
from rackproof.model.kernel.domains import Identifier
from rackproof.model.kernel.schema import Lane, Slot
from rackproof.model.kernel.system import at_rest


def reachable(system: System, most: int = 1_000_000) -> list[Any]:
    """Every reachable state, breadth first."""
    seen, order = {system.initial}, [system.initial]
    for state in order:
        for _, after in successors(system, state):
            if after not in seen and len(order) < most:
                seen.add(after)
                order.append(after)
    return order


def levels(system: System) -> dict[Any, tuple[int, int]]:
    """Every reachable state with the fewest faults and then steps that lead to it."""
    found: dict[Any, tuple[int, int]] = {}
    count = itertools.count()
    pending = [((0, 0), next(count), system.initial)]
    while pending:
        level, _, state = heapq.heappop(pending)
        if state not in found:
            found[state] = level
            for firing, after in successors(system, state):
                further = level[0] + (firing.transition.kind is Kind.FAULT), level[1] + 1
                heapq.heappush(pending, (further, next(count), after))
    return found


def unfair(system: System, prop: Property) -> tuple[int, int] | None:
    """The fewest faults and steps to where a property ceases to be true again and again: to rest,
    unless it takes fewer faults to a loop. None where it never does.
    """
    found = levels(system)
    rest = [
        level
        for state, level in found.items()
        if at_rest(system, state) and not holds(system, prop, state)
    ]
    loops = []
    for ids in system.choices(prop.parameters):
        graph = nx.MultiDiGraph()
        for state in found:
            if not prop.function(state, *ids):
                for firing, after in successors(system, state):
                    calm = firing.transition.kind is not Kind.FAULT
                    if calm and not prop.function(after, *ids):
                        graph.add_edge(state, after, firing=firing)
        loops += [found[state] for part in fair_parts(system, graph) for state in part]
    best = [(level[0], kind, level[1]) for kind, row in enumerate((rest, loops)) for level in row]
    return min(best)[::2] if best else None


def fair_parts(system: System, graph: nx.MultiDiGraph) -> Iterator[nx.MultiDiGraph]:
    """The strongly connected parts in which a run can be fair for ever."""
    for nodes in list(nx.strongly_connected_components(graph)):
        part = graph.subgraph(nodes)
        taken = {firing for _, _, firing in part.edges(data="firing")}
        possible = {node: {firing for firing, _ in successors(system, node)} for node in nodes}
        owed: dict[Fairness, set[Firing]] = {kind: set() for kind in Fairness}
        for firing in system.firings():
            if firing not in taken:
                owed[firing.transition.fairness].add(firing)
        if not taken or any(all(f in p for p in possible.values()) for f in owed[Fairness.WEAK]):
            continue
        bad = {node for node in nodes if possible[node] & owed[Fairness.STRONG]}
        if bad:
            yield from fair_parts(system, graph.subgraph(nodes - bad))
        else:
            yield part


def projected(relation: Relation, ordinals: tuple[int, ...]) -> tuple[int, ...]:
    """The ordinals of the slots that a relation keeps."""
    return tuple(ordinals[variable.slot] for variable in relation.variables)


def orbit(
    relation: Relation, classes: tuple[Class, ...], ordinals: tuple[int, ...]
) -> set[tuple[int, ...]]:
    """Every state (projected) that an exchange of interchangeable identifiers makes of one."""
    return {
        projected(relation, permuted(relation.system, ordinals, permutation))
        for permutation in permutations(classes)
    }


def permutations(classes: tuple[Class, ...]) -> Iterator[dict[Lane, Lane]]:
    """Every permutation that exchanges bundles within their classes."""
    for orders in itertools.product(*(itertools.permutations(bundles) for bundles in classes)):
        yield {
            lane: moved
            for bundles, order in zip(classes, orders, strict=True)
            for one, other in zip(bundles, order, strict=True)
            for lane, moved in zip(one, other, strict=True)
        }


def permuted(
    system: System, ordinals: tuple[int, ...], permutation: dict[Lane, Lane]
) -> tuple[int, ...]:
    """The ordinals after a permutation of identifiers."""
    slots = system.schema.slots
    places = {slot.path: i for i, slot in enumerate(slots)}
    moved = list(ordinals)
    for slot, value in zip(slots, ordinals, strict=True):
        lanes = iter(slot.lanes)
        path = tuple(
            permutation.get(lane := next(lanes), lane)[1] if isinstance(part, int) else part
            for part in slot.path
        )
        moved[places[path]] = _value(slot, value, permutation)
    return tuple(moved)


def _value(slot: Slot, value: int, permutation: dict[Lane, Lane]) -> int:
    if not isinstance(slot.domain, Identifier) or value < 0:
        return value
    lane = (slot.domain.sort, value)
    return permutation.get(lane, lane)[1]


def orbits(relation: Relation, classes: tuple[Class, ...], states: list[Any]) -> int:
    """How many states there are up to the exchange of interchangeable identifiers."""
    schema = relation.system.schema
    representatives = {min(orbit(relation, classes, schema.flatten(s))) for s in states}
    return len(representatives)


def nearest(system: System, properties: list[Property]) -> int | None:
    """The fewest steps to a state in which one of these fails (``sometimes``: is true)."""
    seen, level = {system.initial}, [system.initial]
    for depth in itertools.count():
        if any(_ends(system, prop, state) for prop in properties for state in level):
            return depth
        further = {after for state in level for _, after in successors(system, state)} - seen
        if not further:
            return None
        seen |= further
        level = list(further)
    raise AssertionError


def _ends(system: System, prop: Property, state: Any) -> bool:
    if prop.scope is Scope.AT_REST and not at_rest(system, state):
        return False
    return holds(system, prop, state) is (prop.scope is Scope.SOMETIMES)
