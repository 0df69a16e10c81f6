"""A plan carried out on a live deployment, and what was seen of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from rackproof.scenarios.live.client import Stream
from rackproof.scenarios.live.deployment import (
    OWN,
    PREFILL,
    Deployment,
    Effect,
    Failed,
    Route,
    Software,
    Worker,
    deployed,
)
from rackproof.scenarios.live.plan import AFTER, BEFORE, Action, Asked, Plan, Point
from rackproof.scenarios.live.processes import until

PATIENCE: Final = 20.0
"""Seconds beyond its time-outs that a request, or a point of it, is waited for."""
PROBES: Final = 8
"""Requests that are sent afterwards at most, until two in a row succeed."""


Groups = list[tuple[Point, list[Action]]]


@frozen
class Probe:
    """A request that was sent afterwards, so many seconds after the end of the one before it all.

    status: of HTTP. succeeded: whether it got all of its output. health: what the frontend said of
    itself at that moment; listed: how many workers discovery had then; alive: and how many were.
    stopped: the worker that it was sent to though that was stopped.
    """

    seconds: float
    status: int | None
    succeeded: bool
    health: str
    listed: int
    alive: int
    stopped: str | None = None


@frozen(eq=False)
class Had:
    """A request of the run: what its client got, whether that came to an end, and its attempts
    (those of prefill first, where that is apart).
    """

    name: str
    stream: Stream
    ended: bool
    routes: tuple[Route, ...]


@frozen
class Seen:
    """What came of a plan.

    patience: how long a request was waited for, in seconds. effects: of each fault, by what it is
    known to have taken effect. missed: a point that the deployment never came to, and what it did
    instead; no fault behind it was injected. bound: the workers that stood for those of the model.
    prompt: how many tokens the prompt has, by the usage of a request that nothing happened to.
    untouched: the workers to which nothing was done. exact: whether every token of the output is
    known by its position. shared: why it was on the network of everything else, if it was.
    """

    folder: Path
    requests: tuple[Had, ...]
    patience: float
    effects: tuple[Effect, ...]
    missed: str | None
    bound: Mapping[str, str]
    prompt: int | None
    untouched: tuple[str, ...]
    exact: bool
    probes: tuple[Probe, ...]
    shared: str | None
    seconds: float

    @property
    def stream(self) -> Stream:
        """What the client of the first request got."""
        return self.requests[0].stream

    @property
    def routes(self) -> tuple[Route, ...]:
        """The attempts of all requests."""
        return tuple(route for had in self.requests for route in had.routes)


def carry_out(plan: Plan, software: Software, folder: Path, every: float = 1.0) -> Seen:
    """Start a deployment, send the requests, do what is planned, and see what comes of it.

    every: seconds from one request afterwards to the next.

    Raises ``Failed`` where the deployment cannot be started or a fault has no effect.
    """
    started = time.monotonic()
    with deployed(software, plan.settings, folder) as live:
        trial = _Trial(plan, live)
        requests = trial.run()
        probes = trial.probe(every)
        touched = {effect.worker for effect in trial.effects}
        return Seen(
            folder,
            tuple(requests),
            trial.patience,
            tuple(trial.effects),
            trial.missed,
            dict(trial.bound),
            trial.prompt,
            tuple(name for name in live.workers if name not in touched),
            "mocker" not in plan.engines,
            tuple(probes),
            live.shared,
            time.monotonic() - started,
        )


@frozen(eq=False)
class _Held:
    """A worker that waits at a point, until the file is gone."""

    file: Path
    point: Point

    @property
    def taken(self) -> bool:
        return self.file.with_suffix(".taken").exists()

    def release(self) -> None:
        for file in (self.file, self.file.with_suffix(".taken")):
            file.unlink(missing_ok=True)


class _Missed(Exception):
    """The deployment did not come to a point."""


class _Trial:
    def __init__(self, plan: Plan, live: Deployment) -> None:
        self.plan, self.live = plan, live
        self.bound: dict[str, str] = {}
        self.streams: dict[int, Stream] = {}
        self.held: dict[int, _Held] = {}
        self.holds = 0
        self.effects: list[Effect] = []
        self.prompt: int | None = None
        self.missed: str | None = None

    @property
    def patience(self) -> float:
        """How long a request may go without a sign of life."""
        settings = self.plan.settings
        return (settings.stream_timeout or 0.0) * (settings.migration_limit + 1) + PATIENCE

    def run(self) -> list[Had]:
        """Steer, send each request when it is its turn, do what is planned at each point, and wait
        for the end of all.
        """
        self._steer()
        groups, asked = self.plan.groups, list(self.plan.requests)
        try:
            for number, (point, actions) in enumerate(groups):
                while asked and (asked[0].step < actions[0].step):
                    self._send(asked.pop(0), groups[number:])
                self._at(point, actions, groups[number + 1 :])
            for one in asked:
                self._send(one, [])
        except _Missed as missed:
            self.missed = str(missed)
            self.live.events.write(kind="missed", what=self.missed)
        finally:
            for held in self.held.values():
                held.release()
        return [self._had(one) for one in self.plan.requests if one.number in self.streams]

    def _had(self, asked: Asked) -> Had:
        stream = self.streams[asked.number]
        ended = self.live.finish(stream, self.patience)
        return Had(asked.name, stream, ended, tuple(self.routes_of(stream)))

    def _send(self, asked: Asked, coming: Groups) -> None:
        """Send a request; whoever comes to the first point of it at which something is done will
        wait there.
        """
        number = asked.number
        self._hold(number, coming)
        self.streams[number] = self.live.send(f"s{number}", self.plan.tokens, OWN + number)

    def _at(self, point: Point, actions: list[Action], coming: Groups) -> None:
        """Do what is to be done at a point, once that is come to."""
        number = point.request
        stream = self.streams.get(number)
        if stream is None:
            self._do(actions)
        elif point.place == AFTER:
            if not stream.wait(seconds=self.patience):
                raise _Missed(f"{point}: it still went on after {self.patience:g} s")
            self._do(actions)
        else:
            held = self.held[number]
            self._await(held, stream)
            self._bind(held)
            after = next((point for point, _ in coming if point.request == number), None)
            if after == point:
                self._do(actions)
                return
            self._hold(number, coming)
            self._do(actions)
            held.release()

    def _steer(self) -> None:
        """Send short requests until every worker has had one, and the next one goes to the worker
        that is to serve first: the router takes one after the other. Where prefill and decode are
        apart it takes whom it likes, and that is seen when they wait.
        """
        workers = self.live.workers
        count = len(workers)
        first = self.plan.requests[0].serves.get(0, self.plan.workers[0])
        wanted = workers[self._namesake(first)]
        for number in range(2 * count + 1):
            turns = [route.worker for route in self.live.routes()][-count:]
            if self.plan.apart:
                if number == count:
                    return
            elif len(set(turns)) == count and turns[0] is wanted:
                self.bound[first] = wanted.name
                return
            stream = self.live.send(f"warm{number}", 2)
            self.live.finish(stream, PATIENCE)
            if not stream.succeeded:
                raise Failed(f"a request to the untouched deployment fails: {stream.told()}")
            self.prompt = (stream.usage or {}).get("prompt_tokens")
        had = {route.worker.name for route in self.live.routes()}
        told = ", ".join(f"{name} {'some' if name in had else 'none'}" for name in workers)
        raise Failed(
            f"the frontend does not send its requests to one worker after the other: of "
            f"{2 * count + 1} requests {told} (see {self.live.folder / 'fe.log'})"
        )

    def _hold(self, number: int, coming: Groups) -> None:
        """Have whoever comes to the next point of a request wait there."""
        places = (point for point, _ in coming if point.request == number)
        point = next((one for one in places if one.place not in (BEFORE, AFTER)), None)
        if point is not None:
            name, self.holds = f"h{self.holds}", self.holds + 1
            file = self.live.hook(name, do="hold", at=point.place, of=OWN + number)
            self.held[number] = _Held(file, point)

    def _await(self, held: _Held, stream: Stream) -> None:
        """Wait until a worker waits at a point, and the client has all that came before it."""
        place = held.point.place
        if self._runs_on:
            until(lambda: len(stream.tokens) >= int(place) or stream.is_over, self.patience)
            if not stream.is_over:
                return
        until(lambda: held.taken or stream.is_over, self.patience)
        if not held.taken:
            over = f"the stream was over by then ({_end(stream)})"
            waited = f"waited {self.patience:g} s for it, and the client was at {_end(stream)}"
            raise _Missed(f"{held.point}: {over if stream.is_over else waited}")
        if place == PREFILL:
            return
        most = self.plan.tokens if isinstance(place, str) else int(place)
        if self.plan.settings.length is not None:
            most = min(most, self.plan.settings.length)
        if not stream.wait(most, PATIENCE):
            raise _Missed(
                f"{held.point}: the worker is there, and {PATIENCE:g} s later the client was at "
                f"{_end(stream)}"
            )

    def _bind(self, held: _Held) -> None:
        """Take the worker that waits for the one of the model that has this attempt."""
        asked = next(one for one in self.plan.requests if one.number == held.point.request)
        name = asked.worker(held.point)
        for worker in self.live.workers.values():
            if name is not None and _waits(worker, held.file.stem):
                self.bound[name] = worker.name
        if name is not None and self._runs_on:
            of = self.routes_of(self.streams[held.point.request])
            self.bound[name] = of[-1].worker.name

    @property
    def _runs_on(self) -> bool:
        """Whether workers decode that do not wait."""
        return self.plan.apart and "mocker" in self.plan.engines

    def _namesake(self, name: str) -> str:
        return self.plan.settings.names[self.plan.workers.index(name)]

    def _worker(self, name: str) -> Worker:
        """The worker that stands for one of the model: its namesake, or one that is free."""
        if name not in self.bound:
            own = self._namesake(name)
            taken = set(self.bound.values())
            free = [one for one in self.live.workers if one not in taken and one[0] == own[0]]
            if not free:
                raise _Missed(f"{name} has no worker that stands for it: all have another part")
            self.bound[name] = own if own in free else free[0]
        return self.live.workers[self.bound[name]]

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if action.worker is None:
                self.streams[action.point.request].leave()
                self.effects.append(Effect("leave", "the client", "its connection is closed"))
                continue
            faults: dict[str, Callable[..., Effect]] = {
                "crash": self.live.crash,
                "hang": self.live.hang,
                "resume": self.live.resume,
                "drain": self.live.drain,
                "restart": self.live.restart,
            }
            at = action.point.place
            worker = self._worker(action.worker)
            self.effects.append(faults[action.does](worker, at=at, step=action.step))

    def routes_of(self, stream: Stream) -> list[Route]:
        """The attempts of a request, by the frontend's log; of one that got nothing, none."""
        of = (stream.id or "").removeprefix("chatcmpl-")
        return [route for route in self.live.routes() if route.request == of]

    def probe(self, every: float) -> list[Probe]:
        """Ask for a little more, again and again, until it is served as before; as long as a worker
        is stopped, to see whether it is sent any.
        """
        probes: list[Probe] = []
        started = time.monotonic()
        for number in range(PROBES):
            time.sleep(max(0.0, started + number * every - time.monotonic()))
            probes.append(self._probe(number, time.monotonic() - started))
            stopped = any(w.child.state == "T" for w in self.live.workers.values())
            if number and not stopped and all(probe.succeeded for probe in probes[-2:]):
                break
        return probes

    def _probe(self, number: int, seconds: float) -> Probe:
        alive = [w for w in self.live.workers.values() if w.child.state in "SRD"]
        health, listed = self.live.health()
        known = len(self.live.routes())
        stream = self.live.send(f"after{number}", 2)
        self.live.finish(stream, self.patience)
        sent = self.live.routes()[known:]
        found = Probe(
            round(seconds, 2),
            stream.status,
            stream.succeeded,
            health,
            len(listed),
            len(alive),
            next((r.worker.name for r in sent if r.worker.child.state == "T"), None),
        )
        self.live.events.write(
            kind="probe",
            tag=stream.tag,
            status=found.status,
            health=health,
            listed=len(listed),
            alive=len(alive),
            stopped=found.stopped,
        )
        return found


def _waits(worker: Worker, hook: str) -> bool:
    """Whether a worker wrote that it waits because of a hook."""
    lines = reversed(worker.emitted.read())
    return any(line["ev"] == "held" and line.get("hook") == hook for line in lines)


def _end(stream: Stream) -> str:
    if stream.error:
        return f"error {stream.error} after {len(stream.tokens)} tokens"
    return f"finish {stream.finish or 'none'} after {len(stream.tokens)} tokens"
