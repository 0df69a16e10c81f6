"""The price of being ready: figures of the study, Young and Daly, limits of the interval."""

import math
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.failures.checkpoints import (
    Duty,
    Readiness,
    Saving,
    cheapest,
    crossover_h,
    daly_s,
    priced,
    young_s,
)
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import Link, gpu
from rackproof.model.performance.roofline import Engine

ENGINE = Engine(gpu("gb200"), 4, architecture("llama-3-70b"), kv_format("bf16"))
DUTY = Duty(ENGINE, 140, 3000, 600, 0.0155)
NVLINK = Link("4x-nvlink5", 3600, 5, 5)
YEAR_S = 365 * 86_400.0


def ready(**given: object) -> Readiness:
    return Readiness(DUTY, NVLINK, 12, **given)  # type: ignore[arg-type]


def test_what_a_rack_writes_for_replicas() -> None:
    rack = Duty(ENGINE, 1, 1, 1, 1 / 52_824.31)
    assert rack.bytes_per_s / 1e9 == pytest.approx(17.3, abs=0.05)
    assert rack.bytes_per_s / 6e9 == pytest.approx(2.9, abs=0.05)
    prompts = 268_707.6 * ENGINE.kv_bytes_per_token
    assert prompts / 1e9 == pytest.approx(88.0, abs=0.1)


def test_an_instance_in_steady_state_writes_its_share() -> None:
    replica = ready().replica()
    decoded, prompts = 140 / 0.0155, 140 / (600 * 0.0155) * 3000
    assert replica.moved_bytes_per_s == pytest.approx((decoded + prompts) * 327_680)
    assert (replica.failure_tokens, replica.pause_share) == (0, 0)


