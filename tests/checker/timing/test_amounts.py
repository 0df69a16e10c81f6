from fractions import Fraction

import pytest

from rackproof.checker.timing.amounts import ENDLESS, Amount, exact, factor, in_one_unit, in_units
from rackproof.checker.timing.condition import inequality
from rackproof.scenarios.quantities import duration

LEASE, READ = (
    Amount.of(Fraction(0), {"lease": Fraction(1)}),
    Amount.of(Fraction(0), {"read": Fraction(1)}),
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (Fraction(1, 10**12), "under 1 ns"),
        (Fraction(7, 10**9), "7 ns"),
        (Fraction(3, 10**4), "300 us"),
        (Fraction("0.0123956"), "12.4 ms"),
        (Fraction("0.99999"), "1 s"),
        (Fraction("0.09637"), "96.37 ms"),
        (30, "30 s"),
        (Fraction("119.94"), "119.9 s"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (7325, "2 h 2 min 5 s"),
        (-2, "-2 s"),
        (float("inf"), "no end"),
    ],
)
def test_times_are_told_in_the_unit_that_fits(seconds: Fraction | float, words: str) -> None:
    assert in_units(seconds) == words


@pytest.mark.parametrize("seconds", ["3600000", "0.0963701", "1e-9", "0.000273067", "59.9999"])
def test_a_time_that_is_written_is_read_as_it_was(seconds: str) -> None:
    assert duration(in_one_unit(Fraction(seconds))) == pytest.approx(float(seconds), rel=1e-6)


def test_times_are_exact_to_the_nanosecond() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-10) == 0
    assert factor(0.1) == Fraction(1, 10)
    assert exact(float("inf")) == ENDLESS
    with pytest.raises(ValueError, match="no time that can be reckoned with"):
        exact(float("nan"))


def test_sums_have_one_form() -> None:
    both = LEASE + READ
    assert both == READ + LEASE
    assert (both - LEASE) == READ
    assert (both - both).is_zero
    assert both.value({"lease": Fraction(30), "read": Fraction(2)}) == 32
    assert both.folded({"lease": Fraction(30), "read": Fraction(2)}, ["read"]) == READ + Amount(
        Fraction(30)
    )
    assert READ.is_at_most(both)
    assert not both.is_at_most(READ)


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (READ - LEASE, "read >= lease"),
        (READ - LEASE - Amount(Fraction(2)), "read >= lease + 2 s"),
        (READ.scaled(Fraction(2)) - LEASE.scaled(Fraction(4)), "read >= 2 x lease"),
        (READ.scaled(Fraction(1, 2)) - LEASE.scaled(Fraction(1, 3)), "3 x read >= 2 x lease"),
        (Amount(Fraction(1, 1000)) - LEASE.scaled(Fraction(2)), "lease <= 500 us"),
        (Amount(Fraction(2)) - LEASE - READ, "lease + read <= 2 s"),
        (Amount(Fraction(-1)), "1 s <= 0 s"),
    ],
)
def test_inequalities_have_no_sign_but_one(amount: Amount, words: str) -> None:
    assert inequality(amount) == words
