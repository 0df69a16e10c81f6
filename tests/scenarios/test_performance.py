"""Files for simulate: what they come to, and what is told of those that cannot be used."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rackproof.model.performance.simulation import Aggregated, Convention, Disaggregated
from rackproof.model.performance.workload import Replayed, Synthetic
from rackproof.scenarios.document import parse
from rackproof.scenarios.errors import Problems, ScenarioError
from rackproof.scenarios.performance.amounts import (
    BANDWIDTH,
    DURATION,
    PLAIN,
    RATE,
    SHARE,
    SIZE,
    Amount,
    tokens,
)
from rackproof.scenarios.performance.loader import load, loads
from rackproof.scenarios.performance.overrides import assignment, merged
from rackproof.scenarios.places import Place
from rackproof.scenarios.worlds import InputError

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "scenarios" / "performance").glob("*.yaml"))
GOOD = """\
rackproof: 1
name: A pair
deployment:
  model: llama-3-70b
  gpu: gb200
  prefill: {instances: 1, gpus: 4}
  decode: {instances: 2, gpus: 4}
  hand-off: {link: 100gbe}
workload:
  synthetic: {requests: 5, rate: 2 /s, prompt: 100 tokens, output: 10 tokens}
"""


def read(text: str, *settings: str, seed: int | None = None):
    return loads(text, Path("x.yaml"), [assignment(one) for one in settings], seed)


def told(text: str, *settings: str) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        read(text, *settings)
    return str(error.value).splitlines()


# Amounts


def place(text: str) -> Place:
    return Place(parse(text, "x"), "key", 1, Problems("x"))


@pytest.mark.parametrize(
    ("amount", "text", "value"),
    [
        (DURATION, "2 s", 2),
        (DURATION, "50ms", 0.05),
        (DURATION, "5 us", 5e-6),
        (DURATION, "1.5 min", 90),
        (BANDWIDTH, "900 GB/s", 9e11),
        (BANDWIDTH, "100 Gbit/s", 1.25e10),
        (SIZE, "512 MiB", 2**29),
        (RATE, "90 /s", 90),
        (RATE, "60 /min", 1),
        (SHARE, "90 %", 0.9),
        (SHARE, "0.9", 0.9),
    ],
)
def test_a_number_with_its_unit(amount: Amount, text: str, value: float) -> None:
    assert amount.read(place(text)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("amount", "text", "message"),
    [
        (DURATION, "2", "expected a time such as 50 ms, not 2 (units: ns, us"),
        (DURATION, "2 sec", "expected a time such as 50 ms, not '2 sec'"),
        (DURATION, "0 s", "expected a time above 0, such as 50 ms, not '0 s'"),
        (DURATION, "-1 s", "expected a time above 0"),
        (DURATION, ".nan", "expected a time such as 50 ms, not .nan"),
        (DURATION, ".inf", "expected a time such as 50 ms, not .inf"),
        (DURATION, "1e999 s", "expected a time above 0, such as 50 ms, not '1e999 s'"),
        (DURATION, "true", "expected a time such as 50 ms, not true"),
        (DURATION, "[1 s]", "expected a time such as 50 ms, not a list"),
        (DURATION, "", "expected a time such as 50 ms, not nothing"),
        (RATE, "90 /sec", "not '90 /sec'; did you mean /s?"),
        (BANDWIDTH, "900 Gb/s", "expected a bandwidth such as 200 GB/s, not '900 Gb/s'; did you"),
    ],
)
def test_no_number_with_a_unit(amount: Amount, text: str, message: str) -> None:
    where = place(text or "''") if text else place("~")
    assert amount.read(where) is None
    assert message in where.problems.found[0].message


def test_tokens_are_whole() -> None:
    assert tokens(place("3,000 tokens")) == 3000
    assert tokens(place("1 token")) == 1
    for text in ("1.5 tokens", "0 tokens", "-3 tokens", "3000", "1e12 tokens"):
        where = place(text)
        assert tokens(where) is None
        assert len(where.problems.found) == 1


@pytest.mark.parametrize(
    ("amount", "text", "message"),
    [
        (
            DURATION,
            "1e-30 s",
            "expected a time from 1e-09 to 1e+10 s, such as 50 ms",
        ),
        (DURATION, "1e300 h", "expected a time from 1e-09 to 1e+10 s"),
        (RATE, "1e-300 /s", "expected a rate from 1e-06 to 1e+09 /s, such as 90 /s"),
        (RATE, "1e300 /s", "expected a rate from 1e-06 to 1e+09 /s"),
        (BANDWIDTH, "1e-9 MB/s", "expected a bandwidth from 1 to 1e+18 B/s"),
        (SIZE, "1e200 TB", "expected a size from 1 to 1e+18 B"),
        (SHARE, "1e-300", "expected a share from 1e-06 to 1, such as 90 %"),
        (PLAIN, "1e-308", "expected a number from 1e-06 to 1e+06, such as 0.5"),
    ],
)
def test_a_number_that_nobody_means(amount: Amount, text: str, message: str) -> None:
    where = place(text)
    assert amount.read(where) is None
    assert message in where.problems.found[0].message
    assert amount.read(place(amount.example), least=True)


TINY, LARGE = "1e-308", "1e300"


@pytest.mark.parametrize("value", [TINY, LARGE])
@pytest.mark.parametrize(
    "setting",
    [
        "deployment.hand-off.link={like: 100gbe, bandwidth_GB_s: V}",
        "deployment.gpu={like: gb200, memory_GB_s: V}",
        "deployment.gpu={like: gb200, bf16_TFLOP_s: V}",
        "deployment.gpu={like: gb200, memory_efficiency: V}",
        "deployment.kv-format={bits_per_value: V}",
        "deployment.memory-share=V",
        "deployment.parallel={experts: {efficiency: V}}",
        "workload.synthetic.rate=V /s",
        "workload.synthetic.arrivals={cv: V}",
        "workload.synthetic.prompt={mean: 100 tokens, cv: V}",
        "workload={azure: {file: scenarios/performance/data/azure-code-200.csv, speed: V}}",
        "slo.ttft=V s",
        "warm-up=V",
    ],
)
def test_a_value_that_nobody_means_is_told_with_its_key(setting: str, value: str) -> None:
    changed = setting.replace("V", value).replace("file: ", f"file: {ROOT}/")
    key = setting.split("=", maxsplit=1)[0]
    assert any(f" {key}" in line for line in told(GOOD, changed))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model={like: llama-3-70b, kv_heads: 7}", "64 heads have no even share of 7 kv_heads"),
        ("model={like: llama-3-70b, kv_heads: 128}", "have no even share of 128 kv_heads"),
        ("model={like: llama-3-70b, mixture: [1, 2]}", "mixture is a map, not [1, 2]"),
        ("model={like: llama-3-70b, mixture: {}}", "mixture needs experts"),
        ("model={like: llama-3-70b, latent: []}", "latent attention is a map, not []"),
        ("model={like: llama-3-70b, text: {a: 1}}", "text is a text, not {'a': 1}"),
        ("model={like: llama-3-70b, layers: [80]}", "layers is a whole number, not [80]"),
        ("gpu={like: gb200, scale_up: []}", "scale_up is a text, not []"),
        ("gpu={like: gb200, fp8_TFLOP_s: []}", "fp8_TFLOP_s is a number, not []"),
        ("gpu={like: gb200, idle_W: 5000}", "idle_W 5000 is more than tdp_W 1200"),
        ("kv-format={bits_per_value: 0.5}", "bits_per_value is from 1 to 64, not 0.5"),
        ("parallel={experts: {domain: []}}", "domain is a whole number, not []"),
    ],
)
def test_a_part_that_cannot_be(setting: str, message: str) -> None:
    assert any(message in line for line in told(GOOD, f"deployment.{setting}"))


@pytest.mark.parametrize(
    ("lost", "name"),
    [
        ("tray-0", "prefill-0"),
        ("gpu-5", "decode-0"),
        ("host-5", "decode-1"),
        ("rack-0", "prefill-0"),
    ],
)
def test_an_instance_on_what_is_lost_is_told(lost: str, name: str) -> None:
    (line,) = told(GOOD, f"deployment.hand-off={{rack: {{preset: nvl72, lost: [{lost}]}}, link: }}")
    assert f"deployment.hand-off.rack: {name} is lost with {lost}: put it elsewhere" in line


@pytest.mark.parametrize("lost", ["tray-9", "gpu-40", "nvlink-0"])
def test_what_is_lost_elsewhere_or_is_only_a_way_takes_no_instance(lost: str) -> None:
    assert read(GOOD, f"deployment.hand-off={{rack: {{preset: nvl72, lost: [{lost}]}}}}").variants


def test_a_rack_goes_in_place_of_a_link_and_the_other_way_round() -> None:
    variants = (
        "variants: [{name: a}, {name: b, deployment: {hand-off: {rack: nvl72}}}, "
        "{name: c, deployment: {hand-off: {link: 400g, channels: 3}}}]\n"
    )
    one, other, third = (v.deployment for v in read(GOOD + variants).variants)
    assert (one.paths, one.hand_off.link.name) == (None, "100gbe")
    assert other.paths is not None
    assert (third.paths, third.hand_off.channels) == (None, 3)
    (line, *_) = told(GOOD, "deployment.hand-off={rack: nvl72, link: 100gbe}")
    assert "deployment.hand-off: needs a link, or a rack" in line


def test_a_mixture_of_ones_own() -> None:
    mixture = "{experts: 8, per_token: 2, width: 14336}"
    change = f"deployment.model={{like: llama-3-8b, mixture: {mixture}}}"
    (variant,) = read(GOOD, change).variants
    assert variant.deployment.pools[0].engine.model.mixture.experts == 8


# What files come to


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bundled_file_is_read(path: Path) -> None:
    plan = load(path)
    assert plan.name
    assert plan.source
    names = [variant.name for variant in plan.variants]
    assert len(set(names)) == len(names)
    assert len(names) > 1 or "failures" in plan.sections


def test_the_least_file() -> None:
    (variant,) = read(GOOD).variants
    deployment = variant.deployment
    assert isinstance(deployment, Disaggregated)
    assert variant.name == "1 prefill + 2 decode"
    assert (deployment.prefill.count, deployment.decode.count) == (1, 2)
    assert deployment.prefill.engine.kv.name == "bf16"
    assert deployment.hand_off.link.bandwidth_GB_s == 12.5
    assert isinstance(variant.workload, Synthetic)
    assert len(list(variant.workload)) == 5
    assert (variant.slo.ttft_s, variant.slo.tpot_s, variant.warm_up) == (2, 0.05, 0.1)


def test_every_key() -> None:
    text = """\
