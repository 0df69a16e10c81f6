"""Diagnoses: each on a run that is built to show it, and on the nearest one that must not."""

from functools import cache

import pytest
from attrs import evolve

from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import gpu, link
from rackproof.model.performance.playbook import DIAGNOSES, Case, Finding, findings
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    Disaggregated,
    HandOff,
    Pool,
    Request,
    Slo,
    simulate,
)
from rackproof.model.performance.workload import Arrivals, Lengths, Synthetic


@cache
def engine(**gpu_changes: float) -> Engine:
    part = evolve(gpu("gb200"), **gpu_changes)
    return Engine(part, 4, architecture("llama-3-70b"), kv_format("bf16"))


def apart(prefill: int = 3, decode: int = 2, *, of: Engine | None = None, **changes):
    parts = {"hand_off": HandOff(link("4x-nvlink5")), **changes}
    return Disaggregated(
        prefill=Pool(engine(), prefill), decode=Pool(of or engine(), decode), **parts
    )


def together(count: int = 5, **changes) -> Aggregated:
    return Aggregated(pool=Pool(engine(), count), **changes)


def load(
    rate: float = 15, prompt: int = 3000, output: int = 300, cv: float = 1, requests: int = 250
) -> Synthetic:
    return Synthetic(Arrivals(rate, cv), Lengths(prompt), Lengths(output), requests)


def diagnosed(
    deployment: Deployment,
    workload: Synthetic | None = None,
    slo: Slo | None = None,
    baseline: Deployment | None = None,
) -> dict[str, Finding]:
    workload, slo = workload or load(), slo or Slo()
    run = simulate(deployment, workload, slo)
    base = simulate(baseline, workload, slo) if baseline else None
    return {found.diagnosis: found for found in findings(Case(deployment, slo, run, base))}


def test_a_healthy_run_has_nothing_to_tell() -> None:
    assert diagnosed(apart(), baseline=together()) == {}
    assert diagnosed(together(), load(rate=2)) == {}


BURSTS = load(rate=20, prompt=6000, output=50, cv=2, requests=400)
LONG = load(output=600, requests=400)
DEAR = {"memory_GB": 41}
"""Leaves room for 19,821 tokens of KV beside the weights."""
SHOWN = {
    "never-fits": (
        lambda: diagnosed(apart(context_tokens=4000)),
        lambda: diagnosed(apart(context_tokens=40_000)),
    ),
    "misplaced-prefill": (
        lambda: diagnosed(apart(4, prefill_routing="round-robin"), BURSTS, Slo(1.0)),
        lambda: diagnosed(apart(8, prefill_routing="estimated-completion"), BURSTS, Slo(1.0)),
    ),
    "prefill-overloaded": (lambda: diagnosed(apart(1)), lambda: diagnosed(apart(2), load(rate=8))),
    "too-slow-alone": (
        lambda: diagnosed(apart(4, 4), load(rate=1), Slo(0.05, 0.005)),
        lambda: diagnosed(apart(1, 1), load(rate=30), Slo(0.5, 0.02)),
    ),
    "overloaded": (
        lambda: diagnosed(together(1), load(rate=20)),
        lambda: diagnosed(together(5), load(rate=2), Slo(0.05)),
    ),
    "late-first-token": (
        lambda: diagnosed(apart(decode_batch=8)),
        lambda: diagnosed(apart(decode_batch=128)),
    ),
    "transfer-bound": (
        lambda: diagnosed(apart(hand_off=HandOff(link("25gbe")))),
        lambda: diagnosed(apart(hand_off=HandOff(link("100gbe")))),
    ),
    "kv-bound": (lambda: diagnosed(apart(of=engine(**DEAR))), lambda: diagnosed(apart())),
    "batch-bound": (
        lambda: diagnosed(apart(decode_batch=8)),
        lambda: diagnosed(apart(of=engine(**DEAR))),
    ),
    "slowed-by-concurrency": (
        lambda: diagnosed(apart(4, 1, of=engine(memory_GB_s=2000)), LONG, Slo(tpot_s=0.04)),
        lambda: diagnosed(apart(4, 4, of=engine(memory_GB_s=2000)), LONG, Slo(tpot_s=0.04)),
    ),
    "prefill-interference": (
        lambda: diagnosed(together(2, chunk_tokens=4096), load(rate=10), Slo(tpot_s=0.03)),
        lambda: diagnosed(together(5, chunk_tokens=512), load(rate=4), Slo(tpot_s=0.03)),
    ),
    "below-baseline": (
        lambda: diagnosed(apart(1, 4), baseline=together()),
        lambda: diagnosed(apart(3, 2), baseline=together()),
    ),
}


