"""What an operator sets: time-outs, leases and intervals, with the values of the reference.

A stack states its own, with sources (``timeouts:`` in its file), and a scenario may change them. A
time-out of infinity is one that is not set: what it would bring about does not happen.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Final

from attrs import evolve

from rackproof.model.kernel import ModelError, Quantity


def _chosen(name: str, seconds: float, text: str, source: str) -> Quantity:
    return Quantity(name, text, seconds, source, chosen=True)


_ALL: Final = (
    _chosen(
        "stream-timeout",
        30.0,
        "How long a response stream may be silent before the router gives it up.",
        "assumed; dynamo's own fault tests set DYN_HTTP_BACKEND_STREAM_TIMEOUT_SECS, which is "
        "unset by default",
    ),
    _chosen(
        "inhibition",
        5.0,
        "How long a worker that an error was blamed on is left out.",
        "dynamo DYN_RUNTIME_INHIBITED_DURATION_SECS",
    ),
    _chosen(
        "canary",
        13.0,
        "How long until a probe has told whether a worker answers: the wait, and its time-out.",
        "dynamo DYN_CANARY_WAIT_TIME, 10 s, and DYN_HEALTH_CHECK_REQUEST_TIMEOUT, 3 s",
    ),
    _chosen(
        "lease",
        10.0,
        "For how long discovery lists a worker that does not renew its lease, as it does every "
        "half of that.",
        "dynamo#7932, which speaks of 10 s; transports/etcd/lease.rs: renewed every half",
    ),
    _chosen(
        "grace-period",
        5.0,
        "How long a worker that was told to stop may finish what it has.",
        "dynamo DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS",
    ),
    _chosen(
        "health-check",
        30.0,
        "How long until a worker whose health check fails is killed: three periods of 10 s.",
        "the defaults of a Kubernetes probe: periodSeconds 10, failureThreshold 3",
    ),
    _chosen(
        "booking-expiry",
        300.0,
        "How old a booking must be to be swept out.",
        "dynamo lib/kv-router sequences: EXPIRY_DURATION",
    ),
    _chosen(
        "booking-sweep",
        60.0,
        "How often old bookings are looked for.",
        "dynamo lib/kv-router: FORCE_EXPIRE_REQUESTS_ACROSS_ALL_WORKERS_INTERVAL",
    ),
    _chosen(
        "load-report",
        1.0,
        "How often workers tell the router of their load.",
        "assumed; llm-d-router has 50 ms, pkg/epp/server/options.go",
    ),
    _chosen(
        "kv-lease",
        30.0,
        "For how long a prefill worker holds finished KV that nobody asks for.",
        "vllm nixl base_scheduler.py: kv_lease_duration; a heartbeat each sixth of it, which "
        "extends it to two thirds",
    ),
    _chosen(
        "load-timeout",
        300.0,
        "How long a decode worker waits for KV that nobody sends.",
        "sglang SGLANG_DISAGGREGATION_WAITING_TIMEOUT",
    ),
    _chosen(
        "transfer-deadline",
        60.0,
        "How long a transfer may take, its wait in a queue included where that counts.",
        "TRT cache_transceiver_config.kv_transfer_timeout_ms, 60,000",
    ),
    _chosen(
        "transport-timeout",
        7.0,
        "How long a transport tries to reach a peer that is gone.",
        "unconfirmed: UCX over InfiniBand, 7 retries of 1 s",
    ),
    _chosen(
        "peer-heartbeat",
        5.0,
        "How often a decode worker asks whether a prefill worker is there; two misses count.",
        "sglang SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL, SGLANG_DISAGGREGATION_HEARTBEAT_MAX_"
        "FAILURE",
    ),
    _chosen(
        "handshake-timeout",
        5.0,
        "How long a reader waits for the answer of a peer that it shakes hands with.",
        "unconfirmed: vllm nixl base_worker.py, the receive time-out of its ZMQ socket",
    ),
    _chosen(
        "index-heartbeat",
        5.0,
        "How often an engine repeats the number of its last event.",
        "assumed; no stack has it by default",
    ),
    _chosen(
        "recovery-timeout",
        600.0,
        "How long a router that started waits for workers to tell what they hold.",
        "dynamo#10803",
    ),
    _chosen(
        "store-lease",
        10.0,
        "For how long an object stays in its place after a look-up.",
        "Mooncake types.h: DEFAULT_DEFAULT_KV_LEASE_TTL, 10,000 ms",
    ),
    _chosen(
        "pin-timeout",
        300.0,
        "How long the pins of a client that died stay.",
        "LMCache config.py: pin_timeout_sec, 300",
    ),
    _chosen(
        "put-discard",
        30.0,
        "How old an unfinished put must be to be discarded.",
        "Mooncake types.h: DEFAULT_PUT_START_DISCARD_TIMEOUT",
    ),
    _chosen(
        "segment-ttl",
        10.0,
        "How long the master of a store waits for a sign of a worker that lends it memory.",
        "Mooncake types.h: DEFAULT_CLIENT_LIVE_TTL_SEC",
    ),
    _chosen(
        "store-heartbeat",
        1.0,
        "How often a worker tells the master of a store that it is there.",
        "Mooncake client_service.cpp: success_ping_interval_ms",
    ),
    _chosen(
        "leader-lease",
        5.0,
        "For how long the leader of a store stays leader without a sign of life.",
        "Mooncake types.h: DEFAULT_MASTER_VIEW_LEASE_TTL_SEC",
    ),
)

TIMEOUTS: Final[Mapping[str, Quantity]] = {quantity.name: quantity for quantity in _ALL}
"""What an operator sets, by name, as in the reference."""


def with_timeouts(
    base: Mapping[str, Quantity], seconds: Mapping[str, float], source: str = "the scenario"
) -> dict[str, Quantity]:
    """Timeouts with other values (infinity: not set); ``ModelError`` names what is no good."""
    changed = dict(base)
    for name, value in seconds.items():
        if name not in changed:
            near = difflib.get_close_matches(name, changed, n=1)
            told = f"did you mean {near[0]}?" if near else f"there are {', '.join(changed)}"
            raise ModelError(f"there is no timeout {name!r}; {told}")
        if math.isnan(value) or value <= 0:
            raise ModelError(f"the timeout {name} is more than no time at all, not {value!r} s")
        changed[name] = evolve(changed[name], value=value, source=source)
    return changed
