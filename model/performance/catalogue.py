"""Presets as data: YAML files of named things, each a frozen class with units in its names."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeVar

import attrs
from ruamel.yaml import YAML

from rackproof.model.kernel import ModelError

T = TypeVar("T")

_DATA: Final = files("rackproof.model.performance") / "data"

_LEAST: Final = 1e-6
_MOST: Final = 10**12
"""Less or more of anything, in the units of the keys, is taken for a slip."""


@cache
def _content(file: str) -> Mapping[str, Mapping[str, Any]]:
    content: Mapping[str, Mapping[str, Any]] = YAML(typ="safe", pure=True).load(
        (_DATA / file).read_text(encoding="utf-8")
    )
    return content


def presets(file: str, kind: type[T]) -> Mapping[str, T]:
    """Every preset in a data file, by name, as instances of a class."""
    return {name: made(kind, name, entries) for name, entries in _content(file).items()}


def chosen(file: str, kind: type[T], name: str) -> T:
    """The preset of a name; ``ModelError`` with the nearest where there is none."""
    known = _content(file)
    if not isinstance(name, str) or name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        told = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise ModelError(f"there is no {called(kind)} {name!r}; {told}")
    return made(kind, name, known[name])


def made(kind: type[T], name: str, entries: Mapping[str, Any]) -> T:
    """An instance from a map; ``ModelError`` names the key that is missing, unknown or no good."""
    declared: Any = kind
    what = " ".join(filter(None, (called(kind), name)))
    if not isinstance(entries, Mapping):
        raise ModelError(f"{what} is a map, not {entries!r}")
    fields = {field.name: field for field in attrs.fields(declared)}
    named = {"name": name} if "name" in fields else {}
    allowed = {key: field for key, field in fields.items() if key not in named}
    for key in entries:
        if key not in allowed:
            near = difflib.get_close_matches(str(key), allowed, n=1)
            told = f"did you mean {near[0]}?" if near else f"it has {', '.join(allowed)}"
            raise ModelError(f"{what} has no key {key!r}; {told}")
        if allowed[key].type in ("str", str) and not isinstance(entries[key], str):
            raise ModelError(f"{what}: {key} is a text, not {entries[key]!r}")
    for key, field in allowed.items():
        if key not in entries and field.default is attrs.NOTHING:
            raise ModelError(f"{what} needs {key}")
    instance: T = declared(**named, **entries)
    return instance


def part(kind: type[T], value: object) -> T | None:
    """What a field that is itself a map of entries comes to; None if it is not there."""
    if value is None or isinstance(value, kind):
        return value
    return made(kind, "", value)  # type: ignore[arg-type]


def called(kind: Any) -> str:
    """What a class is called in messages."""
    return str(getattr(kind, "CALLED", getattr(kind, "__name__", kind)))


def positive(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no positive, finite number (of a field of whole numbers: no whole one)."""
    if not _number(instance, field, value) > 0:
        raise ModelError(f"{_of(instance, field)} is positive, not {value!r}")
    _not_tiny(instance, field, value)


def not_negative(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no finite number from 0 on."""
    if _number(instance, field, value) < 0:
        raise ModelError(f"{_of(instance, field)} is not negative; it is {value!r}")


def share(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no number above 0 and up to 1."""
    if not 0 < _number(instance, field, value) <= 1:
        raise ModelError(f"{_of(instance, field)} is a share, above 0 and up to 1, not {value!r}")
    _not_tiny(instance, field, value)


def at_least_one(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no number from 1 on."""
    if _number(instance, field, value) < 1:
        raise ModelError(f"{_of(instance, field)} is 1 or more, not {value!r}")


def instance_of(*kinds: type) -> Callable[[Any, attrs.Attribute[Any], object], None]:
    """Refuse what is of another class."""

    def check(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kinds):
            raise ModelError(f"{_of(instance, field)} is a {called(kinds[0])}, not {value!r}")

    return check


def whole_numbers(what: str, values: Iterable[object]) -> tuple[int, ...]:
    """Values that are each a whole number from 1 on; ``ModelError`` names the one that is not."""
    found = tuple(values)
    for value in found:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
            raise ModelError(f"{what} is a whole number from 1 to {_MOST:,}, not {value!r}")
    if not found:
        raise ModelError(f"{what}: there is none to ask for")
    return found  # type: ignore[return-value]


def _number(instance: Any, field: attrs.Attribute[Any], value: object) -> float:
    whole = str(field.type).startswith("int") or field.type is int
    kinds = int if whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not abs(value) < math.inf:
        what = "whole number" if whole else "number"
        raise ModelError(f"{_of(instance, field)} is a {what}, not {value!r}")
    if abs(value) > _MOST:
        raise ModelError(f"{_of(instance, field)} is {value!r}; more than {_MOST:,} is a mistake")
    return value


def _not_tiny(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, int | float) and value < _LEAST:
        raise ModelError(f"{_of(instance, field)} is {value!r}; less than {_LEAST} is a mistake")


def _of(instance: Any, field: attrs.Attribute[Any]) -> str:
    return " ".join([called(type(instance)), *_name(instance)]) + f": {field.name}"


def _name(instance: Any) -> tuple[str, ...]:
    name = getattr(instance, "name", "")
    return (str(name),) if name else ()
