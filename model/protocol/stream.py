"""What the client gets: tokens, finish reason, usage."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import Alternative, mechanism


class ZeroBudget(Alternative):
    """What becomes of a request that has all its tokens, but no finish, when it is retried."""

    FINISH = "finish", "Nothing is left to compute: the frontend finishes it."
    REFUSE = "refuse", "It is dispatched, and every worker refuses max_tokens = 0 as a bad request."
    EMIT = "emit", "It is dispatched, and the engine emits a token before it looks at the limit."


@frozen(slots=False)
class StreamMechanisms:
    """What the client gets: tokens, finish reason, usage."""

    replay_delivered: bool = mechanism(
        True,
        "A retried request carries the tokens that were delivered, so that the next worker goes on "
        "behind them. Without it the next worker starts again and the client gets tokens twice.",
        "dynamo lib/llm/src/migration.rs",
    )
    migrate_guided_requests: bool = mechanism(
        False,
        "Requests with guided decoding are migrated like any other. The grammar of the next worker "
        "starts at its root, so that half an answer is followed by a whole one.",
        "dynamo#7930",
    )
    carry_withheld_text: bool = mechanism(
        True,
        "Text that the detokeniser holds back (it may be the start of a stop string) goes with a "
        "migrated request. Without it that text is never shown.",
        "dynamo#14378",
    )
    send_last_tokens: bool = mechanism(
        True,
        "Tokens that arrive together with the finish reason are sent with it. Without it the "
        "worker sends the reason alone, and the tail is lost.",
        "dynamo#3531",
    )
    finish_latch: bool = mechanism(
        True,
        "A finish reason that reached the client ends the request, whatever becomes of the stream. "
        "Without it a connection that dies behind the finish has the request retried.",
        "dynamo lib/llm/src/migration.rs: no check that a finish reason was seen",
    )
    zero_budget: ZeroBudget = mechanism(
        ZeroBudget.FINISH,
        "What is done with a request that has all its tokens and is retried: `finish` it at the "
        "frontend, or dispatch it, and workers `refuse` it or `emit` one token too many.",
        "dynamo lib/llm/src/migration.rs; dynamo 1.6.1 on a CPU: refused",
    )
    fence_attempts: bool = mechanism(
        True,
        "Frames of an attempt that was given up are dropped. Without it a worker that was only "
        "frozen goes on talking to the client when it wakes.",
        "dynamo lib/runtime/src/pipeline/network/egress",
    )
    fence_steps: bool = mechanism(
        True,
        "A token of an engine step that was in flight when its request was preempted is dropped. "
        "Without it the token is applied again after the request resumed.",
        "vllm#38624",
    )
    usage_from_request: bool = mechanism(
        True,
        "The usage that the client sees counts its own prompt. Without it the worker's count is "
        "reported, which includes the tokens replayed by a migration.",
        "dynamo delta generators; dynamo 1.6.1 on a CPU: 7 became 27",
    )
