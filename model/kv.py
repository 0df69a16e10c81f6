"""KV location: blocks, who owns them, what lies in them; how long they are held for a reader.

A block's owner is the allocator's view; its content is what physically lies in it. Freeing a block
changes the owner and not the content. A posted transfer cannot be recalled: it reads the source as
it is when it lands, and writes the target whoever owns it by then. Where KV is quantised, its
scales lie in a buffer of their own, and whether a transfer moves them is for the protocol to say.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS
from rackproof.model.kernel import (
    bounded,
    each,
    fault,
    frozen,
    identifier,
    step,
    timer,
    transition,
)
from rackproof.model.logic import some
from rackproof.model.marks import acquitted
from rackproof.model.protocol import Dispatch, LoadFailure, Protocol, Release, SenderStops, Transfer
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Attempts, Blocks, Requests, Workers
from rackproof.model.stream import Link, Stage

if TYPE_CHECKING:
    from rackproof.model.world import World


class Hold(Enum):
    """The prefill worker's side of a dispatch."""

    NONE = "none"
    ASKED = "asked"
    HELD = "held"
    FREED = "freed"


@frozen
class Block:
    """Room for one request's KV on a worker."""

    owner: int | None = identifier(Requests)
    content: int | None = identifier(Requests)


@frozen
class Scales:
    """The scales that lie with a block where KV is quantised: whose values they were made for.

    block_scales: those of 16 values each. tensor_scale: the one of the tensor. With other scales
    the same bytes are other numbers: ``rackproof.model.performance.nvfp4`` has the arithmetic, and
    its tests how wrong they are.
    """

    block_scales: int | None = identifier(Requests)
    tensor_scale: int | None = identifier(Requests)


@frozen
class Load:
    """The KV of one dispatch: prefill side, decode side, and the posted reads or writes between.

    unposted, flying: handles that are to be posted, and that are posted and not ended. bad: one
    ended in an error. garbage: one moved something else. reused: the source was another's by then.
    killed: the transfer was killed half-way. freed: the target was released once already. stale:
    the prefill worker has started again since; torn: while something was posted. ack_lost: what the
    reader says does not get through. prefill_untold, decode_untold: the other half failed, and this
    one was not told.
    mistimed: it was timed out before it began. stuck: a handle could not be posted, and nobody was
    told.
    """

    prefill: int | None = identifier(Workers)
    hold: Hold = Hold.NONE
    source: int | None = identifier(Blocks)
    target: int | None = identifier(Blocks)
    unposted: int = bounded(0, "handles")
    flying: int = bounded(0, "handles")
    bad: bool = False
    garbage: bool = False
    killed: bool = False
    aborted: bool = False
    freed: bool = False
    freed_twice: bool = False
    reused: bool = False
    stale: bool = False
    torn: bool = False
    ack_lost: bool = False
    prefill_untold: bool = False
    decode_untold: bool = False
    mistimed: bool = False
    stuck: bool = False


@frozen
class Loads:
    """The loads of a request's attempts."""

    attempts: tuple[Load, ...] = each(Attempts)


def computed(world: World, request: int, block: int) -> World:
    """A worker computes a request's KV into a block, and its scales with it."""
    return world.with_block(block, content=request).with_scales(
        block, block_scales=request, tensor_scale=request
    )


def moved(world: World, whose: int | None, target: int) -> World:
    """KV is moved into a block, with those of its scales that the transfer moves."""
    world, protocol = world.with_block(target, content=whose), world.protocol
    if protocol.move_block_scales:
        world = world.with_scales(target, block_scales=whose)
    if protocol.move_tensor_scale:
        world = world.with_scales(target, tensor_scale=whose)
    return world


def given_up(world: World, request: int, attempt: int) -> bool:
    """Whether the frontend no longer wants an attempt."""
    retry = world.retries[request]
    return (retry.current != attempt) | (world.requests[request].phase in (*TERMINAL, Phase.QUEUED))


@transition(
    step, duration="prefill", request=Requests, attempt=Attempts, worker=Workers, block=Blocks
)
def prefill(world: World, request: int, attempt: int, worker: int, block: int) -> World | None:
    """{worker} computes the prefill of {request} into {block}."""
    load, room = world.loads[request].attempts[attempt], world.blocks[block]
    if load.hold != Hold.ASKED or load.prefill != worker or world.homes[block] != worker:
        return None
    if room.owner != None or load.stale or world.endpoints[worker].process not in ANSWERS:
        return None
    if world.refuses(request, attempt):
        return None
    wanted = load.prefill_untold or not given_up(world, request, attempt)
    if not wanted or (_awaits_target(world.protocol) and load.target == None):
        return None
    world = computed(world.with_block(block, owner=request), request, block)
    world = acquitted(world, worker).with_load(request, attempt, hold=Hold.HELD, source=block)
    if world.protocol.release == Release.ON_FINISH:
        world = world.release_hold(request, attempt)
    if world.protocol.release_prefill_booking:
        world = world.with_retry(request, booked=world.retries[request].booked - {worker})
    here = world.requests[request]
    if here.phase != Phase.PREFILLING or world.retries[request].current != attempt:
        return world
    if here.gone and not world.protocol.collect_after_cancel:
        return world.end(request, Phase.CANCELLED)
    return world.with_request(request, phase=Phase.READY)


