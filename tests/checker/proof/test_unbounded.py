"""Proofs for every size: right ones are found, and nothing wrong is ever proved."""

from __future__ import annotations

import time

import naive
import numpy as np
import open_worlds
import pytest
from attrs import evolve
from open_worlds import Call, Climb

from rackproof.checker.lowering import LoweringError, Relation, lower
from rackproof.checker.lowering.relation import Disabled, Raises, Update
from rackproof.checker.proof.instances import instance, seen
from rackproof.checker.proof.learn import Teacher
from rackproof.checker.proof.unbounded import (
    Proof,
    Refuted,
    Unproved,
    flaw,
    prove_for_any,
)
from rackproof.checker.search import explore
from rackproof.invariants import CATALOGUE
from rackproof.model.build import build
from rackproof.model.kernel import (
    ModelError,
    System,
    always,
    bounded,
    eventually,
    fault,
    parameter,
    step,
    successors,
    supply,
    transition,
)
from rackproof.model.kernel import frozen as state
from rackproof.model.protocol import Protocol
from rackproof.model.rack.files import load_rack
from rackproof.model.rack.placement import place
from rackproof.model.scope import Scope


def shown(system: System, names: list[str], sizes: list[str]) -> Proof | Refuted | Unproved:
    return prove_for_any(system, names, sizes, time.monotonic() + 60)


# Parameters.


def test_a_parameter_is_a_constant_unless_it_is_left_open() -> None:
    system = open_worlds.call()
    labels = {slot.label for slot in system.schema.slots}
    assert "tokens" not in labels
    whole = system.leave_open(["tokens"]).schema.slots
    assert {slot.label for slot in whole} - labels == {"tokens"}
    assert {slot.label for slot in whole if slot.rigid} == {"tokens"}


def test_a_supply_that_is_empty_stays_empty() -> None:
    none = evolve(open_worlds.call(), initial=Call(tokens=1, most=1, crashes=0))
    for system, free in ((open_worlds.call(), True), (none, False)):
        slots = system.leave_open(["faults"]).schema.slots
        assert [slot.free for slot in slots if slot.label == "crashes"] == [free]


def test_what_cannot_be_left_open_is_refused() -> None:
    with pytest.raises(ModelError, match="no 'memory' to leave open, but tokens, retries, faults"):
        open_worlds.call().leave_open(["memory"])


def test_an_initial_state_is_as_given() -> None:
    with pytest.raises(ModelError, match="the initial state is not as `given` says"):
        evolve(open_worlds.climbing(tight=True), initial=Climb(top=2, slack=1))


# Lowering.


@pytest.mark.parametrize(
    ("system", "worlds"),
    [
        (
            open_worlds.call().leave_open(["tokens", "retries", "faults"]),
            [Call(tokens=t, most=m, crashes=c) for t in (1, 4) for m in (1, 3) for c in (0, 3)],
        ),
        (
            open_worlds.climbing(tight=False).leave_open(["height"]),
            [Climb(top=t, slack=s) for t in (1, 5) for s in (0, 2)],
        ),
    ],
    ids=["call", "climbing"],
)
def test_one_relation_does_what_the_plain_functions_do_for_all_values(
    system: System, worlds: list[object]
) -> None:
    relation = lower(system)
    for world in worlds:
        for here in naive.reachable(evolve(system, initial=world), 60):
            agree(relation, here)


def agree(relation: Relation, here: object) -> None:
    system = relation.system
    ordinals = system.schema.flatten(here)
    expected = {f.transition.name: system.schema.flatten(s) for f, s in successors(system, here)}
    found = {}
    for action in relation.actions:
        leaf = relation.leaf(action.tree, ordinals)
        assert isinstance(leaf, Update | Disabled)
        if isinstance(leaf, Update):
            after = list(ordinals)
            for slot, node in leaf.writes:
                after[slot] = relation.value(node, ordinals)
            found[action.firing.transition.name] = naive.projected(relation, tuple(after))
    kept = {name: naive.projected(relation, after) for name, after in expected.items()}
    assert {n: a for n, a in found.items() if a != naive.projected(relation, ordinals)} == kept
    for predicate in relation.predicates:
        leaf = relation.leaf(predicate.tree, ordinals)
        assert not isinstance(leaf, Raises)


