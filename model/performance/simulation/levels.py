"""Quantities that change at moments: what they were on average, and over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rackproof.model.performance.simulation.results import Series


class Level:
    """A quantity over time: its value, its peak, and its integral so far."""

    __slots__ = ("_area", "_since", "peak", "value")

    def __init__(self) -> None:
        self.value, self.peak = 0, 0
        self._area, self._since = 0.0, 0.0

    def add(self, now: float, change: int) -> None:
        """It changes by so much."""
        self._area += self.value * (now - self._since)
        self._since = now
        self.value += change
        self.peak = max(self.peak, self.value)

    def area(self, now: float) -> float:
        """Its integral until now."""
        return self._area + self.value * (now - self._since)


class Flag:
    """Something that holds at times: for how many seconds it did."""

    __slots__ = ("_seconds", "_since")

    def __init__(self) -> None:
        self._seconds = 0.0
        self._since: float | None = None

    def set(self, now: float, holds: bool) -> None:
        """It holds from now on, or does not."""
        if self._since is not None:
            self._seconds += now - self._since
        self._since = now if holds else None

    def seconds(self, now: float) -> float:
        """How long it held until now."""
        return self._seconds + (0.0 if self._since is None else now - self._since)


class Idling:
    """Of a pool: the seconds of instances that idle while another has a queue."""

    __slots__ = ("_area", "_idle", "_since", "_waiting")

    def __init__(self, count: int) -> None:
        self._idle, self._waiting = count, 0
        self._area, self._since = 0.0, 0.0

    def change(self, now: float, idle: int, waiting: int) -> None:
        """So many more instances idle, so many more requests wait."""
        if self._waiting:
            self._area += self._idle * (now - self._since)
        self._since = now
        self._idle += idle
        self._waiting += waiting

    def seconds(self, now: float) -> float:
        """Instance-seconds until now."""
        return self._area + (self._idle * (now - self._since) if self._waiting else 0.0)


class Sampler:
    """Samples of quantities, evenly spaced; when there are too many, every other is dropped."""

    MOST: Final = 512

    def __init__(self, probes: Mapping[str, Callable[[], float]]) -> None:
        self._probes = probes
        self._spacing = 1 / 64
        self._rows: list[tuple[float, ...]] = []
        self.due = 0.0

    def take(self, until: float) -> None:
        """Sample what holds up to a time, at which something is about to change."""
        row = tuple(probe() for probe in self._probes.values())
        while self.due <= until:
            self._rows.append(row)
            if len(self._rows) == self.MOST:
                self._rows = self._rows[::2]
                self._spacing *= 2
            self.due = len(self._rows) * self._spacing

    def series(self) -> Series:
        """What was sampled."""
        times = tuple(index * self._spacing for index in range(len(self._rows)))
        columns = zip(*self._rows, strict=True) if self._rows else [() for _ in self._probes]
        return Series(times, dict(zip(self._probes, columns, strict=True)))
