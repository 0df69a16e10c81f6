"""The cheapest choice that meets every one of some sets: a minimum hitting set with costs.

Solved as MaxSAT (RC2 of python-sat; Ignatiev, Morgado, Marques-Silva: RC2, an efficient MaxSAT
solver, JSAT 2019).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from pysat.examples.rc2 import RC2
from pysat.formula import WCNF


class Costs:
    """What a choice costs: so much for each item, and for each label that any of its items has."""

    def __init__(self, labels: Sequence[Collection[int]], item: int, label: int) -> None:
        """labels: of each item, as small numbers."""
        self.count = len(labels)
        most = max((n for its in labels for n in its), default=-1) + 1
        self._hard = [[-(i + 1), self.count + 1 + n] for i, its in enumerate(labels) for n in its]
        self._soft = [[-n] for n in range(1, self.count + most + 1)]
        self._weights = [item] * self.count + [label] * most

    def formula(self, sets: Iterable[int]) -> WCNF:
        """MaxSAT for some sets to be met."""
        formula = WCNF()
        formula.nv = len(self._soft)
        formula.hard = [*self._hard, *(_clause(items) for items in sets)]
        formula.soft, formula.wght = [list(clause) for clause in self._soft], list(self._weights)
        formula.topw = sum(self._weights) + 1
        return formula


class Hitting:
    """Sets (of items, as bits), to which more are added, and the cheapest choice that meets all."""

    def __init__(self, costs: Costs, sets: Iterable[int]) -> None:
        """Only those matter that no other is part of."""
        self._count = costs.count
        self._solver = RC2(costs.formula(_least(sets)))

    def add(self, items: int) -> None:
        """One more set."""
        self._solver.add_clause(_clause(items))

    def cheapest(self) -> tuple[int, ...]:
        """The choice, in order."""
        return tuple(n - 1 for n in self._solver.compute() if 0 < n <= self._count)

    def close(self) -> None:
        """Give the solver back."""
        self._solver.delete()


def _clause(items: int) -> list[int]:
    return [item + 1 for item in bits(items)]


def _least(sets: Iterable[int]) -> list[int]:
    kept: list[int] = []
    for items in sorted(set(sets), key=lambda s: (s.bit_count(), s)):
        if all(known & ~items for known in kept):
            kept.append(items)
    return kept


def bits(items: int) -> Iterator[int]:
    """The items of a bit set."""
    while items:
        yield (items & -items).bit_length() - 1
        items &= items - 1
