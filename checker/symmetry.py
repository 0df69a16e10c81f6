"""Which identifiers of a model are interchangeable, shown from its lowered trees.

A candidate is a class of *bundles* (identifiers exchanged together, such as a tray with its
workers). It is used only where exchanging its bundles is shown to leave the model as it is: the
initial state, every transition (the tree of ``crash(0)`` with 0 and 1 exchanged is the tree of
``crash(1)``) and every property. Equal trees are recognised at once; others are compared as
decision diagrams over the values of their variables, which is exact. What cannot be shown is not
used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import (
    Disabled,
    Raises,
    Relation,
    Test,
    Tree,
    Update,
    Verdict,
)
from rackproof.model.kernel import Bundle, Identifiers
from rackproof.model.kernel.domains import Identifier
from rackproof.model.kernel.schema import Lane, Path

Class = tuple[Bundle, ...]
Permutation = Mapping[Lane, Lane]

MOST_VALUES: Final = 256
"""Comparisons with more combinations of values than this are not expanded."""

MOST_DIAGRAMS: Final = 100_000
"""A comparison of trees that needs more is given up, and the class not used."""

_OPAQUE: Final = 1 << 32
_LEAF: Final = 1 << 64


class NotShown(Exception):
    """An exchange that changes the model, or of which this cannot be told."""


def interchangeable(relation: Relation) -> tuple[Class, ...]:
    """Return the classes, of two bundles or more, whose exchange leaves the model as it is."""
    check = _Check(relation)
    found: list[Class] = []
    for candidate in candidates(relation):
        for same in check.alike(candidate):
            found.extend(check.shown(same))
    return tuple(found)


def candidates(relation: Relation) -> list[Class]:
    """The classes a system proposes; by default each unordered sort, whole."""
    system = relation.system
    if system.interchangeable is not None:
        return [tuple(bundles) for bundles in system.interchangeable]
    return [
        tuple(((sort, i),) for i in range(count))
        for sort, count in system.schema.counts.items()
        if not sort.ordered
    ]


def exchange(one: Bundle, other: Bundle) -> Permutation:
    """The permutation that swaps two bundles."""
    return {**dict(zip(one, other, strict=True)), **dict(zip(other, one, strict=True))}


def rotation(bundles: Class) -> Permutation:
    """The permutation that moves each bundle to the next place."""
    return {
        lane: moved
        for one, other in zip(bundles, (*bundles[1:], bundles[0]), strict=True)
        for lane, moved in zip(one, other, strict=True)
    }


class _Check:
    """Comparing a relation with itself under permutations."""

    def __init__(self, relation: Relation) -> None:
        self.relation, self.arena = relation, relation.arena
        self.slots = relation.system.schema.slots
        self.by_path: dict[Path, int] = {slot.path: i for i, slot in enumerate(self.slots)}
        self.variables = {v.slot: v for v in relation.variables}
        self.actions = {
            (a.firing.transition.name, a.firing.arguments): a.tree for a in relation.actions
        }
        self.diagrams = _Diagrams(relation)

    def alike(self, bundles: Class) -> list[Class]:
        """Group bundles of one shape whose exchange leaves the initial state as it is."""
        groups: list[list[Bundle]] = []
        for bundle in bundles:
            for group in groups:
                if self._same_start(group[0], bundle):
                    group.append(bundle)
                    break
            else:
                groups.append([bundle])
        return [tuple(group) for group in groups if len(group) > 1]

    def shown(self, bundles: Class) -> Iterator[Class]:
        """Yield the classes within a group that hold; whole where two generators suffice."""
        generators = [exchange(bundles[0], bundles[1])]
        if len(bundles) > 2:
            generators.append(rotation(bundles))
        if all(self.holds(generator) for generator in generators):
            yield bundles
        elif len(bundles) > 2:
            yield from self._split(bundles)

    def _split(self, bundles: Class) -> Iterator[Class]:
        groups: list[list[Bundle]] = []
        for bundle in bundles:
            for group in groups:
                if self.holds(exchange(group[0], bundle)):
                    group.append(bundle)
                    break
            else:
                groups.append([bundle])
        yield from (tuple(group) for group in groups if len(group) > 1)

    def _same_start(self, one: Bundle, other: Bundle) -> bool:
        if [sort for sort, _ in one] != [sort for sort, _ in other]:
            return False
        renaming = _Renaming(self, exchange(one, other))
        try:
            return all(self._starts_alike(renaming, slot) for slot in self.variables)
        except NotShown:
            return False

    def _starts_alike(self, renaming: _Renaming, slot: int) -> bool:
        initial = self.relation.initial
        image = renaming.slot(slot)
        return renaming.ordinal(slot, initial[slot]) == initial[image]

    def holds(self, permutation: Permutation) -> bool:
        """Whether a permutation leaves the model as it is."""
        renaming = _Renaming(self, permutation)
        try:
            return (
                all(self._starts_alike(renaming, slot) for slot in self.variables)
                and self._moves_alike(renaming)
                and self._judged_alike(renaming)
            )
        except NotShown:
            return False

    def _moves_alike(self, renaming: _Renaming) -> bool:
        disabled = Disabled()
        for action in self.relation.actions:
            transition = action.firing.transition
            moved = renaming.arguments(transition.parameters, action.firing.arguments)
            other = self.actions.get((transition.name, moved), disabled)
            if not self.diagrams.same(renaming.tree(action.tree), other):
                return False
        return True

    def _judged_alike(self, renaming: _Renaming) -> bool:
        trees = {(id(p.property), p.arguments): p.tree for p in self.relation.predicates}
        for predicate in self.relation.predicates:
            prop = predicate.property
            moved = renaming.arguments(prop.parameters, predicate.arguments)
            if not self.diagrams.same(renaming.tree(predicate.tree), trees[id(prop), moved]):
                return False
        return True


class _Renaming:
    """A permutation of identifiers, applied to slots, expressions and trees."""

    def __init__(self, check: _Check, permutation: Permutation) -> None:
        self.check, self.arena = check, check.arena
        self.permutation = permutation
        self.sorts = {sort for sort, _ in permutation}
        self._slots: dict[int, int] = {}
        self._nodes: dict[Node, Node] = {}
        self._trees: dict[int, Tree] = {}

    def index(self, sort: Identifiers, index: int) -> int:
        """Where an identifier goes."""
        return self.permutation.get((sort, index), (sort, index))[1]

    def arguments(
        self, parameters: Sequence[tuple[str, Identifiers]], arguments: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Where chosen identifiers go."""
        pairs = zip(parameters, arguments, strict=True)
        return tuple(self.index(sort, index) for (_, sort), index in pairs)

    def slot(self, slot: int) -> int:
        """Where a slot goes; ``NotShown`` where that slot takes other values."""
        known = self._slots.get(slot)
        if known is None:
            known = self._slots[slot] = self._moved(slot)
        return known

    def _moved(self, slot: int) -> int:
        declared = self.check.slots[slot]
        lanes = iter(declared.lanes)
        path = [
            self.index(*next(lanes)) if isinstance(part, int) else part for part in declared.path
        ]
        image = self.check.by_path[tuple(path)]
        one, other = self.check.variables.get(slot), self.check.variables.get(image)
        if one is None or other is None:
            raise NotShown
        moved = self._sort(slot) is not None
        if not moved and (one.low, one.high) != (other.low, other.high):
            raise NotShown
        return image

    def _sort(self, slot: int) -> Identifiers | None:
        """The sort whose identifiers a slot holds, where the permutation moves that sort."""
        domain = self.check.slots[slot].domain
        return domain.sort if isinstance(domain, Identifier) and domain.sort in self.sorts else None

    def ordinal(self, slot: int, value: int) -> int:
        """What becomes of a value that a slot holds."""
        sort = self._sort(slot)
        return value if sort is None or value < 0 else self.index(sort, value)

    def node(self, node: Node) -> Node:
        """The expression on the permuted state; identifiers are only ever compared for equality."""
        known = self._nodes.get(node)
        if known is None:
            known = self._nodes[node] = self._rebuilt(node)
        return known

    def _rebuilt(self, node: Node) -> Node:
        op, operands = self.arena.op(node), self.arena.operands(node)
        if op is Op.CONST:
            return node
        if op is Op.VAR:
            if self._sort(operands[0]) is not None:
                raise NotShown
            return self.arena.var(self.slot(operands[0]))
        if op is Op.EQ and (sort := self._identifiers(operands)) is not None:
            return self.arena.eq(*(self._value(sort, operand) for operand in operands))
        return self.arena.apply(op, tuple(self.node(operand) for operand in operands))

    def _identifiers(self, operands: tuple[Node, ...]) -> Identifiers | None:
        for operand in operands:
            if self.arena.op(operand) is Op.VAR:
                sort = self._sort(self.arena.operands(operand)[0])
                if sort is not None:
                    return sort
        return None

    def _value(self, sort: Identifiers, node: Node) -> Node:
        """An identifier as a value: a slot that holds one, or a constant."""
        op, operands = self.arena.op(node), self.arena.operands(node)
        if op is Op.CONST:
            value = operands[0]
            return node if value < 0 else self.arena.const(self.index(sort, value))
        if op is Op.VAR and self._sort(operands[0]) == sort:
            return self.arena.var(self.slot(operands[0]))
        raise NotShown

    def tree(self, tree: Tree) -> Tree:
        """The tree on the permuted state."""
        known = self._trees.get(id(tree))
        if known is None:
            known = self._trees[id(tree)] = self._renamed(tree)
        return known

    def _renamed(self, tree: Tree) -> Tree:
        match tree:
            case Test(condition, yes, no):
                return Test(self.node(condition), self.tree(yes), self.tree(no))
            case Update(writes):
                return Update(tuple(sorted(self._write(*write) for write in writes)))
            case Verdict(value):
                return Verdict(self.node(value))
            case _:
                return tree

    def _write(self, slot: int, node: Node) -> tuple[int, Node]:
        sort = self._sort(slot)
        return self.slot(slot), self.node(node) if sort is None else self._value(sort, node)


