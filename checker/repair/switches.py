"""The mechanisms of a world as switches: what each is set to, and what else it might be.

A mechanism is a truth value or an enum in an attrs class that a world holds as a constant
(``protocol: Protocol = fixed()``). Those of the bundled world are, and so may anyone's be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any

import attrs
from attrs import frozen

from rackproof.model.kernel import ModelError, System
from rackproof.model.kernel.domains import FixedSpec, spec_of
from rackproof.model.protocol.mechanism import Mechanism, described

Choice = Mapping[str, object]
"""Some mechanisms with values, as a scenario writes them."""

Assignment = tuple[object, ...]
"""A value for each switch of a world, in their order."""


@frozen
class Switch:
    """A mechanism of one world. name: as a scenario writes it. owner: the field of the world that
    holds it. present: what it is set to there.
    """

    name: str
    owner: str
    mechanism: Mechanism
    present: object

    @property
    def field(self) -> str:
        """Its name in Python."""
        return self.mechanism.field

    @property
    def reference(self) -> object:
        """What the reference sets it to."""
        return self.mechanism.default


@frozen
class Switches:
    """Every mechanism of a system; ``present`` is the system's own assignment."""

    system: System
    all: tuple[Switch, ...]

    @property
    def present(self) -> Assignment:
        """What each is set to in the system."""
        return tuple(switch.present for switch in self.all)

    def of(self, system: System) -> Assignment:
        """What each is set to in a system of the same kind."""
        world = system.initial
        return tuple(getattr(getattr(world, one.owner), one.field) for one in self.all)

    def at(self, assignment: Assignment) -> System:
        """The system with its mechanisms set like this."""
        if assignment == self.present:
            return self.system
        changes: dict[str, dict[str, object]] = {}
        for switch, value in zip(self.all, assignment, strict=True):
            changes.setdefault(switch.owner, {})[switch.field] = value
        start = self.system.initial
        owners = {
            owner: attrs.evolve(getattr(start, owner), **values)
            for owner, values in changes.items()
        }
        return attrs.evolve(self.system, initial=attrs.evolve(start, **owners))

    def choice(self, assignment: Assignment, base: Assignment) -> dict[str, object]:
        """What differs from a base, as a scenario writes it."""
        return {
            switch.name: written(value)
            for switch, value, before in zip(self.all, assignment, base, strict=True)
            if value != before
        }

    def names(self, indices: Collection[int]) -> tuple[str, ...]:
        """What some switches are called, in their order."""
        return tuple(self.all[index].name for index in sorted(indices))


def written(value: object) -> object:
    """A value of a mechanism as a scenario writes it."""
    return getattr(value, "value", value)


def switches(system: System) -> Switches:
    """The mechanisms of a system, in the order in which its world declares them."""
    found = list(_switches(system.initial))
    names = [switch.name for switch in found]
    told = (
        attrs.evolve(one, name=f"{one.owner}.{one.name}") if names.count(one.name) > 1 else one
        for one in found
    )
    return Switches(system, tuple(told))


def _switches(world: Any) -> Iterator[Switch]:
    for held in attrs.fields(type(world)):
        owner = getattr(world, held.name)
        if isinstance(spec_of(held), FixedSpec) and attrs.has(type(owner)):
            _check_derived(held.name, type(owner))
            for attribute in _attributes(type(owner)):
                value = getattr(owner, attribute.name)
                if attribute.init and isinstance(value, bool | Enum):
                    yield _switch(held.name, attribute, value)


def _check_derived(owner: str, kind: type) -> None:
    """Refuse what is computed from mechanisms and kept: who asks for it, asks none of them."""
    derived = [one.name for one in attrs.fields(kind) if not one.init]
    for base in kind.__mro__:
        derived += [
            name for name, value in vars(base).items() if isinstance(value, cached_property)
        ]
    if derived:
        raise ModelError(
            f"{owner}.{derived[0]} is computed once and kept, so that it cannot be told which "
            "mechanisms a run depends on; make it a plain property"
        )


def _attributes(kind: type) -> Iterator[attrs.Attribute[Any]]:
    """The fields of a class, then those of its bases, in the order in which they are named."""
    for base in kind.__mro__:
        if "__attrs_attrs__" in vars(base):
            yield from (one for one in attrs.fields(base) if not one.inherited)


def _switch(owner: str, attribute: attrs.Attribute[Any], present: object) -> Switch:
    """A switch; of one that has no default, what it is set to is the reference."""
    if type(attribute.default) is not type(present):
        attribute = attribute.evolve(default=present)
    mechanism = described(owner, attribute)
    return Switch(mechanism.name, owner, mechanism, present)
