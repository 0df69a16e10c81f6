"""Retries: dispatch, what an error leads to, bookings, and the budget that bounds it all."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS, CLOSED, Process, Role
from rackproof.model.kernel import (
    bounded,
    client,
    evolve,
    fault,
    frozen,
    identifier,
    members,
    step,
    timer,
    transition,
)
from rackproof.model.kv import Hold, Load, waits_in_vain
from rackproof.model.logic import lacks, some
from rackproof.model.protocol import Dispatch, Replay, ZeroBudget
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Attempts, Requests, Workers
from rackproof.model.stream import Attempt, Finish, Link, Stage

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
    PREFILL = "prefill failed"
    FULL = "worker full"
    REFUSED = "request refused"


@frozen
class Retry:
    """The retry state of a request.

    current: its present attempt. dispatches: how many there were, one request id for all; in_round:
    how many of them count since a gateway or the client began again, which they did gateway and
    client times. first: the first attempt since the client asked last. accepted: a worker accepted
    one of these. afresh: the gateway began again, and
    knows nothing of what was delivered. failed: workers that failed it. booked: workers that a
    booking under its id is held at. The other truths are what went wrong, once and for all.
    """

    current: int | None = identifier(Attempts)
    dispatches: int = bounded(0, "dispatches")
    in_round: int = bounded(0, "round")
    gateway: int = bounded(0, "gateway_rounds")
    client: int = bounded(0, "client_rounds")
    first: int = bounded(0, "dispatches")
    accepted: bool = False
    afresh: bool = False
    failed: frozenset[int] = members(Workers)
    booked: frozenset[int] = members(Workers)
    release_lost: bool = False
    to_removed: bool = False
    back_to_failed: bool = False
    refused: bool = False
    replayed_live: bool = False


def selectable(world: World, request: int, worker: int, role: Role) -> bool:
    """Whether nothing that the router knows speaks against a worker for a request."""
    if world.roles[worker] != role:
        return False
    endpoint, protocol = world.endpoints[worker], world.protocol
    return (
        world.believed(worker)
        & ((endpoint.inhibited == False) | endpoint.half_open)
        & (endpoint.overloaded == False)
        & ((endpoint.stale == False) | protocol.route_on_stale_metrics)
        & (lacks(world.retries[request].failed, worker) | (not protocol.exclude_failed_workers))
    )


def chosen(world: World, request: int, worker: int, role: Role) -> bool:
    """Whether the router may choose a worker for a request: of a session, the one it is bound to,
    and another where that one cannot be chosen.
    """
    free = selectable(world, request, worker, role)
    if not world.sessions or role == Role.PREFILL:
        return free
    bound = some(
        (world.session == other) & selectable(world, request, other, role)
        for other in world.serving_as(role)
    )
    unbound = (world.session == None) | (world.protocol.rebind_sessions & (bound == False))
    return free & ((world.session == worker) | unbound)


def somebody(world: World, request: int, role: Role) -> bool:
    """Whether there is a worker to choose."""
    return some(chosen(world, request, worker, role) for worker in world.serving_as(role))


def first_choice(world: World, request: int) -> bool:
    """Whether there is a worker to send a request to, before its prefill."""
    return somebody(world, request, Role.AGGREGATED) | somebody(world, request, Role.PREFILL)


def overlooked(world: World, request: int, role: Role) -> bool:
    """Whether a worker is up, listed and unmarked, and did not fail the request."""
    failed = world.retries[request].failed
    return some(
        (endpoint.process == Process.UP)
        & endpoint.listed
        & (endpoint.inhibited == False)
        & (endpoint.overloaded == False)
        & lacks(failed, worker)
        for worker, endpoint in enumerate(world.endpoints)
        if worker in world.serving_as(role)
    )


@transition(step, duration="dispatch", request=Requests, worker=Workers)
def dispatch(world: World, request: int, worker: int) -> World | None:
    """The router sends {request} to {worker}; a dead or full worker refuses it at once."""
    if world.requests[request].phase != Phase.QUEUED:
        return None
    role = world.roles[worker]
    if role == Role.DECODE or not chosen(world, request, worker, role):
        return None
    return send(world, request, worker)


@transition(step, duration="dispatch", request=Requests, worker=Workers)
def dispatch_without_prefill(world: World, request: int, worker: int) -> World | None:
    """No prefill worker can be chosen: the router sends {request} to {worker} as it is."""
    if world.requests[request].phase != Phase.QUEUED or not world.protocol.local_prefill:
        return None
    if not chosen(world, request, worker, Role.DECODE) or first_choice(world, request):
        return None
    return send(world, request, worker)


def send(world: World, request: int, worker: int) -> World:
    """Dispatch a request for the first time, or again."""
    endpoint, retry = world.endpoints[worker], world.retries[request]
    if retry.booked:
        return world.with_retry(request, refused=True).end(request, Phase.FAILED)
    following, dead = used(world, request), endpoint.process in CLOSED
    counted = world.protocol.count_failed_connects or not dead
    world = noted(world, request, worker).with_retry(
        request,
        current=following if counted else retry.current,
        in_round=retry.in_round + int(counted),
        dispatches=min(retry.dispatches + 1, world.most_dispatches + 1),
        booked=frozenset({worker}),
    )
    if dead:
        return recover(world, request, worker, Error.CONNECT)
    if endpoint.busy:
        return recover(world, request, worker, Error.FULL)
    return _begin(world, request, following, worker)


def noted(world: World, request: int, worker: int) -> World:
    """Write down what is wrong with the choice of a worker; bind the session to it."""
    retry = world.retries[request]
    if world.sessions and world.roles[worker] != Role.PREFILL:
        world = evolve(world, session=worker)
    if world.endpoints[worker].half_open:
        world = world.with_endpoint(worker, half_open=False, on_trial=True)
    return world.with_retry(
        request,
        to_removed=retry.to_removed | (world.endpoints[worker].listed == False),
        back_to_failed=retry.back_to_failed | returns(world, request, worker),
    )


def returns(world: World, request: int, worker: int) -> bool:
    """Whether a dispatch goes back to a worker that failed the request, though another is there."""
    failed, role = world.retries[request].failed, world.roles[worker]
    if worker not in failed:
        return False
    return some(
        chosen(world, request, other, role) & lacks(failed, other)
        for other in world.serving_as(role)
    )


def used(world: World, request: int) -> int:
    """How many attempts of a request were counted."""
    current = world.retries[request].current
    return 0 if current == None else current + 1


def begins_at(world: World, request: int) -> int:
    """The position at which an attempt begins that is sent now: how many tokens it is told that the
    client has.
    """
    guided, afresh = world.requests[request].guided, world.retries[request].afresh
    restarts = guided or not world.protocol.replay_delivered or afresh
    return 0 if restarts else world.streams[request].delivered


def _begin(world: World, request: int, attempt: int, worker: int) -> World:
    role, start = world.roles[worker], begins_at(world, request)
    world = world.with_attempt(request, attempt, start=start, sent=start, received=start)
    world = world.with_retry(request, accepted=True, afresh=False)
    if role == Role.PREFILL:
        world = world.with_load(request, attempt, prefill=worker, hold=Hold.ASKED)
        return world.with_request(request, phase=Phase.PREFILLING)
    world = world.with_attempt(request, attempt, worker=worker, stage=Stage.ACCEPTED)
    return world.with_request(request, phase=Phase.DECODING)


@transition(step, duration="dispatch", request=Requests, attempt=Attempts, worker=Workers)
def dispatch_decode(world: World, request: int, attempt: int, worker: int) -> World | None:
    """The router sends {request} on to {worker}, to decode."""
    retry, endpoint = world.retries[request], world.endpoints[worker]
    phase, concurrent = world.requests[request].phase, Dispatch.CONCURRENT
    early = phase == Phase.PREFILLING and world.protocol.dispatch == concurrent
    if not (phase == Phase.READY or early) or retry.current != attempt:
        return None
    if not chosen(world, request, worker, Role.DECODE):
        return None
    world = noted(world, request, worker)
    world = world.with_retry(request, booked=retry.booked | {worker})
    if endpoint.process in CLOSED:
        return lose(world, request, attempt, worker, Error.CONNECT)
    if endpoint.busy:
        return lose(world, request, attempt, worker, Error.FULL)
    world = world.with_attempt(request, attempt, worker=worker, stage=Stage.ACCEPTED)
    if world.requests[request].gone:
        return world.end(request, Phase.CANCELLED)
    return world.with_request(request, phase=Phase.DECODING)


@transition(step, duration="giving-up", request=Requests)
def nobody_left(world: World, request: int) -> World | None:
    """No worker can be chosen for {request}: it ends, or begins again where another kind can."""
    here, protocol = world.requests[request], world.protocol
    at_once = here.phase == Phase.PREFILLING and protocol.dispatch == Dispatch.CONCURRENT
    if here.phase not in (Phase.QUEUED, Phase.READY) and not at_once:
        return None
    if here.phase != Phase.QUEUED:
        there = somebody(world, request, Role.DECODE)
        blind = overlooked(world, request, Role.DECODE)
    else:
        there = first_choice(world, request) | (
            protocol.local_prefill & somebody(world, request, Role.DECODE)
        )
        blind = overlooked(world, request, Role.AGGREGATED) | overlooked(
            world, request, Role.PREFILL
        )
    if there:
        return None
    if here.gone:
        return world.end(request, Phase.CANCELLED)
    left = world.retries[request].in_round < world.a_round
    if here.phase != Phase.QUEUED and left and somebody(world, request, Role.AGGREGATED):
        return again(world, request)
    return give_up(world.with_request(request, needless=here.needless | blind), request, False)


@transition(step, duration="prefill", request=Requests, attempt=Attempts, worker=Workers)
def start_stream(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} opens the response stream of {request} and computes its prefill."""
    here = world.streams[request].attempts[attempt]
    if here.stage != Stage.ACCEPTED or here.worker != worker:
        return None
    endpoint = world.endpoints[worker]
    if world.roles[worker] != Role.AGGREGATED or endpoint.process not in ANSWERS or here.severed:
        return None
    if world.refuses(request, attempt):
        return None
    return world.with_attempt(request, attempt, stage=Stage.RUNNING)


