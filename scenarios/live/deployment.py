"""A deployment that runs: a frontend and workers, what can be done to them, and what is seen."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from attrs import evolve, field, frozen

from rackproof.model.endpoint import Role
from rackproof.scenarios.live.client import Stream, get
from rackproof.scenarios.live.network import LOOPBACK, free_port, own_network, refuses
from rackproof.scenarios.live.processes import Child, until
from rackproof.scenarios.live.recorder import Lines, Tail

READY: Final = 60.0
"""Seconds that a process has to become ready."""
EFFECT: Final = 15.0
"""Seconds within which a fault must be seen to have taken effect."""
SCRATCH: Final = "scratch"
"""What the processes share while they run, beside the record; it is removed at the end."""
HOOKS: Final = f"{SCRATCH}/hooks"
SERVED: Final = "generate"
"""The endpoint of a worker that requests go to; it may have others."""
MODEL: Final = "tiny"
AGGREGATED: Final = Role.AGGREGATED.value
PREFILL: Final = Role.PREFILL.value
DECODE: Final = Role.DECODE.value
LETTERS: Final = {AGGREGATED: "w", PREFILL: "p", DECODE: "d"}
"""The first letter of the name of a worker, by what it does."""
PROMPT: Final = "t10 t11 t12"
OWN: Final = 100
"""The token at the end of the prompt of request 0 of a run; that of request 1 has the next."""
OTHERS: Final = 13
"""The token at the end of the prompt of all others."""


class Failed(Exception):
    """The deployment cannot be started, or a fault had no effect: the message says what and why."""


@frozen
class Settings:
    """What is started, and how it is set.

    workers: how many; roles: what each does, in place of their number where prefill and decode are
    apart (``prefill``, ``decode``). migration_limit: retries of a request after its first dispatch.
    stream_timeout: seconds without a token after which a stream is given up; None for never.
    pause: seconds between two tokens of a worker. length: the tokens after which an output ends by
    itself; None where it goes on up to the limit. emits: whether an engine that may generate
    nothing emits a token all the same.
    """

    workers: int = 2
    migration_limit: int = 3
    stream_timeout: float | None = None
    pause: float = 0.025
    length: int | None = None
    emits: bool = False
    roles: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What the workers are called: w0, w1; p0 and d0 where prefill and decode are apart."""
        seen = Counter[str]()
        names = []
        for role in self.roles or (AGGREGATED,) * self.workers:
            names.append(f"{LETTERS[role]}{seen[role]}")
            seen[role] += 1
        return tuple(names)

    def role(self, name: str) -> str:
        """What a worker of this name does."""
        return next(role for role, letter in LETTERS.items() if name.startswith(letter))


class Software(Protocol):
    """The software that is deployed: how its processes are started."""

    def environment(self, settings: Settings, folder: Path) -> Mapping[str, str]:
        """What its processes find in their environment beside what every process does."""

    def frontend(self, settings: Settings, port: int) -> Sequence[str]:
        """The command that serves HTTP at a port of loopback."""

    def worker(self, settings: Settings, folder: Path, name: str) -> Sequence[str]:
        """The command that serves the model; the folder is that of the run's record."""


@frozen(eq=False)
class Worker:
    """A worker that is registered: its process, its number in discovery, and where it listens."""

    name: str
    child: Child
    instance: int
    address: tuple[str, int]
    emitted: Tail


@frozen
class Route:
    """An attempt: of which request, at which worker, and the error it ended in, if it did."""

    request: str
    worker: Worker
    error: str | None = None


@frozen
class Effect:
    """That something was done, and by what it is known that it took effect."""

    did: str
    worker: str
    seen: str

    def __str__(self) -> str:
        """In a sentence."""
        return f"{self.did} of {self.worker}: {self.seen}"


