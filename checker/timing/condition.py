"""For which values of named times a run is possible: its times projected out, exactly.

A network has a solution just if no circle of its limits comes to less than nothing. Taking out one
time after another (Fourier and Motzkin, where differences stay differences) leaves the circles:
linear inequalities over the names. Whatever another says already is dropped, and what is left is
held against networks with numbers on both sides of each inequality.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field, frozen

from rackproof.checker.timing.amounts import CLOSE, ENDLESS, NANO, ZERO, Amount, in_units
from rackproof.checker.timing.durations import Durations
from rackproof.checker.timing.network import Conflict, Limit, Schedule, solve
from rackproof.checker.timing.windows import TimedTrace, timed, windows
from rackproof.checker.trace import EngineError, Trace

if TYPE_CHECKING:
    import z3

FEW: Final = 3
"""Digits of a time in a condition that people read."""
MOST: Final = 50_000
"""Sums of limits that are formed before the question is given up."""


class TooMany(Exception):
    """More circles than can be told apart in a reasonable time."""


@frozen
class Condition:
    """Amounts that must all be at least 0, none implied by the others; names are never negative.

    values: the defaults of the names.
    """

    amounts: tuple[Amount, ...]
    values: Mapping[str, Fraction]

    @property
    def holds(self) -> bool:
        """Whether it does by default."""
        return not self.unmet

    @property
    def unmet(self) -> tuple[Amount, ...]:
        """What is not so by default."""
        return tuple(a for a in self.amounts if a.value(self.values) < 0)

    @property
    def is_never(self) -> bool:
        """Whether no values will do."""
        return any(not a.terms and a.seconds < 0 for a in self.amounts)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Each as it is written: kv-read >= lease + 2 s; read < lease is its opposite."""
        return tuple(inequality(amount) for amount in self.amounts)

    @property
    def enough(self) -> str:
        """In a sentence, with a few digits, something by which it is met: 335 ms for 335.02 ms at
        most, 30.1 s for 30.08 s at least.
        """
        return in_short(rounded(amount) for amount in self.amounts)

    @property
    def necessary(self) -> str:
        """In a sentence, with a few digits, something that it takes."""
        return in_short(rounded(amount, up=True) for amount in self.amounts)


def in_short(amounts: Iterable[Amount]) -> str:
    """That amounts are at least 0, in a sentence, with a few digits of their times."""
    return " and ".join(inequality(amount, FEW) for amount in amounts)


def rounded(amount: Amount, up: bool = False) -> Amount:
    """The same with a few digits of its time: no more than it, so that what follows from the amount
    being at least 0 is so all the more; or no less, for what it takes.
    """
    amount = coprime(amount)
    size = abs(amount.seconds)
    if not size:
        return amount
    unit = Fraction(10) ** (math.floor(math.log10(size)) + 1 - FEW)
    whole = math.ceil(amount.seconds / unit) if up else math.floor(amount.seconds / unit)
    return Amount(whole * unit, amount.terms)


def inequality(amount: Amount, digits: int = CLOSE) -> str:
    """That an amount is at least 0, with what is added on the side where it is positive."""
    amount = coprime(amount)
    more = Amount.of(max(amount.seconds, ZERO), {n: k for n, k in amount.terms if k > 0})
    less = Amount.of(max(-amount.seconds, ZERO), {n: -k for n, k in amount.terms if k < 0})
    if more.terms:
        return f"{more.told(digits)} >= {less.told(digits)}"
    return f"{less.told(digits)} <= {more.told(digits)}"


def coprime(amount: Amount) -> Amount:
    """The same with whole factors that have nothing in common; for a single name, with 1."""
    factors = [k for _, k in amount.terms]
    if not factors:
        return amount
    if len(factors) == 1:
        return amount.scaled(1 / abs(factors[0]))
    whole = lcm(*(k.denominator for k in factors))
    return amount.scaled(Fraction(whole, gcd(*(int(k * whole) for k in factors))))


