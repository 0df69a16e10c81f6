"""How often parts of a rack fail, and what is left of its goodput.

Failures come at a constant rate and one at a time: that two parts are down together is of second
order in the share of time that one is, and told beside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import chosen, not_negative, positive

HOUR_S: Final = 3600.0


@frozen
class Observed:
    """Failures of a kind of part: how many parts were watched for how long."""

    CALLED: ClassVar[str] = "failure rate"

    name: str
    parts: int = field(validator=positive)
    hours: float = field(validator=positive)
    failures: float = field(validator=positive)
    text: str = ""
    source: str = ""

    @property
    def mtbf_h(self) -> float:
        """Mean hours between failures of one part."""
        return self.parts * self.hours / self.failures

    def of(self, parts: int) -> float:
        """Mean hours between failures of so many parts of which each matters."""
        if parts < 1:
            raise ModelError(f"a failure rate is of one part or more, not {parts!r}")
        return self.mtbf_h / parts


@frozen
class Restart:
    """How long something takes until it serves again."""

    CALLED: ClassVar[str] = "restart"

    name: str
    seconds: float = field(validator=not_negative)
    source: str = ""


def observed(name: str) -> Observed:
    """The preset of a failure rate."""
    return chosen("failure-rates.yaml", Observed, name)


def restart(name: str) -> Restart:
    """The preset of a time to restart."""
    return chosen("restarts.yaml", Restart, name)


@frozen
class Domain:
    """Parts of a rack that fail alike: how many, how often one does, how long it then is down.

    unknown_s: of mttr_s, until it is known that one is down; who is sent there meanwhile is hit,
    the others fare as ever. attainment: the share of requests within their objectives from then on
    until it is up again. stalled: the requests that one failure makes wait, and stall_s how long in
    the mean; missed: those of them that then miss their objectives.
    """

    CALLED: ClassVar[str] = "failure domain"

    name: str
    count: int = field(validator=positive)
    mtbf_h: float = field(validator=positive)
    mttr_s: float = field(validator=not_negative)
    attainment: float = field(default=0.0, validator=not_negative)
    stalled: float = field(default=0.0, validator=not_negative)
    stall_s: float = field(default=0.0, validator=not_negative)
    missed: float = field(default=0.0, validator=not_negative)
    unknown_s: float = field(default=0.0, validator=not_negative)

    @property
    def failures_per_s(self) -> float:
        """How often any of them fails."""
        return self.count / (self.mtbf_h * HOUR_S)

    @property
    def down_share(self) -> float:
        """The share of time in which one is down (rate x MTTR)."""
        return self.failures_per_s * self.mttr_s

    @property
    def degraded_share(self) -> float:
        """The share of time in which others serve for one that is known to be down."""
        return self.failures_per_s * max(0.0, self.mttr_s - self.unknown_s)

    @property
    def availability(self) -> float:
        """The share of time in which one certain of them is up: MTBF / (MTBF + MTTR)."""
        mtbf_s = self.mtbf_h * HOUR_S
        return mtbf_s / (mtbf_s + self.mttr_s)

    @property
    def stalled_share(self) -> float:
        """Request-seconds of stall a second."""
        return self.failures_per_s * self.stalled * self.stall_s


@frozen
class Goodput:
    """What is left of the offered load.

    requests_per_s: within their objectives. lost_share: of the goodput without failures.
    all_up_share: of the time. two_down_share: of the time, at most, what is neglected here.
    stall_s_per_h: request-seconds of stall an hour.
    """

    requests_per_s: float
    lost_share: float
    all_up_share: float
    two_down_share: float
    stall_s_per_h: float


def goodput(offered_per_s: float, attainment: float, domains: Sequence[Domain]) -> Goodput:
    """G = lambda [(1 - sum p_j) s_0 + sum p_j s_j], p_j the share of time that j is known down.

    Less those that were on what failed, or sent there, and missed their objectives.
    ``ModelError`` where failures come faster than they are repaired.
    """
    down = sum(domain.down_share for domain in domains)
    if down >= 1:
        raise ModelError(
            f"parts fail faster than they are repaired: {down:.3g} of them are down at any time"
        )
    kept = attainment + sum(d.degraded_share * (d.attainment - attainment) for d in domains)
    kept_per_s = offered_per_s * kept - sum(d.failures_per_s * d.missed for d in domains)
    stall = sum(domain.stalled_share for domain in domains) * HOUR_S
    without = offered_per_s * attainment
    lost = 1 - kept_per_s / without if without else 0.0
    return Goodput(max(0.0, kept_per_s), lost, 1 - down, down**2 / 2, stall)


def any_of(domains: Iterable[Domain]) -> float:
    """Mean hours between failures of any of them; infinite where nothing fails."""
    rate = sum(domain.failures_per_s for domain in domains)
    return 1 / (rate * HOUR_S) if rate else math.inf


def affected_share(stalled: float, offered_per_s: float, mtbf_h: float) -> float:
    """Of all requests, the share that a failure hits: N / (lambda MTBF)."""
    return stalled / (offered_per_s * mtbf_h * HOUR_S)