@frozen(eq=False)
class Deployment:
    """The frontend and its workers, while they run.

    folder: where all is recorded. start: how a worker of a name is started beside others; gone:
    those in whose place another was started. shared: whether it is on the network of everything
    else, and why.
    """

    settings: Settings
    folder: Path
    port: int
    frontend: Child
    workers: dict[str, Worker]
    log: Tail
    events: Lines
    shared: str | None
    start: Callable[[str, Iterable[Worker]], Worker]
    gone: list[Worker] = field(factory=list)
    streams: list[Stream] = field(factory=list)

    def send(self, tag: str, tokens: int, last: int = OTHERS) -> Stream:
        """Send a request for so many tokens; its stream is read from now on. last: the token that
        its prompt ends in, by which hooks know it.
        """
        body = {
            "model": MODEL,
            "max_tokens": tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "nvext": {"extra_fields": ["worker_id", "timing"]},
            "messages": [{"role": "user", "content": f"{PROMPT} t{last}"}],
        }
        stream = Stream(self.port, tag, body, self.folder)
        self.streams.append(stream)
        return stream

    def finish(self, stream: Stream, seconds: float) -> bool:
        """Wait for the end of a stream and record its result; whether it came."""
        over = stream.wait(seconds=seconds) or stream.is_over
        self.events.write(kind="result", **stream.told())
        return over

    def health(self) -> tuple[str, tuple[int, ...]]:
        """What the frontend says of itself, and the workers that discovery lists."""
        _, said = get(self.port, "/health")
        if not isinstance(said, dict):
            return "no answer", ()
        items = said.get("instances") or ()
        listed = [item["instance_id"] for item in items if item["endpoint"] == SERVED]
        return str(said.get("status")), tuple(listed)

    def routes(self) -> list[Route]:
        """The attempts that the frontend tells of in its log, one after the other.

        It names the worker of an attempt as soon as that has accepted it; of one that did not, it
        tells only that the attempt failed.
        """
        known = {one.instance: one for one in (*self.gone, *self.workers.values())}
        found: list[Route] = []
        for line in self.log.read():
            worker = known.get(int(line.get("worker_id") or 0))
            if worker is None:
                continue
            route = Route(str(line.get("request_id")), worker)
            if line.get("message") == "Selected worker":
                found.append(route)
            elif line.get("message") == "route request failed":
                if route in found:
                    found.remove(route)
                found.append(evolve(route, error=str(line.get("error.type"))))
        return found

    def hook(self, name: str, **asked: Any) -> Path:
        """Tell the workers what to do at a position; the file that one of them takes."""
        new = self.folder / HOOKS / f"{name}.new"
        new.write_text(json.dumps(asked), encoding="utf-8")
        return new.rename(new.with_suffix(".json"))

    def crash(self, worker: Worker, **more: Any) -> Effect:
        """SIGKILL a worker; its status says so, and nobody listens where it did."""
        self._signal(worker, signal.SIGKILL, "SIGKILL", more)
        status = f"its exit status is {-signal.SIGKILL}"
        self._check(worker, "SIGKILL", lambda: worker.child.status == -signal.SIGKILL, status)
        closed = "its port refuses connections"
        self._check(worker, "SIGKILL", lambda: refuses(*worker.address), closed)
        return self._effect("SIGKILL", worker, f"{status}, {closed}")

    def hang(self, worker: Worker, **more: Any) -> Effect:
        """SIGSTOP a worker; the kernel says that it is stopped."""
        self._signal(worker, signal.SIGSTOP, "STOP", more)
        seen = f"/proc/{worker.child.pid}/stat says T (stopped)"
        self._check(worker, "SIGSTOP", lambda: worker.child.state == "T", seen)
        return self._effect("SIGSTOP", worker, seen)

    def resume(self, worker: Worker, **more: Any) -> Effect:
        """SIGCONT a worker; the kernel says that it is at work again."""
        self._signal(worker, signal.SIGCONT, "CONT", more)
        seen = f"/proc/{worker.child.pid}/stat no longer says T"
        self._check(worker, "SIGCONT", lambda: worker.child.state in "SRD", seen)
        return self._effect("SIGCONT", worker, seen)

    def drain(self, worker: Worker, **more: Any) -> Effect:
        """SIGTERM a worker; it leaves discovery."""
        self._signal(worker, signal.SIGTERM, "TERM", more)
        seen = "discovery lists it no more"
        self._check(worker, "SIGTERM", lambda: worker.instance not in self.health()[1], seen)
        return self._effect("SIGTERM", worker, seen)

    def restart(self, worker: Worker, **more: Any) -> Effect:
        """Start a worker anew, under the name of one that has ended; discovery lists it under a
        number of its own.
        """
        ended = "the one before has ended"
        self._check(worker, "restart", lambda: worker.child.status is not None, ended)
        self.events.write(kind="chaos", sig="restart", worker=worker.name, **more)
        before = (*self.gone, *self.workers.values())
        new = self.workers[worker.name] = self.start(worker.name, before)
        self.gone.append(worker)
        seen = f"discovery lists it as {new.instance} (it was {worker.instance})"
        return self._effect("restart", new, seen)

    def _signal(self, worker: Worker, number: int, called: str, more: Mapping[str, Any]) -> None:
        said = number if number == signal.SIGKILL else called
        self.events.write(
            kind="chaos",
            sig=said,
            worker=worker.name,
            pid=worker.child.pid,
            instance=worker.instance,
            **more,
        )
        worker.child.signal(number)

    def _check(self, worker: Worker, did: str, what: Any, seen: str) -> None:
        if not until(what, EFFECT):
            raise Failed(f"{did} of {worker.name} had no effect: not within {EFFECT:g} s: {seen}")

    def _effect(self, did: str, worker: Worker, seen: str) -> Effect:
        self.events.write(kind="effect", did=did, worker=worker.name, seen=seen)
        return Effect(did, worker.name, seen)


