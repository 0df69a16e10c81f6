"""Linear expressions over named times, in exact rationals; and times as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final

from attrs import frozen

NANO: Final = 10**9
ZERO: Final = Fraction(0)
ENDLESS: Final = Fraction(10**9)
"""Seconds that stand for infinity: what takes as long never happens."""
_UNITS: Final = ((1, "s"), (10**3, "ms"), (10**6, "us"), (10**9, "ns"))
_MINUTE: Final = 60
CLOSE: Final = 9
"""Digits that a bound is told with."""
WHOLE: Final = 15
"""Digits enough to tell any two times apart."""


def exact(seconds: float) -> Fraction:
    """A time to the nanosecond, infinity as ``ENDLESS``; ``ValueError`` where it is no number."""
    if seconds == math.inf or seconds >= ENDLESS:
        return ENDLESS
    if not math.isfinite(seconds):
        raise ValueError(f"{seconds} s is no time that can be reckoned with")
    return Fraction(round(Fraction(seconds) * NANO), NANO)


def factor(number: float) -> Fraction:
    """A factor as it is written: 0.1 is a tenth."""
    return Fraction(str(number))


@frozen
class Amount:
    """So many seconds, and so many times each of some named times; terms by name, none is 0."""

    seconds: Fraction = ZERO
    terms: tuple[tuple[str, Fraction], ...] = ()

    @classmethod
    def of(cls, seconds: Fraction, terms: Mapping[str, Fraction]) -> Amount:
        """The sum, in the one form that it has."""
        return cls(seconds, tuple(sorted((n, k) for n, k in terms.items() if k)))

    @property
    def factors(self) -> dict[str, Fraction]:
        """How often each name is in it."""
        return dict(self.terms)

    @property
    def is_zero(self) -> bool:
        """Whether it is nothing, whatever the names stand for."""
        return not self.seconds and not self.terms

    @property
    def is_never_negative(self) -> bool:
        """Whether nothing in it is negative; names never are."""
        return self.seconds >= 0 and all(k > 0 for _, k in self.terms)

    def __add__(self, other: Amount) -> Amount:
        """Both."""
        if not other.terms:
            return Amount(self.seconds + other.seconds, self.terms)
        factors = self.factors
        for name, times in other.terms:
            factors[name] = factors.get(name, ZERO) + times
        return Amount.of(self.seconds + other.seconds, factors)

    def __neg__(self) -> Amount:
        """Its opposite."""
        return Amount(-self.seconds, tuple((n, -k) for n, k in self.terms))

    def __sub__(self, other: Amount) -> Amount:
        """The difference."""
        return self + -other

    def scaled(self, times: Fraction) -> Amount:
        """So many times as much."""
        return Amount.of(self.seconds * times, {n: k * times for n, k in self.terms})

    def value(self, values: Mapping[str, Fraction]) -> Fraction:
        """What it comes to."""
        return self.seconds + sum((k * values[n] for n, k in self.terms), ZERO)

    def folded(self, values: Mapping[str, Fraction], free: Iterable[str]) -> Amount:
        """The same with a number in place of every name that is not free."""
        kept = {n: k for n, k in self.terms if n in set(free)}
        known = sum((k * values[n] for n, k in self.terms if n not in kept), ZERO)
        return Amount.of(self.seconds + known, kept)

    def is_at_most(self, other: Amount) -> bool:
        """Whether it is no more than another whatever (not negative) the names stand for."""
        return (other - self).is_never_negative

    @property
    def words(self) -> str:
        """As it is written, to the nanosecond: 2 x heartbeat + 30 s."""
        return self.told(CLOSE)

    def told(self, digits: int) -> str:
        """The same with so many digits of its seconds."""
        parts = [_times(name, times) for name, times in self.terms]
        if self.seconds or not parts:
            parts.append(in_units(self.seconds, digits))
        return " + ".join(parts).replace("+ -", "- ")


def _times(name: str, times: Fraction) -> str:
    if abs(times) == 1:
        return name if times > 0 else f"-{name}"
    return f"{_number(times)} x {name}"


def _number(value: Fraction) -> str:
    """A factor, as a decimal where that is exact."""
    return f"{float(value):g}" if Fraction(f"{float(value):g}") == value else str(value)


def in_units(seconds: Fraction | float, digits: int = 4) -> str:
    """A time in the unit in which it has the fewest digits before the point: 12.4 ms, 2 min 5 s.

    digits: how many are told; with no more than a few, minutes and hours are told as such.
    """
    if seconds >= ENDLESS:
        return "no end"
    if seconds < 0:
        return f"-{in_units(-seconds, digits)}"
    if seconds >= 2 * _MINUTE and digits < CLOSE:
        return _in_minutes(round(seconds))
    return in_one_unit(seconds, digits)


def in_one_unit(seconds: Fraction | float, digits: int = 6) -> str:
    """A time in seconds or a fraction of one, not negative."""
    for per_second, unit in _UNITS:
        value = Decimal(f"{float(seconds * per_second):.{digits}g}")
        if value >= 1:
            return f"{value.normalize():f} {unit}"
    return "0 s" if not seconds else "under 1 ns"


def _in_minutes(seconds: int) -> str:
    minutes, rest = divmod(seconds, _MINUTE)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)
