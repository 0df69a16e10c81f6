"""Cubes over the latches of a circuit, as clauses over whole fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rackproof.checker.lowering.arena import Arena, Node
from rackproof.checker.lowering.relation import Variable
from rackproof.checker.proof.circuit import Circuit, Code

Cube = tuple[int, ...]
"""A conjunction of literals over latches, numbered from one, negative where false."""


def clause(circuit: Circuit, cube: Cube) -> Node:
    """The clause that rules out a cube: of each field, the values that it leaves."""
    arena, wanted = circuit.relation.arena, set(cube)
    parts = [
        among(arena, code.variable, _left(code, wanted))
        for code in circuit.codes
        if any(latch + 1 in wanted or -latch - 1 in wanted for latch in code.latches)
    ]
    return any_of(arena, parts)


def any_of(arena: Arena, parts: Iterable[Node]) -> Node:
    """A disjunction, in this order."""
    found = arena.const(0)
    for part in parts:
        found = arena.or_(found, part)
    return found


def among(arena: Arena, variable: Variable, values: Sequence[int]) -> Node:
    """That a variable has one of these values (ascending), as a comparison or two where it can."""
    if not values:
        return arena.const(0)
    var, low, high = arena.var(variable.slot), values[0], values[-1]
    missing = sorted(set(range(variable.low, variable.high + 1)) - set(values))
    if len(values) == 1:
        return arena.eq(var, arena.const(low))
    if len(missing) == 1 and variable.low < missing[0] < variable.high:
        return arena.not_(arena.eq(var, arena.const(missing[0])))
    if len(values) <= 2 or high - low + 1 != len(values):
        return any_of(arena, (arena.eq(var, arena.const(value)) for value in values))
    above = arena.le(arena.const(low), var) if low > variable.low else arena.const(1)
    below = arena.le(var, arena.const(high)) if high < variable.high else arena.const(1)
    return arena.and_(above, below)


def _left(code: Code, cube: set[int]) -> list[int]:
    """The values of a field that do not match the literals of a cube on it."""
    matched = [(i, True) for i in range(code.width) if code.start + i + 1 in cube]
    matched += [(i, False) for i in range(code.width) if -(code.start + i + 1) in cube]
    values = range(code.variable.low, code.variable.high + 1)
    return [v for v in values if any(code.bits(v)[i] is not bit for i, bit in matched)]
