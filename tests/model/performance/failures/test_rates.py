"""How often parts fail, and what is left: figures of the sources, and limits."""

import math

import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.rates import (
    Domain,
    Observed,
    affected_share,
    any_of,
    goodput,
    observed,
    restart,
)


@pytest.mark.parametrize(
    ("name", "one_h", "rack_h"),
    [("gpu", 50_678, 704), ("gpu-alone", 79_232, 1_100), ("gpu-worst", 8_090, 112)],
)
def test_published_rates(name: str, one_h: float, rack_h: float) -> None:
    assert observed(name).mtbf_h == pytest.approx(one_h, rel=1e-4)
    assert round(observed(name).of(72)) == rack_h


def test_an_instance_of_four() -> None:
    assert observed("gpu").of(4) == pytest.approx(12_670, rel=1e-3)


def test_causes_are_no_more_than_all() -> None:
    causes = sum(observed(name).failures for name in ("gpu-alone", "host", "nic", "network"))
    assert causes < observed("gpu").failures


def test_the_share_of_requests_that_a_failure_hits() -> None:
    assert affected_share(140, 90, observed("gpu").of(72)) == pytest.approx(6e-7, rel=0.03)


def instances(count: int = 6, attainment: float = 0.5, mttr_s: float = 64) -> Domain:
    return Domain("decode", count, 12_670, mttr_s, attainment, 140, 0.05)


def test_availability_and_the_share_of_time_one_is_down() -> None:
    domain = instances(count=1, mttr_s=600)
    up, down = 12_670 * 3600, 600
    assert domain.availability == up / (up + down)
    assert domain.down_share == pytest.approx(1 - domain.availability, rel=2 * down / up)


def test_goodput_is_the_mean_over_states() -> None:
    left = goodput(90, 1.0, [instances(), instances(12, 0.9)])
    shares = [n * 64 / (12_670 * 3600) for n in (6, 12)]
    assert left.requests_per_s == pytest.approx(90 * (1 - 0.5 * shares[0] - 0.1 * shares[1]))
    assert left.all_up_share == pytest.approx(1 - sum(shares))
    assert left.stall_s_per_h == pytest.approx(18 / 12_670 * 140 * 0.05)
    assert 0 < left.two_down_share < left.lost_share < 1e-4


def test_until_it_is_known_only_those_hit_miss_their_objectives() -> None:
    """600 are sent to the only instance in its minute, 19 are on it: 619, and not twice the 600."""
    alone = Domain("decode", 1, 10_000, 60, missed=619, unknown_s=60)
    lost_per_s = 10 * 0.9 - goodput(10, 0.9, [alone]).requests_per_s
    assert lost_per_s / alone.failures_per_s == pytest.approx(619)
    later = evolve(alone, mttr_s=90)
    lost_per_s = 10 * 0.9 - goodput(10, 0.9, [later]).requests_per_s
    assert lost_per_s / later.failures_per_s == pytest.approx(619 + 30 * 10 * 0.9)


def test_nothing_fails() -> None:
    left = goodput(90, 0.98, [])
    assert (left.requests_per_s, left.lost_share) == (90 * 0.98, 0.0)
    assert any_of([]) == math.inf


def test_nothing_that_was_met_can_be_lost() -> None:
    assert goodput(90, 0.0, [instances(attainment=0.0)]).lost_share == 0.0


def test_parts_of_all_kinds_together() -> None:
    assert any_of([instances(6), instances(12)]) == pytest.approx(12_670 / 18)


def test_faster_than_repairs() -> None:
    with pytest.raises(ModelError, match="fail faster than they are repaired"):
        goodput(90, 1.0, [Domain("decode", 6, 0.1, 600)])


def test_bad_values() -> None:
    with pytest.raises(ModelError, match="hours is positive"):
        Observed("mine", 1, 0, 1)
    with pytest.raises(ModelError, match="failures is a number, not nan"):
        Observed("mine", 1, 1, math.nan)
    with pytest.raises(ModelError, match="mtbf_h is positive, not 0"):
        Domain("decode", 6, 0, 64)
    with pytest.raises(ModelError, match="mttr_s is not negative"):
        Domain("decode", 6, 1, -1)
    with pytest.raises(ModelError, match="one part or more"):
        observed("gpu").of(0)
    with pytest.raises(ModelError, match="did you mean replace"):
        restart("replce")
