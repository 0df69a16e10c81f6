"""What the GPUs of an instance tell one another within a step."""

from __future__ import annotations

from rackproof.model.performance.hardware import Link


def all_reduce_s(size: float, members: int, link: Link) -> float:
    """Seconds of a ring all-reduce of so many bytes: 2 (n - 1) rounds of an n-th each."""
    rounds = 2 * (members - 1)
    return rounds * (size / members / link.bytes_per_s + link.latency_s)


def switch_reduce_s(size: float, link: Link) -> float:
    """Seconds of an all-reduce in the switch (NVLink SHARP): up once, and down once."""
    return size / link.bytes_per_s + 2 * link.latency_s


def all_reduce_bytes(size: float, members: int) -> float:
    """Bytes that cross links in a ring all-reduce, of all members together."""
    return 2 * (members - 1) * size
