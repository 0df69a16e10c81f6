"""What it costs to be ready for a failure: replicas of the KV, checkpoints of it, or nothing.

A replica is written as the cache grows; a checkpoint each so many seconds, by Young's interval
sqrt(2 C MTBF) that balances what checkpoints cost with what a failure loses since the last one.
Requests of a few seconds make a difference that Young's formula does not know: what is younger
than the last checkpoint is lost whole, and no request can lose more than it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from attrs import Factory, field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import not_negative, positive
from rackproof.model.performance.failures.rates import HOUR_S, observed
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import Deployment, Run

_INTERVALS: Final = tuple(10 ** (step / 20) for step in range(-60, 121))
"""Seconds from a millisecond to eleven days, 12 % apart."""


def young_s(checkpoint_s: float, mtbf_s: float) -> float:
    """Young's interval between checkpoints, in seconds: sqrt(2 C MTBF) (CACM 17(9), 1974)."""
    return math.sqrt(2 * checkpoint_s * mtbf_s)


def daly_s(checkpoint_s: float, mtbf_s: float) -> float:
    """Daly's interval of higher order (FGCS 22(3), 2006, eq. 37), in seconds."""
    if checkpoint_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = math.sqrt(checkpoint_s / (2 * mtbf_s))
    return young_s(checkpoint_s, mtbf_s) * (1 + ratio / 3 + ratio**2 / 9) - checkpoint_s


@frozen
class Duty:
    """What an instance of the decode pool holds and does in steady state.

    requests: in its batch. prompt, output: tokens of one, in the mean. itl_s: seconds a token.
    """

    CALLED: ClassVar[str] = "duty"

    engine: Engine
    requests: float = field(validator=positive)
    prompt: float = field(validator=positive)
    output: float = field(validator=positive)
    itl_s: float = field(validator=positive)
    name: str = ""

    @property
    def life_s(self) -> float:
        """How long a request is decoded."""
        return self.output * self.itl_s

    @property
    def context(self) -> float:
        """Tokens that a request has in the cache, in the mean: half its output is there."""
        return self.prompt + self.output / 2

    @property
    def tokens(self) -> float:
        """Tokens in the cache."""
        return self.requests * self.context

    @property
    def tokens_per_s(self) -> float:
        """Tokens by which the cache grows as it decodes."""
        return self.requests / self.itl_s

    @property
    def prompts_per_s(self) -> float:
        """Tokens of prompts that come into the cache."""
        return self.requests / self.life_s * self.prompt

    @property
    def bytes_per_s(self) -> float:
        """Bytes by which its cache grows as it decodes."""
        return self.tokens_per_s * self.engine.kv_bytes_per_token

    def lost(self, interval_s: float) -> float:
        """Tokens of a request that are in no checkpoint at a random moment, in the mean.

        Its age is uniform up to its life, the age of the last checkpoint up to the interval; the
        lesser is what it has decoded since, and a request younger than the checkpoint has its
        prompt to lose, too.
        """
        short, long = sorted((interval_s, self.life_s))
        since = short / 2 - short**2 / (6 * long) if long else 0.0
        younger = interval_s / (2 * self.life_s)
        if interval_s > self.life_s:
            younger = 1 - self.life_s / (2 * interval_s)
        return since / self.itl_s + younger * self.prompt


@frozen
class Price:
    """A strategy on an instance: what it costs all the time, and what a failure then costs.

    *_per_s: all the time. failure_*: once a failure. interval_s: between checkpoints.
    """

    strategy: str
    moved_bytes_per_s: float
    running_W: float  # noqa: N815 (the unit)
    pause_share: float
    failure_tokens: float
    failure_bytes: float
    failure_J: float  # noqa: N815
    failure_s: float
    interval_s: float | None = None

    def joules_per_h(self, mtbf_h: float) -> float:
        """Joules an hour at a mean time between failures, in hours."""
        return self.running_W * HOUR_S + self.failure_J / mtbf_h

    def lost_s_per_h(self, mtbf_h: float) -> float:
        """Seconds an hour in which the instance's requests wait for it."""
        return self.pause_share * HOUR_S + self.failure_s / mtbf_h


