"""The quantiser of two levels: against the formulas written out with ml_dtypes, and by its laws."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays

from rackproof.model.kernel import ModelError
from rackproof.model.performance.nvfp4 import (
    BLOCK,
    COMPRESSED_TENSORS,
    CONVENTIONS,
    E2M1,
    E4M3,
    MODELOPT,
    TORCHAO,
    TRANSFORMER_ENGINE,
    Convention,
    Quantised,
    block_bound,
    pack,
    padded_shape,
    quantise,
    swizzle,
    unpack,
    unswizzle,
    value_bound,
)
from rackproof.model.performance.nvfp4.bounds import LEAST_AMAX, LEAST_NORMAL_BLOCK, OF_BLOCK

F = np.float32
each_convention = pytest.mark.parametrize("way", CONVENTIONS, ids=lambda way: way.name)


def e4m3(values: np.ndarray) -> np.ndarray:
    """By ml_dtypes, cut first: what is too large would be NaN."""
    return np.clip(values, 0, 448).astype(ml_dtypes.float8_e4m3fn).astype(F)


def e2m1(values: np.ndarray) -> np.ndarray:
    return values.astype(ml_dtypes.float4_e2m1fn)


# Each convention once more, step by step as published, with ml_dtypes for the conversions.


def transformer_engine(x: np.ndarray, amax: F) -> tuple[np.ndarray, np.ndarray]:
    encode = F(448) * F(6) / amax
    decode = F(1) / encode
    multiplier = encode * (F(1) / F(6))
    scale = e4m3(np.abs(x).max(axis=-1, keepdims=True) * multiplier)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.minimum(F(1) / (scale * decode), np.finfo(F).max)
        return scale, e2m1(np.clip(x * inverse, -6, 6))


def modelopt(x: np.ndarray, amax: F) -> tuple[np.ndarray, np.ndarray]:
    second = amax / F(6 * 448)
    exact = np.abs(x).max(axis=-1, keepdims=True) / (F(6) * second)
    exact[exact == 0] = 1
    scale = e4m3(np.maximum(exact, F(2.0**-9)))
    return scale, e2m1(x / (scale * second))


def torchao(x: np.ndarray, amax: F) -> tuple[np.ndarray, np.ndarray]:
    second = amax / F(6 * 448)
    exact = np.abs(x).max(axis=-1, keepdims=True) / F(6) / second
    scale = e4m3(np.maximum(exact, ml_dtypes.finfo(ml_dtypes.float8_e4m3fn).tiny.astype(F)))
    return scale, e2m1(np.clip(x * ((F(1) / second) / scale), -6, 6))


def compressed_tensors(x: np.ndarray, amax: F) -> tuple[np.ndarray, np.ndarray]:
    first = F(448 * 6) / amax
    scale = e4m3(first * (np.abs(x).max(axis=-1, keepdims=True) / F(6)))
    scale[scale == 0] = F(0.125)
    return scale, e2m1(x / (scale / first))


WRITTEN_OUT = {
    TRANSFORMER_ENGINE.name: transformer_engine,
    MODELOPT.name: modelopt,
    TORCHAO.name: torchao,
    COMPRESSED_TENSORS.name: compressed_tensors,
}

Family = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
FAMILIES: dict[str, Family] = {
    "normal": lambda chance, shape: chance.normal(size=shape),
    "outliers": lambda chance, shape: (
        chance.normal(size=shape) * np.where(chance.random(shape) < 1e-3, 100, 1)
    ),
    "uniform": lambda chance, shape: chance.uniform(-1, 1, shape),
    "whole": lambda chance, shape: chance.integers(-12, 13, shape),
    "tiny blocks": lambda chance, shape: (
        chance.normal(size=shape)
        * np.repeat(2.0 ** chance.integers(-24, 1, (*shape[:-1], shape[-1] // BLOCK)), BLOCK, -1)
    ),
    "some zeros": lambda chance, shape: (
        chance.normal(size=shape)
        * np.repeat(chance.integers(0, 2, (*shape[:-1], shape[-1] // BLOCK)), BLOCK, -1)
    ),
    "small": lambda chance, shape: chance.normal(size=shape) * 1e-20,
    "large": lambda chance, shape: chance.normal(size=shape) * 1e30,
}


def tensor(family: str, shape: tuple[int, ...] = (64, 512), seed: int = 5) -> np.ndarray:
    return FAMILIES[family](np.random.default_rng(seed), shape).astype(F)


def blocks_of(values: np.ndarray) -> np.ndarray:
    return np.asarray(values).reshape(*values.shape[:-1], values.shape[-1] // BLOCK, BLOCK)


@pytest.mark.parametrize("family", FAMILIES)
@each_convention
def test_codes_and_scales_are_those_of_the_published_steps(way: Convention, family: str) -> None:
    values = tensor(family)
    scale, codes = WRITTEN_OUT[way.name](blocks_of(values), np.abs(values).max())
    found = quantise(values, way)
    assert np.array_equal(E4M3.decode(found.block_scales), scale[..., 0])
    assert np.array_equal(E2M1.decode(found.codes), codes.reshape(values.shape).astype(np.float64))
    assert np.array_equal(np.signbit(E2M1.decode(found.codes)), np.signbit(values))


@pytest.mark.parametrize("family", ["normal", "outliers", "uniform", "large"])
def test_the_two_most_used_conventions_agree_on_ordinary_values(family: str) -> None:
    values = tensor(family, (256, 1024))
    one, other = quantise(values, TRANSFORMER_ENGINE), quantise(values, MODELOPT)
    assert np.array_equal(one.block_scales, other.block_scales)
    assert np.array_equal(one.packed, other.packed)


def test_conventions_part_over_ties() -> None:
    """Whole numbers are often half-way between two codes: the last bit of a quotient tells."""
    values = tensor("whole", (256, 1024))
    one, other = quantise(values, TRANSFORMER_ENGINE), quantise(values, MODELOPT)
    assert one.tensor_scale == other.tensor_scale
    assert 0.005 < (one.codes != other.codes).mean() < 0.02


def test_conventions_part_over_tiny_blocks_and_zeros() -> None:
    values = np.zeros((3, BLOCK), dtype=F)
    values[0], values[1] = 6 * 448, 2.0**-10
    scales = {
        way.name: E4M3.decode(quantise(values, way).block_scales)[:, 0].tolist()
        for way in CONVENTIONS
    }
    assert scales == {
        "transformer-engine": [448, 0, 0],
        "modelopt": [448, 2.0**-9, 1],
        "torchao": [448, 2.0**-6, 2.0**-6],
        "compressed-tensors": [448, 0.125, 0.125],
    }


def test_a_block_by_hand() -> None:
    """The largest value is 2688, so that the tensor scale is 1 and the block scale 448."""
    units = [0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6, -0.0, -0.3, 1, 1.5, 3, 4, 5.1]
    found = quantise(np.array(units) * 448, MODELOPT)
    assert (found.tensor_scale, found.block_scales.tolist()) == (1, [0x7E])
    assert found.codes.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 7, 8, 9, 2, 3, 5, 6, 7]
    assert found.packed.tolist() == [0x00, 0x22, 0x44, 0x66, 0x87, 0x29, 0x53, 0x76]
    assert found.dequantise()[8] == 2688


# What comes in, and what does not.


@each_convention
def test_zeros_stay_zeros(way: Convention) -> None:
    found = quantise(np.array([0.0, -0.0] * 16), way)
    assert found.codes.tolist() == [0, 8] * 16
    assert not found.dequantise().any()


@pytest.mark.parametrize("shape", [(16,), (1, 16), (3, 5, 32), (2, 3, 4, 48), (0, 16), (4, 0)])
def test_any_shape_with_whole_blocks(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).normal(size=shape)
    found = quantise(values)
    assert found.shape == found.codes.shape == found.dequantise().shape == shape
    assert found.packed.shape == (*shape[:-1], shape[-1] // 2)
    assert found.nbytes == values.size // 2 + values.size // 16 + 4


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_narrow_floats_are_themselves(kind: type) -> None:
    values = np.random.default_rng(0).normal(size=(8, 64)).astype(kind)
    found, same = quantise(values), quantise(values.astype(F))
    assert np.array_equal(found.packed, same.packed)
    assert found.tensor_scale == same.tensor_scale


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(17), "multiple of 16; the shape is (17,)"),
        (np.ones((16, 8)), "multiple of 16; the shape is (16, 8)"),
        (np.float64(1), "multiple of 16; the shape is ()"),
        (np.ones(16, dtype=int), "not of int64"),
        (["a"] * 16, "not of str"),
        (np.array([[1.0] * 16, [1.0] * 15 + [np.nan]]), "that at (1, 15) is nan"),
        (np.array([-np.inf] * 16), "that at (0,) is -inf"),
        (np.array([1e39] * 16), "finite in float32; that at (0,) is 1e+39"),
    ],
)
def test_what_cannot_be_quantised(values: np.ndarray, message: str) -> None:
    with pytest.raises(ModelError) as told:
        quantise(values)
    assert message in str(told.value)


@pytest.mark.parametrize("amax", [0, -1, np.nan, np.inf, 1e39, "x", True, [1.0]])
def test_a_calibrated_amax_is_positive_and_finite(amax: float) -> None:
    with pytest.raises(ModelError, match="amax of a tensor is positive and finite"):
        quantise(np.ones(16), amax=amax)


def test_parts_that_do_not_fit() -> None:
    packed = np.zeros((2, 16), dtype=np.uint8)
    with pytest.raises(ModelError, match="a block scale for every 8 bytes"):
        Quantised(packed, np.zeros((2, 3), dtype=np.uint8), 1.0)
    with pytest.raises(ModelError, match="positive and finite, not nan"):
        Quantised(packed, np.zeros((2, 2), dtype=np.uint8), float("nan"))
    with pytest.raises(ModelError, match="positive and finite, not 0"):
        Quantised(packed, np.zeros((2, 2), dtype=np.uint8), 0)


def test_what_is_larger_than_was_calibrated_saturates() -> None:
    found = quantise(np.array([1.0, 50.0] * 8), amax=10.0)
    assert found.block_scales.tolist() == [0x7E]
    assert found.dequantise()[1] == pytest.approx(10)


# Laws.

FLOATS = some.floats(-1e4, 1e4, width=32) | some.floats(-(2.0**-20), 2.0**-20, width=32)
TENSORS = some.integers(1, 3).flatmap(
    lambda blocks: arrays(F, (2, BLOCK * blocks), elements=FLOATS)
)
WAYS = some.sampled_from(CONVENTIONS)
law = settings(max_examples=80, deadline=None)


@law
@given(TENSORS, WAYS)
def test_no_value_is_further_off_than_its_bound(values: np.ndarray, way: Convention) -> None:
    found = quantise(values, way)
    errors = np.abs(found.dequantise() - values)
    assert (errors <= value_bound(values, found.steps)).all()
    assert (errors <= np.abs(values) * (1 + 1e-6)).all()
    largest = np.abs(blocks_of(values)).max(axis=-1)
    of_all = max(np.abs(values).max(), LEAST_AMAX)
    normal = largest >= LEAST_NORMAL_BLOCK * of_all * (1 + 1e-6)
    assert (blocks_of(errors).max(axis=-1) <= block_bound(largest))[normal].all()


@pytest.mark.parametrize("family", FAMILIES)
@each_convention
def test_bounds_hold_on_random_tensors(way: Convention, family: str) -> None:
    values = tensor(family, seed=11)
    found = quantise(values, way)
    errors = np.abs(found.dequantise() - values)
    assert (errors <= value_bound(values, found.steps)).all()


def test_the_bounds_are_tight() -> None:
    """Every half gap is attained, and the share of a block's largest value all but."""
    ties = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6] * 2) * 448
    found = quantise(ties, MODELOPT)
    errors = np.abs(found.dequantise() - ties)
    assert errors == pytest.approx(np.array([0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 1, 0] * 2) * 448)
    gaps = value_bound(ties, found.steps)[errors > 0]
    assert errors[errors > 0] == pytest.approx(gaps, rel=1e-5)
    # The first block fixes the tensor scale at 1; the scale of the second is just above 17/16.
    largest = 6 * (1.0625 + 2.0**-20)
    values = np.array([2688.0] * 16 + [largest] + [5 * 1.125 * (1 - 2.0**-20)] * 15)
    worst = np.abs(quantise(values, MODELOPT).dequantise() - values)[16:].max()
    assert OF_BLOCK * 0.9999 < worst / largest < OF_BLOCK


