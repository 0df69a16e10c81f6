"""The fields of a world under the names that people use, and their values in words.

A field is named by its path (``requests[request-0].phase``) or by any part of it that leaves no
doubt (``request-0.phase``, ``phase`` where there is one request). The name of an identifier alone
stands for the one enum field of its record that can have the value (``request-0: done``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, Final

from attrs import frozen

from rackproof.model.kernel import System
from rackproof.model.kernel.domains import Enumeration, Identifier, Interval, Scalar, Truth
from rackproof.model.kernel.schema import ScalarShape, SetShape
from rackproof.scenarios.errors import hint, quoted
from rackproof.scenarios.places import LARGEST, Place
from rackproof.scenarios.quantities import duration

MOST_SHOWN: Final = 4


@frozen(slots=False)
class Field:
    """A scalar of the world (one slot), or a set of identifiers (one slot for each)."""

    system: System
    label: str
    slots: tuple[int, ...]
    is_set: bool

    @property
    def domain(self) -> Scalar:
        """What its slots hold."""
        return self.system.schema.slots[self.slots[0]].domain

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names that make up its path."""
        return _parts(self.label)

    def words(self, value: object) -> str:
        """A plain value of this field in words."""
        if self.is_set and isinstance(value, frozenset):
            names = [self._member(index) for index in sorted(value)]
            return f"[{', '.join(names)}]"
        return in_words(self.system, self.domain, value)

    def value(self, ordinals: Sequence[int] | Mapping[int, int]) -> object:
        """Its plain value in a state, given as the ordinals of its slots."""
        values = [self.domain.decode(ordinals[slot]) for slot in self.slots]
        return frozenset(i for i, is_in in enumerate(values) if is_in) if self.is_set else values[0]

    def data(self, value: object) -> object:
        """A plain value of this field as a scenario writes it."""
        if self.is_set and isinstance(value, frozenset):
            return [self._member(index) for index in sorted(value)]
        if isinstance(value, int) and not isinstance(self.domain, Identifier):
            return value
        return in_words(self.system, self.domain, value)

    def read(self, place: Place) -> tuple[tuple[int, int], ...] | None:
        """The slots and ordinals that a value in a document asks for; None where it has none."""
        if self.is_set:
            return self._read_set(place)
        ordinal = _read(self.system, self.domain, place)
        return None if ordinal is None else ((self.slots[0], ordinal),)

    def knows(self, value: object) -> bool:
        """Whether a text is one of its enum's members."""
        domain = self.domain
        return isinstance(domain, Enumeration) and value in _members(domain)

    def _member(self, index: int) -> str:
        sort, _ = self.system.schema.slots[self.slots[index]].lanes[-1]
        return self.system.label(sort, index)

    def _read_set(self, place: Place) -> tuple[tuple[int, int], ...] | None:
        names = {self._member(index): slot for index, slot in enumerate(self.slots)}
        if _is_none(place):
            chosen: list[str | None] = []
        else:
            chosen = [item.choice(names, "member") for item in place.items("a list of names")]
            if None in chosen or not place.is_list:
                return None
        return tuple((slot, int(name in chosen)) for name, slot in names.items())


@frozen(slots=False)
class Fields:
    """Every field of a system, found by name."""

    system: System

    @cached_property
    def all(self) -> tuple[Field, ...]:
        """The fields in slot order."""
        schema, found = self.system.schema, []
        for shape, _ in schema.values(self.system.initial):
            if isinstance(shape, ScalarShape):
                label = schema.slots[shape.slot].label
                found.append(Field(self.system, label, (shape.slot,), False))
            elif isinstance(shape, SetShape) and shape.slots:
                label = schema.slots[shape.slots[0]].label.rsplit("[", 1)[0]
                found.append(Field(self.system, label, shape.slots, True))
        return tuple(found)

    @cached_property
    def by_label(self) -> dict[str, Field]:
        """The fields by their whole path."""
        return {field.label: field for field in self.all}

    @cached_property
    def short(self) -> dict[str, str]:
        """By a field's whole path, the shortest name that still leaves no doubt."""
        taken = {prop.name for prop in self.system.properties}
        found = {}
        for field in self.all:
            names = (name for name in _shorter(field.parts) if name not in taken)
            alone = (name for name in names if self._count(_parts(name)) == 1)
            found[field.label] = next(alone, field.label)
        return found

    def _count(self, wanted: tuple[str, ...]) -> int:
        if wanted not in self._counts:
            leads = (_leads_to(wanted, field.parts) for field in self._ending.get(wanted[-1], ()))
            self._counts[wanted] = sum(leads)
        return self._counts[wanted]

    @cached_property
    def _counts(self) -> dict[tuple[str, ...], int]:
        return {}

    @cached_property
    def _ending(self) -> dict[str, list[Field]]:
        ending: dict[str, list[Field]] = {}
        for field in self.all:
            ending.setdefault(field.parts[-1], []).append(field)
        return ending

    def find(self, key: str, value: object) -> Field | str:
        """The field that a key means, or what is wrong with the key."""
        if key in self.by_label:
            return self.by_label[key]
        wanted = _parts(key)
        if not wanted:
            return f"{quoted(key)} names no field"
        found = [field for field in self.all if _leads_to(wanted, field.parts)]
        if not found:
            found = [field for field in self._records(wanted) if field.knows(value)]
        if len(found) == 1:
            return found[0]
        if found:
            shown = ", ".join(field.label for field in found[:MOST_SHOWN])
            more = " and others" if len(found) > MOST_SHOWN else ""
            return f"could mean any of {len(found)} fields ({shown}{more})"
        return f"the world has no such field{hint(key, self._names())}"

    def _records(self, wanted: tuple[str, ...]) -> Iterator[Field]:
        """The enum fields right inside the record that an identifier names."""
        for field in self.all:
            if not field.is_set and field.parts[:-1] and _leads_to(wanted, field.parts[:-1]):
                yield field

    def _names(self) -> list[str]:
        return sorted({*self.by_label, *(field.parts[-1] for field in self.all)})


