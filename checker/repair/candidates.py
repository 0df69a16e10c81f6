"""The cheapest choice of mechanisms that no counterexample known so far speaks against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import define, field
from pysat.card import CardEnc, EncType
from pysat.examples.rc2 import RC2
from pysat.formula import WCNF, IDPool

from rackproof.checker.repair.runs import Conflict, Cube
from rackproof.checker.repair.switches import Assignment, Switches

DESIGN: Final = 3
"""What it costs to change a matter of design; any other mechanism costs 1."""


@define
class Candidates:
    """Choices of mechanisms, cheapest first; cost: of what differs from the base.

    allowed: for each switch, the values it may take, that of the base among them. conflicts: what
    is known to be a counterexample. excluded: changes of the base of which none may be part of a
    choice.
    """

    switches: Switches
    base: Assignment
    allowed: Sequence[Sequence[object]]
    conflicts: list[Conflict] = field(factory=list)
    excluded: list[Cube] = field(factory=list)

    def cost(self, assignment: Assignment) -> int:
        """What it costs to choose this."""
        pairs = enumerate(zip(assignment, self.base, strict=True))
        return sum(self._weight(index) for index, (value, before) in pairs if value != before)

    def changes(self, assignment: Assignment) -> Cube:
        """What differs from the base."""
        pairs = enumerate(zip(assignment, self.base, strict=True))
        return frozenset((index, value) for index, (value, before) in pairs if value != before)

    def cheapest(self) -> Assignment | None:
        """A cheapest choice that is left; None where there is none."""
        formula = _Formula(self.allowed)
        asked = frozenset().union(*(one.switches for one in self.conflicts))
        for index in sorted(asked):
            formula.define(index, self.base[index], self._weight(index))
        for conflict in self.conflicts:
            formula.breaks(conflict)
        for cube in self.excluded:
            formula.lacks(cube)
        found = formula.solved()
        if found is None:
            return None
        return tuple(found.get(index, value) for index, value in enumerate(self.base))

    def _weight(self, index: int) -> int:
        return DESIGN if self.switches.all[index].mechanism.design else 1


class _Formula:
    """A weighted formula over which switch has which value."""

    def __init__(self, allowed: Sequence[Sequence[object]]) -> None:
        self.allowed = allowed
        self.numbers = IDPool()
        self.wcnf = WCNF()
        self.defined: list[int] = []

    def define(self, index: int, base: object, weight: int) -> None:
        """A switch has one of its values; it costs something not to leave it as it was."""
        self.defined.append(index)
        one = [self._value(index, value) for value in self.allowed[index]]
        exactly = CardEnc.equals(one, 1, vpool=self.numbers, encoding=EncType.pairwise)
        self.wcnf.extend(exactly.clauses)
        self.wcnf.append([self._value(index, base)], weight=weight)

    def breaks(self, conflict: Conflict) -> None:
        """One of the conditions of a run is not met."""
        broken = []
        for condition in conflict.conditions:
            number = self.numbers.id(condition)
            broken.append(number)
            for cube in _ordered(condition):
                self.wcnf.append([-number, *self._lacks(cube)])
        self.wcnf.append(broken)

    def lacks(self, cube: Cube) -> None:
        """Not all of these values are chosen."""
        self.wcnf.append(list(self._lacks(cube)))

    def _lacks(self, cube: Cube) -> Iterator[int]:
        """The literals of which one must be true; of a value that is not allowed, all are."""
        for index, value in _sorted(cube):
            if index not in self.defined or value in self.allowed[index]:
                yield -self._value(index, value)
            else:
                yield self._true()

    def _true(self) -> int:
        number = int(self.numbers.id("true"))
        self.wcnf.append([number])
        return number

    def _value(self, index: int, value: object) -> int:
        return int(self.numbers.id((index, value)))

    def solved(self) -> dict[int, object] | None:
        """The values of the switches in a cheapest solution."""
        if any(not clause for clause in self.wcnf.hard):
            return None
        if not self.defined:
            return {}
        with RC2(self.wcnf) as solver:
            model = solver.compute()
        if model is None:
            return None
        true = set(model)
        return {
            index: value
            for index in self.defined
            for value in self.allowed[index]
            if self._value(index, value) in true
        }


def _ordered(cubes: Iterable[Cube]) -> list[Cube]:
    return sorted(cubes, key=lambda cube: [(i, str(v)) for i, v in _sorted(cube)])


def _sorted(cube: Cube) -> list[tuple[int, object]]:
    return sorted(cube, key=lambda item: (item[0], str(item[1])))
