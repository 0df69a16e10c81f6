"""What a run costs over its time: when its steps happen, who waits, and what is spent, in pixels.

From left to right goes one moment after another, as far apart as there is room for them all: most
of a run often happens within a thousandth of it.

All of it for the run in which every step happens as early as it can.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.checker.explain import Explanation
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.possible import bytes_in_words, joules_in_words
from rackproof.model.kernel import Charge

LEFT: Final = 150
"""Pixels for names."""
WIDTH: Final = 560
"""Pixels for the time axis."""
LETTER: Final = 7
"""Pixels of a letter."""
LABEL: Final = 74
"""Pixels of a moment in words."""
HIGH: Final = 34
"""Pixels of a curve."""


@frozen
class Mark:
    """Steps that happen at (nearly) one moment: x, the numbers in words, whether one is a fault."""

    x: float
    words: str
    is_fault: bool


@frozen
class Wait:
    """A client without anything new: in seconds, and until which step; open: it goes on."""

    begin: Fraction
    end: Fraction
    until: int
    is_open: bool

    @property
    def seconds(self) -> Fraction:
        """How long it is."""
        return self.end - self.begin


@frozen
class Curve:
    """What is spent up to each moment, as an SVG path that is so high; total: all, in words."""

    name: str
    path: str
    total: str


@frozen(slots=False)
class Costs:
    """The times and costs of a run that has them."""

    explanation: Explanation

    @cached_property
    def times(self) -> tuple[Fraction, ...]:
        """When each state begins, in seconds."""
        moments = self.explanation.moments
        return Fraction(0), *(moment.at or Fraction(0) for moment in moments)

    @property
    def whole(self) -> Fraction:
        """How long all of it takes."""
        return self.times[-1]

    @cached_property
    def _columns(self) -> dict[Fraction, float]:
        """Where each moment at which something happens is: all of them as far apart."""
        distinct = sorted(set(self.times))
        pitch = WIDTH / max(1, len(distinct) - 1)
        return {time: round(LEFT + pitch * number, 1) for number, time in enumerate(distinct)}

    def x(self, time: Fraction) -> float:
        """Where a moment is at which something happens."""
        return self._columns[time]

    @property
    def ticks(self) -> Iterator[tuple[float, str]]:
        """The moments along the axis, as many as there is room for; the last is one of them."""
        free = float(LEFT + WIDTH + LABEL)
        found = []
        for time, x in reversed(self._columns.items()):
            if free - x >= LABEL:
                found.append((x, in_units(time)))
                free = x
        return reversed(found)

    @property
    def marks(self) -> Iterator[Mark]:
        """The steps, those together whose words would not fit beside each other."""
        group: list[int] = []
        for number in range(1, len(self.times)):
            x = self.x(self.times[number])
            if group and x - self.x(self.times[group[0]]) >= LETTER * (len(self._words(group)) + 2):
                yield self._mark(group)
                group = []
            group.append(number)
        if group:
            yield self._mark(group)

    def _mark(self, group: Sequence[int]) -> Mark:
        return Mark(self.x(self.times[group[0]]), self._words(group), bool(self._faults(group)))

    def _faults(self, group: Sequence[int]) -> list[int]:
        return [n for n in group if self.explanation.moments[n - 1].step.is_fault]

    def _words(self, group: Sequence[int]) -> str:
        words = f"{group[0]}\N{EN DASH}{group[-1]}" if group[1:] else f"{group[0]}"
        faults = self._faults(group)
        if not faults:
            return words
        return (
            f"{words}, fault {faults[0]}" if len(faults) == 1 else f"{words}, {len(faults)} faults"
        )

    @cached_property
    def waits(self) -> tuple[tuple[str, tuple[Wait, ...]], ...]:
        """Of each client, by name, when it waited for the next thing it was to get."""
        timing = self.explanation.trace.system.timing
        states = self.explanation.states
        if timing is None:
            return ()
        waiting = list(zip(*map(timing.waiting, states), strict=True))
        seen = list(zip(*map(timing.seen, states), strict=True))
        found = []
        for client, (waits, got) in enumerate(zip(waiting, seen, strict=True)):
            name = timing.clients[client] if timing.clients else f"client {client}"
            found.append((name, tuple(self._waits(waits, got))))
        return tuple(found)

    def _waits(self, waits: Sequence[bool], got: Sequence[object]) -> Iterator[Wait]:
        begin = self.times[0] if waits[0] else None
        for number in range(1, len(waits)):
            at = self.times[number]
            if begin is not None and (got[number] != got[number - 1] or not waits[number]):
                if at > begin:
                    yield Wait(begin, at, number, False)
                begin = None
            if waits[number] and begin is None:
                begin = at
        if begin is not None:
            yield Wait(begin, self.whole, len(waits) - 1, True)

    @property
    def longest(self) -> tuple[str, Wait] | None:
        """Who waits longest, and how long."""
        every = [(name, wait) for name, waits in self.waits for wait in waits]
        return max(every, key=lambda each: each[1].seconds, default=None)

    @property
    def curves(self) -> Iterator[Curve]:
        """Whatever is spent at all."""
        yield from _some(self._curve("bytes moved", lambda c: c.bytes_moved, bytes_in_words))
        yield from _some(
            self._curve("tokens recomputed", lambda c: c.tokens_recomputed, lambda n: f"{n:,.0f}")
        )
        if computes_again(self.explanation):
            yield from _some(self._curve("energy", lambda c: c.joules, joules_in_words))

    def _curve(
        self, name: str, of: Callable[[Charge], float], words: Callable[[float], str]
    ) -> Curve | None:
        spent = [of(moment.charge or Charge()) for moment in self.explanation.moments]
        sums = list(itertools.accumulate(spent))
        if not sums or not sums[-1]:
            return None
        path = f"M{LEFT} {HIGH}"
        for time, total in zip(self.times[1:], sums, strict=True):
            path += f"H{self.x(time)}V{round(HIGH * (1 - total / sums[-1]), 1)}"
        return Curve(name, f"{path}H{LEFT + WIDTH}", words(sums[-1]))


def computes_again(explanation: Explanation) -> bool:
    """Whether some tokens are computed again: what energy there is to tell of is spent on that."""
    return any(m.charge and m.charge.tokens_recomputed for m in explanation.moments)


def _some(curve: Curve | None) -> Iterator[Curve]:
    if curve is not None:
        yield curve


def costs(explanation: Explanation) -> Costs | None:
    """The costs of a run; None where its steps have no times."""
    moments = explanation.moments
    timed = bool(moments) and all(moment.at is not None for moment in moments)
    return Costs(explanation) if timed else None
