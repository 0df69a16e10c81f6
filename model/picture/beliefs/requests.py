"""What the frontend, the router and a gateway take requests for."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.endpoint import Process
from rackproof.model.kernel import Belief
from rackproof.model.kv import Hold, Load, given_up
from rackproof.model.picture.beliefs.soon import is_told
from rackproof.model.picture.beliefs.transfers import nothing_comes
from rackproof.model.picture.cast import FRONTEND, GATEWAY, ROUTER, Cast
from rackproof.model.picture.words import PROCESS, answers, counted
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Attempt, Finish, Link, Stage, Stream, limit, receive_end
from rackproof.model.world import World


def of_requests(cast: Cast, world: World) -> Iterator[Belief]:
    """Who has a request, what its client has, where it is booked."""
    for request in range(len(world.requests)):
        yield from _whereabouts(cast, world, request)
        yield from _delivery(cast, world, request)
        yield from _tokens(cast, world, request)
        yield from _outcome(cast, world, request)
        yield from _bookings(cast, world, request)
    if world.sessions and world.session is not None:
        name, process = cast.worker(world.session), world.endpoints[world.session].process
        believed = "has the cached prompt of the session"
        yield Belief(ROUTER, name, believed, PROCESS[process], process is Process.UP)


def _whereabouts(cast: Cast, world: World, request: int) -> Iterator[Belief]:
    """Who the frontend thinks is working on a request, or holds its KV."""
    current, name = world.retries[request].current, cast.called(Requests, request)
    if current is None:
        return
    here, load = world.streams[request].attempts[current], world.loads[request].attempts[current]
    told = is_told(world, request, current)
    match world.requests[request].phase:
        case Phase.DECODING if here.worker is not None:
            truth, fine = _decoding(cast, world, request, current, here.worker)
            believed = f"is served by {cast.worker(here.worker)}"
            yield Belief(FRONTEND, name, believed, truth, fine, told and not fine)
        case Phase.PREFILLING if load.prefill is not None:
            truth, fine = _prefilling(cast, world, request, current, load.prefill)
            believed = f"has its prefill computed by {cast.worker(load.prefill)}"
            yield Belief(FRONTEND, name, believed, truth, fine, told and not fine)
        case Phase.READY if load.prefill is not None:
            truth, fine = _kept(cast, world, request, current, load.prefill)
            believed = f"has its KV on {cast.worker(load.prefill)}"
            yield Belief(FRONTEND, name, believed, truth, fine)


def _decoding(
    cast: Cast, world: World, request: int, attempt: int, worker: int
) -> tuple[str, bool]:
    """What has become of an attempt at its decode worker, and whether that is as it should be."""
    here, name = world.streams[request].attempts[attempt], cast.worker(worker)
    if not answers(world, worker):
        return f"is not served: {name} {PROCESS[world.endpoints[worker].process]}", False
    if here.severed:
        return f"is not known to {name}, which has started again", False
    if here.link is Link.BROKEN:
        return f"is cut off from {name}: the connection broke", False
    if nothing_comes(world, request, attempt):
        return f"waits at {name} for KV that does not come", False
    if here.finish is not Finish.NONE:
        return f"was generated to its end by {name}", True
    match here.stage:
        case Stage.ACCEPTED:
            return f"is in the queue of {name}", True
        case Stage.LOADING:
            return f"waits at {name} for its KV", True
        case Stage.RUNNING:
            return f"is decoded by {name}", True
        case _:
            return f"was ended by {name}", False


def _prefilling(
    cast: Cast, world: World, request: int, attempt: int, worker: int
) -> tuple[str, bool]:
    """What has become of an attempt at its prefill worker, and whether that is as it should be."""
    load, name = world.loads[request].attempts[attempt], cast.worker(worker)
    if not answers(world, worker):
        return f"is not computed: {name} {PROCESS[world.endpoints[worker].process]}", False
    if load.stale:
        return f"is not known to {name}, which has started again", False
    if load.hold is Hold.NONE:
        return f"was dropped by {name}", False
    waits = load.hold is Hold.ASKED
    return f"is in the queue of {name}" if waits else f"was computed by {name}", True


def _kept(cast: Cast, world: World, request: int, attempt: int, worker: int) -> tuple[str, bool]:
    """What has become of the KV of an attempt, and whether it is still there."""
    load, name = world.loads[request].attempts[attempt], cast.worker(worker)
    if not answers(world, worker):
        return f"has its KV nowhere: {name} {PROCESS[world.endpoints[worker].process]}", False
    if load.stale or load.source is None:
        return f"has its KV nowhere: {name} has started again", False
    if load.hold is not Hold.HELD:
        return f"has its KV in a block that {name} has freed", False
    return f"has its KV in {cast.called(Blocks, load.source)}", True


def _delivery(cast: Cast, world: World, request: int) -> Iterator[Belief]:
    """What the frontend takes for delivered, and what is wrong with that."""
    stream, name = world.streams[request], cast.called(Requests, request)
    flaws = tuple(_flaws(stream))
    if not stream.delivered and not stream.finished and not flaws:
        return
    end = ", and its end" if stream.finished else ""
    believed = f"has {counted(stream.delivered, 'token')} delivered, one after another{end}"
    truth = f"has {counted(stream.delivered, 'token')} delivered{end}; but {', '.join(flaws)}"
    yield Belief(FRONTEND, name, believed, truth if flaws else believed, not flaws)
    if stream.inflated:
        believed, truth = "has each token counted once", "has what was sent again counted twice"
        yield Belief(FRONTEND, name, believed, truth, False)


def _flaws(stream: Stream) -> Iterator[str]:
    if stream.duplicated:
        yield "the client got one twice"
    if stream.lost:
        yield "the client never got one"
    if stream.after_finish:
        yield "the client got one after the end"
    if stream.over_budget:
        yield "the client got more than it asked for"


def _tokens(cast: Cast, world: World, request: int) -> Iterator[Belief]:
    """Where in the output the frontend, or the worker that serves a request, takes it to be."""
    stream, current = world.streams[request], world.retries[request].current
    name, phase = cast.called(Requests, request), world.requests[request].phase
    left, all_of_it = "has tokens left to generate", "has all the tokens that it asked for"
    if phase is Phase.QUEUED and stream.delivered >= world.max_tokens:
        yield Belief(FRONTEND, name, left, all_of_it, False)
    if current is None or given_up(world, request, current):
        return
    here = stream.attempts[current]
    if here.worker is None or here.severed or not answers(world, here.worker):
        return
    who, most = cast.worker(here.worker), limit(world, request, here)
    if here.finish is not Finish.NONE:
        if here.sent < most:
            truth = f"has {here.sent} of its {counted(most, 'token')} sent"
            yield Belief(who, name, "has all its tokens sent", truth, False)
    elif here.stage is not Stage.OVER and here.sent < stream.delivered:
        number = here.sent + 1
        truth = f"has had token {number} delivered already"
        yield Belief(who, name, f"comes to token {number} next", truth, False)
    elif here.stage is Stage.RUNNING and world.max_tokens <= here.sent < most:
        yield Belief(who, name, left, all_of_it, False)


def _outcome(cast: Cast, world: World, request: int) -> Iterator[Belief]:
    """Whether a request is over, or past saving, as is thought."""
    here, retry = world.requests[request], world.retries[request]
    name, over = cast.called(Requests, request), here.phase in TERMINAL
    if world.streams[request].finished and not over:
        current = retry.current
        ends = current is not None and receive_end(world, request, current) is not None
        yield Belief(FRONTEND, name, "is not over yet", "has ended for its client", False, ends)
    if here.phase is Phase.FAILED and here.needless:
        yield Belief(FRONTEND, name, "has nobody left", "could have been tried again", False)
    if retry.refused:
        yield Belief(ROUTER, name, "is here already", "is the same, sent again", False)
    if retry.replayed_live:
        yield Belief(GATEWAY, name, "is with nobody", "was still with a live worker", False)


def _bookings(cast: Cast, world: World, request: int) -> Iterator[Belief]:
    """Which workers the router counts a request against.

    What becomes of a request that waits for a worker is for the frontend to find out first.
    """
    phase, retry = world.requests[request].phase, world.retries[request]
    for worker in sorted(retry.booked):
        name = cast.called(Requests, request)
        believed = f"takes up room on {cast.worker(worker)}"
        if phase in TERMINAL:
            told = not retry.release_lost
            yield Belief(ROUTER, name, believed, f"is {phase.value}", False, told)
        elif phase is Phase.QUEUED or answers(world, worker):
            truth, fine = _held_by(cast, world, request, worker)
            told = _is_ending(world, request, worker)
            yield Belief(ROUTER, name, believed, truth, fine, told and not fine)


def _is_ending(world: World, request: int, worker: int) -> bool:
    """Whether the end of a request, or its failure, is on its way from a worker."""
    current = world.retries[request].current
    if current is None or world.streams[request].attempts[current].worker != worker:
        return False
    finished = world.streams[request].attempts[current].finish is not Finish.NONE
    return finished or is_told(world, request, current)


def _held_by(cast: Cast, world: World, request: int, worker: int) -> tuple[str, bool]:
    """Whether a worker has anything of a request."""
    name = cast.worker(worker)
    if not answers(world, worker):
        return f"is not there: {name} {PROCESS[world.endpoints[worker].process]}", False
    attempts, loads = world.streams[request].attempts, world.loads[request].attempts
    if any(here.worker == worker and _is_active(here) for here in attempts):
        return f"is with {name}", True
    if any(load.prefill == worker and _is_asked(load) for load in loads):
        return f"is with {name}", True
    if any(load.prefill == worker and load.hold is Hold.HELD for load in loads):
        return f"has been computed by {name}", False
    return f"is no longer with {name}", False


def _is_active(here: Attempt) -> bool:
    """Whether a worker has accepted an attempt, knows of it, and has not ended it."""
    return here.stage not in (Stage.IDLE, Stage.OVER) and not here.severed


def _is_asked(load: Load) -> bool:
    """Whether a prefill worker has an attempt to compute, and knows of it."""
    return load.hold is Hold.ASKED and not load.stale