rackproof: 1
name: All of it
deployment:
  model: {like: llama-3-70b, layers: 40}
  gpu: {like: gb200, memory_GB: 96, name: small}
  kv-format: fp8
  memory-share: 80 %
  overhead: 1 ms
  parallel: tensor
  prefill: {instances: 3, gpus: 4, overhead: 0 s}
  decode: {instances: 2, gpus: 8, gpu: gb200, memory-share: 95 %}
  hand-off:
    link: {name: slow, bandwidth_GB_s: 1, latency_us: 100}
    channels: 2
    streaming: true
  routing: {prefill: round-robin, decode: least-loaded}
  prefix-cache: {block: 256 tokens, blocks: 1000}
  prefill-batch: 4096 tokens
  decode-batch: 64
  longest-context: 16384 tokens
  back-pressure: true
workload:
  synthetic:
    requests: 7
    rate: 2 /s
    prompt: {mean: 100 tokens, cv: 0, longest: 200 tokens}
    output: 10 tokens
    arrivals: {cv: 2}
    seed: 9
slo: {ttft: 3 s, tpot: 20 ms}
warm-up: 0 %
"""
    (variant,) = read(text).variants
    deployment = variant.deployment
    assert isinstance(deployment, Disaggregated)
    prefill, decode = deployment.prefill.engine, deployment.decode.engine
    assert (prefill.gpu.name, prefill.gpu.memory_GB, decode.gpu.memory_GB) == ("small", 96, 186)
    assert (prefill.overhead_ms, decode.overhead_ms) == (0, 1)
    assert (prefill.memory_share, decode.memory_share) == (0.8, 0.95)
    assert (prefill.model.layers, prefill.kv.name) == (40, "fp8")
    hand_off = deployment.hand_off
    assert (hand_off.link.name, hand_off.channels, hand_off.streaming) == ("slow", 2, True)
    assert (deployment.prefill_routing, deployment.decode_routing) == (
        "round-robin",
        "least-loaded",
    )
    assert (deployment.cache.block_tokens, deployment.cache.blocks) == (256, 1000)
    assert (deployment.prefill_tokens, deployment.decode_batch) == (4096, 64)
    assert (deployment.context_tokens, deployment.back_pressure) == (16_384, True)
    assert (variant.workload.arrivals.cv, variant.workload.seed) == (2, 9)
    assert {request.prompt for request in variant.workload} == {100}
    assert (variant.slo.ttft_s, variant.slo.tpot_s, variant.warm_up) == (3, 0.02, 0)


def test_a_variant_changes_maps_entry_by_entry_and_may_be_of_the_other_kind() -> None:
    text = (
        GOOD
        + """\
