"""Who is alive, and who is thought to be."""

from __future__ import annotations

from rackproof.invariants.premises import (
    a_client_left_or_a_worker_failed,
    a_healthy_worker_was_unheard,
    a_worker_was_dead,
    a_worker_was_marked,
    a_worker_was_unlisted,
)
from rackproof.model.endpoint import DEAD, Process
from rackproof.model.kernel import always, eventually
from rackproof.model.sorts import Requests, Workers
from rackproof.model.world import World


@always(
    request=Requests,
    premise=a_worker_was_unlisted,
    why="Each request sent to a worker that is known to be gone costs a retry, or fails.",
    catches=("dynamo#11646", "sglang#38523"),
)
def no_dispatch_to_removed(world: World, request: int) -> bool:
    """No request is dispatched to a worker that discovery has removed.

    Broken: {request} was sent to a worker that discovery had removed.
    """
    return not world.retries[request].to_removed


@eventually(
    worker=Workers,
    premise=a_worker_was_dead,
    why="A dead worker that stays listed takes requests for ever.",
)
def dead_endpoint_removed(world: World, worker: int) -> bool:
    """Sooner or later the router chooses no dead worker.

    Broken: {worker} no longer runs, and is still on the list that the router chooses from.
    """
    return world.endpoints[worker].process not in DEAD or not world.believed(worker)


@eventually(
    worker=Workers,
    premise=a_worker_was_marked,
    why="A healthy GPU that is never chosen again is capacity lost without an alarm.",
    catches=("dynamo#12138", "dynamo#5043", "router#2165"),
)
def live_endpoint_selectable(world: World, worker: int) -> bool:
    """No live worker stays unlisted, or marked as unfit by the router, for good.

    Broken: {worker} is up, and stays unlisted or marked as unfit.
    """
    endpoint = world.endpoints[worker]
    unseen = endpoint.stale and not world.protocol.route_on_stale_metrics
    inhibited = endpoint.inhibited and not endpoint.half_open
    marked = inhibited or endpoint.overloaded or unseen
    return endpoint.process != Process.UP or (endpoint.listed and not marked)


@always(
    worker=Workers,
    premise=a_healthy_worker_was_unheard,
    why="Discovery is there to tell who serves; that it is away, or slow, is no reason to stop.",
    catches=("dynamo#3493", "TRT#18403"),
)
def healthy_worker_stays(world: World, worker: int) -> bool:
    """No worker that is well stops itself because discovery did not hear of it.

    Broken: {worker} stopped itself, though it was well, because discovery no longer listed it.
    """
    return not world.endpoints[worker].stopped_while_well


@always(
    worker=Workers,
    premise=a_worker_was_dead,
    why="One dead worker takes healthy ones with it, and with them the requests they serve.",
    catches=("sglang#12779", "sglang#13657"),
)
def no_cascade(world: World, worker: int) -> bool:
    """No worker is killed because another one died.

    Broken: {worker} was killed because another worker was gone.
    """
    return not world.endpoints[worker].dragged_down


@always(
    worker=Workers,
    premise=a_client_left_or_a_worker_failed,
    why="A client that leaves, or asks for nonsense, takes a healthy worker away from all others.",
    catches=("dynamo 1.6.1 on a CPU: one request took out three workers", "sglang#25811"),
)
def no_blame_for_clients(world: World, worker: int) -> bool:
    """What a client did is not held against the worker that served it.

    Broken: {worker} was inhibited because a client left, or because a request was refused.
    """
    return not world.endpoints[worker].blamed_for_client


@always(
    worker=Workers,
    premise=a_worker_was_marked,
    why="Each request sent to a worker that is still frozen costs its stream time-out and a retry.",
    catches=("dynamo 1.6.1 on a CPU: a stopped worker gets requests again after 5 s",),
)
def no_untested_restore(world: World, worker: int) -> bool:
    """No inhibited worker is chosen again while it does not answer.

    Broken: The router let {worker} be chosen again while it did not answer.
    """
    return not world.endpoints[worker].restored_untested
