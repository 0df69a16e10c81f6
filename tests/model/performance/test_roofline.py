"""What a step takes: figures of the published rack study, and of its parameters."""

import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import gpu
from rackproof.model.performance.roofline import Engine


def engine(gpus: int = 4, model: str = "llama-3-70b") -> Engine:
    return Engine(gpu("gb200"), gpus, architecture(model), kv_format("bf16"))


def test_parameters_and_memory() -> None:
    instance = engine()
    assert instance.model.matmul_parameters == 69_501_714_432
    assert instance.model.weight_bytes / 1e9 == pytest.approx(141.10, abs=0.005)
    assert instance.kv_bytes_per_token == 327_680
    assert instance.kv_capacity_tokens == 1_612_839


@pytest.mark.parametrize(
    ("tokens", "microseconds"),
    [
        (512, "40.1"),
        (1024, "35.1"),
        (3000, "32.1"),
        (4096, "31.9"),
        (8192, "32.2"),
        (16384, "33.9"),
        (32768, "37.6"),
        (131072, "60.9"),
    ],
)
def test_prefill_of_a_token(tokens: int, microseconds: str) -> None:
    assert f"{engine().prefill([(tokens, 0)]).seconds / tokens * 1e6:.1f}" == microseconds


def test_chunks_do_the_work_of_the_whole() -> None:
    chunks = [engine().prefill([(1000, done)]) for done in range(0, 4000, 1000)]
    whole = engine().prefill([(4000, 0)])
    assert sum(chunk.flops for chunk in chunks) == whole.flops


def test_a_model_that_does_not_fit() -> None:
    small = evolve(gpu("gb200"), memory_GB=128)
    with pytest.raises(ModelError, match=r"does not fit: its weights are 141\.1 GB, and 1 x gb200"):
        Engine(small, 1, architecture("llama-3-70b"), kv_format("bf16"))


def test_a_name_that_is_none() -> None:
    with pytest.raises(ModelError, match="there is no GPU 'gb20'; did you mean gb200"):
        gpu("gb20")


@pytest.mark.parametrize(
    "step", [((), -1, 0), ((), 1, -5), ([(-3, 0)], 0, 0), ((), 1, float("nan"))]
)
def test_a_step_that_is_none(step: tuple[list[tuple[int, int]], int, int]) -> None:
    with pytest.raises(ModelError, match="a step has no"):
        engine().step(*step)
