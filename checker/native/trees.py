"""Decision trees as code: several of them together, so that what they all test is tested once.

Trees whose first test is on the same variable share one switch on it: in each of its cases only
what is left of each tree is evaluated, and most are disabled. Where sharing would copy too much
code, the trees follow one another instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.lowering.relation import Disabled, Test, Tree
from rackproof.checker.native.assembly import Code
from rackproof.checker.native.layout import Binary
from rackproof.checker.native.values import Values

MOST_COPIES: Final = 2.0
"""How many times the code of single trees a shared switch may take."""

Case = tuple[tuple[Tree, ...], list[int]]


@frozen
class Item:
    """A tree, and what to write where one of its leaves is reached; silent leaves need nothing."""

    tree: Tree
    leaf: Callable[[Tree], None]
    silent: Callable[[Tree], bool] = lambda leaf: isinstance(leaf, Disabled)

    @property
    def is_silent(self) -> bool:
        """Whether nothing is left to do."""
        return not isinstance(self.tree, Test) and self.silent(self.tree)


class Writer:
    """Writes trees over the values of one state."""

    def __init__(self, code: Code, values: Values) -> None:
        """Write where ``code`` stands."""
        self.code, self.values = code, values
        self.arena = values.arena
        self._sizes: dict[int, int] = {}

    def write(self, items: Sequence[Item]) -> None:
        """Evaluate every tree; whatever way is taken, the code goes on behind."""
        left = [evolve(item, tree=self._resolved(item.tree)) for item in items]
        for pivot, group in self._groups(left).items():
            if pivot is None:
                for item in group:
                    self._test(item)
            else:
                self._shared(pivot, group)

    def groups(self, items: Sequence[Item]) -> list[list[Item]]:
        """Items that share a first variable together, the others each by itself."""
        found: list[list[Item]] = []
        for pivot, group in self._groups(items).items():
            found += [[item] for item in group] if pivot is None else [group]
        return found

    def _groups(self, items: Sequence[Item]) -> dict[int | None, list[Item]]:
        found: dict[int | None, list[Item]] = defaultdict(list)
        for item in items:
            if not item.is_silent:
                found[self._pivot(item.tree)].append(item)
        return found

    def _pivot(self, tree: Tree) -> int | None:
        """The one variable that decides the first test, where a switch on it is cheap."""
        slots = self.arena.slots(tree.condition) if isinstance(tree, Test) else ()
        if len(slots) != 1:
            return None
        (slot,) = slots
        stored = self.values.layout.stored[slot]
        return slot if isinstance(stored, Binary) and stored.place.width <= 8 else None

    def _resolved(self, tree: Tree) -> Tree:
        """What is left of a tree once the facts have decided its first tests."""
        while isinstance(tree, Test):
            decided = self.values.decided(tree.condition)
            if decided is None:
                break
            tree = tree.yes if decided else tree.no
        return tree

    def _test(self, item: Item) -> None:
        if not isinstance(item.tree, Test):
            item.leaf(item.tree)
            return
        code, test = self.code, item.tree
        yes, no, after = code.block(), code.block(), code.block()
        code.branch(self.values.truth(test.condition), yes, no)
        for label, way in ((yes, test.yes), (no, test.no)):
            code.begin(label)
            with self.values.scope():
                self.write([evolve(item, tree=way)])
            code.jump(after)
        code.begin(after)

    def _shared(self, slot: int, items: Sequence[Item]) -> None:
        """One switch for several trees, or one each where that copies less."""
        cases = self._cases(slot, items)
        copied = sum(self.size(tree) for trees, _ in cases for tree in trees)
        alone = sum(self.size(item.tree) for item in items)
        if len(items) > 1 and copied > MOST_COPIES * alone:
            for item in items:
                self._switch(slot, [item], self._cases(slot, [item]))
        else:
            self._switch(slot, items, cases)

    def _cases(self, slot: int, items: Sequence[Item]) -> list[Case]:
        """What is left of the trees, with the variable's values that leave just that."""
        found: dict[tuple[int, ...], Case] = {}
        for value in self._values(slot):
            with self.values.scope({slot: (value,)}):
                trees = tuple(self._resolved(item.tree) for item in items)
            found.setdefault(tuple(map(id, trees)), (trees, []))[1].append(value)
        return list(found.values())

    def _values(self, slot: int) -> Sequence[int]:
        stored = self.values.layout.stored[slot]
        assert isinstance(stored, Binary)
        return self.values.facts.get(slot) or range(stored.low, stored.high + 1)

    def _switch(self, slot: int, items: Sequence[Item], cases: Sequence[Case]) -> None:
        code, stored = self.code, self.values.layout.stored[slot]
        assert isinstance(stored, Binary)
        labels = [code.block() for _ in cases]
        after = code.block()
        default = max(zip(labels, cases, strict=True), key=lambda pair: len(pair[1][1]))[0]
        ways = {
            value - stored.low: label
            for label, (_, values) in zip(labels, cases, strict=True)
            if label != default
            for value in values
        }
        code.switch(self.values.raw(stored.place), default, ways)
        for label, (trees, values) in zip(labels, cases, strict=True):
            code.begin(label)
            with self.values.scope({slot: tuple(values)}):
                left = zip(items, trees, strict=True)
                self.write([evolve(item, tree=tree) for item, tree in left])
            code.jump(after)
        code.begin(after)

    def size(self, tree: Tree) -> int:
        """How many leaves a tree has, written out."""
        known = self._sizes.get(id(tree))
        if known is None:
            known = 1
            if isinstance(tree, Test):
                known = self.size(tree.yes) + self.size(tree.no)
            self._sizes[id(tree)] = known
        return known
