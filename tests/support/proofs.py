"""What tests of proofs share: invariants and paths are checked without what found them."""

from __future__ import annotations

import z3

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.outcomes import Invariant, Path, walked
from rackproof.checker.trace import Trace


def check_invariant(obligation: Obligation, found: Invariant) -> None:
    """It holds at first, no action leads out of it or of a range, and nothing in it is bad."""
    relation = obligation.relation
    first, before = z3terms.state(relation), z3terms.state(relation, "'")
    start, now = z3terms.terms(relation, first), z3terms.terms(relation, before)
    solver = z3.Solver()
    solver.push()
    solver.add(z3terms.initial(relation, first))
    solver.add(z3.Not(z3.And([start.truth(clause) for clause in found.clauses])))
    assert solver.check() == z3.unsat
    solver.pop()
    solver.add(*z3terms.within(relation, before), *(now.truth(clause) for clause in found.clauses))
    assert solver.check(obligation.bad(now)) == z3.unsat
    for action in relation.actions:
        stepped = now.action(action)
        numbers = {**before.numbers, **stepped.after.numbers}
        truths = {**before.truths, **stepped.after.truths}
        after = z3terms.State(numbers, truths)
        then = z3terms.terms(relation, after)
        touched = [c for c in found.clauses if relation.arena.slots(c) & action.writes]
        good = [*z3terms.within(relation, after), *(then.truth(clause) for clause in touched)]
        solver.push()
        solver.add(stepped.enabled, z3.Not(z3.And(good)))
        assert solver.check() == z3.unsat
        solver.pop()


def check_path(obligation: Obligation, found: Path) -> Trace:
    """The plain functions go the same way, to where one of the properties fails."""
    trace = walked(obligation.relation, found)
    properties = {predicate.property for predicate in obligation.predicates}
    assert any(trace.violates(prop) for prop in properties)
    return trace


def fits(relation: Relation, found: Path) -> None:
    """Every value on a path is in its range."""
    for state in found.states:
        for variable, value in zip(relation.variables, state, strict=True):
            assert variable.low <= value <= variable.high
