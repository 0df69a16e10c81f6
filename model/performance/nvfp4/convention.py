"""How the two levels of scales are computed: four published ways, in float32 as they all are.

They agree in the format. They differ in the order of operations, hence in the last bit of a
quotient now and then, which tells where a value is half-way between two codes; and in what the
scale of a tiny block or of a block of zeros is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from rackproof.model.performance.nvfp4.minifloat import E2M1, E4M3

Singles = NDArray[np.float32]

SIX: Final = np.float32(E2M1.largest)
RANGE: Final = np.float32(E2M1.largest * E4M3.largest)
"""2688: what the largest value of a tensor is mapped to, by its tensor scale."""
LEAST_TENSOR_SCALE: Final = np.float32(2.0**-117)
"""Every product with a block scale is a normal number of float32 from here on (2^-117 * 2^-9 is the
least). It concerns tensors without a value over 1.6e-32, of which the published ways divide by zero
or have scales that GPUs may flush to zero."""
_LARGEST: Final = np.finfo(np.float32).max
_ONE: Final = np.float32(1)
_SIXTH: Final = _ONE / SIX


@frozen
class Convention:
    """A way to choose scales, and to bring values into the range of E2M1.

    What it computes with are numpy's functions, so that a solver can run them on symbolic values.

    tensor_scale: what is stored, from amax, the largest absolute value of the tensor. block_scale:
    what is rounded to E4M3, from that of each block, and amax. scaled: the values in the range of
    E2M1, from values, the rounded block scales, and amax. reciprocal: values are divided by the
    tensor scale, not multiplied, to read them. least: block scales are at least this before they
    are rounded. underflown: the scale of a block whose scale was rounded to 0; zeros: of a block of
    zeros.
    """

    name: str
    source: str
    tensor_scale: Callable[[np.float32], np.float32]
    block_scale: Callable[[Singles, np.float32], Singles]
    scaled: Callable[[Singles, Singles, np.float32], Singles]
    reciprocal: bool = False
    least: float = 0
    underflown: float = 0
    zeros: float = 0

    def step(self, block_scales: NDArray[np.float64], tensor_scale: float) -> NDArray[np.float64]:
        """What the code of 1 stands for in each block, from the values of both levels of scales."""
        if self.reciprocal:
            return block_scales / tensor_scale
        return block_scales * tensor_scale


def _decoding(amax: np.float32) -> np.float32:
    """Amax / 2688."""
    scale: np.float32 = np.maximum(amax / RANGE, LEAST_TENSOR_SCALE)
    return scale


def _encoding(amax: np.float32) -> np.float32:
    """2688 / amax."""
    scale: np.float32 = RANGE / np.maximum(amax, RANGE * LEAST_TENSOR_SCALE)
    return scale


TRANSFORMER_ENGINE: Final = Convention(
    name="transformer-engine",
    source="NVIDIA/TransformerEngine@1a4d3b0, pytorch/custom_recipes/quantization_nvfp4.py",
    tensor_scale=lambda amax: _ONE / _encoding(amax),
    # The factor of 1/6 goes into the tensor's multiplier, which is the reciprocal of its scale.
    block_scale=lambda largest, amax: largest * (_encoding(amax) * _SIXTH),
    scaled=lambda values, block, amax: (
        values * np.minimum(_ONE / (block * (_ONE / _encoding(amax))), _LARGEST)
    ),
)
MODELOPT: Final = Convention(
    name="modelopt",
    source="NVIDIA/Model-Optimizer@211c6b3, modelopt/torch/quantization/qtensor/nvfp4_tensor.py",
    tensor_scale=_decoding,
    block_scale=lambda largest, amax: largest / (SIX * _decoding(amax)),
    scaled=lambda values, block, amax: values / (block * _decoding(amax)),
    least=2.0**-9,
    zeros=1,
)
TORCHAO: Final = Convention(
    name="torchao",
    source="pytorch/ao@36027d8, torchao/prototype/mx_formats/nvfp4_tensor.py",
    tensor_scale=_decoding,
    block_scale=lambda largest, amax: largest / SIX / _decoding(amax),
    scaled=lambda values, block, amax: values * (_ONE / _decoding(amax) / block),
    least=2.0**-6,
    zeros=2.0**-6,
)
COMPRESSED_TENSORS: Final = Convention(
    name="compressed-tensors",
    source="neuralmagic/compressed-tensors@024cea3, quantization/utils/helpers.py",
    tensor_scale=_encoding,
    block_scale=lambda largest, amax: _encoding(amax) * (largest / SIX),
    scaled=lambda values, block, amax: values / (block / _encoding(amax)),
    reciprocal=True,
    underflown=0.125,
    zeros=0.125,
)
CONVENTIONS: Final = (TRANSFORMER_ENGINE, MODELOPT, TORCHAO, COMPRESSED_TENSORS)
"""The conventions that are known here."""
