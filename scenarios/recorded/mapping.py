"""Mapping files: what the lines of a log mean, as data.

A mapping says which files of a folder it reads, of which format they are, and by rules what their
lines tell. It is read once, and compiled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import evolve, field, frozen

from rackproof.scenarios.document import read
from rackproof.scenarios.errors import Problems, unknown
from rackproof.scenarios.files import is_file
from rackproof.scenarios.places import Place
from rackproof.scenarios.recorded.expressions import (
    Get,
    Known,
    Record,
    Test,
    Value,
    demanded,
    heads,
    one_of,
    path,
    read_field,
    read_memories,
    read_pattern,
    read_tests,
    read_value,
    text_of,
)
from rackproof.scenarios.recorded.formats import FORMATS
from rackproof.scenarios.recorded.vocabulary import KINDS, unknown_kind
from rackproof.scenarios.worlds import InputError

FOLDER: Final = Path(__file__).parent / "mappings"
ROOT_KEYS: Final = ("rackproof", "title", "options", "uses", "files")
FILE_KEYS: Final = (
    "name",
    "format",
    "sse",
    "clock",
    "time",
    "ordered",
    "about",
    "one-at-a-time",
    "complete",
    "needs",
    "may-be-empty",
    "text-between",
    "strict",
    "rules",
    "rules-of",
)
RULE_KEYS: Final = (
    "when",
    "remembered",
    "each",
    "observe",
    "witness",
    "kind",
    "about",
    "for-all",
    "values",
    "rest",
    "aside",
    "time",
    "learn",
    "remember",
    "forget",
    "doubt",
    "tell",
    "clock",
)
UNITS: Final = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


Named = Get | str | None
"""A name: where it stands, or the name itself."""


@frozen
class Time:
    """Where a time stands, and how many of its units a second has (None: as in its file)."""

    get: Get
    per_second: float | None = None


@frozen
class Each:
    """A rule that is about every match of a pattern in a text, or every element of a list."""

    get: Get
    pattern: re.Pattern[str] | None
    into: str


@frozen
class Learnt:
    """What a line adds to a table that later lines are read with."""

    table: str
    key: Get
    value: Get


@frozen(eq=False)
class Rule:
    """What some lines of a file tell; without a kind they tell nothing, but may be learnt from.

    rest: fields that are no values of their own where all the others are; None if it is not so.
    aside_of: where a map of what is told beside stands. demands: fields that a line must have.
    doubt: why nothing is read of such a line. tell: what is worth a word of it. clock: by which
    what it tells of happened, where that is not the one of the file.
    """

    line: int
    tests: tuple[tuple[str, Test], ...] = ()
    equals: Mapping[str, frozenset[str]] = field(factory=dict)
    demands: frozenset[str] = frozenset()
    memories: tuple[Test, ...] = ()
    each: Each | None = None
    witness: Named = None
    kind: Named = None
    about: Value | None = None
    for_all: bool = False
    values: tuple[tuple[str, Value], ...] = ()
    aside: tuple[tuple[str, Value], ...] = ()
    rest: frozenset[str] | None = None
    aside_of: Get | None = None
    time: Time | None = None
    learn: tuple[Learnt, ...] = ()
    remember: tuple[tuple[str, Get], ...] = ()
    forget: bool = False
    doubt: str | None = None
    tell: str | None = None
    clock: str | None = None

    def without(self, name: str) -> Rule:
        """The rule for lines whose field is known to be as it says."""
        if name not in self.equals:
            return self
        return evolve(self, tests=tuple(test for test in self.tests if test[0] != name))


Choose = Callable[[Record, Known], Sequence[Rule]]
"""The rules that may be meant by a line."""


@frozen(eq=False)
class Turns:
    """A file that is about one request after the other: where the next one begins, what it is
    called by the lines in between, and what it is called if they do not say.
    """

    begins: tuple[tuple[str, Test], ...]
    about: Value
    otherwise: Value


@frozen(eq=False)
class Complete:
    """Of which kinds a file has every record of a witness."""

    witness: Get | str
    kinds: str


@frozen(eq=False)
class Section:
    """Files of one kind: their names, and how they are read.

    clock_of: where a line says whose clock its time is by. ordered: whether times that go backwards
    are worth a word. needs: the fields that every line has. may_be_empty: whether a file without
    lines is worth none. text_between: whether lines that are no records may stand between. strict:
    whether every line is one of which a rule speaks.
    """

    key: str
    shape: str
    name: re.Pattern[str]
    format: str = "jsonl"
    sse: tuple[str, ...] = ()
    clock: str = "{file}"
    clock_of: Get | None = None
    time: Time | None = None
    ordered: bool = True
    turns: Turns | None = None
    complete: tuple[Complete, ...] = ()
    needs: tuple[str, ...] = ()
    may_be_empty: bool = False
    text_between: bool = False
    strict: bool = False
    rules: tuple[Rule, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether other files are read with what these say."""
        return any(rule.learn for rule in self.rules)


