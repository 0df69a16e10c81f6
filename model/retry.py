"""Retries: dispatch, what an error leads to, bookings, and the budget that bounds it all."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS, CLOSED, Process, Role
from rackproof.model.kernel import (
    bounded,
    fault,
    frozen,
    identifier,
    members,
    step,
    timer,
    transition,
)
from rackproof.model.kv import Hold
from rackproof.model.logic import lacks, some
from rackproof.model.protocol import ZeroBudget
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Attempts, Requests, Workers
from rackproof.model.stream import Finish, Link, Stage

if TYPE_CHECKING:
    from rackproof.model.world import World


class Error(Enum):
    """What an attempt ended with."""

    CONNECT = "cannot connect"
    DISCONNECT = "disconnected"
    TIMEOUT = "response timeout"
    SHUTDOWN = "engine shutdown"
    REMOVED = "worker removed"
    LOAD = "KV load failed"


@frozen
class Retry:
    """The retry state of a request.

    current: its present attempt. dispatches: how many there were, one request id for all. failed:
    workers that failed it. booked: workers that a booking under its id is held at.
    """

    current: int | None = identifier(Attempts)
    dispatches: int = bounded(0, "dispatches")
    failed: frozenset[int] = members(Workers)
    booked: frozenset[int] = members(Workers)
    release_lost: bool = False
    to_removed: bool = False
    back_to_failed: bool = False
    refused: bool = False


def chosen(world: World, request: int, worker: int, role: Role) -> bool:
    """Whether the router may choose a worker for a request."""
    if world.roles[worker] != role:
        return False
    endpoint, excludes = world.endpoints[worker], world.protocol.exclude_failed_workers
    return (
        world.believed(worker)
        & (endpoint.inhibited == False)
        & (endpoint.overloaded == False)
        & (lacks(world.retries[request].failed, worker) | (not excludes))
    )


def somebody(world: World, request: int, role: Role) -> bool:
    """Whether there is a worker to choose."""
    return some(chosen(world, request, w, role) for w in range(len(world.endpoints)))


@transition(step, request=Requests, worker=Workers)
def dispatch(world: World, request: int, worker: int) -> World | None:
    """The router sends {request} to {worker}; where nobody listens, the dispatch fails at once."""
    if world.requests[request].phase != Phase.QUEUED:
        return None
    endpoint, retry = world.endpoints[worker], world.retries[request]
    role = world.roles[worker]
    if role == Role.DECODE or not chosen(world, request, worker, role):
        return None
    if retry.booked:
        return world.with_retry(request, refused=True).end(request, Phase.FAILED)
    following, dead = used(world, request), endpoint.process in CLOSED
    counted = world.protocol.count_failed_connects or not dead
    world = world.with_retry(
        request,
        current=following if counted else retry.current,
        dispatches=min(retry.dispatches + 1, world.most_dispatches + 1),
        booked=frozenset({worker}),
        to_removed=retry.to_removed | (endpoint.listed == False),
        back_to_failed=retry.back_to_failed | returns(world, request, worker),
    )
    if dead:
        return recover(world, request, worker, Error.CONNECT)
    return _begin(world, request, following, worker, role)


def returns(world: World, request: int, worker: int) -> bool:
    """Whether a dispatch goes back to a worker that failed the request, though another is there."""
    failed, role = world.retries[request].failed, world.roles[worker]
    if worker not in failed:
        return False
    return some(
        chosen(world, request, other, role) & lacks(failed, other)
        for other in range(len(world.roles))
    )


def used(world: World, request: int) -> int:
    """How many attempts of a request were counted."""
    current = world.retries[request].current
    return 0 if current == None else current + 1


def _begin(world: World, request: int, attempt: int, worker: int, role: Role) -> World:
    stream, protocol = world.streams[request], world.protocol
    restarts = world.requests[request].guided or not protocol.replay_delivered
    start = 0 if restarts else stream.delivered
    world = world.with_attempt(request, attempt, start=start, sent=start, received=start)
    if role == Role.PREFILL:
        world = world.with_load(request, attempt, prefill=worker, hold=Hold.ASKED)
        return world.with_request(request, phase=Phase.PREFILLING)
    world = world.with_attempt(request, attempt, worker=worker, stage=Stage.ACCEPTED)
    return world.with_request(request, phase=Phase.DECODING)


@transition(step, request=Requests, attempt=Attempts, worker=Workers)
def dispatch_decode(world: World, request: int, attempt: int, worker: int) -> World | None:
    """The router sends {request}, whose prefill is done, to {worker}, if somebody listens there."""
    retry, endpoint = world.retries[request], world.endpoints[worker]
    if world.requests[request].phase != Phase.READY or retry.current != attempt:
        return None
    if not chosen(world, request, worker, Role.DECODE):
        return None
    world = world.with_retry(
        request,
        booked=frozenset({worker}),
        to_removed=retry.to_removed | (endpoint.listed == False),
        back_to_failed=retry.back_to_failed | returns(world, request, worker),
    )
    if endpoint.process in CLOSED:
        return recover(world, request, worker, Error.CONNECT)
    world = world.with_attempt(request, attempt, worker=worker, stage=Stage.ACCEPTED)
    if world.requests[request].gone:
        return world.end(request, Phase.CANCELLED)
    return world.with_request(request, phase=Phase.DECODING)


@transition(step, request=Requests)
def nobody_left(world: World, request: int) -> World | None:
    """No worker can be chosen for {request}: it ends."""
    phase = world.requests[request].phase
    if phase not in (Phase.QUEUED, Phase.READY):
        return None
    if phase == Phase.READY:
        missing = not somebody(world, request, Role.DECODE)
    else:
        missing = not (
            somebody(world, request, Role.AGGREGATED) | somebody(world, request, Role.PREFILL)
        )
    if not missing:
        return None
    return world.end(request, Phase.CANCELLED if world.requests[request].gone else Phase.FAILED)


@transition(step, request=Requests, attempt=Attempts, worker=Workers)
def start_stream(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} opens the response stream of {request} and computes its prefill."""
    here = world.streams[request].attempts[attempt]
    if here.stage != Stage.ACCEPTED or here.worker != worker:
        return None
    endpoint = world.endpoints[worker]
    if world.roles[worker] != Role.AGGREGATED or endpoint.process not in ANSWERS:
        return None
    if world.refuses(request, attempt):
        return None
    return world.with_attempt(request, attempt, stage=Stage.RUNNING)


