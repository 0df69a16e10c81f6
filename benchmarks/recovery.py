"""The world that is measured: requests that recover from crashes and hangs of their workers."""

from __future__ import annotations

from enum import Enum

from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    at_rest,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    identifier,
    members,
    put,
    step,
    timer,
    transition,
)

Workers = Identifiers("worker")
Requests = Identifiers("request")


class Health(Enum):
    """Of a worker."""

    UP = "up"
    HUNG = "hung"
    DOWN = "down"


class Phase(Enum):
    """Of a request."""

    QUEUED = "queued"
    PREFILL = "prefill"
    DECODE = "decode"
    DONE = "done"
    FAILED = "failed"


@frozen
class Worker:
    """Its health, and whether the router knows that it is gone."""

    health: Health = Health.UP
    excluded: bool = False


@frozen
class Request:
    """Where it runs, what was delivered, where its KV cache is."""

    phase: Phase = Phase.QUEUED
    worker: int | None = identifier(Workers)
    kv: frozenset[int] = members(Workers)
    delivered: int = bounded(0, "tokens")
    retries: int = bounded(0, "retries")


@frozen
class World:
    """Workers, requests and the faults still to come."""

    workers: tuple[Worker, ...] = each(Workers)
    requests: tuple[Request, ...] = each(Requests)
    faults: int = bounded(0, "faults", initial=2)


def _request(world: World, index: int, request: Request) -> World:
    return evolve(world, requests=put(world.requests, index, request))


def _worker(world: World, index: int, worker: Worker) -> World:
    return evolve(world, workers=put(world.workers, index, worker))


@transition(step, request=Requests, worker=Workers)
def dispatch(world: World, request: int, worker: int) -> World | None:
    """{request} goes to {worker}."""
    item = world.requests[request]
    if item.phase != Phase.QUEUED or world.workers[worker].excluded:
        return None
    phase = Phase.DECODE if worker in item.kv else Phase.PREFILL
    return _request(world, request, evolve(item, phase=phase, worker=worker))


@transition(step, request=Requests, worker=Workers)
def prefill(world: World, request: int, worker: int) -> World | None:
    """{worker} has the KV cache of {request}."""
    item = world.requests[request]
    if item.phase != Phase.PREFILL or item.worker != worker:
        return None
    if world.workers[worker].health != Health.UP:
        return None
    return _request(world, request, evolve(item, phase=Phase.DECODE, kv=item.kv | {worker}))


@transition(step, request=Requests, worker=Workers)
def decode(world: World, request: int, worker: int) -> World | None:
    """{worker} sends a token of {request}."""
    item = world.requests[request]
    if item.phase != Phase.DECODE or item.worker != worker:
        return None
    if world.workers[worker].health != Health.UP:
        return None
    delivered = item.delivered + 1
    if delivered == 2:
        return _request(world, request, evolve(item, phase=Phase.DONE, worker=None, delivered=2))
    return _request(world, request, evolve(item, delivered=delivered))


@transition(timer, request=Requests, worker=Workers)
def migrate(world: World, request: int, worker: int) -> World | None:
    """{request} is taken from {worker}, which does not answer."""
    item = world.requests[request]
    if item.worker != worker or world.workers[worker].health == Health.UP:
        return None
    if item.retries == 2:
        return _request(world, request, evolve(item, phase=Phase.FAILED, worker=None))
    again = evolve(item, phase=Phase.QUEUED, worker=None, retries=item.retries + 1)
    return _worker(
        _request(world, request, again), worker, evolve(world.workers[worker], excluded=True)
    )


@transition(timer, worker=Workers)
def restart(world: World, worker: int) -> World | None:
    """{worker} comes back with an empty memory."""
    here = world.workers[worker]
    if here.health != Health.DOWN or not here.excluded:
        return None
    if any(item.worker == worker for item in world.requests):
        return None
    requests = tuple(evolve(item, kv=item.kv - {worker}) for item in world.requests)
    return evolve(_worker(world, worker, Worker()), requests=requests)


@transition(fault, worker=Workers)
def crash(world: World, worker: int) -> World | None:
    """{worker} dies."""
    here = world.workers[worker]
    if here.health == Health.DOWN or not world.faults:
        return None
    dead = _worker(world, worker, evolve(here, health=Health.DOWN))
    return evolve(dead, faults=world.faults - 1)


@transition(fault, worker=Workers)
def hang(world: World, worker: int) -> World | None:
    """{worker} freezes."""
    here = world.workers[worker]
    if here.health != Health.UP or not world.faults:
        return None
    hung = _worker(world, worker, evolve(here, health=Health.HUNG))
    return evolve(hung, faults=world.faults - 1)


@always(request=Requests)
def no_token_from_nowhere(world: World, request: int) -> bool:
    """Who decodes has the KV cache."""
    item = world.requests[request]
    return item.phase != Phase.DECODE or len(item.kv) > 0


@always(request=Requests)
def done_is_done(world: World, request: int) -> bool:
    """What is done has all its tokens."""
    item = world.requests[request]
    return item.phase != Phase.DONE or item.delivered == 2


@at_rest(request=Requests)
def nobody_waits(world: World, request: int) -> bool:
    """At rest every request is done, or has failed, or no worker is left."""
    item = world.requests[request]
    gone = all(worker.excluded for worker in world.workers)
    return item.phase in (Phase.DONE, Phase.FAILED) or gone


def recovery(workers: int, requests: int, faults: int) -> System:
    """So many requests on so many interchangeable workers."""
    return System(
        f"recovery-{workers}-{requests}-{faults}",
        World(
            workers=tuple(Worker() for _ in range(workers)),
            requests=tuple(Request() for _ in range(requests)),
            faults=faults,
        ),
        (dispatch, prefill, decode, migrate, restart, crash, hang),
        (no_token_from_nowhere, done_is_done, nobody_waits),
        sizes={"tokens": 2, "retries": 2, "faults": 2},
    )