variants:
  - name: as it is
  - name: more decode
    deployment: {decode: {instances: 5}}
  - name: together
    deployment: {aggregated: {instances: 3, gpus: 4, chunk: 1024 tokens}}
    slo: {ttft: 1 s}
"""
    )
    first, second, third = read(text).variants
    assert first.deployment == read(GOOD).variants[0].deployment
    assert second.deployment.decode.count == 5
    assert second.deployment.decode.engine == first.deployment.decode.engine
    assert isinstance(third.deployment, Aggregated)
    assert third.deployment.chunk_tokens == 1024
    assert (third.slo.ttft_s, third.slo.tpot_s) == (1, 0.05)


def test_an_empty_value_removes_a_key() -> None:
    text = GOOD + "slo: {ttft: 1 s}\nvariants:\n  - {name: a, slo: {ttft: ~}}\n"
    assert read(text).variants[0].slo.ttft_s == 2


def test_an_slo_has_a_convention() -> None:
    assert read(GOOD).variants[0].slo.convention is Convention.END_OF_PREFILL
    slo = read(GOOD, "slo.convention=first-token").variants[0].slo
    assert (slo.convention, slo.ttft_s) == (Convention.FIRST_TOKEN, 2)
    (message,) = told(GOOD, "slo.convention=first-tokens")
    assert "slo.convention" in message
    assert "did you mean first-token?" in message


def test_what_the_command_line_sets_goes_over_every_variant() -> None:
    text = GOOD + "variants:\n  - {name: a, deployment: {decode: {instances: 5}}}\n  - {name: b}\n"
    plan = read(text, "deployment.decode.instances=9", "workload.synthetic.rate=5 /s")
    assert [variant.deployment.decode.count for variant in plan.variants] == [9, 9]
    assert [variant.workload.arrivals.rate_per_s for variant in plan.variants] == [5, 5]


MIXED = (
    GOOD
    + """\