@state
class Shelf:
    at: int = bounded(0, "length")
    size: int = parameter(1, "length")


@transition(step)
def look(world: Shelf) -> Shelf | None:
    """Look up by a number."""
    return evolve(world, at=world.at + (1, 2, 3)[world.at])


@transition(step)
def cheat(world: Shelf) -> Shelf | None:
    """Change what does not change."""
    return evolve(world, size=world.size + 1)


def shelf(action: object) -> System:
    freedoms = {"length": ("length",)}
    system = System("shelf", Shelf(size=1), (action,), sizes={"length": 3}, freedoms=freedoms)  # type: ignore[arg-type]
    return system.leave_open(["length"])


def test_an_index_without_bound_is_refused() -> None:
    with pytest.raises(LoweringError, match="by a number without upper bound"):
        lower(shelf(look))


def test_a_parameter_never_changes() -> None:
    (action,) = lower(shelf(cheat)).actions
    assert isinstance(action.tree, Raises)
    assert "a parameter was changed: size" in action.tree.message


def test_a_search_needs_bounds() -> None:
    with pytest.raises(ModelError, match="a field without upper bound"):
        explore(lower(open_worlds.call().leave_open(["tokens"])))


# Instances.


def test_an_instance_has_the_states_of_all_its_values() -> None:
    system = open_worlds.call().leave_open(["tokens", "retries", "faults"])
    found = seen(lower(system), 100_000, 60)
    kept = [v.slot for v in found.relation.variables]
    rows = np.array([found.columns[slot] for slot in kept]).T.tolist()
    expected = {
        tuple(system.schema.flatten(here)[slot] for slot in kept)
        for tokens in (1, 2, 3)
        for most in (1, 2, 3)
        for here in naive.reachable(
            evolve(system, initial=Call(tokens=tokens, most=most, crashes=9))
        )
    }
    assert {tuple(row) for row in rows} == expected


def test_supplies_of_an_instance_never_run_out() -> None:
    small = instance(lower(open_worlds.call().leave_open(["faults"])))
    labels = {small.system.schema.slots[v.slot].label for v in small.variables}
    assert "crashes" not in labels
    assert any(a.firing.transition.name == "crash" for a in small.actions)


# Proofs.


@pytest.mark.parametrize(
    ("system", "names", "sizes"),
    [
        (open_worlds.climbing(tight=True), ["below"], ["height"]),
        (open_worlds.call(), ["once", "limited"], ["tokens"]),
        (open_worlds.call(), ["once", "limited"], ["retries"]),
        (open_worlds.call(), ["once", "limited"], ["tokens", "retries", "faults"]),
    ],
)
def test_what_is_right_is_proved(system: System, names: list[str], sizes: list[str]) -> None:
    proof = shown(system, names, sizes)
    assert isinstance(proof, Proof)
    assert proof.open == tuple(sizes)
    assert flaw(proof.obligation, proof.clauses) is None


def test_the_same_proof_is_found_again() -> None:
    one, other = (shown(open_worlds.call(), ["once"], ["tokens"]) for _ in range(2))
    assert isinstance(one, Proof)
    assert isinstance(other, Proof)
    assert one.clauses == other.clauses


@pytest.mark.parametrize(
    ("system", "name", "sizes", "steps"),
    [
        (open_worlds.climbing(tight=False), "below", ["height"], 2),
        (open_worlds.call(replays=False), "once", ["tokens", "retries", "faults"], 7),
        (open_worlds.call(strict=False), "limited", ["tokens", "retries", "faults"], 3),
        (open_worlds.call(strict=False), "limited", ["tokens"], 5),
    ],
)
def test_a_planted_mistake_has_a_run_in_a_finite_instance(
    system: System, name: str, sizes: list[str], steps: int
) -> None:
    found = shown(system, [p.name for p in system.properties], sizes)
    assert isinstance(found, Refuted)
    assert found.name == name
    assert len(found.trace.steps) == steps
    assert any(found.trace.violates(p) for p in system.properties if p.name == name)


def test_a_run_that_needs_more_identifiers_is_told() -> None:
    found = shown(open_worlds.slots(2), ["few"], ["retries"])
    assert isinstance(found, Unproved)
    assert "a run needs more of what stays finite than the scope has" in found.reason
    assert "(in: The next attempt begins.)" in found.reason


