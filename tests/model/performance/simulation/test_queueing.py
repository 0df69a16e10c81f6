"""What queueing theory knows of any such system."""

import random
from collections.abc import Iterator

import pytest
from serving import GB200, LINKS, study, workload

from rackproof.model.performance.simulation import (
    Aggregated,
    Disaggregated,
    FixedEngine,
    HandOff,
    Pool,
    Request,
    simulate,
)


@pytest.mark.parametrize(
    "deployment",
    [study(6, 12), study(12, 6, back_pressure=True), Aggregated(pool=Pool(GB200, 18))],
    ids=["disaggregated", "back-pressure", "aggregated"],
)
def test_little(deployment: Disaggregated | Aggregated) -> None:
    """L = lambda W: the integral of requests inside is the sum of their stays, told apart."""
    run = simulate(deployment, list(workload(800)))
    stays = sum(record.finished_s - record.arrival_s for record in run.records)
    assert run.in_system * run.horizon_s == pytest.approx(stays, rel=1e-12)
    assert run.mean_stay_s == pytest.approx(stays / 800, rel=1e-12)


def arrivals(count: int, rate: float) -> Iterator[Request]:
    chance, time = random.Random(7), 0.0
    for _ in range(count):
        time += chance.expovariate(rate)
        yield Request(time, 1000, 1)


def test_one_server_with_a_deterministic_service() -> None:
    """M/D/1: each wait is Lindley's, and their mean Pollaczek and Khinchine's."""
    service_s, rate, count = 0.1, 5.0, 40_000
    engine = FixedEngine(1e3 * service_s, 1.0)
    one = Disaggregated(
        prefill=Pool(engine, 1),
        decode=Pool(engine, 1),
        hand_off=HandOff(LINKS["nvlink"]),
        prefill_tokens=1,
    )
    run = simulate(one, list(arrivals(count, rate)), warm_up=0, keep=count)
    wait, last = 0.0, 0.0
    for record in run.records:
        wait = max(0.0, wait + service_s - (record.arrival_s - last)) if record.index else 0.0
        last = record.arrival_s
        assert abs(record.started_s - record.arrival_s - wait) < 1e-7
    load = rate * service_s
    assert run.prefill_wait.mean == pytest.approx(load * service_s / 2 / (1 - load), rel=0.03)
    assert run.pool("prefill").utilisation == pytest.approx(load, rel=0.01)


def test_the_batch_that_steps_have_and_the_tokens_that_come() -> None:
    run = simulate(study(12, 6), list(workload(300)))
    decode = run.pool("decode")
    assert decode.tokens == run.output_tokens - run.offered
    assert decode.batch * decode.steps == pytest.approx(decode.tokens)
    assert run.itl.count == decode.tokens
    assert run.pool("prefill").tokens == run.prompt_tokens