@lru_cache(maxsize=64)
def chooser(rules: tuple[Rule, ...]) -> Choose:
    """The rules that may be meant by a line: by the field that tells most of them apart, or if
    there is none, by which fields the line has.
    """
    counts = Counter(name for rule in rules for name in rule.equals)
    best, count = max(sorted(counts.items()), key=itemgetter(1), default=("", 0))
    return _by_value(rules, best) if 2 * count > len(rules) else _by_shape(rules)


SHAPES: Final = 256
"""For how many sets of fields it is kept which rules may be meant."""


@frozen(eq=False)
class _Shaped:
    """The rules that may be meant by lines of some fields; below: by the fields of those of them in
    which the rules look for others.
    """

    rules: tuple[Rule, ...]
    inner: tuple[str, ...]
    gets: tuple[Get, ...]
    below: dict[tuple[object, ...], tuple[Rule, ...]] = field(factory=dict)


def _by_shape(rules: tuple[Rule, ...]) -> Choose:
    shapes: dict[tuple[str, ...], _Shaped] = {}

    def choose(record: Record, known: Known) -> Sequence[Rule]:
        names = tuple(record)
        shaped = shapes.get(names) or _kept(shapes, names, _shaped(rules, record))
        if not shaped.gets:
            return shaped.rules
        nodes = [get(record, known) for get in shaped.gets]
        key = tuple([tuple(node) if type(node) is dict else None for node in nodes])
        found = shaped.below.get(key)
        if found is None:
            lacking = _lacking(shaped, dict(zip(shaped.inner, nodes, strict=True)), record)
            found = tuple(rule for rule in shaped.rules if lacking.isdisjoint(rule.demands))
            _kept(shaped.below, key, found)
        return found

    return choose


K = TypeVar("K")
V = TypeVar("V")


def _kept(known: dict[K, V], key: K, value: V) -> V:
    """A value, that is known from now on if there is room."""
    if len(known) < SHAPES:
        known[key] = value
    return value


def _shaped(rules: Sequence[Rule], record: Record) -> _Shaped:
    """The rules none of whose fields is missing by its first name."""
    possible = tuple(
        rule
        for rule in rules
        if all(not heads(name.split(".")).isdisjoint(record) for name in rule.demands)
    )
    names = (name.rpartition(".")[0] for rule in possible for name in sorted(rule.demands))
    inner = tuple(dict.fromkeys(name for name in names if name))
    return _Shaped(possible, inner, tuple(path(name) for name in inner))


def _lacking(shaped: _Shaped, nodes: Mapping[str, Any], record: Record) -> frozenset[str]:
    """The fields in others that lines of this shape do not have."""
    demanded = {name for rule in shaped.rules for name in rule.demands if "." in name}
    found = {name: nodes[name.rpartition(".")[0]] for name in demanded}
    return frozenset(
        name
        for name, node in found.items()
        if type(node) is dict
        and name.rpartition(".")[2] not in node
        and heads(name.split("."), 2).isdisjoint(record)
    )


def _by_value(rules: tuple[Rule, ...], name: str) -> Choose:
    values = {value for rule in rules for value in rule.equals.get(name, ())}
    others = tuple(rule for rule in rules if name not in rule.equals)
    chosen = {
        value: tuple(
            rule.without(name) for rule in rules if value in rule.equals.get(name, (value,))
        )
        for value in values
    }
    get = path(name)

    def choose(record: Record, known: Known) -> Sequence[Rule]:
        value = get(record, known)
        if type(value) is str:
            return chosen.get(value, others)
        return others if isinstance(value, dict | list) else chosen.get(text_of(value), others)

    return choose


