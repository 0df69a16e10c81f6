"""What the runs of a world have been through so far, and what the next ones may know of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any, Final

from attrs import define, field, frozen

from rackproof.checker.sample.phases import Pair
from rackproof.checker.sample.point import Move
from rackproof.model.kernel import Firing, Kind

SHORT: Final = 16
"""How long runs are taken to be before any was seen."""


@define
class Visits:
    """How often runs came to each state, by its hash, as there can be many.

    new: what does not count yet, as the runs that are being drawn must not know of it.
    """

    known: Counter[int] = field(factory=Counter)
    new: Counter[int] = field(factory=Counter)

    def settle(self) -> None:
        """Let all count."""
        self.known.update(self.new)
        self.new.clear()

    def least(self, moves: Sequence[Move]) -> Sequence[Move]:
        """What to do next: those of some moves that lead where runs came least often.

        Where all is new, as in the larger worlds at first, that is any of them.
        """
        if len(moves) < 2:
            return moves
        times = [self.known[hash(move.after)] for move in moves]
        fewest = min(times)
        return [move for move, often in zip(moves, times, strict=True) if often == fewest]


@frozen
class Plan:
    """What is known before a batch of runs. It stays as it is until the batch is over, so that the
    same choices make the same run, which is what Hypothesis shrinks by.

    fired: how often each transition took effect. pairs: how often each pair of fault and phase was
    tried; seldom: what half of them were not more often. longest: the steps of the longest run.
    settled: the properties that nothing more is to be found out of. visits: how often runs came to
    each state.
    """

    fired: Counter[str] = field(factory=Counter)
    pairs: Counter[Pair] = field(factory=Counter)
    seldom: int = 0
    longest: int = SHORT
    settled: frozenset[str] = frozenset()
    visits: Visits = field(factory=Visits)


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
    visits: Visits = field(factory=Visits)
    shrinking: bool = False

    def plan(self, settled: frozenset[str] = frozenset()) -> Plan:
        """What the next batch may know; it is then no longer being shrunk."""
        self.shrinking = False
        longest = self.longest or SHORT
        seldom = median_low(self.covered.values()) if self.covered else 0
        self.visits.settle()
        fired, covered = Counter(self.fired), Counter(self.covered)
        return Plan(fired, covered, seldom, longest, settled, self.visits)

    def run_ended(self, fired: Counter[str], rests: bool) -> None:
        """Count a run."""
        if self.shrinking:
            return
        self.runs += 1
        self.steps += fired.total()
        self.resting += rests
        self.longest = max(self.longest, fired.total())
        self.fired.update(fired)

    def came_to(self, state: Any) -> None:
        """Count a state."""
        if not self.shrinking:
            self.visits.new[hash(state)] += 1

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


@frozen
class Sampling:
    """How much is sampled: runs, the steps of each at most, and what the runs are drawn by."""

    runs: int = 1_000
    length: int = 100
    seed: int = 0


@frozen
class Sampled:
    """What the runs have been through; found: how each violation came about, in words."""

    sampling: Sampling
    tally: Tally
    found: Mapping[str, str] = field(factory=dict)
