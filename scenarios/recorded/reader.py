"""A record read: observations out of files, one after the other, by the rules of a mapping.

A file is gone through once and nothing of it is held but what its rules remember. Whatever is wrong
with it is told with its line, and the rest is read on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, Final

from attrs import define, evolve, field, frozen

from rackproof.model.kernel import Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.everybody import DAMAGED, EVERYBODY, FACTS
from rackproof.scenarios.recorded.expressions import (
    Get,
    Known,
    Record,
    Unfit,
    meets,
    shown,
    text_of,
)
from rackproof.scenarios.recorded.expressions import Value as Expression
from rackproof.scenarios.recorded.formats import FORMATS, Lines, unwrapped, without_text
from rackproof.scenarios.recorded.lines import lines
from rackproof.scenarios.recorded.mapping import (
    Each,
    MappingFile,
    Rule,
    Section,
    Time,
    Turns,
    bundled,
    chooser,
    find_mapping,
    shapes,
)
from rackproof.scenarios.recorded.noted import Doubt, Noted
from rackproof.scenarios.recorded.runs import MOST_NOTES, Run, begun
from rackproof.scenarios.recorded.vocabulary import Said, unknown_kind
from rackproof.scenarios.worlds import InputError

LOGS: Final = (".log", ".jsonl")
"""How the names of logs end."""
MOST_DOUBTS: Final = 20
"""How many of a file are told; of the others, how many there are."""
MOST_HELD: Final = 10_000
"""How many notes wait for the line that says which request they are of."""
MOST_REMEMBERED: Final = 200_000
"""Of how many requests at a time something is remembered."""
PACKED: Final = ".gz"
MOST_VALUE: Final = 4096
MOST_AT_ONCE: Final = 1_000_000
"""How many observations a line may tell of by their number."""
BACKWARDS: Final = 1.0
"""By how many seconds the lines of a file may be out of order: threads write when they can."""

TellDoubt = Callable[[Doubt], None]
Speaks = Callable[[str, str, Mapping[str, Value], Mapping[str, Value]], Said | None]
"""What a note says, of a witness, a kind, its values, and what is aside; see ``vocabulary``."""


@frozen
class Found:
    """A file that a mapping reads: by which section, and the parts of its name."""

    section: Section
    file: Path
    captured: Mapping[str, str]


def read(
    path: Path,
    mapping: MappingFile,
    doubt: TellDoubt,
    options: Mapping[str, Any] | None = None,
) -> Iterator[Noted]:
    """What a folder (or one file) says, file by file in the order of the mapping; see ``runs``."""
    return (noted for run in runs(path, mapping, doubt, options) for noted in run.notes())


def runs(
    path: Path,
    mapping: MappingFile,
    doubt: TellDoubt,
    options: Mapping[str, Any] | None = None,
    speaks: Speaks | None = None,
    processes: int = 1,
) -> Iterator[Run]:
    """What a folder (or one file) says, with notes that follow one another as one; processes: how
    many may read at a time, which makes no difference but to the time it takes.

    Where a file says every record of some kinds (``complete`` of the mapping) and was read without
    a doubt, this is noted too, as a fact. speaks: what there is to say; where it is given, anything
    else is told as a doubt, and what could not be read is noted as a fact, so that nothing is taken
    for whole that is not. ``InputError`` where there is nothing that the mapping reads, or an
    option that it does not know.
    """
    files = list(_once(find(path, mapping), doubt))
    reading = _Reading(mapping, mapping.given(options or {}), doubt, speaks=speaks)
    if mapping.name not in bundled():  # which rules no line met is known where all lines are read
        return chain(reading.files(files), _unused(reading, files))
    alike = groupby(files, key=lambda found: found.section.teaches)
    return chain.from_iterable(
        reading.files(same) if teaches else reading.beside(list(same), processes)
        for teaches, same in alike
    )


def _unused(reading: _Reading, files: Sequence[Found]) -> Iterator[Run]:
    """Tell of each rule of one's own that no line met, once all files are read; nothing more is
    read.
    """
    others = {id(rule) for name in bundled() for rule in _rules(find_mapping(name).sections)}
    sections = {found.section.key: found.section for found in files}
    for key, rule in ((key, rule) for key, one in sections.items() for rule in one.rules):
        if id(rule) not in others and (key, rule.line) not in reading.used:
            place = Place(f"{reading.mapping.name}.yaml", rule.line)
            reading.doubt(Doubt(place, "no line met this rule"))
    yield from ()


def _rules(sections: Iterable[Section]) -> Iterator[Rule]:
    return (rule for section in sections for rule in section.rules)


def find(path: Path, mapping: MappingFile) -> tuple[Found, ...]:
    """The files that a mapping reads, in its order; ``InputError`` if there is none."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        return (_alone(path, mapping),)
    names = _names(path, max(section.shape.count("/") for section in mapping.sections))
    found = [
        Found(section, path / name, {key: text or "" for key, text in met.groupdict().items()})
        for section in mapping.sections
        for name in names
        if (met := section.name.fullmatch(name))
    ]
    if not found:
        what = f"nothing that the mapping {mapping.name} reads (it looks for {shapes(mapping)})"
        raise InputError(f"{path}: there is {what}")
    return tuple(found)


