"""Finite instances of a relation that leaves sizes open, and all their states at once.

One search sees every value of the parameters up to some top: an instance starts with the least, and
raises them as long as nothing else has happened. Its supplies never run out. What it shows of runs
is real; what is true of all its states is a guess about larger ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from attrs import evolve, frozen

from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.paths import Trees
from rackproof.checker.lowering.relation import (
    Action,
    Disabled,
    Predicate,
    Relation,
    Test,
    Tree,
    Update,
    Variable,
    Verdict,
)
from rackproof.checker.native.columns import Column, Columns
from rackproof.checker.proof.slicing import slots_of
from rackproof.checker.search import Exploration, Limits, explore
from rackproof.checker.symmetry import Class, interchangeable
from rackproof.model.kernel import Firing, Kind, Transition
from rackproof.model.kernel.transitions import Fairness

REACH: Final = 3
"""Parameters go up to this at least, and past their value in the scope."""


@frozen
class Seen:
    """States of an instance: a column for each variable, a row for each state.

    classes: bundles that may be exchanged; of states that this makes alike, there is one.
    """

    relation: Relation
    classes: tuple[Class, ...]
    exploration: Exploration
    columns: Mapping[int, Column]


def instances(relation: Relation, most: int, seconds: float) -> list[Seen]:
    """The states of an instance; where they are more than so many or take longer, some of them
    (those with the fewest faults), and the states of smaller instances too.
    """
    found: list[Seen] = []
    for reach in range(REACH, 0, -1):
        found.append(seen(relation, most, seconds, reach))
        if found[-1].exploration.exhausted:
            break
    return found


def seen(relation: Relation, most: int, seconds: float, reach: int = REACH) -> Seen:
    """Search an instance: at most so many states, for so long."""
    small = instance(relation, reach)
    limits = Limits(max_states=most, time_limit=seconds)
    classes = interchangeable(small)
    exploration = explore(small, classes, limits=limits, keep=True)
    found = dict(exploration.columns.variables)
    if relation.given:
        kept = _given(small, found)
        found = {slot: column[kept] for slot, column in found.items()}
    return Seen(small, classes, exploration, found)


def instance(relation: Relation, reach: int = REACH) -> Relation:
    """The finite relation: parameters up to a top, all else of their size a little further."""
    return _Instance(relation, reach).relation()


class _Instance:
    """The making of one."""

    def __init__(self, relation: Relation, reach: int) -> None:
        self.reach = reach
        self.whole, self.arena, self.trees = relation, relation.arena, Trees()
        slots = relation.system.schema.slots
        self.open = [v.slot for v in relation.variables if v.end is None]
        self.rigid = [slot for slot in self.open if slots[slot].rigid]
        self.supplies = {s for s in self.open if slots[s].free and not slots[s].rigid}
        highest = self._highest()
        rest = max([REACH, *highest.values()]) + 2
        self.tops = {slot: highest.get(slot, rest) for slot in self.open}
        self.lows = {v.slot: v.low for v in relation.variables}
        self.started = self._started()

    def _highest(self) -> dict[int, int]:
        """How far each parameter goes: of two that are compared, the second goes further."""
        initial = self.whole.initial
        past = int(self.reach == REACH)
        tops = {s: max(self.reach, initial[s] + past) for s in self.rigid}
        for node in self.whole.given_of(self.rigid):
            if len(slots := self.arena.slots(node)) == 2:
                first, second = sorted(slots)
                tops[second] = max(tops[second], tops[first] + 1)
        return tops

    def relation(self) -> Relation:
        """The instance."""
        whole = self.whole
        initial = list(whole.initial)
        for slot in self.rigid:
            initial[slot] = self.lows[slot]
        variables = [v for v in whole.variables if v.slot not in self.supplies]
        actions = [self._action(action) for action in whole.actions]
        return evolve(
            whole,
            variables=tuple(Variable(v.slot, v.low, self._end(v)) for v in variables),
            constants={**whole.constants, **{s: whole.initial[s] for s in self.supplies}},
            initial=tuple(initial),
            actions=(*actions, *(self._raise(slot, variables, initial) for slot in self.rigid)),
            predicates=tuple(self._predicate(p) for p in whole.predicates),
            places=(),
        )

    def _end(self, variable: Variable) -> int | None:
        return self.tops.get(variable.slot, variable.end)

    def _started(self) -> Node:
        """What is given of the parameters: no other values start anything."""
        result = self.arena.const(1)
        for node in self.whole.given_of(self.rigid):
            result = self.arena.and_(result, node)
        return result

    def _action(self, action: Action) -> Action:
        tree = self.trees.test(self.started, self._mapped(action.tree), self.trees.leaf(Disabled()))
        return self._made(action.firing, tree)

    def _made(self, firing: Firing, tree: Tree) -> Action:
        writes = frozenset(slot for leaf in _updates(tree) for slot, _ in leaf.writes)
        return Action(firing, tree, frozenset(slots_of(self.arena, tree)), writes)

    def _predicate(self, predicate: Predicate) -> Predicate:
        fine = self.trees.leaf(Verdict(self.arena.const(1)))
        tree = self.trees.test(self.started, self._mapped(predicate.tree), fine)
        return evolve(predicate, tree=tree, reads=frozenset(slots_of(self.arena, tree)))

    def _raise(self, slot: int, variables: Iterable[Variable], initial: list[int]) -> Action:
        """A parameter goes up, where nothing else has happened."""
        arena, trees = self.arena, self.trees
        old = arena.var(slot)
        tree = trees.leaf(Update(((slot, arena.add(old, arena.const(1))),)))
        for variable in variables:
            if variable.slot not in self.rigid:
                here = arena.eq(arena.var(variable.slot), arena.const(initial[variable.slot]))
                tree = trees.test(here, tree, trees.leaf(Disabled()))
        below = arena.lt(old, arena.const(self.tops[slot]))
        tree = trees.test(below, tree, trees.leaf(Disabled()))
        return self._made(Firing(_raising(slot), ()), tree)

    def _mapped(self, tree: Tree) -> Tree:
        match tree:
            case Test(condition, yes, no):
                return self._test(self._folded(condition), self._mapped(yes), self._mapped(no))
            case Verdict(value):
                return self.trees.leaf(Verdict(self._folded(value)))
            case Update(writes):
                return self._update(
                    tuple((s, self._folded(n)) for s, n in writes if s not in self.supplies)
                )
            case _:
                return self.trees.leaf(tree)

    def _update(self, writes: tuple[tuple[int, Node], ...]) -> Tree:
        """The update, where it stays below the tops."""
        tree = self.trees.leaf(Update(writes) if writes else Disabled())
        for slot, node in writes:
            if slot in self.tops:
                fits = self.arena.le(node, self.arena.const(self.tops[slot]))
                tree = self._test(fits, tree, self.trees.leaf(Disabled()))
        return tree

    def _test(self, condition: Node, yes: Tree, no: Tree) -> Tree:
        value = self.arena.value(condition)
        if value is not None:
            return yes if value else no
        return self.trees.test(condition, yes, no)

    def _folded(self, node: Node) -> Node:
        def constant(op: Op, operand: int) -> Node | None:
            is_supply = op is Op.VAR and operand in self.supplies
            return self.arena.const(self.whole.initial[operand]) if is_supply else None

        if not self.arena.slots(node) & self.supplies:
            return node
        return self.arena.rename(node, constant)


def _raising(slot: int) -> Transition[..., Any]:
    def raised(world: object) -> object:
        """A parameter is one more."""
        return world

    raised.__name__ = f"raise_{slot}"
    return Transition(raised, Kind.ENVIRONMENT, (), Fairness.NONE)


def _updates(tree: Tree) -> list[Update]:
    found, pending, known = [], [tree], set[int]()
    while pending:
        item = pending.pop()
        if id(item) in known:
            continue
        known.add(id(item))
        if isinstance(item, Test):
            pending += (item.yes, item.no)
        elif isinstance(item, Update):
            found.append(item)
    return found


def _given(relation: Relation, columns: Mapping[int, Column]) -> Column:
    """Which states have parameters as given."""
    states = len(next(iter(columns.values())))
    kept: Column = np.ones(states, dtype=bool)
    slots, computed = relation.system.schema.slots, Columns(relation.arena, columns, states)
    for node in relation.given_of(slot for slot in columns if slots[slot].rigid):
        kept &= computed.truth(node)
    return kept
