"""E2M1, E4M3 and their likes: every code, every tie and its neighbours, against two others."""

from collections.abc import Callable
from typing import Any

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat.formats import (
    format_info_ocp_e2m1,
    format_info_ocp_e2m3,
    format_info_ocp_e3m2,
    format_info_ocp_e4m3,
)
from hypothesis import given, settings
from hypothesis import strategies as some

from rackproof.model.kernel import ModelError
from rackproof.model.performance.nvfp4 import E2M1, E4M3, MiniFloat

E2M3 = MiniFloat("E2M3", exponent_bits=2, mantissa_bits=3, most=0x1F)
E3M2 = MiniFloat("E3M2", exponent_bits=3, mantissa_bits=2, most=0x1F)
FORMATS = {
    "E2M1": (E2M1, ml_dtypes.float4_e2m1fn, format_info_ocp_e2m1),
    "E4M3": (E4M3, ml_dtypes.float8_e4m3fn, format_info_ocp_e4m3),
    "E2M3": (E2M3, ml_dtypes.float6_e2m3fn, format_info_ocp_e2m3),
    "E3M2": (E3M2, ml_dtypes.float6_e3m2fn, format_info_ocp_e3m2),
}

each_format = pytest.mark.parametrize("name", FORMATS)


def codes_of(form: MiniFloat) -> np.ndarray:
    plain = np.arange(form.most + 1, dtype=np.uint8)
    return np.concatenate([plain, plain | form.sign])


def probes(form: MiniFloat) -> np.ndarray:
    """Every value, every tie, and the float32 on both sides of each; then far beyond."""
    values = form.magnitudes.astype(np.float32)
    points = np.concatenate([values, (values[:-1] + values[1:]) / 2])
    near = [points, np.nextafter(points, np.float32(0)), np.nextafter(points, np.float32(np.inf))]
    top = np.float32(form.largest)
    far = np.array([top * 1.02, top * 1.04, top * 2, 3e38, np.inf, 1e-40, 0], dtype=np.float32)
    found = np.concatenate([*near, far])
    return np.concatenate([found, -found])


def other_codes(dtype: Any, form: MiniFloat, values: np.ndarray) -> np.ndarray:
    """The codes of ml_dtypes, which makes NaN of what is too large for E4M3: cut it first."""
    cut = np.clip(values, -form.largest, form.largest)
    return cut.astype(dtype).view(np.uint8)


def test_the_table_of_e2m1() -> None:
    assert E2M1.magnitudes.tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert E2M1.encode([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]).tolist() == [0, 2, 2, 4, 4, 6, 6]
    assert E2M1.encode([-0.0, -0.2, 7, -np.inf]).tolist() == [8, 8, 7, 15]


def test_the_range_of_e4m3() -> None:
    assert (E4M3.largest, E4M3.least, E4M3.least_normal) == (448, 2.0**-9, 2.0**-6)
    assert E4M3.encode([464, 465, 1e30, 2.0**-10, 1.5 * 2.0**-9]).tolist() == [126, 126, 126, 0, 2]


@each_format
def test_every_code_has_the_value_of_both_oracles(name: str) -> None:
    form, dtype, info = FORMATS[name]
    codes = codes_of(form)
    values = form.decode(codes)
    assert np.array_equal(values, codes.view(dtype).astype(np.float64))
    assert values.tolist() == [gfloat.decode_float(info, int(code)).fval for code in codes]
    assert np.array_equal(np.signbit(values), codes & form.sign > 0)
    assert np.array_equal(form.encode(values), codes)


@each_format
def test_ties_and_their_neighbours_round_as_both_oracles_do(name: str) -> None:
    form, dtype, info = FORMATS[name]
    values = probes(form)
    codes = form.encode(values)
    assert np.array_equal(codes, other_codes(dtype, form, values))
    rounded = [gfloat.round_float(info, float(value), sat=True) for value in values]
    assert np.array_equal(form.decode(codes), rounded)


FAMILIES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda chance: chance.normal(size=20_000),
    "wide": lambda chance: np.exp(chance.normal(size=20_000) * 6) * chance.choice([-1, 1], 20_000),
    "uniform": lambda chance: chance.uniform(-7, 7, 20_000),
    "dyadic": lambda chance: chance.integers(-4096, 4096, 20_000) / 512,
    "bits": lambda chance: chance.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32),
}


@pytest.mark.parametrize("family", FAMILIES)
@each_format
def test_random_values_round_as_ml_dtypes_does(name: str, family: str) -> None:
    form, dtype, _ = FORMATS[name]
    values = FAMILIES[family](np.random.default_rng(7)).astype(np.float32)
    values = values[~np.isnan(values)]
    assert np.array_equal(form.encode(values), other_codes(dtype, form, values))


@pytest.mark.parametrize("name", ["E2M1", "E4M3"])
def test_random_values_round_as_gfloat_does(name: str) -> None:
    form, _, info = FORMATS[name]
    values = np.exp(np.random.default_rng(3).normal(size=5_000) * 4)
    assert np.array_equal(form.round(values), gfloat.round_ndarray(info, values, sat=True))


@settings(deadline=None)
@given(some.floats(allow_nan=False), some.sampled_from(list(FORMATS)))
def test_nothing_of_the_format_is_nearer(value: float, name: str) -> None:
    form = FORMATS[name][0]
    rounded = float(form.round(value))
    assert np.signbit(rounded) == np.signbit(value)
    if abs(value) <= form.largest:
        assert abs(abs(rounded) - abs(value)) == np.abs(form.magnitudes - abs(value)).min()
    else:
        assert abs(rounded) == form.largest


def test_what_has_no_code_or_no_value() -> None:
    with pytest.raises(ModelError, match="E2M1 is asked for the code of NaN"):
        E2M1.encode([1.0, np.nan])
    with pytest.raises(ModelError, match="0x7f is no number in E4M3"):
        E4M3.decode([0x7E, 0x7F])
    with pytest.raises(ModelError, match="0xff is no number in E4M3"):
        E4M3.decode(0xFF)
    with pytest.raises(ModelError, match="0x10 is no number in E2M1"):
        E2M1.decode(0x10)
    with pytest.raises(ModelError, match="whole numbers, not float64"):
        E2M1.decode(1.0)
