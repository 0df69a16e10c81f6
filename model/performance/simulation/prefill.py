"""An instance that prefills: whole prompts, first come, batched up to a budget of tokens."""

from __future__ import annotations

from collections import deque

from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.levels import Idling
from rackproof.model.performance.simulation.server import Owner, Server
from rackproof.model.performance.simulation.setting import Disaggregated


class Prefill(Server):
    """held: requests whose KV is here, being prefilled or waiting to be handed over."""

    def __init__(self, index: int, deployment: Disaggregated, owner: Owner, idling: Idling) -> None:
        super().__init__(f"prefill-{index}", index, deployment.prefill.engine, owner, idling)
        self.keep(deployment.cache)
        self.budget = deployment.prefill_tokens
        self.queue: deque[Job] = deque()
        self.batch: list[Job] = []
        self.held: dict[Job, int] = {}
        self.until_s = 0.0
        self._queued = 0
        self._ahead = 0
        self._token_s: float | None = None

    @property
    def waiting(self) -> int:
        return len(self.queue)

    @property
    def running(self) -> int:
        return len(self.batch)

    @property
    def queued_tokens(self) -> int:
        absent = (*self.ghosts, *self.stranded)
        return self._queued + (sum(job.known for job in absent) if absent else 0)

    def wants(self, job: Job) -> bool:
        if self.batch or self.ghosts or self.stranded:
            return False
        if self.kv.value + self._queued + job.known > self.engine.kv_capacity_tokens:
            return False
        return not self.queue or self._queued + job.known <= self.budget

    def put(self, job: Job) -> None:
        if job.first:
            self.queue.insert(self._ahead, job)
            self._ahead += 1
        else:
            self.queue.append(job)
        self._queued += job.known
        self.idling.change(self.events.now, 0, 1)

    def expected(self, job: Job, now: float) -> tuple[float, float]:
        """The batch in flight and the queue, at the pace of full batches; then its own prefill."""
        if self._token_s is None:
            self._token_s = self.engine.step([(self.budget, 0)], 0, 0).seconds / self.budget
        flight_s = max(0.0, self.until_s - now) if self.batch else 0.0
        cached = self.cached(job)
        work = self.engine.step([(job.known - cached, cached)], 0, 0)
        return flight_s + self.queued_tokens * self._token_s, work.seconds

    def turn(self, version: int) -> None:
        if version != self.version:
            return
        self.owner.refill(self)
        spans = self._next_batch()
        self.note()
        if not self.batch:
            self.working(False)
            return
        self.working(True)
        work = self.engine.step(spans, 0, 0)
        self.did(work, len(spans), sum(new for new, _ in spans))
        self.until_s = self.events.now + work.seconds
        self.events.at(self.until_s, self._end, self.version, step=True)
        self.owner.begun(self, self.batch, work.seconds)

    def release(self, job: Job) -> None:
        """Its KV is no longer needed here."""
        self.kv.add(self.events.now, -self.held.pop(job))
        job.source = None
        if self.up:
            self.owner.refill(self)
            if self.queue:
                self.wake()

    def forget(self) -> list[Job]:
        jobs = [*self.held, *self.queue]
        self.idling.change(self.events.now, 0, -len(self.queue))
        self.kv.add(self.events.now, -self.kv.value)
        for job in self.held:
            job.source = None
        self.held.clear()
        self.queue.clear()
        self.batch, self._queued, self._ahead = [], 0, 0
        return jobs

    def note(self) -> None:
        waits = bool(self.queue) or self.common is not None
        self.blocked_kv.set(self.events.now, self.up and waits and not self.batch)

    def _next_batch(self) -> list[tuple[int, int]]:
        """Move a batch out of the queue; of each its new tokens, and those cached."""
        spans: list[tuple[int, int]] = []
        left = self.budget
        while self.queue:
            job = self.queue[0]
            cached = max(job.cached, self.cached(job))
            new = job.known - cached
            if (spans and new > left) or self.kv.value + job.known > self.engine.kv_capacity_tokens:
                break
            left -= new
            job.cached = cached
            spans.append((new, cached))
            self._take(self.queue.popleft())
        return spans

    def _take(self, job: Job) -> None:
        now = self.events.now
        if self.cache is not None:
            self.cache.use(job.request.blocks, self.cache.leading(job.request.blocks))
        self._queued -= job.known
        self.idling.change(now, 0, -1)
        self.held[job] = job.known
        self.kv.add(now, job.known)
        self._ahead -= job.first
        job.started_s = now
        job.source = self
        job.first = False
        self.batch.append(job)

    def _end(self, version: int) -> None:
        if version != self.version:
            return
        jobs, self.batch = self.batch, []
        for job in jobs:
            if self.cache is not None:
                self.cache.keep(job.request.blocks)
            job.prefilled(self.events.now)
        for job in jobs:
            self.owner.prefilled(job, self)
        self.turn(version)
