"""What the frontend, the router and a gateway take requests for."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.endpoint import Process
from rackproof.model.kernel import Belief
from rackproof.model.kv import Hold, Load, waits_in_vain
from rackproof.model.picture.cast import FRONTEND, GATEWAY, ROUTER, Cast
from rackproof.model.picture.words import PROCESS, answers, counted
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Attempt, Finish, Link, Stage, Stream
from rackproof.model.world import World


def of_requests(cast: Cast, world: World) -> Iterator[Belief]:
    """Who has a request, what its client has, where it is booked."""
    for request in range(len(world.requests)):
        yield from _whereabouts(cast, world, request)
        yield from _delivery(cast, world, request)
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
    match world.requests[request].phase:
        case Phase.DECODING if here.worker is not None:
            truth, fine = _decoding(cast, world, request, current, here.worker)
            yield Belief(FRONTEND, name, f"is served by {cast.worker(here.worker)}", truth, fine)
        case Phase.PREFILLING if load.prefill is not None:
            truth, fine = _prefilling(cast, world, request, current, load.prefill)
            believed = f"has its prefill computed by {cast.worker(load.prefill)}"
            yield Belief(FRONTEND, name, believed, truth, fine)
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
    if waits_in_vain(world, request, attempt):
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


def _outcome(cast: Cast, world: World, request: int) -> Iterator[Belief]:
    """Whether a request is over, or past saving, as is thought."""
    here, retry = world.requests[request], world.retries[request]
    name, over = cast.called(Requests, request), here.phase in TERMINAL
    if world.streams[request].finished and not over:
        yield Belief(FRONTEND, name, "is not over yet", "has ended for its client", False)
    if here.gone and not over:
        yield Belief(FRONTEND, name, "is wanted until its prefill is done", "is nobody's", False)
    if here.phase is Phase.FAILED and here.needless:
        yield Belief(FRONTEND, name, "has nobody left", "could have been tried again", False)
    if retry.refused:
        yield Belief(ROUTER, name, "is here already", "is the same, sent again", False)
    if retry.replayed_live:
        yield Belief(GATEWAY, name, "is with nobody", "was still with a live worker", False)


def _bookings(cast: Cast, world: World, request: int) -> Iterator[Belief]:
    """Which workers the router counts a request against."""
    phase = world.requests[request].phase
    for worker in sorted(world.retries[request].booked):
        name = cast.called(Requests, request)
        believed = f"takes up room on {cast.worker(worker)}"
        if phase in TERMINAL:
            yield Belief(ROUTER, name, believed, f"is {phase.value}", False)
        else:
            truth, fine = _held_by(cast, world, request, worker)
            yield Belief(ROUTER, name, believed, truth, fine)


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
