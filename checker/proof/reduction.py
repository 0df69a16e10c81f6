"""Which steps can be taken at once, certified: a partial-order reduction of a search.

Where a step of the protocol is possible that nothing else can interfere with any more, a search may
take it alone and leave out every other order (an ample set of one; Peled, CAV 1993). A *local step*
is an action A with a condition P, such that in every state (of the variables' ranges) in which P
holds and A is possible, for every other action B that is possible there:

- A and B commute: neither disables the other, and both orders end in the same state;
- P still holds after B;
- what is to be seen stays so: where an instance of a property that is not asked at rest is false (a
  ``sometimes``: true), or where the model raises an error, that is still so after A.

And some measure grows with every local step (lexicographic, each part the sum of one field over all
identifiers, so that no renaming changes it): no loop has local steps alone.

Then every state without steps is still reached, with no more faults; so is, for each property that
is violated (or reached), a state that violates (reaches) it; and where a run can go on for ever
with a property false all along, it still can. Runs become longer, though: a run that is found is no
shortest one.

All this is shown by z3, or (actions that share no variable commute) read off the variables. What
cannot be shown is not used. P says that whatever interferes is over: for each such B that a test
without which B is impossible came out the other way for good.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import z3
from attrs import frozen

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import (
    Action,
    Predicate,
    Raises,
    Relation,
    Test,
    Tree,
    Update,
)
from rackproof.checker.native.program import Local
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.slicing import is_progress
from rackproof.checker.proof.terms import Vector
from rackproof.model.kernel import Scope
from rackproof.model.kernel.domains import Identifier

CONTEXT = int(os.environ.get("CONTEXT", "1"))
HARDEST: Final = 20_000
"""Steps of z3 (its resource units, in thousands) that a question may take; unlike seconds they are
the same on every machine.
"""


@frozen
class Reduction:
    """The local steps of a relation.

    certificates: the questions that z3 answered for what is used. refused: for each transition that
    is a step or a timer and of which no instance is local, why not. seconds: what it took.
    """

    locals: tuple[Local, ...]
    certificates: int
    refused: tuple[tuple[str, str], ...]
    seconds: float

    def names(self, relation: Relation) -> tuple[str, ...]:
        """The transitions that have local steps, in order."""
        found = (relation.actions[local.number].firing.transition.name for local in self.locals)
        return tuple(dict.fromkeys(found))


class _NotShown(Exception):
    """The reason why an action cannot be used."""


def reduction(relation: Relation, tick: Callable[[], None] = lambda: None) -> Reduction:
    """Find and certify the local steps of a relation; tick is called now and then."""
    started = time.monotonic()
    check = _Check(relation, tick)
    found: list[Local] = []
    refused: dict[str, str] = {}
    for number, action in enumerate(relation.actions):
        if is_progress(action) and action.firing.transition.name not in refused:
            try:
                found.append(Local(number, check.condition(action)))
            except _NotShown as reason:
                refused.setdefault(action.firing.transition.name, str(reason))
    ordered, unordered = check.growing(found)
    for local in unordered:
        name = relation.actions[local.number].firing.transition.name
        refused.setdefault(name, "no measure grows with it")
    used = {relation.actions[local.number].firing.transition.name for local in ordered}
    return Reduction(
        tuple(ordered),
        check.certificates,
        tuple((name, why) for name, why in refused.items() if name not in used),
        time.monotonic() - started,
    )


class _Side:
    """A relation's terms over one state, and over those that each action leads to."""

    def __init__(self, relation: Relation) -> None:
        self.relation, self.state = relation, z3terms.state(relation)
        self.terms = z3terms.terms(relation, self.state)
        self._after: dict[int, z3terms.Z3Terms] = {}

    def enabled(self, action: Action) -> z3.BoolRef:
        return self.terms.action(action).enabled

    def after(self, action: Action) -> z3terms.Z3Terms:
        """Terms over the state after an action."""
        known = self._after.get(id(action))
        if known is None:
            changed = self.terms.action(action).after
            known = z3terms.terms(self.relation, _merged(self.state, changed))
            self._after[id(action)] = known
        return known


def _merged(before: z3terms.State, changed: z3terms.State) -> z3terms.State:
    return Vector(
        {**before.numbers, **changed.numbers},
        {**before.truths, **changed.truths},
    )