@contextmanager
def deployed(software: Software, settings: Settings, folder: Path) -> Iterator[Deployment]:
    """Start everything, wait until it is ready, and end all of it whatever happens.

    Raises ``Failed`` with the last lines of its log where a process does not become ready.
    """
    (folder / HOOKS).mkdir(parents=True)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder / SCRATCH, ignore_errors=True)
        shared = stack.enter_context(own_network())
        events = Lines(folder / "events.jsonl")
        stack.callback(events.close)
        starter = _Starter(software, settings, folder, events, stack, free_port())
        live = starter.start(shared)
        stack.callback(_close, live)
        yield live


def _close(live: Deployment) -> None:
    for stream in live.streams:
        stream.close()


@frozen(eq=False)
class _Starter:
    software: Software
    settings: Settings
    folder: Path
    events: Lines
    stack: ExitStack
    port: int

    def start(self, shared: str | None) -> Deployment:
        frontend = self._spawn("fe", self.software.frontend(self.settings, self.port))
        workers: dict[str, Worker] = {}
        for name in self.settings.names:
            workers[name] = self._worker(frontend, name, workers.values())
        self._await(frontend, self._serves, "serves no model")
        log = Tail(self.folder / "fe.log")
        start = partial(self._worker, frontend)
        return Deployment(
            self.settings,
            self.folder,
            self.port,
            frontend,
            workers,
            log,
            self.events,
            shared,
            start,
        )

    def _spawn(self, name: str, argv: Sequence[str]) -> Child:
        own = self.software.environment(self.settings, self.folder)
        log = self.folder / f"{name}.log"
        child = Child(name, argv, {**os.environ, **own}, log, self.folder)
        self.stack.callback(child.end)
        self.events.write(kind="spawn", name=name, pid=child.pid, argv=list(argv)[1:])
        return child

    def _worker(self, frontend: Child, name: str, others: Iterable[Worker]) -> Worker:
        """Start one, and wait until discovery lists a worker that is none of the others."""
        child = self._spawn(name, self.software.worker(self.settings, self.folder, name))
        known = {worker.instance for worker in others}
        found: dict[int, tuple[str, int]] = {}

        def listed() -> bool:
            found.update(self._instances(known))
            if frontend.status is not None:
                raise _died(frontend)
            return bool(found)

        self._await(child, listed, "is not listed")
        ((instance, address),) = found.items()
        self.events.write(kind="worker_ready", name=name, pid=child.pid, instance=instance)
        emitted = Tail(self.folder / f"c{name}.jsonl")
        return Worker(name, child, instance, address, emitted)

    def _instances(self, known: set[int]) -> dict[int, tuple[str, int]]:
        _, said = get(self.port, "/health")
        listed = (said.get("instances") or ()) if isinstance(said, dict) else ()
        return {
            item["instance_id"]: _address(item["transport"]["tcp"])
            for item in listed
            if item["endpoint"] == SERVED and item["instance_id"] not in known
        }

    def _serves(self) -> bool:
        _, said = get(self.port, "/v1/models")
        return isinstance(said, dict) and bool(said.get("data"))

    def _await(self, child: Child, what: Any, lacks: str) -> None:
        end = time.monotonic() + READY
        while not what():
            if child.status is not None:
                raise _died(child)
            if time.monotonic() > end:
                raise Failed(f"{child.name} {lacks} after {READY:g} s; {_last(child)}")
            time.sleep(0.05)


def _died(child: Child) -> Failed:
    return Failed(f"{child.name} ended with status {child.status}; {_last(child)}")


def _last(child: Child) -> str:
    lines = child.log.read_text("utf-8", "replace").splitlines()[-3:]
    return f"{child.log} ends: " + " | ".join(map(_said, lines or ["(empty)"]))


def _said(line: str) -> str:
    """What a line of a log says, short."""
    with suppress(ValueError, KeyError, TypeError):
        line = json.loads(line)["message"]
    return str(line).strip()[:300]


def _address(transport: str) -> tuple[str, int]:
    """The address in ``127.0.0.1:46097/9f36/dynamo/backend/generate``."""
    host, _, port = transport.partition("/")[0].rpartition(":")
    return host or LOOPBACK, int(port)
