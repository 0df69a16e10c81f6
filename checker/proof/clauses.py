"""Clauses as plain values, to be told by one process to another.

Nodes are numbers of one arena, and each process has an arena of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rackproof.checker.lowering.arena import Arena, Node, Op

Told = tuple[Any, ...]


def told(arena: Arena, nodes: Iterable[Node]) -> tuple[Told, ...]:
    """Nodes as nested tuples: the operation, then its operands."""
    return tuple(_told(arena, node) for node in nodes)


def heard(arena: Arena, clauses: Iterable[Told]) -> tuple[Node, ...]:
    """The same nodes in this arena."""
    return tuple(_heard(arena, clause) for clause in clauses)


def _told(arena: Arena, node: Node) -> Told:
    op, operands = arena.part(node)
    if op in (Op.CONST, Op.VAR):
        return (op.name, operands[0])
    return (op.name, *(_told(arena, operand) for operand in operands))


def _heard(arena: Arena, clause: Told) -> Node:
    op, operands = Op[clause[0]], clause[1:]
    if op is Op.CONST:
        return arena.const(operands[0])
    if op is Op.VAR:
        return arena.var(operands[0])
    return arena.apply(op, tuple(_heard(arena, operand) for operand in operands))
