"""What a record says of all requests at once: who the workers are, what was done to them, which
logs are whole.

It is gathered before the first case is made; of every request only the workers that failed it are
kept.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from attrs import define, field, frozen

from rackproof.model.endpoint import Role
from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND, SENDS
from rackproof.model.evidence.operators import DISCOVERY, OPERATOR
from rackproof.model.kernel import Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.settings import ROLES

FACTS: Final = "facts"
DAMAGED: Final = "damaged"
"""The fact that something could not be read: of a file, or of what somebody wrote."""
EVERYBODY: Final = "everybody"
PREFILL: Final = Role.PREFILL.value
DECODE: Final = Role.DECODE.value
AGGREGATED: Final = Role.AGGREGATED.value
_ONCE: Final = ("crash", "hang", "resume", "drain", "removed", "listed")
"""What has no effect on a worker to which it was done last."""


@frozen
class Worker:
    """A worker: its name in the logs, and what it serves, where they say so."""

    name: str
    role: str | None = None


@define(eq=False)
class Everybody:
    """What is known of everybody. ``learn`` takes every note of a record, in any order.

    known: the workers by every name that a log has for them. told: what was done to workers, and
    who was listed, in the order of the logs. complete: the kinds of which every record is there, by
    who writes them. failed: by worker, some of the requests that it failed. prompts: by prompt, the
    fewest tokens that one was said to have, and of which request that was said; told of those whose
    usage is still to come in ``asking``. retry_limit: of all requests, where it is told.
    has_clients: whether any client was recorded. repeated: what was done to a worker just after the
    same, so that it had no effect; it is passed over. set_by: what is told of how the system is set
    up, by name, and where that was told. files: in which files a witness would be read, and claims:
    of which kinds they have every record. unclaimed: some requests that failed, as the frontend
    says, before any client was known of. named: the workers that requests were sent to.
    contradictions: what is told of all that twice, and otherwise.
    spoilt: the files of which lines were lost, so that what they say of themselves to be whole is
    not so; and whoever said something for all that could not be read.
    """

    known: dict[str, Worker] = field(factory=dict)
    told: list[Noted] = field(factory=list)
    complete: dict[str, frozenset[str]] = field(factory=dict)
    failed: dict[str, set[str]] = field(factory=dict)
    prompts: dict[str, tuple[int, str]] = field(factory=dict)
    asking: dict[str, str] = field(factory=dict)
    retry_limit: int | None = None
    has_clients: bool = False
    set_by: dict[str, tuple[Value, Place | None]] = field(factory=dict)
    files: Mapping[str, str] = field(factory=dict)
    claims: Mapping[str, frozenset[str]] = field(factory=dict)
    unclaimed: dict[str, None] = field(factory=dict)
    named: set[str] = field(factory=set)
    contradictions: list[tuple[Place, str]] = field(factory=list)
    spoilt: set[str] = field(factory=set)
    _claims: list[tuple[str, str, frozenset[str]]] = field(factory=list, init=False)
    _sorted: tuple[int, int] = field(default=(0, 0), init=False)
    repeated: list[Noted] = field(factory=list, init=False)
    _of_worker: dict[str, list[tuple[int, Noted]]] = field(factory=dict, init=False)
    _aliases: dict[str, list[str]] = field(factory=dict, init=False)

    def _sort(self) -> None:
        """Look up once what there is of each worker, however many requests ask."""
        if self._sorted == (len(self.told), len(self.known)):
            return
        self._of_worker, self._aliases, self.repeated = {}, {}, []
        last: dict[tuple[str, str], str] = {}
        for index, noted in enumerate(self.told):
            worker = self.called(noted.observation.values.get("worker", ""))
            witness, kind = noted.observation.witness, noted.observation.kind
            if kind in _ONCE and last.get((witness, worker)) == kind:
                self.repeated.append(noted)
                continue
            last[witness, worker] = kind
            self._of_worker.setdefault(worker, []).append((index, noted))
        for alias, known in self.known.items():
            self._aliases.setdefault(known.name, []).append(alias)
        self._sorted = len(self.told), len(self.known)

    def told_of(self, workers: Iterable[str]) -> list[Noted]:
        """What was done to some workers, or said of them, in the order of the logs."""
        self._sort()
        found = (entry for name in workers for entry in self._of_worker.get(name, ()))
        return [noted for _, noted in sorted(found, key=lambda entry: entry[0])]

    def learn(self, noted: Noted) -> None:
        """Take what a note says of everybody."""
        seen = noted.observation
        if noted.about is not None:
            learn = _OF_REQUESTS.get((seen.witness, seen.kind))
            if learn is not None:
                learn(self, noted.about, seen.values)
        elif seen.witness in (OPERATOR, DISCOVERY):
            self.told.append(noted)
        elif seen.witness == FACTS:
            self._fact(seen.kind, seen.values, seen.place)

    def _failure(self, about: str, values: Mapping[str, Value]) -> None:
        """A worker failed a request; two of them are enough to know of another than any one."""
        if "worker" in values:
            abouts = self.failed.setdefault(str(values["worker"]), set())
            if about in abouts or len(abouts) < len({about, "another"}):
                abouts.add(about)

    def _asks(self, about: str, values: Mapping[str, Value]) -> None:
        self.has_clients = True
        self.unclaimed.pop(about, None)
        if "prompt" in values:
            self.asking[about] = str(values["prompt"])

    def _sent(self, _about: str, values: Mapping[str, Value]) -> None:
        self.named.add(str(values.get("worker", "")))

    def strangers(self) -> Iterator[tuple[Place, str]]:
        """What was done to workers of which no other record speaks: is that the right name?"""
        there = {self.called(name) for name in (*self.named, *self.complete, *self.failed)}
        for noted in self.told if self.named else ():
            seen = noted.observation
            name = str(seen.values.get("worker", ""))
            known = name in self.known or self.called(name) in there
            if seen.witness == OPERATOR and seen.place and not known:
                yield seen.place, f"the worker {name} is in no other record"

    def _over(self, about: str, values: Mapping[str, Value]) -> None:
        """A request failed: it may be one of those whose answers have no id."""
        if values.get("outcome") == "failed" and not self.has_clients:
            self.unclaimed[about] = None

    def _usage(self, about: str, values: Mapping[str, Value]) -> None:
        prompt = self.asking.pop(about, None)
        tokens = values.get("prompt")
        if prompt is not None and isinstance(tokens, int):
            counted = tokens, about
            self.prompts[prompt] = min(counted, self.prompts.get(prompt, counted))

    def _fact(self, kind: str, values: Mapping[str, Value], place: Place | None) -> None:
        if kind == "worker":
            self._worker(values)
        elif kind == "limit":
            limit = values.get("retry-limit")
            self.retry_limit = limit if isinstance(limit, int) else self.retry_limit
            for name, value in values.items():
                self._set(name, value, place)
        elif kind == "complete":
            who = str(values.get("by"))
            kinds = frozenset(str(values.get("kinds", "")).split())
            self._claims.append((place.file if place else "", self.called(who), kinds))
            self._claim()
        elif kind == DAMAGED:
            self.spoilt |= {str(value) for value in values.values()}
            self._claim()

    def _claim(self) -> None:
        """Which logs are whole, of those of whose files no line was lost."""
        self.complete = {}
        for file, who, kinds in self._claims:
            if self.spoilt.isdisjoint((file, who, EVERYBODY)):
                self.complete[who] = self.complete.get(who, frozenset()) | kinds

    def _set(self, name: str, value: Value, place: Place | None) -> None:
        """How the system is set up; where that is told twice, the later file is the frontend's."""
        before, where = self.set_by.get(name, (None, None))
        if before == value:
            return
        self.set_by[name] = value, place
        if before is not None and place is not None:
            words = f"says that {name} is {value}, and {where} that it is {before}"
            self.contradictions.append((place, f"{words}: the former counts"))

    def _worker(self, values: Mapping[str, Value]) -> None:
        """A worker under its name and the id of its instance; what is known already stays so."""
        names = [str(values[key]) for key in ("name", "instance") if values.get(key) is not None]
        if not names:
            return
        before = next((self.known[name] for name in names if name in self.known), None)
        told = str(values.get("role", ""))
        role = told if told in ROLES else (before.role if before else None)
        worker = Worker(before.name if before else names[0], role)
        aliases = [name for name, known in self.known.items() if before and known == before]
        for name in (*aliases, *names):
            self.known[name] = worker

    def passed_over(self) -> list[Noted]:
        """What was done to a worker, or said of it, for the second time, without any effect."""
        self._sort()
        return self.repeated

    @property
    def stream_timeout(self) -> float | None:
        """The seconds of silence after which the frontend gives a stream up, where that is told."""
        told, _ = self.set_by.get("stream-timeout", (None, None))
        try:
            seconds = float(told) if isinstance(told, str | int) else math.nan
        except (ValueError, OverflowError):
            return None
        return seconds if 0 < seconds < math.inf and not isinstance(told, bool) else None

    def called(self, name: Value) -> str:
        """The name of a worker, by any that a log has for it."""
        found = self.known.get(str(name))
        return found.name if found else str(name)

    def role(self, name: str) -> str:
        """What a worker serves: where nothing is told of it, it decodes if others prefill."""
        found = self.known.get(name)
        if found is not None and found.role is not None:
            return found.role
        return DECODE if self.is_disaggregated else AGGREGATED

    @property
    def is_disaggregated(self) -> bool:
        """Whether there are workers for the prefill alone."""
        return any(worker.role == PREFILL for worker in self.known.values())

    @property
    def workers(self) -> Collection[str]:
        """Every worker that the logs name, in the order in which they do."""
        self._sort()
        return self._aliases.keys()

    def fails_others(self, name: str, about: str) -> bool:
        """Whether a worker failed a request other than this."""
        self._sort()
        aliases = self._aliases.get(name, [])
        return any(self.failed.get(alias, set()) - {about} for alias in (*aliases, name))


_OF_REQUESTS: Final = {
    (FRONTEND, "failed"): Everybody._failure,
    (FRONTEND, "over"): Everybody._over,
    **{(FRONTEND, kind): Everybody._sent for kind in SENDS},
    (FACTS, "asked"): Everybody._asks,
    (CLIENT, "usage"): Everybody._usage,
}
"""What is kept of a request, by who tells it."""
