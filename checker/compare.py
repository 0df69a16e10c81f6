"""Holding a model's plain functions against their lowered form, on states of a random walk.

What lowering cannot follow it refuses; but Python is large, and a model may do what nobody thought
of. So a world of a user's own is compared on some hundred states before any verdict on it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

from rackproof.checker.lowering.paths import LoweringError
from rackproof.checker.lowering.relation import (
    Action,
    Raises,
    Relation,
    Update,
    Verdict,
)
from rackproof.model.kernel import Firing, System

STATES: Final = 200
SEED: Final = 1


def compare(relation: Relation, states: int = STATES) -> None:
    """Raise ``LoweringError`` where a transition or a property does not do what its tree says."""
    actions = {(a.firing.transition.name, a.firing.arguments): a for a in relation.actions}
    for state in _walk(relation.system, states):
        ordinals = relation.system.schema.flatten(state)
        for firing in relation.system.firings():
            _moves_alike(relation, firing, actions, state, ordinals)
        for predicate in relation.predicates:
            leaf = relation.leaf(predicate.tree, ordinals)
            if isinstance(leaf, Verdict):
                plain = predicate.property.function(state, *predicate.arguments)
                if bool(plain) != bool(relation.value(leaf.value, ordinals)):
                    raise _unlike(predicate.property.where, predicate.property.name)


def _walk(system: System, states: int) -> Iterator[Any]:
    """States of random walks from the initial one."""
    chance, state, firings = random.Random(SEED), system.initial, list(system.firings())
    for _ in range(states):
        yield state
        chance.shuffle(firings)
        following = (_fired(system, firing, state) for firing in firings)
        state = next((after for after in following if after is not None), system.initial)


def _fired(system: System, firing: Firing, state: Any) -> Any | None:
    """The next state; None where the function raises, which the search tells in its own way."""
    try:
        return firing.apply(system, state)
    except Exception:
        return None


def _moves_alike(
    relation: Relation,
    firing: Firing,
    actions: dict[tuple[str, tuple[int, ...]], Action],
    state: Any,
    ordinals: tuple[int, ...],
) -> None:
    action = actions.get((firing.transition.name, firing.arguments))
    leaf = relation.leaf(action.tree, ordinals) if action else None
    if isinstance(leaf, Raises):
        return
    kept = [variable.slot for variable in relation.variables]
    lowered = list(ordinals)
    for slot, node in leaf.writes if isinstance(leaf, Update) else ():
        lowered[slot] = relation.value(node, ordinals)
    after = _fired(relation.system, firing, state)
    plain = ordinals if after is None else relation.system.schema.flatten(after)
    if any(lowered[slot] != plain[slot] for slot in kept):
        raise _unlike(firing.transition.where, firing.transition.name)


def _unlike(where: str, name: str) -> LoweringError:
    return LoweringError(
        f"{where}: {name} does not do the same on plain values as when it is lowered; it uses "
        "something that cannot be followed (types, chance, state outside the world, "
        "caught errors)"
    )