@frozen(eq=False)
class MappingFile:
    """A mapping: its sections in the order in which files are read, and the options it knows."""

    name: str
    title: str
    sections: tuple[Section, ...]
    options: Mapping[str, Any] = field(factory=dict)

    def given(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The options with what a user gave; ``InputError`` for one that there is not."""
        for name in options:
            if name not in self.options:
                raise InputError(unknown(f"option of the mapping {self.name}", name, self.options))
        return {**self.options, **options}


# -- reading ----------------------------------------------------------------------------------


def bundled() -> tuple[str, ...]:
    """The names of the mappings that come with the tool."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.yaml")))


def find_mapping(name: str) -> MappingFile:
    """A bundled mapping by its name, or a user's own by its file; ``InputError`` if neither."""
    if name in bundled():
        return _bundled(name)
    if is_file(name):
        return read_mapping(Path(name))
    from rackproof.scenarios.recorded.kv.files import MAPPINGS  # noqa: PLC0415  (reads MessagePack)

    known = (*bundled(), *MAPPINGS)
    raise InputError(f"{unknown('mapping', name, known)}; nor is there such a file")


@cache
def _bundled(name: str) -> MappingFile:
    return read_mapping(FOLDER / f"{name}.yaml")


def read_mapping(file: Path) -> MappingFile:
    """Read a mapping; ``ScenarioError`` names file, line and key of every mistake."""
    problems = Problems(file)
    root = Place(read(file, "a mapping begins with rackproof: 1, and has files"), "", 0, problems)
    found = root.record(ROOT_KEYS, "a map that begins with rackproof: 1, and has files")
    if found.get("rackproof") is None or found["rackproof"].value != 1:
        problems.add(1, "rackproof", "a mapping begins with rackproof: 1")
    title = found["title"].text() if "title" in found else None
    options = found["options"].entries() if "options" in found else None
    given = {name: place.value for name, place in (options or {}).items()}
    own = found["files"].entries("files by a name of your own") if "files" in found else None
    sections = [_section(key, place) for key, place in (own or {}).items()]
    used, inherited = _used(found["uses"]) if "uses" in found else ((), {})
    if not sections and not used:
        problems.add(1, "files", "is missing: which files are there?")
    problems.check()
    kept = (*used, *(section for section in sections if section is not None))
    return MappingFile(file.stem, title or file.stem, kept, {**inherited, **given})


def _used(place: Place) -> tuple[tuple[Section, ...], dict[str, Any]]:
    """Sections of bundled mappings, by the name of the mapping and their own."""
    sections: list[Section] = []
    options: dict[str, Any] = {}
    for name, item in (place.entries("sections by mapping") or {}).items():
        if name not in bundled():
            item.fail(unknown("mapping", name, bundled()))
            continue
        other = _bundled(name)
        options |= other.options
        known = {section.key: section for section in other.sections}
        for one in item.items("a list of sections"):
            wanted = one.choice(known, "section")
            if wanted is not None:
                sections.append(known[wanted])
    return tuple(sections), options


def _section(key: str, place: Place) -> Section | None:
    found = place.record(FILE_KEYS)
    if "name" not in found:
        place.lacks("name")
    if ("rules" in found) == ("rules-of" in found):
        place.fail("needs rules, or rules-of for those of another mapping")
    if "name" not in found or not {"rules", "rules-of"} & set(found):
        return None
    shape = found["name"].text("a file name") or "*"
    clock, clock_of = _clock(found["clock"]) if "clock" in found else ("{file}", None)
    section = Section(
        key=key,
        shape=re.sub(r"\{(\w+):[^}]*\}", r"{\1}", shape),
        name=_name_pattern(shape, found["name"]),
        format=_choice(found, "format", FORMATS) or "jsonl",
        sse=tuple(_names(found["sse"])) if "sse" in found else (),
        clock=clock,
        clock_of=clock_of,
        time=_time(found["time"]) if "time" in found else None,
        ordered=_flag(found, "ordered", True),
        turns=_turns(found["one-at-a-time"]) if "one-at-a-time" in found else None,
        complete=tuple(_completes(found["complete"])) if "complete" in found else (),
        needs=tuple(_texts(found["needs"], "a list of fields")) if "needs" in found else (),
        may_be_empty=_flag(found, "may-be-empty"),
        text_between=_flag(found, "text-between"),
        strict=_flag(found, "strict"),
    )
    if "rules-of" in found:
        return _with_rules_of(section, found["rules-of"])
    about = read_value(found["about"]) if "about" in found else None
    rules = [_rule(item, about) for item in found["rules"].items("a list of rules")]
    return evolve(section, rules=tuple(rule for rule in rules if rule is not None))


