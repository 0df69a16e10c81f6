"""Lowering: the trees do what the plain functions do, and refuse what they could not follow."""

from __future__ import annotations

from enum import Enum
from typing import Any

import naive
import pytest
import worlds
from random_worlds import random_world

from rackproof.checker.lowering import LoweringError, lower
from rackproof.checker.lowering.relation import Raises, Relation, Update, Verdict
from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    bounded,
    each,
    evolve,
    frozen,
    identifier,
    members,
    step,
    successors,
    transition,
)

Workers = Identifiers("worker")


def moves(relation: Relation, ordinals: tuple[int, ...]) -> dict[tuple[str, Any], Any]:
    """The successors that the trees give, projected, by firing."""
    before = naive.projected(relation, ordinals)
    found = {}
    for action in relation.actions:
        update = relation.leaf(action.tree, ordinals)
        assert not isinstance(update, Raises)
        if isinstance(update, Update):
            after = list(ordinals)
            for slot, node in update.writes:
                after[slot] = relation.value(node, ordinals)
            if naive.projected(relation, tuple(after)) != before:
                key = (action.firing.transition.name, action.firing.arguments)
                found[key] = naive.projected(relation, tuple(after))
    return found


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_trees_and_plain_functions_agree_on_every_reachable_state(name: str) -> None:
    agree(worlds.WORLDS[name][0]())


@pytest.mark.parametrize("seed", range(60))
def test_trees_and_plain_functions_agree_on_random_worlds(seed: int) -> None:
    agree(random_world(seed), most=150)


def agree(system: System, most: int = 1_000_000) -> None:
    relation = lower(system)
    for state in naive.reachable(system, most):
        ordinals = system.schema.flatten(state)
        before = naive.projected(relation, ordinals)
        plain = {
            (firing.transition.name, firing.arguments): projected
            for firing, after in successors(system, state)
            if (projected := naive.projected(relation, system.schema.flatten(after))) != before
        }
        assert moves(relation, ordinals) == plain
        for predicate in relation.predicates:
            verdict = relation.leaf(predicate.tree, ordinals)
            assert isinstance(verdict, Verdict)
            value = relation.value(verdict.value, ordinals)
            assert bool(value) == predicate.property.function(state, *predicate.arguments)


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_count_of_reachable_states(name: str) -> None:
    make, states, _ = worlds.WORLDS[name]
    assert len(naive.reachable(make())) == states


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_actions_that_the_trees_call_impossible_never_fire(name: str) -> None:
    system = worlds.WORLDS[name][0]()
    never = set(lower(system).never)
    fired = {f for state in naive.reachable(system) for f, _ in successors(system, state)}
    assert not never & fired


class Phase(Enum):
    A = 1
    B = 2
    C = 3


@frozen
class Lane:
    load: int = bounded(0, 3)


@frozen
class Small:
    phase: Phase = Phase.A
    count: int = bounded(0, 3)
    flag: bool = False
    unread: int = bounded(0, 3)
    who: int | None = identifier(Workers)
    seen: frozenset[int] = members(Workers)
    lanes: tuple[Lane, ...] = each(Workers)


def small(*functions: Any, properties: Any = (), **fields: Any) -> System:
    lanes = (Lane(), Lane())
    transitions = [transition(step)(function) for function in functions]
    return System("small", Small(lanes=lanes, **fields), transitions, properties)


def test_a_field_that_never_changes_is_a_constant_and_one_that_nobody_reads_is_dropped() -> None:
    def go(w: Small) -> Small | None:
        if w.flag or w.phase != Phase.A:
            return None
        return evolve(w, phase=Phase.B, unread=3)

    relation = lower(small(go))
    labels = [relation.system.schema.slots[v.slot].label for v in relation.variables]
    assert labels == ["phase"]
    assert [relation.system.schema.slots[s].label for s in relation.unread] == ["unread"]


def test_a_value_that_no_slot_ever_takes_prunes_its_paths() -> None:
    def go(w: Small) -> Small | None:
        if w.phase == Phase.A:
            return evolve(w, phase=Phase.B)
        return evolve(w, flag=True) if w.phase == Phase.C else None

    def read(w: Small) -> bool:
        return not w.flag

    relation = lower(small(go, properties=[always()(read)]))
    assert [v.high for v in relation.variables] == [1]
    (predicate,) = relation.predicates
    assert isinstance(predicate.tree, Verdict)
    assert relation.arena.value(predicate.tree.value) == 1


