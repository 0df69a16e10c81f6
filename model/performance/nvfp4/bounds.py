"""How far a quantised value can be from what it was.

With ``y = x / step`` (``step``: block scale times tensor scale, as stored), the nearest value of
E2M1 is at most half a gap away: 1/4 up to 2, 1/2 up to 4, 1 up to 6, and ``|y| - 6`` beyond, where
it saturates. What is rounded is not y, but what float32 makes of it: at most three operations, each
of which is off by 2^-24 of its result.

The block scale is itself rounded, to 3 bits behind the leading one: up by less than 18/17 (from
just above 1 + 1/16 to 1 + 1/8), down by at most 17/16, and then y is 6.375 at most. So in terms of
the block's largest value the error is at most ``(18/17 / 6) * 1 = 3/17`` of it, while the scale is
normal.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from rackproof.model.performance.nvfp4.convention import LEAST_TENSOR_SCALE, RANGE
from rackproof.model.performance.nvfp4.minifloat import E4M3, Values

ROUNDING: Final = 4 * 2.0**-24
"""What three operations in float32 can be off by, and their products, as a share of the result."""
OF_BLOCK: Final = 3 / 17
"""The worst error as a share of the block's largest value."""
LEAST_NORMAL_BLOCK: Final = E4M3.least_normal * 6 / float(RANGE)
"""1/28672: from this share of the tensor's largest value on, the scale of a block is normal."""
LEAST_AMAX: Final = float(RANGE * LEAST_TENSOR_SCALE)
"""1.6e-32: if the tensor's largest value is less, take this for it."""


def value_bound(values: ArrayLike, steps: ArrayLike) -> Values:
    """The most that each value and what is read back can differ, given its block's ``steps``.

    A block whose scale is 0 is read back as zeros.
    """
    sizes, scales = np.abs(np.asarray(values, dtype=np.float64)), np.asarray(steps)
    scaled = np.divide(sizes, scales, out=np.zeros_like(sizes), where=scales > 0)
    half = np.select([scaled <= 2, scaled <= 4, scaled <= 6], [0.25, 0.5, 1.0], scaled - 6)
    return np.where(scales > 0, scales * (half + ROUNDING * scaled), sizes)


def block_bound(block_amax: ArrayLike) -> Values:
    """The most that a value of a block and what is read back can differ, given the block's largest
    absolute value, if that is at least ``LEAST_NORMAL_BLOCK`` of the tensor's (``LEAST_AMAX``).
    """
    return np.asarray(block_amax, dtype=np.float64) * (OF_BLOCK * (1 + 2.0**-20))
