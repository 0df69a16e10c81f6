"""How often, by whom, and whether it ends."""

from __future__ import annotations

from rackproof.invariants.premises import (
    a_client_left_or_a_worker_failed,
    a_prefill_was_held,
    a_request_is_over,
    a_request_was_dispatched,
    a_request_was_retried_or_failed,
)
from rackproof.model.kernel import always, eventually
from rackproof.model.kv import Hold
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Attempts, Requests, Workers
from rackproof.model.world import World


@always(
    request=Requests,
    premise=a_request_was_dispatched,
    why="Unbounded retries turn one bad request into an outage.",
    catches=("dynamo lib/llm/src/migration.rs: one budget for connects and migrations",),
)
def bounded_retries(world: World, request: int) -> bool:
    """A request is dispatched no more often than the limits of all layers allow: their product.

    Broken: {request} was dispatched more often than the limits of all layers allow.
    """
    return world.retries[request].dispatches <= world.most_dispatches


@always(
    request=Requests,
    premise=a_request_was_dispatched,
    why="A retry that collides with its own past is refused, and the request fails.",
    catches=("dynamo#11647",),
)
def no_duplicate_request(world: World, request: int) -> bool:
    """No dispatch is refused because the request's own booking is still held.

    Broken: A dispatch of {request} was refused because its own booking was still held.
    """
    return not world.retries[request].refused


@always(
    request=Requests,
    premise=a_request_was_retried_or_failed,
    why="The client sees an error that a retry would have spared it.",
    catches=("dynamo#11647", "dynamo#13559", "dynamo#10862", "dynamo#12031", "dynamo#13100"),
)
def no_needless_failure(world: World, request: int) -> bool:
    """No migratable request fails while it has retries left and a worker could be chosen.

    Broken: The router gave {request} up, though there was a worker to try.
    """
    return not world.requests[request].needless


@always(
    request=Requests,
    premise=a_request_was_retried_or_failed,
    why="The retry is lost on a worker that is known to be bad, and the limit is soon reached.",
    catches=("dynamo#11647",),
)
def retries_go_elsewhere(world: World, request: int) -> bool:
    """No retry goes back to a worker that failed the request while another can be chosen.

    Broken: {request} was sent back to a worker that had failed it, though another could be chosen.
    """
    return not world.retries[request].back_to_failed


@always(
    request=Requests,
    premise=a_request_is_over,
    why="An error with nothing wrong anywhere is a defect of the protocol itself.",
)
def no_failure_without_fault(world: World, request: int) -> bool:
    """No request fails in a run without any fault, unless it is malformed.

    Broken: {request} failed in a run without any fault.
    """
    if world.requests[request].malformed:
        return True
    return world.requests[request].phase != Phase.FAILED or world.budget != world.given


@eventually(
    request=Requests,
    premise=a_request_was_dispatched,
    why="A booking nobody releases is load that is not there; the router avoids a free worker.",
    catches=("dynamo#11915",),
)
def bookings_exact(world: World, request: int) -> bool:
    """No request stays booked at a worker for good.

    Broken: {request} is booked at a worker for ever.
    """
    return not world.retries[request].booked


@eventually(
    request=Requests,
    premise=a_request_is_over,
    why="A request that neither ends nor fails holds its client for ever.",
    catches=(
        "dynamo#8182",
        "dynamo#11647",
        "dynamo#13088",
        "aibrix#2289",
        "vllm#35943",
        "vllm#50754",
        "vllm#53095",
        "vllm#55870",
    ),
)
def progress(world: World, request: int) -> bool:
    """Each request ends sooner or later, unless no live worker could serve it any more.

    Broken: {request} never ends, though there are live workers that could serve it.
    """
    return world.requests[request].phase in TERMINAL or not world.can_serve()


@eventually(
    request=Requests,
    premise=a_request_is_over,
    why="A client that gets neither its tokens nor one clear error waits until it gives up.",
    catches=("vllm#46283",),
)
def clear_failure(world: World, request: int) -> bool:
    """Every request is done, failed or cancelled sooner or later, whatever has become of the
    workers.

    Broken: {request} never ends: it is neither done nor failed nor cancelled.
    """
    return world.requests[request].phase in TERMINAL


@always(
    request=Requests,
    premise=a_request_was_retried_or_failed,
    why="A pair of prefill and decode cannot be run twice: rooms collide, blocks are orphaned.",
    catches=("sglang#34570", "sglang#34572"),
)
def replays_only_unsent(world: World, request: int) -> bool:
    """A gateway sends again only what no worker has.

    Broken: The gateway sent {request} again, though a worker still had it.
    """
    return not world.retries[request].replayed_live


@always(
    request=Requests,
    attempt=Attempts,
    worker=Workers,
    premise=a_prefill_was_held,
    why="A prefill worker that looks busy until the stream ends is passed over while it is idle.",
    catches=("router#2243",),
)
def prefill_bookings_released(world: World, request: int, attempt: int, worker: int) -> bool:
    """No booking is held at a prefill worker whose prefill is done.

    Broken: {request} is still booked at {worker}, where its prefill is done.
    """
    load, retry = world.loads[request].attempts[attempt], world.retries[request]
    done = (load.hold == Hold.HELD) | (load.hold == Hold.FREED)
    if retry.current != attempt or load.prefill != worker or not done:
        return True
    return worker not in retry.booked


@always(
    request=Requests,
    attempt=Attempts,
    premise=a_client_left_or_a_worker_failed,
    why="Tokens for a client that has left are GPU time taken from those who have not.",
    catches=("dynamo#14368", "dynamo#13095", "dynamo#13088"),
)
def no_work_after_cancel(world: World, request: int, attempt: int) -> bool:
    """A worker that has heard of a cancel generates no further token for it.

    Broken: A worker generated a token of {request} after it had heard of the cancel.
    """
    return not world.streams[request].attempts[attempt].wasted
