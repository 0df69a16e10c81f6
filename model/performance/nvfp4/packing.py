"""Two codes of 4 bits a byte: the even index in the low half."""

from __future__ import annotations

import numpy as np

from rackproof.model.kernel import ModelError
from rackproof.model.performance.nvfp4.minifloat import Codes


def pack(codes: Codes) -> Codes:
    """Bytes of 4-bit codes, (..., n) to (..., n / 2); ``ModelError`` for an odd n, a code > 15."""
    if not codes.ndim or codes.shape[-1] % 2:
        raise ModelError(f"4-bit codes are packed in pairs; their shape is {codes.shape}")
    if (codes > 0xF).any():
        raise ModelError(f"a code of 4 bits is at most 15, not {int(codes.max())}")
    return (codes[..., 0::2] | (codes[..., 1::2] << 4)).astype(np.uint8)


def unpack(packed: Codes) -> Codes:
    """The 4-bit codes in bytes, (..., n / 2) to (..., n)."""
    if not packed.ndim:
        raise ModelError("packed codes have at least one axis")
    halves = np.stack([packed & 0xF, packed >> 4], axis=-1)
    return halves.reshape(*packed.shape[:-1], 2 * packed.shape[-1])
