"""The bootstrap rooms in which a prefill and a decode worker meet over a request."""

from __future__ import annotations

from attrs import frozen

from rackproof.model.protocol.mechanism import mechanism


@frozen(slots=False)
class RoomsMechanisms:
    """The bootstrap rooms in which a prefill and a decode worker meet over a request."""

    clear_status_on_reuse: bool = mechanism(
        True,
        "The status of a room is cleared when a request enters it. Without it a room id that is "
        "used again shows how the request before ended.",
        "sglang#6857",
    )
    reject_duplicate_rooms: bool = mechanism(
        True,
        "A request that names a room in use is refused. Without it two requests share the state of "
        "one, and the first to end takes it away under the other.",
        "sglang#40125",
    )
    latch_failed_status: bool = mechanism(
        True,
        "A room that failed stays failed. Without it a status is the larger of the old and the "
        "new, failed is the smallest, and a late report of success undoes the failure.",
        "sglang disaggregation/base/conn.py: KVPoll.Failed = 0; sglang#30352",
    )
