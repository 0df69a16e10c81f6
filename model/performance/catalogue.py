"""Presets as data: YAML files of named things, each a frozen class with units in its names."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeVar

import attrs
from ruamel.yaml import YAML

from rackproof.model.kernel import ModelError

T = TypeVar("T")

_DATA: Final = files("rackproof.model.performance") / "data"


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
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        told = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise ModelError(f"there is no {called(kind)} {name!r}; {told}")
    return made(kind, name, known[name])


def made(kind: type[T], name: str, entries: Mapping[str, Any]) -> T:
    """An instance from a map; ``ModelError`` names the key that is missing, unknown or no good."""
    declared: Any = kind
    allowed = {field.name: field for field in attrs.fields(declared) if field.name != "name"}
    for key in entries:
        if key not in allowed:
            near = difflib.get_close_matches(str(key), allowed, n=1)
            told = f"did you mean {near[0]}?" if near else f"it has {', '.join(allowed)}"
            raise ModelError(f"{called(kind)} {name} has no key {key!r}; {told}")
    for key, field in allowed.items():
        if key not in entries and field.default is attrs.NOTHING:
            raise ModelError(f"{called(kind)} {name} needs {key}")
    instance: T = declared(name=name, **entries)
    return instance


def called(kind: Any) -> str:
    """What a class is called in messages."""
    return str(getattr(kind, "CALLED", getattr(kind, "__name__", kind)))


def positive(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no positive, finite number (of a field of whole numbers: no whole one)."""
    _number(instance, field, value)
    if not value > 0:  # type: ignore[operator]
        raise ModelError(f"{_of(instance, field)} is positive, not {value!r}")


def not_negative(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no finite number from 0 on."""
    _number(instance, field, value)
    if value < 0:  # type: ignore[operator]
        raise ModelError(f"{_of(instance, field)} is not negative; it is {value!r}")


def share(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no number above 0 and up to 1."""
    positive(instance, field, value)
    if value > 1:  # type: ignore[operator]
        raise ModelError(f"{_of(instance, field)} is a share, up to 1, not {value!r}")


def _number(instance: Any, field: attrs.Attribute[Any], value: object) -> None:
    whole = field.type in (int, "int", "int | None")
    kinds = int if whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not math.isfinite(value):
        what = "whole number" if whole else "number"
        raise ModelError(f"{_of(instance, field)} is a {what}, not {value!r}")


def _of(instance: Any, field: attrs.Attribute[Any]) -> str:
    return f"{called(type(instance))} {getattr(instance, 'name', '')}: {field.name}"
