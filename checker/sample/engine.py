"""Engine ``sample``: runs drawn by Hypothesis, batch by batch, to ``Findings``.

Walks come first, and by turns batches that Hypothesis draws. Both go where the runs came least
often (``Visits``). A batch ends at the first violation, which Hypothesis shrinks if it drew it; the
next one goes on without that property. What Hypothesis draws in a batch steers the next, never
itself: see ``Plan``. The same seed draws the same runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

import hypothesis
from attrs import field, frozen
from hypothesis.stateful import run_state_machine_as_test

from rackproof.checker.drawing import quiet
from rackproof.checker.lowering import lower
from rackproof.checker.sample.machine import Driver, Violated, state_machine
from rackproof.checker.sample.shortest import Least, least
from rackproof.checker.sample.tally import Sampled, Sampling, Sighting, Tally
from rackproof.checker.sample.walks import Walks
from rackproof.checker.search import Snapshot
from rackproof.checker.searched import Progress
from rackproof.checker.verdicts import Findings, counted
from rackproof.model.kernel import Property, Scope, System

WALKS: Final = 40
"""Walks of a batch."""
DRAWN: Final = 10
"""Runs of a batch that Hypothesis draws: as many as go without knowing of one another."""
MOST_SHRINKING: Final = 100
"""Runs in which Hypothesis shrinks a violation; more is left to the search."""
MOST_SECONDS: Final = 30.0
"""How long the least runs are sought, of all violations together."""
NOT_JUDGED: Final = "a loop is no run that sampling sees the end of"
UNASKED: Final = "it was not asked for"


class _Enough(KeyboardInterrupt):
    """Ends a batch: of all exceptions, Hypothesis lets an interrupt alone through as it is."""


def sampled(
    system: System,
    sampling: Sampling,
    sought: Collection[str] | None = None,
    asked: Collection[str] | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
    driver: Callable[[], Driver] | None = None,
) -> Findings:
    """Draw runs of a system; where ``sought`` is given, until all of these are violated.

    asked: the properties that matter; None for all. seconds: when to end all of it: the drawing,
    and what is made of the runs that were found.
    """
    work = Sampler(system, sampling, sought, asked, seconds, progress, driver)
    reason = work.draw()
    properties = {prop.name: prop for prop in system.properties}
    until = time.monotonic() + MOST_SECONDS

    def left() -> float:
        return min(work.left(), until - time.monotonic())

    shortest = {
        name: least(system, properties[name], sighting.firings, left)
        for name, sighting in work.tally.violated.items()
    }
    return _findings(work, shortest, reason, time.monotonic() - work.began)


@frozen
class Sampler:
    """One sampling of a system: the arguments of ``sampled``, and the sums over its runs.

    is_enough: asked between batches whether to end.
    """

    system: System
    sampling: Sampling
    sought: Collection[str] | None = None
    asked: Collection[str] | None = None
    seconds: float | None = None
    progress: Progress | None = None
    driver: Callable[[], Driver] | None = None
    began: float = field(factory=time.monotonic)
    tally: Tally = field(factory=Tally)
    is_enough: Callable[[Tally], bool] = lambda _: False

    @property
    def unasked(self) -> frozenset[str]:
        """The properties that do not matter."""
        wanted = self.asked if self.sought is None else self.sought
        every = frozenset(prop.name for prop in self.system.properties)
        return frozenset() if wanted is None else every - frozenset(wanted)

    def draw(self) -> str:
        """Draw the runs, batch by batch; say how many there were, and why no more."""
        batches, walks = 0, Walks(self.system, self.sampling.seed)
        while self.tally.runs < self.sampling.runs and not self._is_found:
            batches += 1
            before = self.tally.runs
            if batches % 2 == 0 or self.driver is not None:
                self._batch(batches)
            else:
                self._walk(walks)
            if self._is_late:
                return f"{self.words}, then the time was up"
            if self.tally.runs == before:
                return f"{self.words}: there are no others"
        return self.words

    @property
    def words(self) -> str:
        """What was drawn: sampled: 1,000 runs of up to 31 steps."""
        up_to = counted(self.tally.longest, "step")
        return f"sampled: {counted(self.tally.runs, 'run')} of up to {up_to}"

    def left(self) -> float:
        """The seconds that are left."""
        return self.began + (math.inf if self.seconds is None else self.seconds) - time.monotonic()

    @property
    def _is_late(self) -> bool:
        return self.left() <= 0

    @property
    def _is_found(self) -> bool:
        found = self.tally.violated.keys()
        return self.is_enough(self.tally) or (self.sought is not None and found >= set(self.sought))

    def _batch(self, number: int) -> None:
        plan = self.tally.plan(self.unasked | self.tally.violated.keys())
        machine = state_machine(
            self.system,
            plan=plan,
            tally=self.tally,
            driver=self.driver,
            before_run=self._guard(),
        )
        hypothesis.seed(self.sampling.seed * 1_000_003 + number)(machine)
        steps = min(self.sampling.length, 2 * plan.longest)
        runs = min(DRAWN, self.sampling.runs - self.tally.runs)
        try:
            run_state_machine_as_test(machine, settings=quiet(runs, steps))
        except (Violated, _Enough):
            return

    def _walk(self, walks: Walks) -> None:
        """A batch of walks."""
        plan, left = self.tally.plan(self.unasked | self.tally.violated.keys()), WALKS
        while left and not (self._is_late or self.tally.shrinking):
            if self.tally.runs >= self.sampling.runs:
                return
            walks.walk(plan, self.tally, self.sampling.length)
            left -= 1

    def _guard(self) -> Callable[[], None]:
        """Called before each run: ends them when it is late, or shrunk enough."""
        shrunk = 0

        def guard() -> None:
            nonlocal shrunk
            shrunk += self.tally.shrinking
            is_drawn = not shrunk and self.tally.runs >= self.sampling.runs
            if self._is_late or is_drawn or shrunk > MOST_SHRINKING:
                raise _Enough
            if self.progress is not None:
                doing = f"{self.tally.runs:,} runs" + (", shrinking" if shrunk else "")
                spent = time.monotonic() - self.began
                self.progress(Snapshot(self.tally.steps, self.tally.steps, spent, doing=doing))

        return guard


def _findings(
    work: Sampler, shortest: Mapping[str, Least], reason: str, seconds: float
) -> Findings:
    system, tally = work.system, work.tally
    reads = dict(_reads(shortest))
    found = {name: told(tally.violated[name], one) for name, one in shortest.items()}
    return Findings(
        engine="sample",
        states=tally.steps + tally.runs,
        transitions=tally.steps,
        depth=tally.longest,
        seconds=seconds,
        at_rest=tally.resting,
        reason=reason,
        violated={name: one.trace for name, one in shortest.items()},
        fewest=frozenset(name for name, one in shortest.items() if one.fewest),
        longer=frozenset(name for name, one in shortest.items() if not one.shortest),
        reached=frozenset(tally.reached),
        fired=frozenset(tally.fired),
        idle=tuple(one.name for one in system.transitions if not tally.fired[one.name]),
        reads=reads,
        reasons={prop.name: why for prop in system.properties if (why := _why(work, prop, reason))},
        note="; ".join(f"{name}: {words}" for name, words in found.items()) or None,
        sampled=Sampled(work.sampling, tally, found),
    )


def _reads(
    shortest: Mapping[str, Least],
) -> Iterator[tuple[tuple[str, tuple[int, ...]], frozenset[int]]]:
    for one in shortest.values():
        if one.findings is not None:
            yield from one.findings.reads.items()


def _why(work: Sampler, prop: Property, reason: str) -> str | None:
    """Why nothing is known of a property, where there is more to say than how much was sampled."""
    if prop.name in work.unasked:
        return UNASKED
    return f"{reason}; {NOT_JUDGED}" if prop.scope is Scope.EVENTUALLY else None


def told(sighting: Sighting, one: Least) -> str:
    """How a violation came about: found in 31 steps after 212 runs; the shortest has 4 steps and 1
    fault.
    """
    runs, steps = counted(sighting.runs, "run"), counted(sighting.found, "step")
    size = f"{counted(len(one.trace.steps), 'step')} and {counted(one.trace.faults, 'fault')}"
    if one.shortest:
        return f"found in {steps} after {runs}; the shortest has {size}"
    why = "the time was up before it was known" if one.late else "the world is too large to tell"
    return (
        f"found in {steps} after {runs}, shortened to {size}; {why} whether there is a shorter one"
    )


def impossible(system: System) -> tuple[str, ...]:
    """The transitions that can never take effect, whatever values the fields they read may take."""
    possible = {action.firing.transition.name for action in lower(system).actions}
    return tuple(one.name for one in system.transitions if one.name not in possible)
