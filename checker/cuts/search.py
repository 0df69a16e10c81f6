"""Every minimal cut set of every property, up to a number of fault events.

A search goes by fewest faults first. So the first violation of a property shows a cut set that no
smaller one is part of; then all that contain it (or an image of it under the symmetries) are
excluded, and the search begins again, until one meets no violation that is left: by exhaustion
there is no other. This is the enumeration of MARCO (Liffiton, Previti, Malik and Mushtaq, "Fast,
flexible MUS enumeration", Constraints 21, 2016) with one search in place of the calls for all
subsets, as states know the events that led to them.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from typing import Final

import attrs
from attrs import define, field, frozen

from rackproof.checker.cuts.watch import Event, Events, Watch, images
from rackproof.checker.engines import Options
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Predicate, Test, Tree, Verdict
from rackproof.checker.search import SOUGHT, Exploration, Limits
from rackproof.checker.search import explore as search
from rackproof.checker.searched import Progress, model_error, trace_of
from rackproof.checker.symmetry import Class, interchangeable
from rackproof.checker.trace import Trace, for_ever, run
from rackproof.checker.verdicts import ABSENT, UNMET
from rackproof.model.kernel import Firing, Property, Scope, System

MOST_COUNTED: Final = 1_000_000
"""More sets of events than this are not counted one by one."""


@frozen
class CutSet:
    """A minimal multiset of fault events, and a run as short as any with just these that violates
    the property.

    alike: how many such sets there are, with this one, up to which interchangeable identifiers the
    events hit.
    """

    events: Events
    trace: Trace
    alike: int


@frozen
class Row:
    """What is known of one property.

    cuts: its minimal cut sets, smallest first. settled: every set of up to so many events was
    examined; None where not even the empty one was. reason: why it is not the number that was asked
    for. vacuous: why nothing put the property to the test, if so. ruled_out: how many of the sets
    that were examined violate nothing; None where that is not counted.
    """

    prop: Property
    cuts: tuple[CutSet, ...]
    settled: int | None
    reason: str | None = None
    vacuous: str | None = None
    ruled_out: int | None = None


@frozen
class CutSets:
    """The cut sets of a system's properties.

    most: of how many events sets were to be examined. possible: the events that there are; silent:
    the faults that never take effect. states, searches: how many states the largest search saw,
    and how many there were.
    """

    system: System
    classes: tuple[Class, ...]
    most: int
    possible: tuple[Event, ...]
    silent: tuple[str, ...]
    rows: tuple[Row, ...]
    states: int
    searches: int
    seconds: float


def cut_sets(
    system: System,
    faults: Collection[str],
    most: int,
    options: Options | None = None,
    names: Collection[str] | None = None,
    progress: Progress | None = None,
) -> CutSets:
    """The minimal cut sets of up to ``most`` events for the properties of these names (all but the
    ``sometimes`` ones, if None).

    faults: the names of the transitions that count as faults; other faults do not happen.
    ``ModelError`` where the model raises. The limit in seconds is for all searches together.
    """
    asked = tuple(
        prop
        for prop in system.properties
        if (prop.name in names if names is not None else prop.scope is not Scope.SOMETIMES)
    )
    watch = Watch(attrs.evolve(system, properties=asked), faults, most)
    return _Enumeration(watch, options or Options(), progress).result()


@define
class _Finding:
    """What is known of a property so far."""

    prop: Property
    cuts: list[CutSet] = field(factory=list)
    excluded: list[Events] = field(factory=list)
    is_open: bool = True
    settled: int | None = None
    reason: str | None = None


class _Enumeration:
    """The searches, one after another."""

    def __init__(self, watch: Watch, options: Options, progress: Progress | None) -> None:
        self.watch, self.options, self.progress = watch, options, progress
        self.started = time.monotonic()
        self.relation = lower(watch.system)
        self.classes = interchangeable(self.relation)
        self.slots = watch.slots(self.relation)
        self.findings = [_Finding(prop) for prop in watch.plain.properties]
        self.largest = self.searches = 0

    def result(self) -> CutSets:
        """Search until every property is settled, or a limit is reached."""
        first = self._round(None)
        while self._open:
            self._round([finding.prop.name for finding in self._open])
        return CutSets(
            system=self.watch.plain,
            classes=self.classes,
            most=self.watch.most,
            possible=tuple(self.slots),
            silent=tuple(self._silent(first)),
            rows=tuple(self._row(finding, first) for finding in self.findings),
            states=self.largest,
            searches=self.searches,
            seconds=time.monotonic() - self.started,
        )

    @property
    def _open(self) -> list[_Finding]:
        return [finding for finding in self.findings if finding.is_open]

    def _round(self, sought: Collection[str] | None) -> Exploration:
        """One search: a next cut set for each open property, or that there is none."""
        seen = search(
            attrs.evolve(self.relation, predicates=tuple(self._predicates(sought))),
            self.classes,
            limits=Limits(self._time_left(), self.options.memory),
            workers=self.options.workers,
            stop_when=sought,
            progress=self.progress,
        )
        if seen.raises:
            raise model_error(self.watch.system, seen.raises[0])
        self.searches += 1
        self.largest = max(self.largest, seen.states)
        for finding in self._open:
            self._take(finding, seen)
        return seen

    def _time_left(self) -> float | None:
        limit = self.options.seconds
        return None if limit is None else max(limit - (time.monotonic() - self.started), 0.0)

    def _predicates(self, sought: Collection[str] | None) -> Iterator[Predicate]:
        """The instances that are asked, true wherever a known cut set is part of what happened."""
        excluded = {f.prop.name: self._contains(f.excluded) for f in self._open if f.excluded}
        for predicate in self.relation.predicates:
            name = predicate.property.name
            if sought is not None and name not in sought:
                continue
            node = excluded.get(name)
            if node is None:
                yield predicate
            else:
                yield self._excused(predicate, node)

    def _excused(self, predicate: Predicate, node: Node) -> Predicate:
        arena = self.relation.arena

        def tree(item: Tree) -> Tree:
            if isinstance(item, Test):
                return Test(item.condition, tree(item.yes), tree(item.no))
            return Verdict(arena.or_(item.value, node)) if isinstance(item, Verdict) else item

        reads = predicate.reads | arena.slots(node)
        return attrs.evolve(predicate, tree=tree(predicate.tree), reads=reads)

    def _contains(self, sets: Iterable[Events]) -> Node:
        """Whether one of these multisets is part of the events that happened."""
        arena, slots = self.relation.arena, self.slots
        found = arena.const(0)
        for events in sets:
            parts = (
                arena.le(arena.const(count), arena.var(slots[event]))
                for event, count in sorted(Counter(events).items())
            )
            found = arena.or_(found, reduce(arena.and_, parts, arena.const(1)))
        return found

    def _take(self, finding: _Finding, seen: Exploration) -> None:
        """Take up what a search found out about a property."""
        found = seen.violations.get(finding.prop.name)
        is_loop_sought = finding.prop.scope is Scope.EVENTUALLY
        reason = seen.reason if seen.reason != SOUGHT else None
        reason = reason or (seen.endless if is_loop_sought else None)
        if found is not None:
            trace = self._plain(trace_of(self.watch.system, seen, finding.prop.name, found))
            self._add(finding, trace)
        if reason is not None:
            whole = len(finding.cuts[-1].events) - 1 if finding.cuts else -1
            settled = whole if is_loop_sought else max(whole, seen.faults - 1)
            finding.settled, finding.reason = (settled if settled >= 0 else None), reason
        elif found is None:
            finding.settled = self.watch.most
        finding.is_open = reason is None and found is not None and bool(finding.cuts[-1].events)
        if found is not None and not finding.cuts[-1].events:
            finding.settled, finding.reason = self.watch.most, None

    def _add(self, finding: _Finding, trace: Trace) -> None:
        faults = (step.firing for step in trace.steps if step.is_fault)
        events = tuple(sorted(Event(f.transition.name, f.arguments) for f in faults))
        alike = images(events, self.watch, self.classes)
        finding.excluded += alike
        finding.cuts.append(CutSet(events, trace, len(alike)))

    def _plain(self, trace: Trace) -> Trace:
        """The same run of the system that is watched, checked with the plain functions."""
        plain = self.watch.plain
        known = {transition.name: transition for transition in plain.transitions}
        firings = [
            Firing(known[step.firing.transition.name], step.firing.arguments)
            for step in trace.steps
        ]
        found = run(plain, firings[: trace.lead])
        return found if trace.loop is None else for_ever(found, firings[trace.lead :])

    def _silent(self, first: Exploration) -> Iterator[str]:
        """The faults that never took effect."""
        fired = {self.relation.actions[n].firing.transition.name for n in first.fired}
        for transition in self.watch.plain.transitions:
            if transition.name in self.watch.faults and transition.name not in fired:
                yield transition.name

    def _row(self, finding: _Finding, first: Exploration) -> Row:
        return Row(
            finding.prop,
            tuple(finding.cuts),
            finding.settled,
            finding.reason,
            None if finding.cuts else self._vacuous(finding.prop, first),
            self._ruled_out(finding),
        )

    def _vacuous(self, prop: Property, first: Exploration) -> str | None:
        if not self.watch.plain.speaks_of_anything(prop):
            return ABSENT
        if first.reason is not None:
            return None
        if prop.premise is not None and prop.premise.name not in {p.name for p in first.reached}:
            return f"{UNMET}: {prop.premise.statement}"
        if prop.scope is Scope.AT_REST and not first.at_rest:
            return "no reachable state is at rest"
        return None

    def _ruled_out(self, finding: _Finding) -> int | None:
        """How many of the multisets that were examined contain no cut set."""
        if finding.settled is None:
            return 0
        sizes = range(finding.settled + 1)
        if sum(math.comb(len(self.slots) + s - 1, s) for s in sizes if s) > MOST_COUNTED:
            return None
        excluded = [Counter(events) for events in finding.excluded]
        return sum(
            not any(cut <= Counter(chosen) for cut in excluded)
            for size in sizes
            for chosen in itertools.combinations_with_replacement(self.slots, size)
        )
