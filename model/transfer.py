"""Transfers of KV: posted, landed, ended; and the aborts and time-outs that meet them half-way.

Whoever moves the KV posts a transfer in one piece or several (handles). What is posted can be
neither recalled nor seen by the other side; what is not posted yet can still be called off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS, DEAD
from rackproof.model.kernel import fault, step, timer, transition
from rackproof.model.kv import Hold, given_up, lapsed, load_failed, moved, revoked, start
from rackproof.model.protocol import ReadValidation, Transfer
from rackproof.model.sorts import Attempts, Blocks, Requests, Workers
from rackproof.model.stream import Stage

if TYPE_CHECKING:
    from rackproof.model.world import World


@transition(
    step, duration="transfer-post", request=Requests, attempt=Attempts, source=Blocks, target=Blocks
)
def post(world: World, request: int, attempt: int, source: int, target: int) -> World | None:
    """A transfer of {request} from {source} to {target} is posted."""
    load, protocol = world.loads[request].attempts[attempt], world.protocol
    if not load.unposted or load.source != source or load.target != target or load.stuck:
        return None
    pushes = protocol.transfer == Transfer.PUSH
    reader = world.homes[target]
    poster = world.homes[source] if pushes else reader
    if world.endpoints[poster].process not in ANSWERS or not world.exists(target) or load.stale:
        return None
    if world.streams[request].attempts[attempt].severed:
        return None
    if load.hold != Hold.HELD and pushes and protocol.check_hold_before_post:
        return None
    if not pushes and lapsed(world, request, attempt, reader):
        return None
    return world.with_load(request, attempt, unposted=load.unposted - 1, flying=load.flying + 1)


@transition(
    step, duration="kv-transfer", request=Requests, attempt=Attempts, source=Blocks, target=Blocks
)
def land(world: World, request: int, attempt: int, source: int, target: int) -> World | None:
    """A posted transfer of {request} from {source} to {target} lands."""
    load, here = world.loads[request].attempts[attempt], world.streams[request].attempts[attempt]
    if not load.flying or load.source != source or load.target != target or load.killed:
        return None
    if not world.exists(source) or not world.exists(target) or load.torn or here.severed:
        return None
    read = world.blocks[source].content
    wrong = read != request
    if wrong or here.stage != Stage.LOADING or world.blocks[target].owner != request:
        world = moved(world, read, target)
    return world.with_load(
        request,
        attempt,
        flying=load.flying - 1,
        garbage=load.garbage | wrong,
        reused=load.reused | wrong,
    )


@transition(step, duration="load-end", request=Requests, attempt=Attempts, target=Blocks)
def load_ends(world: World, request: int, attempt: int, target: int) -> World | None:
    """The engine with {target} takes the load of {request} for ended, well or badly."""
    load, here = world.loads[request].attempts[attempt], world.streams[request].attempts[attempt]
    if load.target != target or load.killed or load.stuck or here.severed:
        return None
    if world.endpoints[world.homes[target]].process not in ANSWERS:
        return None
    early = load.bad and not world.protocol.wait_for_all_handles
    if (load.flying or (load.unposted and not load.aborted)) and not early:
        return None
    if here.stage == Stage.LOADING:
        return _loaded(world, request, attempt, target)
    if not load.aborted or load.freed:
        return None
    return signal(world.acknowledge(request, attempt), request, attempt, target)


def _loaded(world: World, request: int, attempt: int, target: int) -> World:
    """Start decoding, or do what a failed load asks for."""
    load = world.loads[request].attempts[attempt]
    if load.bad or _refuted(world, request, attempt, target):
        return load_failed(world, request, attempt, target)
    world = world.acknowledge(request, attempt)
    return start(world, request, attempt, target, load.garbage)


def _refuted(world: World, request: int, attempt: int, target: int) -> bool:
    """Whether what the reader checks after the read tells it that the read was no good."""
    load = world.loads[request].attempts[attempt]
    match world.protocol.read_validation:
        case ReadValidation.LEASE:
            return load.hold != Hold.HELD or (load.stale and world.protocol.epoch_on_restart)
        case ReadValidation.GENERATION:
            return load.reused
        case ReadValidation.CHECKSUM:
            overwritten = world.blocks[target].content not in (None, request)
            return load.garbage or overwritten
        case _:
            return False


@transition(fault, duration="any-time", request=Requests, attempt=Attempts, target=Blocks)
def transfer_failure(world: World, request: int, attempt: int, target: int) -> World | None:
    """A handle of the transfer of {request} into {target} ends in an error."""
    load = world.loads[request].attempts[attempt]
    if not load.flying or load.target != target or load.killed:
        return None
    if not world.budget.transfer_failure:
        return None
    world = world.spend("transfer_failure")
    return world.with_load(request, attempt, flying=load.flying - 1, bad=True)


@transition(fault, duration="any-time", request=Requests, attempt=Attempts, target=Blocks)
def post_failure(world: World, request: int, attempt: int, target: int) -> World | None:
    """A transfer of {request} into {target} cannot be posted."""
    load = world.loads[request].attempts[attempt]
    if load.target != target or not world.budget.post_failure or load.stuck:
        return None
    whole = load.flying == world.handles
    if not load.unposted and not whole:
        return None
    world = world.spend("post_failure")
    if load.unposted:
        world = world.with_load(request, attempt, unposted=load.unposted - 1)
    else:
        world = world.with_load(request, attempt, flying=load.flying - 1)
    told = world.protocol.post_errors_reported
    return world.with_load(request, attempt, bad=load.bad | told, stuck=not told)


@transition(
    step, duration="peer-loss", request=Requests, attempt=Attempts, worker=Workers, target=Blocks
)
def peer_is_gone(
    world: World, request: int, attempt: int, worker: int, target: int
) -> World | None:
    """The transfer of {request} from {worker} to {target} fails: {worker} is gone."""
    load, protocol = world.loads[request].attempts[attempt], world.protocol
    if load.prefill != worker or load.target != target or load.killed:
        return None
    if not load.flying and not load.unposted:
        return None
    gone = world.endpoints[worker].process in DEAD or load.torn
    if not gone and not (load.stale and protocol.epoch_on_restart):
        return None
    if not world.exists(target):
        return None
    if protocol.transfer == Transfer.PUSH and not protocol.notice_peer_loss:
        return None
    return world.with_load(request, attempt, flying=0, unposted=0, bad=True)


@transition(
    timer,
    duration="load-timeout",
    request=Requests,
    attempt=Attempts,
    worker=Workers,
    target=Blocks,
)
def load_timeout(
    world: World, request: int, attempt: int, worker: int, target: int
) -> World | None:
    """The engine with {target} has waited too long for the KV of {request} from {worker}."""
    load, here = world.loads[request].attempts[attempt], world.streams[request].attempts[attempt]
    if load.prefill != worker or load.target != target or not world.protocol.load_timeout:
        return None
    if here.stage != Stage.LOADING or load.killed:
        return None
    if world.endpoints[world.homes[target]].process not in ANSWERS or here.severed:
        return None
    process, dead = world.endpoints[worker].process, False
    if process in DEAD or load.torn:
        dead = True
    if load.flying and not dead:
        return None
    sends = process in ANSWERS and not load.stale
    coming = load.unposted and sends and load.hold in (Hold.ASKED, Hold.HELD)
    if not load.stuck and not load.flying and (coming or not load.unposted):
        return None
    given = world.with_load(request, attempt, stuck=False, flying=0)
    return load_failed(given, request, attempt, target)


@transition(step, duration="abort", request=Requests, attempt=Attempts, worker=Workers)
def abort(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} hears that {request} was given up, and aborts it if it can."""
    here = world.streams[request].attempts[attempt]
    if here.worker != worker or here.severed or not given_up(world, request, attempt):
        return None
    if here.stage in (Stage.IDLE, Stage.OVER) or world.endpoints[worker].process not in ANSWERS:
        return None
    if world.loads[request].attempts[attempt].decode_untold:
        return None
    if here.stage == Stage.ACCEPTED and not world.protocol.keep_early_cancels:
        return world.with_attempt(request, attempt, told=True, deaf=True)
    if here.deaf:
        return None
    if here.stage == Stage.ACCEPTED:
        world = world.with_attempt(request, attempt, stage=Stage.OVER)
        told = world.protocol.notify_when_aborted
        return world.acknowledge(request, attempt) if told else world
    if here.sent == here.start and not world.protocol.cancel_before_output:
        return world.with_attempt(request, attempt, told=True)
    world = world.with_attempt(request, attempt, stage=Stage.OVER)
    if here.stage == Stage.RUNNING:
        return world.free_target(request, attempt, worker)
    return _abort_load(world, request, attempt, worker)


def _abort_load(world: World, request: int, attempt: int, worker: int) -> World:
    """Abort a load that has not been seen to end."""
    load, protocol = world.loads[request].attempts[attempt], world.protocol
    if load.flying and not protocol.spare_transfers:
        return world.with_load(request, attempt, killed=True)
    landed = not load.flying and not load.unposted
    if landed and not protocol.free_after_late_abort:
        return world
    world = revoked(world, request, attempt)
    if protocol.defer_free_on_abort:
        return world.with_load(request, attempt, aborted=True)
    return world.free_target(request, attempt, worker)


@transition(step, duration="engine-loop", request=Requests, attempt=Attempts, target=Blocks)
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
