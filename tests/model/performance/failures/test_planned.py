"""Failures as told: parts of the rack, delays of mechanisms, ways that are lost."""

import math

import pytest
from attrs import evolve
from serving import GB200, LINKS, study, workload

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.aftermath import aftermath, keeps
from rackproof.model.performance.failures.degraded import (
    Expected,
    Workload,
    domains,
    without_one,
)
from rackproof.model.performance.failures.detection import (
    Detection,
    Symptom,
    Told,
    Traffic,
    detector,
)
from rackproof.model.performance.failures.outage import Failure
from rackproof.model.performance.failures.planned import (
    FailurePlan,
    Moment,
    Planned,
    instances,
    placed,
)
from rackproof.model.performance.failures.rates import goodput
from rackproof.model.performance.failures.recovery import Policy, Recovery
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    HandOff,
    Pool,
    Slo,
    simulate,
)
from rackproof.model.rack import Rack, preset

STUDY = study(12, 6)
SCALE_OUT = study(12, 6, hand_off=HandOff(LINKS["4x400G"]))
AT_ONCE = Detection((Told("given", 0.0),))
TRAFFIC = Traffic(True, 0.0168)
DENSE = preset("nvl72", {"trays": 9, "gpus": 8})


def resolved(
    fails: str, deployment: Deployment = STUDY, rack: Rack | None = None, **given: object
) -> Failure:
    planned = evolve(Planned(fails, 8.0, AT_ONCE), **given)
    plan = FailurePlan((planned,), rack or preset("nvl72"))
    return plan.resolved(deployment, TRAFFIC)[0]


def test_an_instance_a_tray_and_a_domain() -> None:
    assert resolved("decode-0").stopped == ("decode-0",)
    assert resolved("tray-13").stopped == ("decode-1",)
    assert resolved("tray-3", rack=DENSE).stopped == ("prefill-3", "decode-0")
    assert resolved("nvlink-0").stopped == instances(STUDY)
    assert resolved("rack-0").stopped == instances(STUDY)


def test_a_domain_that_falls_back_takes_the_scale_out_network() -> None:
    failure = resolved("nvlink-0", falls_back=True)
    assert (failure.stopped, failure.detoured) == ((), instances(STUDY))
    assert failure.detour is not None
    assert (failure.detour.bandwidth_GB_s, failure.detour.latency_us) == (200, 10)


def test_a_nic_of_four_leaves_its_gpu_to_a_neighbours() -> None:
    """Over NVLink nobody notices; over the network two GPUs then share a NIC."""
    failure = resolved("nic-50", SCALE_OUT)
    assert failure.detoured == ("decode-0",)
    assert failure.detour is not None
    assert failure.detour.bandwidth_GB_s == 100
    with pytest.raises(ModelError, match="KV of decode-0 does not go over nic-50"):
        resolved("nic-50")
    with pytest.raises(ModelError, match="say over which link KV goes"):
        resolved("nic-50", study(12, 6, hand_off=HandOff(LINKS["100GbE"])))
    told = resolved("nic-50", detour=Link("spare", 25, 10))
    assert (told.detour, told.detoured) == (Link("spare", 25, 10), ("decode-0",))


@pytest.mark.parametrize(
    ("moment", "seconds"), [(Moment.LEAST, 5), (Moment.MEAN, 7.5), (Moment.MOST, 10)]
)
def test_a_moment_of_a_lease(moment: Moment, seconds: float) -> None:
    lease = Detection((detector("lease"),))
    assert resolved("tray-0", detection=lease, moment=moment).detection_s == pytest.approx(seconds)


def test_delays_that_are_drawn_come_from_the_seed() -> None:
    lease = Detection((detector("lease"),))
    planned = (Planned("decode-0", 1.0, lease, moment=Moment.DRAWN),) * 3
    one, same, other = (
        [f.detection_s for f in FailurePlan(planned, DENSE, seed).resolved(STUDY, TRAFFIC)]
        for seed in (1, 1, 2)
    )
    assert one == same != other
    assert len(set(one)) == 3
    assert all(5 <= delay <= 10 for delay in one)


