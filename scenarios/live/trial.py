"""A plan carried out on a live deployment, and what was seen of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from rackproof.scenarios.live.client import Stream
from rackproof.scenarios.live.deployment import (
    Deployment,
    Effect,
    Failed,
    Route,
    Software,
    Worker,
    deployed,
)
from rackproof.scenarios.live.plan import AFTER, BEFORE, Action, Plan, Point
from rackproof.scenarios.live.processes import until

PATIENCE: Final = 20.0
"""Seconds beyond its time-outs that a request, or a point of it, is waited for."""
PROBES: Final = 8
"""Requests that are sent afterwards at most, until two in a row succeed."""


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


@frozen
class Seen:
    """What came of a plan.

    patience: how long the request was waited for, in seconds. effects: of each fault, by what it is
    known to have taken effect. missed: a point that the deployment never came to, and what it did
    instead; no fault behind it was injected. bound: the workers that stood for those of the model.
    prompt: how many tokens the prompt has, by the usage of a request that nothing happened to.
    routes: the attempts of the request. untouched: the workers to which nothing was done. exact:
    whether every token of the output is known by its position. shared: why it was on the network
    of everything else, if it was.
    """

    folder: Path
    stream: Stream
    ended: bool
    patience: float
    effects: tuple[Effect, ...]
    missed: str | None
    bound: Mapping[str, str]
    prompt: int | None
    routes: tuple[Route, ...]
    untouched: tuple[str, ...]
    exact: bool
    probes: tuple[Probe, ...]
    shared: str | None
    seconds: float


def carry_out(plan: Plan, software: Software, folder: Path, every: float = 1.0) -> Seen:
    """Start a deployment, send the request, do what is planned, and see what comes of it.

    every: seconds from one request afterwards to the next.

    Raises ``Failed`` where the deployment cannot be started or a fault has no effect.
    """
    started = time.monotonic()
    with deployed(software, plan.settings, folder) as live:
        trial = _Trial(plan, live)
        stream, ended = trial.run()
        routes = trial.routes_of(stream)
        probes = trial.probe(every)
        touched = {effect.worker for effect in trial.effects}
        return Seen(
            folder,
            stream,
            ended,
            trial.patience,
            tuple(trial.effects),
            trial.missed,
            {name: worker.name for name, worker in trial.bound.items()},
            trial.prompt,
            tuple(routes),
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


class _Trial:
    def __init__(self, plan: Plan, live: Deployment) -> None:
        self.plan, self.live = plan, live
        self.bound: dict[str, Worker] = {}
        self.effects: list[Effect] = []
        self.prompt: int | None = None
        self.missed: str | None = None

    @property
    def patience(self) -> float:
        """How long the request may go without a sign of life."""
        settings = self.plan.settings
        return (settings.stream_timeout or 0.0) * (settings.migration_limit + 1) + PATIENCE

    def run(self) -> tuple[Stream, bool]:
        """Steer, send, do what is planned at each point, and wait for the end."""
        self._steer()
        groups = self.plan.groups
        for point, actions in groups:
            if point.place == BEFORE:
                self._do(actions, None)
        waiting = [(point, those) for point, those in groups if point.place not in (BEFORE, AFTER)]
        held = self._hold(waiting, 0)
        stream = self.live.send("s0", self.plan.tokens)
        for number, (point, actions) in enumerate(waiting):
            assert held is not None
            if not self._comes_to(held, stream):
                self._miss(point, stream)
                held.release()
                break
            following = self._hold(waiting, number + 1)
            self._bind(point)
            self._do(actions, stream)
            held.release()
            held = following
        ended = self.live.finish(stream, self.patience)
        if ended and self.missed is None:
            self._do([a for point, those in groups if point.place == AFTER for a in those], stream)
        return stream, ended

    def _steer(self) -> None:
        """Send short requests until every worker has had one, and the next one goes to the worker
        that is to serve first: the router takes one after the other.
        """
        workers = self.live.workers
        count = len(workers)
        first = self.plan.serves[0] if self.plan.serves else self.plan.workers[0]
        wanted = workers[f"w{self.plan.workers.index(first)}"]
        for number in range(2 * count + 1):
            turns = [route.worker for route in self.live.routes()][-count:]
            if len(set(turns)) == count and turns[0] is wanted:
                self.bound[first] = wanted
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

    def _hold(self, waiting: list[tuple[Point, list[Action]]], number: int) -> _Held | None:
        """Have whoever comes to a point wait there."""
        if number >= len(waiting):
            return None
        point = waiting[number][0]
        return _Held(self.live.hook(f"h{number}", do="hold", at=point.place), point)

    def _comes_to(self, held: _Held, stream: Stream) -> bool:
        """Wait until a worker waits at a point, and the client has all that came before it."""
        until(lambda: held.taken or stream.is_over, self.patience)
        if not held.taken:
            return False
        place = self.plan.tokens if isinstance(held.point.place, str) else held.point.place
        if self.plan.settings.length is not None:
            place = min(place, self.plan.settings.length)
        return stream.wait(place, PATIENCE)

    def _miss(self, point: Point, stream: Stream) -> None:
        how = f"the stream was over by then ({_end(stream)})" if stream.is_over else "it never came"
        self.missed = f"{point}: {how}"
        self.live.events.write(kind="missed", what=self.missed)

    def _bind(self, point: Point) -> None:
        """Take the worker that waits for the one of the model that has this attempt."""
        holding = [w for w in self.live.workers.values() if _is_holding(w)]
        if holding and point.attempt < len(self.plan.serves):
            last = max(holding, key=lambda worker: worker.emitted.seen[-1]["ts"])
            self.bound[self.plan.serves[point.attempt]] = last

    def _worker(self, name: str) -> Worker:
        """The worker that stands for one of the model: its namesake, or one that is free."""
        if name not in self.bound:
            own = self.live.workers[f"w{self.plan.workers.index(name)}"]
            free = [w for w in self.live.workers.values() if w not in self.bound.values()]
            self.bound[name] = own if own in free else free[0]
        return self.bound[name]

    def _do(self, actions: list[Action], stream: Stream | None) -> None:
        for action in actions:
            if action.worker is None:
                assert stream is not None
                stream.leave()
                self.effects.append(Effect("leave", "the client", "its connection is closed"))
                continue
            faults: dict[str, Callable[..., Effect]] = {
                "crash": self.live.crash,
                "hang": self.live.hang,
                "resume": self.live.resume,
                "drain": self.live.drain,
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


def _is_holding(worker: Worker) -> bool:
    """Whether the last that a worker wrote is that it waits."""
    seen = worker.emitted.read()
    return bool(seen) and seen[-1]["ev"] == "held"


def _end(stream: Stream) -> str:
    if stream.error:
        return f"error {stream.error} after {len(stream.tokens)} tokens"
    return f"finish {stream.finish or 'none'} after {len(stream.tokens)} tokens"