def _once(files: Sequence[Found], doubt: TellDoubt) -> Iterator[Found]:
    """The files, without packed ones that lie beside the same file unpacked."""
    plain = {found.file for found in files}
    for found in files:
        packed = found.file.suffix == PACKED
        if packed and (same := found.file.with_suffix("")) in plain:
            doubt(Doubt(Place(str(found.file)), f"lies beside {same.name}, which is read instead"))
        else:
            yield found


def passed_over(path: Path, mapping: MappingFile) -> Iterator[str]:
    """The logs of a folder that have no name that the mapping reads, each with the names of those
    whose lines it has, if any.
    """
    for name in _names(path, 1) if path.is_dir() else ():
        if not name.endswith(LOGS) or any(one.name.fullmatch(name) for one in mapping.sections):
            continue
        like = (
            one
            for one in mapping.sections
            if _known(Found(one, path / name, {}), mapping, lambda _: None)
        )
        section = next(like, None)
        told = "" if section is None else f" (rename it: its lines are as of {section.shape})"
        yield f"{name}{told}"


def _alone(path: Path, mapping: MappingFile) -> Found:
    """A file that is given by itself: the section of its name, or the only one there is."""
    for section in mapping.sections:
        if met := section.name.fullmatch(path.name):
            return Found(section, path, met.groupdict())
    if len(mapping.sections) == 1:
        return Found(mapping.sections[0], path, {})
    what = f"is no file that the mapping {mapping.name} reads (it looks for {shapes(mapping)})"
    raise InputError(f"{path}: {what}")


def _names(folder: Path, depth: int) -> list[str]:
    """The files of a folder by their paths within it, sorted so that w2 comes before w10."""
    found: list[str] = []
    for at, folders, files in os.walk(folder):
        below = Path(at).relative_to(folder)
        if len(below.parts) >= depth:
            folders.clear()
        found += ((below / name).as_posix() for name in files)
    return sorted(found, key=_natural)


def _natural(name: str) -> tuple[object, ...]:
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for letter in f"{name} ":
        if letter.isdecimal() and letter.isascii():
            digits += letter
            continue
        if digits:
            parts.append((0, int(digits[:18]), digits))
            digits = ""
        parts.append((1, 0, letter))
    return tuple(parts)


