"""The bytes of KV formats: as published, and as the codec really makes them."""

import math

import numpy as np
import pytest
from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.formats import KvFormat, kv_format, kv_formats
from rackproof.model.performance.nvfp4 import Quantised, padded_shape, quantise

LLAMA_70B = {"layers": 80, "kv_heads": 8, "head_dim": 128}
LLAMA_8B = {"layers": 32, "kv_heads": 8, "head_dim": 128}


@pytest.mark.parametrize(
    ("name", "total", "a_token"),
    [
        ("bf16", 983_040_000, 327_680),
        ("fp8", 491_520_000, 163_840),
        ("nvfp4", 276_480_004, 92_160),
        ("mxfp4", 261_120_000, 87_040),
    ],
)
def test_three_thousand_tokens_of_llama_70b(name: str, total: int, a_token: int) -> None:
    form = kv_format(name)
    assert form.block_bytes(3000, **LLAMA_70B) == form.tensor_bytes(3000 * 163_840) == total
    assert form.bytes_per_token(**LLAMA_70B) == a_token


def test_worked_example_of_512_mebibytes() -> None:
    assert kv_format("bf16").block_bytes(4096, **LLAMA_8B) == 512 * 2**20


def test_nvfp4_is_three_and_a_half_times_smaller() -> None:
    ratio = kv_format("bf16").bytes_per_token(**LLAMA_70B) / kv_format("nvfp4").bytes_per_token(
        **LLAMA_70B
    )
    assert f"{ratio:.3f}" == "3.556"
    assert kv_format("nvfp4").bits_with_scales == 4.5
    assert kv_format("mxfp4").bits_with_scales == 4.25


@pytest.mark.parametrize(("tokens", "kv_heads", "head_dim"), [(1, 1, 16), (5, 3, 48), (64, 8, 128)])
def test_bytes_are_those_of_the_codec(tokens: int, kv_heads: int, head_dim: int) -> None:
    form, layers = kv_format("nvfp4"), 2
    cache = np.random.default_rng(0).normal(size=(layers, 2, tokens * kv_heads, head_dim))
    found = quantise(cache)
    assert form.block_bytes(tokens, layers, kv_heads, head_dim) == found.nbytes
    assert form.tensor_bytes(cache.size) == found.nbytes
    # Each matrix is padded by itself; the one tensor scale is counted once.
    parts = [
        Quantised(found.packed[layer, kind], found.block_scales[layer, kind], 1.0)
        for layer in range(layers)
        for kind in range(2)
    ]
    padded = sum(part.padded_nbytes for part in parts) - 4 * (len(parts) - 1)
    assert form.block_bytes(tokens, layers, kv_heads, head_dim, padded=True) == padded


def test_padding_of_a_short_block() -> None:
    """16 tokens of 8 heads are 128 rows; 1 token is 8, padded to as many."""
    form = kv_format("nvfp4")
    assert form.block_bytes(16, **LLAMA_70B, padded=True) == form.block_bytes(16, **LLAMA_70B)
    short = form.block_bytes(1, **LLAMA_70B, padded=True)
    assert short - form.block_bytes(1, **LLAMA_70B) == 160 * 120 * 8
    assert padded_shape(8, 8) == (128, 8)


def test_a_row_that_is_no_whole_number_of_blocks_has_a_scale_for_the_rest() -> None:
    assert kv_format("nvfp4").block_bytes(1, 1, 1, 40) == 2 * 20 + 2 * 3 + 4


def test_presets_say_where_they_are_from() -> None:
    formats = kv_formats()
    assert list(formats) == ["bf16", "fp8", "nvfp4", "mxfp4"]
    assert all(form.text and form.source for form in formats.values())
    assert formats["nvfp4"] == kv_format("nvfp4")


def test_a_part_of_a_tensor_has_no_scale_of_the_tensor() -> None:
    form = kv_format("nvfp4")
    assert (form.bytes(0), form.tensor_bytes(0)) == (0, 4)
    assert form.bytes(163_840) == form.bytes_per_token(**LLAMA_70B) == 92_160


@pytest.mark.parametrize("values", [-1, math.nan, math.inf])
def test_what_is_no_number_of_values(values: float) -> None:
    with pytest.raises(ModelError, match="KV has a number of values, not"):
        kv_format("bf16").bytes(values)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_what_is_no_number_of_tokens(wrong: int) -> None:
    with pytest.raises(ModelError, match=f"tokens is a positive whole number, not {wrong!r}"):
        kv_format("nvfp4").block_bytes(wrong, 1, 1, 16)
    with pytest.raises(ModelError, match=f"layers is a positive whole number, not {wrong!r}"):
        kv_format("nvfp4").bytes_per_token(wrong, 1, 16)


def test_what_is_no_format() -> None:
    with pytest.raises(ModelError, match="did you mean nvfp4"):
        kv_format("nvfp5")
    with pytest.raises(ModelError, match="bits_per_value is positive, not 0"):
        KvFormat("f", bits_per_value=0)
    with pytest.raises(ModelError, match="block_values is positive, not 0"):
        KvFormat("f", bits_per_value=4, block_values=0, block_scale_bits=8)
    with pytest.raises(ModelError, match="go together, not 16 and 0"):
        KvFormat("f", bits_per_value=4, block_values=16)
    with pytest.raises(ModelError, match="go together, not None and 8"):
        evolve(kv_format("bf16"), block_scale_bits=8)
