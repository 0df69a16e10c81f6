"""Induction by z3: of k steps, with lemmas; the largest and the smallest inductive sets of clauses.

k-induction after Sheeran, Singh and Stålmarck ("Checking safety properties using induction and a
SAT-solver", 2000); candidates are weeded out as in Flanagan and Leino ("Houdini", 2001). A state
that an induction step begins in need not be reachable, so none is ever shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import z3
from attrs import frozen

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Action, Relation, Update
from rackproof.checker.proof import weakest, z3terms
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.solvers import left
from rackproof.checker.proof.terms import Stepped, Vector
from rackproof.checker.proof.z3terms import State, Z3Terms

MOST_STEPS: Final = 4
MOST_CLAUSES: Final = 5_000
"""An invariant of more clauses is not put together from preconditions."""


@frozen
class Inductive:
    """An obligation is k-inductive: it holds after k steps in which it held, and in the first k.

    clauses: an invariant that is inductive in one step and implies it, the lemmas among them; None
    where it would have been too large.
    """

    k: int
    clauses: tuple[Node, ...] | None


@frozen
class Undecided:
    """No induction was found; the reason says how far it was tried."""

    reason: str


class _Unknown(Exception):
    """A solver gave no answer in time."""


def induction(
    obligation: Obligation,
    lemmas: Iterable[Node] = (),
    deadline: float | None = None,
    most: int = MOST_STEPS,
) -> Inductive | Undecided:
    """Show an obligation by induction of at most so many steps.

    lemmas: what is known to be true in every reachable state. deadline: a time of
    ``time.monotonic``.
    """
    known = tuple(lemmas)
    try:
        for k in range(1, most + 1):
            runs = _Unrolled(obligation, known, deadline)
            if not runs.starts_well(k):
                return Undecided(f"a bad state is {k - 1} steps away from the start")
            if runs.goes_on(k):
                return Inductive(k, invariant(obligation, known, k))
    except _Unknown:
        return Undecided(f"z3 gave no answer in time for an induction of {k} steps")
    return Undecided(f"no induction of up to {most} steps shows it")


def invariant(obligation: Obligation, lemmas: Sequence[Node], k: int) -> tuple[Node, ...] | None:
    """What k-induction shows as an invariant that is inductive in one step: lemmas, and that the
    properties hold now and after any steps, fewer than k of them. None where that is too large.
    """
    relation = obligation.relation
    level = list(weakest.good(obligation))
    found = dict.fromkeys([*lemmas, *level])
    for _ in range(k - 1):
        level = list(dict.fromkeys(_earlier(relation, level)))
        found |= dict.fromkeys(level)
        if len(found) > MOST_CLAUSES:
            return None
    return tuple(clause for clause in found if relation.arena.value(clause) != 1)


def _earlier(relation: Relation, clauses: Sequence[Node]) -> Iterator[Node]:
    """What must be true for the clauses to be true after a step that touches them."""
    for clause in clauses:
        for action in relation.actions:
            if action.writes & relation.arena.slots(clause):
                yield weakest.before(relation.arena, action, clause)


class _Unrolled:
    """Several states in a row, each the successor of the one before."""

    def __init__(
        self, obligation: Obligation, lemmas: Sequence[Node], deadline: float | None
    ) -> None:
        self.obligation, self.relation = obligation, obligation.relation
        self.lemmas, self.deadline = lemmas, deadline

    def starts_well(self, k: int) -> bool:
        """Whether none of the first k states is bad; those before the last are known not to be."""
        states, solver = self._states(k)
        solver.add(z3terms.initial(self.relation, states[0].state))
        solver.add(self.obligation.bad(states[-1]))
        return self._is_unsat(solver)

    def goes_on(self, k: int) -> bool:
        """Whether no bad state comes after k states that are not bad."""
        states, solver = self._states(k + 1)
        for terms in states[:-1]:
            solver.add(z3.Not(self.obligation.bad(terms)))
        solver.add(self.obligation.bad(states[-1]))
        return self._is_unsat(solver)

    def _states(self, count: int) -> tuple[list[Z3Terms], z3.Solver]:
        relation, solver = self.relation, z3.Solver()
        states: list[Z3Terms] = []
        for number in range(count):
            terms = z3terms.terms(relation, z3terms.state(relation, f"@{number}"))
            solver.add(z3terms.within(relation, terms.state))
            solver.add([terms.truth(lemma) for lemma in self.lemmas])
            if states:
                solver.add(self._step(states[-1], terms))
            states.append(terms)
        return states, solver

    def _step(self, before: Z3Terms, after: Z3Terms) -> z3.BoolRef:
        ways = []
        for action in self.relation.actions:
            stepped = before.action(action)
            becomes = z3terms.becomes(before.state, after.state, stepped.after)
            ways.append(z3.And(stepped.enabled, *becomes))
        return z3.Or(*ways)

    def _is_unsat(self, solver: z3.Solver) -> bool:
        return bool(_answer(solver, self.deadline) == z3.unsat)


def _answer(
    solver: z3.Solver, deadline: float | None, *assumptions: z3.BoolRef
) -> z3.CheckSatResult:
    seconds = left(deadline)
    if seconds is not None:
        if seconds <= 0:
            raise _Unknown
        solver.set("timeout", max(1, int(1000 * seconds)))
    said = solver.check(*assumptions)
    if said == z3.unknown:
        raise _Unknown
    return said


# Sets of clauses.


def houdini(
    relation: Relation, candidates: Iterable[Node], deadline: float | None = None
) -> tuple[Node, ...] | None:
    """The largest set of candidates that all hold at the start and that every action keeps.

    None where there was no time to find it.
    """
    try:
        return _Clauses(relation, tuple(dict.fromkeys(candidates)), deadline).largest()
    except _Unknown:
        return None


def minimal(
    obligation: Obligation, clauses: Iterable[Node], deadline: float | None = None
) -> tuple[Node, ...]:
    """A part of an inductive invariant that is inductive and excludes bad states too, and of which
    no clause can be spared, not even together with others.

    After Bradley and Manna ("Checking safety by inductive generalization of counterexamples to
    induction", 2007). Where time runs out, what is left by then.
    """
    whole = _Reasons(obligation, tuple(dict.fromkeys(clauses)), deadline)
    needed = whole.clauses
    try:
        needed = whole.used()
        for clause in reversed(needed):
            if clause in needed:
                needed = whole.without(clause, needed) or needed
    except _Unknown:
        pass
    return needed


class _Clauses:
    """Clauses over one state and over what each action makes of it, with a switch for each."""

    def __init__(
        self,
        relation: Relation,
        clauses: tuple[Node, ...],
        deadline: float | None,
    ) -> None:
        self.relation, self.clauses, self.deadline = relation, clauses, deadline
        self.terms = z3terms.terms(relation, z3terms.state(relation))
        self.switches = {clause: z3.Bool(f"clause@{n}") for n, clause in enumerate(clauses)}
        self._steps: dict[int, _Step] = {}

    def largest(self) -> tuple[Node, ...]:
        """The largest inductive set of them."""
        relation = self.relation
        alive = [c for c in self.clauses if relation.value(c, relation.initial)]
        settled, number, count = 0, 0, len(relation.actions)
        while settled < count:
            lost = self._lost(number, alive)
            alive = [clause for clause in alive if clause not in lost]
            settled = 0 if lost else settled + 1
            number = number if lost else (number + 1) % count
        return tuple(alive)

    def solver(self) -> z3.Solver:
        """A solver that knows the values of fields, and the clauses behind their switches."""
        solver = z3.Solver()
        solver.add(z3terms.within(self.relation, self.terms.state))
        for clause, switch in self.switches.items():
            solver.add(z3.Implies(switch, self.terms.truth(clause)))
        return solver

    def reason(self, solver: z3.Solver, alive: Iterable[Node]) -> frozenset[Node] | None:
        """Those of some clauses for which a solver has no model; None where it has one."""
        switches = {str(self.switches[clause]): clause for clause in alive}
        if _answer(solver, self.deadline, *(self.switches[c] for c in alive)) == z3.sat:
            return None
        return frozenset(switches[str(switch)] for switch in solver.unsat_core())

    def _lost(self, number: int, alive: Sequence[Node]) -> set[Node]:
        """Clauses that an action does not keep, one at least where there is any."""
        writes, arena = self.relation.actions[number].writes, self.relation.arena
        touched = [clause for clause in alive if writes & arena.slots(clause)]
        return self.step(number).lost(alive, touched) if touched else set()

    def step(self, number: int) -> _Step:
        if number not in self._steps:
            self._steps[number] = _Step(self, self.relation.actions[number])
        return self._steps[number]


class _Reasons(_Clauses):
    """An inductive invariant, and by which clauses each is kept and bad states are excluded."""

    def __init__(
        self, obligation: Obligation, clauses: tuple[Node, ...], deadline: float | None
    ) -> None:
        super().__init__(obligation.relation, clauses, deadline)
        arena = self.relation.arena
        self.touching = {
            clause: [
                n for n, a in enumerate(self.relation.actions) if a.writes & arena.slots(clause)
            ]
            for clause in clauses
        }
        self.bad = self.solver()
        self.bad.add(obligation.bad(self.terms))
        self._against_bad: frozenset[Node] | None = None
        self._kept: dict[tuple[int, Node], frozenset[Node]] = {}

    def used(self) -> tuple[Node, ...]:
        """The clauses by which bad states are excluded, those that these need, and so on."""
        if not self._excludes_bad(self.clauses):
            raise ValueError("the clauses do not exclude every bad state")
        assert self._against_bad is not None
        found, pending = set[Node](), set(self._against_bad)
        while pending:
            found |= pending
            if not all(
                self._keeps(clause, self.clauses) for clause in self.clauses if clause in pending
            ):
                raise ValueError("the clauses are not inductive")
            used = (self._kept[n, clause] for clause in pending for n in self.touching[clause])
            pending = set[Node]().union(*used) - found
        return tuple(clause for clause in self.clauses if clause in found)

    def without(self, clause: Node, others: Sequence[Node]) -> tuple[Node, ...] | None:
        """What is left without a clause and those that need it; None where bad states are left."""
        alive = [other for other in others if other != clause]
        while self._excludes_bad(alive):
            lost = next((other for other in alive if not self._keeps(other, alive)), None)
            if lost is None:
                return tuple(alive)
            alive.remove(lost)
        return None

    def _excludes_bad(self, alive: Sequence[Node]) -> bool:
        if self._against_bad is None or not self._against_bad <= set(alive):
            self._against_bad = self.reason(self.bad, alive)
        return self._against_bad is not None

    def _keeps(self, clause: Node, alive: Sequence[Node]) -> bool:
        """Whether every action keeps a clause, by clauses that are still there."""
        there = set(alive)
        for number in self.touching[clause]:
            if not self._kept.get((number, clause), there | {-1}) <= there:
                reason = self.step(number).reason(clause, alive)
                if reason is None:
                    return False
                self._kept[number, clause] = reason
        return True


class _Step:
    """One action, and what becomes of clauses in it."""

    def __init__(self, clauses: _Clauses, action: Action) -> None:
        self.owner, self.action, self.relation = clauses, action, clauses.relation
        stepped: Stepped[z3.ArithRef, z3.BoolRef] = clauses.terms.action(action)
        self.solver = clauses.solver()
        self.solver.add(stepped.enabled)
        state = clauses.terms.state
        after: State = Vector(
            {**state.numbers, **stepped.after.numbers}, {**state.truths, **stepped.after.truths}
        )
        self.after = z3terms.terms(clauses.relation, after)
        self._broken: dict[Node, z3.BoolRef] = {}

    def lost(self, alive: Sequence[Node], touched: Sequence[Node]) -> set[Node]:
        """Those of the touched clauses that are false after a step from where all alive hold."""
        self.solver.push()
        self.solver.add(z3.Or([z3.Not(self.after.truth(clause)) for clause in touched]))
        said = _answer(
            self.solver, self.owner.deadline, *map(self.owner.switches.__getitem__, alive)
        )
        found = self._false(touched) if said == z3.sat else set()
        self.solver.pop()
        return found

    def reason(self, clause: Node, alive: Iterable[Node]) -> frozenset[Node] | None:
        """Those of some clauses by which the action keeps one; None where it does not."""
        self.solver.push()
        self.solver.add(z3.Not(self.after.truth(clause)))
        found = self.owner.reason(self.solver, alive)
        self.solver.pop()
        return found

    def _false(self, touched: Sequence[Node]) -> set[Node]:
        values = z3terms.values(self.solver.model(), self.owner.terms.state)
        ordinals = [values.get(slot, first) for slot, first in enumerate(self.relation.initial)]
        leaf = self.relation.leaf(self.action.tree, ordinals)
        assert isinstance(leaf, Update)
        after = list(ordinals)
        for slot, node in leaf.writes:
            after[slot] = self.relation.value(node, ordinals)
        return {clause for clause in touched if not self.relation.value(clause, after)}