@law
@given(TENSORS, WAYS)
def test_negated_values_have_the_other_sign_bit(values: np.ndarray, way: Convention) -> None:
    one, other = quantise(values, way), quantise(-values, way)
    assert np.array_equal(one.codes ^ 8, other.codes)
    assert np.array_equal(one.block_scales, other.block_scales)


@law
@given(TENSORS, WAYS)
def test_order_in_a_block_is_kept(values: np.ndarray, way: Convention) -> None:
    read = blocks_of(quantise(values, way).dequantise())
    order = np.argsort(blocks_of(values), axis=-1)
    assert (np.diff(np.take_along_axis(read, order, axis=-1)) >= 0).all()


@law
@given(TENSORS, WAYS, some.integers(-40, 40))
def test_a_power_of_two_changes_the_tensor_scale_alone(
    values: np.ndarray, way: Convention, power: int
) -> None:
    values = np.where(np.abs(values) < 2.0**-40, 0, values).astype(F)
    one, other = quantise(values, way), quantise(np.ldexp(values, power), way)
    assert np.array_equal(one.packed, other.packed)
    assert np.array_equal(one.block_scales, other.block_scales)
    if values.any():
        ratio = 2.0**-power if way.reciprocal else 2.0**power
        assert other.tensor_scale == one.tensor_scale * ratio


