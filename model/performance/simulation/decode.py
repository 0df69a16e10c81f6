"""An instance that decodes: a batch that requests join and leave between steps.

While nobody does, it leaps over all steps at once; when somebody comes meanwhile who has a place,
the leap is cut at the end of the step that is under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from math import isnan

from rackproof.model.performance.simulation.distributions import Distribution
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.levels import Idling
from rackproof.model.performance.simulation.server import Owner, Server
from rackproof.model.performance.simulation.setting import Instance
from rackproof.model.performance.simulation.steps import Pace


class Decode(Server):
    """most: places in the batch. asking: requests to reserve KV room for before they come."""

    def __init__(
        self,
        name: str,
        index: int,
        engine: Instance,
        most: int,
        owner: Owner,
        idling: Idling,
        paces: dict[int, Pace],
    ) -> None:
        super().__init__(name, index, engine, owner, idling)
        self.most = most
        self.queue: deque[Job] = deque()
        self.asking: deque[tuple[Job, int, Callable[[], None]]] = deque()
        self.promised: dict[Job, None] = {}
        self.gaps = Distribution(exact=0)
        self.batch = 0
        self.places = 0
        self.context = 0
        self._paces = paces
        self._joined: list[tuple[int, int, Job]] = []
        self._joins = 0
        self._clock = 0
        self._fresh: list[Job] = []
        self._since, self._planned = 0.0, 0
        self._cut = False
        self._why = ""

    @property
    def waiting(self) -> int:
        return len(self.queue)

    @property
    def running(self) -> int:
        return self.places

    @property
    def queued_tokens(self) -> int:
        return sum(job.known for job in (*self.queue, *self.ghosts, *self.stranded))

    def fits(self, job: Job) -> bool:
        """Whether there is KV room for it."""
        return job.promise is self or (
            self.kv.value + job.reserved <= self.engine.kv_capacity_tokens
        )

    def wants(self, job: Job) -> bool:
        return not self.ghosts and not self.stranded and not self._lacks(job)

    def expected(self, job: Job, now: float) -> tuple[float, float]:
        """Each that leaves makes room for one; then a step with one more."""
        pace = self._pace(self.batch + 1)
        step_s = pace.seconds(self.context + job.known, 1)
        if self.wants(job) or not self._planned:
            return 0.0, step_s
        left_s = self._since + self._pace(self.batch).seconds(self.context, self._planned) - now
        return max(0.0, left_s) * (1 + len(self.queue)), step_s

    def put(self, job: Job) -> None:
        self.queue.append(job)
        self.idling.change(self.events.now, 0, 1)

    def enqueue(self, job: Job) -> None:
        super().enqueue(job)
        self.note()
        if self.queue and not self._obstacle(self.queue[0]):
            self._shorten()

    def ask(self, job: Job, granted: Callable[[], None]) -> None:
        """Reserve room for a request before its KV is sent: between steps, once there is."""
        if not self.up:
            self.stranded.append(job)
            return
        self.asking.append((job, job.attempt, granted))
        if self.idle:
            self._grant()
        elif self.fits(job):
            self._shorten()
        self.note()

    def withdraw(self, job: Job) -> None:
        """It will not come after all."""
        self._keep_promise(job)
        self.kv.add(self.events.now, -job.reserved)
        if self.idle:
            self._grant()

    def turn(self, version: int) -> None:
        if version != self.version:
            return
        if self._planned:
            self._account(self._planned)
            self._planned = 0
            self._leave()
        self.owner.refill(self)
        self._grant()
        self._admit()
        self._plan()

    def forget(self) -> list[Job]:
        now = self.events.now
        if self._joined:
            self._interrupt(now)
            self._leave()
        jobs = [job for _, _, job in sorted(self._joined, key=lambda entry: entry[1])]
        jobs += self.queue
        self.stranded += [job for job, attempt, _ in self.asking if job.attempt == attempt]
        self.idling.change(now, 0, -len(self.queue))
        self.kv.add(now, -self.kv.value)
        for job in list(self.promised):
            self._keep_promise(job)
        for kept in (self._joined, self.queue, self.asking, self._fresh):
            kept.clear()
        self.batch = self.places = self.context = self._planned = 0
        self._cut = False
        return jobs

    def _grant(self) -> None:
        while self.asking:
            job, attempt, granted = self.asking[0]
            if job.attempt == attempt and not self.fits(job):
                break
            self.asking.popleft()
            if job.attempt == attempt:
                job.promise = self
                self.promised[job] = None
                self.kv.add(self.events.now, job.reserved)
                granted()

    def _admit(self) -> None:
        while self.queue and not self._obstacle(self.queue[0]):
            job = self.queue.popleft()
            self.idling.change(self.events.now, 0, -1)
            self._reserve(job)
            self._join(job)
        self.note()

    def _reserve(self, job: Job) -> None:
        self.places += 1
        if job.promise is self:
            self._keep_promise(job)
        else:
            self.kv.add(self.events.now, job.reserved)

    def _keep_promise(self, job: Job) -> None:
        job.promise = None
        del self.promised[job]

    def _join(self, job: Job) -> None:
        """Into the batch: its next token comes with the next step."""
        job.joined_s = self.events.now
        job.offset = self._clock - job.emitted
        self.context += job.known
        self.batch += 1
        self._joins += 1
        heappush(self._joined, (job.offset + job.output, self._joins, job))
        self._fresh.append(job)

    def _leave(self) -> None:
        """Those whose last token it was."""
        joined = self._joined
        while joined and joined[0][0] == self._clock:
            job = heappop(joined)[2]
            job.emitted = job.output
            self.batch -= 1
            self.context -= job.known
            self._finish(job)

    def _finish(self, job: Job) -> None:
        self.places -= 1
        self.kv.add(self.events.now, -job.reserved)
        job.last_token_s = self.events.now
        self.owner.finished(job)

    def _plan(self) -> None:
        """Leap until the first of the batch is done."""
        if not self.batch:
            self.working(False)
            return
        self._schedule(self._joined[0][0] - self._clock)

    def _schedule(self, steps: int) -> None:
        now = self.events.now
        self.working(True)
        self._since, self._planned, self._cut = now, steps, False
        seconds = self._pace(self.batch).seconds(self.context, steps)
        self.events.at(now + seconds, self.turn, self.version, step=True)

    def _pace(self, batch: int) -> Pace:
        pace = self._paces.get(batch)
        if pace is None:
            pace = self._paces[batch] = Pace(self.engine, batch)
        return pace

    def _shorten(self) -> None:
        """End the leap with the step under way."""
        if self._cut or self._planned <= 1:
            return
        now, pace = self.events.now, self._pace(self.batch)
        steps = pace.until(self.context, now - self._since, self._planned)
        self._cut = True
        if steps < self._planned:
            self._planned = steps
            self.version += 1
            end = max(now, self._since + pace.seconds(self.context, steps))
            self.events.at(end, self.turn, self.version, step=True)

    def _obstacle(self, job: Job) -> str:
        """Why a request cannot join: batch, kv, or nothing."""
        if self.places >= self.most:
            return "batch"
        return "" if self.fits(job) else "kv"

    def _lacks(self, job: Job) -> str:
        """Of what too little is left by all that was sent here: batch, kv, or nothing."""
        before = [*self.queue, *self._asks()]
        if self.places + self.coming + len(before) >= self.most:
            return "batch"
        claimed = sum(job.reserved for job in before if job.promise is not self)
        free = self.engine.kv_capacity_tokens - self.kv.value - self.claimed - claimed
        return "" if job.promise is self or job.reserved <= free else "kv"

    def _asks(self) -> Iterator[Job]:
        return (job for job, attempt, _ in self.asking if job.attempt == attempt)

    def _held_up(self) -> str:
        """What the first that waits for this instance waits for: here, at prefill or in common."""
        if self.queue:
            return self._obstacle(self.queue[0])
        asks = next(self._asks(), None)
        if asks is not None:
            return "" if self.fits(asks) else "kv"
        return self._lacks(self.common) if self.common is not None else ""

    def note(self) -> None:
        why = self._held_up() if self.up else ""
        if why != self._why:
            self._why = why
            self.blocked_batch.set(self.events.now, why == "batch")
            self.blocked_kv.set(self.events.now, why == "kv")

    def _account(self, steps: int) -> None:
        """So many steps are done."""
        pace, context, batch = self._pace(self.batch), self.context, self.batch
        self.busy_s += pace.seconds(context, steps)
        self.compute_J += pace.total(pace.compute_J, context, steps)
        self.memory_J += pace.total(pace.memory_J, context, steps)
        self.link_J += pace.link_J * steps
        self.steps += steps
        self.batched += batch * steps
        self.tokens += batch * steps
        first = pace.seconds(context, 1)
        self._first_tokens(first)
        if steps > 1:
            last = pace.seconds(context + (steps - 1) * batch, 1)
            self.gaps.ramp(pace.seconds(context + batch, 1), last, steps - 1, batch)
        self._clock += steps
        self.context += batch * steps

    def _first_tokens(self, seconds: float) -> None:
        """A step so long: for those that had just joined, the gap before it was longer."""
        if self.batch > len(self._fresh):
            self.gaps.ramp(seconds, seconds, 1, self.batch - len(self._fresh))
        end = self._since + seconds
        for job in self._fresh:
            if isnan(job.decoded_s):
                job.decoded_s = end
            self.gaps.add(job.token(end))
        self._fresh.clear()

    def _interrupt(self, now: float) -> None:
        """Whatever whole steps were done by now are done; the one under way is lost."""
        pace, last, steps = self._pace(self.batch), self._since, 0
        if self._planned:
            steps = pace.whole(self.context, now - self._since, self._planned)
        if steps:
            last += pace.seconds(self.context, steps)
            self._account(steps)
        for _, _, job in self._joined:
            emitted = self._clock - job.offset
            if job.emitted < emitted:
                job.emitted, job.last_token_s = emitted, last
