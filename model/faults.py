"""What may go wrong, and how often: every fault has a name and a budget."""

from __future__ import annotations

from rackproof.model.kernel import bounded, frozen


@frozen
class Budget:
    """How often each fault may still happen. A field has the name of its transition."""

    crash: int = bounded(0, "faults")
    hang: int = bounded(0, "faults")
    resume: int = bounded(0, "faults")
    drain: int = bounded(0, "faults")
    tray_loss: int = bounded(0, "faults")
    overload: int = bounded(0, "faults")
    churn: int = bounded(0, "faults")
    disconnect: int = bounded(0, "faults")
    preemption: int = bounded(0, "faults")
    transfer_failure: int = bounded(0, "faults")
    slow_read: int = bounded(0, "faults")
    lost_release: int = bounded(0, "faults")
    leave: int = bounded(0, "faults")
    removal: int = bounded(0, "faults")
    pressure: int = bounded(0, "faults")
    client_crash: int = bounded(0, "faults")
    get_failure: int = bounded(0, "faults")
    short_get: int = bounded(0, "faults")
    slow_get: int = bounded(0, "faults")
    put_failure: int = bounded(0, "faults")
    slow_put: int = bounded(0, "faults")
    disk_eviction: int = bounded(0, "faults")
    segment_loss: int = bounded(0, "faults")
    segment_return: int = bounded(0, "faults")
    segment_silence: int = bounded(0, "faults")
    master_crash: int = bounded(0, "faults")
    master_hang: int = bounded(0, "faults")
    metadata_loss: int = bounded(0, "faults")