def condition(timing: TimedTrace, free: Collection[str]) -> Condition:
    """For which values of some names a run is possible, the others being as they are.

    ``TooMany`` where that takes too long; ``EngineError`` where networks with numbers disagree.
    """
    values = timing.durations.values
    bounded = (each for each in timing.endless if _is_bounded(each.amount, values, free))
    limits = [
        Limit(each.earlier, each.later, each.amount.folded(values, free))
        for each in (*timing.limits, *bounded)
        if not each.unless or not set(each.unless) <= set(free)
    ]
    circles = _Network(timing.count, limits).circles()
    found = Condition(_minimal(circles), values)
    _check(found, timing.count, limits)
    return found


def _is_bounded(amount: Amount, values: Mapping[str, Fraction], free: Collection[str]) -> bool:
    """Whether every name in it that is infinite as it is may have other values."""
    return all(name in free for name, _ in amount.terms if values[name] == ENDLESS)


@define
class _Least:
    """Amounts none of which is at most another whatever the names stand for."""

    amounts: list[Amount] = field(factory=list)

    def add(self, amount: Amount) -> bool:
        """Take one more; False where another is at most as much already."""
        if any(known.is_at_most(amount) for known in self.amounts):
            return False
        self.amounts = [known for known in self.amounts if not amount.is_at_most(known)]
        self.amounts.append(amount)
        return True


class _Network:
    """Limits between times that are taken out one by one."""

    def __init__(self, count: int, limits: Iterable[Limit]) -> None:
        self.after: list[dict[int, _Least]] = [{} for _ in range(count)]
        self.before: list[dict[int, _Least]] = [{} for _ in range(count)]
        self.found = _Least()
        self.sums = 0
        for limit in limits:
            self._add(limit.earlier, limit.later, limit.amount)

    def circles(self) -> list[Amount]:
        """What each circle comes to, where that may be less than nothing."""
        left = set(range(len(self.after)))
        while left:
            time = min(left, key=lambda t: (len(self.after[t]) * len(self.before[t]), t))
            left.remove(time)
            self._take_out(time)
        return self.found.amounts

    def _add(self, start: int, end: int, amount: Amount) -> None:
        self.sums += 1
        if self.sums > MOST:
            raise TooMany
        if start == end:
            if not amount.is_never_negative:
                self.found.add(amount)
            return
        least = self.after[start].setdefault(end, _Least())
        self.before[end][start] = least
        least.add(amount)

    def _take_out(self, time: int) -> None:
        before, after = self.before[time], self.after[time]
        for start in before:
            del self.after[start][time]
        for end in after:
            del self.before[end][time]
        for start, into in before.items():
            for end, out in after.items():
                for one in into.amounts:
                    for other in out.amounts:
                        self._add(start, end, one + other)


def _minimal(amounts: Sequence[Amount]) -> tuple[Amount, ...]:
    """The same region with as few amounts as will do; the longest are tried first."""
    never = [a for a in amounts if not a.terms]
    if never:
        return (min(never, key=lambda a: a.seconds),)
    kept = sorted({coprime(a) for a in amounts}, key=lambda a: (-len(a.terms), a.words))
    if len(kept) > 1:
        for amount in list(kept):
            others = [other for other in kept if other is not amount]
            if _point(others, less=amount) is None:
                kept = others
    if _point(kept) is None:
        return (Amount(Fraction(-1)),)
    return tuple(sorted(kept, key=lambda a: (len(a.terms), a.words)))


def _point(
    amounts: Iterable[Amount],
    less: Amount | None = None,
    zero: Amount | None = None,
    more: bool = False,
) -> dict[str, Fraction] | None:
    """Values (not negative) for which amounts are at least 0 (``more``: more than 0), one is less
    than 0 and one just 0; None where there are none.
    """
    import z3  # noqa: PLC0415

    amounts = list(amounts)
    solver, names = z3.Solver(), dict[str, Any]()
    for amount in (*amounts, *filter(None, (less, zero))):
        for name, _ in amount.terms:
            names.setdefault(name, z3.Real(name))
    solver.add(*(variable >= 0 for variable in names.values()))
    terms = [_as_z3(amount, names) for amount in amounts]
    solver.add(*(term > 0 if more else term >= 0 for term in terms))
    if less is not None:
        solver.add(_as_z3(less, names) < 0)
    if zero is not None:
        solver.add(_as_z3(zero, names) == 0)
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    values = {n: model.eval(v, model_completion=True) for n, v in names.items()}
    return {n: Fraction(v.numerator_as_long(), v.denominator_as_long()) for n, v in values.items()}


