"""Where requests go."""

import pytest
from attrs import evolve
from serving import GB200, LINKS, study, workload

from rackproof.model.kernel import ModelError
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.simulation import (
    Aggregated,
    Pool,
    PrefixCache,
    Request,
    Simulation,
    simulate,
)
from rackproof.model.performance.simulation.jobs import Job
from rackproof.model.performance.simulation.meters import Meters
from rackproof.model.performance.simulation.routing import POLICIES, Question, completion
from rackproof.model.performance.simulation.setting import Disaggregated, Slo


def idle(setting: Disaggregated) -> Simulation:
    return Simulation(setting, Meters(Slo(), 0, 0))


@pytest.mark.parametrize("prefill", POLICIES)
@pytest.mark.parametrize("decode", POLICIES)
def test_all_is_served_and_twice_the_same(prefill: str, decode: str) -> None:
    setting = study(4, 3, prefill_routing=prefill, decode_routing=decode)
    one, other = (simulate(setting, list(workload(150))) for _ in range(2))
    assert one.completed == 150
    assert one == other


@pytest.mark.parametrize("routing", POLICIES)
def test_aggregated(routing: str) -> None:
    run = simulate(Aggregated(pool=Pool(GB200, 6), routing=routing), list(workload(150)))
    assert run.completed == 150


def test_round_robin_goes_round() -> None:
    simulation = idle(study(3, 1, prefill_routing="round-robin"))
    for _ in range(7):
        simulation._arrive(Request(0.0, 100, 5))
    assert [server.waiting for server in simulation.prefill] == [3, 2, 2]


def test_first_come_waits_in_common() -> None:
    """Whoever is free takes the next: nobody waits while an instance idles."""
    given = list(workload(300))
    common, separate = (
        simulate(study(6, 6, prefill_routing=routing), given)
        for routing in ("first-come", "round-robin")
    )
    assert separate.pool("prefill").idle_while_waiting > 0
    assert common.pool("prefill").idle_while_waiting == pytest.approx(0, abs=1e-12)
    starts = [record.started_s for record in common.records]
    assert starts == sorted(starts)


@pytest.mark.parametrize("back_pressure", [False, True])
@pytest.mark.parametrize("memory_GB", [192, 41])
def test_first_come_fills_the_batch(back_pressure: bool, memory_GB: float) -> None:  # noqa: N803
    """With one instance there is nothing to choose: whoever waits where, the batch is the same."""
    few = evolve(GB200, gpu=evolve(GB200.gpu, memory_GB=memory_GB))
    common, separate = (
        simulate(
            evolve(
                study(4, 1),
                decode=Pool(few, 1),
                decode_batch=8,
                back_pressure=back_pressure,
                decode_routing=routing,
            ),
            list(workload(150, 20.0)),
        )
        for routing in ("first-come", "least-loaded")
    )
    assert common.completed == separate.completed == 150
    assert common.pool("decode").batch == pytest.approx(separate.pool("decode").batch, rel=0.02)
    assert common.ttft_decode.p99 == pytest.approx(separate.ttft_decode.p99, rel=0.05)


def test_first_come_leaves_a_full_prefill_instance_alone() -> None:
    """An instance whose room is taken by KV that waits for decode is not free."""
    small = evolve(GB200, gpu=evolve(GB200.gpu, memory_GB=41))
    setting = evolve(study(2, 1), prefill=Pool(small, 2), prefill_routing="first-come")
    simulation = idle(setting)
    full, other = simulation.prefill
    full.kv.add(0.0, small.kv_capacity_tokens)
    for _ in range(3):
        simulation._arrive(Request(0.0, 3000, 5))
    assert (full.waiting, other.waiting) == (0, 2)
    assert len(simulation._first.common) == 1


def test_hot_but_loaded() -> None:
    """The instance that has the prefix is chosen only as long as its queue is the shorter wait."""
    setting = study(2, 1, cache=PrefixCache(), prefill_routing="estimated-completion")
    simulation = idle(setting)
    blocks = tuple(range(12))
    hot = simulation.prefill[0]
    hot.cache.keep(blocks)
    chosen = []
    for _ in range(8):
        before = hot.load
        simulation._arrive(Request(0.0, 6144, 10, blocks))
        chosen.append("hot" if hot.load > before else "cold")
    assert chosen[0] == "hot"
    assert "cold" in chosen


def test_terms_have_names() -> None:
    near, far = LINKS["nvlink"], Link("far", 1, 1000)
    simulation = idle(study(1, 2, cache=PrefixCache()))
    job = Job(Request(0.0, 3000, 10), 0, 3000, 10)
    terms = [
        completion(Question(job, 0.0, 0, 2, ((near,), (far,))), server)
        for server in simulation.decode
    ]
    assert [term.queue_s for term in terms] == [0, 0]
    assert terms[0].work_s == terms[1].work_s == pytest.approx(GB200.decode(1, 3000).seconds)
    assert [term.path_s for term in terms] == [
        near.seconds(3000 * 327_680),
        far.seconds(983_040_000),
    ]
    assert terms[1].total == sum(terms[1])


def test_a_name_that_is_none() -> None:
    with pytest.raises(ModelError, match=r"no routing 'least-load'; did you mean least-loaded\?"):
        simulate(study(1, 1, decode_routing="least-load"), list(workload(1)))


def test_ties_go_to_the_first() -> None:
    simulation = idle(evolve(study(3, 1), prefill_routing="least-loaded"))
    simulation._arrive(Request(0.0, 10, 2))
    assert [server.load for server in simulation.prefill] == [1, 0, 0]
