"""Verdicts for every size at once: outputs of any length, any retry limit, any number of faults.

What a system's ``freedoms`` name is left open; an invariant over unbounded integers is learned and
then checked by z3 from the relation alone. What stays finite (workers, requests, attempts) is as in
the scope. A run that needs more of them leaves a field's domain, which is an error of the model and
so excluded by the same proof: it shows that no run does.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np
import z3
from attrs import evolve, frozen

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import Action, Relation
from rackproof.checker.native.columns import Column
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.instances import Seen, instances
from rackproof.checker.proof.learn import PATIENCE, Learner, Teacher, Unlearned
from rackproof.checker.proof.obligations import SAFETY, Obligation, obligation
from rackproof.checker.proof.proof import Proof
from rackproof.checker.proof.terms import Vector
from rackproof.checker.proof.vocabulary import features
from rackproof.checker.search import Found, Raised
from rackproof.checker.trace import EngineError, Trace, walk
from rackproof.model.kernel import ModelError, System

MOST_STATES: Final = 1_500_000
"""Of each finite instance; what is learned from some of them may still be right."""
SHARE: Final = 0.1
"""Of the time there is, for the search of each instance."""


@frozen
class Refuted:
    """A run of a finite instance that violates a property, walked with the plain functions."""

    name: str
    trace: Trace


@frozen
class Unproved:
    """Neither; says why."""

    reason: str


def prove_for_any(
    system: System, names: Collection[str], sizes: Collection[str], deadline: float
) -> Proof | Refuted | Unproved:
    """Prove the properties of these names with some of a system's freedoms left open.

    sizes: names of freedoms. deadline: as of ``time.monotonic``, seconds. Raises ``ModelError``
    where there is no such freedom or no such property, or where one is no safety property.
    """
    started = time.monotonic()
    _check(system, names)
    whole = system.leave_open(sizes)
    wanted = obligation(lower(whole), names)
    seen = instances(wanted.relation, MOST_STATES, SHARE * (deadline - started))
    for instance in seen:
        if (refuted := _refuted(wanted.relation, instance)) is not None:
            return refuted
    try:
        clauses = _learned(wanted, seen, deadline)
    except Unlearned as reason:
        return Unproved(str(reason))
    if (wrong := flaw(wanted, clauses)) is not None:
        return Unproved(wrong)
    states = sum(instance.exploration.states for instance in seen)
    return Proof(
        obligation=wanted,
        clauses=clauses,
        method=f"learned from {states:,} states of finite instances",
        seconds=time.monotonic() - started,
        open=tuple(sizes),
    )


def _learned(wanted: Obligation, seen: Sequence[Seen], deadline: float) -> tuple[Node, ...]:
    """Clauses that instances suggest; none where there is nothing to tell their states apart."""
    if not features(wanted.relation, {}):
        return ()
    teacher = Teacher(wanted.relation, _joined(seen), seen[0].classes)
    return Learner(wanted, teacher, deadline).learned().clauses


def _joined(seen: Sequence[Seen]) -> dict[int, Column]:
    """The states of several instances that may be exchanged in the same ways."""
    same = [instance for instance in seen if instance.classes == seen[0].classes]
    return {s: np.concatenate([i.columns[s] for i in same]) for s in seen[0].columns}


def flaw(wanted: Obligation, clauses: Sequence[Node]) -> str | None:
    """Why clauses are no inductive invariant that excludes what is bad; None where they are one.

    Asked of z3 over the integers, from the relation alone, with a solver for each question.
    """
    relation = wanted.relation
    state = z3terms.state(relation)
    terms = z3terms.terms(relation, state)
    always = [*z3terms.within(relation, state), *z3terms.rigid(relation, state)]
    assumed = [*always, *(terms.truth(clause) for clause in clauses)]
    broken = [z3.Not(terms.truth(clause)) for clause in clauses]
    if not _impossible([*always, *z3terms.initial(relation, state), z3.Or(*broken)]):
        return "a clause is false in an initial state, or z3 cannot tell"
    if not _impossible([*assumed, wanted.bad(terms)]):
        return "the clauses do not exclude what is bad, or z3 cannot tell"
    for action in relation.actions:
        if not _impossible([*assumed, *_leads_out(terms, action, clauses)]):
            words = action.firing.words(relation.system)
            return f"the clauses are not kept by: {words} (or z3 cannot tell)"
    return None


def _leads_out(terms: z3terms.Z3Terms, action: Action, clauses: Iterable[Node]) -> list[z3.BoolRef]:
    """An action takes effect, and a clause that speaks of what it writes is false afterwards."""
    relation, stepped = terms.relation, terms.action(action)
    after = Vector(
        {**terms.state.numbers, **stepped.after.numbers},
        {**terms.state.truths, **stepped.after.truths},
    )
    later = z3terms.terms(relation, after)
    touched = [c for c in clauses if relation.arena.slots(c) & action.writes]
    return [stepped.enabled, z3.Or(*(z3.Not(later.truth(clause)) for clause in touched))]


def _impossible(conditions: Iterable[z3.BoolRef]) -> bool:
    solver = z3.Solver()
    solver.set("timeout", PATIENCE)
    solver.add(*conditions)
    return bool(solver.check() == z3.unsat)


def _check(system: System, names: Collection[str]) -> None:
    known = {prop.name: prop for prop in system.properties}
    for name in names:
        if name not in known:
            raise ModelError(f"{system.name} has no property {name!r}")
        if known[name].scope not in SAFETY:
            scope = known[name].scope.value
            raise ModelError(
                f"{name} is asked {scope!r}; an invariant shows `always` and `at rest`"
            )


def _refuted(whole: Relation, instance: Seen) -> Refuted | Unproved | None:
    """What the instance itself shows."""
    exploration = instance.exploration
    for name, found in exploration.violations.items():
        trace = _trace(whole, instance, found)
        if not any(trace.violates(prop) for prop in whole.system.properties if prop.name == name):
            raise EngineError(f"{name}: the plain functions do not agree that it is violated")
        return Refuted(name, trace)
    if exploration.raises:
        return Unproved(_left(whole.system, exploration.raises[0]))
    return None


def _left(system: System, raised: Raised) -> str:
    """How a run leaves what stays finite: of attempts there are as many as the scope has."""
    owner = raised.owner
    what = owner.firing.words(system) if isinstance(owner, Action) else owner.property.name
    return (
        "a run needs more of what stays finite than the scope has; where that is attempts, set "
        f"retry-limit to the number of workers (in: {what})"
    )


def _trace(whole: Relation, instance: Seen, found: Found) -> Trace:
    """The run that leads to a state of an instance, from the instance's own start."""
    small, native = instance.relation, instance.exploration.native
    kept = [v.slot for v in small.variables]
    moving = [slot for slot in kept if not whole.system.schema.slots[slot].rigid]
    path = [native.canonical(ordinals) for ordinals in found.path]
    still = [tuple(ordinals[slot] for slot in moving) for ordinals in found.path]
    start = max(i for i in range(len(still)) if still[: i + 1] == [still[0]] * (i + 1))
    initial = list(whole.initial)
    for slot in kept:
        initial[slot] = found.path[start][slot]
    for slot in _supplies(whole):
        initial[slot] = len(path)
    world = whole.system.schema.unflatten(initial)
    system = evolve(whole.system, initial=world)
    return walk(system, path[start:], native.canonical)


def _supplies(whole: Relation) -> Iterable[int]:
    """What starts at any value and may be used up, and the parameters that are given to be the
    same.
    """
    slots, arena = whole.system.schema.slots, whole.arena
    supplies = {i for i, slot in enumerate(slots) if slot.free and not slot.rigid}
    found = set(supplies)
    for node in whole.given:
        if arena.op(node) is Op.EQ and arena.slots(node) & supplies:
            found |= arena.slots(node)
    return found
