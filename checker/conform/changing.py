"""Which one mechanism with another value would have a record explained.

A mechanism that no step asks for wherever the search comes to makes no difference to it, and is not
tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs
from attrs import evolve

from rackproof.checker.conform.matching import Logs
from rackproof.checker.conform.moves import Moves
from rackproof.checker.conform.search import Limits, Search
from rackproof.checker.conform.telling import said
from rackproof.checker.repair.switches import Switches, switches, written
from rackproof.model.kernel import System
from rackproof.model.kernel.evidence import Case

SHARE: Final = 20
"""For each change, so many times fewer states are looked at than for all of them."""


def changes_that_explain(case: Case, limits: Limits) -> tuple[tuple[str, ...], int, int]:
    """The changes, each as a scenario writes it; of how many others it could not be told within the
    limits, which are those of all of them together; and how many were tried.
    """
    known = switches(case.system)
    found, untold, tried, left = list[str](), 0, 0, limits.states
    each = evolve(limits, states=left // SHARE)
    for words, system in _changed(known, _asked(case, known, limits)):
        search = Search(Moves(system), Logs(case), case.ended, each, hasty=True)
        if left > 0 and search.run() is not None:
            found.append(words)
            tried += 1
        elif left <= 0 or search.given_up is not None:
            untold += 1
        else:
            tried += 1
        left -= len(search.reached)
    return tuple(found), untold, tried


def _changed(known: Switches, asked: set[tuple[str, str]]) -> Iterator[tuple[str, System]]:
    """The system with one mechanism changed, each with the words for it."""
    for index, switch in enumerate(known.all):
        for value in switch.mechanism.values if (switch.owner, switch.field) in asked else ():
            if value != switch.present:
                present = known.present
                changed = (*present[:index], value, *present[index + 1 :])
                yield f"{switch.name}: {said(written(value))}", known.at(changed)


def _asked(case: Case, known: Switches, limits: Limits) -> set[tuple[str, str]]:
    """The mechanisms that anything asks for on the way of the search, each with its owner."""
    start, asked = case.system.initial, set[tuple[str, str]]()
    owners = {switch.owner for switch in known.all}
    watched = {name: _watched(name, getattr(start, name), asked) for name in sorted(owners)}
    system = evolve(case.system, initial=evolve(start, **watched))
    Search(Moves(system), Logs(case), case.ended, limits).run()
    return asked


def _watched(name: str, owner: Any, asked: set[tuple[str, str]]) -> Any:
    """The same mechanisms, which note what is asked of them; the same only as themselves, for to
    compare them is not to ask for any.
    """
    kind: Any = type(owner)

    def ask(self: Any, field: str) -> Any:
        asked.add((name, field))
        return kind.__getattribute__(self, field)

    own = {
        "__slots__": (),
        "__getattribute__": ask,
        "__eq__": object.__eq__,
        "__hash__": object.__hash__,
    }
    twin: Any = object.__new__(type(kind.__name__, (kind,), own))
    for attribute in attrs.fields(kind):
        object.__setattr__(twin, attribute.name, getattr(owner, attribute.name))
    return twin
