"""The mechanisms of recovery: what a serving stack does, or does not do, when something breaks.

A ``Protocol`` is a choice of each; a stack is a set of values with sources (``scenarios/stacks``).
The defaults are the reference design, in which every property holds. In YAML a mechanism is named
in kebab case: ``finish-latch: true``.

``repo#N`` is issue or pull request N of: dynamo = ai-dynamo/dynamo, vllm = vllm-project/vllm.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.model.kernel import ModelError

_DOCUMENT: Final = "mechanism"


@frozen
class Mechanism:
    """What a mechanism is, for people: its name in YAML, its text, its source, its alternatives."""

    field: str
    name: str
    text: str
    source: str
    alternatives: tuple[Enum, ...] | None

    def read(self, value: object) -> object:
        """Turn a YAML value into the field's; ``ModelError`` names what is allowed."""
        if self.alternatives is None:
            if isinstance(value, bool):
                return value
            raise ModelError(f"{self.name} is true or false, not {value!r}")
        for alternative in self.alternatives:
            if alternative.value == value:
                return alternative
        allowed = ", ".join(str(alternative.value) for alternative in self.alternatives)
        raise ModelError(f"{self.name} is one of {allowed}, not {value!r}")


def _mechanism(default: Any, text: str, source: str) -> Any:
    return attrs.field(default=default, metadata={_DOCUMENT: (text, source)}, kw_only=True)


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


class ZeroBudget(Enum):
    """What becomes of a request that has all its tokens, but no finish, when it is retried."""

    FINISH = "finish"
    """Nothing is left to compute: the frontend finishes it."""
    REFUSE = "refuse"
    """It is dispatched, and every worker refuses max_tokens = 0 as a bad request."""
    EMIT = "emit"
    """It is dispatched, and the engine emits a token before it looks at the limit."""


class Transfer(Enum):
    """Who moves the KV blocks from prefill to decode."""

    PULL = "pull"
    """The decode worker reads them."""
    PUSH = "push"
    """The prefill worker writes them into blocks the decode worker has registered."""


