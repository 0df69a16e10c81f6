"""Whether a run is possible within the times of its world, and for which it is at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.timing.amounts import ENDLESS, Amount, exact, in_units
from rackproof.checker.timing.condition import (
    Condition,
    TooMany,
    clash,
    condition,
    coprime,
    in_short,
    rounded,
)
from rackproof.checker.timing.network import Conflict, Limit, Schedule
from rackproof.checker.timing.windows import TimedTrace, timed
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Charge

MOST_TOLD: Final = 4
"""Inequalities that are told of a run that is not possible."""
ROUNDED: Final = Fraction(1, 1000)
"""How far a pause may be from the time it stands for, as it is written with a few digits."""


@frozen(eq=False)
class Possible:
    """A run with its times; what takes longer is found when it is asked for.

    found: when its steps can happen, or which limits clash. pauses: limits that are written, beside
    those of the world.
    """

    timing: TimedTrace
    found: Schedule | Conflict
    pauses: tuple[Limit, ...] = ()

    @property
    def paused(self) -> TimedTrace:
        """The run, held to the pauses that are written."""
        return evolve(self.timing, limits=(*self.timing.limits, *self.pauses))

    @property
    def is_possible(self) -> bool:
        """Whether there is such a run, with the times as they are."""
        return isinstance(self.found, Schedule)

    @property
    def times(self) -> tuple[Fraction, ...]:
        """When each step happens at the earliest; none where it cannot."""
        if not isinstance(self.found, Schedule):
            return ()
        return self.found.earliest[1:]

    @cached_property
    def chosen(self) -> frozenset[str]:
        """The names of what an operator sets, of those that this run depends on."""
        return self.timing.durations.chosen() & self.names

    @cached_property
    def names(self) -> frozenset[str]:
        """Of all times that this run depends on."""
        limits = (*self.timing.limits, *self.timing.endless)
        return frozenset(name for limit in limits for name, _ in limit.amount.terms)

    @cached_property
    def by_choice(self) -> Condition | None:
        """For which values of what is chosen it is possible; None where that takes too long."""
        return self._condition(self.chosen)

    @cached_property
    def by_all(self) -> Condition | None:
        """For which values of all quantities it is possible, but for those that are nothing in this
        run; None where that takes too long.
        """
        values = self.timing.durations.values
        return self._condition(frozenset(name for name in self.names if values[name]))

    def _condition(self, free: frozenset[str]) -> Condition | None:
        try:
            return condition(self.timing, free)
        except TooMany:
            return None

    @property
    def lines(self) -> Iterator[str]:
        """What is said of it, a run by itself."""
        if isinstance(self.found, Schedule):
            yield f"Timing: possible within these times{self.set_to}{self.tied}"
            return
        yield f"Timing: impossible within these times{self.set_to}: {self.conflict}"
        yield from self.only

    @property
    def set_to(self) -> str:
        """The values of what is chosen, of what it depends on; of that itself where none is."""
        values = self.timing.durations.values
        clashing = self.found.amount.terms if isinstance(self.found, Conflict) else ()
        known = {name for name, _ in clashing} & values.keys() or self.names
        names = sorted(self.chosen) or sorted(n for n in known if 0 < values[n] < ENDLESS)
        shown = names if self.chosen else names[:MOST_TOLD]
        told = [f"{name} {in_units(values[name])}" for name in shown]
        more = f" and {len(names) - len(shown)} more" if names[len(shown) :] else ""
        return f" ({', '.join(told)}{more})" if told else ""

    @property
    def tied(self) -> str:
        """For how long it stays possible, where an operator could prevent it."""
        if not self.by_choice or not self.by_choice.amounts:
            return ", whatever these are" if self.by_choice and self.chosen else ""
        return f"; this run is while {self.by_choice.enough}"

    @property
    def only(self) -> Iterator[str]:
        """When it would be possible."""
        if self.by_choice and self.by_choice.amounts and not self.by_choice.is_never:
            yield f"This run is possible only when {self.by_choice.necessary}"
        elif self.chosen and self.by_choice:
            yield f"This run is impossible whatever {' and '.join(sorted(self.chosen))} may be"
        every = self.by_all
        if every is None:
            yield "What this run takes of all times is too much to tell"
        elif every.is_never:
            yield "This run is impossible whatever all quantities may be"
        elif every.unmet == (self._clashing,):
            return  # that is what clashes
        elif self.by_choice is None or every.words != self.by_choice.words:
            more = len(every.unmet) - MOST_TOLD
            rest = f" (and {more} more)" if more > 0 else ""
            told = in_short(rounded(amount, up=True) for amount in every.unmet[:MOST_TOLD])
            yield f"Whatever the times are, this run takes {told}{rest}"

    @property
    def _clashing(self) -> Amount | None:
        """What clashes, over all quantities that are anything."""
        if isinstance(self.found, Schedule):
            return None
        values = self.timing.durations.values
        return coprime(self.found.amount.folded(values, [n for n, v in values.items() if v]))

    @property
    def kinder(self) -> list[tuple[str, float]]:
        """Times that do not stand in its way: what is chosen as small or large as it may be,
        whichever helps; and what takes its course as slow, those last that it does not depend on.
        """
        if isinstance(self.found, Schedule):
            return []
        conditions = (self.by_choice, self.by_all)
        unmet = [amount for each in conditions if each for amount in each.unmet]
        terms = {(n, k > 0) for amount in (*unmet, self.found.amount) for n, k in amount.terms}
        terms |= {(name, False) for limit in self.found.limits for name in limit.unless}
        known = self.timing.durations.timing.quantities
        free = [(n, more) for n, more in terms if n in known and (more or known[n].chosen)]
        free.sort(key=lambda each: (not known[each[0]].chosen, *each))
        tried = {name for name, _ in free}
        slower = sorted(n for n in known.keys() & self.timing.durations.values if n not in tried)
        free += [
            (n, True) for n in slower if not known[n].chosen and self.timing.durations.values[n]
        ]
        return [(name, math.inf if more else 0.0) for name, more in free]

    def where(self, name: str) -> tuple[str, Fraction] | None:
        """For which values of one time it is possible, with a few digits where there are such, and
        the nearest; None where for none.
        """
        found = self._condition(frozenset({name}))
        if found is None or found.is_never or len(found.unmet) != 1:
            return None
        near = evolve(found, amounts=tuple(map(rounded, found.amounts)))
        for each, told in ((near, near.enough), (found, " and ".join(found.words))):
            if len(each.unmet) == 1:
                ((_, times),) = each.unmet[0].terms
                value = -each.unmet[0].seconds / times
                if all(amount.value({name: value}) >= 0 for amount in found.amounts):
                    return told, value
        return None

    @property
    def told(self) -> str:
        """The limits that clash, one by one."""
        if isinstance(self.found, Schedule):
            return ""
        return "; ".join(limit.why for limit in self.found.limits if limit.why)

    @property
    def conflict(self) -> str | None:
        """What would have to be so, and is not."""
        if isinstance(self.found, Schedule):
            return None
        return clash(self.found, self.timing.durations.values)


def possible(trace: Trace, pauses: Sequence[float | None] = ()) -> Possible | None:
    """Solve the times of a run; None where its world does not say how long anything takes.

    pauses: the seconds before each step, where they are written.
    """
    if trace.system.timing is None:
        return None
    timing, limits = timed(trace), tuple(_paused(pauses, Fraction(0)))
    found = timing.solve(more=list(limits))
    if isinstance(found, Conflict) and limits:
        limits = tuple(_paused(pauses, ROUNDED))
        found = timing.solve(more=list(limits))
    return Possible(timing, found, limits)


def _paused(pauses: Sequence[float | None], rounded: Fraction) -> Iterator[Limit]:
    """Pauses as limits; rounded: by what part they may have been when they were written."""
    for number, pause in enumerate(pauses, 1):
        if pause is not None:
            most = exact(pause) * (1 + rounded)
            least = exact(pause) * (1 - rounded)
            yield Limit(number - 1, number, Amount(most), f"{in_units(pause)} before step {number}")
            yield Limit(number, number - 1, Amount(-least), f"{in_units(pause)} before it")


def charges(trace: Trace) -> list[Charge]:
    """What each step costs; nothing where the world does not say."""
    timing = trace.system.timing
    if timing is None:
        return []
    return [timing.charge(step.before, step.firing, step.after) for step in trace.steps]


def amount_in_words(charge: Charge) -> list[str]:
    """What was moved, computed again and burnt, as far as it is any."""
    told = []
    if charge.bytes_moved:
        told.append(f"{bytes_in_words(charge.bytes_moved)} moved")
    if charge.tokens_recomputed:
        told.append(f"{charge.tokens_recomputed:,.0f} tokens recomputed")
    if charge.joules:
        told.append(joules_in_words(charge.joules))
    return told


def bytes_in_words(count: float) -> str:
    """Bytes in the unit in which they have the fewest digits before the point: 983 MB."""
    for power, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= power:
            return f"{count / power:.3g} {unit}"
    return f"{count:.3g} B"


def joules_in_words(joules: float) -> str:
    """Joules: 12.3 J, 4.56 kJ."""
    for power, unit in ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J")):
        if joules >= power:
            return f"{joules / power:.3g} {unit}"
    return f"{joules * 1e3:.3g} mJ" if joules else "0 J"
