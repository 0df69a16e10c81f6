"""What may go wrong, and how often: every fault has a name and a budget."""

from __future__ import annotations

from rackproof.model.kernel import bounded, frozen


@frozen
class Budget:
    """How often each fault may still happen. A field has the name of its transition."""

    crash: int = bounded(0, "faults")
    restart: int = bounded(0, "faults")
    hang: int = bounded(0, "faults")
    resume: int = bounded(0, "faults")
    drain: int = bounded(0, "faults")
    tray_loss: int = bounded(0, "faults")
    overload: int = bounded(0, "faults")
    lost_report: int = bounded(0, "faults")
    churn: int = bounded(0, "faults")
    discovery_outage: int = bounded(0, "faults")
    frontend_drain: int = bounded(0, "faults")
    disconnect: int = bounded(0, "faults")
    preemption: int = bounded(0, "faults")
    prefill_error: int = bounded(0, "faults")
    post_failure: int = bounded(0, "faults")
    transfer_failure: int = bounded(0, "faults")
    slow_read: int = bounded(0, "faults")
    long_queue: int = bounded(0, "faults")
    clock_skew: int = bounded(0, "faults")
    lost_ack: int = bounded(0, "faults")
    lost_release: int = bounded(0, "faults")
    lost_event: int = bounded(0, "faults")
    publish_failure: int = bounded(0, "faults")
    engine_restart: int = bounded(0, "faults")
    rejoin: int = bounded(0, "faults")
    reregistration: int = bounded(0, "faults")
    publisher_move: int = bounded(0, "faults")
    router_restart: int = bounded(0, "faults")
    leave: int = bounded(0, "faults")
    peer_crash: int = bounded(0, "faults")
    domain_fault: int = bounded(0, "faults")
    handshake_failure: int = bounded(0, "faults")
    link_post_failure: int = bounded(0, "faults")
    scale_up: int = bounded(0, "faults")
    weight_update: int = bounded(0, "faults")
    duplicate_room: int = bounded(0, "faults")
    room_failure: int = bounded(0, "faults")
