"""The run: requests arrive, are prefilled, handed over and decoded; one loop for everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from itertools import chain, islice
from math import inf, isfinite

from rackproof.model.kernel import ModelError
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation.channels import Channels
from rackproof.model.performance.simulation.decode import Decode
from rackproof.model.performance.simulation.events import Events
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.levels import Idling, Sampler
from rackproof.model.performance.simulation.meters import Meters
from rackproof.model.performance.simulation.mixed import Mixed
from rackproof.model.performance.simulation.prefill import Prefill
from rackproof.model.performance.simulation.report import probes, told
from rackproof.model.performance.simulation.results import Run
from rackproof.model.performance.simulation.routing import Router
from rackproof.model.performance.simulation.server import Server
from rackproof.model.performance.simulation.setting import (
    Aggregated,
    Deployment,
    Disaggregated,
    Request,
    Slo,
)
from rackproof.model.performance.simulation.steps import Pace

Action = Callable[["Simulation"], None]
"""What a script does at a time, to the simulation as it is then."""


def simulate(
    deployment: Deployment,
    requests: Iterable[Request],
    slo: Slo | None = None,
    *,
    warm_up: float = 0.1,
    count: int | None = None,
    keep: int = 20_000,
    script: Iterable[tuple[float, Action]] = (),
) -> Run:
    """Run requests, in the order they arrive, through a deployment.

    warm_up: the share of requests at the start that spreads leave out; where the requests have no
    length and are more than ``keep``, ``count`` says how many there are. Up to ``keep`` requests
    are recorded one by one, and quantiles are exact; beyond, memory does not grow with them.
    script: actions at times (seconds), such as an instance that goes down. ``ModelError`` where a
    request is none, or out of order; one that can never fit is rejected, and the others go on.
    """
    if not 0 <= warm_up < 1:
        raise ModelError(f"warm_up is a share from 0 up to 1, not {warm_up!r}")
    if not keep >= 0 or not (count is None or count >= 1):
        raise ModelError(f"keep is 0 or more, count 1 or more, not {keep!r} and {count!r}")
    known, requests = _counted(requests, count, keep)
    if known is None and warm_up:
        raise ModelError(f"of more than {keep:,} requests without a length, count says how many")
    simulation = Simulation(deployment, Meters(slo or Slo(), int((known or 0) * warm_up), keep))
    for time, action in script:
        simulation.at(time, action)
    return simulation.run(requests)


def _counted(
    requests: Iterable[Request], count: int | None, keep: int
) -> tuple[int | None, Iterable[Request]]:
    """How many there are, if that can be told, and the same requests."""
    if count is not None or isinstance(requests, Sized):
        return count if count is not None else len(requests), requests  # type: ignore[arg-type]
    rest = iter(requests)
    first = list(islice(rest, keep + 1))
    return (len(first) if len(first) <= keep else None), chain(first, rest)


def _checked(requests: Iterable[Request]) -> Iterator[Request]:
    """The same; ``ModelError`` at one that is none, or comes before the one before it."""
    last = 0.0
    for index, request in enumerate(requests):
        arrival = request.arrival_s
        if not (isinstance(arrival, int | float) and isfinite(arrival) and arrival >= 0):
            raise ModelError(f"request {index} arrives at a time from 0 s on, not {arrival!r}")
        for name in ("prompt", "output"):
            tokens = getattr(request, name)
            if not isinstance(tokens, int) or tokens < 1:
                raise ModelError(f"request {index}: {name} is a number of tokens, not {tokens!r}")
        if arrival < last:
            raise ModelError(
                f"requests are in the order they arrive; request {index} arrives at {arrival:g} s, "
                f"the one before at {last:g} s"
            )
        last = arrival
        yield request


def _enqueue(job: Job, server: Server) -> None:
    server.enqueue(job)


class Simulation:
    """A run under way. prefill, decode: its instances (aggregated: the same ones).

    Instances go down and come back (``Server.stop``, ``take``, ``start``), and the requests that
    were on them are admitted again or lost, by a script.
    """

    def __init__(self, deployment: Deployment, meters: Meters) -> None:
        self.deployment, self.meters = deployment, meters
        self.events = Events()
        self.open: dict[int, Job] = {}
        self.prefill: Sequence[Server]
        self.decode: Sequence[Decode]
        self.idling: dict[str, Idling]
        self.pools: dict[str, Sequence[Server]]
        self.channels = Channels(1)
        self._paths: Sequence[Sequence[Link]] = ()
        self._detours: dict[str, tuple[Link, float]] = {}
        self._streams = self._back_pressure = self._early = False
        if isinstance(deployment, Disaggregated):
            self._build(deployment)
        else:
            self._build_mixed(deployment)
        self.sampler = Sampler(probes(self))
        self._capacity = min(pool.engine.kv_capacity_tokens for pool in deployment.pools)

    def _build(self, deployment: Disaggregated) -> None:
        prefill, decode = deployment.prefill, deployment.decode
        idling, other = Idling(prefill.count), Idling(decode.count)
        paces: dict[int, Pace] = {}
        self.prefill = [Prefill(i, deployment, self, idling) for i in range(prefill.count)]
        self.decode = [
            Decode(f"decode-{i}", i, decode.engine, deployment.decode_batch, self, other, paces)
            for i in range(decode.count)
        ]
        self.pools = {"prefill": self.prefill, "decode": self.decode}
        self.idling = {"prefill": idling, "decode": other}
        self._first = Router(deployment.prefill_routing, self.prefill, _enqueue, idling)
        self._second = Router(deployment.decode_routing, self.decode, self._ship, other)
        self.channels = Channels(deployment.hand_off.channels or prefill.count)
        self._link, self._streams = deployment.hand_off.link, deployment.hand_off.streaming
        self._paths, self._back_pressure = deployment.paths or (), deployment.back_pressure
        self._early = deployment.chosen_early
        self._kv_bytes, self._layers = prefill.engine.kv_bytes_per_token, prefill.engine.layers
        self._routers = [self._first, self._second]

    def _build_mixed(self, deployment: Aggregated) -> None:
        idling = Idling(deployment.pool.count)
        paces: dict[int, Pace] = {}
        self.decode = [
            Mixed(i, deployment, self, idling, paces) for i in range(deployment.pool.count)
        ]
        self.prefill = self.decode
        self.pools = {"aggregated": self.decode}
        self.idling = {"aggregated": idling}
        self._first = self._second = Router(deployment.routing, self.decode, _enqueue, idling)
        self._routers = [self._first]

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self.events.now

    def run(self, requests: Iterable[Request]) -> Run:
        """All requests, until the last is done."""
        events, sampler, coming = self.events, self.sampler, _checked(requests)
        request = next(coming, None)
        if request is None:
            raise ModelError("there are no requests to simulate")
        while request is not None or self.open:
            arrival = inf if request is None else request.arrival_s
            time = min(arrival, events.due)
            if time == inf:
                break
            if time >= sampler.due:
                sampler.take(time)
            if request is not None and arrival == time:
                events.now = time
                self._arrive(request)
                request = next(coming, None)
            else:
                events.next()
        for job in list(self.open.values()):
            self.lose(job, "it waited where nothing happens any more")
        return told(self)

    # What a script does.

    def at(self, time: float, action: Action) -> None:
        """Have something done at a time that is yet to come."""
        if not time >= self.now:
            raise ModelError(f"it is {self.now:g} s; nothing can be done at {time!r} s any more")
        self.events.at(time, action, self)

    def believe(self, server: Server, up: bool) -> None:
        """What routers think of an instance from now on."""
        self.believe_all([server], up)

    def believe_all(self, servers: Iterable[Server], up: bool) -> None:
        """Likewise of several at once: what waits in common is spread over all of them."""
        for server in servers:
            server.believed = up
            server.ghosts = []
        for router in self._routers:
            router.look(self.now)

    def prefill_again(self, job: Job, cached: int = 0, first: bool = False) -> None:
        """Compute its KV anew, but for so many tokens that are there; its end gives a token.

        first: ahead of others that wait for a prefill, behind those that are first, too.
        """
        self._release(job)
        job.first = first
        job.ready, job.landed, job.done = False, False, 0
        job.cached = min(cached, job.known - 1)
        self._first.send(job, self.now, self._paths)

    def decode_again(self, job: Job, after_s: float = 0.0) -> None:
        """Its KV comes by other means in so long; then an instance is chosen."""
        self._release(job)
        job.ready = True
        self.events.at(self.now + after_s, self._landed, job, job.attempt)

    def hand_over_again(self, job: Job) -> None:
        """Its KV goes over the channels of the hand-off, from where it still is."""
        if isinstance(self.deployment, Aggregated):
            raise ModelError("an aggregated deployment has no hand-off")
        job.ready = True
        job.prefill_end_s = self.now
        self._send_on(job)

    def detour(self, servers: Iterable[Server], link: Link | None, since_s: float) -> None:
        """KV to or from instances goes over another link; until a time, it goes nowhere.

        None: it goes its usual way again. What is under way now has left already.
        """
        for server in servers:
            if link is None:
                self._detours.pop(server.name, None)
            else:
                self._detours[server.name] = (link, since_s)

    def lose(self, job: Job, reason: str) -> None:
        """It will not be served."""
        self._release(job)
        del self.open[job.index]
        self.meters.lose(job, self.now, reason)

    # What instances tell.

    def begun(self, server: Server, jobs: list[Job], seconds: float) -> None:
        """A prefill began: its first layer, if that is handed over by itself."""
        if self._streams:
            end = self.now + seconds
            first = self.now + seconds / server.engine.layers
            for job in jobs:
                if job.emitted + 1 < job.output:
                    self.events.at(first, self._stream, job, job.attempt, end)

    def prefilled(self, job: Job, server: Server) -> None:
        """A prefill ended."""
        if isinstance(server, Decode):
            return
        if job.emitted == job.output:
            self.finished(job)
        elif not self._streams:
            self._send_on(job)

    def finished(self, job: Job) -> None:
        """Its last token came."""
        self._release(job)
        del self.open[job.index]
        self.meters.finish(job, self.now)

    def refill(self, server: Server) -> None:
        """An instance may have room."""
        router = self._second if isinstance(server, Decode) else self._first
        if router.common:
            router.refill(self.now)

    # How requests move.

    def _arrive(self, request: Request) -> None:
        meters = self.meters
        job = Job(request, meters.offered, request.prompt, request.output)
        meters.came(request)
        why = self._impossible(job)
        if why:
            meters.reject(job, why)
            return
        meters.in_system.add(self.now, 1)
        self.open[job.index] = job
        self._first.send(job, self.now, self._paths)

    def _impossible(self, job: Job) -> str:
        """Why a request can never be served; nothing if it can."""
        most, needed = self.deployment.context_tokens, job.reserved
        if most is not None and needed > most:
            return f"it has {needed:,} tokens with its output; the context has {most:,}"
        if needed > self._capacity:
            return f"its KV takes {needed:,} tokens; an instance has room for {self._capacity:,}"
        return ""

    def _send_on(self, job: Job) -> None:
        """Its KV is to go to decode: choose an instance, now or once it is there."""
        if self._early:
            links: Sequence[Sequence[Link]] = ()
            if self._paths and job.source is not None:
                links = tuple((link,) for link in self._paths[job.source.index])
            self._second.send(job, self.now, links)
        else:
            end_s = self._transferred(job, self._link, self._detour(job))
            self.events.at(end_s, self._landed, job, job.attempt)

    def _stream(self, job: Job, attempt: int, end_s: float) -> None:
        """The first layer of its prefill is done."""
        if attempt == job.attempt:
            job.streamed_s = end_s
            self._send_on(job)

    def _ship(self, job: Job, server: Server) -> None:
        """To an instance that decodes, with its KV or before it."""
        assert isinstance(server, Decode)
        if job.landed:
            self._last_leg(job, server)
        elif self._back_pressure:
            server.ask(job, partial(self._transfer, job, server))
        else:
            self._transfer(job, server)

    def _transfer(self, job: Job, server: Decode) -> None:
        link = self._link
        if self._paths and job.source is not None:
            link = self._paths[job.source.index][server.index]
        self._sent(job, server, self._transferred(job, link, self._detour(job, server)))

    def _sent(self, job: Job, server: Decode, end_s: float) -> None:
        """Its KV is on its way to an instance until then."""
        claim = 0 if job.promise is server else job.reserved
        server.coming += 1
        server.claimed += claim
        self.events.at(end_s, self._arrived, job, server, job.attempt, claim)

    def _last_leg(self, job: Job, server: Decode) -> None:
        """Where its KV is, any instance can have it, unless its way is another."""
        if server.name not in self._detours:
            server.enqueue(job)
            return
        self._sent(job, server, self._transferred(job, self._link, self._detours[server.name]))

    def _detour(self, job: Job, server: Server | None = None) -> tuple[Link, float] | None:
        """Of where its KV is, and of where it goes: the slower, since the later."""
        ends = [end.name for end in (job.source, server) if end is not None]
        found = [self._detours[name] for name in ends if name in self._detours]
        if not found:
            return None
        return min((way for way, _ in found), key=lambda way: way.bytes_per_s), max(
            s for _, s in found
        )

    def _transferred(self, job: Job, link: Link, detour: tuple[Link, float] | None) -> float:
        """When its KV is there, over the first channel that is free."""
        size, start_s = (job.known - job.ready) * self._kv_bytes, self.now
        if detour is not None:
            link, since_s = detour
            start_s = max(start_s, since_s)
        if job.streamed_s is None:
            return self.channels.send(start_s, size, link)
        return self.channels.stream(start_s, job.streamed_s, size, self._layers, link)

    def _arrived(self, job: Job, server: Decode, attempt: int, claim: int) -> None:
        """Its KV is on the instance it was sent to; if that is known to be down, it goes on."""
        server.coming -= 1
        server.claimed -= claim
        if attempt != job.attempt:
            self.refill(server)
        elif server.up or server.believed:
            job.handed_over_s = self.now
            job.streamed_s = None
            if server.up:
                self._release(job)
            server.enqueue(job)
        else:
            job.interrupt()
            self._send_on(job)

    def _landed(self, job: Job, attempt: int) -> None:
        """Its KV is where any instance that decodes can have it."""
        if attempt == job.attempt:
            job.handed_over_s = self.now
            job.streamed_s, job.landed = None, True
            self._release(job)
            self._second.send(job, self.now)

    def _release(self, job: Job) -> None:
        if job.source is not None:
            job.source.release(job)
