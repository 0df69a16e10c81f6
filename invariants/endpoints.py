"""Who is alive, and who is thought to be."""

from __future__ import annotations

from rackproof.invariants.premises import (
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
    catches=("dynamo#11646",),
)
def no_dispatch_to_removed(world: World, request: int) -> bool:
    """No request is dispatched to a worker that discovery has removed."""
    return not world.retries[request].to_removed


@eventually(
    worker=Workers,
    premise=a_worker_was_dead,
    why="A dead worker that stays listed takes requests for ever.",
)
def dead_endpoint_removed(world: World, worker: int) -> bool:
    """Sooner or later the router chooses no dead worker."""
    return world.endpoints[worker].process not in DEAD or not world.believed(worker)


@eventually(
    worker=Workers,
    premise=a_worker_was_marked,
    why="A healthy GPU that is never chosen again is capacity lost without an alarm.",
    catches=("dynamo#12138", "dynamo#5043"),
)
def live_endpoint_selectable(world: World, worker: int) -> bool:
    """Again and again, the router may choose each live worker."""
    endpoint = world.endpoints[worker]
    marked = endpoint.inhibited or endpoint.overloaded
    return endpoint.process != Process.UP or (endpoint.listed and not marked)