STALL: Final = "stall"


@frozen
class Fact:
    """What a state must be like: a field's value, or a property that is violated or holds in it.

    Or, of a run with times, ``stall``: less than how many seconds a client may have to wait.
    """

    key: str
    wanted: str
    line: int
    field: Field | None = None
    property: str | None = None
    stall: float | None = None


def read_fact(key: str, place: Place, fields: Fields) -> Fact | None:
    """One entry of ``then:``; None after noting a problem."""
    properties = {prop.name for prop in fields.system.properties}
    if key in properties:
        word = place.choice(("holds", "violated"), "outcome of a property")
        return Fact(key, word, place.line, property=key) if word else None
    if key == STALL and fields.system.timing is not None:
        return _read_stall(place)
    field = fields.find(key, place.value)
    if isinstance(field, str):
        place.fail(field)
        return None
    ordinals = field.read(place)
    if ordinals is None:
        return None
    wanted = field.words(field.value(dict(ordinals)))
    return Fact(field.label, wanted, place.line, field)


def _read_stall(place: Place) -> Fact | None:
    """A bound on how long clients wait, such as <80 ms."""
    text = place.text("a bound on the longest wait, such as <80 ms")
    if text is None:
        return None
    try:
        if not text.startswith("<"):
            raise ValueError(f"{text!r} is no bound on the longest wait; write for example <80 ms")
        return Fact(STALL, text, place.line, stall=duration(text[1:]))
    except ValueError as error:
        place.fail(str(error))
        return None


def in_words(system: System, domain: Scalar, value: object) -> str:
    """A plain value of a domain in words."""
    if isinstance(domain, Identifier):
        return system.label(domain.sort, value) if isinstance(value, int) else "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return member_name(value) if isinstance(value, Enum) else str(value)


def member_name(member: Enum) -> str:
    """What an enum's member is called in a scenario: its value if that is a text, else its name."""
    return member.value if isinstance(member.value, str) else member.name.lower().replace("_", "-")


def _members(domain: Enumeration) -> dict[str, Enum]:
    return {member_name(member): member for member in domain.enum}


def _read(system: System, domain: Scalar, place: Place) -> int | None:
    match domain:
        case Interval(low, high):
            return place.whole(low, LARGEST if high is None else high)
        case Truth():
            flag = place.flag()
            return None if flag is None else int(flag)
        case Enumeration():
            name = place.choice(_members(domain), "value")
            return None if name is None else domain.encode(_members(domain)[name])
        case Identifier(sort, count, optional):
            if optional and _is_none(place):
                return -1
            names = {system.label(sort, index): index for index in range(count)}
            name = place.choice(names, str(sort))
            return None if name is None else names[name]


def _is_none(place: Place) -> bool:
    return place.is_scalar and place.value in (None, "none")


def _parts(label: str) -> tuple[str, ...]:
    return tuple(part.replace("_", "-") for part in re.split(r"[.\[\]]+", label) if part)


def _shorter(parts: Sequence[str]) -> Iterator[str]:
    """The names made of a field's last part and some before it, the shortest ones first."""
    before, last = parts[:-1], parts[-1]
    for length in range(len(parts)):
        # Of as many parts, those that are nearest to the field tell most.
        for chosen in reversed(list(itertools.combinations(before, length))):
            yield ".".join((*chosen, last))


def _leads_to(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the wanted names occur in this order, the last one at the end."""
    if not parts or wanted[-1] != parts[-1]:
        return False
    rest: Iterator[Any] = iter(parts)
    return all(name in rest for name in wanted)
