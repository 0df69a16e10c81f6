"""Properties and their weakest preconditions (Dijkstra, 1975) as nodes of the arena."""

from __future__ import annotations

from collections.abc import Callable

from rackproof.checker.lowering.arena import Arena, Node, Op
from rackproof.checker.lowering.relation import (
    Action,
    Predicate,
    Raises,
    Test,
    Tree,
    Update,
    Verdict,
)
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.slicing import is_progress
from rackproof.model.kernel import Scope


def good(obligation: Obligation) -> tuple[Node, ...]:
    """What is true where a state is not bad: each instance, and that no action raises an error."""
    relation, arena = obligation.relation, obligation.relation.arena
    goes = arena.const(0)
    if any(p.property.scope is Scope.AT_REST for p in obligation.predicates):
        for action in filter(is_progress, relation.actions):
            goes = arena.or_(goes, _enabled(arena, action))
    found = []
    for predicate in obligation.predicates:
        is_late = predicate.property.scope is Scope.AT_REST
        node = asserted(arena, predicate)
        found.append(arena.or_(goes, node) if is_late else node)
    found += [_is_sound(arena, action) for action in relation.actions]
    return tuple(node for node in dict.fromkeys(found) if arena.value(node) != 1)


def asserted(arena: Arena, predicate: Predicate) -> Node:
    """That an instance of a property is true, and does not raise."""

    def leaf(tree: Tree) -> Node:
        return tree.value if isinstance(tree, Verdict) else arena.const(0)

    return _folded(arena, predicate.tree, leaf, {})


def _enabled(arena: Arena, action: Action) -> Node:
    """That an action gives some variable another value."""

    def leaf(tree: Tree) -> Node:
        same = arena.const(1)
        for slot, node in tree.writes if isinstance(tree, Update) else ():
            same = arena.and_(same, arena.eq(arena.var(slot), node))
        return arena.not_(same)

    return _folded(arena, action.tree, leaf, {})


def _is_sound(arena: Arena, action: Action) -> Node:
    """That an action raises no error."""
    return _folded(
        arena, action.tree, lambda leaf: arena.const(int(not isinstance(leaf, Raises))), {}
    )


def before(arena: Arena, action: Action, node: Node) -> Node:
    """The truth value that a state has exactly where an action makes ``node`` true, or where it
    does nothing there.
    """
    slots = arena.slots(node)

    def leaf(tree: Tree) -> Node:
        if not isinstance(tree, Update):
            return arena.const(1)
        written = {slot: new for slot, new in tree.writes if slot in slots}
        return arena.rename(
            node, lambda op, operand: written.get(operand) if op is Op.VAR else None
        )

    return _folded(arena, action.tree, leaf, {})


def _folded(arena: Arena, tree: Tree, leaf: Callable[[Tree], Node], done: dict[int, Node]) -> Node:
    """The tree from its leaves up: where the test holds the one side, where not the other."""
    if id(tree) not in done:
        if isinstance(tree, Test):
            yes = _folded(arena, tree.yes, leaf, done)
            no = _folded(arena, tree.no, leaf, done)
            done[id(tree)] = _either(arena, tree.condition, yes, no)
        else:
            done[id(tree)] = leaf(tree)
    return done[id(tree)]


def _either(arena: Arena, condition: Node, yes: Node, no: Node) -> Node:
    if yes == no:
        return yes
    return arena.and_(arena.or_(arena.not_(condition), yes), arena.or_(condition, no))