class _Check:
    """Questions to z3 about the actions of one relation."""

    def __init__(self, relation: Relation, tick: Callable[[], None]) -> None:
        self.relation, self.arena, self.tick = relation, relation.arena, tick
        self.certificates = 0
        self.side = _Side(relation)
        self.solver = z3.SimpleSolver()
        self.solver.set("rlimit", 1000 * HARDEST)
        self.solver.add(*z3terms.within(relation, self.side.state))
        self.seen = [p for p in relation.predicates if p.property.scope is not Scope.AT_REST]
        self.raising = [a for a in relation.actions if _has(a.tree, Raises)]
        self._kept: dict[tuple[int, Node], bool] = {}
        self._moved: dict[tuple[Local, tuple[int, tuple[int, ...]]], int] = {}

    def condition(self, action: Action) -> Node:
        """The condition under which an action is local."""
        self._check_sight(action)
        rivals = [other for other in self.relation.actions if self._may_interfere(action, other)]
        clauses = self._clauses(action, [r for r in rivals if not self._commute(action, r)])
        return self._conjunction(clauses)

    def shown(self, *claims: z3.BoolRef) -> bool:
        """Whether no state satisfies all of these."""
        self.tick()
        self.certificates += 1
        return self.solver.check(*claims) == z3.unsat

    # What is to be seen.

    def _check_sight(self, action: Action) -> None:
        before, after = self.side.terms, self.side.after(action)
        enabled = self.side.enabled(action)
        for predicate in self.seen:
            if predicate.reads & action.writes:
                lost = z3.And(
                    *self._noteworthy(predicate, before),
                    z3.Not(z3.And(*self._noteworthy(predicate, after))),
                )
                if not self.shown(enabled, lost):
                    raise _NotShown(f"{predicate.property.name} may see it")
        for other in self.raising:
            if other is not action and other.reads & action.writes:
                cured = z3.Not(after.action(other).raises)
                if not self.shown(enabled, before.action(other).raises, cured):
                    raise _NotShown(f"it may hide an error of {other.firing.transition.name}")

    def _noteworthy(self, predicate: Predicate, terms: z3terms.Z3Terms) -> list[z3.BoolRef]:
        """Whether an instance has the value that a search looks for."""
        truth = terms.holds(predicate)
        if predicate.property.scope is Scope.SOMETIMES:
            return [z3.Or(truth, terms.raises(predicate))]
        return [z3.Not(truth)]

    # What may interfere.

    def _may_interfere(self, action: Action, other: Action) -> bool:
        if action is other:
            return False
        ours, theirs = action.reads | action.writes, other.reads | other.writes
        return bool(action.writes & theirs or other.writes & ours)

    def _commute(self, action: Action, other: Action, *given: z3.BoolRef) -> bool:
        """Whether two actions commute wherever both are possible."""
        one, two = self.side.after(action), self.side.after(other)
        first, second = two.action(action), one.action(other)
        ends = _merged(two.state, first.after), _merged(one.state, second.after)
        touched = sorted(action.writes | other.writes)
        differ = [z3.Not(_value(ends[0], slot) == _value(ends[1], slot)) for slot in touched]
        return self.shown(
            self.side.enabled(action),
            self.side.enabled(other),
            z3.Or(z3.Not(first.enabled), z3.Not(second.enabled), *differ),
            *given,
        )

    def _clauses(self, action: Action, rivals: Sequence[Action]) -> list[list[Node]]:
        """For each rival, literals of which each rules it out for good; the most there are.

        From all literals, those are dropped that some action makes false, till none is dropped.
        """
        clauses = [list(dict.fromkeys(_preventing(self.relation, r.tree))) for r in rivals]
        self._check_clauses(clauses, rivals)
        while True:
            given = self.side.terms.truth(self._conjunction(clauses))
            kept = self._stable(action, {c for clause in clauses for c in clause}, given)
            if all(c in kept for clause in clauses for c in clause):
                return clauses
            clauses = [[c for c in clause if c in kept] for clause in clauses]
            self._check_clauses(clauses, rivals)

    def _check_clauses(self, clauses: Sequence[Sequence[Node]], rivals: Sequence[Action]) -> None:
        for clause, rival in zip(clauses, rivals, strict=True):
            if not clause:
                raise _NotShown(f"{rival.firing.transition.name} may interfere")

    def _stable(self, action: Action, literals: set[Node], given: z3.BoolRef) -> set[Node]:
        """The literals that no other action makes false, where the action is possible."""
        return {c for c in sorted(literals) if self._stays(action, c, given)}

    def _stays(self, action: Action, literal: Node, given: z3.BoolRef) -> bool:
        slots, before = self.arena.slots(literal), self.side.terms.truth(literal)
        for other in self.relation.actions:
            if (
                other is not action
                and other.writes & slots
                and not self._always_stays(other, literal)
            ):
                if not CONTEXT:
                    return False
                if not self.shown(
                    self.side.enabled(action),
                    self.side.enabled(other),
                    given,
                    before,
                    z3.Not(self.side.after(other).truth(literal)),
                ):
                    return False
        return True

    def _always_stays(self, other: Action, literal: Node) -> bool:
        key = id(other), literal
        if key not in self._kept:
            before, after = self.side.terms.truth(literal), self.side.after(other).truth(literal)
            self._kept[key] = self.shown(self.side.enabled(other), before, z3.Not(after))
        return self._kept[key]

    def _conjunction(self, clauses: Iterable[Iterable[Node]]) -> Node:
        whole = self.arena.const(1)
        for clause in sorted({tuple(sorted(clause)) for clause in clauses}):
            either = self.arena.const(0)
            for literal in clause:
                either = self.arena.or_(either, literal)
            whole = self.arena.and_(whole, either)
        return whole

    # What grows.

    def growing(self, found: Sequence[Local]) -> tuple[list[Local], list[Local]]:
        """The local steps for which a measure is found, and the others.

        Part by part: one that some steps make greater, and the fewest of the others less; these are
        given up.
        """
        totals, pending = self._totals(), list(found)
        ordered, given_up = list[Local](), list[Local]()
        while pending:
            best: tuple[int, int] | None = None
            chosen: list[int] = []
            for total in totals:
                moves = [self._moves(local, total) for local in pending]
                rank = moves.count(-1), -moves.count(1)
                if 1 in moves and (best is None or rank < best):
                    best, chosen = rank, moves
            if best is None:
                return ordered, given_up + pending
            pairs = list(zip(pending, chosen, strict=True))
            ordered += [local for local, move in pairs if move == 1]
            given_up += [local for local, move in pairs if move == -1]
            pending = [local for local, move in pairs if move == 0]
        return sorted(ordered, key=lambda local: local.number), given_up

    def _totals(self) -> list[tuple[int, tuple[int, ...]]]:
        """The sums of a field over all identifiers, each upwards and downwards.

        A renaming that symmetry allows moves the slots of a field, but not what they hold, where
        that is no identifier.
        """
        slots = self.relation.system.schema.slots
        fields: dict[object, list[int]] = {}
        for variable in self.relation.variables:
            slot = slots[variable.slot]
            if not isinstance(slot.domain, Identifier):
                shape = tuple("*" if isinstance(part, int) else part for part in slot.path)
                fields.setdefault(shape, []).append(variable.slot)
        return [(sign, tuple(field)) for field in fields.values() for sign in (1, -1)]

    def _moves(self, local: Local, total: tuple[int, tuple[int, ...]]) -> int:
        """1 where a local step makes a sum greater, 0 where never less, -1 where neither."""
        action = self.relation.actions[local.number]
        sign, slots = total
        written = [slot for slot in slots if slot in action.writes]
        if not written:
            return 0
        key = local, total
        if key not in self._moved:
            self._moved[key] = self._measured(local, action, sign, written)
        return self._moved[key]

    def _measured(self, local: Local, action: Action, sign: int, written: Sequence[int]) -> int:
        before, after = self.side.state, self.side.after(action).state
        grown = sign * z3.Sum(*(_number(after, s) - _number(before, s) for s in written))
        given = self.side.enabled(action), self.side.terms.truth(local.condition)
        if self.shown(*given, grown <= 0):
            return 1
        return 0 if self.shown(*given, grown < 0) else -1


def _value(state: z3terms.State, slot: int) -> z3.ExprRef:
    return state.numbers[slot] if slot in state.numbers else state.truths[slot]


def _number(state: z3terms.State, slot: int) -> z3.ArithRef:
    if slot in state.numbers:
        return state.numbers[slot]
    return z3.If(state.truths[slot], z3.IntVal(1), z3.IntVal(0))


def _has(tree: Tree, kind: type) -> bool:
    if isinstance(tree, Test):
        return _has(tree.yes, kind) or _has(tree.no, kind)
    return isinstance(tree, kind)


def _preventing(relation: Relation, tree: Tree) -> Iterator[Node]:
    """Tests, or their negations, where each is enough for an action to be impossible."""
    arena = relation.arena
    while isinstance(tree, Test):
        if not _has(tree.no, Update):
            yield arena.not_(tree.condition)
            tree = tree.yes
        elif not _has(tree.yes, Update):
            yield tree.condition
            tree = tree.no
        else:
            return
