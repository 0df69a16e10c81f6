"""Invariants of tiny worlds by brute force: the reachable states, written out as clauses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import naive

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Relation, Update

State = tuple[int, ...]


def reachable(relation: Relation) -> set[State]:
    """The reachable states, as far as the variables of the relation go."""
    schema = relation.system.schema
    states = naive.reachable(relation.system)
    return {naive.projected(relation, schema.flatten(state)) for state in states}


def exact(relation: Relation) -> tuple[Node, ...]:
    """Clauses that are all true in the reachable states and nowhere else."""
    return tuple(_excluding(relation, (), reachable(relation)))


def _excluding(relation: Relation, prefix: State, states: set[State]) -> Iterator[Node]:
    """A clause for each shortest prefix with which no state begins."""
    if not states:
        yield _not_all(relation, prefix)
    elif len(prefix) < len(relation.variables):
        variable = relation.variables[len(prefix)]
        for value in range(variable.low, variable.high + 1):
            with_it = {state for state in states if state[len(prefix)] == value}
            yield from _excluding(relation, (*prefix, value), with_it)


def _not_all(relation: Relation, prefix: State) -> Node:
    arena = relation.arena
    clause = arena.const(0)
    for variable, value in zip(relation.variables, prefix, strict=False):
        same = arena.eq(arena.var(variable.slot), arena.const(value))
        clause = arena.or_(clause, arena.not_(same))
    return clause


def states(relation: Relation) -> Iterator[State]:
    """Every state there might be."""
    return itertools.product(*(range(v.low, v.high + 1) for v in relation.variables))


def value(relation: Relation, node: Node, state: State) -> int:
    """The value of a node in a state of the variables."""
    return relation.value(node, ordinals(relation, state))


def ordinals(relation: Relation, state: State) -> list[int]:
    """The ordinals of all slots."""
    found = list(relation.initial)
    for variable, ordinal in zip(relation.variables, state, strict=True):
        found[variable.slot] = ordinal
    return found


def steps(relation: Relation, state: State) -> Iterator[State]:
    """The states that an action leads to."""
    before = ordinals(relation, state)
    for action in relation.actions:
        leaf = relation.leaf(action.tree, before)
        if isinstance(leaf, Update):
            after = list(before)
            for slot, node in leaf.writes:
                after[slot] = relation.value(node, before)
            yield naive.projected(relation, tuple(after))


def largest(relation: Relation, candidates: tuple[Node, ...]) -> set[Node]:
    """The largest inductive set of candidates, by trying every state until nothing changes."""
    first = naive.projected(relation, relation.initial)
    alive = {c for c in candidates if value(relation, c, first)}
    while True:
        allowed = [s for s in states(relation) if all(value(relation, c, s) for c in alive)]
        after = {a for state in allowed for a in steps(relation, state)}
        kept = {c for c in alive if all(value(relation, c, s) for s in after)}
        if kept == alive:
            return alive
        alive = kept
