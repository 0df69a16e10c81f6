"""Which steps can be taken at once, certified: a partial-order reduction of a search.

Where a step of the protocol is possible that nothing else can interfere with any more, a search may
take it alone and leave out every other order (an ample set of one; Peled, CAV 1993). A *local step*
is an action A (a step or a timer) with a condition P, such that in every state (of the variables'
ranges) in which P holds and A is possible:

- with every other action B that is possible there, A commutes: neither disables the other, and both
  orders end in the same state; and P still holds after B;
- A hides nothing: where an instance of a property that is asked of every state or for ever is false
  (a ``sometimes``: true), or where the model raises an error, that is still so after A.

And some measure grows with every local step (lexicographic, each part the sum of one field over all
identifiers, so that no renaming changes it): no loop is made of local steps alone.

Then every state at rest is still reached, with no more faults; so is, for each property that some
state violates (or reaches), a state that does; the same transitions fire; and where a run can go on
for ever with a property false all along, one still can. But runs become longer: one that is found
need not be the shortest.

All this is shown by z3, but for what is read off the variables: actions that share none commute.
What cannot be shown is not used. P says that whatever does not commute with A is over for good: for
each such action, that one of the tests without which it is impossible came out the other way, and
that no action but A changes that.
"""

from __future__ import annotations

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
from rackproof.checker.proof.steps import Steps, value
from rackproof.model.kernel import Scope
from rackproof.model.kernel.domains import Identifier

HARDEST: Final = 20_000_000
"""What a question may take, in z3's resource units; unlike seconds they are the same anywhere."""

MOST_QUESTIONS: Final = 10_000
"""Questions after which no more local steps are looked for."""

Total = tuple[int, tuple[int, ...]]
"""The slots of one field, and whether their sum is taken upwards (1) or downwards (-1)."""


@frozen
class Reduction:
    """The local steps of a relation.

    certificates: the questions that z3 answered. refused: for each step and timer of which no
    instance is local, why not. seconds: what it took.
    """

    local: tuple[Local, ...]
    names: tuple[str, ...]
    certificates: int
    refused: tuple[tuple[str, str], ...]
    seconds: float


class _NotShown(Exception):
    """The reason why an action cannot be used."""


def reduction(relation: Relation, is_late: Callable[[], bool] = lambda: False) -> Reduction:
    """Find and certify the local steps of a relation.

    All instances of a transition are used, or none. is_late: whether to end the search for them
    here; what is certified by then is used.
    """
    started = time.monotonic()
    check = _Check(relation)
    found, refused = dict[str, list[Local]](), dict[str, str]()
    for number, action in enumerate(relation.actions):
        name = action.firing.transition.name
        if is_progress(action) and name not in refused:
            try:
                if is_late() or check.questions > MOST_QUESTIONS:
                    raise _NotShown("there was no time left to look")
                found.setdefault(name, []).append(Local(number, check.condition(action)))
            except _NotShown as reason:
                refused[name] = str(reason)
    for name in check.unmeasured({n: some for n, some in found.items() if n not in refused}):
        refused[name] = "no measure grows with it"
    used = {name: some for name, some in found.items() if name not in refused}
    return Reduction(
        tuple(sorted((local for some in used.values() for local in some), key=lambda x: x.number)),
        tuple(used),
        check.questions,
        tuple(refused.items()),
        time.monotonic() - started,
    )