@transition(step, duration="message", request=Requests, attempt=Attempts, worker=Workers)
def refuse(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} refuses {request} as malformed, or because nothing is left to generate."""
    if not world.refuses(request, attempt) or not present(world, request, attempt):
        return None
    here, load = world.streams[request].attempts[attempt], world.loads[request].attempts[attempt]
    at_decode = here.stage == Stage.ACCEPTED and here.worker == worker and not here.severed
    at_prefill = load.hold == Hold.ASKED and load.prefill == worker and not load.stale
    if not (at_decode or at_prefill) or world.endpoints[worker].process not in ANSWERS:
        return None
    return lose(world, request, attempt, worker, Error.REFUSED)


@transition(fault, duration="any-time", request=Requests, attempt=Attempts, worker=Workers)
def prefill_error(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} answers the prefill of {request} with an error."""
    load = world.loads[request].attempts[attempt]
    if not world.budget.prefill_error or not present(world, request, attempt):
        return None
    if load.hold != Hold.ASKED or load.prefill != worker or load.stale:
        return None
    if world.endpoints[worker].process not in ANSWERS:
        return None
    world = world.spend("prefill_error").with_load(request, attempt, hold=Hold.NONE)
    return lose(world, request, attempt, worker, Error.PREFILL)


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


@transition(step, duration="stream-break", request=Requests, attempt=Attempts, worker=Workers)
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
        return lose(world, request, attempt, worker, Error.SHUTDOWN) if told else None
    if not connected(world, request, attempt, worker):
        return None
    gone = process == Process.DOWN or forgotten(world, request, attempt, worker)
    if gone or here.link == Link.BROKEN:
        return lose(world, request, attempt, worker, Error.DISCONNECT)
    return None


