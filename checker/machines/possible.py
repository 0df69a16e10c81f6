"""Which step may change a field from one value to another, as its lowered tree has it.

On every path of a tree to an update, the tests narrow the values that the field can have before;
what is written is bounded likewise. Nothing that can happen is left out; some of what is told may
be ruled out by what other fields never are at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.facts import Facts
from rackproof.checker.lowering.relation import Relation, Test, Tree, Update

Steps = set[tuple[int, int, int]]
"""Value before, value after, number of the action."""
ENDLESS: Final = -1


def steps(relation: Relation, slot: int) -> Steps:
    """What may change a slot, from values that it can come to have."""
    found: Steps = set()
    for number, action in enumerate(relation.actions):
        if slot in action.writes:
            pairs = _pairs(relation, action.tree, _facts(relation), slot)
            found |= {(before, after, number) for before, after in pairs}
    return _reachable(found, relation.initial[slot])


def _reachable(found: Steps, initial: int) -> Steps:
    """The steps from values that others lead to."""
    values, size = {initial}, 0
    while len(values) > size:
        size = len(values)
        values |= {after for before, after, _ in found if before in values}
    return {step for step in found if step[0] in values}


def _facts(relation: Relation) -> Facts:
    """The values that each slot can have, where nothing is decided."""
    masks = [1] * len(relation.initial)
    lows = list(relation.initial)
    for variable in relation.variables:
        lows[variable.slot] = variable.low
        endless = variable.end is None
        masks[variable.slot] = ENDLESS if endless else (2 << (variable.high - variable.low)) - 1
    return Facts(relation.arena, masks, lows, set())


def _pairs(relation: Relation, tree: Tree, facts: Facts, slot: int) -> Iterator[tuple[int, int]]:
    """The values before and after at each update of a slot below a tree."""
    if isinstance(tree, Test):
        known = facts.truth(tree.condition)
        for outcome, way in ((True, tree.yes), (False, tree.no)):
            if known is not (not outcome):
                branch = facts.branch()
                branch.assume(tree.condition, outcome)
                yield from _pairs(relation, way, branch, slot)
    elif isinstance(tree, Update):
        for written, node in tree.writes:
            if written == slot:
                yield from _values(relation, facts, slot, node)


def _values(relation: Relation, facts: Facts, slot: int, node: Node) -> Iterator[tuple[int, int]]:
    """For each value before, those that are written, where they differ."""
    arena = relation.arena
    here = arena.var(slot)
    for before in facts.values(here):
        branch = facts.branch()
        branch.assume(arena.eq(here, arena.const(before)), True)
        domain = relation.system.schema.slots[slot].domain
        for after in branch.values(node):
            fits = domain.high is None or domain.low <= after <= domain.high
            if after != before and fits:
                yield before, after
