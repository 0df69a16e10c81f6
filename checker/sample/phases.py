"""In which phase of the protocol a fault came.

The phase of a firing is what the enum fields say of the identifiers it takes: of those that lie in
their lanes (worker-0 is up), and of those that point at them (the request that is streaming from
worker-0). A firing that takes no identifiers is put beside all enum fields there are. It is a set
of fields with their values, without indices: which of several workers it was makes no other phase.
The step that came last is part of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from attrs import frozen

from rackproof.model.kernel import Firing, System
from rackproof.model.kernel.domains import Enumeration, Identifier, Identifiers
from rackproof.model.kernel.schema import Lane, Path, Slot

Pair = tuple[str, str, tuple[tuple[str, str], ...]]
"""A transition, the one that came before it, and the enum fields with their values."""
_INDEX: Final = re.compile(r"\[[^]]*\]")


@frozen
class _Record:
    """A record of a world: its path, the lanes it lies in, what its enum fields are called, and the
    fields by which it points at identifiers.
    """

    path: Path
    lanes: frozenset[Lane]
    enums: tuple[tuple[str, str], ...]
    pointers: tuple[tuple[str, Identifiers], ...]

    def points_at(self, state: Any, lanes: set[Lane]) -> bool:
        """Whether one of its fields holds one of these identifiers."""
        here = _at(state, self.path)
        return any((sort, getattr(here, name)) in lanes for name, sort in self.pointers)


class Phases:
    """The records of a world's schema that say in which phase it is."""

    def __init__(self, system: System) -> None:
        """Group the slots by the record that they lie in."""
        groups: dict[Path, list[Slot]] = {}
        for slot in system.schema.slots:
            groups.setdefault(slot.path[:-1], []).append(slot)
        records = [_record(path, slots) for path, slots in groups.items()]
        self._records = [record for record in records if record.enums]

    def pair(self, firing: Firing, state: Any, last: str) -> Pair:
        """A firing with the phase of the state in which it comes, after a transition (or none)."""
        sorts = (sort for _, sort in firing.transition.parameters)
        taken = set(zip(sorts, firing.arguments, strict=True))
        found = {
            (words, getattr(here, name).name)
            for record in self._records
            if not taken or not taken.isdisjoint(record.lanes) or record.points_at(state, taken)
            for here in (_at(state, record.path),)
            for name, words in record.enums
        }
        return firing.transition.name, last, tuple(sorted(found))


def _record(path: Path, slots: Sequence[Slot]) -> _Record:
    lanes = frozenset(lane for slot in slots for lane in slot.lanes)
    enums = [
        (str(slot.path[-1]), _INDEX.sub("", slot.label))
        for slot in slots
        if isinstance(slot.domain, Enumeration)
    ]
    pointers = [
        (str(slot.path[-1]), slot.domain.sort)
        for slot in slots
        if isinstance(slot.domain, Identifier)
    ]
    return _Record(path, lanes, tuple(enums), tuple(pointers))


def _at(state: Any, path: Path) -> Any:
    """What lies at a path of a state."""
    for part in path:
        state = state[part] if isinstance(part, int) else getattr(state, part)
    return state


def in_words(pair: Pair) -> str:
    """A pair as people read it."""
    name, last, phase = pair
    where = ", ".join(f"{field} {value.lower()}" for field, value in phase)
    after = f" after {last}" if last else " at the start"
    return f"{name}{after}".replace("_", "-") + (f" ({where})" if where else "")
