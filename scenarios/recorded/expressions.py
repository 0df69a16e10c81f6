"""What a mapping file says of fields, as functions: which lines it means, and what they tell.

Everything is compiled once, when the mapping is read. A file of a million lines then costs a few
calls a line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from attrs import define, field, frozen

from rackproof.scenarios.places import Place

Record = dict[str, Any]
"""A line of a log: fields by name, as JSON has them."""


class Unfit(Exception):
    """A field that does not hold what a rule expects of it; the text says what instead."""


@define
class Known:
    """What is known while a file is read.

    captured: the parts of its name. options: as the user gave them. tables: what rules have learnt,
    of all files so far. memory: what is remembered of the request that a line is about.
    """

    captured: Mapping[str, str]
    options: Mapping[str, Any]
    tables: dict[str, dict[str, Any]]
    memory: dict[str, Any] = field(factory=dict)


Get = Callable[[Record, Known], Any]
"""A value from a line; None where it has none."""
Test = Callable[[Record, Known], bool]
"""Whether a line is meant."""

SOURCES: Final = ("of", "is", "file", "remembered", "learned", "option")
CHANGES: Final = ("after", "find", "as", "plus", "minus", "names", "in", "called", "otherwise")
TESTS: Final = ("present", "matches", "not", "has", "known-in", "unknown-in", "beyond")
KINDS: Final = ("number", "text", "flag", "digest")
_WHOLE: Final = re.compile(r"\s*[-+]?[0-9]{1,24}\s*")
_FLAGS: Final = {"true": True, "false": False}


@frozen
class Value:
    """A compiled value; ``needed`` is whether a line without it is worth a word, ``field`` the name
    of the field where it is nothing but that.
    """

    get: Get
    needed: bool = True
    field: str | None = None

    @property
    def lacking(self) -> str:
        """Why there is none, as far as that is known."""
        if self.field is None:
            return ""
        return f": there is no field {self.field} (for the text write {{is: {self.field}}})"


def text_of(value: Any) -> str:
    """A value as a log might write it in quotes."""
    if type(value) is str:
        return value
    if value is None:
        return "null"
    if type(value) is int:
        return str(value)
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except RecursionError:
        raise Unfit("is nested too deep") from None


@cache
def path(name: str) -> Get:
    """What stands at a dotted path; a field may have the dots in its own name, and numbers are
    elements of lists. What many rules ask of a line is looked up once.
    """
    parts = name.split(".")
    if len(parts) == 1:
        return lambda record, _known: record.get(name)
    steps = [int(part) if part.isdecimal() else part for part in parts]
    with_dots = _with_dots(parts)
    last: tuple[Record | None, Any] = None, None

    def get(record: Record, _known: Known) -> Any:
        nonlocal last
        seen, value = last
        if seen is record:
            return value
        found: Any = record
        try:
            for step in steps:
                found = found[step]
        except (KeyError, IndexError, TypeError):
            found = _walk(record, parts) if _has_dots(record, with_dots) else None
        last = record, found
        return found

    return get


def _with_dots(parts: Sequence[str]) -> Sequence[tuple[str, int | None, frozenset[str]]]:
    """The parts of a path, each as an index too, with the names with dots that a field may have
    instead of it.
    """
    return [
        (part, int(part) if part.isdecimal() and len(part) < 10 else None, heads(parts[at:], 2))
        for at, part in enumerate(parts)
    ]


def _has_dots(record: Record, parts: Sequence[tuple[str, int | None, frozenset[str]]]) -> bool:
    """Whether a field on the way, or where it ends, has dots in its name."""
    node: Any = record
    for part, index, dotted in parts:
        if type(node) is dict:
            if not dotted.isdisjoint(node):
                return True
            node = node.get(part)
        elif type(node) is list:
            node = node[index] if index is not None and index < len(node) else None
        else:
            return False
    return False


def heads(parts: Sequence[str], least: int = 1) -> frozenset[str]:
    """The names that a field may have which a path of these parts begins with."""
    return frozenset(".".join(parts[:end]) for end in range(least, len(parts) + 1))


def _walk(node: Any, parts: list[str]) -> Any:
    if not parts:
        return node
    if isinstance(node, list):
        index = int(parts[0]) if parts[0].isdecimal() and len(parts[0]) < 9 else len(node)
        return _walk(node[index], parts[1:]) if index < len(node) else None
    if isinstance(node, dict):
        for end in range(1, len(parts) + 1):
            key = ".".join(parts[:end])
            if key in node and (found := _walk(node[key], parts[end:])) is not None:
                return found
    return None


# -- values -----------------------------------------------------------------------------------


def read_value(place: Place) -> Value | None:
    """The value that a place in a mapping describes; None after noting a problem."""
    if place.is_scalar:
        return _short(place)
    found = place.record((*SOURCES, *CHANGES, "optional"), "a value: a field, or a map")
    given = [name for name in SOURCES if name in found]
    if len(given) != 1:
        place.fail(f"needs one of {', '.join(SOURCES)}")
        return None
    get = _source(given[0], found[given[0]])
    for name in CHANGES:
        if name in found and get is not None:
            get = _changed(get, name, found[name])
    optional = found["optional"].flag() if "optional" in found else "otherwise" in found
    return None if get is None else Value(get, not optional)


def _short(place: Place) -> Value | None:
    """A text is the field of that name; a number or a flag is itself."""
    if isinstance(place.value, bool | int):
        return Value(_constant(place.value))
    text = place.text("a field, or a number")
    return None if text is None else Value(path(text), field=text)


def _constant(value: Any) -> Get:
    return lambda _record, _known: value


def read_field(place: Place) -> Get | None:
    """The field of a name, or of a list of names the first that a line has."""
    if place.is_list:
        return _first(place)
    text = place.text("a field")
    return None if text is None else path(text)


def _source(name: str, place: Place) -> Get | None:
    if name == "of":
        return read_field(place)
    if name == "is":
        return _constant(place.value)
    text = place.text()
    if text is None:
        return None
    match name:
        case "file":
            return lambda _record, known: known.captured.get(text)
        case "remembered":
            return lambda _record, known: known.memory.get(text)
        case "learned":
            return lambda _record, known: known.tables.get(text, {}).get("")
    return lambda _record, known: known.options.get(text)


def _first(place: Place) -> Get | None:
    """The first of some fields that a line has."""
    texts = [item.text() for item in place.items()]
    gets = [path(text) for text in texts if text is not None]

    def first(record: Record, known: Known) -> Any:
        return next((value for get in gets if (value := get(record, known)) is not None), None)

    return first if len(gets) == len(texts) else None


def _changed(get: Get, name: str, place: Place) -> Get | None:
    """A value with one change made to it; what is not there is not changed."""
    if name == "otherwise":
        return _otherwise(get, place)
    if name in {"plus", "minus"}:
        return _shifted(get, place, 1 if name == "plus" else -1)
    if name == "as":
        return _converted(get, place)
    change = _change(name, place)
    if change is None:
        return None

    def changed(record: Record, known: Known) -> Any:
        value = get(record, known)
        return None if value is None else change(value, known)

    return changed


def _converted(get: Get, place: Place) -> Get | None:
    kind = place.choice(KINDS, "kind of value")
    if kind is None:
        return None
    convert = _AS[kind]

    def converted(record: Record, known: Known) -> Any:
        value = get(record, known)
        return None if value is None else convert(value)

    return converted


def _otherwise(get: Get, place: Place) -> Get | None:
    other = Value(_constant(place.value)) if place.is_scalar else read_value(place)
    if other is None:
        return None
    instead = other.get

    def value(record: Record, known: Known) -> Any:
        found = get(record, known)
        return instead(record, known) if found is None else found

    return value


def _shifted(get: Get, place: Place, sign: int) -> Get | None:
    """A number with another added; where the other is not known, the sum is not known either, and
    that is told of a field that a line should have.
    """
    other = read_value(place)
    if other is None:
        return None
    by, needed = other.get, place.is_scalar

    def shifted(record: Record, known: Known) -> Any:
        value, offset = get(record, known), by(record, known)
        if needed and offset is None and value is not None:
            raise Unfit(f"is not known, as there is no {place.value}")
        if value is None or offset is None:
            return None
        return number(value) + sign * number(offset)

    return shifted


Change = Callable[[Any, Known], Any]


def _change(name: str, place: Place) -> Change | None:
    match name:
        case "names":
            return _renamed(place)
        case "find":
            return _found(place)
    text = place.text()
    if text is None:
        return None
    if name == "after":
        return lambda value, _known: _after(value, text)
    if name == "in":
        return lambda value, known: known.tables.get(text, {}).get(text_of(value))
    return lambda value, known: known.tables.get(text, {}).get(told := text_of(value), told)


def _after(value: Any, flag: str) -> Any:
    """What follows a flag among the arguments of a command, also behind an equals sign."""
    words = value if isinstance(value, list) else str(value).split()
    for index, word in enumerate(words):
        if word == flag and index + 1 < len(words):
            return words[index + 1]
        if isinstance(word, str) and word.startswith(f"{flag}="):
            return word[len(flag) + 1 :]
    return None


def _found(place: Place) -> Change | None:
    """The part of a text that a pattern's group stands for; nothing where it is not in it."""
    pattern = read_pattern(place)
    if pattern is None:
        return None
    group = 1 if pattern.groups else 0

    search = pattern.search

    def find(value: Any, _known: Known) -> Any:
        met = search(text_of(value))
        return met[group] if met else None

    return find