def _awaits_target(protocol: Protocol) -> bool:
    """Whether a prefill worker computes only once the decode worker has its blocks."""
    return protocol.dispatch == Dispatch.CONCURRENT and protocol.target_before_prefill


@transition(step, duration="abort", request=Requests, attempt=Attempts, worker=Workers)
def drop_prefill(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} hears that nobody wants the prefill of {request} any more."""
    load, protocol = world.loads[request].attempts[attempt], world.protocol
    if load.hold not in (Hold.ASKED, Hold.HELD) or load.prefill != worker or load.stale:
        return None
    if world.endpoints[worker].process not in ANSWERS or not given_up(world, request, attempt):
        return None
    if load.prefill_untold:
        return None
    if load.hold == Hold.ASKED:
        return sender_stops(world.with_load(request, attempt, hold=Hold.NONE), request, attempt)
    if protocol.dispatch != Dispatch.CONCURRENT:
        return None
    if load.flying and protocol.release == Release.QUIESCENT:
        return None
    return sender_stops(world.release_hold(request, attempt), request, attempt)


def sender_stops(world: World, request: int, attempt: int) -> World:
    """The sender will post nothing more: what the receiver makes of what is missing."""
    load = world.loads[request].attempts[attempt]
    if not load.unposted:
        return world
    match world.protocol.sender_stops:
        case SenderStops.TOLD:
            return world.with_load(request, attempt, unposted=0, bad=True)
        case SenderStops.TAKEN_FOR_WHOLE:
            return world.with_load(request, attempt, unposted=0, garbage=True)
        case _:
            return world


@transition(
    step, duration="admission", request=Requests, attempt=Attempts, worker=Workers, block=Blocks
)
def admit(world: World, request: int, attempt: int, worker: int, block: int) -> World | None:
    """{worker} allocates {block} for {request}, and asks for its KV unless it needs none."""
    here = world.streams[request].attempts[attempt]
    load, target = world.loads[request].attempts[attempt], world.blocks[block]
    if here.stage != Stage.ACCEPTED or here.worker != worker or world.homes[block] != worker:
        return None
    if target.owner != None or here.severed or world.endpoints[worker].process not in ANSWERS:
        return None
    if world.refuses(request, attempt):
        return None
    if world.requests[request].short or load.prefill == None:
        return _skip(world, request, attempt, block)
    world = world.with_block(block, owner=request, content=None)
    world = world.with_scales(block, block_scales=None, tensor_scale=None)
    world = world.with_attempt(request, attempt, stage=Stage.LOADING)
    world = world.with_load(request, attempt, target=block)
    early = load.hold in (Hold.NONE, Hold.ASKED)
    if world.protocol.transfer == Transfer.PUSH or early:
        return world.with_load(request, attempt, unposted=world.handles)
    if lapsed(world, request, attempt, worker):
        return load_failed(world, request, attempt, block)
    return world.with_load(request, attempt, flying=world.handles)


def _skip(world: World, request: int, attempt: int, block: int) -> World:
    """Start without a transfer."""
    world = computed(world.with_block(block, owner=request), request, block)
    world = world.with_attempt(request, attempt, stage=Stage.RUNNING)
    world = world.with_load(request, attempt, target=block)
    return world.acknowledge(request, attempt) if world.protocol.notify_when_skipped else world


def lapsed(world: World, request: int, attempt: int, worker: int) -> bool:
    """Whether a reader on a worker knows that what it would read is no longer held for it."""
    load, protocol = world.loads[request].attempts[attempt], world.protocol
    if load.stale and protocol.epoch_on_restart:
        return True
    if protocol.release != Release.QUIESCENT or load.hold == Hold.HELD:
        return False
    return not world.endpoints[worker].skewed or protocol.lease_margin


def start(world: World, request: int, attempt: int, target: int, garbage: bool) -> World:
    """Decode from what lies in the target; garbage where it is not the request's KV."""
    if not garbage:
        world = moved(world, request, target)
    return world.with_attempt(request, attempt, stage=Stage.RUNNING)


def revoked(world: World, request: int, attempt: int) -> World:
    """A receiver gives a load up: it withdraws its blocks, if it does."""
    if not world.protocol.revoke_on_give_up:
        return world
    return world.with_load(request, attempt, unposted=0)