@define(eq=False)
class _Reading:
    """What is known across the files of a folder; of each, no more lines are read than ``most``."""

    mapping: MappingFile
    options: Mapping[str, Any]
    doubt: TellDoubt
    most: int | None = None
    speaks: Speaks | None = None
    tables: dict[str, dict[str, Any]] = field(factory=dict)
    memories: dict[str, dict[str, Any]] = field(factory=dict)
    used: set[tuple[str, int]] = field(factory=set)

    def files(self, files: Iterable[Found]) -> Iterator[Run]:
        """What files say, one after the other."""
        return chain.from_iterable(map(self.file, files))

    def beside(self, files: Sequence[Found], processes: int) -> Iterator[Run]:
        """The same of files that teach nothing, in several processes."""
        if processes < 2:
            return self.files(files)
        from rackproof.scenarios.recorded.beside import beside  # noqa: PLC0415

        def read(numbers: Sequence[int], doubt: TellDoubt) -> Iterator[Run]:
            return evolve(self, doubt=doubt).files(files[number] for number in numbers)

        return beside([found.file for found in files], read, self.doubt, processes)

    def file(self, found: Found) -> Iterator[Run]:
        self.memories.clear()
        known = Known(found.captured, self.options, self.tables)
        return _File(self, found.section, str(found.file), known).runs(found.file)

    def learn(self, table: str, key: Any, value: Any) -> None:
        """Add to a table; a value that is not there is nothing learnt."""
        if value is not None and key is not None:
            self.tables.setdefault(table, {})[text_of(key)] = value

    def memory(self, about: str) -> dict[str, Any] | None:
        """What is remembered of a request; None where there is no room for another."""
        memory = self.memories.get(about)
        if memory is None and len(self.memories) < MOST_REMEMBERED:
            memory = self.memories[about] = {}
        return memory


@define(eq=False)
class _Turn:
    """One request of a file that holds one after the other, while its name is not known yet; begun:
    its first line.
    """

    lost: int
    begun: Record = field(factory=dict)
    about: str | None = None
    held: list[Run] = field(factory=list)
    waiting: int = 0
    memory: dict[str, Any] = field(factory=dict)