def test_a_clause_less_is_no_invariant() -> None:
    proof = shown(open_worlds.call(), ["once", "limited"], ["tokens", "retries", "faults"])
    assert isinstance(proof, Proof)
    assert flaw(proof.obligation, ()) is not None
    arena = proof.obligation.relation.arena
    assert flaw(proof.obligation, (*proof.clauses, arena.const(0))) is not None
    without = [
        flaw(proof.obligation, [c for c in proof.clauses if c != clause])
        for clause in proof.clauses
    ]
    assert any(without)


def test_an_hour_too_late() -> None:
    found = prove_for_any(open_worlds.call(), ["once"], ["tokens"], time.monotonic())
    assert found == Unproved("out of time")


@eventually()
def over(world: Call) -> bool:
    """It ends."""
    return not world.running


def test_what_no_invariant_shows_is_refused() -> None:
    system = evolve(open_worlds.call(), properties=(over,))
    with pytest.raises(ModelError, match="asked 'eventually'; an invariant shows"):
        shown(system, ["over"], ["tokens"])
    with pytest.raises(ModelError, match="no property 'once'"):
        shown(system, ["once"], ["tokens"])


def test_states_that_only_larger_sizes_have_are_told_from_others() -> None:
    relation = lower(open_worlds.call().leave_open(["tokens"]))
    teacher = Teacher(relation, seen(relation, 100_000, 60).columns)
    unreachable = {v.slot: relation.initial[v.slot] for v in relation.variables}
    doubled = next(s for s in unreachable if relation.system.schema.slots[s].label == "doubled")
    unreachable[doubled] = 1
    clause = teacher.forbidden(teacher.vector(unreachable))
    assert clause is not None
    assert [(teacher.features[n].left, values) for n, values in clause] == [
        (doubled, frozenset({0}))
    ]


# The bundled world.

OURS = ("no-duplicate-tokens", "bounded-retries", "nothing-after-finish", "terminal-latch")


def served(protocol: Protocol, names: tuple[str, ...], **scope: object) -> System:
    placement = place(load_rack("nvl72"), aggregated=2)
    return build(protocol, Scope(**scope), placement, [CATALOGUE[name] for name in names])  # type: ignore[arg-type]


def test_the_reference_is_proved_for_any_output_retry_limit_and_number_of_crashes() -> None:
    system = served(Protocol(), OURS, tokens=1, retry_limit=1, faults={"crash": 1})
    found = shown(system, list(OURS), ["tokens", "retries", "faults"])
    assert isinstance(found, Proof)


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        ("fence_attempts", "no-duplicate-tokens"),
        ("replay_delivered", "no-duplicate-tokens"),
        ("finish_latch", "nothing-after-finish"),
        ("count_failed_connects", "bounded-retries"),
    ],
)
def test_without_a_mechanism_a_finite_instance_has_a_run(mechanism: str, name: str) -> None:
    protocol = Protocol(**{mechanism: False})
    system = served(protocol, OURS, tokens=1, retry_limit=1, faults={"crash": 1, "disconnect": 1})
    found = shown(system, [name], ["tokens", "retries", "faults"])
    assert isinstance(found, Refuted)
    assert found.name == name


def test_workers_that_are_tried_again_need_more_attempts_than_there_are() -> None:
    protocol = Protocol(exclude_failed_workers=False)
    system = served(protocol, OURS, tokens=1, retry_limit=1, faults={"disconnect": 1})
    found = shown(system, list(OURS), ["retries", "faults"])
    assert isinstance(found, Unproved)
    assert "retry-limit to the number of workers (in: The router sends" in found.reason


@state
class Idle:
    left: int = supply("left")
    done: bool = False


@transition(fault)
def spend(world: Idle) -> Idle | None:
    """One is spent."""
    return evolve(world, left=world.left - 1) if world.left else None


@always()
def not_done(world: Idle) -> bool:
    """Nothing is ever done."""
    return not world.done


def test_where_nothing_tells_states_apart_nothing_is_learned() -> None:
    system = System(
        "idle", Idle(), (spend,), (not_done,), sizes={"left": 0}, freedoms={"any": ("left",)}
    )
    found = shown(system, ["not-done"], ["any"])
    assert isinstance(found, Proof)
    assert found.clauses == ()
