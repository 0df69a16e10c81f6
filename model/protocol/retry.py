"""When an attempt is given up, and whether and where the request is sent again."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import mechanism


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
