"""The slowest engine there is: breadth first over plain functions, and orbits by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.symmetry import Class
from rackproof.model.kernel import System, successors
from rackproof.model.kernel.domains import Identifier
from rackproof.model.kernel.schema import Lane, Slot


def reachable(system: System, most: int = 1_000_000) -> list[Any]:
    """Every reachable state, breadth first."""
    seen, order = {system.initial}, [system.initial]
    for state in order:
        for _, after in successors(system, state):
            if after not in seen and len(order) < most:
                seen.add(after)
                order.append(after)
    return order


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