def test_every_diagnosis_is_put_to_the_test() -> None:
    assert {diagnose.__name__.replace("_", "-") for diagnose in DIAGNOSES} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_diagnosis_is_made_where_it_fits_and_only_there(name: str) -> None:
    shows, does_not = SHOWN[name]
    found = shows()[name]
    assert found.evidence
    assert found.remedy
    assert name not in does_not()


def test_a_run_in_which_nothing_came_to_be_is_told_as_that() -> None:
    assert set(diagnosed(apart(context_tokens=1), baseline=together(context_tokens=1))) == {
        "never-fits"
    }
    single = Synthetic(Arrivals(5), Lengths(3000), Lengths(1, 0), 50)
    assert diagnosed(apart(), single, baseline=together()) == {}


def test_the_evidence_is_of_the_run() -> None:
    deployment = apart(of=engine(**DEAR))
    run = simulate(deployment, load(), Slo())
    use = run.pool("decode")
    (found,) = [f for f in findings(Case(deployment, Slo(), run)) if f.diagnosis == "kv-bound"]
    assert f"{use.blocked_kv:.0%} of the time" in found.evidence
    assert f"{use.kv_peak:.0%} reserved at the peak" in found.evidence


@pytest.mark.parametrize(
    ("scarce", "changes"),
    [("kv-bound", {"of": {"memory_GB": 41}}), ("batch-bound", {"decode_batch": 8})],
)
@pytest.mark.parametrize("decode_routing", ["least-loaded", "first-come"])
@pytest.mark.parametrize("early", [{}, {"choose_early": True}, {"back_pressure": True}])
def test_what_decode_lacks_is_told_wherever_requests_wait_for_it(
    scarce: str, changes: dict, decode_routing: str, early: dict
) -> None:
    """At the instance, at prefill or in common; and no link is blamed for the wait."""
    given = {**changes, "of": engine(**changes["of"])} if "of" in changes else changes
    found = diagnosed(apart(3, 1, decode_routing=decode_routing, **early, **given))
    assert scarce in found
    (other,) = {"kv-bound", "batch-bound"} - {scarce}
    assert other not in found
    assert "transfer-bound" not in found
    assert "most of it is the wait for decode" in found["late-first-token"].evidence


def test_a_share_of_no_time_is_no_evidence() -> None:
    """One request, at once, and rejected: a run of no seconds."""
    deployment = apart(context_tokens=1)
    run = simulate(deployment, [Request(0.0, 374, 44)], Slo(), warm_up=0)
    found = findings(Case(deployment, Slo(), run))
    assert [one.diagnosis for one in found] == ["never-fits"]
    assert "nan" not in repr(found)


def test_what_is_scarce_is_named() -> None:
    scarce = {"prefill": (1, 4), "decode": (4, 1)}
    for name, counts in scarce.items():
        slow = engine(memory_GB_s=1000)
        found = diagnosed(
            apart(*counts, of=slow if name == "decode" else None), baseline=together()
        )
        assert f"more {name} instances" in found["below-baseline"].remedy


def test_the_queue_of_decode_and_the_hand_off_are_told_apart() -> None:
    queue = diagnosed(apart(decode_batch=8))["late-first-token"]
    moved = diagnosed(apart(hand_off=HandOff(link("25gbe"))))["late-first-token"]
    assert "most of it is the wait for decode" in queue.evidence
    assert "most of it is the hand-off" in moved.evidence


def test_another_policy_is_named_than_the_one_there_is() -> None:
    lengths = Lengths(6000, 2), Lengths(50)
    uneven = Synthetic(Arrivals(20), *lengths, 400)
    for policy, other in (("round-robin", "queued tokens"), ("least-queued-tokens", "completion")):
        found = diagnosed(apart(4, prefill_routing=policy), uneven, Slo(1.0))
        assert other in found["misplaced-prefill"].remedy
