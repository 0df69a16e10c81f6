"""The cone of influence: the part of a relation that some properties depend on.

A variable is needed where an instance reads it, where a transition that writes a needed variable
tests or copies it, and where a test leads to an error of the model. What remains has the same runs
as far as the needed variables go, with stutters for the transitions that are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import evolve

from rackproof.checker.lowering.arena import Arena
from rackproof.checker.lowering.paths import Trees
from rackproof.checker.lowering.relation import (
    Action,
    Disabled,
    Leaf,
    Predicate,
    Raises,
    Relation,
    Test,
    Tree,
    Update,
    Verdict,
)
from rackproof.model.kernel import Kind, Scope


def is_progress(action: Action) -> bool:
    """Whether the protocol itself does this (a step or a timer)."""
    return action.firing.transition.kind in (Kind.STEP, Kind.TIMER)


def sliced(relation: Relation, predicates: Iterable[Predicate]) -> Relation:
    """The relation as far as these instances depend on it, errors of the model included."""
    return _Cone(relation, tuple(predicates)).relation()


class _Cone:
    """Growing the set of needed variables to a fixed point, then dropping the rest."""

    def __init__(self, relation: Relation, predicates: tuple[Predicate, ...]) -> None:
        self.before, self.predicates = relation, predicates
        self.arena = relation.arena
        self.trees = Trees()
        self.needed = set[int]().union(*(p.reads for p in predicates))
        for action in relation.actions:
            self.needed |= self._tested(action.tree, Raises)
        if any(p.property.scope is Scope.AT_REST for p in predicates):
            self._need_what_moves()
        self._close()
        self._need_parameters()

    def relation(self) -> Relation:
        """What is left."""
        before, done = self.before, dict[int, Tree]()
        actions = []
        for action in before.actions:
            tree = self._kept(action.tree, done)
            if not isinstance(tree, Disabled):
                writes = action.writes & self.needed
                reads = frozenset(slots_of(self.arena, tree))
                actions.append(Action(action.firing, tree, reads, writes))
        return evolve(
            before,
            variables=tuple(v for v in before.variables if v.slot in self.needed),
            unread=tuple(
                sorted({*before.unread, *(v.slot for v in before.variables)} - self.needed)
            ),
            actions=tuple(actions),
            predicates=self.predicates,
            places=(),
        )

    def _need_parameters(self) -> None:
        """What is given of a needed parameter keeps those that it is tied to."""
        slots, size = self.before.system.schema.slots, -1
        while size != len(self.needed):
            size = len(self.needed)
            for tied in map(self.arena.slots, self.before.given):
                if tied & self.needed and all(slots[slot].rigid for slot in tied):
                    self.needed |= tied

    def _need_what_moves(self) -> None:
        """Whether anything is possible depends on all that steps and timers test and write."""
        for action in self.before.actions:
            if is_progress(action):
                self.needed |= self._tested(action.tree, Update) | action.writes

    def _close(self) -> None:
        size = -1
        while size != len(self.needed):
            size = len(self.needed)
            for action in self.before.actions:
                if action.writes & self.needed:
                    self.needed |= self._behind(action.tree)

    def _behind(self, tree: Tree) -> set[int]:
        """What decides about the needed variables that a tree writes, and what they become."""
        kept = self._kept(tree, {})
        return set(slots_of(self.arena, kept))

    def _tested(self, tree: Tree, kind: type) -> set[int]:
        """The variables of the tests that have such a leaf on one side and not all over."""
        only = self._mapped(tree, lambda leaf: leaf if isinstance(leaf, kind) else Disabled(), {})
        return {
            slot
            for part in parts(only)
            if isinstance(part, Test)
            for slot in self.arena.slots(part.condition)
        }

    def _kept(self, tree: Tree, done: dict[int, Tree]) -> Tree:
        return self._mapped(tree, self._leaf, done)

    def _leaf(self, leaf: Leaf) -> Leaf:
        if not isinstance(leaf, Update):
            return leaf
        writes = tuple((slot, node) for slot, node in leaf.writes if slot in self.needed)
        return Update(writes) if writes else Disabled()

    def _mapped(self, tree: Tree, change: Callable[[Leaf], Leaf], done: dict[int, Tree]) -> Tree:
        known = done.get(id(tree))
        if known is None:
            if isinstance(tree, Test):
                yes = self._mapped(tree.yes, change, done)
                no = self._mapped(tree.no, change, done)
                known = self.trees.test(tree.condition, yes, no)
            else:
                known = self.trees.leaf(change(tree))
            done[id(tree)] = known
        return known


def parts(tree: Tree) -> Iterator[Tree]:
    """Every distinct subtree once."""
    seen: set[int] = set()
    pending = [tree]
    while pending:
        item = pending.pop()
        if id(item) not in seen:
            seen.add(id(item))
            yield item
            if isinstance(item, Test):
                pending += (item.yes, item.no)


def slots_of(arena: Arena, tree: Tree) -> Iterator[int]:
    """The slots that a tree tests, or computes with."""
    for part in parts(tree):
        if isinstance(part, Test):
            yield from arena.slots(part.condition)
        elif isinstance(part, Verdict):
            yield from arena.slots(part.value)
        elif isinstance(part, Update):
            for _, node in part.writes:
                yield from arena.slots(node)
