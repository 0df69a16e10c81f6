"""What comes of a file for `rackproof simulate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from attrs import field, frozen

from rackproof.model.performance.simulation import Deployment, Request, Slo


class Workload(Iterable[Request], Protocol):
    """Requests in order of arrival, the same ones every time one asks."""

    def __len__(self) -> int:
        """How many there are."""


@frozen
class Variant:
    """One thing to simulate."""

    name: str
    deployment: Deployment
    workload: Workload
    slo: Slo
    warm_up: float
    """The share of the requests, the earliest, that figures leave out."""


@frozen
class Published:
    """A figure that was published for a variant, as it was printed.

    measure: of ``model.performance.measures``, or hand-off-ideal of so many tokens. factor: what
    the printed unit is worth in SI.
    """

    title: str
    variant: str
    measure: str
    tokens: int | None
    printed: str
    unit: str
    factor: float
    note: str = ""

    @property
    def decimals(self) -> int:
        """Digits behind the point, as printed."""
        return len(self.printed.partition(".")[2])

    def rounded(self, value: float) -> str:
        """A computed value (SI) in the printed unit, with as many digits as were printed."""
        comma = "," if "," in self.printed else ""
        return f"{value / self.factor:{comma}.{self.decimals}f}"


@frozen
class Expected:
    """Bounds that a measure of a variant (of every one, if none is named) is expected to keep."""

    measure: str
    variant: str = ""
    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a value keeps them; one that never came to be does not."""
        low = self.least is None or value >= self.least
        return value == value and low and (self.most is None or value <= self.most)  # noqa: PLR0124


@frozen
class Plan:
    """A file: what is to be simulated, and what is known of it.

    sections: what the keys came to that only some questions need (``sections``). left: what was to
    be changed, and is not, for it is of another kind of variant.
    """

    path: Path
    name: str
    variants: tuple[Variant, ...]
    published: tuple[Published, ...] = ()
    expected: tuple[Expected, ...] = ()
    source: str = ""
    why: str = ""
    notes: str = ""
    sections: Mapping[str, Any] = field(factory=dict)
    left: tuple[str, ...] = ()

    def variant(self, name: str) -> Variant:
        """The variant of a name."""
        return next(variant for variant in self.variants if variant.name == name)
