"""The stream: what an attempt's engine emits, what is in flight, what the client has been given.

A frame stands for the position of its token in the output, not for its text. Frames of an attempt
arrive in order, so that those in flight are the positions from ``received`` up to ``sent``.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.endpoint import ANSWERS
from rackproof.model.kernel import bounded, each, fault, frozen, identifier, step, transition
from rackproof.model.marks import passed
from rackproof.model.protocol import ZeroBudget
from rackproof.model.request import Phase
from rackproof.model.sorts import Attempts, Requests, Workers

if TYPE_CHECKING:
    from rackproof.model.world import World


class Stage(Enum):
    """How far the serving worker is with an attempt."""

    IDLE = "idle"
    ACCEPTED = "accepted"
    """Acknowledged into its queue; no response stream yet."""
    LOADING = "loading"
    """Waiting for remote KV."""
    RUNNING = "running"
    OVER = "over"


class Link(Enum):
    """The response stream, as the frontend finds it."""

    OPEN = "open"
    BROKEN = "broken"
    ERROR = "error"
    """The worker reports that the load of KV failed."""


class Finish(Enum):
    """The finish reason of an attempt."""

    NONE = "none"
    SENT = "sent"
    RECEIVED = "received"


@frozen
class Attempt:
    """One dispatch: its serving worker, and its frames.

    start: the first position it emits. late: a token of a step that was in flight when the request
    was preempted is still to come. severed: its worker has started again since, and knows nothing
    of it. told: its worker has heard that nobody wants it. deaf: and has forgotten that. wasted: it
    got a token all the same.
    """

    worker: int | None = identifier(Workers)
    stage: Stage = Stage.IDLE
    start: int = bounded(0, "most")
    sent: int = bounded(0, "most")
    received: int = bounded(0, "most")
    finish: Finish = Finish.NONE
    link: Link = Link.OPEN
    late: bool = False
    severed: bool = False
    told: bool = False
    deaf: bool = False
    wasted: bool = False


@frozen
class Stream:
    """What the client has, and the attempts that feed it.

    delivered: the next position to come. withheld: the detokeniser holds the last text back. The
    other truths are what went wrong, once and for all.
    """

    attempts: tuple[Attempt, ...] = each(Attempts)
    delivered: int = bounded(0, "most")
    finished: bool = False
    withheld: bool = False
    duplicated: bool = False
    lost: bool = False
    after_finish: bool = False
    over_budget: bool = False
    inflated: bool = False


def limit(world: World, request: int, attempt: Attempt) -> int:
    """The position at which an attempt's engine stops.

    It stops at the end of the output; but one that is sent all of it, its end included, goes on.
    """
    if attempt.start >= world.max_tokens:
        return world.max_tokens + int(world.protocol.zero_budget == ZeroBudget.EMIT)
    if attempt.start >= world.tokens and world.streams[request].finished:
        return world.max_tokens
    return world.tokens


def serves(world: World, request: int, attempt: int, worker: int) -> bool:
    """Whether a worker that answers is running this attempt."""
    here = world.streams[request].attempts[attempt]
    return (
        here.stage == Stage.RUNNING
        and here.worker == worker
        and not here.severed
        and world.endpoints[worker].process in ANSWERS
    )


@transition(step, duration="tokens", request=Requests, attempt=Attempts, worker=Workers)
def emit(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} emits the next token of {request}."""
    if not serves(world, request, attempt, worker):
        return None
    here = world.streams[request].attempts[attempt]
    if here.finish != Finish.NONE or here.sent >= limit(world, request, here):
        return None
    return world.with_attempt(request, attempt, sent=here.sent + 1, wasted=here.wasted | here.told)


@transition(step, duration="engine-loop", request=Requests, attempt=Attempts, worker=Workers)
def finish(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} has generated all of {request}, sends the finish reason and frees its blocks."""
    if not serves(world, request, attempt, worker):
        return None
    here = world.streams[request].attempts[attempt]
    if here.finish != Finish.NONE or here.sent < limit(world, request, here):
        return None
    ended = world.with_attempt(request, attempt, finish=Finish.SENT, stage=Stage.OVER)
    return ended.free_target(request, attempt, worker)


@transition(step, duration="tokens", request=Requests, attempt=Attempts, worker=Workers)
def finish_with_last_token(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} gets the last token of {request} together with the finish reason, and sends on both
    or the reason alone.
    """
    if not serves(world, request, attempt, worker):
        return None
    here = world.streams[request].attempts[attempt]
    if here.finish != Finish.NONE or here.sent + 1 != limit(world, request, here):
        return None
    sent = here.sent + int(world.protocol.send_last_tokens)
    ended = world.with_attempt(request, attempt, sent=sent, finish=Finish.SENT, stage=Stage.OVER)
    return ended.free_target(request, attempt, worker)