variants:
  - {name: apart}
  - name: together
    deployment: {aggregated: {instances: 3, gpus: 4}}
"""
)


@pytest.mark.parametrize(
    ("setting", "of", "to"),
    [
        ("deployment.prefill.instances=5", "apart", lambda d: d.prefill.count == 5),
        ("deployment.hand-off.link=400g", "apart", lambda d: d.hand_off.link.name == "400g"),
        ("deployment.routing.prefill=round-robin", "apart", lambda d: "robin" in d.prefill_routing),
        ("deployment.aggregated.instances=5", "together", lambda d: d.pool.count == 5),
        ("deployment.routing.aggregated=round-robin", "together", lambda d: "robin" in d.routing),
    ],
)
def test_a_change_is_of_the_variants_of_its_kind(
    setting: str, of: str, to: Callable[[Any], bool]
) -> None:
    before, plan = read(MIXED), read(MIXED, setting)
    (other,) = {"apart", "together"} - {of}
    assert to(plan.variant(of).deployment)
    assert plan.variant(other).deployment == before.variant(other).deployment
    key = setting.partition("=")[0]
    assert plan.left == (f"--set {key}: left out of {other}, of another kind",)


def test_a_change_of_all_kinds_goes_over_all_and_a_bad_one_is_told() -> None:
    plan = read(MIXED, "deployment.decode-batch=9")
    assert [variant.deployment.decode_batch for variant in plan.variants] == [9, 9]
    assert plan.left == ()
    (line,) = told(MIXED, "deployment.prefill.instances=x")
    assert "deployment.prefill.instances: expected" in line
    (line, *_) = told(MIXED, "deployment.prefil.instances=3")
    assert "deployment.prefil: there is no such key; did you mean prefill?" in line


def test_a_change_that_no_variant_is_of_changes_their_kind() -> None:
    plan = read(GOOD, "deployment.aggregated={instances: 2, gpus: 4}")
    assert isinstance(plan.variants[0].deployment, Aggregated)
    (line,) = told(GOOD, "deployment.aggregated.instances=2")
    assert "gpus: is missing" in line


def test_a_change_is_of_the_variants_that_are_named(tmp_path: Path) -> None:
    change = [assignment("deployment.decode-batch=9")]
    plan = loads(MIXED, tmp_path / "x.yaml", change, None, ["apart"])
    sizes = {variant.name: variant.deployment.decode_batch for variant in plan.variants}
    assert sizes == {"apart": 9, "together": 256}
    trace = "  - {name: trace, workload: {azure: {file: t.csv}}}\n"
    (tmp_path / "t.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n")
    plan = loads(MIXED + trace, tmp_path / "x.yaml", (), 7, ["apart"])
    assert plan.variant("apart").workload.seed == 7


def test_a_seed_is_of_a_synthetic_workload(tmp_path: Path) -> None:
    assert read(GOOD, seed=7).variants[0].workload.seed == 7
    (tmp_path / "t.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n")
    text = re.sub(r"  synthetic.*\n", "  azure: {file: t.csv}\n", GOOD)
    with pytest.raises(InputError, match=r"x\.yaml: --seed: its workload is a trace"):
        loads(text, tmp_path / "x.yaml", (), 7)


def test_a_trace_is_found_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n")
    text = re.sub(
        r"  synthetic.*\n", "  azure: {file: t.csv, speed: 2, repeat: 3, requests: 40}\n", GOOD
    )
    (variant,) = loads(text, tmp_path / "x.yaml").variants
    assert isinstance(variant.workload, Replayed)
    assert variant.workload.path == tmp_path / "t.csv"
    assert (variant.workload.speed, variant.workload.passes) == (2, 3)
    assert variant.workload.requests == 40


def test_a_rack_gives_a_link_for_every_pair_of_instances() -> None:
    def paths(rack: str):
        return read(GOOD.replace("{link: 100gbe}", f"{{rack: {rack}}}")).variants[0].deployment

    whole = paths("nvl72")
    ((to_first, to_second),) = whole.paths
    assert to_first == to_second == whole.hand_off.link
    assert (to_first.bandwidth_GB_s, to_first.latency_us) == (3600, 5)
    fallen = paths("{preset: nvl72, lost: [nvlink-0]}")
    assert fallen.hand_off.link.bandwidth_GB_s == 200
    ((near, far),) = paths("{preset: two-rack, on: {decode-1: tray-18}}").paths
    assert (near.bandwidth_GB_s, far.bandwidth_GB_s) == (3600, 200)


@pytest.mark.parametrize(
    ("rack", "message"),
    [
        (
            "nvl27",
            "x.yaml:8: deployment.hand-off.rack: there is no rack 'nvl27'; did you",
        ),
        ("{lost: [nvlink-0]}", "deployment.hand-off.rack: needs a preset or a path"),
        ("{preset: nvl72, lost: [nvlink-7]}", "rack nvl72 has no 'nvlink-7' to lose"),
        ("{preset: nvl72, on: {decode-7: tray-0}}", "there is no instance 'decode-7'"),
        ("{preset: nvl72, on: {decode-0: tray-99}}", "decode-0: there is no tray 'tray-99'"),
        ("nvl72, link: 100gbe", "x.yaml:8: deployment.hand-off: needs a link, or a rack"),
        ("{path: none.yaml}", "none.yaml"),
    ],
)
def test_a_rack_that_is_none(rack: str, message: str) -> None:
    assert message in "\n".join(told(GOOD.replace("{link: 100gbe}", f"{{rack: {rack}}}")))


def test_instances_are_as_large_as_the_rack_places_them() -> None:
    text = GOOD.replace("{link: 100gbe}", "{rack: nvl72}").replace("gpus: 4", "gpus: 8")
    assert "prefill instances have 8 GPUs; on rack nvl72 prefill-0 is placed on 4" in told(text)[0]


# What is told of mistakes


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("rackproof: 1", "rackproof: 2", ["x.yaml:1: rackproof: expected 1"]),
        ("rackproof: 1\n", "", ["x.yaml:1: rackproof: is missing"]),
        ("name: A pair\n", "", ["x.yaml:1: name: is missing: tell in one line what is simulated"]),
        (
            "gb200",
            "gb20",
            ["x.yaml:5: deployment.gpu: there is no GPU 'gb20'; did you mean gb200?"],
        ),
        ("70b", "70", ["x.yaml:4: deployment.model: there is no model 'llama-3-70'; did you"]),
        ("100gbe", "101gbe", ["x.yaml:8: deployment.hand-off.link: there is no link '101gbe'"]),
        ("  gpu: gb200\n", "", ["x.yaml:3: deployment.gpu: is missing"]),
        ("  hand-off: {link: 100gbe}\n", "", ["x.yaml:3: deployment.hand-off: is missing"]),
        ("{link: 100gbe}", "{}", ["x.yaml:8: deployment.hand-off: needs a link, or a rack"]),
        ("decode:", "decod:", ["deployment.decod: there is no such key; did you mean decode?"]),
        (
            "instances: 2",
            "instances: 0",
            ["x.yaml:7: deployment.decode.instances: expected a whole"],
        ),
        ("instances: 2", "instances: -1", ["expected a whole number from 1 to 100000, not -1"]),
        ("instances: 2", "instances: 2.5", ["not 2.5"]),
        ("instances: 2", "instances: .nan", ["not .nan"]),
        (
            "gb200",
            "{like: gb200, memory_GB: 9}",
            ["x.yaml:6: deployment.prefill: llama-3-70b does not fit: its weights"],
        ),
        (
            "rate: 2 /s",
            "rate: -2 /s",
            ["x.yaml:10: workload.synthetic.rate: expected a rate above 0"],
        ),
        ("rate: 2 /s", "rate: .nan", ["expected a rate such as 90 /s, not .nan"]),
        ("rate: 2 /s, ", "", ["x.yaml:10: workload.synthetic.rate: is missing"]),
        ("requests: 5", "requests: 0", ["workload.synthetic.requests: expected a whole number"]),
        ("100 tokens", "100", ["prompt: expected a number of tokens such as 3000 tokens, not 100"]),
        ("100 tokens", "{mean: 9 tokens, cv: -1}", ["prompt.cv: expected a number from 0"]),
        (
            "100 tokens",
            "99999 tokens",
            ["prompt: lengths: the mean is from 1 to 32,768, not 99999"],
        ),
        ("2 /s", "2 /s, arrivals: burst", ["there is no kind of arrivals 'burst'"]),
        ("synthetic:", "azure:", ["there is no such key", "workload.azure.file: is missing"]),
        ("  synthetic:", "  mooncake: {file: none.jsonl}\n  synthetic:", ["needs one of synth"]),
        ("name: A pair", "name: A pair\nslo: {ttft: 0 s}", ["x.yaml:3: slo.ttft: expected a time"]),
        ("name: A pair", "name: A pair\nwarm-up: 100 %", ["x.yaml:3: warm-up: expected a share"]),
        ("name: A pair", "name: A pair\nvariants: []", ["x.yaml:3: variants: has 0 entries"]),
        ("name: A pair", "name: A pair\nfoo: 1", ["x.yaml:3: foo: there is no such key"]),
        (
            "gpu: gb200",
            "gpu: {like: gb200, memory: 9}",
            ["has no key 'memory'; did you mean memory_GB?"],
        ),
        ("gpu: gb200", "gpu: {like: gb200, memory_GB: -9}", ["memory_GB is positive, not -9"]),
        ("gpu: gb200", "gpu: {like: gb200, scale_up: nolink}", ["there is no link 'nolink'"]),
        ("gpu: gb200", "gpu: gb200\n  parallel: experts", ["llama-3-70b has no experts"]),
        ("gpu: gb200", "gpu: gb200\n  prefix-cache: 3", ["prefix-cache: expected true or false"]),
        (
            "gpu: gb200",
            "gpu: gb200\n  aggregated: {instances: 1, gpus: 4}",
            ["cannot go with aggr"],
        ),
        ("gpu: gb200", "gpu: gb200\n  routing: {prefill: best}", ["no routing policy 'best'"]),
    ],
)
def test_a_mistake_is_told_with_its_line_and_key(old: str, new: str, messages: list[str]) -> None:
    assert old in GOOD
    found = "\n".join(told(GOOD.replace(old, new, 1)))
    for message in messages:
        assert message in found
    assert "Traceback" not in found


def test_every_mistake_is_told_at_once() -> None:
    text = GOOD.replace("gb200", "gb20").replace("2 /s", "2").replace("100gbe", "100gb")
    assert [line.split(": ")[1] for line in told(text)] == [
        "deployment.gpu",
        "deployment.hand-off.link",
        "workload.synthetic.rate",
    ]


def test_a_mistake_of_the_base_is_told_once_for_all_variants() -> None:
    text = GOOD.replace("gb200", "gb20") + "variants:\n  - {name: a}\n  - {name: b}\n"
    assert len(told(text)) == 1


def test_mistakes_in_variants_and_published_figures() -> None:
    text = (
        GOOD
        + """\