def _as_z3(amount: Amount, names: Mapping[str, z3.ArithRef]) -> z3.ArithRef:
    import z3  # noqa: PLC0415

    terms = [z3.Q(k.numerator, k.denominator) * names[n] for n, k in amount.terms]
    return z3.Sum(z3.Q(amount.seconds.numerator, amount.seconds.denominator), *terms)


def _check(found: Condition, count: int, limits: Sequence[Limit]) -> None:
    """Hold the condition against the network: by default, inside, and on each side of each bound.

    ``EngineError`` where they disagree.
    """
    for values, expected in samples(found):
        known = {**found.values, **values}
        if isinstance(solve(count, limits, known), Schedule) is not expected:
            told = ", ".join(f"{name} = {in_units(known[name])}" for name in sorted(values))
            raise EngineError(f"the condition {found.words} is wrong at {told or 'the defaults'}")


def samples(found: Condition) -> Iterator[tuple[dict[str, Fraction], bool]]:
    """Values of names and whether they meet the condition: inside all bounds, and on, off and just
    off each.
    """
    yield {}, found.holds
    if found.is_never:
        return
    inside = _point(found.amounts, more=True)
    if inside is not None:
        yield inside, True
    for amount in found.amounts:
        others = [other for other in found.amounts if other is not amount]
        on, off = _point(others, zero=amount), _point(others, less=amount)
        if on is None or off is None:
            raise EngineError(f"{inequality(amount)} follows from the rest of {found.words}")
        near = min(-amount.value(off), Fraction(1, NANO))
        just_off = _point(others, zero=amount + Amount(near))
        assert just_off is not None, "between these two"
        yield from ((on, True), (off, False), (just_off, False))


def clash(conflict: Conflict, values: Mapping[str, Fraction]) -> str:
    """What would have to be so, and is not, in words."""
    never = [limit.why for limit in conflict.limits if limit.unless]
    if never:
        return never[0]
    amount = conflict.amount.folded(values, [name for name, value in values.items() if value])
    more = Amount.of(ZERO, {n: k for n, k in amount.terms if k > 0})
    less = Amount.of(ZERO, {n: -k for n, k in amount.terms if k < 0})
    if not amount.seconds and [k for _, k in (*more.terms, *less.terms)] == [1, 1]:
        (long, _), (short, _) = *less.terms, *more.terms
        within = f"{short} ({in_units(values[short])})"
        return f"it takes {long} ({in_units(values[long])}) to be over within {within}"
    known = [f"{n} is {in_units(values[n])}" for n, _ in (*more.terms, *less.terms) if n in values]
    but = f", but {' and '.join(known)}" if known else ""
    if not more.terms and not amount.seconds:
        return f"it takes {less.told(FEW)} to be no time at all{but}"
    near = rounded(amount, up=True)
    amount = near if near.value(values) < 0 else amount
    return f"it takes {inequality(amount, FEW if amount is near else CLOSE)}{but}"


def longest_period(trace: Trace, durations: Durations) -> Fraction | None:
    """How long each round of a run's loop can take if all take the same; None without bound.

    It is 0 where nobody can go round for ever, or only in no time at all.
    """
    timing = timed(trace, durations)
    first, length = trace.lead + 1, len(trace.repeated)
    for window in windows(timing.trace, durations):
        whole = window.opened < first + length and window.closed == timing.count - 1
        if whole and not window.fired and window.span.most is not None:
            return ZERO
    period = Amount(ZERO, (("", Fraction(1)),))
    rounds = [
        limit
        for k in range(first, first + length)
        for limit in (Limit(k, k + length, period), Limit(k + length, k, -period))
    ]
    limits = [
        Limit(each.earlier, each.later, Amount(each.amount.value(durations.values)))
        for each in timing.limits
    ]
    amounts = _Network(timing.count, [*limits, *rounds]).circles()
    if any(not amount.terms for amount in amounts):
        return ZERO
    bounds = [(amount.seconds, dict(amount.terms)[""]) for amount in amounts]
    least = max((-a / k for a, k in bounds if k > 0), default=ZERO)
    most = min((a / -k for a, k in bounds if k < 0), default=None)
    return most if most is None or most >= least else ZERO