@law
@given(TENSORS, WAYS)
def test_what_was_read_is_quantised_to_itself(values: np.ndarray, way: Convention) -> None:
    """Where block scales have steps to spare: one of 1 or 2 times 2^-9 may round again."""
    one = quantise(values, way)
    again = quantise(one.dequantise(), way)
    settled = one.block_scales >= 3
    largest = np.abs(blocks_of(one.dequantise())).max(axis=-1)
    settled &= largest == 6 * one.steps[..., ::BLOCK]
    assert np.array_equal(one.block_scales[settled], again.block_scales[settled])
    assert np.array_equal(blocks_of(one.codes)[settled], blocks_of(again.codes)[settled])


@each_convention
def test_blocks_with_a_normal_scale_are_always_quantised_to_themselves(way: Convention) -> None:
    values = tensor("normal", (256, 512))
    one = quantise(values, way)
    assert (one.block_scales >= 8).all()
    again = quantise(one.dequantise(), way)
    assert np.array_equal(one.packed, again.packed)
    assert np.array_equal(one.block_scales, again.block_scales)
    assert again.tensor_scale == pytest.approx(one.tensor_scale, rel=2.0**-22)


# Where the bytes lie.


@given(
    arrays(np.uint8, some.tuples(some.integers(0, 4), some.just(32)), elements=some.integers(0, 15))
)
def test_codes_are_packed_and_found_again(codes: np.ndarray) -> None:
    packed = pack(codes)
    assert packed.nbytes * 2 == codes.nbytes
    assert np.array_equal(unpack(packed), codes)
    assert np.array_equal(packed & 15, codes[..., 0::2])


