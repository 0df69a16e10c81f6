"""What instances of all kinds have in common: truth and belief, books, and being down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from rackproof.model.performance.roofline import Work
from rackproof.model.performance.simulation.events import Events
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.levels import Flag, Idling, Level
from rackproof.model.performance.simulation.prefixes import Prefixes
from rackproof.model.performance.simulation.setting import Instance, PrefixCache


class Owner(Protocol):
    """Whom an instance tells what happened, and whom it asks for more."""

    events: Events

    def begun(self, server: Server, jobs: list[Job], seconds: float) -> None:
        """A prefill began that will take so long."""

    def prefilled(self, job: Job, server: Server) -> None:
        """It was prefilled, and its KV is on this instance."""

    def finished(self, job: Job) -> None:
        """Its last token came."""

    def refill(self, server: Server) -> None:
        """It may have room: put what waits in common, as long as any of its pool wants it."""


class Server(ABC):
    """An instance. up: the truth. believed: what routers think.

    A router's books change with what it is told: jobs on an instance that went down are in them
    until it is believed down (``ghosts``), as are those sent there since (``stranded``). coming:
    requests whose KV is on its way here; claimed: tokens of KV that no room is reserved for yet.
    common: the first request that waits for any instance.
    """

    def __init__(
        self, name: str, index: int, engine: Instance, owner: Owner, idling: Idling
    ) -> None:
        self.name, self.index, self.engine = name, index, engine
        self.owner, self.events = owner, owner.events
        self.up, self.believed = True, True
        self.coming = self.claimed = 0
        self.stranded: list[Job] = []
        self.ghosts: list[Job] = []
        self.idling = idling
        self.idle = True
        self.version = 0
        self.kv = Level()
        self.common: Job | None = None
        self.blocked_kv, self.blocked_batch = Flag(), Flag()
        self.cache: Prefixes | None = None
        self.busy_s = self.compute_J = self.memory_J = self.link_J = 0.0
        self.steps = self.tokens = self.batched = 0

    @property
    @abstractmethod
    def waiting(self) -> int:
        """Requests in its queue."""

    @property
    @abstractmethod
    def running(self) -> int:
        """Requests in its batch."""

    @property
    @abstractmethod
    def queued_tokens(self) -> int:
        """Tokens of the prompts in its queue, as the router's books have them."""

    @property
    def load(self) -> int:
        """Requests in its queue, its batch and on their way, as the router's books have them."""
        absent = len(self.ghosts) + len(self.stranded)
        return self.waiting + self.running + self.coming + absent

    @abstractmethod
    def wants(self, job: Job) -> bool:
        """Whether there is room for it at once."""

    @abstractmethod
    def put(self, job: Job) -> None:
        """Into the queue, without a look at whether it can begin."""

    @abstractmethod
    def expected(self, job: Job, now: float) -> tuple[float, float]:
        """Seconds until its turn would come, and of what would be done for it then."""

    @abstractmethod
    def turn(self, version: int) -> None:
        """A step has ended, or there is none: what is next? Void unless of this version."""

    @abstractmethod
    def note(self) -> None:
        """For the books: what the first that waits for this instance waits for."""

    @abstractmethod
    def forget(self) -> list[Job]:
        """Lose all that is on it."""

    def announce(self, job: Job | None) -> None:
        """The first that waits for any instance is now this one, or none."""
        self.common = job
        self.note()

    def enqueue(self, job: Job) -> None:
        """A request is sent here."""
        if not self.up:
            self.stranded.append(job)
            return
        self.put(job)
        self.wake()

    def wake(self) -> None:
        """Something came: have a turn now if there is no step under way."""
        if self.idle:
            self.working(True)
            self.events.at(self.events.now, self.turn, self.version, step=True)

    def working(self, holds: bool) -> None:
        """Whether a step is under way."""
        if self.idle is holds:
            self.idle = not holds
            self.idling.change(self.events.now, -1 if holds else 1, 0)

    def did(self, work: Work, requests: int, tokens: int) -> None:
        """A step, for the books."""
        self.busy_s += work.seconds
        self.compute_J += work.compute_J
        self.memory_J += work.memory_J
        self.link_J += work.link_J
        self.steps += 1
        self.batched += requests
        self.tokens += tokens

    def keep(self, cache: PrefixCache | None) -> None:
        """Keep the KV of prompts, or do not."""
        self.cache = None if cache is None else Prefixes(cache)

    def cached(self, job: Job) -> int:
        """Tokens of a prompt whose KV is here; at least one is left to compute."""
        if self.cache is None:
            return 0
        found = self.cache.leading(job.request.blocks) * self.cache.block_tokens
        return min(found, job.prompt, job.known - 1)

    def stop(self) -> list[Job]:
        """It goes down; gives the requests that were on it, as they were after its last step."""
        if not self.up:
            return []
        jobs = self.forget()
        for job in jobs:
            job.interrupt()
        self.working(False)
        self.idling.change(self.events.now, -1, 0)
        self.up = False
        self.note()
        self.version += 1
        self.ghosts = list(jobs)
        if self.cache is not None:
            self.cache.clear()
        return jobs

    def take(self) -> list[Job]:
        """The requests that were sent here since it is down."""
        jobs, self.stranded = self.stranded, []
        for job in jobs:
            job.interrupt()
        return jobs

    def start(self) -> None:
        """It is up again, empty."""
        if self.up:
            return
        self.idling.change(self.events.now, 1, 0)
        self.up = True
        self.ghosts = []
        self.owner.refill(self)
        self.wake()
