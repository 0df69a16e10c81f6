"""The durations that transitions name, as bounds over what is set and what takes its time.

Messages and processing take from next to nothing up to a bound, so that what races does race. A
timer takes what is set. A fault may come at any time, but for those that mean that something took
longer than the protocol counts on: these cannot come before it could have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from rackproof.model.kernel import Bound, Duration, Firing
from rackproof.model.kv import Hold
from rackproof.model.protocol import Protocol, Release, Transfer
from rackproof.model.retry import connected, present
from rackproof.model.store.records import READING
from rackproof.model.stream import Finish, Stage
from rackproof.model.timing.progress import streams

if TYPE_CHECKING:
    from rackproof.model.world import World

Times = Mapping[str, float]
Since = Callable[[Any, Firing], bool]
NO_TIME: Final[Times] = {}


def durations(protocol: Protocol) -> dict[str, Duration]:
    """Every duration, by name, in the terms of a protocol."""
    parts = (_common(), _serving(), _endpoints(protocol), _kv(protocol), _linked(), _stored())
    return {duration.name: duration for part in parts for duration in part}


def _takes(
    name: str, text: str, least: Times, most: Times | None, since: Since | None = None
) -> Duration:
    """A duration whose bounds are so many times each quantity; most: None where there is none."""
    upper = None if most is None else Bound(times=most)
    return Duration(name, text, Bound(times=least), upper, since)


def _exactly(name: str, text: str, quantity: str, since: Since | None = None) -> Duration:
    return _takes(name, text, {quantity: 1}, {quantity: 1}, since)


def _within(name: str, text: str, quantity: str) -> Duration:
    return _takes(name, text, NO_TIME, {quantity: 1})


def _outlived(name: str, text: str, quantity: str, since: Since | None = None) -> Duration:
    return _takes(name, text, {quantity: 1}, None, since)


def _common() -> tuple[Duration, ...]:
    return (
        _takes("any-time", "It may come at any time, or never.", NO_TIME, None),
        _takes("client-choice", "A client decides; it owes nobody anything.", NO_TIME, None),
        _takes("at-once", "Bookkeeping in the same process, in no time.", NO_TIME, NO_TIME),
        _within("in-process", "A process gets to what is ready.", "processing"),
        _takes("message", "One way over the network.", {"network-rtt": 0.5}, {"network-rtt": 1}),
        _takes("call", "A question and its answer.", {"network-rtt": 1}, {"network-rtt": 2}),
        _outlived("process-restart", "A process without a model starts again.", "process-restart"),
        _takes(
            "restart",
            "A process starts again, if it does at all: not sooner than it can.",
            {"restart": 1},
            None,
        ),
    )


def _serving() -> tuple[Duration, ...]:
    one_way = {"network-rtt": 0.5}, {"network-rtt": 1.0}
    return (
        _takes(
            "dispatch",
            "The router sends a request to a worker, once it has come.",
            {"network-rtt": 0.5},
            {"network-rtt": 1, "arrival": 1},
        ),
        _takes(
            "giving-up",
            "The router finds nobody to send a request to, once it has come.",
            NO_TIME,
            {"processing": 1, "arrival": 1},
        ),
        _takes("token-delivery", "A frame reaches the frontend.", *one_way),
        _takes("stream-break", "A connection that breaks is found broken.", *one_way),
        _takes("abort", "A worker hears that a request is given up.", *one_way),
        _takes(
            "prefill",
            "A request waits in the queue, and its prompt is computed.",
            {"prefill": 1},
            {"prefill": 1, "queue-wait": 1},
        ),
        _takes(
            "admission",
            "A request waits for room in the batch, and for a step to end.",
            NO_TIME,
            {"decode-step": 1, "queue-wait": 1},
        ),
        _within("engine-loop", "An engine looks between two steps.", "decode-step"),
        _takes(
            "load-end",
            "An engine finds a load ended between two steps, and makes the first step.",
            {"decode-step": 1},
            {"decode-step": 2},
        ),
        _exactly("tokens", "Decode steps up to the next token of the world.", "tokens"),
        _exactly(
            "stream-timeout",
            "A stream is silent for as long as the router bears it.",
            "stream-timeout",
            _silent,
        ),
        _takes(
            "booking-expiry",
            "A booking is too old, and the next sweep finds it.",
            {"booking-expiry": 1},
            {"booking-expiry": 1, "booking-sweep": 1},
            _booked,
        ),
    )


def _endpoints(protocol: Protocol) -> tuple[Duration, ...]:
    probe = {"canary": 1.0} if protocol.probe_before_restore else {}
    return (
        _takes(
            "lease",
            "The lease of a worker that renews it no more runs out: it was renewed in its first "
            "half.",
            {"lease": 0.5},
            {"lease": 1},
        ),
        _takes(
            "churned-lease",
            "The lease of a worker runs out, and that is missed.",
            {"lease": 0.5},
            None,
        ),
        _takes(
            "lease-check",
            "A worker finds its lease gone when it renews it, every half of it.",
            NO_TIME,
            {"lease": 0.5},
        ),
        _within("discovery-event", "The router hears of a change in discovery.", "discovery-event"),
        _within("discovery-outage", "Discovery comes back.", "outage"),
        _exactly("grace-period", "A worker that was told to stop may finish.", "grace-period"),
        _within("health-check", "A health check fails often enough.", "health-check"),
        _takes(
            "inhibition",
            "A worker is left out for a while, and until it answers where it is asked.",
            {"inhibition": 1},
            {"inhibition": 1, **probe},
            _inhibited,
        ),
        _within("load-report", "The next report of load comes.", "load-report"),
        _within("backlog", "A worker works off its load.", "backlog"),
    )


def _kv(protocol: Protocol) -> tuple[Duration, ...]:
    pushed = {"peer-heartbeat": 1.0}, {"peer-heartbeat": 2.0}
    pulled = NO_TIME, {"transport-timeout": 1.0}
    loss = pushed if protocol.transfer == Transfer.PUSH else pulled
    return (
        _within("transfer-post", "A transfer is posted.", "network-rtt"),
        _takes(
            "kv-transfer",
            "KV moves from one instance to another.",
            {"kv-transfer": 1},
            {"kv-transfer-at-worst": 1, "overwriting": 1},
        ),
        _hold(protocol),
        _outlived(
            "outlived-kv-lease",
            "KV is wanted for longer than its lease, which began when it was computed.",
            "kv-lease",
            _held,
        ),
        _outlived(
            "outlived-transfer-deadline",
            "A request is in the queue for longer than its transfer may take.",
            "transfer-deadline",
        ),
        _exactly(
            "load-timeout", "A decode worker has waited for its KV.", "load-timeout", _loading
        ),
        _takes("peer-loss", "Who moves KV finds that the other side is gone.", *loss),
    )


def _hold(protocol: Protocol) -> Duration:
    if protocol.release == Release.LEASE:
        return _exactly("kv-lease", "KV is held for a fixed time.", "kv-lease", _held_there)
    return _takes(
        "kv-lease",
        "The lease of KV runs out: its last heartbeat was up to a sixth of it ago, and extended it "
        "to two thirds.",
        {"kv-lease": 0.5},
        {"kv-lease": 1},
    )


def _linked() -> tuple[Duration, ...]:
    return (
        _takes(
            "replacement",
            "A replacement of a worker starts.",
            {"restart": 1},
            {"restart-at-worst": 1},
        ),
        _within("memory-registration", "A worker registers its memory.", "registration"),
        _takes("handshake", "Two workers shake hands.", {"network-rtt": 1}, {"network-rtt": 4}),
        _within("handshake-given-up", "Nobody answers a handshake.", "handshake-timeout"),
        _outlived(
            "outlived-handshake", "A handshake runs into its time limit.", "handshake-timeout"
        ),
        _within("key-unpack", "A reader unpacks the keys of a peer's memory.", "key-unpack"),
        _within("transport-loss", "A transport finds its peer gone.", "transport-timeout"),
        _within("event-delivery", "An event of a cache reaches the index.", "event-delivery"),
        _within("index-heartbeat", "An engine repeats its last number.", "index-heartbeat"),
        _takes(
            "index-dump",
            "A worker tells all it holds.",
            {"network-rtt": 1},
            {"network-rtt": 1, "index-dump": 1},
        ),
        _exactly(
            "recovery-timeout",
            "A router that started has waited for its workers.",
            "recovery-timeout",
            _not_serving,
        ),
    )


def _stored() -> tuple[Duration, ...]:
    return (
        _takes(
            "half-store-read",
            "Half of an object is read.",
            {"store-transfer": 0.5},
            {"store-transfer-at-worst": 0.5},
        ),
        _takes(
            "store-write",
            "An object is written.",
            {"store-transfer": 1},
            {"store-transfer-at-worst": 1},
        ),
        _takes(
            "store-miss",
            "An engine hears that the store has nothing, and computes it.",
            {"network-rtt": 1, "prefill": 1},
            {"network-rtt": 2, "prefill": 1, "queue-wait": 1},
        ),
        _outlived(
            "outlived-store-lease",
            "A read takes longer than the lease of its object, which began with the look-up.",
            "store-lease",
            _reading,
        ),
        _takes("rank-agreement", "Ranks compare notes.", {"network-rtt": 0.5}, {"network-rtt": 1}),
        _exactly("pin-sweep", "The pins of a dead client are taken back.", "pin-timeout"),
        _exactly("put-discard", "An unfinished put is discarded.", "put-discard"),
        _outlived("outlived-put", "A put takes so long that it is discarded.", "put-discard"),
        _exactly("segment-ttl", "The master misses a worker.", "segment-ttl"),
        _within("store-heartbeat", "A worker asks the master the next time.", "store-heartbeat"),
        _within("leader-lease", "The lease of a leader runs out.", "leader-lease"),
    )


# What the least of a duration is measured by, where that is not that its transition was possible.


def _silent(world: World, firing: Firing) -> bool:
    request, attempt, worker = firing.arguments
    here = world.streams[request].attempts[attempt]
    if not present(world, request, attempt) or not connected(world, request, attempt, worker):
        return False
    nothing = here.received == here.sent and here.finish != Finish.SENT
    return nothing and not streams(world, request)


def _booked(world: World, firing: Firing) -> bool:
    (request,) = firing.arguments
    return bool(world.retries[request].booked)


def _inhibited(world: World, firing: Firing) -> bool:
    (worker,) = firing.arguments
    return world.endpoints[worker].inhibited


def _held(world: World, firing: Firing) -> bool:
    request, attempt = firing.arguments
    return world.loads[request].attempts[attempt].hold == Hold.HELD


def _held_there(world: World, firing: Firing) -> bool:
    request, attempt, source = firing.arguments
    load = world.loads[request].attempts[attempt]
    return load.hold == Hold.HELD and load.source == source


def _loading(world: World, firing: Firing) -> bool:
    request, attempt, _, target = firing.arguments
    load = world.loads[request].attempts[attempt]
    stage = world.streams[request].attempts[attempt].stage
    return stage == Stage.LOADING and load.target == target


def _not_serving(world: World, firing: Firing) -> bool:
    del firing
    return not world.router.serving


def _reading(world: World, firing: Firing) -> bool:
    client, space = firing.arguments
    here = world.readers[client]
    return here.stage in READING and here.space == space
