"""Which one mechanism with another value would have a record explained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from rackproof.checker.conform.matching import Logs
from rackproof.checker.conform.moves import Moves
from rackproof.checker.conform.search import Limits, Search
from rackproof.checker.repair.switches import switches, written
from rackproof.model.kernel import System
from rackproof.model.kernel.evidence import Case

STATES: Final = 5_000
"""States that are looked at for each change."""


def changes_that_explain(case: Case, limits: Limits) -> tuple[str, ...]:
    """The changes, each as a scenario writes it; those of which it cannot be told within the
    limits are not among them.
    """
    limits = evolve(limits, states=min(limits.states, STATES))
    found = list[str]()
    for words, system in _changed(case.system):
        changed = evolve(case, system=system)
        search = Search(Moves(system), Logs(changed), case.ended, limits)
        if search.run() is not None:
            found.append(words)
    return tuple(found)


def _changed(system: System) -> Iterator[tuple[str, System]]:
    """The system with one mechanism changed, each with the words for it."""
    known = switches(system)
    for index, switch in enumerate(known.all):
        for value in switch.mechanism.values:
            if value != switch.present:
                present = known.present
                assignment = (*present[:index], value, *present[index + 1 :])
                told = written(value)
                text = str(told).lower() if isinstance(told, bool) else str(told)
                yield f"{switch.name}: {text}", known.at(assignment)
