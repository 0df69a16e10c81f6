"""Who is known to be there, and who is chosen."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import mechanism


@frozen(slots=False)
class EndpointMechanisms:
    """Who is known to be there, and who is chosen."""

    raw_removal_events: bool = mechanism(
        True,
        "The watcher of removals reads the events themselves and keeps tombstones. Without it a "
        "removal that is followed by churn can be missed.",
        "dynamo#13088, dynamo#13095",
    )
    select_from_discovery: bool = mechanism(
        True,
        "Workers are chosen from the present snapshot of discovery. Without it they are chosen "
        "from the router's own copy, which lags behind.",
        "dynamo#11646",
    )
    inhibit_on_error: bool = mechanism(
        True,
        "A worker that an error is blamed on is not chosen for a while. (One error is enough here; "
        "a threshold takes more of them.)",
        "dynamo push_router.rs: report_instance_down",
    )
    restore_inhibited: bool = mechanism(
        True,
        "An inhibited worker is chosen again after a while. Without it, it stays out until "
        "discovery changes, which may be never.",
        "dynamo#5043: DYN_RUNTIME_INHIBITED_DURATION_SECS, 5 s",
    )
    clear_overload: bool = mechanism(
        True,
        "The overload mark of a worker goes when its load does. Without it the mark is cleared "
        "only by a load report, and an idle worker has nothing to report.",
        "dynamo#12138",
    )
    resync_mirror: bool = mechanism(
        True,
        "The router's copy of discovery is compared with discovery from time to time. Without it a "
        "removal that the watch missed is never made good.",
        "dynamo#11646, dynamo#13088",
    )
    outlive_discovery: bool = mechanism(
        True,
        "While discovery itself is away, workers go on and routers keep the workers they know. "
        "Without it all leases are lost at once, and every worker stops itself.",
        "dynamo#3493",
    )
    epoch_on_restart: bool = mechanism(
        True,
        "A worker that comes back under its old id does so with a new epoch, which everything that "
        "refers to it carries. Without it the new process is taken for the old one.",
        "vllm engine ids; volcano-sh/kthena#1428; dynamo instance ids are leases",
    )
    probe_before_restore: bool = mechanism(
        True,
        "An inhibited worker is chosen again once it has answered a probe. Without it, it is "
        "chosen again after a while, whether it answers or not.",
        "dynamo 1.6.1 on a CPU: a stopped worker gets requests again after 5 s",
    )
    blame_only_faults: bool = mechanism(
        True,
        "Only an error of a worker is held against it. Without it a client that leaves, or asks "
        "for what no worker does, takes a healthy worker out.",
        "sglang#31206; dynamo 1.6.1 on a CPU: refusals mark workers down",
    )
    own_health: bool = mechanism(
        True,
        "The health check of a decode worker asks that worker alone. Without it, it fails with "
        "the prefill workers, and a dead prefill worker has the decode workers killed.",
        "sglang#12779, sglang#13657",
    )
    route_on_stale_metrics: bool = mechanism(
        True,
        "A worker whose load reports stay away is routed to all the same. Without it, it is left "
        "out until a report comes, which may be never.",
        "router#2165",
    )
    half_open: bool = mechanism(
        False,
        "A circuit breaker: an inhibited worker is sent one request on trial, and how that ends "
        "decides whether it is chosen again. Without it, it is restored as the other mechanisms "
        "say.",
        "sglang router: Closed, Open, HalfOpen",
        design=True,
    )
    trials_expire: bool = mechanism(
        True,
        "A trial whose request ended without a verdict (its client left) is over, and there will "
        "be another. Without it the breaker waits for that verdict for ever.",
        "circuit breakers with a permit: the permit is given back however the call ends",
    )
    renew_in_time: bool = mechanism(
        True,
        "A renewal of a discovery lease that stalls is tried again well within the lease. Without "
        "it one stalled renewal has a live worker evicted.",
        "TRT#18403; dynamo transports/etcd/lease.rs: a thread of its own, every half lease",
    )
    leases: bool = mechanism(
        True,
        "Workers hold a lease in discovery, which lists those that renew it. Without it the list "
        "is written by hand, and a dead worker stays on it.",
        "plain proxies: a list of hosts on their command line",
        design=True,
    )
