"""What a system says of how long its transitions take, as amounts and as whole ticks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.checker.timing.amounts import (
    ENDLESS,
    NANO,
    WHOLE,
    ZERO,
    Amount,
    exact,
    factor,
    in_units,
)
from rackproof.model.kernel import Bound, Duration, Firing, System, Timing
from rackproof.scenarios.errors import unknown
from rackproof.scenarios.worlds import InputError

AT_ONCE: Final = Duration("at once", "It takes no time.", Bound(), Bound())
AT_ANY_TIME: Final = Duration("at any time", "Nothing makes it happen.")


@frozen
class Span:
    """How long after it became possible an instance fires: at least, and at most (None: no end);
    the least may count from before that.

    never: the names of times that are infinite, for which it would have to wait. endless: what
    would be the most, if names in it were not infinite.
    """

    least: Amount
    most: Amount | None
    never: tuple[str, ...] = ()
    endless: Amount | None = None


class Durations:
    """The spans of a system's instances, and the values of the names in them.

    values: of every name that any span so far had, in seconds. A quantity that depends on the state
    has a name for each of its values, the first its own.
    """

    def __init__(self, system: System) -> None:
        """Raise ``InputError`` where the system has no timing."""
        if system.timing is None:
            raise InputError(f"{system.name} does not say how long anything takes (System.timing)")
        self.system, self.timing = system, system.timing
        self.values: dict[str, Fraction] = {}
        self.names: dict[str, str] = {}

    @property
    def ticks_a_second(self) -> int:
        """So many that every span is of whole ticks."""
        bounds = [b for d in self.timing.durations.values() for b in (d.least, d.most) if b]
        factors = [factor(times) for bound in bounds for times in bound.times.values()]
        return NANO * math.lcm(*(each.denominator for each in factors))

    def duration(self, firing: Firing) -> Duration:
        """That of a transition, its own or what is so for its kind."""
        named = firing.transition.duration
        own = self.timing.durations.get(named) if named is not None else None
        return own or (AT_ONCE if firing.is_progress else AT_ANY_TIME)

    def is_never(self, firing: Firing) -> bool:
        """Whether an instance waits for a time that is infinite in every state."""
        least, known = self.duration(firing).least, self.timing.quantities
        return any(times and known[name].value == math.inf for name, times in least.times.items())

    def constant_least(self, firing: Firing) -> Fraction | None:
        """The least seconds of an instance where they are the same in all states."""
        least = self.duration(firing).least
        known = [(k, self.timing.quantities[name].value) for name, k in least.times.items()]
        if any(callable(value) for _, value in known):
            return None
        fixed = ((factor(k), exact(value)) for k, value in known if not callable(value))
        return exact(least.seconds) + sum((k * value for k, value in fixed), ZERO)

    def holds_back(self, firing: Firing, state: Any) -> bool | None:
        """Whether what the least of an instance counts from is so in a state; None where it counts
        from when the instance became possible.
        """
        since = self.duration(firing).since
        return None if since is None else bool(since(state, firing))

    def span(self, firing: Firing, state: Any) -> Span:
        """That of an instance which is possible in a state.

        ``InputError`` where it takes less than no time, or at least more than at most.
        """
        duration = self.duration(firing)
        if duration.since is not None and not duration.since(state, firing):
            told = f"{duration.name} counts from what is not so where it is possible"
            raise InputError(f"{self.system.name}: {told}: {firing.words(self.system)}")
        least = self._amount(duration.least, firing, state)
        most = None if duration.most is None else self._amount(duration.most, firing, state)
        never = self._endless(least)
        if most is None or self._endless(most):
            return Span(least, None, never, most)
        shortest = least.value(self.values)
        if never or not 0 <= shortest <= most.value(self.values):
            told = f"at least {self._told(least)} and at most {self._told(most)}"
            raise InputError(f"{self.system.name}: {duration.name} takes {told}")
        return Span(least, most)

    def limits(self, span: Span) -> tuple[Fraction | None, Fraction | None]:
        """The least and the most as numbers of seconds; None for no end."""
        least = None if span.never else span.least.value(self.values)
        return least, None if span.most is None else span.most.value(self.values)

    def _endless(self, amount: Amount) -> tuple[str, ...]:
        """The names in an amount that stand for no end of time."""
        return tuple(name for name, _ in amount.terms if self.values[name] == ENDLESS)

    def _amount(self, bound: Bound, firing: Firing, state: Any) -> Amount:
        terms: dict[str, Fraction] = {}
        for name, times in bound.times.items():
            quantity = self.timing.quantities[name]
            try:
                value = exact(quantity.seconds(state, firing))
            except ValueError as error:
                raise InputError(f"{self.system.name}: {name}: {error}") from error
            symbol = name
            if self.values.get(name, value) != value:
                symbol = f"{name} ({in_units(value, WHOLE)})"
            self.values[symbol], self.names[symbol] = value, name
            terms[symbol] = terms.get(symbol, ZERO) + factor(times)
        return Amount.of(exact(bound.seconds), terms)

    def _told(self, amount: Amount) -> str:
        value = in_units(amount.value(self.values))
        return value if not amount.terms else f"{amount.words} = {value}"

    def chosen(self) -> frozenset[str]:
        """The names, of those so far, of what an operator sets."""
        return frozenset(s for s, n in self.names.items() if self.timing.quantities[n].chosen)


def with_values(system: System, values: Mapping[str, float]) -> System:
    """The same system with other values of some quantities; ``InputError`` for unknown ones."""
    timing = Durations(system).timing
    quantities = dict(timing.quantities)
    for name, seconds in values.items():
        if name not in quantities:
            raise InputError(unknown("quantity", name, quantities))
        quantities[name] = attrs.evolve(quantities[name], value=seconds)
    changed: Timing = attrs.evolve(timing, quantities=quantities)
    return attrs.evolve(system, timing=changed)
