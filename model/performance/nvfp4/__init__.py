"""NVFP4, exactly: the formats of few bits, the quantiser of two levels, its layouts and its errors.

Read minifloat (E2M1, E4M3), convention (how scales are chosen), codec (all together); packing and
layout (where the bytes lie), bounds (how wrong a value may be), study (what outliers do).
"""

from rackproof.model.performance.nvfp4.bounds import block_bound, value_bound
from rackproof.model.performance.nvfp4.codec import BLOCK, Quantised, quantise
from rackproof.model.performance.nvfp4.convention import (
    COMPRESSED_TENSORS,
    CONVENTIONS,
    MODELOPT,
    TORCHAO,
    TRANSFORMER_ENGINE,
    Convention,
)
from rackproof.model.performance.nvfp4.layout import padded_shape, swizzle, unswizzle
from rackproof.model.performance.nvfp4.minifloat import E2M1, E4M3, MiniFloat
from rackproof.model.performance.nvfp4.packing import pack, unpack

__all__ = [
    "BLOCK",
    "COMPRESSED_TENSORS",
    "CONVENTIONS",
    "E2M1",
    "E4M3",
    "MODELOPT",
    "TORCHAO",
    "TRANSFORMER_ENGINE",
    "Convention",
    "MiniFloat",
    "Quantised",
    "block_bound",
    "pack",
    "padded_shape",
    "quantise",
    "swizzle",
    "unpack",
    "unswizzle",
    "value_bound",
]
