"""Requests from a seed: arrivals at a rate, and log-normal lengths.

The draws are those of the published rack study: Python's ``random.Random(seed)``; of each request
first the gap to the one before, then the prompt, then the output. A log-normal length with mean m
and coefficient of variation c has sigma^2 = ln(1 + c^2) and mu = ln m - sigma^2 / 2; it is rounded
and clipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import ClassVar, Final

from attrs import Attribute, field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import called, not_negative, positive
from rackproof.model.performance.simulation.setting import Request

LONGEST: Final = 32_768
"""To how many tokens lengths are clipped, unless told otherwise."""

LEAST_CV: Final = 1e-6
MOST_CV: Final = 1000.0
"""Of coefficients of variation but 0: beyond, their squares are lost in what a float can tell."""


def _drawable(instance: object, field: Attribute[float], value: float) -> None:
    if value and not LEAST_CV <= value <= MOST_CV:
        raise ModelError(
            f"{called(type(instance))}: {field.name} is 0, or from {LEAST_CV:g} to {MOST_CV:,.0f}; "
            f"it is {value!r}"
        )


@frozen
class Arrivals:
    """Gaps between requests: exponential (cv 1), all equal (cv 0), or gamma with another cv.

    rate_per_s: requests a second. cv: standard deviation of the gaps over their mean; above 1,
    requests come in bursts.
    """

    CALLED: ClassVar[str] = "arrivals"

    rate_per_s: float = field(validator=positive)
    cv: float = field(default=1.0, validator=[not_negative, _drawable])

    def gap_s(self, random: Random) -> float:
        """Seconds from one request to the next."""
        if self.cv == 1:
            return random.expovariate(self.rate_per_s)
        if self.cv == 0:
            return 1 / self.rate_per_s
        shape = self.cv**-2
        return random.gammavariate(shape, 1 / (self.rate_per_s * shape))


@frozen
class Lengths:
    """Tokens of a prompt or an output: log-normal, rounded, and clipped to [1, longest]."""

    CALLED: ClassVar[str] = "lengths"

    mean: float = field(validator=positive)
    cv: float = field(default=0.5, validator=[not_negative, _drawable])
    longest: int = field(default=LONGEST, validator=positive)

    def __attrs_post_init__(self) -> None:
        """Refuse a mean that clipping would cut off."""
        if not 1 <= self.mean <= self.longest:
            raise ModelError(f"lengths: the mean is from 1 to {self.longest:,}, not {self.mean:g}")

    def tokens(self, random: Random) -> int:
        """One length."""
        variance = math.log1p(self.cv**2)
        mu = math.log(self.mean) - variance / 2
        drawn = random.lognormvariate(mu, math.sqrt(variance))
        return round(min(max(drawn, 1), self.longest))


@frozen
class Synthetic:
    """Requests with independent arrivals and lengths."""

    CALLED: ClassVar[str] = "synthetic workload"

    arrivals: Arrivals
    prompt: Lengths
    output: Lengths
    requests: int = field(validator=positive)
    seed: int = 1

    def __len__(self) -> int:
        """How many there are."""
        return self.requests

    def __iter__(self) -> Iterator[Request]:
        """Make the requests, the same ones every time."""
        random = Random(self.seed)
        now = 0.0
        for _ in range(self.requests):
            now += self.arrivals.gap_s(random)
            prompt = self.prompt.tokens(random)
            yield Request(now, prompt, self.output.tokens(random))