@define(eq=False)
class _File:
    """One file while it is read."""

    reading: _Reading
    section: Section
    name: str
    known: Known
    clock: str = ""
    per_second: float = 1.0
    doubts: int = 0
    lost: int = 0
    wrong: int = 0
    before: dict[str, float] = field(factory=dict)
    backwards: int = 0
    read: int = 0
    texts: int = 0
    met: bool = False
    turn: _Turn | None = None
    out: list[Run] = field(factory=list)
    last: Run | None = None

    def runs(self, path: Path) -> Iterator[Run]:
        section = self.section
        usual = _filled(section.clock, {**self.known.captured, "file": path.name})
        self.clock = usual
        self.per_second = (section.time and section.time.per_second) or 1.0
        choose, remembers = chooser(section.rules), any(rule.remember for rule in section.rules)
        needs, known = frozenset(section.needs), self.known
        for number, record in self._records(path):
            self.read += 1
            if not needs <= record.keys():
                self._lacks(number, record)
                continue
            if section.turns is not None:
                self._turns(section.turns, number, record)
            if section.clock_of is not None:
                self.clock = self._clock(section.clock_of, number, record) or usual
            when = self._time(section.time, number, record)
            if when is not None and section.ordered:
                self._ordered(number, when)
            met = False
            for rule in choose(record, known):
                for _, test in rule.tests:
                    if not test(record, known):
                        break
                else:
                    speaks = self._rule(rule, number, record, when, remembers)
                    met |= speaks
                    if speaks:
                        self.reading.used.add((section.key, rule.line))
                    if speaks and rule.doubt is not None:
                        break
            self.met |= met
            if section.strict and not met:
                self.lose(number, f"is of no kind that {self.reading.mapping.name} knows")
            if len(self.out) > 1:  # the last one may go on
                yield from self.out[:-1]
                del self.out[:-1]
        self._end()
        yield from self.out

    def _counted(self, found: Lines) -> Lines:
        for line in found:
            self.texts += 1
            yield line

    def _records(self, path: Path) -> Iterable[tuple[int, Record]]:
        read_in = FORMATS[self.section.format]
        found = lines(path, self.lose)
        if self.section.text_between:
            found = without_text(self._counted(found), self.section.needs)
        records = islice(read_in(found, self.lose), self.reading.most)
        return unwrapped(records, self.section.sse, self.lose) if self.section.sse else records

    def lose(self, number: int, words: str) -> None:
        """Tell of a line that could not be read: the file has not all of its records then."""
        self.lost += 1
        self.tell(number, words)

    def tell(self, number: int, words: str) -> None:
        """Tell a doubt, unless there were many of this file."""
        self.doubts += 1
        if self.doubts <= MOST_DOUBTS:
            self.reading.doubt(Doubt(Place(self.name, number), words))

    def _lacks(self, number: int, record: Record) -> None:
        """Tell of the first field that every line has, and this one has not."""
        name = next(name for name in self.section.needs if name not in record)
        self.lose(number, f"has no {name}: it is of another kind of log")

    def _time(self, time: Time | None, number: int, record: Record) -> float | None:
        if time is None:
            return None
        try:
            return seconds(time.get(record, self.known), time.per_second or self.per_second)
        except Unfit as unfit:
            self.tell(number, f"the time {unfit}")
            return None

    def _clock(self, get: Get, number: int, record: Record) -> str | None:
        """Whose clock a line says that its time is by."""
        try:
            named = get(record, self.known)
            return None if named is None else _name(named)
        except Unfit as unfit:
            self.tell(number, f"the clock {unfit}")
            return None

    def _ordered(self, number: int, when: float) -> None:
        """Tell of a time long before that of the line before: then several clocks are mixed."""
        before = self.before.get(self.clock, when)
        self.before[self.clock] = when
        if before - when <= BACKWARDS:
            return
        self.backwards += 1
        if self.backwards <= MOST_DOUBTS:
            words = f"the time goes back by {before - when:.3f} s: is this one clock?"
            self.reading.doubt(Doubt(Place(self.name, number), words))

    # -- rules --------------------------------------------------------------------------------

    def _rule(
        self, rule: Rule, number: int, record: Record, when: float | None, remembers: bool
    ) -> bool:
        """Let a rule speak of a line that meets its conditions; whether it does, by what is
        remembered.
        """
        known = self.known
        about = self._about(rule, number, record) if rule.about is not None else None
        if rule.about is not None and about is None:
            return True
        if remembers:
            known.memory = self._memory(about, number)
        for test in rule.memories:
            if not test(record, known):
                return False
        if rule.doubt is not None:
            self.lose(number, rule.doubt)
            return True
        if rule.tell is not None:
            self.tell(number, rule.tell)
        try:
            self._tell_of(rule, number, record, about, when)
        except Unfit as unfit:  # of the witness, the kind, or what is to be learnt
            self.lose(number, str(unfit))
        if rule.forget:
            known.memory.clear()
            self.reading.memories.pop(about or "", None)
        return True

    def _memory(self, about: str | None, number: int) -> dict[str, Any]:
        """What is remembered of the request that a line is about."""
        if self.turn is not None:
            return self.turn.memory
        memory = None if about is None else self.reading.memory(about)
        if memory is None and about is not None:
            self.lose(number, f"is about one of more than {MOST_REMEMBERED:,} requests at a time")
        return {} if memory is None else memory

    def _tell_of(
        self, rule: Rule, number: int, record: Record, about: str | None, when: float | None
    ) -> None:
        if rule.time is not None:
            own = self._time(rule.time, number, record)
            when = when if own is None else own
        if rule.each is None:
            self._observe(rule, number, record, about, when)
        else:
            for item in _items(rule.each, record, self.known):
                record = _with(record, rule.each.into, item)
                self._observe(rule, number, record, about, when)
        for learnt in rule.learn:
            key, value = learnt.key(record, self.known), learnt.value(record, self.known)
            self.reading.learn(learnt.table, key, value)
        for name, get in rule.remember:
            self._remember(name, get, number, record)

    def _remember(self, name: str, get: Get, number: int, record: Record) -> None:
        self.known.memory[name] = None
        try:
            self.known.memory[name] = get(record, self.known)
        except Unfit as unfit:
            self.tell(number, f"the {name} {unfit}")

    def _about(self, rule: Rule, number: int, record: Record) -> str | None:
        """The request that a line is about, or nothing after telling why not."""
        assert rule.about is not None
        try:
            return _name(rule.about.get(record, self.known))
        except Unfit as unfit:
            self.lose(number, f"what it is about {unfit}")
            return None

    def _observe(
        self, rule: Rule, number: int, record: Record, about: str | None, when: float | None
    ) -> None:
        if rule.kind is None or rule.witness is None:
            return
        known = self.known
        witness, kind = rule.witness, rule.kind
        if not isinstance(witness, str):
            witness = _name(witness(record, known))
        if not isinstance(kind, str):
            kind = _name(kind(record, known))
        before = self.wrong
        values: Mapping[str, Value] = (
            self._values(rule.values, number, record) if rule.values else {}
        )
        if rule.rest is not None:
            values = {**values, **self._others(rule.rest, number, record)}
        is_wrong = self.wrong > before
        aside: Mapping[str, Value] = self._values(rule.aside, number, record) if rule.aside else {}
        if rule.aside_of is not None:
            aside = self._beside(rule.aside_of, number, record)
        turn = None if rule.for_all else self.turn
        if turn is not None:
            about = turn.about
            turn.waiting += turn.about is None
        clock = rule.clock or self.clock
        run = None if rule.for_all else self._open(about, clock)
        going = run is not None and run.goes_on(witness, kind, values, aside)
        if not going and self.reading.speaks is not None:
            said = self._said(number, witness, kind, values, aside)
            if is_wrong or said is None or said.wrong:
                self._spoil(number, None if rule.for_all else about, witness)
                run = None
            if said is None:
                return
            values, aside = said.values, said.aside
            going = run is not None and run.goes_on(witness, kind, values, aside)
        if run is None or not going:
            run = begun(about, witness, kind, clock, self.name, values, aside)
            self.last = None if rule.for_all else run
            (self.out if turn is None or about is not None else turn.held).append(run)
        run.add(number, when)

    def _said(
        self,
        number: int,
        witness: str,
        kind: str,
        values: Mapping[str, Value],
        aside: Mapping[str, Value],
    ) -> Said | None:
        """What a note says, after telling what nobody knows the meaning of."""
        assert self.reading.speaks is not None
        said = self.reading.speaks(witness, kind, values, aside)
        told = (unknown_kind(witness, kind) or "",) if said is None else (*said.wrong, *said.beside)
        for words in told:
            self.tell(number, words)
        return said

    def _spoil(self, number: int, about: str | None, witness: str) -> None:
        """Note that not all that somebody wrote could be read."""
        if self.turn is not None and self.section.complete:
            self.lost += 1  # so that this request is not whole
            return
        by = EVERYBODY if witness == FACTS else witness
        self._fact(DAMAGED, about, {"by": by}, number)

    def _fact(self, kind: str, about: str | None, values: dict[str, Value], line: int = 0) -> None:
        run = begun(about, FACTS, kind, self.clock, self.name, values, {})
        run.add(line, None)
        self.last = None
        self.out.append(run)

    def _open(self, about: str | None, clock: str) -> Run | None:
        """The run that a note may be one more of."""
        run = self.last
        if run is None or run.about != about or run.clock != clock:
            return None
        return run if len(run.lines) < MOST_NOTES else None

    def _values(
        self, wanted: Sequence[tuple[str, Expression]], number: int, record: Record
    ) -> dict[str, Value]:
        """The values that a line has; one that should be there and is not is told, and left out."""
        found: dict[str, Value] = {}
        for name, value in wanted:
            try:
                held = value.get(record, self.known)
                if held is not None:
                    found[name] = _plain(held)
                elif value.needed:
                    self._amiss(number, f"has no {name}{value.lacking}")
            except Unfit as unfit:
                self._amiss(number, f"the {name} {unfit}")
        return found

    def _others(self, but: frozenset[str], number: int, record: Record) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, held in record.items():
            if name in but or held is None:
                continue
            try:
                found[name] = _plain(held)
            except Unfit as unfit:
                self._amiss(number, f"the {shown(name)} {unfit}")
        return found

    def _amiss(self, number: int, words: str) -> None:
        """Tell of a value that could not be read, and is left out."""
        self.wrong += 1
        self.tell(number, words)

    def _beside(self, get: Get, number: int, record: Record) -> dict[str, Value]:
        held = get(record, self.known)
        if isinstance(held, dict):
            return self._others(frozenset(), number, held)
        if held is not None:
            self.tell(number, f"what it says aside is no object: {shown(held)}")
        return {}

    # -- one request after the other ------------------------------------------------------------

    def _turns(self, turns: Turns, number: int, record: Record) -> None:
        if self.turn is None or meets(record, self.known, turns.begins):
            self._close(turns)
            # What was lost before the first turn may have been of it.
            self.turn, self.last = _Turn(self.lost if self.turn else 0, record), None
        turn = self.turn
        try:
            about = turns.about.get(record, self.known)
            told = about if about is None or about == turn.about else _name(about)
        except Unfit as unfit:
            self.lose(number, f"what it is about {unfit}")
            told = None
        if told is not None and told != turn.about:
            if turn.about is not None:
                self.lose(number, f"is about {shown(told)} amid lines about {shown(turn.about)}")
            self._resolve(turn, told)
        elif turn.about is None and turn.waiting > MOST_HELD:
            self._resolve(turn, self._otherwise(turns))

    def _resolve(self, turn: _Turn, about: str) -> None:
        turn.about = about
        for run in turn.held:
            run.about = about
        self.out += turn.held
        turn.held.clear()

    def _otherwise(self, turns: Turns) -> str:
        begun = self.turn.begun if self.turn is not None else {}
        try:
            return _name(turns.otherwise.get(begun, self.known))
        except Unfit:
            return self.name

    def _close(self, turns: Turns) -> None:
        turn = self.turn
        if turn is None:
            return
        if turn.about is None:
            self._resolve(turn, self._otherwise(turns))
        if turn.lost == self.lost:
            self._complete(turn.about)

    def _end(self) -> None:
        """What is to be said once a file is read to its end."""
        if not (self.read or self.doubts or self.section.may_be_empty):
            title = self.reading.mapping.title.partition(",")[0]
            texts = f"has {self.texts:,} lines, and none of them is JSON as of {title}"
            self.lose(0, texts if self.texts else "is empty")
        if self.section.turns is not None:
            self._close(self.section.turns)
        elif not self.lost:
            self._complete(None)
        if self.lost and self.reading.speaks is not None and not self.section.complete:
            self._fact(DAMAGED, None, {"file": self.name})
        if not (self.met or self.doubts or self.section.needs):
            self.tell(0, f"holds nothing that the mapping {self.reading.mapping.name} knows")
        untold = max(self.doubts - MOST_DOUBTS, 0) + max(self.backwards - MOST_DOUBTS, 0)
        if untold:
            words = f"and {untold:,} more that are not told"
            self.reading.doubt(Doubt(Place(self.name), words))

    def _complete(self, about: str | None) -> None:
        """Note of which kinds this file has every record."""
        for complete in self.section.complete:
            by = complete.witness
            witness = by if isinstance(by, str) else by({}, self.known)
            if witness is not None:
                told: dict[str, Value] = {"by": text_of(witness), "kinds": complete.kinds}
                self._fact("complete", about, told)


