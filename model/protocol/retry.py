"""When an attempt is given up, and whether and where the request is sent again."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import Alternative, mechanism


class Replay(Alternative):
    """What a gateway in front of the router sends again when it gets an error."""

    NEVER = "never", "Nothing: errors go to the client."
    UNDISPATCHED = "undispatched", "What surely no worker has: the connection itself failed."
    UNANSWERED = "unanswered", "What the client has got no token of. A worker may still have it."
    ANY = "any", "Whatever failed, from the start: it knows nothing of what was delivered."


@frozen(slots=False)
class RetryMechanisms:
    """When an attempt is given up, and whether and where the request is sent again."""

    migrate_on_disconnect: bool = mechanism(
        True,
        "A stream that breaks off has the request retried on another worker.",
        "dynamo lib/llm/src/migration.rs",
    )
    migrate_on_timeout: bool = mechanism(
        True,
        "A request whose stream fell silent is retried. Without it the silence ends the request.",
        "dynamo#11647",
    )
    migrate_on_shutdown: bool = mechanism(
        True,
        "A request that a stopping worker aborts is retried. Without it scaling down fails "
        "requests that another worker could have served.",
        "dynamo#13559, dynamo#14872",
    )
    stream_timeout: bool = mechanism(
        True,
        "A response stream without a chunk for some time is given up. Without it a frozen worker "
        "holds its requests for ever: no connection breaks.",
        "dynamo DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS (unset by default), dynamo#11647",
    )
    cancel_on_removal: bool = mechanism(
        True,
        "Requests that a worker has accepted and not yet answered are given up when it leaves "
        "discovery. Without it they wait for a stream that nobody will open.",
        "dynamo#8182",
    )
    exclude_failed_workers: bool = mechanism(
        True,
        "A retried request is not sent to a worker that failed it.",
        "dynamo#11647",
    )
    release_booking_first: bool = mechanism(
        True,
        "The booking of a failed attempt is released before the next dispatch, which has the same "
        "request id. Without it the next dispatch is refused as a duplicate.",
        "dynamo#11647",
    )
    count_failed_connects: bool = mechanism(
        True,
        "A dispatch that cannot connect uses up a retry. Without it nothing bounds the dispatches.",
        "dynamo lib/llm/src/migration.rs: one budget for connect failures and migrations",
    )
    expire_bookings: bool = mechanism(
        True,
        "Bookings of requests that are over are swept out after a time (300 s in Dynamo).",
        "dynamo lib/kv-router/src/sequences; dynamo#11915",
    )
    gateway_replay: Replay = mechanism(
        Replay.UNDISPATCHED,
        "What a gateway in front of the router sends again: `never` anything, what was surely "
        "`undispatched`, what is `unanswered` (a worker may have it), or `any` request from its "
        "start.",
        "sglang#34570, sglang#34572: replay only if surely not dispatched",
        off=Replay.ANY,
    )
    retry_when_full: bool = mechanism(
        True,
        "A worker that refuses because it is full has the request sent to another. Without it one "
        "full worker counts as a full pool.",
        "dynamo#11647: capacity.worker_overloaded against capacity.pool_exhausted",
    )
    abort_sibling: bool = mechanism(
        True,
        "When one half of a prefill and decode pair fails, the other half is told. Without it the "
        "other half waits for KV until its own limit, or for ever.",
        "sglang#31206",
    )
    release_prefill_booking: bool = mechanism(
        True,
        "The booking at a prefill worker is released when its prefill is done. Without it the "
        "worker looks loaded until the last token of the stream.",
        "router#2243; dynamo lib/kv-router: mark_prefill_completed",
    )
    rebind_sessions: bool = mechanism(
        True,
        "A session whose worker cannot be chosen is bound to another one. Without it every request "
        "of the session fails once its worker is replaced.",
        "dynamo#10920, dynamo#12783, dynamo#13100",
    )
    watch_outlives_requests: bool = mechanism(
        True,
        "A frontend that drains keeps its view of discovery until its last request is over. "
        "Without it requests in flight that need a retry find no worker.",
        "dynamo#11915, dynamo#12031",
    )
    answer_on_connection: bool = mechanism(
        False,
        "The answer comes on the connection that the request was sent on, so that a worker that "
        "dies breaks it. Without it the request is acknowledged first, and the worker opens a "
        "stream for the answer later.",
        "HTTP proxies; dynamo acknowledges, and the worker calls back: dynamo#8182",
        design=True,
    )
    keep_early_cancels: bool = mechanism(
        True,
        "A cancel that reaches a worker before it has opened the stream is kept until it does. "
        "Without it that cancel is lost, and the worker serves a request that is over.",
        "dynamo#13088, dynamo#13095: a cancel that lands before the prologue",
    )
