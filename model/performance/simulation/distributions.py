"""How values are distributed: all of them while they are few, then counts in bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil, inf, log, nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rackproof.model.performance.simulation.results import Spread

_BUFFERED: Final = 4096
"""Values that are binned together."""

_ZERO: Final = -(2**31)
"""The bin of zero."""


class Distribution:
    """Values that are not negative. Up to ``exact`` of them are kept as they are.

    Beyond, they are counted in bins whose bounds grow by a factor (1 + e) / (1 - e), so that the
    middle of a bin is off by e of any value in it at most: DDSketch (Masson et al., VLDB 2019).
    """

    __slots__ = (
        "_bins",
        "_count",
        "_least",
        "_limit",
        "_most",
        "_scale",
        "_total",
        "_values",
        "error",
    )

    def __init__(self, exact: int, error: float = 0.005) -> None:
        self.error = error
        self._limit = exact
        self._values: list[float] = []
        self._bins: Counter[int] = Counter()
        self._scale = 1 / log((1 + error) / (1 - error))
        self._count, self._total, self._least, self._most = 0, 0.0, inf, -inf

    def add(self, value: float) -> None:
        """A value."""
        self._values.append(value)
        if len(self._values) > self._limit:
            self._fold()

    def ramp(self, first: float, last: float, steps: int, count: int) -> None:
        """Evenly spaced values from first to last, each so many times; into bins at once."""
        start, end = self._bin(first), self._bin(last)
        if start == end or steps == 1:
            self._bins[start] += steps * count
        else:
            spaced = first + (last - first) / (steps - 1) * np.arange(steps)
            self._into_bins(spaced.astype(np.float64), count)
        self._count += steps * count
        self._total += steps * count * (first + last) / 2
        self._least = min(self._least, first, last)
        self._most = max(self._most, first, last)

    def merge(self, other: Distribution) -> None:
        """All values of another one, with bins of the same size."""
        for value in other._values:
            self.add(value)
        if other._bins:
            self._fold()
            self._bins.update(other._bins)
            self._count += other._count
            self._total += other._total
            self._least = min(self._least, other._least)
            self._most = max(self._most, other._most)

    def spread(self) -> Spread:
        """What is told of it."""
        if self._bins:
            self._fold()
            p50, p90, p95, p99 = self._quantiles((0.5, 0.9, 0.95, 0.99))
            mean, least, most = self._total / self._count, self._least, self._most
            return Spread(self._count, mean, least, p50, p90, p95, p99, most, self.error)
        if not self._values:
            return Spread(0, nan, nan, nan, nan, nan, nan, nan, 0.0)
        values = np.array(self._values)
        p50, p90, p95, p99 = np.quantile(values, (0.5, 0.9, 0.95, 0.99)).tolist()
        mean, least, most = (float(told) for told in (values.mean(), values.min(), values.max()))
        return Spread(len(values), mean, least, p50, p90, p95, p99, most, 0.0)

    def _quantiles(self, shares: tuple[float, ...]) -> Iterator[float]:
        bins = sorted(self._bins)
        counts = np.cumsum([self._bins[bound] for bound in bins])
        places = np.searchsorted(counts, [share * (self._count - 1) for share in shares], "right")
        return (self._middle(bins[place]) for place in places)

    def _fold(self) -> None:
        """What was kept so far goes into bins, and from now on in batches."""
        values = np.array(self._values)
        self._values.clear()
        self._limit = _BUFFERED
        if values.size:
            self._into_bins(values, 1)
            self._count += values.size
            self._total += float(values.sum())
            self._least = min(self._least, float(values.min()))
            self._most = max(self._most, float(values.max()))

    def _into_bins(self, values: NDArray[np.float64], count: int) -> None:
        positive = values[values > 0]
        if positive.size < values.size:
            self._bins[_ZERO] += count * (values.size - positive.size)
        bounds, counts = np.unique(np.ceil(np.log(positive) * self._scale), return_counts=True)
        for bound, many in zip(bounds.astype(int).tolist(), counts.tolist(), strict=True):
            self._bins[bound] += many * count

    def _bin(self, value: float) -> int:
        return ceil(log(value) * self._scale) if value > 0 else _ZERO

    def _middle(self, bound: int) -> float:
        if bound == _ZERO:
            return 0.0
        middle = (1 - self.error) * float(np.exp(bound / self._scale))
        return min(max(middle, self._least), self._most)