def load_failed(world: World, request: int, attempt: int, target: int) -> World:
    """The load of an attempt failed: do what the policy says."""
    match world.protocol.load_failure:
        case LoadFailure.UNREPORTED:
            return start(world, request, attempt, target, garbage=True)
        case LoadFailure.RECOMPUTE:
            world = computed(revoked(world, request, attempt), request, target)
            return start(world, request, attempt, target, garbage=False)
        case _:
            world = world.with_attempt(request, attempt, stage=Stage.OVER, link=Link.ERROR)
            return revoked(world, request, attempt).free(request, target)


@transition(timer, duration="kv-lease", request=Requests, attempt=Attempts, source=Blocks)
def hold_expires(world: World, request: int, attempt: int, source: int) -> World | None:
    """The lease of {request} on {source} expires: nobody awake waits for it."""
    load, protocol = world.loads[request].attempts[attempt], world.protocol
    if load.hold != Hold.HELD or load.source != source or load.stale:
        return None
    worker = world.homes[source]
    if world.endpoints[worker].process not in ANSWERS:
        return None
    if protocol.release in (Release.ON_FINISH, Release.ON_ACK):
        return None
    if world.awaited(request, attempt):
        return None
    if not protocol.sweep_each_loop and not _schedules(world, worker):
        return None
    return sender_stops(world.release_hold(request, attempt), request, attempt)


def _schedules(world: World, worker: int) -> bool:
    """Whether a prefill worker has a new request, and room for it."""
    asked = some(
        (load.hold == Hold.ASKED) & (load.prefill == worker)
        for loads in world.loads
        for load in loads.attempts
    )
    homes = enumerate(world.homes)
    return asked & some(world.blocks[block].owner == None for block, h in homes if h == worker)


@transition(fault, duration="outlived-kv-lease", request=Requests, attempt=Attempts)
def slow_read(world: World, request: int, attempt: int) -> World | None:
    """The KV of {request} is wanted for longer than its lease, unless heartbeats extend that."""
    load = world.loads[request].attempts[attempt]
    if load.hold != Hold.HELD or not world.budget.slow_read:
        return None
    reading = world.streams[request].attempts[attempt].stage in (Stage.ACCEPTED, Stage.LOADING)
    if not reading or not world.awaited(request, attempt):
        return None
    world = world.spend("slow_read")
    if world.protocol.release == Release.LEASE:
        return sender_stops(world.release_hold(request, attempt), request, attempt)
    return world


@transition(fault, duration="outlived-transfer-deadline", request=Requests, attempt=Attempts)
def long_queue(world: World, request: int, attempt: int) -> World | None:
    """{request} waits in the queue of one half of its pair for longer than a transfer may take."""
    load, stage = world.loads[request].attempts[attempt], _stage(world, request, attempt)
    if not world.budget.long_queue:
        return None
    at_decode = stage == Stage.ACCEPTED and load.hold == Hold.HELD
    at_prefill = stage == Stage.LOADING and load.hold == Hold.ASKED
    if not at_decode and not at_prefill:
        return None
    world = world.spend("long_queue")
    if world.protocol.deadline_from_transfer:
        return world
    world = world.with_load(request, attempt, mistimed=True)
    if at_decode:
        return world.release_hold(request, attempt)
    for target in range(len(world.homes)):
        if load.target == target:
            return load_failed(world, request, attempt, target)
    return world


def _stage(world: World, request: int, attempt: int) -> Stage:
    return world.streams[request].attempts[attempt].stage


@transition(fault, duration="any-time", request=Requests, attempt=Attempts)
def lost_ack(world: World, request: int, attempt: int) -> World | None:
    """What the decode worker of {request} tells the prefill worker is going to be lost."""
    load = world.loads[request].attempts[attempt]
    if not world.budget.lost_ack or load.hold != Hold.HELD or load.ack_lost:
        return None
    if world.streams[request].attempts[attempt].stage not in (Stage.ACCEPTED, Stage.LOADING):
        return None
    return world.spend("lost_ack").with_load(request, attempt, ack_lost=True)


def waits_in_vain(world: World, request: int, attempt: int) -> bool:
    """Whether a decode worker waits for KV of which nothing more will come."""
    load, here = world.loads[request].attempts[attempt], world.streams[request].attempts[attempt]
    endpoints = enumerate(world.endpoints)
    sends = some((load.prefill == worker) & endpoint.answers for worker, endpoint in endpoints)
    there = (load.hold == Hold.ASKED) | (load.hold == Hold.HELD)
    unsent = (load.unposted > 0) & ((sends & there & (load.stale == False)) == False)
    return (here.stage == Stage.LOADING) & (load.killed | load.stuck | load.torn | unsent)
