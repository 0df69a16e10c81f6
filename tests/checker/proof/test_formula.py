"""Formulas in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import worlds

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Arena, Node
from rackproof.checker.proof.formula import ordered, state_in_words, words

RELATION = lower(worlds.pool(3, 1, 2))
ARENA = RELATION.arena
LABELS = {slot.label: n for n, slot in enumerate(RELATION.system.schema.slots)}
PHASE, WORKER = LABELS["requests[request-0].phase"], LABELS["requests[request-0].worker"]
TRIED, LEFT = LABELS["requests[request-0].tried[worker-1]"], LABELS["crashes_left"]


def any_of(*nodes: Node) -> Node:
    result = ARENA.const(0)
    for node in nodes:
        result = ARENA.or_(result, node)
    return result


def at(slot: int, value: int) -> Node:
    return ARENA.eq(ARENA.var(slot), ARENA.const(value))


def no(node: Node) -> Node:
    return ARENA.not_(node)


REQUEST = "requests[request-0]"


@pytest.mark.parametrize(
    ("node", "told"),
    [
        (at(PHASE, 0), f"{REQUEST}.phase == QUEUED"),
        (no(at(PHASE, 0)), f"{REQUEST}.phase != QUEUED"),
        (any_of(at(PHASE, 0), at(PHASE, 2)), f"{REQUEST}.phase in {{QUEUED, DONE}}"),
        (at(WORKER, -1), f"{REQUEST}.worker == none"),
        (at(WORKER, 2), f"{REQUEST}.worker == worker-2"),
        (ARENA.var(TRIED), f"{REQUEST}.tried[worker-1]"),
        (no(ARENA.var(TRIED)), f"not {REQUEST}.tried[worker-1]"),
        (
            any_of(no(at(PHASE, 1)), no(ARENA.var(TRIED)), at(WORKER, 1)),
            f"{REQUEST}.phase == RUNNING and {REQUEST}.tried[worker-1] "
            f"=> {REQUEST}.worker == worker-1",
        ),
        (
            any_of(no(at(PHASE, 1)), no(ARENA.var(TRIED))),
            f"not ({REQUEST}.phase == RUNNING and {REQUEST}.tried[worker-1])",
        ),
        (
            any_of(at(PHASE, 1), ARENA.var(TRIED)),
            f"{REQUEST}.phase == RUNNING or {REQUEST}.tried[worker-1]",
        ),
        (ARENA.le(ARENA.var(LEFT), ARENA.const(1)), "crashes_left <= 1"),
        (ARENA.lt(ARENA.const(0), ARENA.var(LEFT)), "crashes_left >= 1"),
        (any_of(at(LEFT, 0), at(LEFT, 2)), "crashes_left != 1"),
        (ARENA.le(ARENA.const(0), ARENA.var(LEFT)), "true"),
        (
            ARENA.le(ARENA.var(WORKER), ARENA.add(ARENA.var(LEFT), ARENA.const(1))),
            f"{REQUEST}.worker <= (crashes_left + 1)",
        ),
        (
            no(ARENA.le(ARENA.var(WORKER), ARENA.var(LEFT))),
            f"{REQUEST}.worker > crashes_left",
        ),
        (
            ARENA.eq(ARENA.var(LEFT), ARENA.var(WORKER)),
            f"{REQUEST}.worker == crashes_left",
        ),
    ],
)
def test_in_words(node: Node, told: str) -> None:
    assert words(RELATION, node) == told


def test_an_invariant_has_one_order() -> None:
    clauses = [at(PHASE, 1), ARENA.var(TRIED), at(WORKER, 0), at(PHASE, 0)]
    found = ordered(RELATION, clauses)
    assert found == ordered(RELATION, [*reversed(clauses), clauses[0]])
    assert [words(RELATION, clause) for clause in found] == [
        f"{REQUEST}.phase == QUEUED",
        f"{REQUEST}.phase == RUNNING",
        f"{REQUEST}.worker == worker-0",
        f"{REQUEST}.tried[worker-1]",
    ]


def test_the_order_of_construction_does_not_matter() -> None:
    def built(first: Callable[[Arena], Node], second: Callable[[Arena], Node]) -> str:
        relation = lower(worlds.pool(3, 1, 2))
        one, other = first(relation.arena), second(relation.arena)
        return words(relation, relation.arena.or_(one, other))

    def sums(arena: Arena) -> Node:
        return arena.le(arena.add(arena.var(WORKER), arena.var(LEFT)), arena.const(2))

    def equal(arena: Arena) -> Node:
        return arena.eq(arena.var(LEFT), arena.var(PHASE))

    assert built(sums, equal) == built(equal, sums)


def test_a_state_in_words() -> None:
    told = dict(state_in_words(RELATION, dict(enumerate(RELATION.initial))))
    assert told["requests[request-0].phase"] == "QUEUED"
    assert told["requests[request-0].worker"] == "none"
    assert told["requests[request-0].tried[worker-1]"] == "false"
    assert told["crashes_left"] == "2"
