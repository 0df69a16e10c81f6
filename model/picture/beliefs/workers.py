"""What discovery and the router take workers for."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.endpoint import Endpoint, Process
from rackproof.model.kernel import Belief
from rackproof.model.picture.cast import DISCOVERY, ROUTER, Cast
from rackproof.model.picture.words import PROCESS
from rackproof.model.world import World


def of_workers(cast: Cast, world: World) -> Iterator[Belief]:
    """Whether workers are there, and what the router holds against them."""
    for worker, endpoint in enumerate(world.endpoints):
        name = cast.worker(worker)
        yield _there(DISCOVERY, name, endpoint.listed, endpoint)
        if world.believed(worker) != endpoint.listed or not world.protocol.select_from_discovery:
            yield _there(ROUTER, name, world.believed(worker), endpoint)
        yield from _marks(name, world, endpoint)
        yield from _of_itself(name, endpoint)


def _there(who: str, name: str, believed: bool, endpoint: Endpoint) -> Belief:
    agrees = believed == (endpoint.process is Process.UP)
    return Belief(who, name, "is there" if believed else "has left", _truth(endpoint), agrees)


def _truth(endpoint: Endpoint) -> str:
    return PROCESS[endpoint.process]


def _marks(name: str, world: World, endpoint: Endpoint) -> Iterator[Belief]:
    """What the router holds against a worker."""
    well = endpoint.process is Process.UP
    if endpoint.inhibited:
        trial = ", and gets one request on trial" if endpoint.half_open else ""
        blamed = ", and was blamed for what a client did" if endpoint.blamed_for_client else ""
        truth = f"{_truth(endpoint)}{blamed}"
        yield Belief(ROUTER, name, f"is at fault{trial}", truth, not well)
    if endpoint.overloaded or endpoint.busy:
        more, room = "has more than it can take", "has room"
        believed, truth = (more if it else room for it in (endpoint.overloaded, endpoint.busy))
        yield Belief(ROUTER, name, believed, truth, believed == truth)
    if endpoint.stale and not world.protocol.route_on_stale_metrics:
        yield Belief(ROUTER, name, "cannot be counted on", _truth(endpoint), not well)


def _of_itself(name: str, endpoint: Endpoint) -> Iterator[Belief]:
    """Why a worker ended itself, or was ended, though it was well."""
    if endpoint.stopped_while_well and endpoint.process is Process.STOPPED:
        yield Belief(name, name, "is given up by discovery", "was well, and was not heard", False)
    if endpoint.dragged_down and endpoint.process is Process.DOWN:
        yield Belief(name, name, "is not healthy", "was well; a peer of it is dead", False)
