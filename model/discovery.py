"""Discovery: who is listed, and what the router's own copy says.

Belief follows the truth by leases and watches, each of which can be late or miss something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS, Process
from rackproof.model.kernel import evolve, fault, step, timer, transition
from rackproof.model.sorts import Workers

if TYPE_CHECKING:
    from rackproof.model.world import World


@transition(timer, duration="lease", worker=Workers)
def lease_expires(world: World, worker: int) -> World | None:
    """The discovery lease of {worker} expires: it is no longer listed."""
    endpoint = world.endpoints[worker]
    if not endpoint.listed or endpoint.process in ANSWERS or not world.discovery_up:
        return None
    return world.with_endpoint(worker, listed=False) if world.protocol.leases else None


@transition(fault, duration="any-time", worker=Workers)
def lost_renewal(world: World, worker: int) -> World | None:
    """A renewal of the discovery lease of {worker} stalls, though the worker is well."""
    endpoint = world.endpoints[worker]
    if not world.budget.lost_renewal or endpoint.process != Process.UP or not endpoint.listed:
        return None
    if not world.protocol.leases:
        return None
    world = world.spend("lost_renewal")
    if world.protocol.renew_in_time:
        return world
    return world.with_endpoint(worker, listed=False, lapsed=True)


@transition(fault, duration="churned-lease", worker=Workers)
def churn(world: World, worker: int) -> World | None:
    """{worker} leaves discovery amid other changes, which a comparison of snapshots misses."""
    endpoint = world.endpoints[worker]
    if not world.budget.churn:
        return None
    if not endpoint.listed or endpoint.process in ANSWERS or not world.protocol.leases:
        return None
    missed = not world.protocol.raw_removal_events
    return world.spend("churn").with_endpoint(worker, listed=False, removal_missed=missed)


@transition(step, duration="discovery-event", worker=Workers)
def mirror_catches_up(world: World, worker: int) -> World | None:
    """The router's copy of discovery hears that {worker} left."""
    endpoint, protocol = world.endpoints[worker], world.protocol
    if protocol.select_from_discovery or endpoint.listed or not endpoint.mirrored:
        return None
    if endpoint.removal_missed and not protocol.resync_mirror:
        return None
    return world.with_endpoint(worker, mirrored=False)


@transition(fault, duration="any-time")
def discovery_outage(world: World) -> World | None:
    """Discovery is away: no lease can be renewed, nothing is heard of anybody."""
    if not world.budget.discovery_outage or not world.discovery_up or not world.protocol.leases:
        return None
    world = evolve(world.spend("discovery_outage"), discovery_up=False)
    if world.protocol.outlive_discovery:
        return world
    return evolve(world, endpoints=tuple(evolve(e, listed=False) for e in world.endpoints))


@transition(timer, duration="discovery-outage")
def discovery_returns(world: World) -> World | None:
    """Discovery is back, with the workers that kept their leases."""
    return evolve(world, discovery_up=True) if not world.discovery_up else None


@transition(fault, duration="any-time")
def frontend_drain(world: World) -> World | None:
    """The frontend is told to stop: it takes no new request and finishes those it has taken."""
    if not world.budget.frontend_drain or world.draining:
        return None
    return evolve(world.spend("frontend_drain"), draining=True)
