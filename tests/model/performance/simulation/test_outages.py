"""Instances that go down, and what becomes of the requests that were on them."""

import math
import random
from collections.abc import Callable

import pytest
from attrs import evolve
from serving import GB200, LINKS, study, workload

from rackproof.model.kernel import ModelError
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    HandOff,
    Pool,
    Run,
    Simulation,
    simulate,
)
from rackproof.model.performance.simulation.channels import Channels
from rackproof.model.performance.simulation.jobs import Job

Recovery = Callable[[Simulation, Job], None]


def outage(
    pool: str, recovery: Recovery, detected_s: float = 0.0, back_s: float | None = None
) -> Callable[[Simulation], None]:
    """The first instance of a pool goes down, is found down, and comes back."""

    def down(simulation: Simulation) -> None:
        server = simulation.pools[pool][0]
        jobs = server.stop()

        def found(simulation: Simulation) -> None:
            simulation.believe(server, False)
            for job in jobs + server.take():
                recovery(simulation, job)

        def back(simulation: Simulation) -> None:
            server.start()
            simulation.believe(server, True)

        simulation.at(simulation.now + detected_s, found)
        if back_s is not None:
            simulation.at(simulation.now + back_s, back)

    return down


def recompute(simulation: Simulation, job: Job) -> None:
    simulation.prefill_again(job)


def run(deployment: Deployment, action: Callable[[Simulation], None], count: int = 1500) -> Run:
    return simulate(deployment, list(workload(count)), script=[(8.0, action)])


@pytest.mark.parametrize(
    ("link", "mean_s", "longest_s"),
    [("nvlink", "0.047", "0.067"), ("4x400G", "0.281", "0.520"), ("100GbE", "3.994", "7.757")],
)
def test_a_storm_over_one_link(link: str, mean_s: str, longest_s: str) -> None:
    """Figures of an earlier prototype: all requests of a decode instance move over one link."""
    channel, lost = Channels(1), []

    def transfer(simulation: Simulation, job: Job) -> None:
        lost.append(job.known)
        size = job.known * GB200.kv_bytes_per_token
        end = channel.send(simulation.now, size, LINKS[link])
        simulation.decode_again(job, end - simulation.now)

    done = run(study(12, 6), outage("decode", transfer))
    stalls = [record.stall_s for record in done.records if record.interruptions]
    assert (len(lost), sum(lost)) == (96, 294_490)
    assert (f"{sum(stalls) / 96:.3f}", f"{max(stalls):.3f}") == (mean_s, longest_s)
    assert f"{done.ttft_prefill.p99:.3f}" == "0.420"


def test_a_storm_of_prefills_is_felt_by_bystanders() -> None:
    done = run(study(12, 6), outage("decode", recompute))
    assert f"{done.ttft_prefill.p99:.3f}" == "0.997"
    assert done.completed == 1500


def test_routers_feed_what_they_think_is_alive() -> None:
    done = run(study(12, 6), outage("decode", recompute, detected_s=10))
    struck = [record for record in done.records if record.interruptions]
    assert len(struck) == 152
    assert max(record.stall_s for record in struck) > 10


@pytest.mark.parametrize("pool", ["prefill", "decode"])
@pytest.mark.parametrize("changed", [{}, {"back_pressure": True}, {"choose_early": True}])
@pytest.mark.parametrize("streaming", [False, True])
def test_nothing_is_lost(pool: str, changed: dict[str, bool], streaming: bool) -> None:
    setting = study(6, 6, hand_off=HandOff(LINKS["100GbE"], streaming=streaming), **changed)
    done = run(setting, outage(pool, recompute, detected_s=0.5, back_s=3), count=1000)
    assert (done.completed, done.lost) == (1000, 0)
    assert any(record.interruptions for record in done.records)
    check_order(done)


def test_nothing_is_lost_when_aggregated() -> None:
    setting = Aggregated(pool=Pool(GB200, 18))
    done = run(setting, outage("aggregated", recompute, 0.5, 3), count=1000)
    assert done.completed == 1000
    assert any(record.interruptions for record in done.records)
    check_order(done)


