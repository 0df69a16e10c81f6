"""The recovery map: of each item, where it lives, what it survives, and what brings it back.

What was seen in several cases is told together: an item that survives a fault in one and is lost by
it in another survives it sometimes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define, field, frozen

from rackproof.checker.explain.survival import ALWAYS, NEVER, SOMETIMES, Fate, Life, Survival
from rackproof.checker.report.review.study import MOST_STATES
from rackproof.checker.verdicts import counted
from rackproof.scenarios.steps import kebab

SIGNS: Final = {ALWAYS: ("✓", "good"), SOMETIMES: ("◐", "warn"), NEVER: ("✕", "bad")}
MOST: Final = 6
"""Transitions that are named of those that bring an item back."""
Fault = tuple[str, str]
"""A fault and whom it hits."""


@define
class Square:
    """What becomes of an item by a fault, over all cases in which it was there."""

    kept: int = 0
    lost: int = 0
    for_good: int = 0
    back: Counter[str] = field(factory=Counter)

    def add(self, fate: Fate) -> None:
        """Take in what was seen in one world."""
        self.kept, self.lost = self.kept + fate.kept, self.lost + fate.lost
        self.for_good += fate.for_good
        self.back.update({kebab(t.name): count for t, count in fate.back})

    @property
    def survives(self) -> str:
        """Always, sometimes or never."""
        return SOMETIMES if self.kept and self.lost else ALWAYS if self.kept else NEVER

    @property
    def sign(self) -> tuple[str, str]:
        """Its sign and colour."""
        return SIGNS[self.survives]

    @property
    def lines(self) -> list[str]:
        """How often it is lost, and what becomes of that."""
        if not self.lost:
            return []
        told = [f"lost at {self.lost:,} of {counted(self.kept + self.lost, 'moment')}"]
        told.append(f"back by {_named(self.back)}" if self.back else "never comes back")
        if self.for_good:
            verb = "ends" if self.for_good == 1 else "end"
            told.append(f"{counted(self.for_good, 'state')} {verb} without it")
        return told


@define
class Row:
    """An item: where it lives, what makes and ends it, and what becomes of it by each fault."""

    name: str
    text: str
    lives: str
    made: Counter[str] = field(factory=Counter)
    ended: Counter[str] = field(factory=Counter)
    squares: dict[Fault, Square] = field(factory=dict)

    def add(self, life: Life, fates: Iterable[Fate]) -> None:
        """Take in what was seen in one world."""
        self.made.update({kebab(t.name): count for t, count in life.made})
        self.ended.update({kebab(t.name): count for t, count in life.ended})
        for fate in fates:
            self.squares.setdefault(_fault(fate), Square()).add(fate)

    @property
    def made_by(self) -> str:
        """What makes it, the most frequent first."""
        return _named(self.made)

    @property
    def ended_by(self) -> str:
        """What ends it, other than faults."""
        return _named(self.ended)


@frozen
class Recovery:
    """The map. cases: of how many worlds, with so many states. left_out: why others are not in it,
    with how many there are.
    """

    faults: tuple[Fault, ...]
    rows: tuple[Row, ...]
    cases: int
    states: int
    left_out: tuple[tuple[str, int], ...]


def recovery(several: Sequence[Survival]) -> Recovery | None:
    """What is known of all of these worlds; None where no item is."""
    rows: dict[tuple[str, str], Row] = {}
    faults: dict[Fault, None] = {}
    for one in several:
        for life in one.lives:
            item, fates = life.item, one.of(life.item)
            row = rows.setdefault((item.name, item.lives), Row(item.name, item.text, item.lives))
            row.add(life, fates)
            faults.update(dict.fromkeys(map(_fault, fates)))
    if not faults:
        return None
    known = [one for one in several if one.reason is None]
    reasons = Counter(_why(one) for one in several if one.reason is not None)
    return Recovery(
        tuple(sorted(faults)),
        tuple(row for row in rows.values() if row.made or row.squares),
        len(known),
        sum(one.states for one in known),
        tuple(sorted(reasons.items())),
    )


def _why(one: Survival) -> str:
    """Why a world is not in the map: those that are too large are told together."""
    if one.states > MOST_STATES:
        return f"more than {MOST_STATES:,} states"
    return one.reason or ""


def _fault(fate: Fate) -> Fault:
    return kebab(fate.fault.name), " and ".join(fate.at)


def _named(found: Counter[str]) -> str:
    """Names, the most frequent first."""
    names = sorted(found, key=lambda name: (-found[name], name))
    more = f" and {len(names) - MOST} more" if names[MOST:] else ""
    return ", ".join(names[:MOST]) + more