@transition(step, request=Requests, attempt=Attempts, worker=Workers)
def refuse(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} refuses {request}: nothing is left to generate."""
    if not world.refuses(request, attempt) or not present(world, request, attempt):
        return None
    here, load = world.streams[request].attempts[attempt], world.loads[request].attempts[attempt]
    at_decode = here.stage == Stage.ACCEPTED and here.worker == worker
    at_prefill = load.hold == Hold.ASKED and load.prefill == worker
    if not (at_decode or at_prefill) or world.endpoints[worker].process not in ANSWERS:
        return None
    return recover(world, request, worker, Error.CONNECT)


def present(world: World, request: int, attempt: int) -> bool:
    """Whether an attempt is the one the frontend waits for."""
    phase = world.requests[request].phase
    return (world.retries[request].current == attempt) & (
        (phase == Phase.DECODING) | (phase == Phase.PREFILLING)
    )


def waits_unanswered(world: World, request: int, attempt: int, worker: int) -> bool:
    """Whether a worker accepted an attempt, and has not opened a stream for it."""
    here, load = world.streams[request].attempts[attempt], world.loads[request].attempts[attempt]
    return ((here.stage == Stage.ACCEPTED) & (here.worker == worker)) | (
        (load.hold == Hold.ASKED) & (load.prefill == worker)
    )


def streams_from(world: World, request: int, attempt: int, worker: int) -> bool:
    """Whether an attempt has an open response stream at a worker."""
    here = world.streams[request].attempts[attempt]
    return (here.worker == worker) & (
        (here.stage == Stage.RUNNING) | (here.stage == Stage.LOADING) | (here.finish != Finish.NONE)
    )


@transition(step, request=Requests, attempt=Attempts, worker=Workers)
def notice(world: World, request: int, attempt: int, worker: int) -> World | None:
    """The frontend finds the stream of {request} from {worker} broken."""
    if not present(world, request, attempt):
        return None
    here, process = world.streams[request].attempts[attempt], world.endpoints[worker].process
    if here.worker == worker and here.link == Link.ERROR:
        return recover(world, request, worker, Error.LOAD)
    if process == Process.STOPPED and (
        streams_from(world, request, attempt, worker)
        or waits_unanswered(world, request, attempt, worker)
    ):
        # It says so at the end of the stream, behind all it sent before.
        told = here.received == here.sent and here.finish != Finish.SENT
        return recover(world, request, worker, Error.SHUTDOWN) if told else None
    if not streams_from(world, request, attempt, worker):
        return None
    if process == Process.DOWN or here.link == Link.BROKEN:
        return recover(world, request, worker, Error.DISCONNECT)
    return None


@transition(timer, request=Requests, attempt=Attempts, worker=Workers)
def stream_timeout(world: World, request: int, attempt: int, worker: int) -> World | None:
    """The stream of {request} from {worker} has been silent for too long."""
    if not world.protocol.stream_timeout or not present(world, request, attempt):
        return None
    here = world.streams[request].attempts[attempt]
    if not streams_from(world, request, attempt, worker):
        return None
    if here.received != here.sent or here.finish == Finish.SENT:
        return None
    if world.endpoints[worker].process not in (Process.HUNG, Process.LOST):
        return None
    return recover(world, request, worker, Error.TIMEOUT)


@transition(step, request=Requests, attempt=Attempts, worker=Workers)
def cancel_pending(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} is no longer listed, and has not answered {request}: the frontend gives it up."""
    endpoint = world.endpoints[worker]
    if not world.protocol.cancel_on_removal or endpoint.listed or endpoint.removal_missed:
        return None
    if not present(world, request, attempt):
        return None
    if not waits_unanswered(world, request, attempt, worker):
        return None
    return recover(world, request, worker, Error.REMOVED)