def connected(world: World, request: int, attempt: int, worker: int) -> bool:
    """Whether the frontend has a connection to a worker on which it waits for an attempt."""
    waits = world.protocol.answer_on_connection & waits_unanswered(world, request, attempt, worker)
    return streams_from(world, request, attempt, worker) | waits


@transition(timer, duration="stream-timeout", request=Requests, attempt=Attempts, worker=Workers)
def stream_timeout(world: World, request: int, attempt: int, worker: int) -> World | None:
    """The stream of {request} from {worker} has been silent for too long."""
    if not world.protocol.stream_timeout or not present(world, request, attempt):
        return None
    here = world.streams[request].attempts[attempt]
    if not connected(world, request, attempt, worker):
        return None
    if here.received != here.sent or here.finish == Finish.SENT:
        return None
    silent = world.endpoints[worker].process in (Process.HUNG, Process.LOST)
    if not silent and not waits_in_vain(world, request, attempt):
        return None
    return lose(world, request, attempt, worker, Error.TIMEOUT)


@transition(step, duration="discovery-event", request=Requests, attempt=Attempts, worker=Workers)
def cancel_pending(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} is no longer listed, and has not answered {request}: the frontend gives it up."""
    endpoint, protocol = world.endpoints[worker], world.protocol
    if not protocol.cancel_on_removal or not present(world, request, attempt):
        return None
    removed = not endpoint.listed and not endpoint.removal_missed
    replaced = protocol.epoch_on_restart and forgotten(world, request, attempt, worker)
    if not removed and not replaced:
        return None
    if not waits_unanswered(world, request, attempt, worker):
        return None
    return lose(world, request, attempt, worker, Error.REMOVED)


def forgotten(world: World, request: int, attempt: int, worker: int) -> bool:
    """Whether a worker has started again since it accepted an attempt."""
    here, load = world.streams[request].attempts[attempt], world.loads[request].attempts[attempt]
    return (here.severed & (here.worker == worker)) | (load.stale & (load.prefill == worker))


def migratable(world: World, request: int, error: Error) -> bool:
    """Whether an error has the request retried."""
    protocol = world.protocol
    if world.requests[request].guided and not protocol.migrate_guided_requests:
        return False
    match error:
        case Error.TIMEOUT:
            return protocol.migrate_on_timeout
        case Error.SHUTDOWN:
            return protocol.migrate_on_shutdown
        case Error.FULL:
            return protocol.retry_when_full
        case Error.REFUSED if protocol.blame_only_faults:
            return False
        case _:
            return protocol.migrate_on_disconnect


def blamed(world: World, worker: int, error: Error) -> World:
    """Hold an error against the worker that it came from."""
    if error == Error.FULL:
        return world.with_endpoint(worker, overloaded=True)
    endpoint, protocol = world.endpoints[worker], world.protocol
    refused = error == Error.REFUSED
    if not protocol.inhibit_on_error or (refused and protocol.blame_only_faults):
        return world
    wrongly = endpoint.blamed_for_client | refused
    return world.with_endpoint(worker, inhibited=True, on_trial=False, blamed_for_client=wrongly)


def lose(world: World, request: int, attempt: int, worker: int, error: Error) -> World:
    """One half of an attempt ended in an error: tell the other half, if it is told."""
    load = world.loads[request].attempts[attempt]
    is_pair = load.prefill != None and world.streams[request].attempts[attempt].worker != None
    if is_pair and not world.protocol.abort_sibling:
        prefill = load.prefill == worker
        world = world.with_load(
            request,
            attempt,
            decode_untold=load.decode_untold | prefill,
            prefill_untold=load.prefill_untold | (prefill == False),
        )
    return recover(world, request, worker, error)


def recover(world: World, request: int, worker: int, error: Error) -> World:
    """An attempt ended in an error: blame, release, and retry or fail."""
    protocol, retry = world.protocol, world.retries[request]
    world = blamed(world, worker, error).with_retry(request, failed=retry.failed | {worker})
    if protocol.release_booking_first:
        world = world.with_retry(request, booked=frozenset())
    stream = world.streams[request]
    if world.requests[request].gone:
        return world.end(request, Phase.CANCELLED)
    if stream.delivered >= world.max_tokens and protocol.zero_budget == ZeroBudget.FINISH:
        return world.with_stream(request, finished=True, withheld=False).end(request, Phase.DONE)
    if not migratable(world, request, error):
        spared = world.requests[request].guided or error == Error.REFUSED
        return give_up(world, request, not spared)
    if retry.in_round >= world.a_round:
        return give_up(world, request, needless=False)
    return again(world, request)


def again(world: World, request: int) -> World:
    """Queue a request for another attempt."""
    stream, protocol = world.streams[request], world.protocol
    lost = stream.lost | (stream.withheld & (not protocol.carry_withheld_text))
    if not protocol.carry_withheld_text:
        world = world.with_stream(request, withheld=False, lost=lost)
    return world.with_request(request, phase=Phase.QUEUED)


def give_up(world: World, request: int, needless: bool) -> World:
    """The router gives a request up; a gateway in front of it may begin again."""
    retry = world.retries[request]
    if retry.gateway < world.gateway_retries and _replays(world, request):
        return _replay(world, request)
    world = world.end(request, Phase.FAILED)
    if not needless or retry.in_round >= world.a_round:
        return world
    could = first_choice(world, request)
    return world.with_request(request, needless=world.requests[request].needless | could)


def _replays(world: World, request: int) -> bool:
    """Whether the gateway sends again what the router gave up."""
    match world.protocol.gateway_replay:
        case Replay.UNDISPATCHED:
            return not world.retries[request].accepted
        case Replay.UNANSWERED:
            return world.streams[request].delivered == 0
        case Replay.ANY:
            return True
        case _:
            return False


def _replay(world: World, request: int) -> World:
    """The gateway begins again, with a booking and a budget of its own."""
    retry = world.retries[request]
    world = world.with_retry(
        request,
        gateway=retry.gateway + 1,
        in_round=0,
        accepted=False,
        afresh=True,
        booked=frozenset(),
        replayed_live=retry.replayed_live | _is_somewhere(world, request),
    )
    return again(world, request)


def _is_somewhere(world: World, request: int) -> bool:
    """Whether a live worker has an attempt of what the client asked for last, not ended yet."""
    first, loads = world.retries[request].first, world.loads[request].attempts
    return some(
        (_decodes(here, worker) | _computes(loads[attempt], worker))
        & (endpoint.answers | (endpoint.process == Process.HUNG))
        & (first <= attempt)
        for attempt, here in enumerate(world.streams[request].attempts)
        for worker, endpoint in enumerate(world.endpoints)
    )


def _decodes(here: Attempt, worker: int) -> bool:
    """Whether a worker has accepted an attempt and not ended it."""
    stages = (Stage.ACCEPTED, Stage.LOADING, Stage.RUNNING)
    active = some(here.stage == stage for stage in stages)
    return (here.worker == worker) & (here.severed == False) & active


def _computes(load: Load, worker: int) -> bool:
    """Whether a prefill worker has an attempt that it has not computed."""
    return (load.prefill == worker) & (load.hold == Hold.ASKED) & (load.stale == False)


@transition(client, duration="client-choice", request=Requests)
def ask_again(world: World, request: int) -> World | None:
    """The client of {request}, which failed, asks again from the start."""
    retry, here = world.retries[request], world.requests[request]
    if here.phase != Phase.FAILED or here.gone or retry.client >= world.client_retries:
        return None
    world = world.with_stream(request, delivered=0, finished=False, withheld=False)
    world = world.with_retry(
        request,
        client=retry.client + 1,
        first=used(world, request),
        afresh=False,
        gateway=0,
        in_round=0,
        accepted=False,
        failed=frozenset(),
        booked=frozenset(),
    )
    return world.with_request(request, phase=Phase.QUEUED)


@transition(step, duration="message", request=Requests)
def release_booking(world: World, request: int) -> World | None:
    """The router releases the booking of {request}, which is over."""
    retry = world.retries[request]
    if world.requests[request].phase not in TERMINAL or retry.release_lost or not retry.booked:
        return None
    return world.with_retry(request, booked=frozenset())


@transition(fault, duration="any-time", request=Requests)
def lost_release(world: World, request: int) -> World | None:
    """The release of the booking of {request} is lost."""
    retry = world.retries[request]
    if world.requests[request].phase not in TERMINAL or not world.budget.lost_release:
        return None
    if retry.release_lost or not retry.booked:
        return None
    return world.spend("lost_release").with_retry(request, release_lost=True)


@transition(timer, duration="booking-expiry", request=Requests)
def expire_booking(world: World, request: int) -> World | None:
    """The booking of {request} is too old, and swept out."""
    retry = world.retries[request]
    if not world.protocol.expire_bookings or not retry.release_lost or not retry.booked:
        return None
    return world.with_retry(request, booked=frozenset())