@pytest.mark.parametrize("aggregated", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_every_token_comes_once(aggregated: bool, seed: int) -> None:
    """Wherever in a step an instance goes down, what it gave is kept, and nothing else."""

    def resume(simulation: Simulation, job: Job) -> None:
        if job.emitted:
            simulation.decode_again(job)
        else:
            simulation.prefill_again(job)

    setting = Aggregated(pool=Pool(GB200, 9)) if aggregated else study(6, 3)
    pool, chance = "aggregated" if aggregated else "decode", random.Random(seed)
    times = sorted(chance.uniform(0.5, 4) for _ in range(6))
    script = [(time, outage(pool, resume, back_s=0.01)) for time in times]
    done = simulate(setting, list(workload(300)), script=script)
    assert done.completed == 300
    assert done.itl.count == done.output_tokens - 300


def check_order(done: Run) -> None:
    for record in done.records:
        times = [record.arrival_s, record.prefilled_s, record.decoded_s, record.finished_s]
        known = [time for time in times if not math.isnan(time)]
        assert known == sorted(known)
    assert done.in_system * done.horizon_s == pytest.approx(done.mean_stay_s * done.offered)


def test_never_found_down() -> None:
    done = run(study(12, 6), lambda simulation: simulation.decode[0].stop())
    assert done.lost > 96
    assert done.completed + done.lost == 1500
    assert done.slo_attainment < 1
    assert "where nothing happens any more" in done.reasons[0]


def test_given_up() -> None:
    def give_up(simulation: Simulation, job: Job) -> None:
        simulation.lose(job, "no retry is left")

    done = run(study(12, 6), outage("decode", give_up))
    assert done.lost == 96
    assert "no retry is left" in done.reasons[0]


def test_all_are_down_for_a_while() -> None:
    """Requests wait in common until somebody is believed to be up."""

    def dark(simulation: Simulation) -> None:
        for server in simulation.decode:
            jobs = server.stop()
            simulation.believe(server, False)
            for job in jobs:
                simulation.decode_again(job)

    def light(simulation: Simulation) -> None:
        for server in simulation.decode:
            server.start()
            simulation.believe(server, True)

    given = list(workload(600))
    done = simulate(study(6, 3), given, script=[(3.0, dark), (13.0, light)])
    assert done.completed == 600
    assert max(record.stall_s for record in done.records) > 10


def test_emitted_tokens_are_those_of_whole_steps() -> None:
    """A request taken off in mid-run has what it would have had after as many steps."""
    seen: list[tuple[int, float]] = []

    def look(simulation: Simulation) -> None:
        (job,) = simulation.decode[0].stop()
        seen.append((job.emitted, job.last_token_s))
        simulation.lose(job, "seen")

    (request,) = list(workload(1))
    request = evolve(request, prompt=1000, output=500)
    whole = simulate(study(1, 1), [request], warm_up=0).records[0]
    simulate(study(1, 1), [request], warm_up=0, script=[(2.0, look)])
    ((emitted, at),) = seen
    joined = whole.handed_over_s
    times = [joined]
    for step in range(499):
        times.append(times[-1] + GB200.decode(1, 1001 + step).seconds)
    assert emitted == 1 + sum(time <= 2.0 for time in times[1:])
    assert at == pytest.approx(max(time for time in times if time <= 2.0))


def test_down_is_down() -> None:
    def twice(simulation: Simulation) -> None:
        server = simulation.decode[0]
        server.start()
        for job in server.stop() + server.stop():
            simulation.decode_again(job)
        simulation.believe(server, False)

    assert run(study(6, 2), twice, count=800).completed == 800


def test_the_past_is_over() -> None:
    def late(simulation: Simulation) -> None:
        simulation.at(simulation.now - 1, late)

    with pytest.raises(ModelError, match="nothing can be done at 7"):
        run(study(12, 6), late)