def migratable(world: World, request: int, error: Error) -> bool:
    """Whether an error has the request retried."""
    protocol = world.protocol
    if world.requests[request].guided and not protocol.migrate_guided_requests:
        return False
    if error == Error.TIMEOUT:
        return protocol.migrate_on_timeout
    if error == Error.SHUTDOWN:
        return protocol.migrate_on_shutdown
    return protocol.migrate_on_disconnect


def recover(world: World, request: int, worker: int, error: Error) -> World:
    """An attempt ended in an error: blame, release, and retry or fail."""
    protocol = world.protocol
    if protocol.inhibit_on_error:
        world = world.with_endpoint(worker, inhibited=True)
    retry = world.retries[request]
    world = world.with_retry(request, failed=retry.failed | {worker})
    if protocol.release_booking_first:
        world = world.with_retry(request, booked=frozenset())
    stream = world.streams[request]
    if world.requests[request].gone:
        return world.end(request, Phase.CANCELLED)
    if stream.delivered >= world.max_tokens and protocol.zero_budget == ZeroBudget.FINISH:
        return world.with_stream(request, finished=True, withheld=False).end(request, Phase.DONE)
    if not migratable(world, request, error):
        return fail(world, request, needless=not world.requests[request].guided)
    if used(world, request) == world.most_dispatches:
        return fail(world, request, needless=False)
    lost = stream.lost | (stream.withheld & (not protocol.carry_withheld_text))
    if not protocol.carry_withheld_text:
        world = world.with_stream(request, withheld=False, lost=lost)
    return world.with_request(request, phase=Phase.QUEUED)


def fail(world: World, request: int, needless: bool) -> World:
    """End a request in failure; note whether a worker could still have been tried."""
    world = world.end(request, Phase.FAILED)
    if not needless or used(world, request) == world.most_dispatches:
        return world
    could = somebody(world, request, Role.AGGREGATED) | somebody(world, request, Role.PREFILL)
    return world.with_request(request, needless=could)


@transition(step, request=Requests)
def release_booking(world: World, request: int) -> World | None:
    """The router releases the booking of {request}, which is over."""
    retry = world.retries[request]
    if world.requests[request].phase not in TERMINAL or retry.release_lost or not retry.booked:
        return None
    return world.with_retry(request, booked=frozenset())


@transition(fault, request=Requests)
def lost_release(world: World, request: int) -> World | None:
    """The release of the booking of {request} is lost."""
    retry = world.retries[request]
    if world.requests[request].phase not in TERMINAL or not world.budget.lost_release:
        return None
    if retry.release_lost or not retry.booked:
        return None
    return world.spend("lost_release").with_retry(request, release_lost=True)


@transition(timer, request=Requests)
def expire_booking(world: World, request: int) -> World | None:
    """The booking of {request} is too old, and swept out."""
    retry = world.retries[request]
    if not world.protocol.expire_bookings or not retry.release_lost or not retry.booked:
        return None
    return world.with_retry(request, booked=frozenset())