def _filled(shape: str, parts: Mapping[str, str]) -> str:
    """A name with the parts of the file's name put in."""
    for name, text in parts.items():
        shape = shape.replace(f"{{{name}}}", text)
    return shape


def _items(each: Each, record: Record, known: Known) -> Sequence[Any]:
    value = each.get(record, known)
    if each.pattern is not None:
        return each.pattern.findall(value) if isinstance(value, str) else ()
    if type(value) is int:
        if value > MOST_AT_ONCE:
            raise Unfit(f"a line tells of more than {MOST_AT_ONCE:,} at once: {shown(value)}")
        return range(value)
    return value if isinstance(value, list) else ()


def _with(record: Record, name: str, item: Any) -> Record:
    """A line with an item as a field; one of its own, where a path may lead into what changes."""
    if isinstance(item, str) and "." not in name and isinstance(record.get(name, ""), str):
        record[name] = item
        return record
    return {**record, name: item}


def seconds(value: Any, per_second: float = 1.0) -> float | None:
    """A time in seconds, of a number or of a date by ISO 8601 (in UTC if it does not say).

    ``Unfit`` where it is neither.
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return (
                _date(value)
                if "-" in value[1:] and ":" in value
                else _finite(float(value) / per_second)
            )
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _finite(value / per_second)
    except (ValueError, OverflowError):
        pass
    raise Unfit(f"is no time: {shown(value)}")


def _date(text: str) -> float:
    date = datetime.fromisoformat(text)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("no time")
    return value


def _name(value: Any) -> str:
    """A name of somebody or something: a text, or a number as one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise Unfit("is missing" if value is None else f"is no name: {shown(value)}")
    return _text(value)


