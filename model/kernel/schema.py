"""The fields of a world, one by one: what a state is made of once every tuple has its length.

A ``Schema`` is derived from an initial state. It lists the *slots* (scalar fields, each with its
path and domain; a set of identifiers is one boolean slot a member) and goes between a plain state
and the tuple of its slots' ordinals. Engines build symbolic states with the same walk.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, Flag
from types import NoneType, UnionType
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.model.kernel.domains import (
    BoundedSpec,
    EachSpec,
    Enumeration,
    FixedSpec,
    Identifier,
    Identifiers,
    IdentifierSpec,
    Interval,
    MembersSpec,
    ParameterSpec,
    Scalar,
    Truth,
    resolve,
    spec_of,
)
from rackproof.model.kernel.errors import ModelError, OutOfDomain

WIDEST: Final = 65_535
"""The values of a bounded integer are followed one by one; more make no model."""

Path = tuple[str | int, ...]
Lane = tuple[Identifiers, int]


@frozen
class Slot:
    """A scalar field of a world: where it is, what it may hold, which identifiers' lanes it lies
    in.

    rigid: a parameter that is left open; no transition changes it. free: the initial state stands
    for every value of it (as ``given`` allows).
    """

    path: Path
    label: str
    domain: Scalar
    lanes: tuple[Lane, ...]
    rigid: bool = False
    free: bool = False


@frozen
class ScalarShape:
    """One slot."""

    slot: int


@frozen
class SetShape:
    """A set of identifiers: one boolean slot for each."""

    slots: tuple[int, ...]


@frozen
class RecordShape:
    """A nested state."""

    cls: type
    fields: tuple[tuple[str, Shape], ...]


@frozen
class TupleShape:
    """A tuple with one element per identifier."""

    sort: Identifiers
    elements: tuple[Shape, ...]


@frozen
class FixedShape:
    """A constant, kept as the plain value."""

    value: object


Shape = ScalarShape | SetShape | RecordShape | TupleShape | FixedShape


@frozen
class Schema:
    """The slots of a world and the shape that holds them."""

    slots: tuple[Slot, ...]
    shape: Shape
    counts: Mapping[Identifiers, int]

    def build(
        self,
        scalar: Callable[[int], Any],
        members: Callable[[tuple[int, ...]], Any],
    ) -> Any:
        """Make a state whose scalars and sets come from the two functions (given slot indices)."""
        return _build(self.shape, scalar, members)

    def unflatten(self, ordinals: Sequence[int]) -> Any:
        """Return the plain state with these ordinals, one per slot."""
        slots = self.slots

        def scalar(slot: int) -> object:
            return slots[slot].domain.decode(ordinals[slot])

        def members(group: tuple[int, ...]) -> frozenset[int]:
            return frozenset(i for i, slot in enumerate(group) if ordinals[slot])

        return self.build(scalar, members)

    def flatten(self, state: object) -> tuple[int, ...]:
        """Return the ordinals of a plain state's slots; ``OutOfDomain`` where one does not fit."""
        return tuple(self._ordinals(_values(self.shape, state)))

    def check_step(self, before: object, after: object) -> None:
        """Raise ``OutOfDomain`` where something that a step changed does not fit; what the states
        share is taken to have fitted before.
        """
        for _ in self._ordinals(_changed(self.shape, before, after)):
            pass

    def values(self, state: object) -> Iterator[tuple[Shape, object]]:
        """Yield each scalar, set and constant of a state with its shape, in slot order."""
        return _values(self.shape, state)

    def _ordinals(self, leaves: Iterator[tuple[Shape, object]]) -> Iterator[int]:
        for leaf, value in leaves:
            if isinstance(leaf, ScalarShape):
                yield _encode(self.slots[leaf.slot], value)
            elif isinstance(leaf, SetShape):
                yield from self._memberships(leaf, value)
            elif isinstance(leaf, FixedShape) and leaf.value != value:
                raise ModelError(f"a constant was changed from {leaf.value!r} to {value!r}")

    def _memberships(self, shape: SetShape, value: object) -> Iterator[int]:
        count = len(shape.slots)
        if not isinstance(value, frozenset) or not all(
            isinstance(member, int) and 0 <= member < count for member in value
        ):
            slot = self.slots[shape.slots[0]] if shape.slots else None
            label = slot.label.rsplit("[", 1)[0] if slot else "a set"
            raise OutOfDomain(label, value, f"a frozenset of identifiers below {count}")
        yield from (int(member in value) for member in range(count))


