"""Which instance a request goes to: scores as ordinary functions; the least wins, then the first.

``first-come`` keeps requests in one queue until an instance has room for the next; the others send
them at once.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from rackproof.model.kernel import ModelError
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.levels import Idling
from rackproof.model.performance.simulation.server import Server

Deliver = Callable[[Job, Server], None]
"""How a request gets to the instance that was chosen."""


class Question(NamedTuple):
    """A request that is to go somewhere. turn: how many went before it. links: from where its KV
    is to each decode instance or, before its prefill, from each prefill instance to all of decode.
    """

    job: Job
    now: float
    turn: int
    servers: int
    links: Sequence[Sequence[Link]]


class Completion(NamedTuple):
    """When an instance is expected to have done its next part of a request, seconds from now.

    queue_s: until its turn. work_s: its prefill without what is cached there, or its first step.
    path_s: its KV's way, on an idle link (the cheapest, as long as it is open where it goes).
    """

    queue_s: float
    work_s: float
    path_s: float

    @property
    def total(self) -> float:
        """All three, one after the other."""
        return self.queue_s + self.work_s + self.path_s


def completion(question: Question, server: Server) -> Completion:
    """What ``estimated-completion`` goes by."""
    job, now = question.job, question.now
    size = job.known * server.engine.kv_bytes_per_token
    links = question.links[server.index] if question.links else ()
    path_s = min((link.seconds(size) for link in links), default=0.0)
    return Completion(*server.expected(job, now), path_s)


def _in_turn(question: Question, server: Server) -> float:
    return (server.index - question.turn) % question.servers


def _queued_tokens(question: Question, server: Server) -> float:  # noqa: ARG001
    return server.queued_tokens


def _load(question: Question, server: Server) -> float:  # noqa: ARG001
    return server.load


def _completion(question: Question, server: Server) -> float:
    return completion(question, server).total


Score = Callable[[Question, Server], float]
"""The less, the better."""

POLICIES: Final[Mapping[str, Score]] = {
    "round-robin": _in_turn,
    "first-come": _load,
    "least-queued-tokens": _queued_tokens,
    "least-loaded": _load,
    "estimated-completion": _completion,
}
"""By name. ``first-come`` has a score too: among instances with room, the least loaded."""


def policy(name: str) -> Score:
    """The score of a name; ``ModelError`` with the nearest where there is none."""
    if name not in POLICIES:
        near = difflib.get_close_matches(name, POLICIES, n=1)
        told = f"did you mean {near[0]}?" if near else f"there are {', '.join(POLICIES)}"
        raise ModelError(f"there is no routing {name!r}; {told}")
    return POLICIES[name]


class Router:
    """Sends requests to instances of a pool. common: those that wait for any of them."""

    def __init__(
        self, name: str, servers: Sequence[Server], deliver: Deliver, idling: Idling
    ) -> None:
        self.name, self.servers = name, servers
        self.common: deque[Job] = deque()
        self._score = policy(name)
        self._deliver = deliver
        self._idling = idling
        self._turn = 0
        self._believed = list(servers)

    def send(self, job: Job, now: float, links: Sequence[Sequence[Link]] = ()) -> None:
        """To the best instance; into the common queue, if there is none for now."""
        able = [] if self.common else self._able(job)
        if able:
            self._choose(job, able, now, links)
        else:
            self.common.append(job)
            self._idling.change(now, 0, 1)
            if len(self.common) == 1:
                self._announce()

    def refill(self, now: float) -> None:
        """Some instance may have room: what waits in common, as long as any wants it."""
        if not self.common:
            return
        while self.common and (able := self._able(self.common[0])):
            self._idling.change(now, 0, -1)
            self._choose(self.common.popleft(), able, now, ())
        self._announce()

    def look(self, now: float) -> None:
        """Who is believed to be up has changed; what waits in common is sent anew."""
        self._believed = [server for server in self.servers if server.believed]
        jobs, self.common = self.common, deque()
        self._idling.change(now, 0, -len(jobs))
        for job in jobs:
            self.send(job, now)
        self._announce()

    def _announce(self) -> None:
        for server in self.servers:
            server.announce(self.common[0] if self.common else None)

    def _able(self, job: Job) -> list[Server]:
        if self.name != "first-come":
            return self._believed
        return [server for server in self._believed if server.wants(job)]

    def _choose(
        self, job: Job, able: list[Server], now: float, links: Sequence[Sequence[Link]]
    ) -> None:
        question = Question(job, now, self._turn, len(self.servers), links)
        self._turn += 1
        self._deliver(job, min(able, key=partial(self._score, question)))
