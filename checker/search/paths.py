"""Counterexamples: found again backwards, cell by cell, so that no state stores where it came from.

Of the states that lead on the least is taken each time; so the path depends on the model alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rackproof.checker.lowering.relation import Relation, Tree, Verdict
from rackproof.checker.native.native import Words
from rackproof.checker.search.threads import Team


@frozen
class Cell:
    """States with the same least number of faults and then of steps, by their place in the store.

    steps: all that lead there, faults among them.
    """

    faults: int
    steps: int
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


Cells = Sequence[Sequence[Cell]]
"""By faults, then by steps."""


def path_to(team: Team, cells: Cells, cell: Cell, words: Words) -> list[Words]:
    """A path from the initial state to a state of a cell."""
    path, faults = [words], cell.faults
    for steps in range(cell.steps - 1, -1, -1):
        ways = [("trace_calm", faults)]
        if faults and steps < len(cells[faults - 1]):
            ways.append(("trace_faults", faults - 1))
        found = []
        for loop, row in ways:
            before = cells[row][steps]
            state = team.predecessor(loop, before.begin, before.end, words)
            if state is not None:
                found.append((state, row))
        words, faults = min(found)
        path.append(words)
    return path[::-1]


def holds(relation: Relation, tree: Tree, ordinals: Sequence[int]) -> bool | None:
    """What a predicate says of a state; None where it raises."""
    leaf = relation.leaf(tree, ordinals)
    return bool(relation.value(leaf.value, ordinals)) if isinstance(leaf, Verdict) else None