def test_what_cannot_be_packed() -> None:
    with pytest.raises(ModelError, match="packed in pairs"):
        pack(np.zeros(3, dtype=np.uint8))
    with pytest.raises(ModelError, match="at most 15, not 16"):
        pack(np.array([16, 0], dtype=np.uint8))
    with pytest.raises(ModelError, match="at least one axis"):
        unpack(np.uint8(1) * np.ones((), dtype=np.uint8))


@pytest.mark.parametrize(
    ("rows", "columns", "padded"),
    [(1, 1, (128, 4)), (128, 4, (128, 4)), (129, 5, (256, 8)), (0, 3, (0, 4)), (3, 0, (128, 0))],
)
def test_scales_are_swizzled_in_tiles_of_128_by_4(
    rows: int, columns: int, padded: tuple[int, int]
) -> None:
    assert padded_shape(rows, columns) == padded
    scales = np.random.default_rng(2).integers(1, 127, (rows, columns), dtype=np.uint8)
    swizzled = swizzle(scales)
    assert swizzled.size == padded[0] * padded[1]
    assert np.count_nonzero(swizzled) == scales.size
    tiles_across = padded[1] // 4
    for row in range(rows):
        for column in range(columns):
            tile = (row // 128) * tiles_across + column // 4
            place = 512 * tile + (row % 32) * 16 + (row % 128 // 32) * 4 + column % 4
            assert swizzled[place] == scales[row, column]
    assert np.array_equal(unswizzle(swizzled, rows, columns), scales)


def test_what_is_no_matrix_of_scales() -> None:
    with pytest.raises(ModelError, match="swizzled as a matrix"):
        swizzle(np.zeros(4, dtype=np.uint8))
    with pytest.raises(ModelError, match="3 rows of 3 scales are 512 bytes"):
        unswizzle(np.zeros(9, dtype=np.uint8), 3, 3)
    with pytest.raises(ModelError, match="has no -1 rows"):
        padded_shape(-1, 4)


def test_padding_costs_small_tensors_most() -> None:
    assert quantise(np.ones((1, 16))).padded_nbytes == 8 + 512 + 4
    assert quantise(np.ones((128, 64))).padded_nbytes == quantise(np.ones((128, 64))).nbytes


# A block without its scales: what the world's ``kv_consistent`` abstracts.


def beyond_bound(written: Quantised, values: np.ndarray, read: Quantised) -> float:
    """The share of values that are read back further off than quantisation explains."""
    errors = np.abs(read.dequantise() - values)
    return float((errors > value_bound(values, written.steps)).mean())


def test_a_block_without_its_scales_is_wrong() -> None:
    values = tensor("normal", (4, 128))
    written = quantise(values)
    packed, scales, factor = written.packed, written.block_scales, written.tensor_scale
    stale = quantise(tensor("outliers", (4, 128), seed=8) * 3)
    ones = np.full_like(scales, 0x38)
    assert beyond_bound(written, values, written) == 0
    assert beyond_bound(written, values, Quantised(packed, ones, factor)) > 0.9
    assert beyond_bound(written, values, Quantised(packed, np.zeros_like(scales), factor)) > 0.8
    assert beyond_bound(written, values, Quantised(packed, stale.block_scales, factor)) > 0.3
    assert beyond_bound(written, values, Quantised(packed, scales, stale.tensor_scale)) > 0.8
    assert beyond_bound(written, values, Quantised(packed, scales, 1.0)) > 0.8


def test_scales_read_in_another_way_are_wrong_by_a_factor() -> None:
    """What ``compare-scales`` is for: the tensor scale is taken for its reciprocal."""
    values = tensor("normal", (4, 128))
    written = quantise(values, COMPRESSED_TENSORS)
    read = Quantised(written.packed, written.block_scales, written.tensor_scale, MODELOPT)
    factors = read.dequantise()[written.codes % 8 > 0] / written.dequantise()[written.codes % 8 > 0]
    assert factors == pytest.approx(written.tensor_scale**2)
    assert factors[0] > 1e5


# Faults planted in the codec, and the tests above that find them.


def half_up(numbers: np.ndarray) -> np.ndarray:
    return np.floor(numbers + 0.5)


def towards_zero(numbers: np.ndarray) -> np.ndarray:
    return np.floor(numbers)


def no_cut(numbers: np.ndarray, _: float) -> np.ndarray:
    return numbers


def swapped(codes: np.ndarray) -> np.ndarray:
    return codes[..., 1::2] | (codes[..., 0::2] << 4)


def no_tensor_scale(_: Convention, scales: np.ndarray, __: float) -> np.ndarray:
    return scales


def sign_lost(values: np.ndarray) -> np.ndarray:
    return values < 0


HERE = "rackproof.model.performance.nvfp4"
FAULTS = [
    (f"{HERE}.minifloat.np.rint", half_up, test_a_block_by_hand),
    (
        f"{HERE}.minifloat.np.rint",
        half_up,
        lambda: test_codes_and_scales_are_those_of_the_published_steps(MODELOPT, "whole"),
    ),
    (f"{HERE}.minifloat.np.rint", towards_zero, test_the_bounds_are_tight),
    (
        f"{HERE}.minifloat.np.rint",
        towards_zero,
        lambda: test_bounds_hold_on_random_tensors(MODELOPT, "normal"),
    ),
    (f"{HERE}.minifloat.np.minimum", no_cut, test_what_is_larger_than_was_calibrated_saturates),
    (f"{HERE}.minifloat.np.signbit", sign_lost, lambda: test_zeros_stay_zeros(MODELOPT)),
    (f"{HERE}.codec.pack", swapped, test_a_block_by_hand),
    (f"{HERE}.codec.Convention.step", no_tensor_scale, test_a_block_without_its_scales_is_wrong),
    (
        f"{HERE}.codec.Convention.step",
        no_tensor_scale,
        lambda: test_bounds_hold_on_random_tensors(TORCHAO, "small"),
    ),
]


@pytest.mark.parametrize(("place", "fault", "found_by"), FAULTS)
def test_a_planted_fault_is_found(
    place: str,
    fault: Callable[..., np.ndarray],
    found_by: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found_by()
    with monkeypatch.context() as changed:
        changed.setattr(place, fault)
        with pytest.raises((AssertionError, ModelError)):
            found_by()


def test_a_list_without_a_shape_is_told() -> None:
    with pytest.raises(ModelError, match="NVFP4 is made of an array"):
        quantise([[1.0] * 16, [1.0]])
