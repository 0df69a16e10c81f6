"""A world that keeps a ledger: how often each fault event happened in the run so far.

A fault event is a transition that counts as a fault, with the identifiers that it hits. The ledger
is part of the state, so that an exhaustive search meets every state with every multiset of events
that leads there; it only ever grows, and the run ends its faults where the ledger is full.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from functools import cache, cached_property, reduce, wraps
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.symmetry import Class, Permutation, exchange
from rackproof.model.kernel import (
    Fairness,
    Identifiers,
    Kind,
    Property,
    Scope,
    System,
    Transition,
    bounded,
    each,
    evolve,
    put,
)

SIZE: Final = "fault events"
"""The name of the bound of all counts."""


@frozen(order=True)
class Event:
    """A fault and the identifiers it hits."""

    fault: str
    arguments: tuple[int, ...]


Events = tuple[Event, ...]
"""A multiset of events, sorted."""


@frozen
class Times:
    """How often an event happened."""

    times: int = bounded(0, SIZE)


@frozen
class Watched:
    """A world, the ledger of its fault events (a record with a field for each fault), and how many
    may still happen.
    """

    world: Any
    ledger: Any
    left: int = bounded(0, SIZE)


@cache
def _lanes(sort: Identifiers) -> type:
    """A record with something for each identifier of a sort."""
    return attrs.make_class("Lanes", {"lanes": each(sort)}, frozen=True, order=False)


@frozen(eq=False)
class Watch:
    """A system with its faults, by name, watched; at most so many happen in a run.

    Every transition of a name in ``faults`` counts as a fault, whoever causes it, and is owed
    nothing; other faults do not happen at all.
    """

    whole: System
    faults: Collection[str]
    most: int

    @cached_property
    def plain(self) -> System:
        """The system with just these faults, which its runs are told in."""
        whole = self.whole
        transitions = (
            attrs.evolve(t, kind=Kind.FAULT, fairness=Fairness.NONE) if t.name in self.faults else t
            for t in whole.transitions
            if t.name in self.faults or t.kind is not Kind.FAULT
        )
        return attrs.evolve(whole, transitions=tuple(transitions))

    @cached_property
    def system(self) -> System:
        """The system over ``Watched`` states, with the same names of transitions and properties."""
        plain = self.plain
        ledger = {_entry(t.name): _empty(plain, _sorts(t)) for t in self._counted}
        record = attrs.make_class("Ledger", list(ledger), frozen=True, order=False)
        known: dict[int, Property] = {}
        return attrs.evolve(
            plain,
            initial=Watched(plain.initial, record(**ledger), self.most),
            transitions=tuple(self._transitions()),
            properties=(
                *(_property(prop, known) for prop in plain.properties),
                *(_happens(transition) for transition in self._counted),
            ),
            sizes={**plain.sizes, SIZE: self.most},
            freedoms={},
            given=None,
        )

    @property
    def _counted(self) -> list[Transition[..., Any]]:
        return [t for t in self.plain.transitions if t.name in self.faults]

    def _transitions(self) -> Iterator[Transition[..., Any]]:
        for transition in self.plain.transitions:
            is_counted = transition.name in self.faults
            yield _counted(transition) if is_counted else _passed(transition)

    def slots(self, relation: Relation) -> dict[Event, int]:
        """The slot of each event that can happen, in the lowered watched system."""
        schema = self.system.schema
        by_path = {slot.path: number for number, slot in enumerate(schema.slots)}
        varying = {variable.slot for variable in relation.variables}
        found = {}
        for transition in self._counted:
            for arguments in self.system.choices(transition.parameters):
                lanes = (part for index in arguments for part in ("lanes", index))
                slot = by_path["ledger", _entry(transition.name), *lanes, "times"]
                if slot in varying:
                    found[Event(transition.name, arguments)] = slot
        return found


def _entry(name: str) -> str:
    """The field of the ledger for a fault, whatever its name."""
    return f"of_{name}"


def _sorts(transition: Transition[..., Any]) -> tuple[Identifiers, ...]:
    return tuple(sort for _, sort in transition.parameters)


def _empty(system: System, sorts: Sequence[Identifiers]) -> Any:
    """The ledger of a fault that takes these identifiers, before it happens."""
    if not sorts:
        return Times()
    count = system.schema.counts[sorts[0]]
    return _lanes(sorts[0])(lanes=tuple(_empty(system, sorts[1:]) for _ in range(count)))


def _entered(entry: Any, arguments: Sequence[int]) -> Any:
    """The ledger of a fault once it happened once more."""
    if not arguments:
        return evolve(entry, times=entry.times + 1)
    first, *rest = arguments
    return evolve(entry, lanes=put(entry.lanes, first, _entered(entry.lanes[first], rest)))


def _passed(transition: Transition[..., Any]) -> Transition[..., Any]:
    """A transition that the ledger does not count."""
    function = transition.function

    @wraps(function)
    def passed(state: Watched, *arguments: int) -> Watched | None:
        after = function(state.world, *arguments)
        return None if after == None else evolve(state, world=after)  # noqa: E711

    return attrs.evolve(transition, function=passed)


def _counted(transition: Transition[..., Any]) -> Transition[..., Any]:
    """A transition that is entered in the ledger, as long as there is room."""
    function, name = transition.function, _entry(transition.name)

    @wraps(function)
    def counted(state: Watched, *arguments: int) -> Watched | None:
        if state.left == 0:
            return None
        after = function(state.world, *arguments)
        if after == None:  # noqa: E711 - lowering refuses `is`
            return None
        ledger = evolve(state.ledger, **{name: _entered(getattr(state.ledger, name), arguments)})
        return evolve(state, world=after, ledger=ledger, left=state.left - 1)

    return attrs.evolve(transition, function=counted)


def _property(prop: Property, known: dict[int, Property]) -> Property:
    """A property of the world that is watched."""
    if id(prop) not in known:
        function = prop.function

        @wraps(function)
        def asked(state: Watched, *arguments: int) -> bool:
            return function(state.world, *arguments)

        premise = None if prop.premise is None else _property(prop.premise, known)
        known[id(prop)] = attrs.evolve(prop, function=asked, premise=premise)
    return known[id(prop)]


def _happens(transition: Transition[..., Any]) -> Property:
    """That a fault happens; as it reads the ledger, the ledger stays part of the state."""
    name = _entry(transition.name)

    def happens(state: Watched, *arguments: int) -> bool:
        entry = reduce(lambda inner, i: inner.lanes[i], arguments, getattr(state.ledger, name))
        return bool(entry.times > 0)

    called = f"{SIZE}: {transition.name}"
    return Property(called, Scope.SOMETIMES, happens, transition.parameters, "", (), None)


def images(events: Events, watch: Watch, classes: Sequence[Class]) -> list[Events]:
    """What exchanges of interchangeable identifiers make of a multiset of events, itself first."""
    swaps = [
        exchange(one, other) for bundles in classes for one, other in itertools.pairwise(bundles)
    ]
    sorts = {t.name: _sorts(t) for t in watch.plain.transitions}
    found = [events]
    for known in found:
        for swap in swaps:
            moved = tuple(sorted(_moved(event, sorts[event.fault], swap) for event in known))
            if moved not in found:
                found.append(moved)
    return found


def _moved(event: Event, sorts: Sequence[Identifiers], swap: Permutation) -> Event:
    pairs = zip(sorts, event.arguments, strict=True)
    return Event(event.fault, tuple(swap.get(lane, lane)[1] for lane in pairs))
