"""Fewer clauses that are inductive still: what no proof of another one needs is dropped.

Each thing that an invariant has to do (rule out a way to be bad, keep a clause under an action) is
shown by some of the clauses, a core. What is in no core goes; and so does a clause without which
all that used it can be shown by what is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from rackproof.checker.proof.circuit import Circuit
from rackproof.checker.proof.fields import Cube
from rackproof.checker.proof.outcomes import Budget
from rackproof.checker.proof.ways import bad_ways, step_ways

Duty = tuple[int, int]
"""The number of a way, and that of the clause that it has to keep (-1: it is to be impossible)."""


def minimal(circuit: Circuit, cubes: Sequence[Cube], budget: Budget) -> list[Cube]:
    """Those of the cubes of an invariant that are needed; as far as the budget reaches."""
    return _Minimal(circuit, sorted(cubes, key=lambda cube: (len(cube), cube)), budget).needed()


class _Minimal:
    def __init__(self, circuit: Circuit, cubes: list[Cube], budget: Budget) -> None:
        self.cubes, self.budget = cubes, budget
        self.ways = [*bad_ways(circuit), *step_ways(circuit)]
        log = [(i, [-literal for literal in cube]) for i, cube in enumerate(cubes)]
        for way in self.ways:
            way.load(log)
        self.cores: dict[Duty, frozenset[int]] = {}

    def needed(self) -> list[Cube]:
        """The longer a clause, the sooner it is tried to do without; until none can go."""
        left, before = self._close(range(len(self.cubes))), -1
        while len(left) != before:
            before = len(left)
            for number in sorted(left, reverse=True):
                if number in left and not self.budget.spent and self._drop(number, left):
                    left = self._close(sorted(left - {number}))
        return [self.cubes[number] for number in sorted(left)]

    def _close(self, allowed: Sequence[int]) -> set[int]:
        """The clauses that are used for what is bad, for these again, and so on."""
        found, pending = set[int](), [-1]
        while pending:
            number = pending.pop()
            for duty in self._duties(number):
                core = self.cores.get(duty)
                if core is None:
                    core = self.cores[duty] = self._shown(duty, allowed) or frozenset()
                pending += sorted(core - found)
                found |= core
        self.cores = {duty: core for duty, core in self.cores.items() if duty[1] in {-1, *found}}
        return found

    def _drop(self, number: int, left: set[int]) -> bool:
        """Whether the rest shows all that this clause was used for; then it is shown by that."""
        others, again = sorted(left - {number}), dict[Duty, frozenset[int]]()
        for duty, core in self.cores.items():
            if number in core and duty[1] != number:
                found = self._shown(duty, others)
                if found is None:
                    return False
                again[duty] = found
        self.cores.update(again)
        return True

    def _duties(self, number: int) -> list[Duty]:
        if number < 0:
            return [(i, -1) for i, way in enumerate(self.ways) if way.action is None]
        latches = {abs(literal) for literal in self.cubes[number]}
        return [
            (i, number) for i, way in enumerate(self.ways) if not latches.isdisjoint(way.latches)
        ]

    def _shown(self, duty: Duty, allowed: Sequence[int]) -> frozenset[int] | None:
        """The clauses among these by which a duty is done; None where it is not."""
        way, number = duty
        cube = self.cubes[number] if number >= 0 else ()
        return self.ways[way].ruled_out(allowed, cube)
