"""Where KV blocks are held, how they move, and when they are freed."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from rackproof.model.protocol.mechanism import mechanism


class Transfer(Enum):
    """Who moves the KV blocks from prefill to decode."""

    PULL = "pull"
    """The decode worker reads them."""
    PUSH = "push"
    """The prefill worker writes them into blocks the decode worker has registered."""


class Release(Enum):
    """When a prefill worker frees the blocks that hold a finished prefill."""

    ON_FINISH = "on-finish"
    """At once: nobody holds them for the reader."""
    ON_ACK = "on-ack"
    """When the reader says it has read them, and never otherwise."""
    LEASE = "lease"
    """On the reader's word, or a fixed time after the prefill."""
    HEARTBEAT = "heartbeat"
    """As a lease, but the reader's heartbeats extend it while it is awake."""
    QUIESCENT = "quiescent"
    """As with heartbeats, but never while a transfer is posted that may still run; and a reader
    posts none once its lease is gone."""


class LoadFailure(Enum):
    """What a decode worker does when a read of remote KV fails."""

    UNREPORTED = "unreported"
    """Nothing: the failure does not reach the scheduler, and it decodes from what is there."""
    FAIL = "fail"
    """The attempt fails, and the router hears of it."""
    RECOMPUTE = "recompute"
    """It computes the prompt itself."""


@frozen(slots=False)
class KvMechanisms:
    """Where KV blocks are held, how they move, and when they are freed."""

    transfer: Transfer = mechanism(
        Transfer.PULL,
        "Who moves KV from prefill to decode: the decode worker reads (`pull`), or the prefill "
        "worker writes into registered blocks (`push`).",
        "vllm nixl pull_worker.py, push_worker.py",
    )
    release: Release = mechanism(
        Release.QUIESCENT,
        "When a prefill worker frees finished blocks: `on-finish`, `on-ack`, after a fixed "
        "`lease`, a lease that the reader's `heartbeat` extends, or only once `quiescent`.",
        "dynamo#826; vllm#20139, vllm#21570, vllm#25897, vllm#41383; NVIDIA/TensorRT-LLM#18163",
    )
    validate_after_read: bool = mechanism(
        True,
        "A reader asks after the read whether its lease still held; if not, the load has failed. "
        "A read of a reassigned block succeeds, so nothing else can tell.",
        "Mooncake store client: LEASE_EXPIRED after read; vllm has none",
    )
    defer_free_on_abort: bool = mechanism(
        True,
        "Blocks of an aborted request stay allocated while a transfer into them is posted. A "
        "posted transfer cannot be recalled: without it the write lands in another's blocks.",
        "vllm#32255",
    )
    wait_for_all_handles: bool = mechanism(
        True,
        "A load of several handles fails only when every handle has ended. Without it the first "
        "error frees blocks that the other handles still write.",
        "vllm#56104",
    )
    load_failure: LoadFailure = mechanism(
        LoadFailure.FAIL,
        "A failed load `fail`s the attempt, is `recompute`d, or goes `unreported` and the request "
        "decodes from garbage.",
        "vllm kv_load_failure_policy; vllm#52234",
    )
    notify_when_skipped: bool = mechanism(
        True,
        "A decode worker that needs no transfer (the prompt is short or cached) tells the prefill "
        "worker so. Without it the prefill worker holds the blocks for a read that never comes.",
        "vllm#18591",
    )
    notify_when_aborted: bool = mechanism(
        True,
        "A request that is aborted before its KV was read has the prefill worker told. Without it "
        "the blocks are held for nobody.",
        "vllm#18485, vllm#50425",
    )
    collect_after_cancel: bool = mechanism(
        True,
        "A request whose client left during prefill is still routed to decode, so that its blocks "
        "are collected. Without it nobody ever asks for them.",
        "dynamo#13855, dynamo lib/llm/src/kv_router/prefill_router",
    )
    spare_transfers: bool = mechanism(
        True,
        "A cancel does not reach into a transfer that is under way. Without it the transfer is "
        "killed half-way: it neither completes nor fails, and both sides keep their blocks.",
        "dynamo#7489, NVIDIA/TensorRT-LLM#12313",
    )
    latch_completions: bool = mechanism(
        True,
        "A request's blocks are released once, whichever of its completion signals comes first. "
        "Without it an aborted request's second signal brings the engine down.",
        "vllm#46240",
    )
    notice_peer_loss: bool = mechanism(
        True,
        "A decode worker that waits for a push notices that the prefill worker is gone. (A pull "
        "fails by itself.) Without it the registered blocks are never released.",
        "vllm#46283",
    )
