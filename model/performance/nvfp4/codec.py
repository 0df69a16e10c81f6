"""NVFP4: blocks of 16 values in E2M1, a scale in E4M3 for each, and one in float32 for the tensor.

A code stands for ``e2m1 * block scale * tensor scale``. Where the bytes of a block are read with
other scales than those they were written with, nothing tells, and the values are wrong: that is
what the world's ``kv-consistent`` has of it (``rackproof.model.kv.Scales``).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from rackproof.model.kernel import ModelError
from rackproof.model.performance.nvfp4.convention import (
    TRANSFORMER_ENGINE,
    Convention,
    Singles,
)
from rackproof.model.performance.nvfp4.layout import padded_shape
from rackproof.model.performance.nvfp4.minifloat import E2M1, E4M3, Codes, Values
from rackproof.model.performance.nvfp4.packing import pack, unpack

BLOCK: Final = 16
"""Values that share a block scale; they lie next to each other on the last axis."""
TENSOR_SCALE_BYTES: Final = 4
_KINDS: Final = ("float16", "bfloat16", "float32", "float64")


@frozen(eq=False)
class Quantised:
    """A tensor in NVFP4.

    packed: two codes a byte, (..., n / 2). block_scales: codes of E4M3, (..., n / 16).
    tensor_scale: a number of float32; its meaning is that of the convention.
    """

    packed: Codes
    block_scales: Codes
    tensor_scale: float = field()
    convention: Convention = TRANSFORMER_ENGINE

    def __attrs_post_init__(self) -> None:
        """Refuse parts that do not fit each other."""
        *rows, halves = self.packed.shape
        if self.block_scales.shape != (*rows, 2 * halves // BLOCK) or 2 * halves % BLOCK:
            raise ModelError(
                f"packed codes of shape {self.packed.shape} need a block scale for every 8 bytes, "
                f"not {self.block_scales.shape}"
            )

    @tensor_scale.validator
    def _check(self, _: Any, value: float) -> None:
        if not np.isfinite(value) or value <= 0:
            raise ModelError(f"a tensor scale is positive and finite, not {value}")

    @property
    def codes(self) -> Codes:
        """One code a value, in the shape of the tensor."""
        return unpack(self.packed)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return (*self.packed.shape[:-1], 2 * self.packed.shape[-1])

    @property
    def steps(self) -> Values:
        """What the code of 1 stands for, for each value: both levels of scales together."""
        steps = self.convention.step(E4M3.decode(self.block_scales), self.tensor_scale)
        return np.repeat(steps, BLOCK, axis=-1)

    @property
    def nbytes(self) -> int:
        """Bytes of codes and scales, without padding: n / 2 + n / 16 + 4."""
        return self.packed.nbytes + self.block_scales.nbytes + TENSOR_SCALE_BYTES

    @property
    def padded_nbytes(self) -> int:
        """Bytes with the matrix of block scales as the hardware reads it, in whole tiles."""
        *rows, columns = self.block_scales.shape
        high, wide = padded_shape(int(np.prod(rows)), columns)
        return self.packed.nbytes + high * wide + TENSOR_SCALE_BYTES

    def dequantise(self) -> Values:
        """The values, in float64: a code of 2 bits of precision times a scale of 4 times one of 24
        fit its 53, so that nothing is rounded (but for the division where the tensor scale is a
        reciprocal).
        """
        return E2M1.decode(self.codes) * self.steps


def quantise(
    values: ArrayLike, convention: Convention = TRANSFORMER_ENGINE, amax: float | None = None
) -> Quantised:
    """The tensor in NVFP4; the last axis is a multiple of 16, and may be preceded by any others.

    amax: the largest absolute value, where it was calibrated and not measured; larger values
    saturate. Values are taken to float32 first, as kernels take them. A code keeps the sign of -0,
    as conversions in hardware do. ``ModelError`` for values that are not finite (in float32), and
    for a last axis with a rest: those who pad it know with what, and where it ends.
    """
    singles = _singles(values)
    blocks = singles.reshape(*singles.shape[:-1], singles.shape[-1] // BLOCK, BLOCK)
    largest = np.abs(blocks).max(axis=-1, initial=0)
    of_all = _amax(largest, amax)
    scales = _block_codes(largest, of_all, convention)
    rounded = E4M3.decode(scales).astype(np.float32)[..., np.newaxis]
    # A scale of 0 has no reciprocal: conventions say what they do with infinity.
    with np.errstate(divide="ignore", over="ignore"):
        codes = E2M1.encode(convention.scaled(blocks, rounded, of_all)).reshape(singles.shape)
    return Quantised(pack(codes), scales, float(convention.tensor_scale(of_all)), convention)


def _singles(values: ArrayLike) -> Singles:
    """The values in float32, checked."""
    try:
        given = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise ModelError(f"NVFP4 is made of an array: {error}") from None
    if given.dtype.name not in _KINDS:
        raise ModelError(f"NVFP4 is made of {', '.join(_KINDS)}, not of {given.dtype.name}")
    if not given.ndim or given.shape[-1] % BLOCK:
        raise ModelError(f"the last axis is a multiple of {BLOCK}; the shape is {given.shape}")
    with np.errstate(over="ignore"):
        singles: Singles = given.astype(np.float32)
    wrong = np.argwhere(~np.isfinite(singles))
    if len(wrong):
        where = tuple(int(index) for index in wrong[0])
        raise ModelError(f"values are finite in float32; that at {where} is {given[where]}")
    return singles


def _amax(largest: Singles, calibrated: float | None) -> np.float32:
    if calibrated is None:
        return np.float32(largest.max(initial=0))
    is_number = isinstance(calibrated, int | float | np.number) and not isinstance(calibrated, bool)
    if not is_number or not 0 < calibrated <= float(np.finfo(np.float32).max):
        raise ModelError(f"the amax of a tensor is positive and finite, not {calibrated!r}")
    return np.float32(calibrated)


def _block_codes(largest: Singles, amax: np.float32, convention: Convention) -> Codes:
    """The block scales in E4M3: too large ones saturate, where a bare conversion gives NaN."""
    with np.errstate(over="ignore"):
        exact = convention.block_scale(largest, amax)
    codes = E4M3.encode(np.maximum(exact, convention.least))
    codes = np.where(codes == 0, E4M3.encode(convention.underflown), codes)
    return np.where(largest == 0, E4M3.encode(convention.zeros), codes)