variants:
  - {name: a}
  - {name: a, deployment: {decode: {instances: 0}}}
  - {deployment: {}}
  - 7
published:
  - {figure: F, of: b, measure: tpot-p99, value: 1 ms}
  - {figure: F, of: a, measure: tpot-p98, value: 1 ms}
  - {figure: F, of: a, measure: tpot-p99, value: 1 J}
  - {figure: F, of: a, measure: tpot-p99, value: 12}
  - {figure: F, of: a, measure: {hand-off-ideal: 3000}, value: 1 ms}
  - {figure: F}
expect:
  - {measure: slo, at-least: 99 %}
  - {of: z, measure: slo-met, at-least: 99 %}
  - {measure: slo-met}
  - {measure: slo-met, at-most: 2 s}
"""
    )
    found = told(text)
    expected = [
        "x.yaml:12: variants[1]: there are two variants with the name 'a'",
        "x.yaml:13: deployment.decode.instances: expected a whole number",
        "x.yaml:13: variants[2]: there are two variants with the name 'a'",
        "x.yaml:14: variants[3]: has no name",
        "x.yaml:15: variants[4]: expected a map with a name",
        "x.yaml:17: published[1].of: there is no variant 'b'",
        "x.yaml:18: published[2].measure: there is no measure 'tpot-p98'; did you mean tpot-p9",
        "x.yaml:19: published[3].value: expected a figure as it was printed, with a unit: ns",
        "x.yaml:20: published[4].value: expected a figure as it was printed",
        "x.yaml:21: published[5].measure.hand-off-ideal: expected a number of tokens",
        "x.yaml:22: published[6].of: is missing",
        "x.yaml:24: expect[1].measure: there is no measure 'slo'; did you mean slo-met?",
        "x.yaml:25: expect[2].of: there is no variant 'z'",
        "x.yaml:26: expect[3]: has no bound: at-least or at-most",
        "x.yaml:27: expect[4].at-most: expected a figure as it was printed, with a unit: %",
    ]
    for message in expected:
        assert any(line.startswith(message) for line in found), (message, found)


@pytest.mark.parametrize("text", ["a", "=3", "a.=3", "a..b=3", "a=[1", "a=!!python/x 3"])
def test_what_cannot_be_set(text: str) -> None:
    with pytest.raises(InputError, match=r"--set .*: "):
        assignment(text)


def test_a_change_that_is_no_key_is_told_without_a_line() -> None:
    (line,) = told(GOOD, "deployment.decoder.instances=3")
    assert line == "x.yaml: deployment.decoder: there is no such key; did you mean decode?"


def test_changes_keep_the_order_of_what_they_change() -> None:
    base, over = parse("{a: 1, b: {c: 2, d: 3}}", "x"), parse("{b: {d: 4}, e: 5}", "x")
    names = [key.text for key, _ in merged(base, over).entries]
    assert names == ["a", "b", "e"]


def test_a_cache_has_the_blocks_of_the_trace() -> None:
    trace = ROOT / "scenarios" / "performance" / "data" / "mooncake-synthetic-200.jsonl"
    text = re.sub(r"  synthetic.*\n", f"  mooncake: {{file: {trace}}}\n", GOOD)
    assert read(text, "deployment.prefix-cache=true").variants
    (line,) = told(text, "deployment.prefix-cache.block=256 tokens")
    assert "prefix-cache.block: is 256 tokens; the blocks of the trace have 512" in line


def test_printed_digits_decide() -> None:
    text = (
        GOOD
        + """\
variants: [{name: a}]
published:
  - {figure: F, of: a, measure: offered-prompt, value: "268,708 tok/s"}
  - {figure: F, of: a, measure: tpot-p99, value: 12.40 ms}
"""
    )
    commas, zeros = read(text).published
    assert commas.rounded(268_707.6) == commas.printed
    assert commas.rounded(268_708.6) != commas.printed
    assert zeros.rounded(0.0124) == zeros.printed
    assert zeros.rounded(0.01241) != zeros.printed
