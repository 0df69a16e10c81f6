"""Presets, and what is refused where somebody writes their own."""

import math

import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import Architecture, Mixture, architecture
from rackproof.model.performance.catalogue import made, presets
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import Gpu, Link, Precision, gpu, link, precision
from rackproof.model.performance.nodes import Node, node
from rackproof.model.performance.roofline import Engine
from rackproof.model.rack import Part

FILES = {
    "gpus.yaml": Gpu,
    "links.yaml": Link,
    "models.yaml": Architecture,
    "nodes.yaml": Node,
    "precisions.yaml": Precision,
}


@pytest.mark.parametrize("file", FILES)
def test_every_preset_can_be_read_and_has_a_source(file: str) -> None:
    found = presets(file, FILES[file])
    assert found
    assert all(each.text and each.source for each in found.values())


@pytest.mark.parametrize(
    ("name", "billions", "exactly"),
    [
        ("llama-3-8b", "8.03", 8_030_261_248),
        ("llama-3-70b", "70.6", 70_553_706_496),
        ("llama-3-405b", "405.9", 405_853_388_800),
        ("deepseek-v3", "671", 671_026_404_352),
    ],
)
def test_parameters_are_the_published_totals(name: str, billions: str, exactly: int) -> None:
    """As the model cards round them; and all that the shapes imply (less the biases of gates)."""
    model = architecture(name)
    digits = len(billions.partition(".")[2])
    assert f"{model.parameters / 1e9:.{digits}f}" == billions
    assert model.parameters == exactly


def test_parameters_at_work_on_a_token_of_deepseek() -> None:
    """36.6 billion with the LM head, as its documentation of the weights says."""
    assert f"{architecture('deepseek-v3').matmul_parameters / 1e9:.1f}" == "36.6"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("llama-3-8b", 2 * 32 * 8 * 128),
        ("llama-3-70b", 2 * 80 * 8 * 128),
        ("llama-3-405b", 2 * 126 * 8 * 128),
        ("deepseek-v3", 61 * (512 + 64)),
    ],
)
def test_kv_of_a_token(name: str, values: int) -> None:
    assert architecture(name).kv_values_per_token == values


def test_the_context_part_differs_in_memory_alone() -> None:
    part = evolve(gpu("gb200-context"), memory_GB_s=8000, memory_GB=186)
    whole = gpu("gb200")
    assert evolve(part, name="", text="", source="") == evolve(whole, name="", text="", source="")


@pytest.mark.parametrize("name", presets("nodes.yaml", Node))
def test_nodes_are_racks_of_their_gpus(name: str) -> None:
    """The graph has as many GPUs a tray, joined at the rate of their scale-up link."""
    server = node(name)
    rack = server.build()
    gpus = rack.parts(Part.GPU)
    assert len(rack.gpus_of(rack.parts(Part.TRAY)[0])) == server.gpus
    far = rack.path(gpus[0], gpus[server.nvlink_gpus - 1])
    assert far is not None
    assert far.bandwidth_GB_s == server.part.link.bandwidth_GB_s
    assert far.latency_us == server.part.link.latency_us
    if len(gpus) > server.nvlink_gpus:
        beyond = rack.path(gpus[0], gpus[server.nvlink_gpus])
        assert beyond is not None
        assert beyond.bandwidth_GB_s < far.bandwidth_GB_s


def test_what_is_only_announced_says_so() -> None:
    assert "announced" in gpu("rubin-cpx").text
    assert "announced" in gpu("rubin-cpx").source


@pytest.mark.parametrize("name", ["gb200", "b200", "h100", "h200"])
def test_lower_precision_is_faster_in_step(name: str) -> None:
    assert gpu(name).speedup(precision("bf16")) == 1
    assert gpu(name).speedup(precision("fp8")) == pytest.approx(2, rel=0.01)


def test_precision_that_a_gpu_does_not_have() -> None:
    with pytest.raises(ModelError, match="GPU h100 multiplies no nvfp4 weights"):
        gpu("h100").speedup(precision("nvfp4"))
    with pytest.raises(ModelError, match="GPU a100 multiplies no fp8 weights"):
        Engine(gpu("a100"), 16, architecture("deepseek-v3"), kv_format("bf16"))