def read_pattern(place: Place) -> re.Pattern[str] | None:
    """A regular expression with at most one group."""
    text = place.text("a regular expression")
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except re.error as error:
        place.fail(f"is no regular expression: {error}")
        return None
    if pattern.groups > 1:
        place.fail("has more than one group: which one is meant?")
        return None
    return pattern


def _renamed(place: Place) -> Change | None:
    """A table of names; what is not in it nobody knows the meaning of."""
    entries = place.entries("a table of names")
    if entries is None:
        return None
    table = {key: item.value for key, item in entries.items()}

    def rename(value: Any, _known: Known) -> Any:
        try:
            return table[text_of(value)]
        except KeyError:
            raise Unfit(f"has no name here: {shown(value)}") from None

    return rename


def shown(value: Any) -> str:
    """A value in a message, short."""
    text = text_of(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def number(value: Any) -> int:
    """A whole number, also one in quotes."""
    if type(value) is int:
        return value
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    raise Unfit(f"is no whole number: {shown(value)}")


def flag(value: Any) -> bool:
    """True or false, also in quotes."""
    found = value if isinstance(value, bool) else _FLAGS.get(text_of(value).lower())
    if found is None:
        raise Unfit(f"is neither true nor false: {shown(value)}")
    return found


def digest(value: Any) -> str:
    """Sixteen letters that tell one text from another."""
    return hashlib.blake2b(text_of(value).encode("utf-8", "replace"), digest_size=8).hexdigest()


_AS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "number": number,
    "text": text_of,
    "flag": flag,
    "digest": digest,
}


