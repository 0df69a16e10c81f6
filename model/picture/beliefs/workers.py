"""What discovery and the router take workers for."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.endpoint import Endpoint, Process
from rackproof.model.kernel import Belief
from rackproof.model.marks import clear_mark, report_load
from rackproof.model.picture.cast import DISCOVERY, ROUTER, Cast
from rackproof.model.picture.words import PROCESS
from rackproof.model.world import World


def of_workers(cast: Cast, world: World) -> Iterator[Belief]:
    """Whether workers are there, and whether the router would choose them."""
    for worker, endpoint in enumerate(world.endpoints):
        name = cast.worker(worker)
        there, truth = "is there" if endpoint.listed else "has left", PROCESS[endpoint.process]
        yield Belief(DISCOVERY, name, there, truth, endpoint.listed == _well(endpoint))
        if world.requests:
            yield _choice(name, world, worker)
        yield from _of_itself(name, endpoint)


def _well(endpoint: Endpoint) -> bool:
    return endpoint.process is Process.UP


def _choice(name: str, world: World, worker: int) -> Belief:
    """What the router takes a worker for when it has a request to send."""
    endpoint = world.endpoints[worker]
    well, truth = _well(endpoint), PROCESS[endpoint.process]
    if not world.believed(worker):
        return Belief(ROUTER, name, "has left", truth, not well)
    if endpoint.inhibited:
        trial = ", and gets one request on trial" if endpoint.half_open else ""
        blamed = ", and was blamed for what a client did" if endpoint.blamed_for_client else ""
        return Belief(ROUTER, name, f"is at fault{trial}", f"{truth}{blamed}", not well)
    if endpoint.stale and not world.protocol.route_on_stale_metrics:
        return Belief(ROUTER, name, "cannot be counted on", truth, not well)
    return _room(name, world, worker)


def _room(name: str, world: World, worker: int) -> Belief:
    """Whether a worker that the router holds nothing else against can take a request."""
    endpoint = world.endpoints[worker]
    more, room = "has more than it can take", "can be sent requests"
    believed, truth = (more if it else room for it in (endpoint.overloaded, endpoint.busy))
    if not _well(endpoint):
        return Belief(ROUTER, name, believed, PROCESS[endpoint.process], False)
    told = any(report(world, worker) is not None for report in (report_load, clear_mark))
    return Belief(ROUTER, name, believed, truth, believed == truth, believed != truth and told)


def _of_itself(name: str, endpoint: Endpoint) -> Iterator[Belief]:
    """Why a worker ended itself, or was ended, though it was well."""
    if endpoint.stopped_while_well and endpoint.process is Process.STOPPED:
        yield Belief(name, name, "is given up by discovery", "was well, and was not heard", False)
    if endpoint.dragged_down and endpoint.process is Process.DOWN:
        yield Belief(name, name, "is not healthy", "was well; a peer of it is dead", False)