def gpu_with(**entries: object) -> Gpu:
    base = {
        "bf16_TFLOP_s": 1, "memory_GB_s": 1, "memory_GB": 1, "compute_efficiency": 1,
        "memory_efficiency": 1, "tdp_W": 1, "idle_W": 0, "pJ_per_FLOP": 0, "pJ_per_byte": 0,
        "scale_up": "nvlink5",
    }  # fmt: skip
    return made(Gpu, "mine", base | entries)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf, "8 TB/s", True, None, [8]])
def test_no_rate_at_all(value: object) -> None:
    with pytest.raises(ModelError, match=r"GPU mine: memory_GB_s is (positive|a number)") as error:
        gpu_with(memory_GB_s=value)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize("value", [1e13, 10**400])
def test_a_slip_of_units(value: float) -> None:
    with pytest.raises(ModelError, match="GPU mine: memory_GB_s"):
        gpu_with(memory_GB_s=value)


def test_keys_and_names() -> None:
    with pytest.raises(ModelError, match="GPU mine has no key 'memory_gb'; did you mean memory_GB"):
        gpu_with(memory_gb=186)
    with pytest.raises(ModelError, match="GPU mine needs bf16_TFLOP_s"):
        made(Gpu, "mine", {})
    with pytest.raises(ModelError, match="GPU mine is a map, not 3"):
        made(Gpu, "mine", 3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="there is no link 'nvlink6'; did you mean nvlink"):
        gpu_with(scale_up="nvlink6")
    with pytest.raises(ModelError, match="there is no precision 'fp4'; did you mean nvfp4"):
        evolve(architecture("llama-3-8b"), weights="fp4")
    with pytest.raises(ModelError, match=r"there is no link \['25gbe'\]"):
        link(["25gbe"])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"GPU mine: compute_efficiency is a share, .* not 55"):
        gpu_with(compute_efficiency=55)


def model_with(**entries: object) -> Architecture:
    base = {
        "layers": 2, "width": 8, "heads": 2, "kv_heads": 1, "head_dim": 4, "feed_forward": 16,
        "vocabulary": 10,
    }  # fmt: skip
    return made(Architecture, "mine", base | entries)


def test_models_of_ones_own() -> None:
    experts = {"experts": 4, "per_token": 2, "width": 3}
    assert model_with(mixture=experts).mixture == Mixture(4, 2, 3)
    with pytest.raises(ModelError, match=r"model mine: layers is a whole number"):
        model_with(layers=2.5)
    with pytest.raises(ModelError, match="mixture: 5 of 4 experts is too many"):
        model_with(mixture=experts | {"per_token": 5})
    with pytest.raises(ModelError, match=r"mixture .*has no key 'expert'; did you mean experts"):
        model_with(mixture={"expert": 4})
    with pytest.raises(ModelError, match=r"mixture .*needs experts"):
        model_with(mixture={})
    with pytest.raises(ModelError, match=r"latent attention .*is a map, not 512"):
        model_with(latent=512)
    with pytest.raises(ModelError, match="model mine: dense_layers is more than 2 layers"):
        model_with(mixture=experts | {"dense_layers": 3})


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"gpus": 0}, "instance: gpus is positive, not 0"),
        ({"gpus": 2.5}, "instance: gpus is a whole number, not 2.5"),
        ({"gpus": 3}, "64 heads of llama-3-70b have no even share of 3 GPUs"),
        ({"memory_share": 1.5}, "instance: memory_share is a share, above 0 and up to 1, not 1.5"),
        ({"overhead_ms": -1}, "instance: overhead_ms is not negative; it is -1"),
        ({"kv": "bf16"}, "instance: kv is a KV format, not 'bf16'"),
        ({"parallel": "tensor"}, "instance: parallel is a parallelism, not 'tensor'"),
        (
            {"memory_share": 0.1},
            "llama-3-70b does not fit: its weights are 141.1 GB, and 4 x",
        ),
    ],
)
def test_instances_that_are_none(entries: dict[str, object], told: str) -> None:
    good = Engine(gpu("gb200"), 4, architecture("llama-3-70b"), kv_format("bf16"))
    with pytest.raises(ModelError, match=told):
        evolve(good, **entries)
