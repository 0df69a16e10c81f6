"""Endpoint health: what a worker is, and what discovery and the router believe it is.

The truth changes by faults; belief follows by leases, watches, errors and load reports, each of
which can be late, lost or wrong.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.kernel import fault, frozen, step, timer, transition
from rackproof.model.sorts import Trays, Workers

if TYPE_CHECKING:
    from rackproof.model.world import World


class Role(Enum):
    """What an instance serves."""

    AGGREGATED = "aggregated"
    PREFILL = "prefill"
    DECODE = "decode"


class Process(Enum):
    """The truth about a worker's process."""

    UP = "up"
    HUNG = "hung"
    """Frozen: its connections stay open and its memory stays, but it does nothing."""
    DRAINING = "draining"
    """Told to stop: it takes no new work and finishes what it has."""
    STOPPED = "stopped"
    """Stopped in good order: whoever it served is told."""
    DOWN = "down"
    """Dead: the kernel closes its connections; its memory is gone."""
    LOST = "lost"
    """Dead with its host: nobody closes anything."""


DEAD = (Process.DOWN, Process.LOST, Process.STOPPED)
ANSWERS = (Process.UP, Process.DRAINING)
CLOSED = (*DEAD, Process.DRAINING)
"""Takes no new request."""


@frozen
class Endpoint:
    """A worker, in truth and in belief.

    listed: discovery has it. mirrored: the router's own copy has it. removal_missed: the watcher
    never saw it leave. inhibited, overloaded: the router does not choose it. busy: it has more than
    it can take.
    """

    process: Process = Process.UP
    listed: bool = True
    mirrored: bool = True
    removal_missed: bool = False
    inhibited: bool = False
    busy: bool = False
    overloaded: bool = False

    @property
    def answers(self) -> bool:
        """Whether it is awake and at work."""
        return (self.process == Process.UP) | (self.process == Process.DRAINING)


@transition(fault, worker=Workers)
def crash(world: World, worker: int) -> World | None:
    """{worker} crashes: its KV blocks are gone, its open connections break."""
    if world.endpoints[worker].process in DEAD or not world.budget.crash:
        return None
    return world.spend("crash").with_endpoint(worker, process=Process.DOWN)


@transition(fault, worker=Workers)
def hang(world: World, worker: int) -> World | None:
    """{worker} freezes: it does nothing, and no connection breaks."""
    if world.endpoints[worker].process != Process.UP or not world.budget.hang:
        return None
    return world.spend("hang").with_endpoint(worker, process=Process.HUNG)


@transition(fault, worker=Workers)
def resume(world: World, worker: int) -> World | None:
    """{worker} wakes up and goes on where it was."""
    if world.endpoints[worker].process != Process.HUNG or not world.budget.resume:
        return None
    return world.spend("resume").with_endpoint(worker, process=Process.UP)


@transition(fault, tray=Trays)
def tray_loss(world: World, tray: int) -> World | None:
    """{tray} loses power: every worker on it is gone, and no connection is closed."""
    if not world.budget.tray_loss:
        return None
    hit = [worker for worker, home in enumerate(world.trays) if home == tray]
    world = world.spend("tray_loss")
    for worker in hit:
        world = world.with_endpoint(worker, process=Process.LOST)
    return world if hit else None


@transition(fault, worker=Workers)
def drain(world: World, worker: int) -> World | None:
    """{worker} is told to stop: it leaves discovery and finishes what it has."""
    if world.endpoints[worker].process != Process.UP or not world.budget.drain:
        return None
    return world.spend("drain").with_endpoint(worker, process=Process.DRAINING, listed=False)


@transition(timer, worker=Workers)
def grace_ends(world: World, worker: int) -> World | None:
    """The grace period of {worker} ends: it aborts what it still serves, and says so."""
    if world.endpoints[worker].process != Process.DRAINING:
        return None
    return world.with_endpoint(worker, process=Process.STOPPED)


@transition(timer, worker=Workers)
def lease_expires(world: World, worker: int) -> World | None:
    """The discovery lease of {worker} expires: it is no longer listed."""
    endpoint = world.endpoints[worker]
    if not endpoint.listed or endpoint.process in ANSWERS:
        return None
    return world.with_endpoint(worker, listed=False)


@transition(fault, worker=Workers)
def churn(world: World, worker: int) -> World | None:
    """{worker} leaves discovery amid other changes, which a comparison of snapshots misses."""
    endpoint = world.endpoints[worker]
    if not world.budget.churn:
        return None
    if not endpoint.listed or endpoint.process in ANSWERS:
        return None
    missed = not world.protocol.raw_removal_events
    return world.spend("churn").with_endpoint(worker, listed=False, removal_missed=missed)


@transition(step, worker=Workers)
def self_fence(world: World, worker: int) -> World | None:
    """{worker} finds that its discovery lease is gone, and stops itself."""
    endpoint = world.endpoints[worker]
    if endpoint.process != Process.UP or endpoint.listed:
        return None
    return world.with_endpoint(worker, process=Process.STOPPED)


@transition(step, worker=Workers)
def mirror_catches_up(world: World, worker: int) -> World | None:
    """The router's copy of discovery hears that {worker} left."""
    endpoint = world.endpoints[worker]
    if world.protocol.select_from_discovery or endpoint.listed or not endpoint.mirrored:
        return None
    return world.with_endpoint(worker, mirrored=False)


@transition(timer, worker=Workers)
def restore(world: World, worker: int) -> World | None:
    """{worker} has been inhibited long enough: the router chooses it again."""
    if not world.endpoints[worker].inhibited or not world.protocol.restore_inhibited:
        return None
    return world.with_endpoint(worker, inhibited=False)


@transition(fault, worker=Workers)
def overload(world: World, worker: int) -> World | None:
    """{worker} has more than it can take: it reports that, and the router marks it overloaded."""
    endpoint = world.endpoints[worker]
    if endpoint.process != Process.UP or endpoint.busy or not world.budget.overload:
        return None
    return world.spend("overload").with_endpoint(worker, busy=True, overloaded=True)


@transition(step, worker=Workers)
def load_drops(world: World, worker: int) -> World | None:
    """{worker} has worked off its load."""
    endpoint = world.endpoints[worker]
    if not endpoint.busy or endpoint.process != Process.UP:
        return None
    return world.with_endpoint(worker, busy=False)


@transition(step, worker=Workers)
def clear_mark(world: World, worker: int) -> World | None:
    """The router takes the overload mark off {worker}."""
    endpoint = world.endpoints[worker]
    if endpoint.busy or not endpoint.overloaded or not world.protocol.clear_overload:
        return None
    return world.with_endpoint(worker, overloaded=False)