def heard(world: World, request: int, attempt: int) -> bool:
    """Whether the frontend still takes the frames of an attempt."""
    retry, phase = world.retries[request], world.requests[request].phase
    if phase in (Phase.DONE, Phase.FAILED, Phase.CANCELLED):
        return False
    if not world.protocol.fence_attempts:
        return True
    return phase == Phase.DECODING and retry.current == attempt


@transition(step, duration="token-delivery", request=Requests, attempt=Attempts)
def receive(world: World, request: int, attempt: int) -> World | None:
    """The frontend gets a token of {request} ({attempt}), and hands it to the client."""
    here = world.streams[request].attempts[attempt]
    if here.received >= here.sent or not heard(world, request, attempt):
        return None
    taken = world.with_attempt(request, attempt, received=here.received + 1)
    return deliver(taken, request, here.received)


def deliver(world: World, request: int, position: int) -> World:
    """Hand the client the token of a position; write down what is wrong with it."""
    stream = world.streams[request]
    changes: dict[str, object] = {
        "duplicated": stream.duplicated | (position < stream.delivered),
        "lost": stream.lost | (position > stream.delivered),
        "after_finish": stream.after_finish | stream.finished,
        "over_budget": stream.over_budget | (position >= world.max_tokens),
        "withheld": world.requests[request].withholds & (position == 0),
    }
    if position >= stream.delivered:
        changes["delivered"] = position + 1
    return world.with_stream(request, **changes)


@transition(step, duration="token-delivery", request=Requests, attempt=Attempts)
def receive_finish(world: World, request: int, attempt: int) -> World | None:
    """The frontend gets the finish reason of {request}, and hands it to the client."""
    stream = world.streams[request]
    here = stream.attempts[attempt]
    if here.finish != Finish.SENT or here.received != here.sent:
        return None
    if not heard(world, request, attempt) or world.retries[request].current != attempt:
        return None
    world = world.with_attempt(request, attempt, finish=Finish.RECEIVED).with_stream(
        request,
        finished=True,
        withheld=False,
        lost=stream.lost | (stream.delivered < world.tokens),
        inflated=stream.inflated | ((here.start > 0) & (not world.protocol.usage_from_request)),
    )
    world = passed(world, request)
    return world.end(request, Phase.DONE) if world.protocol.finish_latch else world


@transition(step, duration="token-delivery", request=Requests, attempt=Attempts)
def receive_end(world: World, request: int, attempt: int) -> World | None:
    """The stream of {request} ends as it should."""
    here = world.streams[request].attempts[attempt]
    if here.finish != Finish.RECEIVED or here.link != Link.OPEN:
        return None
    if world.requests[request].phase != Phase.DECODING or world.retries[request].current != attempt:
        return None
    return world.end(request, Phase.DONE)


@transition(fault, duration="any-time", request=Requests, attempt=Attempts)
def disconnect(world: World, request: int, attempt: int) -> World | None:
    """The connection that carries {request} breaks, though its worker lives."""
    here = world.streams[request].attempts[attempt]
    if not world.budget.disconnect or here.link != Link.OPEN:
        return None
    if here.stage not in (Stage.LOADING, Stage.RUNNING) and here.finish == Finish.NONE:
        return None
    if world.requests[request].phase != Phase.DECODING or world.retries[request].current != attempt:
        return None
    return world.spend("disconnect").with_attempt(request, attempt, link=Link.BROKEN)


@transition(fault, duration="any-time", request=Requests, attempt=Attempts, worker=Workers)
def preemption(world: World, request: int, attempt: int, worker: int) -> World | None:
    """{worker} preempts {request} while a step for its next token is in flight, and resumes it."""
    here = world.streams[request].attempts[attempt]
    if not world.budget.preemption or here.late:
        return None
    if not serves(world, request, attempt, worker) or here.finish != Finish.NONE:
        return None
    if here.sent >= limit(world, request, here):
        return None
    return world.spend("preemption").with_attempt(request, attempt, late=True)


@transition(step, duration="engine-loop", request=Requests, attempt=Attempts, worker=Workers)
def late_token(world: World, request: int, attempt: int, worker: int) -> World | None:
    """The token of the step that was in flight reaches {worker} after {request} resumed."""
    here = world.streams[request].attempts[attempt]
    if not here.late or not serves(world, request, attempt, worker):
        return None
    if world.protocol.fence_steps:
        return world.with_attempt(request, attempt, late=False)
    if here.sent != here.received or not heard(world, request, attempt):
        return None
    return deliver(world.with_attempt(request, attempt, late=False), request, here.sent)
