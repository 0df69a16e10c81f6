"""What a record says of all requests at once: who the workers are, what was done to them, which
logs are whole.

It is gathered before the first case is made; of every request only the workers that failed it are
kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import define, field, frozen

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND
from rackproof.model.evidence.operators import DISCOVERY, OPERATOR
from rackproof.model.kernel import Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.noted import Noted

FACTS: Final = "facts"
PREFILL: Final = "prefill"
DECODE: Final = "decode"
AGGREGATED: Final = "aggregated"
_ONCE: Final = ("crash", "hang", "resume", "drain", "removed", "listed")
"""What has no effect on a worker to which it was done last."""
_ROLES: Final = (PREFILL, DECODE, AGGREGATED)


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
    up, by name, and where that was told.
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
        if "prompt" in values:
            self.asking[about] = str(values["prompt"])

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
                if self.set_by.get(name, (None,))[0] != value:
                    self.set_by[name] = value, place
        elif kind == "complete":
            who = str(values.get("by"))
            kinds = frozenset(str(values.get("kinds", "")).split())
            self.complete[self.called(who)] = self.complete.get(who, frozenset()) | kinds

    def _worker(self, values: Mapping[str, Value]) -> None:
        """A worker under its name and the id of its instance; what is known already stays so."""
        names = [str(values[key]) for key in ("name", "instance") if values.get(key) is not None]
        if not names:
            return
        before = next((self.known[name] for name in names if name in self.known), None)
        told = str(values.get("role", ""))
        role = told if told in _ROLES else (before.role if before else None)
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
    def workers(self) -> list[str]:
        """Every worker that the logs name, in the order in which they do."""
        self._sort()
        return list(self._aliases)

    def fails_others(self, name: str, about: str) -> bool:
        """Whether a worker failed a request other than this."""
        self._sort()
        aliases = self._aliases.get(name, [])
        return any(self.failed.get(alias, set()) - {about} for alias in (*aliases, name))


_OF_REQUESTS: Final = {
    (FRONTEND, "failed"): Everybody._failure,
    (FACTS, "asked"): Everybody._asks,
    (CLIENT, "usage"): Everybody._usage,
}
"""What is kept of a request, by who tells it."""