def _with_rules_of(section: Section, place: Place) -> Section:
    """The section with the rules of another, and complete in what that is complete in."""
    others, _ = _used(place)
    for other in others:
        section = evolve(
            section,
            rules=section.rules + other.rules,
            complete=section.complete + other.complete,
        )
    return section


def _flag(found: Mapping[str, Place], name: str, otherwise: bool = False) -> bool:
    """A flag that may be left out."""
    flag = found[name].flag() if name in found else None
    return otherwise if flag is None else flag


def _choice(found: Mapping[str, Place], name: str, names: Iterable[str]) -> str | None:
    """One of some names, that may be left out."""
    return found[name].choice(names, name) if name in found else None


def _clock(place: Place) -> tuple[str, Get | None]:
    """The name of a clock, with parts of the file's name in it; or the field that says."""
    if place.is_map:
        value = read_value(place)
        return "{file}", None if value is None else value.get
    return place.text() or "{file}", None


_PART: Final = re.compile(r"\{(\w+)(?::([^}]*))?\}|\*")


def _name_pattern(shape: str, place: Place) -> re.Pattern[str]:
    """A file name with ``*`` for any text and ``{part}`` or ``{part:pattern}`` to be captured."""
    made, end = "", 0
    for part in _PART.finditer(shape):
        made += re.escape(shape[end : part.start()])
        made += f"(?P<{part[1]}>{part[2] or '[^/]+?'})" if part[1] else "[^/]*"
        end = part.end()
    try:
        return re.compile(made + re.escape(shape[end:]) + r"(?:\.gz)?")
    except re.error as error:
        place.fail(f"is no pattern of file names: {error}")
        return re.compile("")


def _time(place: Place) -> Time | None:
    """A field, or a map of a field and its unit; a text is a date by ISO 8601, or a number."""
    found = place.record(("of", "unit")) if place.is_map else {"of": place}
    if "of" not in found:
        place.lacks("of")
        return None
    get = read_field(found["of"])
    unit = found["unit"].choice(UNITS, "unit of time") if "unit" in found else None
    return None if get is None else Time(get, None if unit is None else UNITS[unit])


def _turns(place: Place) -> Turns | None:
    found = place.record(("begins", "about", "otherwise"))
    for name in ("begins", "about", "otherwise"):
        if name not in found:
            place.lacks(name)
            return None
    about, otherwise = read_value(found["about"]), read_value(found["otherwise"])
    if about is None or otherwise is None:
        return None
    return Turns(read_tests(found["begins"]), about, otherwise)


def _completes(place: Place) -> Iterator[Complete]:
    for item in place.items("a list of witnesses"):
        found = item.record(("witness", "kinds"))
        for name in ("witness", "kinds"):
            if name not in found:
                item.lacks(name)
        if "witness" not in found or "kinds" not in found:
            continue
        witness = _name(found["witness"])
        kinds = sorted(_texts(found["kinds"], "a list of kinds"))
        for kind in kinds if witness in KINDS else ():
            if wrong := unknown_kind(str(witness), kind):
                found["kinds"].fail(wrong)
        if witness is not None:
            yield Complete(witness, " ".join(kinds))


def _name(place: Place) -> Named:
    """A witness or a kind: a plain text is its name, a map says where it stands."""
    if not place.is_map:
        return place.text()
    value = read_value(place)
    return None if value is None else value.get


# -- rules ------------------------------------------------------------------------------------


