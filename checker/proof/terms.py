"""Decision trees as terms of an algebra: of a solver, of SMT-LIB text, or of circuits.

The translation is written once, here; a backend says what a sum or a comparison is. Truth values
and numbers are kinds of their own in every backend, though an arena writes both as integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from attrs import frozen

from rackproof.checker.lowering.arena import BOOLEAN, Node, Op
from rackproof.checker.lowering.relation import (
    Action,
    Predicate,
    Raises,
    Relation,
    Test,
    Tree,
    Update,
    Variable,
    Verdict,
)
from rackproof.model.kernel.domains import Truth

N = TypeVar("N")
B = TypeVar("B")
X = TypeVar("X")


class Algebra(Protocol[N, B]):
    """What a backend makes of constants and operations: N for numbers, B for truth values."""

    def constant(self, value: int) -> N: ...
    def add(self, a: N, b: N) -> N: ...
    def sub(self, a: N, b: N) -> N: ...
    def mul(self, a: N, b: N) -> N: ...
    def eq(self, a: N, b: N) -> B: ...
    def lt(self, a: N, b: N) -> B: ...
    def le(self, a: N, b: N) -> B: ...
    def truth(self, value: bool) -> B: ...
    def not_(self, a: B) -> B: ...
    def and_(self, parts: Iterable[B]) -> B: ...
    def or_(self, parts: Iterable[B]) -> B: ...
    def choose(self, condition: B, yes: N, no: N) -> N: ...


@frozen
class Vector(Generic[N, B]):
    """A term for each variable of a state: a number, or a truth value where the slot is one."""

    numbers: Mapping[int, N]
    truths: Mapping[int, B]


@frozen
class Stepped(Generic[N, B]):
    """What an action does in a state.

    enabled: it takes effect: some variable gets another value. raises: the model raises an error.
    after: the variables that it may write, as they are afterwards where it is enabled (and as they
    were where not).
    """

    enabled: B
    raises: B
    after: Vector[N, B]


def limits(variable: Variable) -> tuple[int | None, int | None]:
    """The least and the greatest ordinal that a variable takes; None for a side without end."""
    return variable.low, variable.end


def is_truth(relation: Relation, slot: int) -> bool:
    """Whether a slot holds a truth value."""
    return isinstance(relation.system.schema.slots[slot].domain, Truth)


class Terms(Generic[N, B]):
    """The trees of a relation as terms over one state."""

    def __init__(self, relation: Relation, algebra: Algebra[N, B], state: Vector[N, B]) -> None:
        """Take the terms of the variables in this state."""
        self.relation, self.arena, self.algebra = relation, relation.arena, algebra
        self.state = state
        self._numbers: dict[Node, N] = {}
        self._truths: dict[Node, B] = {}
        self._trees: dict[tuple[object, int], Any] = {}

    def number(self, node: Node) -> N:
        """A node as a number."""
        if node not in self._numbers:
            self._numbers[node] = self._number(node)
        return self._numbers[node]

    def truth(self, node: Node) -> B:
        """A node as a truth value."""
        if node not in self._truths:
            self._truths[node] = self._truth(node)
        return self._truths[node]

    def action(self, action: Action) -> Stepped[N, B]:
        """What an action does."""
        tree, algebra = action.tree, self.algebra
        writes = sorted(action.writes)
        truths = {s: self._next_truth(tree, s) for s in writes if s in self.state.truths}
        numbers = {s: self._next_number(tree, s) for s in writes if s not in self.state.truths}
        changed = [self._differs(self.state.truths[s], t) for s, t in truths.items()]
        changed += [algebra.not_(algebra.eq(self.state.numbers[s], n)) for s, n in numbers.items()]
        updates = self._reaches(tree, Update)
        return Stepped(
            enabled=algebra.and_([updates, algebra.or_(changed)]),
            raises=self._reaches(tree, Raises),
            after=Vector(numbers, truths),
        )

    def holds(self, predicate: Predicate) -> B:
        """Whether an instance of a property is true (where it raises, it is not)."""
        return self._fold(predicate.tree, "holds", self._verdict, self._either)

    def raises(self, predicate: Predicate) -> B:
        """Whether asking an instance of a property raises an error."""
        return self._reaches(predicate.tree, Raises)

    def _verdict(self, leaf: Tree) -> B:
        if isinstance(leaf, Verdict):
            return self.truth(leaf.value)
        return self.algebra.truth(False)

    def _reaches(self, tree: Tree, kind: type) -> B:
        return self._fold(
            tree, kind, lambda leaf: self.algebra.truth(isinstance(leaf, kind)), self._either
        )

    def _next_number(self, tree: Tree, slot: int) -> N:
        def leaf(item: Tree) -> N:
            written = dict(item.writes) if isinstance(item, Update) else {}
            return self.number(written[slot]) if slot in written else self.state.numbers[slot]

        return self._fold(tree, slot, leaf, self.algebra.choose)

    def _next_truth(self, tree: Tree, slot: int) -> B:
        def leaf(item: Tree) -> B:
            written = dict(item.writes) if isinstance(item, Update) else {}
            return self.truth(written[slot]) if slot in written else self.state.truths[slot]

        return self._fold(tree, slot, leaf, self._either)

    def _fold(
        self,
        tree: Tree,
        what: object,
        leaf: Callable[[Tree], X],
        choose: Callable[[B, X, X], X],
    ) -> X:
        """The tree from its leaves up; each distinct subtree once."""
        key = what, id(tree)
        if key not in self._trees:
            if isinstance(tree, Test):
                yes = self._fold(tree.yes, what, leaf, choose)
                no = self._fold(tree.no, what, leaf, choose)
                same = yes is no
                self._trees[key] = yes if same else choose(self.truth(tree.condition), yes, no)
            else:
                self._trees[key] = leaf(tree)
        found: X = self._trees[key]
        return found

    def _either(self, condition: B, yes: B, no: B) -> B:
        algebra = self.algebra
        return algebra.or_(
            [algebra.and_([condition, yes]), algebra.and_([algebra.not_(condition), no])]
        )

    def _differs(self, a: B, b: B) -> B:
        return self._either(a, self.algebra.not_(b), b)

    def _number(self, node: Node) -> N:
        op, operands = self.arena.part(node)
        algebra = self.algebra
        if op is Op.CONST:
            return algebra.constant(operands[0])
        if op is Op.VAR and operands[0] in self.state.numbers:
            return self.state.numbers[operands[0]]
        if op is Op.VAR or op in BOOLEAN:
            return algebra.choose(self.truth(node), algebra.constant(1), algebra.constant(0))
        make = {Op.ADD: algebra.add, Op.SUB: algebra.sub, Op.MUL: algebra.mul}[op]
        return make(self.number(operands[0]), self.number(operands[1]))

    def _truth(self, node: Node) -> B:
        op, operands = self.arena.part(node)
        algebra = self.algebra
        if op is Op.CONST:
            return algebra.truth(bool(operands[0]))
        if op is Op.NOT:
            return algebra.not_(self.truth(operands[0]))
        if op in (Op.AND, Op.OR):
            join = algebra.and_ if op is Op.AND else algebra.or_
            return join([self.truth(operand) for operand in operands])
        if op is Op.VAR and operands[0] in self.state.truths:
            return self.state.truths[operands[0]]
        if op is Op.EQ and all(self._is_truth(operand) for operand in operands):
            return algebra.not_(self._differs(*(self.truth(operand) for operand in operands)))
        if op in (Op.EQ, Op.LT, Op.LE):
            make = {Op.EQ: algebra.eq, Op.LT: algebra.lt, Op.LE: algebra.le}[op]
            return make(self.number(operands[0]), self.number(operands[1]))
        return algebra.not_(algebra.eq(self.number(node), algebra.constant(0)))

    def _is_truth(self, node: Node) -> bool:
        op, operands = self.arena.part(node)
        if op is Op.CONST:
            return operands[0] in (0, 1)
        return op in BOOLEAN or (op is Op.VAR and operands[0] in self.state.truths)