def test_what_it_looks_like_decides_who_sees_it() -> None:
    broken = Detection((detector("stream-break"),))
    assert resolved("decode-0", detection=broken).detection_s < 0.001
    assert resolved("tray-12", detection=broken).detection_s == math.inf
    silent = resolved("decode-0", detection=broken, looks=Symptom.SILENCE)
    assert silent.detection_s == math.inf


def test_aggregated_instances_are_workers_on_a_rack_too() -> None:
    deployment = Aggregated(pool=Pool(GB200, 3))
    assert resolved("tray-2", deployment).stopped == ("worker-2",)
    few = list(workload(30, 20.0))
    found = aftermath(deployment, few, [evolve(resolved("tray-2", deployment), at_s=0.5)])
    assert found.hit > 0
    assert found.run.completed == 30
    with pytest.raises(ModelError, match="nothing is handed over"):
        resolved("nvlink-0", deployment, falls_back=True)


def test_what_does_not_fit_on_the_rack() -> None:
    with pytest.raises(ModelError, match="no room left"):
        placed(STUDY, preset("nvl72", {"trays": 4}))
    wide = evolve(study(1, 1), prefill=Pool(evolve(GB200, gpus=8), 1))
    with pytest.raises(ModelError, match="prefill-0 has 8 GPUs; on nvl72 it has 4"):
        placed(wide, preset("nvl72"))
    assert resolved("prefill-0", wide).stopped == ("prefill-0",)


# Less of a pool, and what that is worth.


def test_without_one_instance() -> None:
    for name, counts in (("prefill", (11, 6)), ("decode", (12, 5))):
        rest = without_one(STUDY, name)
        assert rest is not None
        assert tuple(pool.count for pool in rest.pools) == counts
    assert without_one(study(1, 2), "prefill") is None
    assert without_one(Aggregated(pool=Pool(GB200, 1)), "worker") is None
    paths = ((LINKS["nvlink"],) * 3,) * 2
    rest = without_one(study(2, 3, paths=paths), "decode")
    assert rest is not None
    assert rest.paths == ((LINKS["nvlink"],) * 2,) * 2  # type: ignore[union-attr]


@pytest.mark.parametrize(("count", "restart_s"), [(1, 0.0), (3, 0.0), (3, 3.0)])
def test_what_a_failure_costs_is_what_a_run_with_one_loses(count: int, restart_s: float) -> None:
    """Requests within their objectives, by rates and shares, and counted one by one.

    From replicas, so that no storm of prefills makes bystanders miss theirs.
    """
    replica = (Recovery(Policy.REPLICA),)
    deployment, requests, slo = study(4, count), list(workload(300, 20.0)), Slo(0.5, 0.03)
    before = simulate(deployment, requests, slo, warm_up=0)
    expected = Expected(
        detection=Detection((Told("given", 4.0),)), restart_s=restart_s, recovery=replica
    )
    decode = domains(Workload(deployment, requests, slo, 0, before), expected)[1]
    rate = len(requests) / before.last_arrival_s
    left = goodput(rate, before.slo_attainment, [decode])
    lost = (rate * before.slo_attainment - left.requests_per_s) / decode.failures_per_s
    failure = Failure(
        before.last_arrival_s / 2, ("decode-0",), replica, detection_s=4.0, restart_s=restart_s
    )
    run = aftermath(deployment, requests, [failure], slo, 0, before).run
    counted = sum(keeps(r, slo) for r in before.records) - sum(keeps(r, slo) for r in run.records)
    assert lost == pytest.approx(counted, rel=0.15)


def test_domains_of_a_small_rack() -> None:
    deployment, requests = study(2, 1), list(workload(60, 20.0))
    before = simulate(deployment, requests)
    expected = Expected(detection=AT_ONCE, restart_s=0.5, domain_mtbf_h=1000.0)
    prefill, decode, whole = domains(Workload(deployment, requests, Slo(), 0.1, before), expected)
    assert (prefill.count, decode.count, whole.count) == (2, 1, 1)
    assert prefill.mtbf_h == decode.mtbf_h == pytest.approx(12_670, rel=1e-3)
    assert prefill.mttr_s == 0.5
    alone = simulate(study(1, 1), requests).slo_attainment
    assert (prefill.attainment, decode.attainment, whole.attainment) == (alone, 0, 0)
    assert decode.stalled > 0
    assert decode.stall_s > 0.5
    assert whole.mttr_s == 600
