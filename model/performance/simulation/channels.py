"""The hand-off of KV: a bank of channels, first come, first served."""

from __future__ import annotations

from heapq import heapreplace
from math import inf

from rackproof.model.performance.hardware import Link


class Channels:
    """So many transfers at a time; the rest wait for the first channel that is free.

    One that begins at infinity has lost its way for good, and never leaves its channel.
    busy_s, joules: of all transfers so far.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = [0.0] * count
        self.busy_s = 0.0
        self.joules = 0.0

    def send(self, now: float, size: float, link: Link) -> float:
        """When so many bytes, all there now, have arrived."""
        return self._taken(now, size, link, link.seconds(size))

    def stream(self, now: float, end: float, size: float, layers: int, link: Link) -> float:
        """When bytes have arrived that are made layer by layer: the first is there now, the last
        at the end.

        Two stages in a row: a layer leaves once it is made and its predecessor has left. With s
        seconds a layer on the link, the last arrives at max(start + layers s, end + s) + latency:
        either the link is never idle once it has begun, or it waits for the last layer (the
        layer-wise transfer of Splitwise, ISCA '24, section IV-C; both rates are constant here).
        """
        piece = size / layers / link.bytes_per_s
        start = max(now, self._free[0])
        seconds = max(layers * piece, end + piece - start) + link.latency_s
        return self._taken(now, size, link, seconds)

    def _taken(self, now: float, size: float, link: Link, seconds: float) -> float:
        end = max(now, self._free[0]) + seconds
        heapreplace(self._free, end)
        if end < inf:
            self.busy_s += seconds
            self.joules += link.joules(size)
        return end
