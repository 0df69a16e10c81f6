"""Which classes of interchangeable bundles are sorted, and which must be tried in every order.

Where no bit lies in the lanes of two bundles, each class is sorted by itself. A bit that does (the
worker of a request, both being interchangeable; a peer that names another) entangles their classes:
then all orders of some are tried, so that the others can be sorted for each of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.symmetry import Class

MOST_ORDERS: Final = 720
MOST_ENTANGLED: Final = 5
"""More classes than this are not weighed against each other; only the largest are used."""


@frozen
class Division:
    """What is done with each class.

    reduced: those of which some bundles are not exchanged after all, to keep the orders to try few.
    That is sound: more states are told apart than need be.
    """

    sorted: tuple[Class, ...]
    enumerated: tuple[Class, ...]
    reduced: tuple[Class, ...]


def divide(classes: Sequence[Class], touched: Collection[frozenset[tuple[int, int]]]) -> Division:
    """Divide classes so that the reduction is the greatest, then the orders to try the fewest.

    touched: for each kind of bit, the bundles (class, number) in whose lanes it lies.
    """
    conflicts = {tuple(sorted(n for n, _ in bundles)) for bundles in touched if len(bundles) > 1}
    entangled = sorted(
        {n for conflict in conflicts for n in conflict}, key=lambda n: -len(classes[n])
    )
    choices = _choices(classes, entangled[:MOST_ENTANGLED], conflicts)
    chosen = min(choices, key=lambda fates: _cost(classes, fates))
    left_out = dict.fromkeys(entangled[MOST_ENTANGLED:], 1)
    fates = dict.fromkeys(range(len(classes)), SORTED) | left_out | chosen
    return Division(
        tuple(classes[n] for n, fate in fates.items() if fate == SORTED),
        tuple(classes[n][:fate] for n, fate in fates.items() if fate > 1),
        tuple(classes[n] for n, fate in fates.items() if SORTED < fate < len(classes[n])),
    )


SORTED: Final = 0
Fates = dict[int, int]
"""For each class: sorted, or how many of its bundles are exchanged in every order."""


def _choices(
    classes: Sequence[Class], entangled: Sequence[int], conflicts: Collection[tuple[int, ...]]
) -> Iterator[Fates]:
    """The ways in which no bit lies in the lanes of two bundles that are sorted."""
    ways = [
        [m for m in range(len(classes[n]) + 1) if math.factorial(m) <= MOST_ORDERS]
        for n in entangled
    ]
    for chosen in itertools.product(*ways):
        fates = dict(zip(entangled, chosen, strict=True))
        alone = {n for n, fate in fates.items() if fate == SORTED}
        few = math.prod(math.factorial(fate) for fate in chosen) <= MOST_ORDERS
        if few and all(sum(n in alone for n in conflict) <= 1 for conflict in conflicts):
            yield fates


def _cost(classes: Sequence[Class], fates: Fates) -> tuple[int, int]:
    tried = math.prod(math.factorial(fate) for fate in fates.values())
    whole = (len(classes[n]) for n, fate in fates.items() if fate == SORTED)
    return -tried * math.prod(map(math.factorial, whole)), tried


def plain_changes(count: int) -> Iterator[int]:
    """The adjacent places to exchange, one after another, to meet every order of so many things."""
    if count < 2:
        return
    inner = plain_changes(count - 1)
    while True:
        yield from range(count - 2, -1, -1)
        if (change := next(inner, None)) is None:
            return
        yield change + 1
        yield from range(count - 1)
        if (change := next(inner, None)) is None:
            return
        yield change
