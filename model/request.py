"""The request, as the frontend sees it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.kernel import client, evolve, frozen, transition
from rackproof.model.logic import some
from rackproof.model.sorts import Requests

if TYPE_CHECKING:
    from rackproof.model.world import World


class Phase(Enum):
    """Where a request is."""

    QUEUED = "queued"
    """To be dispatched, for the first time or again."""
    PREFILLING = "prefilling"
    READY = "ready"
    """Its KV is on a prefill worker; decode is to be chosen."""
    DECODING = "decoding"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = (Phase.DONE, Phase.FAILED, Phase.CANCELLED)


@frozen
class Request:
    """One request.

    guided: it has guided decoding. short: its decode worker needs no remote KV. withholds: the
    detokeniser holds the text of its first token back (it may begin a stop string). malformed:
    every worker refuses it. gone: its client left. needless: it failed though a worker could have
    been tried.
    """

    guided: bool = False
    short: bool = False
    withholds: bool = False
    malformed: bool = False
    phase: Phase = Phase.QUEUED
    gone: bool = False
    needless: bool = False


@transition(client, duration="client-choice", request=Requests)
def leave(world: World, request: int) -> World | None:
    """The client of {request} leaves."""
    here = world.requests[request]
    if here.gone or not world.budget.leave or here.phase in TERMINAL:
        return None
    world = _blamed(world.spend("leave").with_request(request, gone=True), request)
    if here.phase == Phase.PREFILLING:
        return world
    if here.phase == Phase.READY and world.protocol.collect_after_cancel:
        return world
    return world.end(request, Phase.CANCELLED)


def _blamed(world: World, request: int) -> World:
    """Where the router takes a client that leaves for a fault of its worker, the worker is out."""
    if world.protocol.blame_only_faults or world.requests[request].phase != Phase.DECODING:
        return world
    serving = [
        serves(world, request, worker) & endpoint.answers & (not endpoint.inhibited)
        for worker, endpoint in enumerate(world.endpoints)
    ]
    endpoints = tuple(
        evolve(
            endpoint,
            inhibited=endpoint.inhibited | blamed,
            blamed_for_client=endpoint.blamed_for_client | blamed,
        )
        for endpoint, blamed in zip(world.endpoints, serving, strict=True)
    )
    return evolve(world, endpoints=endpoints)


def serves(world: World, request: int, worker: int) -> bool:
    """Whether a worker has the present attempt of a request."""
    current = world.retries[request].current
    return some(
        (current == attempt) & (here.worker == worker)
        for attempt, here in enumerate(world.streams[request].attempts)
    )


def waits(world: World, request: int) -> bool:
    """Whether a request waits for a worker."""
    phase = world.requests[request].phase
    return (phase == Phase.DECODING) | (phase == Phase.PREFILLING)


def asked(world: World, request: int, worker: int) -> bool:
    """Whether a prefill worker has the present attempt of a request."""
    current = world.retries[request].current
    return some(
        (current == attempt) & (load.prefill == worker)
        for attempt, load in enumerate(world.loads[request].attempts)
    )