def _encode(slot: Slot, value: object) -> int:
    try:
        ordinal = slot.domain.encode(value)
    except ValueError:
        raise OutOfDomain(slot.label, value, slot.domain) from None
    low, high = slot.domain.low, slot.domain.high
    if ordinal < low or (high is not None and ordinal > high):
        raise OutOfDomain(slot.label, value, slot.domain)
    return ordinal


def _build(
    shape: Shape, scalar: Callable[[int], Any], members: Callable[[tuple[int, ...]], Any]
) -> Any:
    match shape:
        case ScalarShape():
            return scalar(shape.slot)
        case SetShape():
            return members(shape.slots)
        case FixedShape():
            return shape.value
        case TupleShape():
            return tuple(_build(element, scalar, members) for element in shape.elements)
        case RecordShape():
            return shape.cls(**{name: _build(s, scalar, members) for name, s in shape.fields})


def _values(shape: Shape, state: Any) -> Iterator[tuple[Shape, object]]:
    if isinstance(shape, TupleShape | RecordShape):
        for inner, value, _ in parts(shape, state, state):
            yield from _values(inner, value)
    else:
        yield shape, state


def _changed(shape: Shape, before: Any, after: Any) -> Iterator[tuple[Shape, object]]:
    """The leaves of a state that another one does not share with it."""
    if before is after:
        return
    if isinstance(shape, TupleShape | RecordShape):
        for inner, old, new in parts(shape, before, after):
            yield from _changed(inner, old, new)
    else:
        yield shape, after


def parts(
    shape: RecordShape | TupleShape, before: Any, after: Any
) -> Iterator[tuple[Shape, Any, Any]]:
    """Yield the fields or elements of two states of one shape; ``ModelError`` where one does not
    fit.
    """
    if isinstance(shape, RecordShape):
        if not isinstance(after, shape.cls):
            raise ModelError(f"expected a {shape.cls.__name__}, not {after!r}")
        for name, field in shape.fields:
            yield field, getattr(before, name), getattr(after, name)
    else:
        if not isinstance(after, tuple) or len(after) != len(shape.elements):
            expected = len(shape.elements)
            raise ModelError(f"expected a tuple of {expected} for {shape.sort}, not {after!r}")
        yield from zip(shape.elements, before, after, strict=True)


def schema_of(
    initial: object,
    sizes: Mapping[str, int],
    names: Mapping[Identifiers, Sequence[str]] | None = None,
    open_sizes: frozenset[str] = frozenset(),
) -> Schema:
    """Derive the schema of a world from one of its states and the sizes that bounds name.

    open_sizes: those that are no upper bound here, and whose parameters are slots.
    """
    counts = dict(_tuple_lengths(initial, type(initial).__name__))
    for sort, count in counts.items():
        if sizes.get(sort.name, count) != count:
            raise ModelError(
                f"sizes has {sizes[sort.name]} for {sort}, but the initial state holds {count}"
            )
    return _Walk(sizes, counts, names or {}, open_sizes).schema(initial)


