"""Where cases come from: captures of a serving stack, or the log of a world of one's own."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from attrs import define, evolve, field, frozen

from rackproof.checker.cores import available_cores
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Place, System
from rackproof.model.kernel.evidence import Case
from rackproof.scenarios.changes import Change, as_map, told
from rackproof.scenarios.worlds import InputError, load_world, split_target

if TYPE_CHECKING:
    from rackproof.checker.performance.answers import Table
    from rackproof.checker.performance.migrations import Stalls
    from rackproof.scenarios.recorded.everybody import Everybody
    from rackproof.scenarios.recorded.mapping import MappingFile
    from rackproof.scenarios.recorded.noted import Doubt, Noted
    from rackproof.scenarios.schema import Bundled

MOST_CLOCKS: Final = 8
"""Clocks that are told by name."""
NEUTRAL: Final = "neutral"
RETRIES: Final = "retry-limit"
TIMEOUT: Final = "stream-timeout"
"""The mechanism, and the time-out that it has."""

Tell = Callable[[Place, str], None]
"""Told of whatever cannot be read."""


class Capture(Protocol):
    """A capture, about to be read; what it rests on is known once all cases were given out."""

    @property
    def noun(self) -> str:
        """What a case is of."""

    def cases(self) -> Iterator[Case]:
        """What is to be explained, one by one; none is held."""

    def checked(self) -> Sequence[str]:
        """What the answer rests on, in sentences."""

    def unchecked(self) -> Sequence[str]:
        """What was not looked at."""

    def stalls(self) -> Table | None:
        """What was measured on the way."""


class Source(Protocol):
    """What captures are held against, and how they are read."""

    @property
    def against(self) -> str:
        """The world, in words."""

    @property
    def properties(self) -> Collection[str]:
        """The names of what can be broken."""

    @property
    def has_mechanisms(self) -> bool:
        """Whether something of it could be set otherwise."""

    @property
    def options(self) -> Sequence[tuple[str, str]]:
        """What it was asked for with."""

    @property
    def flags(self) -> Sequence[str]:
        """Options without a value."""

    def check(self) -> None:
        """Refuse what cannot be meant; ``InputError`` or ``ScenarioError`` says why."""

    def capture(self, path: Path, tell: Tell) -> Capture:
        """A capture in a folder or a file."""


def captures_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The captures that are meant: a folder that has nothing but folders stands for those in it.

    ``InputError`` for a path that is not there.
    """
    for path in dict.fromkeys(paths):
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        inner = sorted(path.iterdir()) if path.is_dir() else []
        files = [one for one in inner if one.is_file() and one.suffix != ".md"]
        folders = [one for one in inner if one.is_dir() and not one.name.startswith(".")]
        yield from folders if folders and not files else [path]


def what_to_say(paths: Iterable[str]) -> str:
    """What is to be said where nobody said what was recorded, with what the files look like."""
    from rackproof.scenarios.stacks import stack_names  # noqa: PLC0415

    names = stack_names()
    told = "say what was recorded: --stack NAME, or --world FILE.py:NAME"
    stack = next((name for path in paths for name in _look(Path(path)) if name in names), None)
    like = "" if stack is None else f"; the files look like those of --stack {stack}"
    return f"{told}{like} (stacks: {', '.join(names)})"


def _look(path: Path) -> Iterator[str]:
    """The stack by whose mapping the files of a capture would be read."""
    from rackproof.scenarios.recorded.kv import kv_mapping  # noqa: PLC0415
    from rackproof.scenarios.recorded.reader import recognise  # noqa: PLC0415

    for one in list(captures_in([path]))[:1] if path.exists() else []:
        if one.is_file() and (mapping := kv_mapping(one)) is not None:
            yield from (mapping, mapping.removesuffix("-kv"))
        else:
            with contextlib.suppress(InputError):
                name = recognise(one).name
                yield "dynamo" if name in ("otlp", "request-trace") else name