@frozen
class Readiness:
    """How an instance can be ready: what it holds, over which link it is saved and fetched.

    prefills: instances that recompute. pause_s: what a checkpoint halts the instance for, beside
    the time its bytes take. hidden: whether those bytes are written while it goes on.
    """

    CALLED: ClassVar[str] = "readiness"

    duty: Duty
    link: Link
    prefills: int = field(validator=positive)
    pause_s: float = field(default=0.001, validator=not_negative)
    hidden: bool = True
    name: str = ""

    def nothing(self) -> Price:
        """Recompute all of it once it is lost."""
        return Price("recompute", 0.0, 0.0, 0.0, *self._failure(self.duty.context, 0.0))

    def replica(self) -> Price:
        """Every token is written to a second place as it comes, prompts included."""
        tokens_per_s = self.duty.tokens_per_s + self.duty.prompts_per_s
        moved = tokens_per_s * self._kv
        return Price("replica", moved, self._written_J(moved), 0.0, *self._failure(0.0, 1.0))

    def checkpoints(self, interval_s: float) -> Price:
        """What came since the last checkpoint is written each interval."""
        if not interval_s > 0 or not math.isfinite(interval_s):
            raise ModelError(f"an interval between checkpoints is positive, not {interval_s!r}")
        lost = min(self.duty.lost(interval_s), self.duty.context)
        tokens = self._saved_tokens(interval_s)
        moved = tokens * self._kv / interval_s
        kept = 1 - lost / self.duty.context
        pause = self.checkpoint_s(interval_s) / interval_s
        if pause >= 1:
            raise ModelError(
                f"a checkpoint halts its instance for {pause * interval_s:.3g} s; "
                f"there cannot be one each {interval_s:.3g} s"
            )
        failure = self._failure(lost, kept)
        return Price("checkpoints", moved, self._written_J(moved), pause, *failure, interval_s)

    def checkpoint_s(self, interval_s: float) -> float:
        """How long a checkpoint halts the instance."""
        size = self._saved_tokens(interval_s) * self._kv
        return self.pause_s + (0.0 if self.hidden else self.link.seconds(size))

    def _saved_tokens(self, interval_s: float) -> float:
        """Tokens that a checkpoint writes: what came, and is still there."""
        came = (self.duty.tokens_per_s + self.duty.prompts_per_s) * interval_s
        return min(came, self.duty.tokens)

    def young(self, mtbf_s: float) -> Price:
        """Checkpoints at Young's interval, C being what one of the whole cache costs.

        ``ModelError`` where that has no sense: C is 0, or longer than the interval.
        """
        return self.checkpoints(young_s(self.checkpoint_s(math.inf), mtbf_s))

    def best(self, mtbf_s: float) -> Price:
        """Whatever makes requests wait least: checkpoints at an interval of _INTERVALS, or none."""
        mtbf_h = mtbf_s / HOUR_S
        able = (each for each in _INTERVALS if self.checkpoint_s(each) < each)
        prices = (self.nothing(), *(self.checkpoints(each) for each in able))
        return min(prices, key=lambda price: price.lost_s_per_h(mtbf_h))

    def _failure(self, lost: float, kept: float) -> tuple[float, float, float, float]:
        """Tokens recomputed, bytes fetched, joules, seconds until all is there again."""
        duty = self.duty
        again = duty.requests * lost
        work = duty.engine.step([_span(lost, duty.context)], 0, 0) if lost else None
        fetched = duty.tokens * self._kv * kept
        joules = self.link.joules(fetched) + (duty.requests * work.joules if work else 0.0)
        seconds = fetched / self.link.bytes_per_s + duty.requests * self.link.latency_s * (kept > 0)
        recompute = duty.requests * work.seconds / self.prefills if work else 0.0
        return again, fetched, joules, seconds + recompute

    @property
    def _kv(self) -> float:
        return self.duty.engine.kv_bytes_per_token

    def _written_J(self, bytes_per_s: float) -> float:  # noqa: N802 (the unit)
        """Watts of reading, moving and writing so many bytes a second."""
        memory = 2 * bytes_per_s * self.duty.engine.gpu.pJ_per_byte * 1e-12
        return memory + self.link.joules(bytes_per_s)


