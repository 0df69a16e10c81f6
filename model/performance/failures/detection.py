"""How long a failure goes unnoticed, by the mechanism that notices it.

A failure strikes at no particular moment of a mechanism's period, so each delay is uniform between
two bounds; of several mechanisms the first that notices counts. What a mechanism can see at all
depends on what the failure looks like from outside: a host that loses power sends no FIN, and a
lease is renewed by a thread that knows nothing of a hung GPU.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Sequence
from enum import Enum
from random import Random
from typing import ClassVar, Final

import numpy as np
from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import chosen, not_negative, positive, share


class Symptom(Enum):
    """What a failure looks like from outside."""

    CRASH = "crash"
    """The process ends; the kernel of its host closes its connections."""
    SILENCE = "silence"
    """The host is gone with all that is on it, and nothing is closed."""
    HANG = "hang"
    """The process lives, renews its lease, and takes no step any more."""
    LINK = "link"
    """Processes live, and so does the management network; what they transfer is lost."""


@frozen
class Delay:
    """Seconds from a failure until it is known, uniform from low to high (infinite: never)."""

    low: float
    high: float

    @property
    def mean(self) -> float:
        """The mean, in seconds."""
        return (self.low + self.high) / 2

    @property
    def is_known(self) -> bool:
        """Whether the failure is noticed at all."""
        return math.isfinite(self.high)

    def sample(self, random: Random) -> float:
        """One delay."""
        return random.uniform(self.low, self.high) if self.low < self.high else self.low

    def later_than(self, seconds: np.ndarray) -> np.ndarray:
        """The probability that it takes longer than each of these times."""
        if self.low == self.high:
            return np.where(seconds < self.low, 1.0, 0.0)
        return np.clip((self.high - seconds) / (self.high - self.low), 0.0, 1.0)


NEVER: Final = Delay(math.inf, math.inf)


@frozen
class Traffic:
    """What the instance that failed was doing: a watchdog or a canary sees by it.

    itl_p99_s: the 99th percentile of the seconds between two tokens of a stream.
    """

    busy: bool = True
    itl_p99_s: float = 0.0168


@frozen
class StreamBreak:
    """The broken connection of a token stream: about a round trip."""

    SEES: ClassVar = frozenset({Symptom.CRASH})
    CALLED: ClassVar[str] = "stream break"

    name: str
    round_trip_ms: float = field(validator=not_negative)
    source: str = ""

    def delay(self, traffic: Traffic) -> Delay:
        """Known at once where there is a stream to break."""
        return Delay(0.0, self.round_trip_ms * 1e-3) if traffic.busy else NEVER


@frozen
class Lease:
    """A lease that is no longer renewed: what was left of it when the holder failed.

    renewed_at: the share of the lease that has passed when it is renewed.
    """

    SEES: ClassVar = frozenset({Symptom.CRASH, Symptom.SILENCE})
    CALLED: ClassVar[str] = "lease"

    name: str
    ttl_s: float = field(validator=positive)
    renewed_at: float = field(default=0.5, validator=share)
    source: str = ""

    def delay(self, traffic: Traffic) -> Delay:  # noqa: ARG002 (a lease is held by the idle, too)
        """From the rest of a lease about to be renewed to the whole of one just renewed."""
        return Delay(self.ttl_s * (1 - self.renewed_at), self.ttl_s)


@frozen
class Heartbeat:
    """So many heartbeats in a row that were not answered in time."""

    SEES: ClassVar = frozenset({Symptom.CRASH, Symptom.SILENCE})
    CALLED: ClassVar[str] = "heartbeat"

    name: str
    period_s: float = field(validator=positive)
    misses: int = field(validator=positive)
    timeout_s: float = field(default=0.0, validator=not_negative)
    source: str = ""

    def delay(self, traffic: Traffic) -> Delay:  # noqa: ARG002
        """From (misses - 1) to misses periods, and the timeout of the last."""
        return Delay(
            (self.misses - 1) * self.period_s + self.timeout_s,
            self.misses * self.period_s + self.timeout_s,
        )


@frozen
class Watchdog:
    """A stream without a token for a multiple of the 99th percentile of the time between two."""

    SEES: ClassVar = frozenset({Symptom.CRASH, Symptom.SILENCE, Symptom.HANG})
    CALLED: ClassVar[str] = "watchdog"

    name: str
    multiple: float = field(validator=positive)
    source: str = ""

    def delay(self, traffic: Traffic) -> Delay:
        """The clock of a stream began up to one token before the failure."""
        if not traffic.busy:
            return NEVER
        itl = traffic.itl_p99_s
        return Delay(max(0.0, self.multiple - 1) * itl, self.multiple * itl)


@frozen
class Canary:
    """A request of the router's own, sent where nothing has come for a while."""

    SEES: ClassVar = frozenset({Symptom.CRASH, Symptom.SILENCE, Symptom.HANG})
    CALLED: ClassVar[str] = "canary"

    name: str
    idle_s: float = field(validator=not_negative)
    timeout_s: float = field(validator=positive)
    source: str = ""

    def delay(self, traffic: Traffic) -> Delay:
        """A busy instance was heard of just now, an idle one at any time of the wait."""
        high = self.idle_s + self.timeout_s
        return Delay(high if traffic.busy else self.timeout_s, high)


