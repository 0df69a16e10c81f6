"""How long a failure goes unnoticed: bounds, means, what sees what."""

import math
from random import Random
from statistics import fmean

import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.detection import (
    MECHANISMS,
    Canary,
    Delay,
    Detection,
    Detector,
    Heartbeat,
    Lease,
    StreamBreak,
    Symptom,
    Told,
    Traffic,
    Watchdog,
    detector,
    mean_of_first,
)

BUSY, IDLE = Traffic(True, 0.0168), Traffic(False)


def alone(mechanism: str) -> Detection:
    return Detection((detector(mechanism),))


@pytest.mark.parametrize(
    ("mechanism", "traffic", "low", "high"),
    [
        ("lease", BUSY, 5, 10),
        ("lease", IDLE, 5, 10),
        ("heartbeat", BUSY, 5, 10),
        ("canary", BUSY, 13, 13),
        ("canary", IDLE, 3, 13),
        ("watchdog", BUSY, 9 * 0.0168, 10 * 0.0168),
        ("transport", BUSY, 8, 8),
    ],
)
def test_bounds_of_a_silent_loss(mechanism: str, traffic: Traffic, low: float, high: float) -> None:
    delay = alone(mechanism).bounds(Symptom.SILENCE, traffic)
    assert (delay.low, delay.high) == pytest.approx((low, high))
    assert alone(mechanism).mean(Symptom.SILENCE, traffic) == pytest.approx((low + high) / 2)


def test_a_lease_lasts_three_quarters_of_its_time_on_average() -> None:
    assert alone("lease").mean(Symptom.CRASH, BUSY) == pytest.approx(7.5)


SEEN = {
    Symptom.CRASH: {"stream-break", "lease", "heartbeat", "watchdog", "canary"},
    Symptom.SILENCE: {"lease", "heartbeat", "watchdog", "canary", "transport"},
    Symptom.HANG: {"watchdog", "canary"},
    Symptom.LINK: {"transport"},
}


@pytest.mark.parametrize("symptom", Symptom)
def test_what_sees_what(symptom: Symptom) -> None:
    assert {name for name in MECHANISMS if alone(name).delays(symptom, BUSY)} == SEEN[symptom]


def test_a_silent_loss_breaks_no_stream() -> None:
    found = alone("stream-break")
    assert found.bounds(Symptom.CRASH, BUSY).high < 0.002
    assert found.mean(Symptom.SILENCE, BUSY) == math.inf
    assert found.sample(Symptom.SILENCE, BUSY, Random(1)) == math.inf
    assert not found.bounds(Symptom.SILENCE, BUSY).is_known


@pytest.mark.parametrize("mechanism", ["stream-break", "watchdog", "transport"])
def test_an_idle_instance_has_no_stream_to_watch(mechanism: str) -> None:
    assert alone(mechanism).delays(Symptom.CRASH, IDLE) == ()


def test_the_first_of_two_equal_ones_takes_a_third_of_the_way() -> None:
    both = (Delay(0, 3), Delay(0, 3))
    assert mean_of_first(both) == pytest.approx(1.0)
    assert mean_of_first((Delay(0, 1),) * 9) == pytest.approx(0.1)
    assert mean_of_first((Delay(2, 2), Delay(1, 3))) == pytest.approx(1.75)


@pytest.mark.parametrize("symptom", [Symptom.CRASH, Symptom.SILENCE, Symptom.HANG])
@pytest.mark.parametrize("traffic", [BUSY, IDLE])
def test_the_mean_of_many_samples_is_the_mean(symptom: Symptom, traffic: Traffic) -> None:
    mixed: tuple[Detector, ...] = (
        Lease("", 10, 0.5),
        Heartbeat("", 4, 2, 1),
        Canary("", 5, 2),
        Watchdog("", 400),
    )
    found = Detection(mixed)
    random = Random(7)
    samples = [found.sample(symptom, traffic, random) for _ in range(4000)]
    bounds = found.bounds(symptom, traffic)
    assert bounds.low <= min(samples) <= max(samples) <= bounds.high
    assert fmean(samples) == pytest.approx(found.mean(symptom, traffic), rel=0.02)


def test_another_detector_never_makes_it_later() -> None:
    lease = alone("lease")
    more = Detection((*lease.detectors, detector("heartbeat")))
    assert more.mean(Symptom.CRASH, BUSY) < lease.mean(Symptom.CRASH, BUSY)


def test_the_same_seed_gives_the_same_delay() -> None:
    first, again = (alone("lease").sample(Symptom.CRASH, BUSY, Random(3)) for _ in range(2))
    assert first == again


def test_every_preset_is_one_of_its_mechanism() -> None:
    for name in ("lease", "lease-60", "heartbeat", "heartbeat-mooncake", "heartbeat-kubernetes"):
        assert detector(name).source


def test_bad_values() -> None:
    with pytest.raises(ModelError, match="lease mine: ttl_s is positive, not 0"):
        Lease("mine", 0)
    with pytest.raises(ModelError, match="ttl_s is a number, not nan"):
        Lease("mine", math.nan)
    with pytest.raises(ModelError, match=r"misses is a whole number, not 1\.5"):
        Heartbeat("mine", 1, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="renewed_at is a share"):
        evolve(Lease("mine", 10), renewed_at=1.5)
    with pytest.raises(ModelError, match="seconds is not negative"):
        Told("given", -1)
    with pytest.raises(ModelError, match="round_trip_ms is a number, not inf"):
        StreamBreak("mine", math.inf)
    with pytest.raises(ModelError, match="no way to detect a failure called 'leese'"):
        detector("leese")
    with pytest.raises(ModelError, match="there is no lease 'lease-6'; did you mean lease-60"):
        detector("lease-6")
