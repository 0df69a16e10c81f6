"""How values are distributed: all of them while they are few, then counts in bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil, inf, log, nan

import numpy as np

from rackproof.model.performance.simulation.results import Spread


class Distribution:
    """Values that are not negative. Up to ``exact`` of them are kept as they are.

    Beyond, they are counted in bins whose bounds grow by a factor (1 + e) / (1 - e), so that the
    middle of a bin is off by e of any value in it at most: DDSketch (Masson et al., VLDB 2019).
    """

    __slots__ = ("_bins", "_scale", "_values", "count", "error", "exact", "least", "most", "total")

    def __init__(self, exact: int, error: float = 0.005) -> None:
        self.exact, self.error = exact, error
        self.count, self.total, self.least, self.most = 0, 0.0, inf, -inf
        self._values: list[float] = []
        self._bins: Counter[int | None] = Counter()
        self._scale = 1 / log((1 + error) / (1 - error))

    def add(self, value: float, count: int = 1) -> None:
        """A value, so many times."""
        self.count += count
        self.total += value * count
        self._widen(value)
        if self.count <= self.exact:
            self._values += [value] * count
        else:
            self._fold()
            self._bins[self._bin(value)] += count

    def ramp(self, first: float, last: float, steps: int, count: int) -> None:
        """Evenly spaced values from first to last, each so many times; only of a binned one."""
        start, end = self._bin(first), self._bin(last)
        if start == end or steps == 1:
            self._bins[start] += steps * count
        else:
            spaced = first + (last - first) / (steps - 1) * np.arange(steps)
            for bound, many in Counter(map(self._bin, spaced.tolist())).items():
                self._bins[bound] += many * count
        self.count += steps * count
        self.total += steps * count * (first + last) / 2
        self._widen(first)
        self._widen(last)

    def merge(self, other: Distribution) -> None:
        """All values of another one, with bins of the same size."""
        for value in other._values:
            self.add(value)
        if other._bins:
            self._fold()
            self._bins.update(other._bins)
            self.count += other.count
            self.total += other.total
            self._widen(other.least)
            self._widen(other.most)

    @property
    def mean(self) -> float:
        """The mean, exact."""
        return self.total / self.count if self.count else nan

    def spread(self) -> Spread:
        """What is told of it."""
        if not self.count:
            return Spread(0, nan, nan, nan, nan, nan, nan, nan, 0.0)
        p50, p90, p95, p99 = self._quantiles((0.5, 0.9, 0.95, 0.99))
        error = self.error if self._bins else 0.0
        return Spread(self.count, self.mean, self.least, p50, p90, p95, p99, self.most, error)

    def _quantiles(self, shares: tuple[float, ...]) -> Iterator[float]:
        if not self._bins:
            return iter(np.quantile(self._values, shares).tolist())
        bins = sorted(self._bins, key=lambda bound: -inf if bound is None else bound)
        counts = np.cumsum([self._bins[bound] for bound in bins])
        places = np.searchsorted(counts, [share * (self.count - 1) for share in shares], "right")
        return (self._middle(bins[place]) for place in places)

    def _fold(self) -> None:
        for value in self._values:
            self._bins[self._bin(value)] += 1
        self._values.clear()

    def _bin(self, value: float) -> int | None:
        return ceil(log(value) * self._scale) if value > 0 else None

    def _middle(self, bound: int | None) -> float:
        if bound is None:
            return 0.0
        middle = (1 - self.error) * float(np.exp(bound / self._scale))
        return min(max(middle, self.least), self.most)

    def _widen(self, value: float) -> None:
        self.least = min(self.least, value)
        self.most = max(self.most, value)