def _span(lost: float, context: float) -> tuple[int, int]:
    """Tokens to recompute, one at least, and those before them that are there."""
    new = max(1, round(lost))
    return new, max(0, round(context) - new)


@frozen
class Saving:
    """How KV is to be saved, and what is compared: see ``Readiness``.

    intervals_s: of checkpoints, beside Young's; those longer than the pause, unless told.
    gpu_mtbf_h: of one GPU, in hours.
    """

    CALLED: ClassVar[str] = "checkpoints"

    link: Link
    pause_s: float = field(default=0.001, validator=not_negative)
    hidden: bool = True
    intervals_s: tuple[float, ...] = field(
        default=Factory(
            lambda self: tuple(s for s in (0.1, 1.0, 10.0) if s > self.pause_s), takes_self=True
        )
    )
    gpu_mtbf_h: tuple[float, ...] = field(
        factory=lambda: tuple(observed(name).mtbf_h for name in ("gpu", "gpu-alone", "gpu-worst"))
    )

    def __attrs_post_init__(self) -> None:
        """Refuse checkpoints that cost nothing (one would be always due), or all the time."""
        if self.hidden and not self.pause_s:
            raise ModelError("a checkpoint that is hidden has a pause; without, it costs nothing")
        for interval_s in self.intervals_s:
            if not self.pause_s < interval_s < math.inf:
                raise ModelError(
                    "an interval between checkpoints is longer than the pause "
                    f"({self.pause_s:g} s) and has an end; it is {interval_s:g} s"
                )

    def readiness(self, duty: Duty, prefills: int) -> Readiness:
        """Of an instance, with so many that would recompute for it."""
        return Readiness(duty, self.link, prefills, self.pause_s, self.hidden)


def steady(deployment: Deployment, run: Run) -> Duty:
    """What a decode instance does in steady state, at the rate and lengths of a run.

    Its requests are by Little's law N = lambda E[O] ITL / n: a short run never has as many.
    ``ModelError`` where the run has no rate.
    """
    if not run.last_arrival_s:
        raise ModelError("a steady state needs a rate; these requests come all at once")
    if not run.tpot.count:
        raise ModelError("a steady state of decode needs answers of more than one token")
    pool = deployment.pools[-1]
    if not isinstance(pool.engine, Engine):
        raise ModelError("what writing KV costs is known of instances with a GPU and a model only")
    output = run.output_tokens / run.offered
    rate = run.offered / run.last_arrival_s
    itl_s = run.tpot.mean
    requests = rate * output * itl_s / pool.count
    return Duty(pool.engine, requests, run.prompt_tokens / run.offered, output, itl_s)


def cheapest(prices: Sequence[Price], mtbf_h: float) -> Price:
    """The strategy with the fewest joules an hour."""
    return min(prices, key=lambda price: price.joules_per_h(mtbf_h))


def crossover_h(one: Price, other: Price) -> float | None:
    """The mean hours between failures at which two strategies take the same joules, or None."""
    running = (other.running_W - one.running_W) * HOUR_S
    failure = one.failure_J - other.failure_J
    if not running or failure / running <= 0:
        return None
    return failure / running


def priced(readiness: Readiness, mtbf_s: float, intervals: Iterable[float]) -> tuple[Price, ...]:
    """Every strategy: nothing, replica, checkpoints at Young's interval and at others."""
    return (
        readiness.nothing(),
        readiness.replica(),
        readiness.young(mtbf_s),
        *(readiness.checkpoints(interval) for interval in intervals),
    )