@frozen
class Transport:
    """A transfer that is tried again until its transport gives up."""

    SEES: ClassVar = frozenset({Symptom.SILENCE, Symptom.LINK})
    CALLED: ClassVar[str] = "transport"

    name: str
    timeout_s: float = field(validator=positive)
    retries: int = field(validator=not_negative)
    source: str = ""

    def delay(self, traffic: Traffic) -> Delay:
        """All the tries of the transfer under way."""
        tries = (self.retries + 1) * self.timeout_s
        return Delay(tries, tries) if traffic.busy else NEVER


@frozen
class Told:
    """A delay that is simply given."""

    SEES: ClassVar = frozenset(Symptom)
    CALLED: ClassVar[str] = "delay"

    name: str
    seconds: float = field(validator=not_negative)
    source: str = ""

    def delay(self, traffic: Traffic) -> Delay:  # noqa: ARG002
        """The same for whatever failed."""
        return Delay(self.seconds, self.seconds)


Detector = StreamBreak | Lease | Heartbeat | Watchdog | Canary | Transport | Told

MECHANISMS: Final[dict[str, type[Detector]]] = {
    "stream-break": StreamBreak,
    "lease": Lease,
    "heartbeat": Heartbeat,
    "watchdog": Watchdog,
    "canary": Canary,
    "transport": Transport,
}


def detector(name: str) -> Detector:
    """A preset: a mechanism (lease) or one of its variants (lease-60); ``ModelError`` for none."""
    mechanism = next((m for m in MECHANISMS if name == m or name.startswith(f"{m}-")), None)
    if mechanism is None:
        near = difflib.get_close_matches(name, MECHANISMS, n=1)
        told = f"did you mean {near[0]}?" if near else f"there are {', '.join(MECHANISMS)}"
        raise ModelError(f"there is no way to detect a failure called {name!r}; {told}")
    found: Detector = chosen("detectors.yaml", MECHANISMS[mechanism], name)
    return found


@frozen
class Detection:
    """Several mechanisms side by side: the first that notices counts."""

    detectors: tuple[Detector, ...]

    def delays(self, symptom: Symptom, traffic: Traffic) -> tuple[Delay, ...]:
        """The delay of every mechanism that sees such a failure."""
        seeing = (d.delay(traffic) for d in self.detectors if symptom in d.SEES)
        return tuple(delay for delay in seeing if delay.is_known)

    def bounds(self, symptom: Symptom, traffic: Traffic) -> Delay:
        """The least and the most seconds until one of them notices."""
        delays = self.delays(symptom, traffic)
        if not delays:
            return NEVER
        return Delay(min(d.low for d in delays), min(d.high for d in delays))

    def mean(self, symptom: Symptom, traffic: Traffic) -> float:
        """The mean seconds until the first notices, each at its own time."""
        return mean_of_first(self.delays(symptom, traffic))

    def sample(self, symptom: Symptom, traffic: Traffic, random: Random) -> float:
        """One delay: the first of one of each; infinite where none of them sees it."""
        delays = self.delays(symptom, traffic)
        return min((delay.sample(random) for delay in delays), default=math.inf)


def mean_of_first(delays: Sequence[Delay]) -> float:
    """E[min] of independent uniform delays: the integral of the probability that none has come.

    Between two bounds that is a polynomial, so Gauss-Legendre integrates it exactly.
    """
    if not delays:
        return math.inf
    last = min(delay.high for delay in delays)
    edges = sorted({0.0, last, *(e for d in delays for e in (d.low, d.high) if e < last)})
    nodes, weights = np.polynomial.legendre.leggauss(len(delays) // 2 + 1)
    total = 0.0
    for start, end in itertools.pairwise(edges):
        at = start + (end - start) * (nodes + 1) / 2
        none_yet = np.prod([delay.later_than(at) for delay in delays], axis=0)
        total += float(weights @ none_yet) * (end - start) / 2
    return total
