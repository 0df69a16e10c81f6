"""What outliers do to 4-bit values, under one scale, under block scales, and under both levels.

The signal-to-quantisation-noise ratio, SQNR, is ``10 log10(sum x^2 / sum (x - q(x))^2)``, in dB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from rackproof.model.kernel import ModelError
from rackproof.model.performance.nvfp4.codec import BLOCK, quantise
from rackproof.model.performance.nvfp4.convention import MODELOPT, RANGE, Singles
from rackproof.model.performance.nvfp4.minifloat import E2M1, Values

VALUES: Final = 2**20
"""How many values a family has in the table. The largest of them grows with their number, and the
noise under one scale with it."""
HEAD_DIM: Final = 128
_MX_BLOCK: Final = 32


@frozen
class Row:
    """One family of values in one format. bits_per_value: with scales, without padding."""

    family: str
    scheme: str
    bits_per_value: float
    sqnr_db: float


def sqnr_db(values: Singles, read: Values) -> float:
    """The SQNR of values as they are read back; infinite where nothing was lost."""
    wide = values.astype(np.float64)
    noise, signal = float(((wide - read) ** 2).sum()), float((wide**2).sum())
    if not signal:
        raise ModelError("zeros have no signal-to-noise ratio")
    return float(10 * np.log10(signal / noise)) if noise else float("inf")


# Families of values.


def gaussian(chance: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Independent values of variance 1."""
    return chance.normal(size=count)


def rare_outliers(chance: np.random.Generator, count: int) -> NDArray[np.float64]:
    """As Gaussian, but one in 10,000 is a hundred times as large."""
    return gaussian(chance, count) * np.where(chance.random(count) < 1e-4, 100, 1)


def outlying_channel(chance: np.random.Generator, count: int) -> NDArray[np.float64]:
    """As Gaussian, but one channel of 128 is twenty times as large: keys are like that."""
    return gaussian(chance, count) * np.where(np.arange(count) % HEAD_DIM == 0, 20, 1)


def small(chance: np.random.Generator, count: int) -> NDArray[np.float64]:
    """As Gaussian, all 2^-12 as large: E4M3 alone does not go down as far."""
    return gaussian(chance, count) * 2.0**-12


def large(chance: np.random.Generator, count: int) -> NDArray[np.float64]:
    """As Gaussian, all 2^12 as large: E4M3 alone does not go up as far."""
    return gaussian(chance, count) * 2.0**12


Family = Callable[[np.random.Generator, int], NDArray[np.float64]]
FAMILIES: Final[dict[str, Family]] = {
    "Gaussian": gaussian,
    "1e-4 outliers x100": rare_outliers,
    "one channel of 128 x20": outlying_channel,
    "Gaussian x2^-12": small,
    "Gaussian x2^12": large,
}

# Ways to keep them.


def two_levels(values: Singles) -> Values:
    """NVFP4."""
    return quantise(values, MODELOPT).dequantise()


def tensor_scale_alone(values: Singles) -> Values:
    """E2M1 under one scale, which maps the largest value to 6."""
    scale = float(np.abs(values).max()) / E2M1.largest
    return E2M1.round(values / np.float64(scale)) * scale


def block_scale_alone(values: Singles) -> Values:
    """NVFP4 with a tensor scale of 1: block scales are what E4M3 can hold of them."""
    return quantise(values, MODELOPT, amax=float(RANGE)).dequantise()


def mxfp4(values: Singles) -> Values:
    """MXFP4, for contrast: blocks of 32, each with a power of two, 2^(floor(log2 amax) - 2), under
    which values up to 8 are cut to 6 (OCP Microscaling Formats 1.0, sections 5.2 and 6.3).
    """
    blocks = values.astype(np.float64).reshape(-1, _MX_BLOCK)
    largest = np.abs(blocks).max(axis=-1, keepdims=True)
    scales = np.ldexp(1.0, np.frexp(largest)[1] - 1 - 2)
    read: Values = E2M1.round(blocks / scales) * scales
    return read.reshape(values.shape)


Scheme = Callable[[Singles], Values]
SCHEMES: Final[dict[str, tuple[float, Scheme]]] = {
    "NVFP4, two levels": (4 + 8 / BLOCK, two_levels),
    "tensor scale alone": (4, tensor_scale_alone),
    "block scale alone": (4 + 8 / BLOCK, block_scale_alone),
    "MXFP4": (4 + 8 / _MX_BLOCK, mxfp4),
}
"""Each with its bits per value; 32 bits of a tensor scale are nothing over a million values."""


def rows(seed: int = 0, count: int = VALUES) -> list[Row]:
    """The table, family by family; the same for the same seed."""
    if count <= 0 or count % HEAD_DIM:
        raise ModelError(f"a family has a multiple of {HEAD_DIM} values, not {count}")
    return list(_rows(seed, count))


def _rows(seed: int, count: int) -> Iterator[Row]:
    for family, draw in FAMILIES.items():
        values = draw(np.random.default_rng(seed), count).astype(np.float32)
        for scheme, (bits, way) in SCHEMES.items():
            yield Row(family, scheme, bits, sqnr_db(values, way(values)))