# -- conditions -------------------------------------------------------------------------------


def read_tests(place: Place) -> tuple[tuple[str, Test], ...]:
    """The conditions on the fields of a line, all of which it must meet, by field."""
    entries = place.entries("conditions by field") or {}
    tests = ((name, _test(path(name), item)) for name, item in entries.items())
    return tuple((name, test) for name, test in tests if test is not None)


def meets(record: Record, known: Known, tests: Sequence[tuple[str, Test]]) -> bool:
    """Whether a line meets conditions."""
    for _, test in tests:  # noqa: SIM110  (of a million lines)
        if not test(record, known):
            return False
    return True


def read_memories(place: Place) -> tuple[Test, ...]:
    """The conditions on what is remembered of a request."""
    entries = place.entries("conditions on what is remembered") or {}
    tests = (_test(_remembered(name), item) for name, item in entries.items())
    return tuple(test for test in tests if test is not None)


def _remembered(name: str) -> Get:
    return lambda _record, known: known.memory.get(name)


def one_of(place: Place) -> frozenset[str] | None:
    """The values of a plain condition, as texts; None where it is of another kind."""
    if place.is_scalar:
        return frozenset((text_of(place.value),))
    if place.is_list:
        return frozenset(text_of(item.value) for item in place.items())
    return None


def demanded(place: Place) -> frozenset[str]:
    """The fields without which a line does not meet the conditions."""
    entries = place.entries() or {}
    return frozenset(name for name, item in entries.items() if _demands(item))


def _demands(place: Place) -> bool:
    """Whether a condition is never met by a field that is not there."""
    values = one_of(place)
    if values is not None:
        return text_of(None) not in values
    found = (place.entries() or {}) if place.is_map else {}
    present = found["present"].value is True if "present" in found else False
    return present or "matches" in found or "has" in found


def _test(get: Get, place: Place) -> Test | None:
    values = one_of(place)
    if values is not None:
        return _among(get, values)
    found = place.record(TESTS, "a value, a list of values, or a condition")
    tests = [_special(get, name, item) for name, item in found.items()]
    if not tests and place.is_map:
        place.fail(f"says nothing (there are: {', '.join(TESTS)})")
    kept = [test for test in tests if test is not None]
    if len(kept) == 1:
        return kept[0]
    return lambda record, known: all(test(record, known) for test in kept)


def _among(get: Get, values: frozenset[str]) -> Test:
    def among(record: Record, known: Known) -> bool:
        value = get(record, known)
        if type(value) is str:
            return value in values
        return not isinstance(value, dict | list) and text_of(value) in values

    return among


def _special(get: Get, name: str, place: Place) -> Test | None:
    match name:
        case "present":
            if place.flag():
                return lambda record, known: get(record, known) is not None
            return lambda record, known: get(record, known) is None
        case "not":
            values = one_of(place) or frozenset()
            among = _among(get, values)
            return lambda record, known: not among(record, known)
        case "matches":
            return _matching(get, place)
    text = place.text()
    if text is None:
        return None
    match name:
        case "has":
            return lambda record, known: _holds(get(record, known), text)
        case "beyond":
            return _beyond(get, text)
    wanted = name == "known-in"

    def known_in(record: Record, known: Known) -> bool:
        value = get(record, known)
        if isinstance(value, dict | list):
            return not wanted
        return (text_of(value) in known.tables.get(text, {})) == wanted

    return known_in


def _holds(value: Any, text: str) -> bool:
    return isinstance(value, list | dict | str) and text in value


def _matching(get: Get, place: Place) -> Test | None:
    pattern = read_pattern(place)
    if pattern is None:
        return None

    search = pattern.search

    def matches(record: Record, known: Known) -> bool:
        value = get(record, known)
        return type(value) is str and search(value) is not None

    return matches


def _beyond(get: Get, name: str) -> Test:
    """Whether a number is more than what is remembered, or nothing is."""

    def beyond(record: Record, known: Known) -> bool:
        least = known.memory.get(name)
        try:
            return least is None or number(get(record, known)) > least
        except Unfit:
            return False

    return beyond
