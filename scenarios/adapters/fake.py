"""A small serving stack in one process, with bugs that can be switched on.

It is written as stacks are, and knows nothing of the model: a frontend that streams tokens to
clients and sends a request again when its worker is lost, and workers that generate. All of them
live on one queue of events, in virtual milliseconds, so that a seed makes the same run every time.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum
from typing import Final

from attrs import define, field, frozen

from rackproof.model.kernel import Observation
from rackproof.model.kernel.implementation import Ineffective
from rackproof.scenarios.adapters import seen
from rackproof.scenarios.adapters.adapter import CLIENT, USAGE, Adapter, Ask, Setup

SILENCE: Final = 200
"""Milliseconds without a frame after which a frontend gives a stream up."""
LEASE: Final = 300
"""Milliseconds after which discovery takes a worker that does not renew its lease off the list."""
INHIBITION: Final = 250
"""Milliseconds for which a worker that failed a request is not chosen."""
BUFFER: Final = 8
"""Milliseconds that a token waits at a frontend that buffers."""


class Bug(Enum):
    """What can be wrong with the stack. Each was reported of a real one."""

    REPLAYS = "replays-delivered-tokens"
    """A request that is sent again starts at its first token: dynamo#7930."""
    SKIPS = "skips-the-token-in-flight"
    """A token that the frontend has read and not passed on counts as delivered: dynamo#14378."""
    ZOMBIES = "hears-zombies"
    """Frames of a stream that was given up still go to the client."""
    OVERRUNS = "emits-before-the-limit"
    """A worker emits a token before it looks at max_tokens, also where nothing is left."""
    REFUSES = "refuses-max-tokens-zero"
    """A request that has all its tokens is sent again; each worker refuses it, and is blamed."""
    RETRIES = "one-retry-too-many"
    """The retry limit is compared with > for >=."""
    RETURNS = "returns-to-failed-workers"
    """A worker that failed a request is chosen for it again: dynamo#11647."""
    SILENT = "waits-for-ever"
    """There is no time-out for a silent stream: dynamo#11647."""
    USAGE = "counts-usage-twice"
    """The worker's count of the prompt is reported, which has the tokens replayed to it."""
    ENDS = "ends-without-finish"
    """A connection that closes behind the first token counts as the end of the answer."""


@frozen
class Event:
    """What a client got: kind is token, finish, usage, error or end, and value goes with it."""

    request: str
    kind: str
    value: int = 0


@frozen
class Sent:
    """A line of the frontend's log: a request was sent to a worker."""

    request: str
    attempt: int
    worker: str
    delivered: int


class Refused(Exception):
    """A worker does not take a request."""


class Clock:
    """The events that are still to come, in order of time."""

    def __init__(self, seed: int) -> None:
        """Nothing is to come yet."""
        self.now = 0
        self._random = random.Random(seed)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, delay: int, act: Callable[[], None]) -> None:
        """Have something done in so many milliseconds."""
        self._count += 1
        heapq.heappush(self._events, (self.now + delay, self._count, act))

    def jitter(self, least: int, most: int) -> int:
        """A delay."""
        return self._random.randint(least, most)

    def tick(self) -> bool:
        """Do what is next; False where nothing is to come."""
        if not self._events:
            return False
        self.now, _, act = heapq.heappop(self._events)
        act()
        return True


@define(eq=False)
class Stream:
    """A connection on which a worker answers: frames arrive in the order they were sent in."""

    clock: Clock
    on_frame: Callable[[Stream, Event], None]
    on_break: Callable[[Stream], None]
    is_open: bool = True
    _last: int = 0

    def send(self, frame: Event) -> None:
        """Send a frame, unless the connection is broken."""
        if self.is_open:
            self._in_order(lambda: self.on_frame(self, frame))

    def close(self) -> None:
        """Break the connection: what was sent before still arrives, and then the end."""
        if self.is_open:
            self.is_open = False
            self._in_order(lambda: self.on_break(self))

    def _in_order(self, act: Callable[[], None]) -> None:
        self._last = max(self._last, self.clock.now + self.clock.jitter(1, 5))
        self.clock.after(self._last - self.clock.now, act)