Diagram = int
Leaf = tuple[object, ...]


class _Diagrams:
    """Ordered decision diagrams over the variables' values: equal exactly where trees are
    equivalent.
    """

    def __init__(self, relation: Relation) -> None:
        self.arena: Arena = relation.arena
        self.ranges = {v.slot: (v.low, v.high) for v in relation.variables}
        self.rank = self._ranked(relation)
        self.forms = _Forms(relation.arena)
        self._index: dict[object, Diagram] = {}
        self._parts: list[tuple[int, tuple[Diagram, ...]] | Leaf] = []
        self._built: dict[int, tuple[Tree, Diagram]] = {}
        self._atoms: dict[Node, Diagram] = {}
        self._chosen: dict[tuple[Diagram, Diagram, Diagram], Diagram] = {}
        self.true, self.false = self._leaf((True,)), self._leaf((False,))

    def _ranked(self, relation: Relation) -> dict[int, int]:
        """The order of the variables: those that select a lane come before the lanes."""
        slots = relation.system.schema.slots
        order = sorted(self.ranges, key=lambda s: (not isinstance(slots[s].domain, Identifier), s))
        return {slot: rank for rank, slot in enumerate(order)}

    def same(self, one: Tree, other: Tree) -> bool:
        """Whether two trees do the same in every state."""
        return self.forms.same(one, other) or self._tree(one) == self._tree(other)

    def _tree(self, tree: Tree) -> Diagram:
        known = self._built.get(id(tree))
        if known is None:
            known = self._built[id(tree)] = (tree, self._build(tree))
        return known[1]

    def _build(self, tree: Tree) -> Diagram:
        match tree:
            case Test(condition, yes, no):
                return self._choose(self._atom(condition), self._tree(yes), self._tree(no))
            case Update(writes):
                formed = ((slot, self.forms.form(node)) for slot, node in writes)
                return self._leaf(("update", *sorted(formed)))
            case Verdict(value):
                return self._atom(value)
            case Raises():
                return self._leaf(("raises",))
            case Disabled():
                return self._leaf(("disabled",))

    def _atom(self, node: Node) -> Diagram:
        known = self._atoms.get(node)
        if known is None:
            known = self._atoms[node] = self._truth(node)
        return known

    def _truth(self, node: Node) -> Diagram:
        op, operands = self.arena.op(node), self.arena.operands(node)
        if op is Op.NOT:
            return self._choose(self._atom(operands[0]), self.false, self.true)
        if op is Op.AND:
            return self._choose(self._atom(operands[0]), self._atom(operands[1]), self.false)
        if op is Op.OR:
            return self._choose(self._atom(operands[0]), self.true, self._atom(operands[1]))
        slots = sorted(self.arena.slots(node), key=self.rank.__getitem__)
        if self._combinations(slots) > MOST_VALUES:
            return self._opaque(node)
        return self._expanded(node, slots, {})

    def _opaque(self, node: Node) -> Diagram:
        """A comparison of too many values, as a variable of its own: equal ones are still equal."""
        slot = _OPAQUE + node
        self.ranges[slot] = (0, 1)
        self.rank[slot] = slot
        return self._decision(slot, (self.false, self.true))

    def _expanded(self, node: Node, slots: list[int], values: dict[int, int]) -> Diagram:
        """Try every value of the slots that a comparison speaks of."""
        if not slots:
            return self.true if self.arena.evaluate(node, values.__getitem__) else self.false
        low, high = self.ranges[slots[0]]
        ways = (
            self._expanded(node, slots[1:], {**values, slots[0]: v}) for v in range(low, high + 1)
        )
        return self._decision(slots[0], tuple(ways))

    def _combinations(self, slots: list[int]) -> int:
        product = 1
        for slot in slots:
            low, high = self.ranges[slot]
            product *= high - low + 1
        return product

    def _choose(self, condition: Diagram, yes: Diagram, no: Diagram) -> Diagram:
        """If-then-else of three diagrams."""
        if condition == self.true or yes == no:
            return yes
        if condition == self.false:
            return no
        key = (condition, yes, no)
        known = self._chosen.get(key)
        if known is None:
            slot = min((self._slot(diagram) for diagram in key), key=self._place)
            low, high = self.ranges[slot]
            ways = (
                self._choose(*(self._way(diagram, slot, i) for diagram in key))
                for i in range(high - low + 1)
            )
            known = self._chosen[key] = self._decision(slot, tuple(ways))
        return known

    def _slot(self, diagram: Diagram) -> int:
        """The variable that a diagram decides on, -1 for a leaf."""
        part = self._parts[diagram]
        return part[0] if isinstance(part[0], int) and not isinstance(part[0], bool) else -1

    def _place(self, slot: int) -> int:
        return self.rank.get(slot, _LEAF)

    def _way(self, diagram: Diagram, slot: int, value: int) -> Diagram:
        if self._slot(diagram) != slot:
            return diagram
        ways = self._parts[diagram][1]
        assert isinstance(ways, tuple)
        way: Diagram = ways[value]
        return way

    def _decision(self, slot: int, ways: tuple[Diagram, ...]) -> Diagram:
        return ways[0] if len(set(ways)) == 1 else self._intern((slot, ways))

    def _leaf(self, leaf: Leaf) -> Diagram:
        return self._intern(leaf)

    def _intern(self, part: Leaf) -> Diagram:
        known = self._index.get(part)
        if known is None:
            if len(self._parts) >= MOST_DIAGRAMS:
                raise NotShown
            known = self._index[part] = len(self._parts)
            self._parts.append(part)
        return known


