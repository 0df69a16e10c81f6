"""An instance that does both: a step has a token of each request that decodes, and chunks of
prompts up to a budget, so that a long prompt does not hold up those that decode (Sarathi-Serve,
OSDI '24).
"""

from __future__ import annotations

from collections import deque

from rackproof.model.performance.roofline import Work
from rackproof.model.performance.simulation.decode import Decode
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.levels import Idling
from rackproof.model.performance.simulation.server import Owner
from rackproof.model.performance.simulation.setting import Aggregated
from rackproof.model.performance.simulation.steps import Pace


class Mixed(Decode):
    """prompts: requests with a place whose prompt is not whole yet, in the order they came."""

    def __init__(
        self,
        index: int,
        deployment: Aggregated,
        owner: Owner,
        idling: Idling,
        paces: dict[int, Pace],
    ) -> None:
        engine, most = deployment.pool.engine, deployment.decode_batch
        super().__init__(f"worker-{index}", index, engine, most, owner, idling, paces)
        self.keep(deployment.cache)
        self.budget = deployment.chunk_tokens
        self.prompts: deque[Job] = deque()
        self._chunks: list[tuple[Job, int]] = []
        self._work = Work(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

    @property
    def queued_tokens(self) -> int:
        partial = sum(job.new - job.done for job in self.prompts)
        return partial + super().queued_tokens

    def expected(self, job: Job, now: float) -> tuple[float, float]:  # noqa: ARG002
        """All prompts before it, at the pace of full steps; then its own."""
        full = self.engine.step([(self.budget - self.batch, 0)], self.batch, self.context)
        cached = self.cached(job)
        work = self.engine.step([(job.known - cached, cached)], self.batch, self.context)
        return full.seconds / (self.budget - self.batch) * self.queued_tokens, work.seconds

    def forget(self) -> list[Job]:
        prompts = [*self.prompts]
        if self._chunks:
            self._planned = 0
        self.prompts.clear()
        self._chunks.clear()
        return [*super().forget(), *prompts]

    def _join(self, job: Job) -> None:
        if job.ready:
            super()._join(job)
            return
        job.started_s = self.events.now
        job.done = 0
        if self.cache is not None:
            job.cached = max(job.cached, self.cached(job))
            self.cache.use(job.request.blocks, self.cache.leading(job.request.blocks))
        self.prompts.append(job)

    def _plan(self) -> None:
        if not self.prompts:
            super()._plan()
            return
        left = self.budget - self.batch
        for job in self.prompts:
            chunk = min(left, job.new - job.done)
            self._chunks.append((job, chunk))
            left -= chunk
            if not left:
                break
        spans = [(chunk, job.cached + job.done) for job, chunk in self._chunks]
        self._work = self.engine.step(spans, self.batch, self.context)
        self.working(True)
        self._since, self._planned, self._cut = self.events.now, 1, False
        end = self.events.now + self._work.seconds
        self.events.at(end, self.turn, self.version, step=True)

    def _account(self, steps: int) -> None:
        if not self._chunks:
            super()._account(steps)
            return
        tokens = self.batch + sum(chunk for _, chunk in self._chunks)
        self.did(self._work, self.batch + len(self._chunks), tokens)
        if self.batch:
            self._first_tokens(self._work.seconds)
        self._clock += 1
        self.context += self.batch

    def _leave(self) -> None:
        super()._leave()
        chunks, self._chunks = self._chunks, []
        for job, chunk in chunks:
            job.done += chunk
            if job.done == job.new:
                self.prompts.popleft()
                self._prefilled(job)

    def _prefilled(self, job: Job) -> None:
        if self.cache is not None:
            self.cache.keep(job.request.blocks)
        job.prefilled(self.events.now)
        self.owner.prefilled(job, self)
        if job.emitted == job.output:
            self._finish(job)
        else:
            self._join(job)
