"""Quantiles, steps of a batch, and quantities over time."""

import random

import numpy as np
import pytest
from serving import CONTEXT, GB200, study, workload

from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import gpu
from rackproof.model.performance.parallel import ExpertParallel
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import FixedEngine, simulate
from rackproof.model.performance.simulation.distributions import Distribution
from rackproof.model.performance.simulation.levels import Flag, Idling, Level, Sampler
from rackproof.model.performance.simulation.steps import Pace

EXPERTS = Engine(
    gpu("gb200"), 16, architecture("deepseek-v3"), kv_format("fp8"), parallel=ExpertParallel()
)


@pytest.mark.parametrize("error", [0.005, 0.05])
def test_quantiles_are_off_by_what_is_stated(error: float) -> None:
    values = np.random.default_rng(3).lognormal(-3, 2, 20_000)
    few, many = Distribution(exact=20_000), Distribution(exact=10, error=error)
    for value in values.tolist():
        few.add(value)
        many.add(value)
    exact, told = few.spread(), many.spread()
    assert [exact.p50, exact.p90, exact.p99] == np.quantile(values, [0.5, 0.9, 0.99]).tolist()
    assert (exact.relative_error, told.relative_error) == (0, error)
    for name in ("p50", "p90", "p95", "p99"):
        assert getattr(told, name) == pytest.approx(getattr(exact, name), rel=error + 1e-3)
    for name in ("count", "mean", "least", "most"):
        assert getattr(told, name) == pytest.approx(getattr(exact, name))


def test_merged_is_as_if_added_to_one() -> None:
    chance = random.Random(1)
    one, parts = Distribution(exact=100), [Distribution(exact=100) for _ in range(3)]
    for _ in range(500):
        value, count = chance.choice([0.0, chance.expovariate(3)]), chance.randint(1, 3)
        for _ in range(count):
            one.add(value)
        chance.choice(parts).ramp(value, value, 1, count)
    merged = Distribution(exact=100)
    for part in parts:
        merged.merge(part)
    one_told, merged_told = one.spread(), merged.spread()
    assert one_told.mean == pytest.approx(merged_told.mean)
    assert (one_told.count, one_told.p50, one_told.p99) == (
        merged_told.count,
        merged_told.p50,
        merged_told.p99,
    )


def test_ramps_are_values_one_by_one() -> None:
    ramp, plain = Distribution(exact=0), Distribution(exact=0)
    ramp.ramp(0.010, 0.013, 301, 7)
    for value in np.linspace(0.010, 0.013, 301).tolist():
        for _ in range(7):
            plain.add(value)
    assert ramp.spread().mean == pytest.approx(plain.spread().mean)
    assert ramp.spread().p90 == plain.spread().p90 == pytest.approx(0.0127, rel=0.006)


@pytest.mark.parametrize(
    "engine",
    [GB200, CONTEXT, EXPERTS, FixedEngine(50, 7)],
    ids=["gb200", "context", "experts", "fixed"],
)
@pytest.mark.parametrize("batch", [1, 37, 256])
def test_many_steps_are_so_many_single_ones(engine: object, batch: int) -> None:
    pace, context, steps = Pace(engine, batch), batch * 1000, 3000
    works = [engine.step((), batch, context + batch * step) for step in range(steps)]
    ends = np.cumsum([work.seconds for work in works])
    assert pace.seconds(context, steps) == pytest.approx(ends[-1], rel=1e-12)
    memory_joules = sum(work.memory_J for work in works)
    assert pace.total(pace.memory_J, context, steps) == pytest.approx(memory_joules, rel=1e-12)
    chance = random.Random(batch)
    for time in [0.0, *(chance.uniform(0, ends[-1]) for _ in range(50))]:
        assert pace.until(context, time, steps) == 1 + np.searchsorted(ends, time)
        assert pace.whole(context, time, steps) == np.searchsorted(ends, time)


def test_from_memory_to_compute_and_back() -> None:
    """Two lines that cross: each side by itself, whichever comes first."""
    pace = Pace(GB200, 64)
    for compute, memory in [((0.01, 1e-7), (0.02, 1e-8)), ((0.02, 1e-8), (0.01, 1e-7))]:
        pace.compute, pace.memory, pace.rest = compute, memory, 0.001
        for steps in (1, 2, 500, 1736, 1737, 1738, 5000):
            single = [
                max(compute[0] + compute[1] * 64 * i, memory[0] + memory[1] * 64 * i) + 0.001
                for i in range(steps)
            ]
            assert pace.seconds(0, steps) == pytest.approx(sum(single), rel=1e-12)


def test_levels() -> None:
    level, flag, idling = Level(), Flag(), Idling(3)
    level.add(1.0, 5)
    level.add(3.0, -2)
    assert (level.area(4.0), level.peak, level.value) == (13.0, 5, 3)
    flag.set(1.0, True)
    flag.set(2.0, True)
    flag.set(3.0, False)
    flag.set(7.0, True)
    assert flag.seconds(8.0) == 3.0
    idling.change(1.0, -1, 1)
    idling.change(3.0, 0, -1)
    assert idling.seconds(9.0) == 4.0


def test_samples_are_few_and_even() -> None:
    now = [0.0]
    sampler = Sampler({"time": lambda: now[0]})
    for step in range(20_000):
        now[0] = step / 100
        if now[0] >= sampler.due:
            sampler.take(now[0])
    series = sampler.series()
    assert Sampler.MOST / 2 <= len(series.time_s) <= Sampler.MOST
    assert len(set(np.diff(series.time_s).round(9))) == 1
    assert all(
        abs(a - b) <= 0.25 for a, b in zip(series.time_s, series.columns["time"], strict=True)
    )


def test_series_of_a_run() -> None:
    run = simulate(study(6, 3), list(workload(300)))
    assert set(run.series.columns) >= {"in_system", "prefill_waiting", "decode_kv"}
    assert run.series.time_s[-1] == pytest.approx(run.horizon_s, rel=0.01)
    mean = np.mean(run.series.columns["in_system"])
    assert mean == pytest.approx(run.in_system, rel=0.02)