@frozen
class Stack:
    """A serving stack, with mechanisms set otherwise than it has them.

    mapping: the name or the file of one; None for what the files look like. retry_limit: of the
    frontend, where no log tells. timeouts: of this system, in seconds. one_host: whether all clocks
    are one. workers: processes that read at a time; None for as many as there are cores.
    """

    name: str
    changes: tuple[Change, ...] = ()
    mapping: str | None = None
    retry_limit: int | None = None
    timeouts: Mapping[str, float] = field(factory=dict)
    one_host: bool = False
    workers: int | None = None

    @property
    def against(self) -> str:
        """The stack and its version."""
        from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

        version = load_stack(self.name).version
        return f"stack {self.name}{f' {version}' if version else ''}{told(self.changes)}"

    @property
    def properties(self) -> Collection[str]:
        """All that there are of the serving world."""
        from rackproof.invariants import CATALOGUE  # noqa: PLC0415

        return list(CATALOGUE)

    @property
    def has_mechanisms(self) -> bool:
        """A stack is made of them."""
        return True

    @property
    def options(self) -> Sequence[tuple[str, str]]:
        """What it was asked for with; the changes are the session's."""
        limit = "" if self.retry_limit is None else str(self.retry_limit)
        return [
            ("--stack", self.name),
            ("--mapping", self.mapping or ""),
            ("--retry-limit", limit),
            *(("--timeout", f"{name}={value:g}s") for name, value in self.timeouts.items()),
        ]

    @property
    def flags(self) -> Sequence[str]:
        """Options without a value."""
        return ["--one-host"] if self.one_host else []

    def check(self) -> None:
        """``InputError`` or ``ScenarioError`` where there is no such stack, mapping or timeout."""
        from rackproof.model.kernel import ModelError  # noqa: PLC0415
        from rackproof.scenarios.changes import check_known  # noqa: PLC0415
        from rackproof.scenarios.stacks import check_stack  # noqa: PLC0415

        check_stack(self.name)
        check_known(self.name, self.changes)
        _check_mapping(self.mapping)
        try:
            self.stalls()
        except ModelError as error:
            raise InputError(f"--timeout: {error}") from error

    @property
    def bundled(self) -> Bundled:
        """What its worlds are made of."""
        from rackproof.scenarios.schema import Bundled  # noqa: PLC0415

        scope = {} if self.retry_limit is None else {RETRIES: self.retry_limit}
        return Bundled(self.name, as_map(self.changes), scope=scope)

    def as_told(self, everybody: Everybody) -> Stack:
        """The same with what its logs tell of how it is set up, where nobody asked for another."""
        seconds = everybody.stream_timeout
        if seconds is None:
            return self
        given = as_map(self.changes)
        told = () if TIMEOUT in given else (Change(TIMEOUT, value=True),)
        return evolve(
            self,
            changes=(*self.changes, *told),
            timeouts={TIMEOUT: seconds, **self.timeouts},
        )

    def stalls(self) -> Stalls:
        """What migrations are to be counted in, beside what its timeouts make likely."""
        from rackproof.checker.performance.migrations import Stalls  # noqa: PLC0415
        from rackproof.model.timing.timeouts import with_timeouts  # noqa: PLC0415
        from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

        return Stalls(with_timeouts(load_stack(self.name).timeouts, self.timeouts, "--timeout"))

    def capture(self, path: Path, tell: Tell) -> Capture:
        """Logs with KV events by themselves, or a capture of requests."""
        from rackproof.scenarios.recorded.kv import MAPPINGS, kv_mapping  # noqa: PLC0415
        from rackproof.scenarios.recorded.mapping import find_mapping  # noqa: PLC0415
        from rackproof.scenarios.recorded.reader import recognise  # noqa: PLC0415

        if self.mapping in MAPPINGS or (
            self.mapping is None and path.is_file() and kv_mapping(path) is not None
        ):
            return Caches(self, path, tell)
        mapping = recognise(path) if self.mapping is None else find_mapping(self.mapping)
        return Requests(self, path, tell, mapping)