def _rule(place: Place, about: Value | None) -> Rule | None:
    found = place.record(RULE_KEYS, "a rule")
    when = found.get("when")
    names = (when.entries() or {}) if when is not None and when.is_map else {}
    equal = {name: values for name, item in names.items() if (values := one_of(item)) is not None}
    if "about" in found:
        about = read_value(found["about"])
    tests = read_tests(when) if when is not None else ()
    # What is compared with what is remembered waits until it is known of which request.
    late = {
        name for name, item in names.items() if item.is_map and "beyond" in (item.entries() or {})
    }
    memories = read_memories(found["remembered"]) if "remembered" in found else ()
    for_all = _flag(found, "for-all")
    witness, kind = _observed(place, found)
    _check_said(found, witness, kind)
    aside = found.get("aside")
    return Rule(
        line=place.line,
        tests=tuple((name, test) for name, test in tests if name not in late),
        equals=equal,
        demands=demanded(when) if when is not None and when.is_map else frozenset(),
        memories=(*memories, *(test for name, test in tests if name in late)),
        each=_each(found["each"]) if "each" in found else None,
        witness=witness,
        kind=kind,
        about=None if for_all else about,
        for_all=for_all,
        values=_values(found.get("values")),
        aside=() if aside is None or aside.is_scalar else _values(aside),
        rest=_others(found["rest"]) if "rest" in found else None,
        aside_of=read_field(aside) if aside is not None and aside.is_scalar else None,
        time=_time(found["time"]) if "time" in found else None,
        learn=tuple(_learnt(found["learn"])) if "learn" in found else (),
        remember=tuple((name, value.get) for name, value in _values(found.get("remember"))),
        forget=_flag(found, "forget"),
        doubt=found["doubt"].text("why nothing is read of it") if "doubt" in found else None,
        tell=found["tell"].text("what is worth a word") if "tell" in found else None,
        clock=found["clock"].text("the name of a clock") if "clock" in found else None,
    )


def _others(place: Place) -> frozenset[str]:
    """The fields that are no values, where all the others are."""
    return frozenset(_texts(place, "the fields that are no values"))


def _observed(
    place: Place, found: Mapping[str, Place]
) -> tuple[Get | str | None, Get | str | None]:
    """Who tells what: ``witness/kind`` in short, or each on its own."""
    if "observe" in found:
        text = found["observe"].text("a witness and a kind, such as client/token") or ""
        witness, slash, kind = text.partition("/")
        if not (witness and slash and kind):
            found["observe"].wrong("a witness and a kind, such as client/token")
        return witness, kind
    if ("witness" in found) != ("kind" in found):
        place.lacks("kind" if "witness" in found else "witness")
    elif "witness" in found:
        return _name(found["witness"]), _name(found["kind"])
    elif not {"learn", "remember", "forget", "doubt", "tell"} & set(found):
        place.fail("tells nothing: it has no observe, learn, remember, forget, doubt or tell")
    return None, None


def _check_said(found: Mapping[str, Place], witness: Named, kind: Named) -> None:
    """Note what no witness writes, where a rule says of its own who writes what."""
    if not isinstance(witness, str) or not isinstance(kind, str) or witness not in KINDS:
        return
    wrong = unknown_kind(witness, kind)
    if wrong is not None:
        found["observe" if "observe" in found else "kind"].fail(wrong)
    known = KINDS[witness].get(kind)
    if known is None:
        return
    for key, names in (("values", known.values), ("aside", known.aside)):
        given = found[key] if key in found and found[key].is_map else None
        for name, item in (given.entries() or {}).items() if given else ():
            if name not in names:
                item.fail(unknown(f"value of {witness}/{kind}", name, names))


def _values(place: Place | None) -> tuple[tuple[str, Value], ...]:
    if place is None:
        return ()
    read_in = {name: read_value(item) for name, item in (place.entries() or {}).items()}
    return tuple((name, value) for name, value in read_in.items() if value is not None)


def _names(place: Place) -> Iterator[str]:
    """A field, or several."""
    if place.is_scalar:
        yield place.text("a field, or a list of fields") or ""
    else:
        yield from _texts(place, "a field, or a list of fields")


def _texts(place: Place, what: str) -> Iterator[str]:
    """The texts of a list."""
    return (item.text() or "" for item in place.items(what))


def _each(place: Place) -> Each | None:
    found = place.record(("of", "find", "into"))
    for name in ("of", "into"):
        if name not in found:
            place.lacks(name)
            return None
    value, into = read_value(found["of"]), found["into"].text("a name for each")
    pattern = read_pattern(found["find"]) if "find" in found else None
    return None if value is None or into is None else Each(value.get, pattern, into)


def _learnt(place: Place) -> Iterator[Learnt]:
    """Tables by name; a table of one value has no key."""
    for name, item in (place.entries("tables by name") or {}).items():
        found = item.record(("key", "value")) if item.is_map else {"value": item}
        if "value" not in found:
            item.lacks("value")
            continue
        value = read_value(found["value"])
        key = read_value(found["key"]) if "key" in found else Value(lambda _record, _known: "")
        if value is not None and key is not None:
            yield Learnt(name, key.get, value.get)


def shapes(mapping: MappingFile) -> str:
    """The names of the files that a mapping reads, in words."""
    return ", ".join(dict.fromkeys(section.shape for section in mapping.sections))
