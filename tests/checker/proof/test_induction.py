"""Induction shows what is so, and sets of clauses come out as brute force has them."""

from __future__ import annotations

import random
from typing import Any

import brute
import naive
import pytest
import worlds
from attrs import evolve
from random_worlds import random_world

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Relation
from rackproof.checker.proof import checking
from rackproof.checker.proof.certificate import certificate
from rackproof.checker.proof.formula import words
from rackproof.checker.proof.induction import (
    Inductive,
    Undecided,
    houdini,
    induction,
    minimal,
    with_lemmas,
)
from rackproof.checker.proof.obligations import SAFETY, Obligation, obligation
from rackproof.checker.proof.proof import Proof
from rackproof.checker.status import Status
from rackproof.model.kernel import (
    ModelError,
    Scope,
    System,
    always,
    at_rest,
    bounded,
    eventually,
    frozen,
    holds,
    step,
    transition,
)
from rackproof.model.kernel.system import at_rest as rests

TINY, MOST = 3_000, 40


def is_safe(system: System, name: str) -> bool:
    prop = next(p for p in system.properties if p.name == name)
    late = prop.scope is Scope.AT_REST
    return all(
        holds(system, prop, state)
        for state in naive.reachable(system)
        if not late or rests(system, state)
    )


def safety(system: System) -> list[str]:
    return [p.name for p in system.properties if p.scope in SAFETY]


def proves(shown: Obligation, clauses: tuple[Node, ...]) -> bool:
    item = certificate("a world", "as reported", Proof(shown, tuple(clauses), "a test", 0.0))
    return checking.check(item).status is Status.OK


@pytest.mark.parametrize("seed", range(12))
def test_of_random_worlds(seed: int) -> None:
    system = random_world(seed)
    relation = lower(system)
    for name in safety(system):
        shown = obligation(relation, [name])
        found = induction(shown, most=2)
        if isinstance(found, Inductive):
            assert is_safe(system, name)
            assert found.clauses is not None
            assert proves(shown, found.clauses)
        elif found.reason.startswith("a bad state"):
            assert not is_safe(system, name)


@pytest.mark.parametrize(
    ("world", "name", "k"),
    [
        ("counters", "ordered", 1),
        ("pool-2-1", "fails-last", 1),
        ("pool-3-2", "fails-last", 1),
        ("stream-3-replay", "no-duplicate", 3),
    ],
)
def test_of_small_worlds(world: str, name: str, k: int) -> None:
    shown = obligation(lower(worlds.WORLDS[world][0]()), [name])
    found = induction(shown)
    assert isinstance(found, Inductive)
    assert found.k == k
    assert found.clauses is not None
    assert proves(shown, found.clauses)


def test_an_induction_of_several_steps_comes_to_an_invariant_in_words() -> None:
    """The invariant that three steps amount to: whoever streams has sent what was delivered."""
    relation = lower(worlds.stream(3, replays=True))
    found = induction(obligation(relation, ["no-duplicate"]))
    assert isinstance(found, Inductive)
    told = [words(relation, clause) for clause in found.clauses or ()]
    assert "not doubled" in told
    assert any("tries[attempt-2].sent >= delivered" in clause for clause in told)


@pytest.mark.parametrize("world", ["lease", "stream-3-restart", "trays-2-2"])
def test_what_is_violated_is_not_shown(world: str) -> None:
    system = worlds.WORLDS[world][0]()
    name = safety(system)[0]
    found = induction(obligation(lower(system), [name]), most=3)
    assert isinstance(found, Undecided)
    assert not is_safe(system, name)


def test_there_is_no_answer_without_time() -> None:
    shown = obligation(lower(worlds.pool(2, 1, 1)), ["fails-last"])
    found = induction(shown, deadline=0.0)
    assert found == Undecided("z3 gave no answer in time")
    assert houdini(shown.relation, brute.exact(shown.relation)[:2], deadline=0.0) is None


# Sets of clauses.


def tiny(seed: int) -> list[Relation]:
    """The slices of a random world that brute force can do."""
    system = random_world(seed)
    relation = lower(system)
    slices = [obligation(relation, [name]).relation for name in safety(system)]
    return [r for r in slices if 0 < sum(1 for _ in brute.states(r)) <= TINY and r.actions]


def some_clauses(relation: Relation, seed: int) -> tuple[Node, ...]:
    """Random clauses, some of them true wherever a run comes, some of them not."""
    pick = random.Random(seed)
    arena, found = relation.arena, dict.fromkeys(brute.exact(relation)[:20])
    for _ in range(20):
        clause = arena.const(0)
        for _ in range(pick.randint(1, 3)):
            variable = pick.choice(relation.variables)
            value = pick.randint(variable.low, variable.high)
            same = arena.eq(arena.var(variable.slot), arena.const(value))
            clause = arena.or_(clause, pick.choice([same, arena.not_(same)]))
        found[clause] = None
    return tuple(found)