@define(eq=False)
class Caches:
    """What engines say of their caches."""

    stack: Stack
    path: Path
    tell: Tell
    noun: str = "cache record"

    def cases(self) -> Iterator[Case]:
        """A publisher's numbers, and the life of each block."""
        from rackproof.scenarios.recorded.kv import kv_cases  # noqa: PLC0415

        doubt = _doubts(self.tell)
        yield from kv_cases(self.path, doubt, self.stack.bundled, self.stack.mapping)

    def checked(self) -> Sequence[str]:
        """The two kinds of cases."""
        return ["the numbers of each publisher, and the life of each block in each cache"]

    def unchecked(self) -> Sequence[str]:
        """What KV events do not tell."""
        return ["what is in a block: an event tells of its hash alone"]

    def stalls(self) -> Table | None:
        """Nothing is measured."""
        return None


@define(eq=False)
class Requests:
    """A capture of requests, gathered one by one.

    labelled, counted: the requests whose tokens are known by their positions, and those of which
    they are only counted. whole: in how many requests every record of a witness was there.
    settings: how the system is set up, as its logs tell.
    """

    stack: Stack
    path: Path
    tell: Tell
    mapping: MappingFile
    noun: str = "request"
    labelled: int = 0
    counted: int = 0
    whole: Counter[str] = field(factory=Counter)
    clocks: dict[str, None] = field(factory=dict)
    unplaced: int = 0
    settings: Sequence[str] = ()
    measured: Stalls = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Nothing is measured yet."""
        self.measured = self.stack.stalls()

    def cases(self) -> Iterator[Case]:
        """Each request, in the world that it needs."""
        from rackproof.scenarios.recorded.claims import claims_of, files_of  # noqa: PLC0415
        from rackproof.scenarios.recorded.course import course  # noqa: PLC0415
        from rackproof.scenarios.recorded.everybody import Everybody  # noqa: PLC0415
        from rackproof.scenarios.recorded.gathered import Gathered  # noqa: PLC0415
        from rackproof.scenarios.recorded.migrations import migrations  # noqa: PLC0415
        from rackproof.scenarios.recorded.reader import runs  # noqa: PLC0415
        from rackproof.scenarios.recorded.sentences import sentences  # noqa: PLC0415
        from rackproof.scenarios.recorded.serving import case  # noqa: PLC0415
        from rackproof.scenarios.recorded.shapes import Worlds  # noqa: PLC0415
        from rackproof.scenarios.recorded.vocabulary import said  # noqa: PLC0415

        everybody = Everybody(files=files_of(self.mapping), claims=claims_of(self.mapping))
        doubt, processes = _doubts(self.tell), self.stack.workers or available_cores()
        found_in = runs(self.path, self.mapping, doubt, speaks=said, processes=processes)
        with Gathered(found_in, everybody.learn) as requests:
            for place, words in (*everybody.contradictions, *everybody.strangers()):
                self.tell(place, words)
            self.settings = list(_settings(self.stack, everybody))
            if self.stack.retry_limit is not None:
                everybody.retry_limit = self.stack.retry_limit
            stack = self.stack.as_told(everybody)
            for one in everybody.passed_over():
                seen = one.observation
                words = f"{seen.kind} of {seen.values['worker']}, which is so already: passed over"
                self.tell(seen.place or Place(str(self.path)), words)
            worlds, self.measured = Worlds(stack.bundled), stack.stalls()
            faults = _faults(everybody)
            for about, own in requests:
                found = case(about, own, everybody, worlds)
                self._count(own, found)
                failures = migrations(own, faults, everybody.called, self.stack.one_host)
                self.measured.add(failures, _prompt(own))
                went = course(own, everybody, failures, everybody.retry_limit, faults)
                found = evolve(found, called={**found.called, "request-0": f"request {about}"})
                if went is None or went.is_plain:
                    yield found
                else:
                    told = sentences(about, own, everybody)
                    yield evolve(found, went=str(went), sentences=told)

    def _count(self, own: Sequence[Noted], found: Case) -> None:
        tokens = [n.observation for n in own if n.observation.kind == "token"]
        if tokens and all("position" in one.values for one in tokens):
            self.labelled += 1
        elif tokens:
            self.counted += 1
        self.whole.update(_whole(found.complete))
        self.clocks.update(dict.fromkeys(one.clock for one in own))

    def checked(self) -> Sequence[str]:
        """By what tokens are known, whose logs are whole, and which clocks there are."""
        tokens = []
        if self.labelled:
            tokens.append(f"tokens by their positions: {counted(self.labelled, 'request')}")
        if self.counted:
            tokens.append(f"tokens only counted: {counted(self.counted, 'request')}")
        whole = ", ".join(f"{who} ({n:,})" for who, n in sorted(self.whole.items()))
        logs = [f"whole logs, by requests: {whole}"] if whole else []
        names = sorted(self.clocks)
        left = f" and {len(names) - MOST_CLOCKS:,} more" if names[MOST_CLOCKS:] else ""
        clocks = f"{', '.join(names[:MOST_CLOCKS])}{left}"
        one = " (of one host, as --one-host says)" if self.stack.one_host else ""
        return [
            *tokens,
            *logs,
            *self.settings,
            f"each log in its own order, and no order between logs; clocks: {clocks}{one}",
        ]

    def unchecked(self) -> Sequence[str]:
        """What nobody can tell of these logs."""
        from rackproof.scenarios.recorded.reader import passed_over  # noqa: PLC0415

        found = []
        if self.counted:
            found.append(
                f"which token is which of {counted(self.counted, 'request')}: one in another's "
                "place is not seen, and one that is missing or doubled by the count alone"
            )
        if self.labelled + self.counted > self.whole["worker"]:
            found.append("what workers emitted, where there is no record of theirs")
        found += self.measured.untold()
        unread = list(passed_over(self.path, self.mapping))
        if unread:
            names = ", ".join(unread[:MOST_CLOCKS])
            more = f" and {len(unread) - MOST_CLOCKS:,} more" if unread[MOST_CLOCKS:] else ""
            found.append(f"files that have no name as of {self.mapping.name}: {names}{more}")
        found.append("how long steps took (every order of steps counts)")
        return found

    def stalls(self) -> Table | None:
        """The migrations."""
        return self.measured.table()


def _doubts(tell: Tell) -> Callable[[Doubt], None]:
    """The same for what readers doubt."""
    return lambda found: tell(found.place, found.words)


def _check_mapping(name: str | None) -> None:
    """``InputError`` where there is no such mapping, ``ScenarioError`` where it has mistakes."""
    from rackproof.scenarios.recorded.kv import MAPPINGS  # noqa: PLC0415
    from rackproof.scenarios.recorded.mapping import find_mapping  # noqa: PLC0415

    if name is not None and name not in MAPPINGS:
        find_mapping(name)


def _settings(stack: Stack, everybody: Everybody) -> Iterator[str]:
    """How the recorded system was set up, as its logs tell, and where; and what was asked for
    instead.
    """
    asked = {name: f"{seconds:g} s" for name, seconds in stack.timeouts.items()}
    asked |= {one.mechanism: str(one).partition("=")[2] for one in stack.changes}
    asked |= {} if stack.retry_limit is None else {RETRIES: str(stack.retry_limit)}
    for name, (value, place) in everybody.set_by.items():
        if name == TIMEOUT and everybody.stream_timeout is not None:
            told = f"{name}: true, {everybody.stream_timeout:g} s"
        else:
            told = f"{name}: {value}"
        instead = f"; {asked[name]} was asked for instead" if name in asked else ""
        yield f"{told}, as {place or 'a log'} says{instead}"


@frozen(slots=False)
class World:
    """A world of one's own, in a Python file; its log is of one run.

    mapping: the name or the file of one; None for the neutral one.
    """

    target: str
    mapping: str | None = None

    @cached_property
    def system(self) -> System:
        """The world; ``InputError`` where there is none."""
        file, name = split_target(self.target)
        if name is None:
            raise InputError(f"--world {self.target}: write FILE.py:NAME, such as lease.py:world")
        return load_world(Path(file), name)

    @property
    def against(self) -> str:
        """Its name and where it is."""
        return f"{self.system.name} ({self.target})"

    @property
    def properties(self) -> Collection[str]:
        """Its own."""
        return [prop.name for prop in self.system.properties]

    @property
    def has_mechanisms(self) -> bool:
        """None that anybody but its author knows."""
        return False

    @property
    def options(self) -> Sequence[tuple[str, str]]:
        """What it was asked for with."""
        return [("--world", self.target), ("--mapping", self.mapping or "")]

    @property
    def flags(self) -> Sequence[str]:
        """There are none."""
        return []

    def check(self) -> None:
        """Load it."""
        assert self.system.schema, "a world has fields"

    def capture(self, path: Path, tell: Tell) -> Capture:
        """The log of a run, or of several if it says which."""
        return Runs(self, path, tell)


@define(eq=False)
class Runs:
    """Runs of a world of one's own: what is about nothing else is of one run."""

    world: World
    path: Path
    tell: Tell
    noun: str = "run"
    witnesses: Counter[str] = field(factory=Counter)

    def cases(self) -> Iterator[Case]:
        """Each run; what is about none of them is of all."""
        from rackproof.checker.conform.own import case_of_world  # noqa: PLC0415
        from rackproof.scenarios.recorded.mapping import find_mapping  # noqa: PLC0415
        from rackproof.scenarios.recorded.reader import read  # noqa: PLC0415

        own: dict[str, list[Noted]] = {}
        common: list[Noted] = []
        mapping = find_mapping(self.world.mapping or NEUTRAL)
        for noted in read(self.path, mapping, _doubts(self.tell)):
            (common if noted.about is None else own.setdefault(noted.about, [])).append(noted)
        for name, notes in (own or {self.path.stem: []}).items():
            found = case_of_world(self.world.system, [*common, *notes], name)
            self.witnesses.update(seen.witness for log in found.logs for seen in log)
            if any(found.logs):
                yield found

    def checked(self) -> Sequence[str]:
        """How much was written by whom."""
        told = ", ".join(f"{who} ({n:,} records)" for who, n in sorted(self.witnesses.items()))
        return [f"each log in its own order, and no order between logs: {told}"]

    def unchecked(self) -> Sequence[str]:
        """What a log does not tell."""
        return ["how long steps took (every order of steps counts)"]

    def stalls(self) -> Table | None:
        """Nothing is measured."""
        return None


def _prompt(own: Sequence[Noted]) -> int | None:
    """How many tokens a request's prompt has, where that is told."""
    told = [one.observation.values for one in own if one.observation.kind == "prompt"]
    return int(told[-1].get("tokens", 0)) or None if told else None


def _whole(complete: Collection[tuple[str, str]]) -> set[str]:
    """The witnesses whose log is whole: of those that have to be, in all kinds that are needed."""
    from rackproof.scenarios.recorded.serving import NEEDED  # noqa: PLC0415

    return {
        _who(witness)
        for witness, _ in complete
        if all((witness, kind) in complete for kind in NEEDED.get(witness, ((),))[0])
    }


def _who(witness: str) -> str:
    """A witness, all workers being one."""
    from rackproof.scenarios.recorded.story import NO_WORKERS  # noqa: PLC0415

    return witness if witness in NO_WORKERS else "worker"


def _faults(everybody: Everybody) -> dict[str, list[Noted]]:
    """What was done to each worker, by its name."""
    found: dict[str, list[Noted]] = {}
    for noted in everybody.told:
        if noted.observation.witness == "operator":
            worker = everybody.called(noted.observation.values.get("worker", ""))
            found.setdefault(worker, []).append(noted)
    return found
