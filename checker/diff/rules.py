"""Transitions and properties as they are written: what the lowered trees test and do.

Two trees are the same where they test the same fields for the same values in the same order, and
write the same; they may differ and yet do the same, which only their behaviour tells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.checker.guards.templates import Templates, negated
from rackproof.checker.lowering.arena import Node, Op
from rackproof.checker.lowering.relation import (
    Action,
    Raises,
    Relation,
    Test,
    Tree,
    Update,
    Verdict,
)
from rackproof.checker.proof.formula import Formulas
from rackproof.model.kernel import Firing, System
from rackproof.model.kernel.domains import Enumeration, Identifier, Scalar
from rackproof.scenarios.fields import member_name

Literal = tuple[Node, bool]
"""A test and how it comes out."""
_COMMUTATIVE: Final = (Op.ADD, Op.MUL, Op.EQ, Op.AND, Op.OR)


def digest(*parts: str) -> str:
    """A short text that differs where any of the parts does."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def domain_in_words(system: System, domain: Scalar) -> str:
    """What a field may hold."""
    match domain:
        case Enumeration():
            return ", ".join(member_name(member) for member in domain.enum)
        case Identifier(sort, count, optional):
            names = ", ".join(system.label(sort, index) for index in range(count))
            return f"none, {names}" if optional else names
        case _:
            return str(domain)


class Forms:
    """Digests of the trees of one relation, over the names of fields and what they may hold."""

    def __init__(self, relation: Relation) -> None:
        """Begin with nothing known."""
        self.relation, self.arena = relation, relation.arena
        self._nodes: dict[Node, str] = {}

    @cached_property
    def slots(self) -> list[str]:
        """Each field by its name and what it may hold."""
        system = self.relation.system
        return [f"{s.label}: {domain_in_words(system, s.domain)}" for s in system.schema.slots]

    def tree(self, tree: Tree) -> str:
        """What a tree tests and does."""
        match tree:
            case Test(condition, yes, no):
                return digest("test", self.node(condition), self.tree(yes), self.tree(no))
            case Update(writes):
                done = sorted(f"{self.slots[slot]} := {self.node(node)}" for slot, node in writes)
                return digest("update", *done)
            case Verdict(value):
                return digest("verdict", self.node(value))
            case Raises(message, _):
                return digest("raises", message)
            case _:
                return digest("disabled")

    def node(self, node: Node) -> str:
        """What an expression computes."""
        known = self._nodes.get(node)
        if known is None:
            op, operands = self.arena.part(node)
            if op is Op.CONST:
                parts = [str(operands[0])]
            elif op is Op.VAR:
                parts = [self.slots[operands[0]]]
            else:
                parts = [self.node(operand) for operand in operands]
            ordered = sorted(parts) if op in _COMMUTATIVE else parts
            known = self._nodes[node] = digest(op.value, *ordered)
        return known


def outcomes(relation: Relation, condition: Node, outcome: bool) -> Iterator[Literal]:
    """The tests that a condition comes to where it comes out one way."""
    arena = relation.arena
    op, operands = arena.part(condition)
    if op is Op.NOT:
        yield from outcomes(relation, operands[0], not outcome)
    elif op is (Op.AND if outcome else Op.OR):
        for term in operands:
            yield from outcomes(relation, term, outcome)
    else:
        yield condition, outcome


def needed(relation: Relation, tree: Tree) -> frozenset[Literal] | None:
    """The tests that come out the same on every way to take effect; None where there is no way."""
    if isinstance(tree, Update):
        return frozenset()
    if not isinstance(tree, Test):
        return None
    ways = []
    for way, outcome in ((tree.yes, True), (tree.no, False)):
        beyond = needed(relation, way)
        if beyond is not None:
            ways.append(beyond.union(outcomes(relation, tree.condition, outcome)))
    return frozenset.intersection(*ways) if ways else None


@frozen(slots=False)
class Guards:
    """What transitions need, in words over what they take."""

    relation: Relation

    @cached_property
    def _templates(self) -> Templates:
        return Templates(self.relation)

    @cached_property
    def _formulas(self) -> Formulas:
        return Formulas(self.relation)

    def of(self, actions: Sequence[Action]) -> tuple[str, ...]:
        """The tests that every firing of a transition needs, sorted."""
        told = [frozenset(self._words(action)) for action in actions]
        return tuple(sorted(frozenset.intersection(*told))) if told else ()

    def _words(self, action: Action) -> Iterator[str]:
        for node, outcome in needed(self.relation, action.tree) or ():
            yield self._told(node, outcome, action.firing)

    def _told(self, node: Node, outcome: bool, firing: Firing) -> str:
        found = self._templates.readings(node, firing)
        if found:
            test = found[0] if outcome else negated(found[0])
            return self._templates.words(test, firing.transition)
        return self._formulas.told(node if outcome else self.relation.arena.not_(node))


def families(system: System, slots: Iterable[int]) -> tuple[str, ...]:
    """The families of the fields that some slots belong to, in the order of the slots."""
    return tuple(dict.fromkeys(family(system, slot) for slot in sorted(slots)))


def family(system: System, slot: int, is_set: bool = False) -> str:
    """A field's path with sorts in place of identifiers; of a set without its member."""
    found = system.schema.slots[slot]
    lanes = iter(found.lanes)
    path = found.path[:-1] if is_set else found.path
    text = ""
    for part in path:
        if isinstance(part, str):
            text += f".{part}" if text else part
        else:
            text += f"[{next(lanes)[0]}]"
    return text
