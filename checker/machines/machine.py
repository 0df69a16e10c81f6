"""The state machine of each field that holds one of a few named values.

What may change is told from the lowered trees, so that no change is missed; what does, from the
states that were seen. The fields of records that differ in their identifiers alone share a machine.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from attrs import evolve, frozen

from rackproof.checker.machines.possible import Steps, steps
from rackproof.checker.machines.seen import Explored, explored, taken
from rackproof.model.kernel import Kind, System
from rackproof.model.kernel.domains import Enumeration
from rackproof.model.kernel.schema import Slot
from rackproof.scenarios.fields import member_name
from rackproof.scenarios.steps import kebab


@frozen
class Change:
    """A transition that may change the value; seen: whether it did in any state that was seen."""

    before: str
    after: str
    transition: str
    kind: Kind
    seen: bool = False


@frozen(slots=False)
class Machine:
    """The values of a field, and what may change them.

    field: its path, with the sort in place of each identifier: requests[request].phase. enum: the
    class of its values. every: all of them, in their order. initial: those that it begins with.
    reason: why not all states were seen; None where they were.
    """

    field: str
    enum: str
    every: tuple[str, ...]
    initial: tuple[str, ...]
    changes: tuple[Change, ...]
    reason: str | None = None

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values that it may come to have."""
        reached = {*self.initial, *(change.after for change in self.changes)}
        return tuple(value for value in self.every if value in reached)

    @property
    def never(self) -> tuple[str, ...]:
        """The values that it cannot come to have."""
        return tuple(value for value in self.every if value not in self.values)

    @cached_property
    def edges(self) -> dict[tuple[str, str], tuple[Change, ...]]:
        """The changes by the values before and after."""
        found: dict[tuple[str, str], list[Change]] = defaultdict(list)
        for change in self.changes:
            found[change.before, change.after].append(change)
        return {edge: tuple(those) for edge, those in found.items()}

    @property
    def unseen(self) -> tuple[Change, ...]:
        """The changes that may be and that were not seen."""
        return tuple(change for change in self.changes if not change.seen)


def machines(system: System, found: Explored | None = None) -> tuple[Machine, ...]:
    """The machines of a system, in the order of its fields.

    found: its states, where they are known already, with the slots of ``named`` kept.
    """
    found = found or explored(system)
    return tuple(_machine(system, found, slots) for slots in _groups(system).values())


def _groups(system: System) -> dict[str, list[int]]:
    """The slots of each machine, by the name of its field."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, slot in enumerate(system.schema.slots):
        if isinstance(slot.domain, Enumeration):
            groups[_field(slot)].append(number)
    return groups


def _field(slot: Slot) -> str:
    """The path of a slot with the sort in place of each identifier."""
    sorts = iter(slot.lanes)
    parts = (f"[{next(sorts)[0]}]" if isinstance(p, int) else f".{p}" for p in slot.path)
    return "".join(parts).removeprefix(".")


def _machine(system: System, found: Explored, slots: list[int]) -> Machine:
    """One machine of all these slots."""
    domain = system.schema.slots[slots[0]].domain
    assert isinstance(domain, Enumeration), "only these have machines"
    initial = {found.relation.initial[slot] for slot in slots}
    may = set[tuple[int, int, int]]().union(*(steps(found.relation, slot) for slot in slots))
    seen = set[tuple[int, int, int]]().union(*(taken(found, slot) for slot in slots))
    names = [member_name(member) for member in domain.enum]
    return Machine(
        field=_field(system.schema.slots[slots[0]]),
        enum=domain.enum.__name__,
        every=tuple(names),
        initial=tuple(names[number] for number in sorted(initial)),
        changes=tuple(_changes(found, names, may, seen)),
        reason=found.reason,
    )


def _changes(found: Explored, names: list[str], may: Steps, seen: Steps) -> Iterator[Change]:
    """The changes in the order of the values, then of the transitions."""
    actions = found.relation.actions
    order = {t.name: number for number, t in enumerate(found.relation.system.transitions)}

    def told(before: int, after: int, action: int) -> tuple[int, int, int]:
        return before, after, order[actions[action].firing.transition.name]

    done = {told(*step) for step in seen}
    for before, after, number in sorted({told(*step) for step in may}):
        transition = found.relation.system.transitions[number]
        was_seen = (before, after, number) in done
        yield Change(names[before], names[after], kebab(transition.name), transition.kind, was_seen)


def merged(several: Iterable[Machine]) -> tuple[Machine, ...]:
    """Machines of the same field in several worlds as one: what may be, or was seen, in any."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Machine]] = defaultdict(list)
    for machine in several:
        groups[machine.field, machine.enum, machine.every].append(machine)
    return tuple(_merged(those) for those in groups.values())


def _merged(those: list[Machine]) -> Machine:
    every = those[0].every
    initial = {value for machine in those for value in machine.initial}
    return evolve(
        those[0],
        initial=tuple(value for value in every if value in initial),
        changes=_united(those),
        reason=next((machine.reason for machine in those if machine.reason), None),
    )


def _united(those: list[Machine]) -> tuple[Change, ...]:
    """The changes of all in the order of their values, each seen where it was in any."""
    place = {value: number for number, value in enumerate(those[0].every)}
    found: dict[tuple[str, str, str], Change] = {}
    for change in itertools.chain.from_iterable(machine.changes for machine in those):
        key = change.before, change.after, change.transition
        known = found.get(key, change)
        found[key] = evolve(known, seen=known.seen or change.seen)
    return tuple(sorted(found.values(), key=lambda c: (place[c.before], place[c.after])))
