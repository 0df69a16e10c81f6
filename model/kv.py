"""KV location: blocks, who owns them, what lies in them; and the transfers between them.

A block's owner is the allocator's view; its content is what physically lies in it. Freeing a block
changes the owner and not the content. A posted transfer cannot be recalled: it reads the source as
it is when it lands, and writes the target whoever owns it by then.
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
from rackproof.model.protocol import LoadFailure, Release, Transfer
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
class Load:
    """The KV of one dispatch: prefill side, decode side, and the posted reads or writes between.

    flying: handles posted and not ended. bad: one ended in an error. garbage: one moved something
    else. killed: the transfer was killed half-way. freed: the target was released once already.
    """

    prefill: int | None = identifier(Workers)
    hold: Hold = Hold.NONE
    source: int | None = identifier(Blocks)
    target: int | None = identifier(Blocks)
    flying: int = bounded(0, "handles")
    bad: bool = False
    garbage: bool = False
    killed: bool = False
    aborted: bool = False
    freed: bool = False
    freed_twice: bool = False


@frozen
class Loads:
    """The loads of a request's attempts."""

    attempts: tuple[Load, ...] = each(Attempts)


def given_up(world: World, request: int, attempt: int) -> bool:
    """Whether the frontend no longer wants an attempt."""
    retry = world.retries[request]
    return (retry.current != attempt) | (world.requests[request].phase in (*TERMINAL, Phase.QUEUED))


@transition(step, request=Requests, attempt=Attempts, worker=Workers, block=Blocks)
def prefill(world: World, request: int, attempt: int, worker: int, block: int) -> World | None:
    """{worker} computes the prefill of {request} into {block}."""
    load, here = world.loads[request].attempts[attempt], world.blocks[block]
    if load.hold != Hold.ASKED or load.prefill != worker or world.homes[block] != worker:
        return None
    if here.owner != None or world.endpoints[worker].process not in ANSWERS:
        return None
    if world.refuses(request, attempt) or world.retries[request].current != attempt:
        return None
    phase = world.requests[request].phase
    if phase != Phase.PREFILLING:
        return None
    world = world.with_block(block, owner=request, content=request)
    world = world.with_load(request, attempt, hold=Hold.HELD, source=block)
    if world.protocol.release == Release.ON_FINISH:
        world = world.release_hold(request, attempt)
    world = world.with_retry(request, booked=frozenset())
    if world.requests[request].gone and not world.protocol.collect_after_cancel:
        return world.end(request, Phase.CANCELLED)
    return world.with_request(request, phase=Phase.READY)