@define(eq=False)
class Job:
    """A request at a worker. start: the position it goes on from; prompt: the tokens it was sent,
    those of the answer so far among them.
    """

    request: str
    start: int
    prompt: int
    tokens: int
    max_tokens: int
    stream: Stream
    at: int = 0


class Worker:
    """A worker process: it generates token after token for each job that it has."""

    def __init__(self, name: str, clock: Clock, bugs: Collection[Bug]) -> None:
        """It is up, and listed."""
        self.name, self.clock, self.bugs = name, clock, bugs
        self.state = "up"
        self.is_listed = True
        self.jobs: list[Job] = []
        self._parked: list[Callable[[], None]] = []

    @property
    def answers(self) -> bool:
        """Whether a probe would be answered."""
        return self.state in ("up", "draining")

    def accept(self, job: Job) -> None:
        """Take a job; ``Refused`` by a worker that is gone or told to stop, or by its checks."""
        if self.state not in ("up", "frozen"):
            raise Refused(self.name)
        job.at = job.start
        self.jobs.append(job)
        self._later(lambda: self._generate(job))

    def _later(self, act: Callable[[], None]) -> None:
        process = self.jobs  # a restarted process has another list, and none of the old work

        def awake() -> None:
            if self.jobs is not process or self.state == "down":
                return
            if self.state == "frozen":
                self._parked.append(awake)
            else:
                act()

        self.clock.after(self.clock.jitter(10, 20), awake)

    def _generate(self, job: Job) -> None:
        """One engine step of a job."""
        if job not in self.jobs or not job.stream.is_open:
            return None
        end = min(job.tokens, job.max_tokens)
        if job.start >= job.max_tokens:
            end = job.max_tokens + int(Bug.OVERRUNS in self.bugs)
            if Bug.REFUSES in self.bugs:
                return self._over(job, Event(job.request, "refused"))
        if job.at < end:
            job.stream.send(Event(job.request, "token", job.at))
            job.at += 1
            return self._later(lambda: self._generate(job))
        return self._over(job, Event(job.request, "finish", job.prompt))

    def _over(self, job: Job, frame: Event) -> None:
        job.stream.send(frame)
        self.jobs.remove(job)
        if self.state == "draining" and not self.jobs:
            self.state = "down"

    def die(self) -> None:
        """The process is gone; the kernel closes its connections, discovery hears of it later."""
        self.state = "down"
        jobs, self.jobs = self.jobs, []
        self._parked = []
        for job in jobs:
            job.stream.close()
        self._lose_lease()

    def freeze(self) -> None:
        """It does nothing any more; its lease runs out."""
        self.state = "frozen"
        self._lose_lease()

    def wake(self) -> None:
        """It goes on where it was; where it lost its lease it stops itself."""
        self.state = "up"
        if not self.is_listed:
            return self.die()
        parked, self._parked = self._parked, []
        for act in parked:
            self.clock.after(1, act)
        return None

    def drain(self) -> None:
        """It takes nothing new, and stops when it has finished what it has."""
        self.is_listed = False
        self.state = "draining" if self.jobs else "down"

    def restart(self) -> None:
        """A new process, which has nothing of the old one."""
        self.state, self.is_listed, self.jobs = "up", True, []

    def _lose_lease(self) -> None:
        process = self.jobs

        def expire() -> None:
            if self.state in ("frozen", "down") and self.jobs is process:
                self.is_listed = False

        self.clock.after(LEASE, expire)


@define(eq=False)
class Session:
    """What the frontend knows of a request. delivered: tokens that the client has; taken: tokens
    that the frontend has read. failed: the workers that failed it.
    """

    request: str
    tokens: int
    max_tokens: int
    prompt: int
    delivered: int = 0
    taken: int = 0
    tries: int = 0
    heard: int = 0
    failed: set[str] = field(factory=set)
    worker: str = ""
    stream: Stream | None = None
    is_over: bool = False