def _plain(value: Any) -> Value:
    if isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    raise Unfit(f"is no flag, number or text: {shown(value)}")


def _text(value: str) -> str:
    """A text that can be written out again."""
    if len(value) > MOST_VALUE:
        raise Unfit(f"is longer than {MOST_VALUE:,} letters")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unfit("is no text: it has half of a letter in it") from None
    return value


# -- which mapping ------------------------------------------------------------------------------

ORDER: Final = ("dynamo", "otlp", "request-trace", "neutral")


def recognise(path: Path) -> MappingFile:
    """The bundled mapping that finds most files of a folder to be of its kind, by their first
    lines; ``InputError`` if none does.
    """
    best: tuple[int, MappingFile] | None = None
    doubts: list[Doubt] = []
    for name in sorted(bundled(), key=lambda name: (name not in ORDER, name)):
        mapping = find_mapping(name)
        count = _recognised(path, mapping, doubts.append)
        if count and (best is None or count > best[0]):
            best = count, mapping
    if best is None:
        looked = "; ".join(f"{name}: {shapes(find_mapping(name))}" for name in bundled())
        first = None if path.is_dir() or not doubts else doubts[0]
        line = f"line {first.place.line} " if first and first.place.line else ""
        why = f": {line}{first.words}" if first else ""
        raise InputError(f"{path}: is no record that a bundled mapping knows{why} ({looked})")
    return best[1]


MOST_TRIED: Final = 64
"""How many lines of a file, and files of a section, are looked at to see what they are."""


def _recognised(path: Path, mapping: MappingFile, doubt: TellDoubt) -> int:
    """Of how many sections a folder has files that the mapping makes sense of."""
    try:
        files = find(path, mapping)
    except InputError:
        return 0
    by_section: dict[str, list[Found]] = {}
    for found in files:
        by_section.setdefault(found.section.key, []).append(found)
    tried = (islice(same, MOST_TRIED) for same in by_section.values())
    return sum(any(_known(found, mapping, doubt) for found in same) for same in tried)


def _known(found: Found, mapping: MappingFile, doubt: TellDoubt) -> bool:
    """Whether the first lines of a file mean something."""
    reading = _Reading(mapping, mapping.options, doubt, MOST_TRIED)
    return any(run.kind != "complete" for run in reading.file(found))
