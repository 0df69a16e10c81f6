"""Floating-point formats of few bits: every code and its value, and rounding to the nearest.

A format has a sign, an exponent field and a mantissa field, subnormals and no infinity. Codes
without their sign bit are in the order of their values, so that the code of the nearest value is a
rounded quotient: no table of decision bounds is needed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from rackproof.model.kernel import ModelError

Codes = NDArray[np.uint8]
Values = NDArray[np.float64]


@frozen
class MiniFloat:
    """A format of 1 sign bit, ``exponent_bits`` and ``mantissa_bits``, with the usual bias.

    most: the largest code without its sign that is a number; larger ones are NaN.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    most: int
    magnitudes: Values = field(init=False, eq=False, repr=False)
    """The value of each code that is a number, without its sign, in increasing order."""

    @magnitudes.default
    def _(self) -> Values:
        codes = np.arange(self.most + 1)
        fields = np.maximum(codes >> self.mantissa_bits, 1)
        steps = codes - ((fields - 1) << self.mantissa_bits)
        magnitudes: Values = np.ldexp(steps.astype(np.float64), self._quantum(fields))
        return magnitudes

    def _quantum(self, fields: NDArray[np.int64]) -> NDArray[np.int64]:
        """Log2 of the distance between neighbours, by exponent field."""
        return fields - self.bias - self.mantissa_bits

    @property
    def bias(self) -> int:
        """What an exponent field is more than the exponent."""
        return int(2 ** (self.exponent_bits - 1)) - 1

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.exponent_bits + self.mantissa_bits)

    @property
    def largest(self) -> float:
        """The largest value."""
        return float(self.magnitudes[-1])

    @property
    def least(self) -> float:
        """The least positive value, a subnormal one."""
        return float(self.magnitudes[1])

    @property
    def least_normal(self) -> float:
        """The least positive value that has all its bits."""
        return float(self.magnitudes[1 << self.mantissa_bits])

    def encode(self, values: ArrayLike) -> Codes:
        """The codes of the nearest values: ties to even, too large to the largest, -0 to its own.

        ``ModelError`` for NaN. Values are taken as float64; narrower ones are that exactly.
        """
        wide = np.asarray(values, dtype=np.float64)
        if np.isnan(wide).any():
            raise ModelError(f"{self.name} is asked for the code of NaN")
        sizes = np.minimum(np.abs(wide), self.largest)
        # The exponent field, subnormals counted with the least normal values.
        fields = np.frexp(np.maximum(sizes, self.least_normal))[1].astype(np.int64) - 1 + self.bias
        steps = np.rint(np.ldexp(sizes, -self._quantum(fields))).astype(np.int64)
        codes = steps + ((fields - 1) << self.mantissa_bits)
        return (codes | np.where(np.signbit(wide), self.sign, 0)).astype(np.uint8)

    def decode(self, codes: ArrayLike) -> Values:
        """The values of codes, exact in float64; ``ModelError`` for a code that is no number."""
        given = np.asarray(codes)
        if not np.issubdtype(given.dtype, np.integer):
            raise ModelError(f"codes of {self.name} are whole numbers, not {given.dtype}")
        plain = given & (self.sign - 1)
        wrong = given[(plain > self.most) | (given < 0) | (given >= 2 * self.sign)]
        if wrong.size:
            raise ModelError(f"{int(wrong[0]):#x} is no number in {self.name}")
        values = self.magnitudes[plain]
        signed: Values = np.where(given & self.sign, -values, values)
        return signed

    def round(self, values: ArrayLike) -> Values:
        """The nearest values of the format, as ``encode`` chooses them."""
        return self.decode(self.encode(values))


E2M1: Final = MiniFloat("E2M1", exponent_bits=2, mantissa_bits=1, most=0x7)
"""0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives (OCP Microscaling Formats 1.0, section 5.3.3)."""
E4M3: Final = MiniFloat("E4M3", exponent_bits=4, mantissa_bits=3, most=0x7E)
"""E4M3FN: up to 448, down to 2^-9; 0x7f and 0xff are NaN (arXiv 2209.05433, table 1)."""
