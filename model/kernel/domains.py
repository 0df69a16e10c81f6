"""What values a field of a state may take, and how a field says so.

A state is a frozen attrs class. Enums, booleans and nested state classes are understood from their
annotation; the helpers here declare the rest::

    Workers = Identifiers("worker")


    @frozen
    class Request:
        phase: Phase = Phase.QUEUED
        delivered: int = bounded(0, "tokens")
        worker: int | None = identifier(Workers)
        excluded: frozenset[int] = members(Workers)


    @frozen
    class World:
        requests: tuple[Request, ...] = each(Requests)

Every scalar domain has a finite range of *ordinals* (integers from ``low`` to ``high``), which is
what the engines compute with; ``encode`` and ``decode`` go between a plain Python value and its
ordinal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.model.kernel.errors import ModelError

METADATA_KEY: Final = "rackproof"


@frozen
class Identifiers:
    """A sort of identifiers, such as the workers: 0 to n-1 in plain Python, and ``None`` for no
    one.

    Identifiers of a sort are interchangeable names unless ``ordered`` says that their order means
    something (attempt 1 comes after attempt 0).
    """

    name: str
    ordered: bool = False

    def __str__(self) -> str:
        return self.name


@frozen
class Interval:
    """The integers from ``low`` to ``high``, both included; from ``low`` on where that is None."""

    low: int
    high: int | None

    def encode(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(value)
        return value

    def decode(self, ordinal: int) -> int:
        return ordinal

    def __str__(self) -> str:
        return f"{self.low}.." if self.high is None else f"{self.low}..{self.high}"


@frozen
class Truth:
    """A boolean."""

    low: int = attrs.field(default=0, init=False)
    high: int = attrs.field(default=1, init=False)

    def encode(self, value: object) -> int:
        if not isinstance(value, bool):
            raise ValueError(value)
        return int(value)

    def decode(self, ordinal: int) -> bool:
        return bool(ordinal)

    def __str__(self) -> str:
        return "bool"


@frozen
class Enumeration:
    """The members of an enum class, in the order of their definition."""

    enum: type[Enum]

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(_members(self.enum)) - 1

    def encode(self, value: object) -> int:
        ordinal = _ordinals(self.enum).get(value.name) if isinstance(value, self.enum) else None
        if ordinal is None:
            raise ValueError(value)
        return ordinal

    def decode(self, ordinal: int) -> Enum:
        return _members(self.enum)[ordinal]

    def __str__(self) -> str:
        return self.enum.__name__


@cache
def _members(enum: type[Enum]) -> tuple[Enum, ...]:
    return tuple(enum)


@cache
def _ordinals(enum: type[Enum]) -> dict[str, int]:
    return {member.name: ordinal for ordinal, member in enumerate(enum)}


@frozen
class Identifier:
    """One identifier of a sort of ``count``, or none (ordinal -1) where ``optional``."""

    sort: Identifiers
    count: int
    optional: bool

    @property
    def low(self) -> int:
        return -1 if self.optional else 0

    @property
    def high(self) -> int:
        return self.count - 1

    def encode(self, value: object) -> int:
        if value is None:
            return -1
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(value)
        if value < 0:
            raise ValueError(value)
        return value

    def decode(self, ordinal: int) -> int | None:
        return None if ordinal < 0 else ordinal

    def __str__(self) -> str:
        return f"{self.sort}{' or none' if self.optional else ''}"


Scalar = Interval | Truth | Enumeration | Identifier


# What a field's metadata holds until the sizes of a system resolve it.


@frozen
class BoundedSpec:
    """An integer whose bounds are numbers or the names of sizes.

    supply: a proof that leaves its upper bound open takes any value for the initial one too.
    """

    low: int | str
    high: int | str
    supply: bool = False


@frozen
class IdentifierSpec:
    """An identifier; optional when its annotation (or its initial value) allows none."""

    sort: Identifiers
    optional: bool


@frozen
class MembersSpec:
    """A set of identifiers."""

    sort: Identifiers


@frozen
class EachSpec:
    """A tuple with one element for each identifier of a sort."""

    sort: Identifiers


@frozen
class FixedSpec:
    """A value of any kind that no transition changes."""


@frozen
class ParameterSpec:
    """A constant that a proof may leave open, with the size that it belongs to."""

    low: int
    size: str


Spec = BoundedSpec | IdentifierSpec | MembersSpec | EachSpec | FixedSpec | ParameterSpec


def bounded(low: int | str, high: int | str, initial: int = 0) -> Any:
    """Declare an integer field from ``low`` to ``high``; a bound may be the name of a size."""
    return attrs.field(default=initial, metadata={METADATA_KEY: BoundedSpec(low, high)})


def supply(size: str, initial: int = 0) -> Any:
    """Declare a count, from none to a size, of what a run may use up.

    Where a proof leaves the size open, a supply that is not empty at the start may be any there.
    """
    spec = BoundedSpec(0, size, supply=True)
    return attrs.field(default=initial, metadata={METADATA_KEY: spec})


def identifier(sort: Identifiers) -> Any:
    """Declare a field that holds an identifier of ``sort``, or ``None`` (its initial value)."""
    return attrs.field(default=None, metadata={METADATA_KEY: IdentifierSpec(sort, optional=True)})


def owner(sort: Identifiers) -> Any:
    """Declare a field that always holds an identifier of ``sort``; it has no default."""
    return attrs.field(metadata={METADATA_KEY: IdentifierSpec(sort, optional=False)}, kw_only=True)


def members(sort: Identifiers, initial: frozenset[int] = frozenset()) -> Any:
    """Declare a field that holds a frozenset of identifiers of ``sort``."""
    return attrs.field(default=initial, metadata={METADATA_KEY: MembersSpec(sort)})


def each(sort: Identifiers) -> Any:
    """Declare a tuple with one element per identifier of ``sort``; its length sets their number."""
    return attrs.field(metadata={METADATA_KEY: EachSpec(sort)}, kw_only=True)


def fixed(default: Any = attrs.NOTHING) -> Any:
    """Declare a constant of the run (of any type): transitions read it and never change it."""
    return attrs.field(default=default, metadata={METADATA_KEY: FixedSpec()}, kw_only=True)


def parameter(low: int, size: str) -> Any:
    """Declare a constant of the scope: an integer, or a record of supplies.

    Transitions read it and never change it. It has the value of the initial state; a proof that
    leaves ``size`` open takes it for any value from ``low`` on. What ties parameters together is
    said by the system's ``given``.
    """
    return attrs.field(metadata={METADATA_KEY: ParameterSpec(low, size)}, kw_only=True)


def spec_of(attribute: attrs.Attribute[Any]) -> Spec | None:
    """Return what a field declared with one of the helpers above, or None for a plain field."""
    spec: Spec | None = attribute.metadata.get(METADATA_KEY)
    return spec


def resolve(bound: int | str, sizes: Mapping[str, int], where: str) -> int:
    """Return the number a bound stands for."""
    if isinstance(bound, int):
        return bound
    if bound not in sizes:
        known = ", ".join(sorted(sizes)) or "none"
        raise ModelError(f"{where}: the size {bound!r} is not among the system's sizes ({known})")
    return sizes[bound]