class _Check:
    """Questions to z3 about the actions of one relation."""

    def __init__(self, relation: Relation) -> None:
        self.relation, self.arena = relation, relation.arena
        self.here = Steps(relation, z3terms.state(relation))
        self.solver = z3.SimpleSolver()
        self.solver.set("rlimit", HARDEST)
        self.solver.add(*z3terms.within(relation, self.here.state))
        self.seen = [p for p in relation.predicates if p.property.scope is not Scope.AT_REST]
        self.raising = [a for a in relation.actions if _has(a.tree, Raises)]
        self.questions = 0
        self._kept: dict[tuple[int, Node], bool] = {}

    def condition(self, action: Action) -> Node:
        """The condition under which an action is local."""
        self._check_sight(action)
        sharing = [b for b in self.relation.actions if b is not action and _share(action, b)]
        rivals = [other for other in sharing if not self._commute(action, other)]
        return self._conjunction(self._clauses(action, rivals))

    def _shown(self, *claims: z3.BoolRef) -> bool:
        """Whether no state satisfies all of these."""
        self.questions += 1
        return bool(self.solver.check(*claims) == z3.unsat)

    # What is to be seen.

    def _check_sight(self, action: Action) -> None:
        enabled, after = self.here.enabled(action), self.here.after(action)
        for predicate in self.seen:
            if predicate.reads & action.writes:
                before, then = (_notable(predicate, steps) for steps in (self.here, after))
                if not self._shown(enabled, before, z3.Not(then)):
                    raise _NotShown(f"{predicate.property.name} may see it")
        for other in self.raising:
            if other is not action and other.reads & action.writes:
                raises, then = self.here.step(other).raises, after.step(other).raises
                if not self._shown(enabled, raises, z3.Not(then)):
                    raise _NotShown(f"it may hide an error of {other.firing.transition.name}")

    # What may interfere.

    def _commute(self, action: Action, other: Action) -> bool:
        """Whether two actions commute wherever both are possible."""
        first, second = self.here.after(action), self.here.after(other)
        ends = first.after(other).state, second.after(action).state
        touched = sorted(action.writes | other.writes)
        differ = [z3.Not(value(ends[0], slot) == value(ends[1], slot)) for slot in touched]
        stopped = [z3.Not(first.enabled(other)), z3.Not(second.enabled(action))]
        both = self.here.enabled(action), self.here.enabled(other)
        return self._shown(*both, z3.Or(*stopped, *differ))

    def _clauses(self, action: Action, rivals: Sequence[Action]) -> list[list[Node]]:
        """For each rival, literals of which each rules it out for good; the most there are.

        Of all literals, those are dropped that some action makes false, till none is dropped.
        """
        clauses = [list(dict.fromkeys(_preventing(self.relation, r.tree))) for r in rivals]
        while True:
            for clause, rival in zip(clauses, rivals, strict=True):
                if not clause:
                    raise _NotShown(f"{rival.firing.transition.name} may interfere")
            given = self.here.terms.truth(self._conjunction(clauses))
            literals = sorted({literal for clause in clauses for literal in clause})
            kept = {literal for literal in literals if self._stays(action, literal, given)}
            if len(kept) == len(literals):
                return clauses
            clauses = [[c for c in clause if c in kept] for clause in clauses]

    def _stays(self, action: Action, literal: Node, given: z3.BoolRef) -> bool:
        """Whether no other action makes a literal false where the action is possible."""
        slots = self.arena.slots(literal)
        writing = (a for a in self.relation.actions if a is not action and a.writes & slots)
        return all(
            self._keeps(other, literal)
            or self._shown(self.here.enabled(action), given, *self._loses(other, literal))
            for other in writing
        )

    def _keeps(self, other: Action, literal: Node) -> bool:
        """Whether an action makes a literal false nowhere."""
        key = id(other), literal
        if key not in self._kept:
            self._kept[key] = self._shown(*self._loses(other, literal))
        return self._kept[key]

    def _loses(self, other: Action, literal: Node) -> list[z3.BoolRef]:
        before = self.here.terms.truth(literal)
        return [
            self.here.enabled(other),
            before,
            z3.Not(self.here.after(other).terms.truth(literal)),
        ]

    def _conjunction(self, clauses: Iterable[Iterable[Node]]) -> Node:
        whole = self.arena.const(1)
        for clause in sorted({tuple(sorted(clause)) for clause in clauses}):
            either = self.arena.const(0)
            for literal in clause:
                either = self.arena.or_(either, literal)
            whole = self.arena.and_(whole, either)
        return whole

    # What grows.

    def unmeasured(self, found: dict[str, list[Local]]) -> list[str]:
        """The transitions without which a measure grows with each of the others' local steps.

        Part by part: a sum that some make greater, and the fewest of the others less; these are
        given up.
        """
        pending, given_up, totals = dict(found), list[str](), list(self._totals())
        while pending:
            ways = [{n: self._moves(some, t) for n, some in pending.items()} for t in totals]
            ways = [way for way in ways if 1 in way.values()]
            if not ways:
                return [*given_up, *pending]
            best = min(ways, key=lambda way: _rank(list(way.values())))
            given_up += [name for name, move in best.items() if move < 0]
            pending = {name: some for name, some in pending.items() if best[name] == 0}
        return given_up

    def _totals(self) -> Iterator[Total]:
        """The sums of a field over all identifiers, each upwards and downwards.

        A renaming that symmetry allows moves the slots of a field, but not what they hold, where
        that is no identifier.
        """
        slots = self.relation.system.schema.slots
        fields: dict[object, list[int]] = {}
        for variable in self.relation.variables:
            slot = slots[variable.slot]
            if not isinstance(slot.domain, Identifier):
                field = tuple("*" if isinstance(part, int) else part for part in slot.path)
                fields.setdefault(field, []).append(variable.slot)
        for some in fields.values():
            yield from ((1, tuple(some)), (-1, tuple(some)))

    def _moves(self, some: Sequence[Local], total: Total) -> int:
        """1 where local steps make a sum greater, 0 where never less, -1 where neither."""
        return min(self._move(local, total) for local in some)

    def _move(self, local: Local, total: Total) -> int:
        action = self.relation.actions[local.number]
        sign, slots = total
        written = [slot for slot in slots if slot in action.writes]
        if not written:
            return 0
        before, after = self.here.state, self.here.after(action).state
        grown = sign * z3.Sum(*(_number(after, s) - _number(before, s) for s in written))
        given = self.here.enabled(action), self.here.terms.truth(local.condition)
        if self._shown(*given, grown <= 0):
            return 1
        return 0 if self._shown(*given, grown < 0) else -1


def _rank(moves: list[int]) -> tuple[int, int]:
    return moves.count(-1), -moves.count(1)


def _share(one: Action, other: Action) -> bool:
    """Whether one of two actions writes what the other reads or writes."""
    ours, theirs = one.reads | one.writes, other.reads | other.writes
    return bool(one.writes & theirs or other.writes & ours)


def _notable(predicate: Predicate, steps: Steps) -> z3.BoolRef:
    """Whether an instance has the value that a search looks for, or raises."""
    truth = steps.terms.holds(predicate)
    if predicate.property.scope is Scope.SOMETIMES:
        return z3.Or(truth, steps.terms.raises(predicate))
    return z3.Not(truth)


def _number(state: z3terms.State, slot: int) -> z3.ArithRef:
    if slot in state.numbers:
        return state.numbers[slot]
    return z3.If(state.truths[slot], z3.IntVal(1), z3.IntVal(0))


def _has(tree: Tree, kind: type) -> bool:
    if isinstance(tree, Test):
        return _has(tree.yes, kind) or _has(tree.no, kind)
    return isinstance(tree, kind)


def _preventing(relation: Relation, tree: Tree) -> Iterator[Node]:
    """Tests, or their negations, of which each is enough for an action to be impossible."""
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
