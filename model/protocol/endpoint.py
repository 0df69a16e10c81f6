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
        "A worker that an error is blamed on is not chosen for a while.",
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