@transition(step, request=Requests, attempt=Attempts, worker=Workers)
def drop_prefill(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} hears that nobody wants the prefill of {request} any more."""
    load = world.loads[request].attempts[attempt]
    if load.hold != Hold.ASKED or load.prefill != worker:
        return None
    if world.endpoints[worker].process not in ANSWERS or not given_up(world, request, attempt):
        return None
    return world.with_load(request, attempt, hold=Hold.NONE)


@transition(step, request=Requests, attempt=Attempts, worker=Workers, block=Blocks)
def admit(world: World, request: int, attempt: int, worker: int, block: int) -> World | None:
    """{worker} schedules {request} into {block}, and asks for its KV."""
    here = world.streams[request].attempts[attempt]
    load, target = world.loads[request].attempts[attempt], world.blocks[block]
    if here.stage != Stage.ACCEPTED or here.worker != worker or world.homes[block] != worker:
        return None
    if target.owner != None or world.endpoints[worker].process not in ANSWERS:
        return None
    if load.prefill == None or world.refuses(request, attempt):
        return None
    if world.requests[request].short:
        return _skip(world, request, attempt, block)
    world = world.with_block(block, owner=request, content=None)
    world = world.with_attempt(request, attempt, stage=Stage.LOADING)
    if world.protocol.release == Release.QUIESCENT and load.hold != Hold.HELD:
        return load_failed(world.with_load(request, attempt, target=block), request, attempt, block)
    return world.with_load(request, attempt, target=block, flying=world.handles)


def _skip(world: World, request: int, attempt: int, block: int) -> World:
    """Start without a transfer."""
    world = world.with_block(block, owner=request, content=request)
    world = world.with_attempt(request, attempt, stage=Stage.RUNNING)
    world = world.with_load(request, attempt, target=block)
    return world.release_hold(request, attempt) if world.protocol.notify_when_skipped else world


@transition(step, request=Requests, attempt=Attempts, source=Blocks, target=Blocks)
def land(world: World, request: int, attempt: int, source: int, target: int) -> World | None:
    """A posted transfer of {request} from {source} to {target} lands."""
    load = world.loads[request].attempts[attempt]
    if not load.flying or load.source != source or load.target != target or load.killed:
        return None
    if not world.exists(source) or not world.exists(target):
        return None
    read = world.blocks[source].content
    wrong = read != request
    ours = world.streams[request].attempts[attempt].stage == Stage.LOADING
    if wrong or not ours or world.blocks[target].owner != request:
        world = world.with_block(target, content=read)
    return world.with_load(request, attempt, flying=load.flying - 1, garbage=load.garbage | wrong)


@transition(step, request=Requests, attempt=Attempts, target=Blocks)
def load_ends(world: World, request: int, attempt: int, target: int) -> World | None:
    """The engine with {target} sees that the load of {request} has ended, well or badly."""
    load = world.loads[request].attempts[attempt]
    if load.target != target or load.killed:
        return None
    if world.endpoints[world.homes[target]].process not in ANSWERS:
        return None
    early = load.bad and not world.protocol.wait_for_all_handles
    if load.flying and not early:
        return None
    if world.streams[request].attempts[attempt].stage == Stage.LOADING:
        return _loaded(world, request, attempt, target)
    if not load.aborted or load.freed:
        return None
    return signal(world.release_hold(request, attempt), request, attempt, target)


def _loaded(world: World, request: int, attempt: int, target: int) -> World:
    """Start decoding, or do what a failed load asks for."""
    load = world.loads[request].attempts[attempt]
    unleased = world.protocol.validate_after_read and load.hold != Hold.HELD
    if load.bad or unleased:
        return load_failed(world, request, attempt, target)
    world = world.release_hold(request, attempt)
    return _start(world, request, attempt, target, load.garbage)


def _start(world: World, request: int, attempt: int, target: int, garbage: bool) -> World:
    if not garbage:
        world = world.with_block(target, content=request)
    return world.with_attempt(request, attempt, stage=Stage.RUNNING)


def load_failed(world: World, request: int, attempt: int, target: int) -> World:
    """The load of an attempt failed: do what the policy says."""
    match world.protocol.load_failure:
        case LoadFailure.UNREPORTED:
            return _start(world, request, attempt, target, garbage=True)
        case LoadFailure.RECOMPUTE:
            return _start(world, request, attempt, target, garbage=False)
        case _:
            world = world.with_attempt(request, attempt, stage=Stage.OVER, link=Link.ERROR)
            return world.free(request, target)


@transition(fault, request=Requests, attempt=Attempts, target=Blocks)
def transfer_failure(world: World, request: int, attempt: int, target: int) -> World | None:
    """A handle of the transfer of {request} into {target} ends in an error."""
    load = world.loads[request].attempts[attempt]
    if not load.flying or load.target != target or load.killed:
        return None
    if not world.budget.transfer_failure:
        return None
    world = world.spend("transfer_failure")
    return world.with_load(request, attempt, flying=load.flying - 1, bad=True)


@transition(step, request=Requests, attempt=Attempts, source=Blocks, target=Blocks)
def peer_is_gone(
    world: World, request: int, attempt: int, source: int, target: int
) -> World | None:
    """The transfer of {request} from {source} to {target} fails: its source is gone."""
    load = world.loads[request].attempts[attempt]
    if not load.flying or load.source != source or load.target != target or load.killed:
        return None
    if world.exists(source) or not world.exists(target):
        return None
    if world.protocol.transfer == Transfer.PUSH and not world.protocol.notice_peer_loss:
        return None
    return world.with_load(request, attempt, flying=0, bad=True)


@transition(step, request=Requests, attempt=Attempts, worker=Workers)
def abort(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} hears that {request} was given up, and aborts it."""
    here = world.streams[request].attempts[attempt]
    if here.worker != worker or not given_up(world, request, attempt):
        return None
    if here.stage in (Stage.IDLE, Stage.OVER) or world.endpoints[worker].process not in ANSWERS:
        return None
    world = world.with_attempt(request, attempt, stage=Stage.OVER)
    if here.stage == Stage.ACCEPTED:
        told = world.protocol.notify_when_aborted
        return world.release_hold(request, attempt) if told else world
    if here.stage == Stage.RUNNING:
        return world.free_target(request, attempt, worker)
    return _abort_load(world, request, attempt, worker)


def _abort_load(world: World, request: int, attempt: int, worker: int) -> World:
    """Abort a load that has not been seen to end."""
    flying = world.loads[request].attempts[attempt].flying
    if flying and not world.protocol.spare_transfers:
        return world.with_load(request, attempt, killed=True)
    if world.protocol.defer_free_on_abort:
        return world.with_load(request, attempt, aborted=True)
    return world.free_target(request, attempt, worker)


@transition(step, request=Requests, attempt=Attempts, target=Blocks)
def abort_completes(world: World, request: int, attempt: int, target: int) -> World | None:
    """The engine with {target} sees the abort of {request} through: nothing is left to send."""
    load = world.loads[request].attempts[attempt]
    if not load.freed or load.target != target or load.freed_twice:
        return None
    if world.protocol.latch_completions:
        return None
    if world.endpoints[world.homes[target]].process not in ANSWERS:
        return None
    return signal(world, request, attempt, target)


def signal(world: World, request: int, attempt: int, target: int) -> World:
    """A completion signal for an aborted request: its blocks are released."""
    load = world.loads[request].attempts[attempt]
    if load.freed:
        return world.with_load(request, attempt, freed_twice=True)
    return world.with_load(request, attempt, freed=True).free(request, target)


@transition(timer, request=Requests, attempt=Attempts, source=Blocks)
def hold_expires(world: World, request: int, attempt: int, source: int) -> World | None:
    """The lease of {request} on {source} expires: nobody awake is going to read it."""
    load = world.loads[request].attempts[attempt]
    if load.hold != Hold.HELD or load.source != source:
        return None
    if world.endpoints[world.homes[source]].process not in ANSWERS:
        return None
    if world.protocol.release in (Release.ON_FINISH, Release.ON_ACK):
        return None
    if world.awaited(request, attempt):
        return None
    return world.release_hold(request, attempt)


@transition(fault, request=Requests, attempt=Attempts)
def slow_read(world: World, request: int, attempt: int) -> World | None:
    """The read of {request} is slower than a lease, which ends if no heartbeat extends it."""
    load = world.loads[request].attempts[attempt]
    if load.hold != Hold.HELD or not world.budget.slow_read:
        return None
    reading = world.streams[request].attempts[attempt].stage in (Stage.ACCEPTED, Stage.LOADING)
    if not reading or not world.awaited(request, attempt):
        return None
    world = world.spend("slow_read")
    if world.protocol.release == Release.LEASE:
        return world.release_hold(request, attempt)
    return world