class FakeStack:
    """The stack: a frontend and its workers.

    ``tick`` does the next thing that is due. ``events`` are what clients got, ``log`` is what the
    frontend sent to whom, both since the start. retry_limit: how often a request is sent again.
    """

    def __init__(
        self,
        workers: Sequence[str],
        retry_limit: int = 1,
        bugs: Collection[Bug] = (),
        seed: int = 0,
    ) -> None:
        """All workers are up."""
        self.clock, self.bugs, self.retry_limit = Clock(seed), frozenset(bugs), retry_limit
        self.workers = {name: Worker(name, self.clock, self.bugs) for name in workers}
        self.sessions: dict[str, Session] = {}
        self.events: list[Event] = []
        self.log: list[Sent] = []
        self._inhibited: dict[str, int] = {}

    def tick(self) -> bool:
        """Do what is due next; False where nothing is, until somebody does something."""
        return self.clock.tick()

    # What clients do

    def submit(self, request: str, tokens: int, max_tokens: int, prompt: int) -> None:
        """A client sends a request. tokens: the length at which its answer ends by itself."""
        session = self.sessions[request] = Session(request, tokens, max_tokens, prompt)
        self.clock.after(1, lambda: self._dispatch(session))

    def cancel(self, request: str) -> None:
        """A client closes its connection."""
        session = self.sessions[request]
        session.is_over = True
        if session.stream is not None:
            session.stream.is_open = False

    # What happens to machines

    def restart(self, worker: str) -> None:
        """Start a worker again."""
        self.workers[worker].restart()
        self._inhibited.pop(worker, None)

    def cut(self, request: str) -> bool:
        """Break the connection that carries a request; False where there is none."""
        session = self.sessions[request]
        if session.is_over or session.stream is None or not session.stream.is_open:
            return False
        session.stream.close()
        return True

    # The frontend

    def _candidates(self, session: Session) -> Iterator[str]:
        for name, worker in self.workers.items():
            is_new = name not in session.failed or Bug.RETURNS in self.bugs
            if worker.is_listed and is_new and self._is_fit(name):
                yield name

    def _is_fit(self, name: str) -> bool:
        """Whether nothing is held against a worker: after a while it is enough that it answers."""
        until = self._inhibited.get(name)
        if until is None or Bug.RETURNS in self.bugs:
            return True
        return until <= self.clock.now and self.workers[name].answers

    def _dispatch(self, session: Session) -> None:
        if session.is_over:
            return None
        found = list(self._candidates(session))
        if not found or session.tries > self.retry_limit + int(Bug.RETRIES in self.bugs):
            return self._give_up(session)
        name = session.worker = found[self.clock.jitter(0, len(found) - 1)]
        start = session.delivered if Bug.SKIPS not in self.bugs else session.taken
        start = 0 if Bug.REPLAYS in self.bugs else start
        self.log.append(Sent(session.request, session.tries, name, start))
        session.tries += 1
        session.taken = start
        stream = session.stream = Stream(self.clock, self._on_frame, self._on_break)
        limits = session.tokens, session.max_tokens
        job = Job(session.request, start, session.prompt + start, *limits, stream)
        try:
            self.workers[name].accept(job)
        except Refused:
            return self._failed(session)
        return self._listen(session, stream)

    def _listen(self, session: Session, stream: Stream) -> None:
        """Give the stream up if it stays silent from now on."""
        if Bug.SILENT in self.bugs:
            return
        session.heard += 1
        heard = session.heard

        def check() -> None:
            if session.stream is stream and session.heard == heard and not session.is_over:
                self._failed(session)

        self.clock.after(SILENCE, check)

    def _session(self, stream: Stream, request: str) -> Session | None:
        """The request that a frame is for, unless it is over or is streamed from elsewhere now."""
        session = self.sessions[request]
        if session.is_over or (session.stream is not stream and Bug.ZOMBIES not in self.bugs):
            return None
        return session

    def _on_frame(self, stream: Stream, frame: Event) -> None:
        session = self._session(stream, frame.request)
        if session is None:
            return
        self._listen(session, stream)
        if frame.kind == "token":
            session.taken = frame.value + 1
            if Bug.SKIPS in self.bugs:
                self.clock.after(BUFFER, lambda: self._pass_on(stream, frame))
            else:
                self._pass_on(stream, frame)
        elif frame.kind == "refused":
            self._failed(session)
        elif Bug.SKIPS in self.bugs:
            self.clock.after(BUFFER, lambda: self._finish(session, frame.value))
        else:
            self._finish(session, frame.value)

    def _pass_on(self, stream: Stream, frame: Event) -> None:
        session = self._session(stream, frame.request)
        if session is not None:
            session.delivered = max(session.delivered, frame.value + 1)
            self.events.append(frame)

    def _finish(self, session: Session, counted: int) -> None:
        if session.is_over:
            return
        prompt = counted if Bug.USAGE in self.bugs else session.prompt
        self.events.append(Event(session.request, "finish"))
        self.events.append(Event(session.request, "usage", prompt))
        self._end(session)

    def _on_break(self, stream: Stream) -> None:
        for session in self.sessions.values():
            if session.stream is stream and not session.is_over:
                if Bug.ENDS in self.bugs and session.delivered:
                    self._end(session)
                else:
                    self._failed(session)

    def _failed(self, session: Session) -> None:
        """The attempt is lost: blame its worker, and send the request again."""
        session.failed.add(session.worker)
        session.stream = None
        self._inhibited[session.worker] = self.clock.now + INHIBITION
        if session.delivered >= session.max_tokens and not self.bugs & {Bug.REFUSES, Bug.OVERRUNS}:
            return self._finish(session, session.prompt)
        return self.clock.after(2, lambda: self._dispatch(session))

    def _give_up(self, session: Session) -> None:
        """Nobody can be asked any more."""
        if session.delivered >= session.max_tokens and Bug.REFUSES not in self.bugs:
            self._finish(session, session.prompt)
        else:
            self._end(session, "error")

    def _end(self, session: Session, how: str = "") -> None:
        session.is_over = True
        if how:
            self.events.append(Event(session.request, how))
        self.events.append(Event(session.request, "end"))


