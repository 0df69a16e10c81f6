"""By what a decision tree decides in one state: the tests that make a difference there, and the
least of the fields that settle them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final

from attrs import define, field, frozen

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import Disabled, Leaf, Relation, Test, Tree, Update

Effect = Callable[[Leaf], Hashable]
NOTHING: Final[frozenset[int]] = frozenset()


def is_enabled(leaf: Leaf) -> Hashable:
    """Whether a transition is possible; that a field leaves its domain is no matter of that."""
    return not isinstance(leaf, Disabled)


def writes_to(slots: frozenset[int]) -> Effect:
    """What a transition does to some slots; none of it, where it is not possible."""

    def effect(leaf: Leaf) -> Hashable:
        if isinstance(leaf, Update):
            return tuple((slot, node) for slot, node in leaf.writes if slot in slots)
        return () if isinstance(leaf, Disabled) else leaf

    return effect


@define
class _Outcomes:
    """Numbers for trees; the same where trees have the same effects in every state."""

    effect: Effect
    known: dict[int, int] = field(factory=dict)
    numbers: dict[Hashable, int] = field(factory=dict)

    def of(self, tree: Tree) -> int:
        """The number of a tree."""
        pending = [tree]
        while pending:
            item = pending[-1]
            if id(item) in self.known:
                pending.pop()
            elif isinstance(item, Test) and (
                new := [each for each in (item.yes, item.no) if id(each) not in self.known]
            ):
                pending += new
            else:
                self.known[id(item)] = self._number(item)
        return self.known[id(tree)]

    def _number(self, tree: Tree) -> int:
        if not isinstance(tree, Test):
            return self._named(("leaf", self.effect(tree)))
        yes, no = self.known[id(tree.yes)], self.known[id(tree.no)]
        return yes if yes == no else self._named((tree.condition, yes, no))

    def _named(self, key: Hashable) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


@frozen
class Way:
    """The way of a state through a tree: what it is decided by, and where it ends.

    literals: tests in their least parts, each with how it comes out.
    """

    literals: tuple[tuple[Node, bool], ...]
    leaf: Leaf


@frozen
class Decisions:
    """How the trees of a relation decide."""

    relation: Relation

    @property
    def arena(self) -> Arena:
        """Where the tests live."""
        return self.relation.arena

    def way(
        self,
        tree: Tree,
        ordinals: Sequence[int],
        effect: Effect,
        liked: Iterable[int] = NOTHING,
    ) -> Way:
        """The way of a state (the ordinals of all slots), as far as it makes a difference to an
        effect; liked: slots to be preferred where one of several settles a test.
        """
        outcomes, chosen = _Outcomes(effect), set(liked)
        found: dict[tuple[Node, bool], None] = {}
        while isinstance(tree, Test):
            if outcomes.of(tree.yes) != outcomes.of(tree.no):
                for literal in self.literals(tree.condition, ordinals, chosen):
                    found[literal] = None
                    chosen |= self.arena.slots(literal[0])
            holds = self.relation.value(tree.condition, ordinals)
            tree = tree.yes if holds else tree.no
        return Way(tuple(found), tree)

    def literals(
        self, node: Node, ordinals: Sequence[int], liked: Iterable[int] = NOTHING
    ) -> list[tuple[Node, bool]]:
        """The least parts of a truth value that settle how it comes out in a state."""
        op, operands = self.arena.part(node)
        if op is Op.NOT:
            return self.literals(operands[0], ordinals, liked)
        holds = bool(self.relation.value(node, ordinals))
        if op not in (Op.AND, Op.OR):
            return [(node, holds)] if self.arena.slots(node) else []
        parts = sorted(self.arena.terms(node))
        if holds is (op is Op.AND):
            return [each for part in parts for each in self.literals(part, ordinals, liked)]
        settling = [part for part in parts if self.relation.value(part, ordinals) == holds]
        ways = [self.literals(part, ordinals, liked) for part in settling]
        preferred = set(liked)

        def cost(way: list[tuple[Node, bool]]) -> tuple[int, list[int]]:
            slots = self.slots(way)
            return len(slots - preferred), sorted(slots)

        return min(ways, key=cost)

    def slots(self, literals: Iterable[tuple[Node, bool]]) -> frozenset[int]:
        """The slots that some tests read."""
        return NOTHING.union(*(self.arena.slots(node) for node, _ in literals))

    def written(self, leaf: Leaf, slots: frozenset[int]) -> Iterator[tuple[int, frozenset[int]]]:
        """Of some slots, those that a leaf writes, each with the slots its value is made of."""
        for slot, node in leaf.writes if isinstance(leaf, Update) else ():
            if slot in slots:
                yield slot, self.arena.slots(node)