def optimum(checkpoint_s: float, mtbf_s: float) -> float:
    """The interval that minimises Daly's whole cost, by bisection of (1 - x) e^x = e^(-C/M)."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        above = math.log1p(-middle) + middle > -checkpoint_s / mtbf_s
        low, high = (middle, high) if above else (low, middle)
    return low * mtbf_s


@settings(deadline=None)
@given(st.floats(1e-3, 0.2))
def test_young_and_daly_near_the_optimum(ratio: float) -> None:
    exact = optimum(ratio, 1.0)
    assert daly_s(ratio, 1.0) == pytest.approx(exact, rel=0.02)
    assert abs(daly_s(ratio, 1.0) - exact) < abs(young_s(ratio, 1.0) - exact)


def test_young_where_checkpoints_cost_little() -> None:
    assert young_s(0.336, 12_670 * 3600) == pytest.approx(5536, rel=1e-3)
    assert daly_s(1e-6, 1e6) == pytest.approx(young_s(1e-6, 1e6), rel=1e-5)
    assert daly_s(5, 2) == 2


@pytest.mark.parametrize("interval", [0.5, 2.0, 9.3, 50.0, 1e4])
def test_what_is_lost_is_what_is_drawn(interval: float) -> None:
    random = Random(1)

    def drawn() -> float:
        age, since = random.uniform(0, DUTY.life_s), random.uniform(0, interval)
        return since / DUTY.itl_s if since < age else DUTY.prompt + age / DUTY.itl_s

    assert DUTY.lost(interval) == pytest.approx(fmean(drawn() for _ in range(20_000)), rel=0.03)


def test_a_short_interval_loses_half_of_it() -> None:
    short = 1e-4
    expected = short / 2 / DUTY.itl_s + short / (2 * DUTY.life_s) * DUTY.prompt
    assert DUTY.lost(short) == pytest.approx(expected, rel=1e-4)
    assert DUTY.lost(0) == 0


def test_checkpoints_that_never_come_are_none() -> None:
    never, nothing = ready().checkpoints(1e12), ready().nothing()
    assert never.failure_tokens == pytest.approx(nothing.failure_tokens)
    assert never.failure_J == pytest.approx(nothing.failure_J, rel=1e-6)
    assert never.pause_share == pytest.approx(0, abs=1e-12)


def test_checkpoints_all_the_time_are_a_replica() -> None:
    always, replica = ready(pause_s=0).checkpoints(1e-6), ready().replica()
    assert always.moved_bytes_per_s == pytest.approx(replica.moved_bytes_per_s)
    assert always.failure_bytes == pytest.approx(replica.failure_bytes, rel=1e-3)


@settings(deadline=None)
@given(st.floats(1e-3, 1e5), st.floats(1.01, 10))
def test_a_longer_interval_loses_more(interval: float, longer: float) -> None:
    assert DUTY.lost(interval) <= DUTY.lost(interval * longer) <= DUTY.context * (1 + 1e-9)


def test_a_checkpoint_that_halts_takes_as_long_as_its_bytes() -> None:
    halting = ready(hidden=False)
    whole = DUTY.tokens * 327_680
    assert halting.checkpoint_s(math.inf) == pytest.approx(0.001 + NVLINK.seconds(whole))
    assert ready().checkpoint_s(math.inf) == 0.001


def test_crossover_is_where_both_cost_the_same() -> None:
    nothing, replica = ready().nothing(), ready().replica()
    hours = crossover_h(nothing, replica)
    assert hours is not None
    assert nothing.joules_per_h(hours) == pytest.approx(replica.joules_per_h(hours))
    assert cheapest([nothing, replica], hours * 1.1) is nothing
    assert cheapest([nothing, replica], hours / 1.1) is replica
    assert crossover_h(nothing, nothing) is None


def test_requests_are_too_short_for_youngs_interval() -> None:
    """At real rates it is far longer than a request lives, and no checkpoint is best."""
    readiness = ready()
    young = readiness.young(12_670 * 3600.0)
    assert young.interval_s is not None
    assert young.interval_s > 10 * DUTY.life_s
    assert young.failure_tokens > 0.9 * readiness.nothing().failure_tokens
    assert readiness.best(12_670 * 3600.0).strategy == "recompute"


def test_checkpoints_pay_where_failures_are_constant() -> None:
    best = ready(pause_s=1e-5).best(20.0)
    assert best.strategy == "checkpoints"
    assert best.interval_s is not None
    assert best.interval_s < DUTY.life_s


def test_every_strategy_is_priced() -> None:
    names = [price.strategy for price in priced(ready(), YEAR_S, [1.0, 10.0])]
    assert names == ["recompute", "replica", "checkpoints", "checkpoints", "checkpoints"]


@pytest.mark.parametrize("interval", [0, -1, math.nan, math.inf])
def test_bad_intervals(interval: float) -> None:
    with pytest.raises(ModelError, match="an interval between checkpoints is positive"):
        ready().checkpoints(interval)


def test_nobody_halts_all_the_time() -> None:
    with pytest.raises(ModelError, match="halts its instance for 1 s; there cannot be one each"):
        ready(pause_s=1.0).checkpoints(0.5)
    with pytest.raises(ModelError, match="there cannot be one each"):
        Readiness(DUTY, Link("slow", 0.1, 5), 12, hidden=False).checkpoints(1.0)
    with pytest.raises(ModelError, match="there cannot be one each"):
        ready(pause_s=10.0).young(2.0)
    assert ready(pause_s=1e12).best(20.0).strategy == "recompute"
    assert ready(pause_s=1.0).checkpoints(2.0).pause_share == 0.5


def test_bad_savings() -> None:
    with pytest.raises(ModelError, match=r"longer than the pause \(1 s\) .*; it is 0.5 s"):
        Saving(NVLINK, 1.0, intervals_s=(2.0, 0.5))
    with pytest.raises(ModelError, match="has a pause; without, it costs nothing"):
        Saving(NVLINK, 0.0)
    with pytest.raises(ModelError, match="pause_s is a number, not nan"):
        Saving(NVLINK, math.nan)
    assert Saving(NVLINK, 0.0, hidden=False).intervals_s == (0.1, 1.0, 10.0)
    assert Saving(NVLINK, 0.5).intervals_s == (1.0, 10.0)


def test_bad_values() -> None:
    with pytest.raises(ModelError, match="requests is positive"):
        Duty(ENGINE, 0, 3000, 600, 0.01)
    with pytest.raises(ModelError, match="prefills is positive"):
        Readiness(DUTY, NVLINK, 0)
