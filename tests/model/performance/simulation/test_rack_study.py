"""The published rack study, to full precision: every value of every configuration."""

import json
from pathlib import Path

import pytest
from attrs import evolve
from serving import CONTEXT, LINKS, study, workload

from rackproof.model.performance.simulation import Disaggregated, HandOff, Pool, Run, simulate

GOLDEN = json.loads((Path(__file__).parent / "data" / "rack72_golden.json").read_text())


def test_the_workload() -> None:
    requests = list(workload())
    golden = GOLDEN["workload"]
    assert [[r.arrival_s, r.prompt, r.output] for r in requests[:3]] == golden["first3"]
    run = simulate(study(12, 6), requests)
    assert (run.offered, run.completed) == (golden["n"], golden["n"])
    assert (run.prompt_tokens, run.output_tokens) == (golden["sumP"], golden["sumO"])
    assert run.prompt_tokens / run.last_arrival_s == pytest.approx(golden["prompt_tps"], rel=1e-12)
    assert run.output_tokens / run.last_arrival_s == pytest.approx(golden["output_tps"], rel=1e-12)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name != "workload"])
def test_every_value(name: str) -> None:
    assert told(simulate(deployment(name), list(workload()))) == pytest.approx(
        GOLDEN[name], rel=1e-9
    )


def deployment(name: str) -> Disaggregated:
    split, kind = name.split(" ", 1)
    prefill, decode = map(int, split.split(":"))
    given = study(prefill, decode)
    if kind in LINKS:
        return evolve(given, hand_off=HandOff(LINKS[kind]))
    if kind == "ctx-opt prefill":
        return evolve(given, prefill=Pool(CONTEXT, prefill))
    return evolve(given, decode=Pool(CONTEXT, decode))


def told(run: Run) -> dict[str, float]:
    prefill, decode, energy = run.pool("prefill"), run.pool("decode"), run.energy
    tokens = run.output_tokens
    return {
        "ttft_p50": run.ttft_prefill.p50,
        "ttft_p99": run.ttft_prefill.p99,
        "ttft_mean": run.ttft_prefill.mean,
        "tpot_mean": run.tpot.mean,
        "tpot_p50": run.tpot.p50,
        "tpot_p99": run.tpot.p99,
        "slo": run.slo_attainment,
        "hand_mean": run.hand_off.mean,
        "hand_mean_all": run.hand_off_mean_all_s,
        "jtok": energy.J_per_token,
        "H": run.horizon_s,
        "static": energy.static_J / tokens,
        "comp": energy.compute_J / tokens,
        "mem": energy.memory_J / tokens,
        "lnk": energy.hand_off_J / tokens,
        "comm": energy.collectives_J / tokens,
        "itl": decode.step_s,
        "dbatch": decode.batch,
        "putil": prefill.utilisation,
        "dutil": decode.utilisation,
    }