class _Forms:
    """One form for nodes that differ in the order of a conjunction, a disjunction or a sum."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self._known: dict[Node, Node] = {}

    def form(self, node: Node) -> Node:
        """The form of a node."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._formed(node)
        return known

    def _formed(self, node: Node) -> Node:
        op, operands = self.arena.part(node)
        if op in (Op.VAR, Op.CONST):
            return node
        if op in (Op.AND, Op.OR, Op.ADD):
            first, *rest = sorted(self.form(term) for term in self.arena.terms(node))
            for term in rest:
                first = self.arena.apply(op, (first, term))
            return first
        return self.arena.apply(op, tuple(self.form(operand) for operand in operands))

    def same(self, one: Tree, other: Tree) -> bool:
        """Whether two trees are the same test by test."""
        if one is other:
            return True
        match one, other:
            case Test(), Test():
                alike = self.form(one.condition) == self.form(other.condition)
                return alike and self.same(one.yes, other.yes) and self.same(one.no, other.no)
            case Update(), Update():
                return self._writes(one) == self._writes(other)
            case Verdict(), Verdict():
                return self.form(one.value) == self.form(other.value)
            case _:
                return type(one) is type(other) and one == other

    def _writes(self, update: Update) -> list[tuple[int, Node]]:
        return sorted((slot, self.form(node)) for slot, node in update.writes)
