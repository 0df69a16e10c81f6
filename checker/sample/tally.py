"""What the runs of a world have been through so far, and what the next ones may know of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from attrs import define, field, frozen

from rackproof.checker.sample.phases import Pair
from rackproof.model.kernel import Firing, Kind

SHORT: Final = 16
"""How long runs are taken to be before any was seen."""


@frozen
class Plan:
    """What is known before a batch of runs. It stays as it is until the batch is over, so that the
    same choices make the same run, which is what Hypothesis shrinks by.

    fired: how often each transition took effect. covered: the pairs of fault and phase that were
    tried. longest: the steps of the longest run. settled: the properties that nothing more is to be
    found out of.
    """

    fired: Counter[str] = field(factory=Counter)
    covered: frozenset[Pair] = frozenset()
    longest: int = SHORT
    settled: frozenset[str] = frozenset()


@frozen
class Sighting:
    """A run that violates a property.

    found: the steps of the run in which it was first seen, before anything was left out of it.
    runs: how many runs there had been by then, this one among them. firings: the least of those
    that violate it, by faults and then by steps.
    """

    found: int
    runs: int
    firings: tuple[Firing, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Its faults, and its steps."""
        faults = sum(firing.transition.kind is Kind.FAULT for firing in self.firings)
        return faults, len(self.firings)


@define
class Tally:
    """The sums over all runs. What Hypothesis does to shrink a run is not counted, as it was chosen
    and not drawn.

    seen: the pairs that were possible where somebody looked, tried or not. resting: the runs that
    came to rest. reached: the names of what happened that is to happen sometimes.
    """

    runs: int = 0
    steps: int = 0
    resting: int = 0
    longest: int = 0
    fired: Counter[str] = field(factory=Counter)
    covered: Counter[Pair] = field(factory=Counter)
    seen: set[Pair] = field(factory=set)
    reached: set[str] = field(factory=set)
    violated: dict[str, Sighting] = field(factory=dict)
    shrinking: bool = False

    def plan(self, settled: frozenset[str] = frozenset()) -> Plan:
        """What the next batch may know; it is then no longer being shrunk."""
        self.shrinking = False
        longest = self.longest or SHORT
        return Plan(Counter(self.fired), frozenset(self.covered), longest, settled)

    def run_ended(self, fired: Counter[str], rests: bool) -> None:
        """Count a run."""
        if self.shrinking:
            return
        self.runs += 1
        self.steps += fired.total()
        self.resting += rests
        self.longest = max(self.longest, fired.total())
        self.fired.update(fired)

    def tried(self, pair: Pair) -> None:
        """Count a fault in its phase."""
        self.seen.add(pair)
        if not self.shrinking:
            self.covered[pair] += 1

    def violates(self, name: str, firings: Sequence[Firing]) -> None:
        """Keep a run that violates a property, if it is the least so far; what comes until the
        next plan is made is taken to be shrunk from it.
        """
        self.shrinking, first = True, self.violated.get(name)
        found = len(firings) if first is None else first.found
        runs = self.runs if first is None else first.runs
        sighting = Sighting(found, runs, tuple(firings))
        if first is None or sighting.size < first.size:
            self.violated[name] = sighting
