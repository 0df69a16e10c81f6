"""Where KV blocks are held, how they move, and when they are freed."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import Alternative, mechanism


class Transfer(Alternative):
    """Who moves the KV blocks from prefill to decode."""

    PULL = "pull", "The decode worker reads them."
    PUSH = "push", "The prefill worker writes them into blocks the decode worker has registered."


class Release(Alternative):
    """When a prefill worker frees the blocks that hold a finished prefill."""

    ON_FINISH = "on-finish", "At once: nobody holds them for the reader."
    ON_ACK = "on-ack", "When the reader says it has read them, and never otherwise."
    LEASE = "lease", "On the reader's word, or a fixed time after the prefill."
    HEARTBEAT = "heartbeat", "As a lease, but the reader's heartbeats extend it while it is awake."
    QUIESCENT = (
        "quiescent",
        "As with heartbeats, but never while a transfer is posted that may still run; and a "
        "reader posts none once its lease is gone.",
    )


class LoadFailure(Alternative):
    """What a decode worker does when a read of remote KV fails."""

    UNREPORTED = (
        "unreported",
        "Nothing: the failure does not reach the scheduler, and it decodes from what is there.",
    )
    FAIL = "fail", "The attempt fails, and the router hears of it."
    RECOMPUTE = "recompute", "It computes the prompt itself."


class Dispatch(Alternative):
    """When the decode worker of a pair is sent its request."""

    SEQUENTIAL = "sequential", "Once the prefill is done."
    CONCURRENT = "concurrent", "Together with the prefill worker: it allocates blocks and waits."


class ReadValidation(Alternative):
    """What a reader of remote KV checks once the read is done."""

    NONE = "none", "Nothing. A read of a reassigned block succeeds, so nothing else can tell."
    LEASE = "lease", "Whether its lease still held: the holder is asked."
    GENERATION = (
        "generation",
        "Whether the block was reassigned while it was read: its generation comes with the bytes.",
    )
    CHECKSUM = "checksum", "Whether the bytes that lie in its own block are those of its request."


class SenderStops(Alternative):
    """What a receiver makes of a sender that gives up before all is written."""

    TOLD = "told", "The load has failed."
    TAKEN_FOR_WHOLE = "taken-for-whole", "What was written is taken for all there is."
    SILENT = "silent", "Nothing: it hears of nothing, and waits."


@frozen(slots=False)
class KvMechanisms:
    """Where KV blocks are held, how they move, and when they are freed."""

    transfer: Transfer = mechanism(
        Transfer.PULL,
        "Who moves KV from prefill to decode: the decode worker reads (`pull`), or the prefill "
        "worker writes into registered blocks (`push`).",
        "vllm nixl pull_worker.py, push_worker.py",
        design=True,
    )
    dispatch: Dispatch = mechanism(
        Dispatch.SEQUENTIAL,
        "When the decode worker is sent the request: `sequential`, after the prefill, or "
        "`concurrent` with it.",
        "dynamo PrefillRouter: Completed and Bootstrap; sglang docs: both at once",
        design=True,
    )
    release: Release = mechanism(
        Release.QUIESCENT,
        "When a prefill worker frees finished blocks: `on-finish`, `on-ack`, after a fixed "
        "`lease`, a lease that the reader's `heartbeat` extends, or only once `quiescent`.",
        "dynamo#826; vllm#20139, vllm#21570, vllm#25897, vllm#41383; NVIDIA/TensorRT-LLM#18163",
    )
    read_validation: ReadValidation = mechanism(
        ReadValidation.LEASE,
        "What a reader checks after a read: `none`, whether its `lease` still held, the "
        "`generation` of the block it read, or a `checksum` of what it got.",
        "Mooncake store client: LEASE_EXPIRED after read; vllm has none; sglang#39229: checksum",
    )
    defer_free_on_abort: bool = mechanism(
        True,
        "Blocks of an aborted request stay allocated until no transfer into them is posted, or can "
        "still be. Nobody can recall one: without it the write lands in another's blocks.",
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
    sender_stops: SenderStops = mechanism(
        SenderStops.TOLD,
        "What a receiver makes of a sender that gives up half-way: it is `told`, the part is "
        "`taken-for-whole`, or it hears nothing (`silent`).",
        "sglang#30233; vllm-project/aibrix#2289, vllm-project/aibrix#2746",
    )
    revoke_on_give_up: bool = mechanism(
        True,
        "A receiver that gives a load up withdraws its blocks, so that nothing can be posted into "
        "them any more. Without it a sender that wakes late writes into what is another's.",
        "nixl deregistration; sglang#24527",
    )
    load_timeout: bool = mechanism(
        True,
        "A decode worker waits for KV that nobody is going to send for a limited time. Without it "
        "it waits for ever.",
        "vllm#35943: no limit; sglang SGLANG_DISAGGREGATION_WAITING_TIMEOUT, 300 s",
    )
    post_errors_reported: bool = mechanism(
        True,
        "A transfer that cannot be posted has failed. Without it the request waits for a "
        "transfer that never began.",
        "vllm#50754, vllm#55181",
    )
    free_after_late_abort: bool = mechanism(
        True,
        "An abort that comes when the load has landed, and nobody has looked yet, frees the "
        "blocks itself. Without it the abort waits for a completion that is already gone.",
        "vllm#32255: abort against finished_recving",
    )
    sweep_each_loop: bool = mechanism(
        True,
        "Expired holds are looked for in every loop of the engine. Without it only when a new "
        "request is scheduled, for which there may be no room.",
        "TRT#12313",
    )
    deadline_from_transfer: bool = mechanism(
        True,
        "The deadline of a transfer counts from its start. Without it it counts from the "
        "admission of the request, and one that queued for long has its transfer timed out.",
        "TRT#13824",
    )
    lease_margin: bool = mechanism(
        True,
        "A reader counts a lease as over a little before its own clock says so. Without it a clock "
        "that is behind has it read what was freed.",
        "vllm nixl: remote_blocks_expiry_time with a clock offset and a margin of 5 s",
    )
    cancel_before_output: bool = mechanism(
        True,
        "A request can be cancelled before its first token. Without it the worker goes on for a "
        "client that has left.",
        "dynamo#14368",
    )
    local_prefill: bool = mechanism(
        True,
        "Where no prefill worker can be chosen, a decode worker computes the prompt itself.",
        "dynamo PrefillRouter: not Active; llm-d sidecar before PR 1206",
        design=True,
    )
    check_hold_before_post: bool = mechanism(
        True,
        "A prefill worker that writes looks whether it still holds the blocks before it posts. "
        "Without it a write that starts late sends what is another request's by then.",
        "vllm#55470",
    )
    target_before_prefill: bool = mechanism(
        True,
        "Of a pair that is dispatched at once, the prefill worker computes when the decode worker "
        "has its blocks. Without it each of two requests may hold what the other one waits for.",
        "sglang: prefill waits in Bootstrapping for the decode side; TRT#12640",
    )