def test_read_and_write_sets() -> None:
    def go(w: Small) -> Small | None:
        return evolve(w, count=w.count + 1) if w.count < 3 and not w.flag else None

    def flip(w: Small) -> Small | None:
        return evolve(w, flag=not w.flag)

    relation = lower(small(go, flip))
    label = {slot: relation.system.schema.slots[slot].label for slot in range(8)}
    sets = {
        a.firing.transition.name: ({label[s] for s in a.reads}, {label[s] for s in a.writes})
        for a in relation.actions
    }
    assert sets == {"go": ({"count", "flag"}, {"count"}), "flip": ({"flag"}, {"flag"})}


def test_leaving_a_domain_is_a_leaf_that_raises() -> None:
    def go(w: Small) -> Small | None:
        return evolve(w, count=w.count + 1)

    (action,) = lower(small(go)).actions
    found = lower(small(go)).leaf(action.tree, (0, 3, 0, 0, -1, 0, 0, 0, 0))
    assert isinstance(found, Raises)
    assert "count" in found.message
    assert "0..3" in found.message


def test_an_index_that_is_none_is_a_leaf_that_raises_with_its_line() -> None:
    def go(w: Small) -> Small | None:
        return evolve(w, lanes=w.lanes) if w.lanes[w.who].load == 0 else None  # type: ignore[index]

    relation = lower(small(go))
    (action,) = relation.actions
    assert isinstance(action.tree, Raises)
    assert "TypeError" in action.tree.message
    assert "test_lowering.py:" in action.tree.where


def test_a_loop_over_a_shrinking_count_ends() -> None:
    def go(w: Small) -> Small | None:
        steps, count = 0, w.count
        while count > 0:
            count, steps = count - 1, steps + 1
        return evolve(w, phase=Phase.B) if steps == 3 else evolve(w, count=w.count + 1)

    relation = lower(small(go))
    assert max(v.high for v in relation.variables) == 3


REFUSED = {
    "is": (lambda w: evolve(w, flag=True) if w.who is None else None, "write `==`"),
    "float": (lambda w: evolve(w, count=int(float(w.count))), "float"),
    "division": (lambda w: evolve(w, count=w.count / 2), "//"),
    "text": (lambda w: evolve(w, flag=f"{w.count}" == "0"), "text"),
    "order of names": (lambda w: evolve(w, flag=w.who > 0), "interchangeable"),
    "truth of a name": (lambda w: evolve(w, flag=True) if w.who else None, "!= None"),
    "invert": (lambda w: evolve(w, flag=~w.flag), "not"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_followed_is_refused_with_file_line_and_the_way_to_write_it(
    what: str,
) -> None:
    function, advice = REFUSED[what]

    def go(w: Small) -> Small | None:
        return function(w)  # type: ignore[no-any-return, no-untyped-call]

    def learn(w: Small) -> Small | None:
        return evolve(w, who=1, flag=not w.flag, count=(w.count + 1) % 3)

    with pytest.raises(LoweringError) as caught:
        lower(small(go, learn))
    assert "test_lowering.py:" in str(caught.value)
    assert advice in str(caught.value)


def test_case_none_is_refused_too() -> None:
    def go(w: Small) -> Small | None:
        match w.who:
            case None:
                return evolve(w, who=0)
            case _:
                return None

    with pytest.raises(LoweringError, match="case None"):
        lower(small(go))


def test_is_in_a_helper_that_a_transition_calls_is_found() -> None:
    with pytest.raises(LoweringError, match="write `==`"):
        lower(small(_calls_a_helper))


def _nobody(w: Small) -> bool:
    return w.who is None


def _calls_a_helper(w: Small) -> Small | None:
    return evolve(w, who=0) if _nobody(w) else None


def test_an_endless_loop_is_refused() -> None:
    def go(w: Small) -> Small | None:
        total = w.count
        while total >= 0:
            total = total + 1
        return None

    def learn(w: Small) -> Small | None:
        return evolve(w, count=(w.count + 1) % 3)

    with pytest.raises(LoweringError):
        lower(small(go, learn))