class FakeAdapter(Adapter):
    """The stack behind the adapter protocol: one step is one event of its queue."""

    complete = CLIENT | USAGE | {("frontend", "dispatch")}

    def __init__(self, bugs: Collection[Bug] = (), seed: int = 0) -> None:
        """Nothing is launched yet."""
        self._bugs, self._seed = bugs, seed

    def launch(self, setup: Setup) -> None:
        """Make a new stack."""
        self._stack = FakeStack(list(setup.workers), setup.retry_limit, self._bugs, self._seed)
        self._seen = self._logged = 0
        self._asked: dict[str, Ask] = {}

    def stop(self) -> None:
        """There is nothing to end."""

    def submit(self, ask: Ask) -> None:
        self._asked[ask.request] = ask
        self._stack.submit(ask.request, ask.tokens, ask.max_tokens, ask.prompt_tokens)

    def cancel(self, request: str) -> None:
        self._stack.cancel(request)

    def kill(self, worker: str) -> None:
        self._at(worker, "up", "frozen", "draining").die()

    def freeze(self, worker: str) -> None:
        self._at(worker, "up").freeze()

    def resume(self, worker: str) -> None:
        self._at(worker, "frozen").wake()

    def drain(self, worker: str) -> None:
        self._at(worker, "up").drain()

    def restart(self, worker: str) -> None:
        self._at(worker, "down")
        self._stack.restart(worker)

    def partition(self, request: str) -> None:
        if not self._stack.cut(request):
            raise Ineffective("no connection carries it")

    def _at(self, worker: str, *states: str) -> Worker:
        """A worker in one of these states; where it is in another one, nothing can come of it."""
        found = self._stack.workers[worker]
        if found.state not in states:
            raise Ineffective(f"{worker} is {found.state}")
        return found

    def advance(self) -> bool:
        return self._stack.tick()

    def observe(self) -> Sequence[Observation]:
        log, events = self._stack.log[self._logged :], self._stack.events[self._seen :]
        self._logged, self._seen = len(self._stack.log), len(self._stack.events)
        sent = [seen.dispatch(e.request, e.attempt, e.worker, e.delivered) for e in log]
        return [*sent, *(self._client(event) for event in events)]

    def _client(self, event: Event) -> Observation:
        request = event.request
        match event.kind:
            case "token":
                return seen.token(request, event.value)
            case "usage":
                own = self._asked[request].prompt_tokens
                return seen.usage(request, more=event.value > own)
            case "finish":
                return seen.finish(request)
            case "error":
                return seen.error(request)
            case _:
                return seen.end(request)
