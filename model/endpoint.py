"""The truth about a worker: its process, and what becomes of it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.kernel import evolve, fault, frozen, step, timer, transition
from rackproof.model.sorts import Trays, Workers

if TYPE_CHECKING:
    from rackproof.model.kv import Loads
    from rackproof.model.stream import Stream
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
    never saw it leave. lapsed: its lease was lost though it is well. inhibited, overloaded, stale:
    what the router holds against it (an error, a full queue, no load report). half_open: it is to
    be sent a request on trial; on_trial: it has that. busy: it has more than it can take. skewed:
    its clock is behind. The other truths are what went wrong, once and for all.
    """

    process: Process = Process.UP
    listed: bool = True
    mirrored: bool = True
    removal_missed: bool = False
    lapsed: bool = False
    inhibited: bool = False
    half_open: bool = False
    on_trial: bool = False
    busy: bool = False
    overloaded: bool = False
    stale: bool = False
    skewed: bool = False
    stopped_while_well: bool = False
    dragged_down: bool = False
    blamed_for_client: bool = False
    restored_untested: bool = False

    @property
    def answers(self) -> bool:
        """Whether it is awake and at work."""
        return (self.process == Process.UP) | (self.process == Process.DRAINING)


@transition(fault, duration="any-time", worker=Workers)
def crash(world: World, worker: int) -> World | None:
    """{worker} crashes: its KV blocks are gone, its open connections break."""
    if world.endpoints[worker].process in DEAD or not world.budget.crash:
        return None
    return world.spend("crash").with_endpoint(worker, process=Process.DOWN)


@transition(fault, duration="restart", worker=Workers)
def restart(world: World, worker: int) -> World | None:
    """{worker} starts again under its old id: its memory is empty, it knows of no request."""
    endpoint = world.endpoints[worker]
    if not world.budget.restart or endpoint.process not in DEAD:
        return None
    for block, home in enumerate(world.homes):
        if home == worker:
            world = world.with_block(block, owner=None, content=None)
            world = world.with_scales(block, block_scales=None, tensor_scale=None)
    fresh = Endpoint(
        stopped_while_well=endpoint.stopped_while_well,
        dragged_down=endpoint.dragged_down,
        blamed_for_client=endpoint.blamed_for_client,
        restored_untested=endpoint.restored_untested,
    )
    world = world.spend("restart").with_whole_endpoint(worker, fresh)
    return evolve(
        world,
        streams=tuple(_severed(stream, worker) for stream in world.streams),
        loads=tuple(_orphaned(loads, worker) for loads in world.loads),
    )


def _severed(stream: Stream, worker: int) -> Stream:
    """A stream whose attempts at a worker are unknown to its new process."""
    attempts = tuple(
        evolve(here, severed=here.severed | (here.worker == worker)) for here in stream.attempts
    )
    return evolve(stream, attempts=attempts)


def _orphaned(loads: Loads, worker: int) -> Loads:
    """Loads of which the source is gone with the old process of a prefill worker."""
    attempts = tuple(
        evolve(
            load,
            stale=load.stale | (load.prefill == worker),
            torn=load.torn | ((load.prefill == worker) & (load.flying > 0)),
        )
        for load in loads.attempts
    )
    return evolve(loads, attempts=attempts)


@transition(fault, duration="any-time", worker=Workers)
def hang(world: World, worker: int) -> World | None:
    """{worker} freezes: it does nothing, and no connection breaks."""
    if world.endpoints[worker].process != Process.UP or not world.budget.hang:
        return None
    return world.spend("hang").with_endpoint(worker, process=Process.HUNG)


@transition(fault, duration="any-time", worker=Workers)
def resume(world: World, worker: int) -> World | None:
    """{worker} wakes up and goes on where it was."""
    if world.endpoints[worker].process != Process.HUNG or not world.budget.resume:
        return None
    return world.spend("resume").with_endpoint(worker, process=Process.UP)


@transition(fault, duration="any-time", tray=Trays)
def tray_loss(world: World, tray: int) -> World | None:
    """{tray} loses power: every worker on it is gone, and no connection is closed."""
    if not world.budget.tray_loss:
        return None
    hit = [worker for worker, home in enumerate(world.trays) if home == tray]
    world = world.spend("tray_loss")
    for worker in hit:
        world = world.with_endpoint(worker, process=Process.LOST)
    return world if hit else None


@transition(fault, duration="any-time", worker=Workers)
def drain(world: World, worker: int) -> World | None:
    """{worker} is told to stop: it leaves discovery and finishes what it has."""
    if world.endpoints[worker].process != Process.UP or not world.budget.drain:
        return None
    return world.spend("drain").with_endpoint(worker, process=Process.DRAINING, listed=False)


@transition(timer, duration="grace-period", worker=Workers)
def grace_ends(world: World, worker: int) -> World | None:
    """The grace period of {worker} ends: it aborts what it still serves, and says so."""
    if world.endpoints[worker].process != Process.DRAINING:
        return None
    return world.with_endpoint(worker, process=Process.STOPPED)


@transition(step, duration="lease-check", worker=Workers)
def self_fence(world: World, worker: int) -> World | None:
    """{worker} finds that its discovery lease is gone, and stops itself."""
    endpoint = world.endpoints[worker]
    if endpoint.process != Process.UP or endpoint.listed:
        return None
    well = (not world.discovery_up) | endpoint.lapsed
    return world.with_endpoint(
        worker, process=Process.STOPPED, stopped_while_well=endpoint.stopped_while_well | well
    )


@transition(step, duration="health-check", worker=Workers, peer=Workers)
def fail_health_check(world: World, worker: int, peer: int) -> World | None:
    """The health check of {worker} fails because {peer} is dead, and {worker} is killed."""
    if world.protocol.own_health or world.roles[worker] != Role.DECODE:
        return None
    if world.roles[peer] != Role.PREFILL or world.endpoints[peer].process not in DEAD:
        return None
    if world.endpoints[worker].process != Process.UP:
        return None
    return world.with_endpoint(worker, process=Process.DOWN, dragged_down=True)


@transition(fault, duration="any-time", worker=Workers)
def clock_skew(world: World, worker: int) -> World | None:
    """The clock of {worker} falls behind."""
    if not world.budget.clock_skew or world.endpoints[worker].skewed:
        return None
    return world.spend("clock_skew").with_endpoint(worker, skewed=True)