@frozen
class Protocol:
    """A choice of every mechanism."""

    replay_delivered: bool = _mechanism(
        True,
        "A retried request carries the tokens that were delivered, so that the next worker goes on "
        "behind them. Without it the next worker starts again and the client gets tokens twice.",
        "dynamo lib/llm/src/migration.rs",
    )
    migrate_guided_requests: bool = _mechanism(
        False,
        "Requests with guided decoding are migrated like any other. The grammar of the next worker "
        "starts at its root, so that half an answer is followed by a whole one.",
        "dynamo#7930",
    )
    carry_withheld_text: bool = _mechanism(
        True,
        "Text that the detokeniser holds back (it may be the start of a stop string) goes with a "
        "migrated request. Without it that text is never shown.",
        "dynamo#14378",
    )
    send_last_tokens: bool = _mechanism(
        True,
        "Tokens that arrive together with the finish reason are sent with it. Without it the "
        "worker sends the reason alone, and the tail is lost.",
        "dynamo#3531",
    )
    finish_latch: bool = _mechanism(
        True,
        "A finish reason that reached the client ends the request, whatever becomes of the stream. "
        "Without it a connection that dies behind the finish has the request retried.",
        "dynamo lib/llm/src/migration.rs: no check that a finish reason was seen",
    )
    zero_budget: ZeroBudget = _mechanism(
        ZeroBudget.FINISH,
        "What is done with a request that has all its tokens and is retried: `finish` it at the "
        "frontend, or dispatch it, and workers `refuse` it or `emit` one token too many.",
        "dynamo lib/llm/src/migration.rs; dynamo 1.6.1 on a CPU: refused",
    )
    fence_attempts: bool = _mechanism(
        True,
        "Frames of an attempt that was given up are dropped. Without it a worker that was only "
        "frozen goes on talking to the client when it wakes.",
        "dynamo lib/runtime/src/pipeline/network/egress",
    )
    fence_steps: bool = _mechanism(
        True,
        "A token of an engine step that was in flight when its request was preempted is dropped. "
        "Without it the token is applied again after the request resumed.",
        "vllm#38624",
    )
    usage_from_request: bool = _mechanism(
        True,
        "The usage that the client sees counts its own prompt. Without it the worker's count is "
        "reported, which includes the tokens replayed by a migration.",
        "dynamo delta generators; dynamo 1.6.1 on a CPU: 7 became 27",
    )
    migrate_on_disconnect: bool = _mechanism(
        True,
        "A stream that breaks off has the request retried on another worker.",
        "dynamo lib/llm/src/migration.rs",
    )
    migrate_on_timeout: bool = _mechanism(
        True,
        "A request whose stream fell silent is retried. Without it the silence ends the request.",
        "dynamo#11647",
    )
    migrate_on_shutdown: bool = _mechanism(
        True,
        "A request that a stopping worker aborts is retried. Without it scaling down fails "
        "requests that another worker could have served.",
        "dynamo#13559, dynamo#14872",
    )
    stream_timeout: bool = _mechanism(
        True,
        "A response stream without a chunk for some time is given up. Without it a frozen worker "
        "holds its requests for ever: no connection breaks.",
        "dynamo DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS (unset by default), dynamo#11647",
    )
    cancel_on_removal: bool = _mechanism(
        True,
        "Requests that a worker has accepted and not yet answered are given up when it leaves "
        "discovery. Without it they wait for a stream that nobody will open.",
        "dynamo#8182",
    )
    raw_removal_events: bool = _mechanism(
        True,
        "The watcher of removals reads the events themselves and keeps tombstones. Without it a "
        "removal that is followed by churn can be missed.",
        "dynamo#13088, dynamo#13095",
    )
    select_from_discovery: bool = _mechanism(
        True,
        "Workers are chosen from the present snapshot of discovery. Without it they are chosen "
        "from the router's own copy, which lags behind.",
        "dynamo#11646",
    )
    exclude_failed_workers: bool = _mechanism(
        True,
        "A retried request is not sent to a worker that failed it.",
        "dynamo#11647",
    )
    release_booking_first: bool = _mechanism(
        True,
        "The booking of a failed attempt is released before the next dispatch, which has the same "
        "request id. Without it the next dispatch is refused as a duplicate.",
        "dynamo#11647",
    )
    count_failed_connects: bool = _mechanism(
        True,
        "A dispatch that cannot connect uses up a retry. Without it nothing bounds the dispatches.",
        "dynamo lib/llm/src/migration.rs: one budget for connect failures and migrations",
    )
    inhibit_on_error: bool = _mechanism(
        True,
        "A worker that an error is blamed on is not chosen for a while.",
        "dynamo push_router.rs: report_instance_down",
    )
    restore_inhibited: bool = _mechanism(
        True,
        "An inhibited worker is chosen again after a while. Without it, it stays out until "
        "discovery changes, which may be never.",
        "dynamo#5043: DYN_RUNTIME_INHIBITED_DURATION_SECS, 5 s",
    )
    clear_overload: bool = _mechanism(
        True,
        "The overload mark of a worker goes when its load does. Without it the mark is cleared "
        "only by a load report, and an idle worker has nothing to report.",
        "dynamo#12138",
    )
    expire_bookings: bool = _mechanism(
        True,
        "Bookings of requests that are over are swept out after a time (300 s in Dynamo).",
        "dynamo lib/kv-router/src/sequences; dynamo#11915",
    )
    transfer: Transfer = _mechanism(
        Transfer.PULL,
        "Who moves KV from prefill to decode: the decode worker reads (`pull`), or the prefill "
        "worker writes into registered blocks (`push`).",
        "vllm nixl pull_worker.py, push_worker.py",
    )
    release: Release = _mechanism(
        Release.QUIESCENT,
        "When a prefill worker frees finished blocks: `on-finish`, `on-ack`, after a fixed "
        "`lease`, a lease that the reader's `heartbeat` extends, or only once `quiescent`.",
        "dynamo#826; vllm#20139, vllm#21570, vllm#25897, vllm#41383; NVIDIA/TensorRT-LLM#18163",
    )
    validate_after_read: bool = _mechanism(
        True,
        "A reader asks after the read whether its lease still held; if not, the load has failed. "
        "A read of a reassigned block succeeds, so nothing else can tell.",
        "Mooncake store client: LEASE_EXPIRED after read; vllm has none",
    )
    defer_free_on_abort: bool = _mechanism(
        True,
        "Blocks of an aborted request stay allocated while a transfer into them is posted. A "
        "posted transfer cannot be recalled: without it the write lands in another's blocks.",
        "vllm#32255",
    )
    wait_for_all_handles: bool = _mechanism(
        True,
        "A load of several handles fails only when every handle has ended. Without it the first "
        "error frees blocks that the other handles still write.",
        "vllm#56104",
    )
    load_failure: LoadFailure = _mechanism(
        LoadFailure.FAIL,
        "A failed load `fail`s the attempt, is `recompute`d, or goes `unreported` and the request "
        "decodes from garbage.",
        "vllm kv_load_failure_policy; vllm#52234",
    )
    notify_when_skipped: bool = _mechanism(
        True,
        "A decode worker that needs no transfer (the prompt is short or cached) tells the prefill "
        "worker so. Without it the prefill worker holds the blocks for a read that never comes.",
        "vllm#18591",
    )
    notify_when_aborted: bool = _mechanism(
        True,
        "A request that is aborted before its KV was read has the prefill worker told. Without it "
        "the blocks are held for nobody.",
        "vllm#18485, vllm#50425",
    )
    collect_after_cancel: bool = _mechanism(
        True,
        "A request whose client left during prefill is still routed to decode, so that its blocks "
        "are collected. Without it nobody ever asks for them.",
        "dynamo#13855, dynamo lib/llm/src/kv_router/prefill_router",
    )
    spare_transfers: bool = _mechanism(
        True,
        "A cancel does not reach into a transfer that is under way. Without it the transfer is "
        "killed half-way: it neither completes nor fails, and both sides keep their blocks.",
        "dynamo#7489, NVIDIA/TensorRT-LLM#12313",
    )
    latch_completions: bool = _mechanism(
        True,
        "A request's blocks are released once, whichever of its completion signals comes first. "
        "Without it an aborted request's second signal brings the engine down.",
        "vllm#46240",
    )
    notice_peer_loss: bool = _mechanism(
        True,
        "A decode worker that waits for a push notices that the prefill worker is gone. (A pull "
        "fails by itself.) Without it the registered blocks are never released.",
        "vllm#46283",
    )


def mechanisms() -> tuple[Mechanism, ...]:
    """Every mechanism, in the order of ``Protocol``."""
    return tuple(_described(attribute) for attribute in attrs.fields(Protocol))


def _described(attribute: attrs.Attribute[Any]) -> Mechanism:
    text, source = attribute.metadata[_DOCUMENT]
    default = attribute.default
    alternatives = tuple(type(default)) if isinstance(default, Enum) else None
    name = attribute.name.replace("_", "-")
    return Mechanism(attribute.name, name, text, source, alternatives)


def with_mechanisms(protocol: Protocol, values: Mapping[str, object]) -> Protocol:
    """Return the protocol with mechanisms (by their YAML names) changed."""
    known = {mechanism.name: mechanism for mechanism in mechanisms()}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise ModelError(f"there is no mechanism {name!r}")
        changes[known[name].field] = known[name].read(value)
    return attrs.evolve(protocol, **changes)