# Seeds of worlds with a slice that is small, and in which something happens; and of some in which a
# property holds for reasons that take clauses to say.
SMALL = (3, 13, 16, 17, 20, 21, 27, 28, 29, 30, 36, 38, 40, 42, 45, 51, 55, 56, 59, 60)
SAFE = (13, 42, 62, 66, 77, 80, 84, 87, 90, 100, 154, 170, 188, 225, 237, 238, 244, 248)


@pytest.mark.parametrize("seed", SMALL)
def test_the_largest_inductive_set_is_that_of_brute_force(seed: int) -> None:
    for relation in tiny(seed):
        candidates = some_clauses(relation, seed)
        found = houdini(relation, candidates)
        assert found is not None
        assert set(found) == brute.largest(relation, candidates)


@pytest.mark.parametrize("seed", SAFE)
def test_each_clause_of_a_minimal_invariant_is_needed(seed: int) -> None:
    system = random_world(seed)
    relation, seen = lower(system), 0
    for name in safety(system):
        shown = obligation(relation, [name])
        reached = brute.exact(shown.relation)
        if is_safe(system, name) and 0 < len(reached) < MOST:
            clauses = minimal(shown, reached)
            assert clauses == minimal(shown, reached)
            assert proves(shown, clauses)
            for clause in clauses:
                assert not proves(shown, tuple(c for c in clauses if c != clause))
            seen += 1
    assert seen


def test_what_is_no_invariant_is_not_made_smaller() -> None:
    shown = obligation(lower(worlds.WORLDS["counters"][0]()), ["ordered"])
    with pytest.raises(ValueError, match="not inductive, or do not exclude every bad state"):
        minimal(shown, ())


# Lemmas.


@frozen
class Line:
    sent: int = bounded(0, 6)
    known: int = bounded(0, 6)
    got: int = bounded(0, 6)


@transition(step)
def send(world: Line) -> Line | None:
    """One is sent."""
    return evolve(world, sent=world.sent + 1) if world.sent < 6 else None


@transition(step)
def hear(world: Line) -> Line | None:
    """What was sent is known."""
    return evolve(world, known=world.sent)


@transition(step)
def get(world: Line) -> Line | None:
    """What is known is got."""
    return evolve(world, got=world.known)


@always()
def known_was_sent(world: Line) -> bool:
    """Nothing is known that was not sent."""
    return world.known <= world.sent


@always(lemmas=(known_was_sent,))
def got_was_sent(world: Line) -> bool:
    """Nothing is got that was not sent."""
    return world.got <= world.sent


def line(*properties: Any) -> System:
    return System("line", Line(), (send, hear, get), properties)


def test_a_lemma_makes_a_property_inductive() -> None:
    relation = lower(line(known_was_sent, got_was_sent))
    alone = induction(obligation(relation, ["got-was-sent"]), most=1)
    assert isinstance(alone, Undecided)
    shown, found = with_lemmas(relation, got_was_sent, most=1)
    assert isinstance(found, Inductive)
    assert found.clauses is not None
    assert proves(shown, found.clauses)
    told = {words(relation, clause) for clause in found.clauses}
    assert told == {"sent >= known", "sent >= got"} or told == {"known <= sent", "got <= sent"}


def test_a_lemma_that_is_not_shown_is_no_help() -> None:
    @always()
    def known_at_once(world: Line) -> bool:
        """What was sent is known."""
        return world.known == world.sent

    @always(lemmas=(known_at_once,))
    def got_was_known(world: Line) -> bool:
        """Nothing is got that is not known."""
        return world.got <= world.known

    relation = lower(line(known_at_once, got_was_known))
    _, found = with_lemmas(relation, got_was_known)
    assert isinstance(found, Undecided)
    assert found.reason.startswith("known-at-once: a bad state is 1 step")


def test_a_chain_has_each_lemma_once_and_first() -> None:
    @always(lemmas=(known_was_sent, got_was_sent))
    def both(world: Line) -> bool:
        """Neither is more."""
        return max(world.known, world.got) <= world.sent

    assert both.chain == (known_was_sent, got_was_sent, both)


def test_what_cannot_be_a_lemma() -> None:
    @eventually()
    def some(world: Line) -> bool:
        """Some are sent."""
        return world.sent > 0

    with pytest.raises(
        ModelError, match=r"all-got: its lemma some is asked eventually, not always"
    ):
        at_rest(name="all-got", lemmas=(some,))(lambda world: world.got == world.sent)
    with pytest.raises(ModelError, match="which is no property"):
        always(name="odd", lemmas=(send,))(lambda world: world.got == 0)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="is a tuple of properties"):
        always(name="odd", lemmas=known_was_sent)(lambda world: world.got == 0)  # type: ignore[arg-type]


def test_a_lemma_need_not_be_asked_of_the_world() -> None:
    system = line(got_was_sent)
    assert system.with_lemmas.properties == (got_was_sent, known_was_sent)
    assert system.with_lemmas.with_lemmas.properties == system.with_lemmas.properties
    _, found = with_lemmas(lower(system.with_lemmas), got_was_sent, most=1)
    assert isinstance(found, Inductive)
