"""Numbers with their units: 2 s, 900 GB/s, 3000 tokens, 90 /s, 95 %."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from attrs import frozen

from rackproof.scenarios.errors import hint
from rackproof.scenarios.places import Place

_AMOUNT: Final = re.compile(
    r"([-+]?(?:[0-9][0-9_,]{,30}(?:\.[0-9]{,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?)\s*(\S.*)?"
)


@frozen
class Amount:
    """A kind of number: what it is called, an example, and what each unit is worth in SI.

    least, most: less (unless it is nothing), or more, is taken for a slip; in the unit si.
    """

    what: str
    example: str
    units: Mapping[str, float]
    least: float
    most: float
    si: str = ""

    def read(
        self, place: Place, low: float = 0, high: float = math.inf, *, least: bool = False
    ) -> float | None:
        """The number in SI units, above ``low`` (``least``: or equal to it) and up to ``high``."""
        found = _AMOUNT.fullmatch(_text(place))
        if found is None or (found[2] or "") not in self.units:
            self._refuse(place, found[2] if found else None)
            return None
        value = _product(found[1].replace(",", "").replace("_", ""), self.units[found[2] or ""])
        if (low < value <= high and math.isfinite(value)) or (least and value == low):
            return self._plausible(place, value)
        above = f"{'from' if least else 'above'} {low:g}"
        upto = f" and up to {high:g}" if high < math.inf else ""
        place.wrong(f"{self.what} {above}{upto}, such as {self.example}")
        return None

    def _plausible(self, place: Place, value: float) -> float | None:
        if value == 0 or self.least <= abs(value) <= self.most:
            return value
        bounds = f"from {self.least:g} to {self.most:g}"
        place.wrong(f"{self.what} {bounds} {self.si}".rstrip() + f", such as {self.example}")
        return None

    def _refuse(self, place: Place, unit: str | None) -> None:
        units = [name for name in self.units if name]
        is_number = unit or isinstance(place.value, int | float)
        near = hint(unit, units) if unit else f" (units: {', '.join(units)})"
        told = near if is_number and units else ""
        place.fail(f"expected {self.what} such as {self.example}, not {place.seen}{told}")


def _product(digits: str, unit: float) -> float:
    """The nearest float: 95 % is 0.95 to the last bit."""
    try:
        return float(Fraction(digits) * Fraction(str(unit)))
    except OverflowError:
        return math.inf


def _text(place: Place) -> str:
    """A scalar as it was written; a number without a unit is one, of a unit that has no name."""
    value = place.value
    if isinstance(value, bool) or value is None:
        return ""
    return value.strip() if isinstance(value, str) else str(value)


DURATION: Final = Amount(
    "a time",
    "50 ms",
    {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86_400},
    1e-9,
    1e10,
    "s",
)
BANDWIDTH: Final = Amount(
    "a bandwidth",
    "200 GB/s",
    {"MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8}
    | {"Tbit/s": 1e12 / 8},
    1,
    1e18,
    "B/s",
)
SIZE: Final = Amount(
    "a size",
    "128 GB",
    {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
    | {"KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3, "TiB": 1024.0**4},
    1,
    1e18,
    "B",
)
RATE: Final = Amount("a rate", "90 /s", {"/s": 1, "/min": 1 / 60, "/h": 1 / 3600}, 1e-6, 1e9, "/s")
SHARE: Final = Amount("a share", "90 %", {"": 1, "%": 0.01}, 1e-6, 1)
TOKENS: Final = Amount("a number of tokens", "3000 tokens", {"tokens": 1, "token": 1}, 1, 1e9)
PLAIN: Final = Amount("a number", "0.5", {"": 1}, 1e-6, 1e6)


def tokens(place: Place, low: int = 1, high: int = 10_000_000) -> int | None:
    """A whole number of tokens."""
    value = TOKENS.read(place, low, high, least=True)
    if value is not None and value != int(value):
        place.wrong("a whole number of tokens such as 3000 tokens")
        return None
    return None if value is None else int(value)