def _tuple_lengths(state: Any, where: str) -> Iterator[tuple[Identifiers, int]]:
    """Yield the sort and length of every ``each`` tuple; they must agree on each sort."""
    seen: dict[Identifiers, tuple[int, str]] = {}
    stack = [(state, where)]
    while stack:
        record, at = stack.pop()
        if not attrs.has(type(record)):
            continue
        for attribute in attrs.fields(type(record)):
            value, path = getattr(record, attribute.name), f"{at}.{attribute.name}"
            spec = spec_of(attribute)
            if isinstance(spec, EachSpec):
                length, first = seen.setdefault(spec.sort, (len(value), path))
                if length != len(value):
                    raise ModelError(
                        f"{path} has {len(value)} elements, but {first} has {length}: both hold "
                        f"one per {spec.sort}"
                    )
                stack.extend((element, f"{path}[{i}]") for i, element in enumerate(value))
            elif spec is None:
                stack.append((value, path))
    yield from ((sort, length) for sort, (length, _) in seen.items())


class _Walk:
    """One pass over an initial state that collects slots."""

    def __init__(
        self,
        sizes: Mapping[str, int],
        counts: Mapping[Identifiers, int],
        names: Mapping[Identifiers, Sequence[str]],
        open_sizes: frozenset[str],
    ) -> None:
        self.sizes, self.counts, self.names = sizes, dict(counts), names
        self.open_sizes, self.rigid = open_sizes, False
        self.slots: list[Slot] = []

    def schema(self, initial: object) -> Schema:
        shape = self._record(initial, (), "", ())
        return Schema(tuple(self.slots), shape, self.counts)

    def _record(self, state: Any, path: Path, label: str, lanes: tuple[Lane, ...]) -> Shape:
        cls = type(state)
        if not attrs.has(cls):
            raise ModelError(f"{label or 'a world'} is a {cls.__name__}, not a frozen attrs class")
        hints = typing.get_type_hints(cls)
        fields = []
        for attribute in attrs.fields(cls):
            name = attribute.name
            if attribute.alias != name:
                raise ModelError(f"{label or cls.__name__}: the field {name} is private; rename it")
            shape = self._field(
                attribute,
                hints.get(name),
                getattr(state, name),
                (*path, name),
                f"{label}.{name}" if label else name,
                lanes,
            )
            fields.append((name, shape))
        return RecordShape(cls, tuple(fields))

    def _field(
        self,
        attribute: attrs.Attribute[Any],
        hint: Any,
        value: Any,
        path: Path,
        label: str,
        lanes: tuple[Lane, ...],
    ) -> Shape:
        match spec_of(attribute):
            case FixedSpec():
                return FixedShape(value)
            case ParameterSpec() as spec:
                return self._parameter(spec, value, path, label)
            case EachSpec(sort):
                return self._each(sort, value, path, label, lanes)
            case MembersSpec(sort):
                return self._members(sort, path, label, lanes)
            case BoundedSpec(low, high, supply):
                domain: Scalar = self._interval(low, high, label)
                free = supply and high in self.open_sizes and value != domain.low
                return self._scalar(domain, value, path, label, lanes, free=free)
            case IdentifierSpec(sort, optional):
                domain = Identifier(sort, self._count(sort, label), optional)
                return self._scalar(domain, value, path, label, lanes)
            case _:
                return self._annotated(hint, value, path, label, lanes)

    def _interval(self, low: int | str, high: int | str, label: str) -> Interval:
        start, end = resolve(low, self.sizes, label), resolve(high, self.sizes, label)
        if high in self.open_sizes:
            return Interval(start, None)
        domain = Interval(start, end)
        if end - start > WIDEST:
            raise ModelError(f"{label}: {domain} is too wide (at most {WIDEST:,}); count coarser")
        return domain

    def _parameter(self, spec: ParameterSpec, value: Any, path: Path, label: str) -> Shape:
        """A constant; where its size is left open, slots that no transition changes."""
        if spec.size not in self.open_sizes:
            return FixedShape(value)
        if not attrs.has(type(value)):
            domain = Interval(spec.low, None)
            return self._scalar(domain, value, path, label, (), rigid=True, free=True)
        self.rigid = True
        shape = self._record(value, path, label, ())
        self.rigid = False
        return shape

    def _annotated(
        self, hint: Any, value: Any, path: Path, label: str, lanes: tuple[Lane, ...]
    ) -> Shape:
        """Take the domain from the annotation: an enum, a boolean, a nested state."""
        if isinstance(hint, type) and issubclass(hint, Enum):
            _check_enum(hint, label)
            return self._scalar(Enumeration(hint), value, path, label, lanes)
        if hint is bool:
            return self._scalar(Truth(), value, path, label, lanes)
        if attrs.has(type(value)):
            return self._record(value, path, label, lanes)
        raise ModelError(f"{label}: {_advice(hint)}")

    def _each(
        self, sort: Identifiers, value: Any, path: Path, label: str, lanes: tuple[Lane, ...]
    ) -> Shape:
        elements = []
        for i, element in enumerate(value):
            where = f"{label}[{self._name(sort, i)}]"
            lane = (*lanes, (sort, i))
            elements.append(self._element(element, (*path, i), where, lane))
        return TupleShape(sort, tuple(elements))

    def _element(self, element: Any, path: Path, label: str, lanes: tuple[Lane, ...]) -> Shape:
        if isinstance(element, Enum):
            _check_enum(type(element), label)
            return self._scalar(Enumeration(type(element)), element, path, label, lanes)
        if isinstance(element, bool):
            return self._scalar(Truth(), element, path, label, lanes)
        return self._record(element, path, label, lanes)

    def _members(self, sort: Identifiers, path: Path, label: str, lanes: tuple[Lane, ...]) -> Shape:
        group = []
        for i in range(self._count(sort, label)):
            where = f"{label}[{self._name(sort, i)}]"
            group.append(self._slot((*path, i), where, Truth(), (*lanes, (sort, i))))
        return SetShape(tuple(group))

    def _scalar(
        self,
        domain: Scalar,
        value: object,
        path: Path,
        label: str,
        lanes: tuple[Lane, ...],
        rigid: bool = False,
        free: bool = False,
    ) -> Shape:
        index = self._slot(path, label, domain, lanes, rigid or self.rigid, free)
        _encode(self.slots[index], value)
        return ScalarShape(index)

    def _slot(
        self,
        path: Path,
        label: str,
        domain: Scalar,
        lanes: tuple[Lane, ...],
        rigid: bool = False,
        free: bool = False,
    ) -> int:
        self.slots.append(Slot(path, label, domain, lanes, rigid, free))
        return len(self.slots) - 1

    def _name(self, sort: Identifiers, index: int) -> str:
        names = self.names.get(sort)
        return names[index] if names else f"{sort}-{index}"

    def _count(self, sort: Identifiers, label: str) -> int:
        if sort not in self.counts:
            if sort.name not in self.sizes:
                raise ModelError(
                    f"{label}: how many {sort}s there are is not known: no tuple has one each, "
                    f"and sizes has no {sort.name!r}"
                )
            self.counts[sort] = self.sizes[sort.name]
        return self.counts[sort]


def _check_enum(enum: type[Enum], label: str) -> None:
    """Refuse enums whose members do not simply differ from everything else."""
    if issubclass(enum, int | str | float | Flag):
        raise ModelError(
            f"{label}: {enum.__name__} mixes its members with numbers or texts; use Enum"
        )
    own = {name for base in enum.__mro__ for name in vars(base) if base not in (Enum, object)}
    if odd := own & {"__eq__", "__bool__", "node", "run", "domain", "plain", "operand"}:
        raise ModelError(f"{label}: {enum.__name__} may not define {', '.join(sorted(odd))}")


def _advice(hint: Any) -> str:
    if hint is int:
        return "an int field needs its range: bounded(low, high), or identifier(Sort)"
    if typing.get_origin(hint) is frozenset:
        return "a set field needs its sort: members(Sort)"
    if typing.get_origin(hint) is tuple:
        return "a tuple field needs its sort: each(Sort)"
    if isinstance(hint, UnionType) and NoneType in typing.get_args(hint):
        return "an optional field is an identifier: identifier(Sort)"
    return (
        f"{hint!r} is not a domain; use an enum, bool, bounded, identifier, members, each or fixed"
    )
