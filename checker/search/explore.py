"""The order of the search: fewest faults first, then fewest steps.

States are grouped in *cells*, by the faults and the steps it takes to get there, faults weighing
more. A cell is filled from the one a step before it by transitions that are no faults, and from the
one with a fault less by faults. So the first cell with a violation has the counterexample with the
fewest faults, and the shortest of those. The states of a cell lie together in the store; which
thread came first changes their order there and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.cores import available_cores
from rackproof.checker.lowering.relation import Action, Relation, Update
from rackproof.checker.native import Native
from rackproof.checker.native.memory import Own
from rackproof.checker.native.native import Words
from rackproof.checker.native.program import Local
from rackproof.checker.search.cycles import Cycles
from rackproof.checker.search.paths import Cell, holds, path_to
from rackproof.checker.search.results import (
    Exploration,
    Found,
    Limits,
    Progress,
    Raised,
    Snapshot,
)
from rackproof.checker.search.store import LimitReached
from rackproof.checker.search.threads import Team
from rackproof.checker.symmetry import Class
from rackproof.model.kernel import Property, Scope

NEVER: Final = -1
"""A monitor that sees nothing."""
SAMPLE: Final = 1_000
"""States of which it is counted in how many a step is taken alone."""
SOUGHT: Final = "the search ended at the violations that were sought"


def explore(
    relation: Relation,
    classes: Sequence[Class] = (),
    *,
    limits: Limits | None = None,
    workers: int | None = None,
    stop_when: Collection[str] | None = None,
    progress: Progress | None = None,
    keep: bool = False,
    alone: Sequence[Local] = (),
) -> Exploration:
    """Visit every reachable state of a relation.

    classes: bundles shown to be interchangeable. workers: threads; by default one a core.
    stop_when: end once all properties of these names are violated (``sometimes``: reached).
    progress: called a few times a second. keep: give back all the states too. alone: actions that
    are taken alone, shown to lose nothing that matters but the shortness of runs.
    """
    started = time.monotonic()
    native = Native(relation, classes, alone)
    prepared = time.monotonic() - started
    workers = workers or available_cores()
    limits = limits or Limits()
    return _Search(native, limits, workers, stop_when, progress, prepared, keep).run()


class _Enough(Exception):
    """All that was sought has been found."""


@frozen
class _Sighting:
    """The least state of the first cell in which a monitor saw what it waits for."""

    cell: Cell
    words: Words


class _Search:
    """One search."""

    def __init__(
        self,
        native: Native,
        limits: Limits,
        workers: int,
        stop_when: Collection[str] | None,
        progress: Progress | None,
        prepared: float,
        keep: bool,
    ) -> None:
        self.native, self.monitors = native, native.monitors
        self.wanted = None if stop_when is None else self._numbers(stop_when)
        self.progress, self.prepared, self.keep = progress, prepared, keep
        self.team = Team(native, limits, workers, self._report, prepared)
        self.store = self.team.store
        self.cells: list[list[Cell]] = []
        self.current = Cell(0, 0, 0, 1)
        self.sightings: dict[int, _Sighting] = {}
        self.loops: dict[int, Found] = {}
        self.everywhere = self.monitors.everywhere()

    def _numbers(self, names: Collection[str]) -> set[int]:
        """The monitors of properties; of one that speaks of nothing there is none to wait for."""
        known = {p.name for p in self.native.relation.system.properties}
        watched = {p.name for p in self.monitors.properties}
        if unknown := set(names) - known - watched:
            raise ValueError(f"no property is called {', '.join(sorted(unknown))}")
        found = {i for i, p in enumerate(self.monitors.properties) if p.name in names}
        return found | ({NEVER} if set(names) - watched else set())

    def run(self) -> Exploration:
        """Search, and gather what was seen."""
        with self.team:
            reason = self._explored()
            endless = self._look_for_loops(is_whole=reason is None)
            return self._result(reason, endless, self.team.seconds)

    def _explored(self) -> str | None:
        """Search; say why it ended early, or None where everything was seen."""
        try:
            self._begin()
            while self._layer(len(self.cells)):
                pass
        except _Enough:
            return SOUGHT
        except LimitReached as limit:
            self._judge_the_rest()
            return str(limit)
        return None

    def _look_for_loops(self, is_whole: bool) -> str | None:
        """Look for runs that go on for ever; say why that ended early, or None.

        A loop has the faults of the states on it. So where a run that comes to rest violates a
        property, only loops among the states with fewer faults matter, which are all known even
        where the search ended there.
        """
        bounds: dict[int, list[int]] = {}
        for number, prop in enumerate(self.monitors.properties):
            if prop.scope is Scope.EVENTUALLY and (is_whole or number in self.sightings):
                bounds.setdefault(self._loops_end(number), []).append(number)
        try:
            for bound, numbers in sorted(bounds.items()):
                for number, found in Cycles(self.team, self.cells, bound).loops(numbers):
                    self.loops[number] = found
        except LimitReached as limit:
            return str(limit)
        return None

    def _loops_end(self, number: int) -> int:
        """How many of the stored states may lie on a loop that is better than what was found."""
        if number not in self.sightings:
            return self.store.count
        rows = self.cells[: self.sightings[number].cell.faults]
        return sum(len(cell) for row in rows for cell in row)

    def _begin(self) -> None:
        """Store the initial state."""
        self.store.append(self.native.canonical(self.native.relation.initial))
        self.team.loop("rehash", 0, 1)

    def _layer(self, faults: int) -> bool:
        """Fill the cells with so many faults; tell whether there are any states in them."""
        row: list[Cell] = []
        before = self.cells[faults - 1] if faults else []
        self.cells.append(row)
        row.append(self._closed(faults, 0, self.store.count if faults else 0))
        while row[-1] or any(before[len(row) - 1 :]):
            steps, begin = len(row), self.store.count
            self.current = Cell(faults, steps, begin, begin)
            self._expand("expand_calm", row[-1])
            if steps <= len(before):
                self._expand("expand_faults", before[steps - 1])
            row.append(self._closed(faults, steps, begin))
        return any(row)

    def _closed(self, faults: int, steps: int, begin: int) -> Cell:
        """Ask the predicates of a cell's states, now that they are all there."""
        self.current = cell = Cell(faults, steps, begin, self.store.count)
        if cell and self._is_anything_open():
            self.team.loop("judge", cell.begin, cell.end)
            self._collect(cell)
        return cell

    def _is_anything_open(self) -> bool:
        return any(number not in self.sightings for number in self.everywhere)

    def _expand(self, name: str, source: Cell) -> None:
        try:
            if source:
                self.team.loop(name, source.begin, source.end)
        finally:
            self._note(source)
        self._stop_at_enough()

    def _collect(self, cell: Cell) -> None:
        self._note(cell)
        self._stop_at_enough()

    def _note(self, cell: Cell) -> None:
        """Take up what the threads saw in the states of a cell."""
        for number, words in self.team.hits().items():
            if number not in self.sightings:
                self.sightings[number] = _Sighting(cell, words)
                self.team.opened.set_byte(number, 0)

    def _stop_at_enough(self) -> None:
        if self.wanted is not None and self.wanted <= self.sightings.keys():
            raise _Enough

    def _judge_the_rest(self) -> None:
        """Judge what was stored of the cell in which a limit was reached."""
        cell = self.current
        cell = Cell(cell.faults, cell.steps, cell.begin, self.store.count)
        self.team.finish("judge", cell.begin, cell.end)
        self._note(cell)

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(
                Snapshot(
                    states=self.store.count,
                    transitions=self.team.total(Own.TRANSITIONS),
                    seconds=self.team.seconds,
                    frontier=self.store.count - self.current.begin,
                    memory=self.store.bytes,
                    faults=self.current.faults,
                    steps=self.current.steps,
                    reached=frozenset(prop.name for prop in self._reached()),
                )
            )

    def _reached(self) -> Iterator[Property]:
        """The ``sometimes`` properties that some state satisfies."""
        for number, prop in enumerate(self.monitors.properties):
            if number in self.sightings and prop.scope is Scope.SOMETIMES:
                yield prop

    def _result(self, reason: str | None, endless: str | None, searching: float) -> Exploration:
        cells = [cell for row in self.cells for cell in row if cell]
        if self.store.count > self.current.begin:
            cells.append(self.current)
        return Exploration(
            native=self.native,
            states=self.store.count,
            transitions=self.team.total(Own.TRANSITIONS),
            depth=max(cell.steps for cell in cells),
            faults=max(cell.faults for cell in cells),
            at_rest=self.team.total(Own.RESTS),
            exhausted=reason is None,
            reason=reason,
            endless=endless,
            fired=self.team.fired(),
            raises=tuple(self._raises()),
            violations=self._violations(),
            reached=frozenset(self._reached()),
            stored=self._stored() if self.keep else None,
            preparing=self.prepared,
            searching=searching,
            memory=self.store.bytes,
            alone=self._alone(),
        )

    def _alone(self) -> float:
        """In which share of the states a step is taken alone: counted in some."""
        if not self.native.alone:
            return 0.0
        count, width = self.store.count, self.store.words
        numbers = range(0, count, -(-count // SAMPLE))
        states = [self.native.ordinals(self.store.states.words(n * width, width)) for n in numbers]
        return sum(map(self._is_alone, states)) / len(states)

    def _is_alone(self, ordinals: Sequence[int]) -> bool:
        relation = self.native.relation
        return any(
            isinstance(relation.leaf(relation.actions[local.number].tree, ordinals), Update)
            and bool(relation.value(local.condition, ordinals))
            for local in self.native.alone
        )

    def _stored(self) -> bytes:
        return self.store.states.piece(self.store.count * self.store.words)

    def _violations(self) -> dict[str, Found]:
        found: dict[str, Found] = {}
        for number, prop in enumerate(self.monitors.properties):
            if number in self.loops:
                found.setdefault(prop.name, self.loops[number])
            elif number in self.sightings and prop.scope is not Scope.SOMETIMES:
                path = self._path(number)
                instance = self._violated(number, path[-1])
                found.setdefault(prop.name, self._found(number, instance, path))
        return found

    def _raises(self) -> list[Raised]:
        found = []
        for number, raising in enumerate(self.monitors.raising, len(self.monitors.properties)):
            if number in self.sightings:
                is_action = isinstance(raising.owner, Action)
                predicates = self.native.relation.predicates
                owners = [i for i, p in enumerate(predicates) if p is raising.owner]
                instance = None if is_action else owners[0]
                reached = self._found(number, instance, self._path(number))
                found.append(Raised(raising.owner, raising.leaf, reached))
        return found

    def _found(self, number: int, instance: int | None, path: tuple[tuple[int, ...], ...]) -> Found:
        cell = self.sightings[number].cell
        return Found(cell.faults, cell.steps, instance, path)

    def _path(self, number: int) -> tuple[tuple[int, ...], ...]:
        sighting = self.sightings[number]
        path = path_to(self.team, self.cells, sighting.cell, sighting.words)
        return tuple(self.native.ordinals(words) for words in path)

    def _violated(self, number: int, ordinals: Sequence[int]) -> int | None:
        """The first instance of a property that a state violates."""
        relation, prop = self.native.relation, self.monitors.properties[number]
        violated = (
            index
            for index, predicate in enumerate(relation.predicates)
            if predicate.property is prop and holds(relation, predicate.tree, ordinals) is False
        )
        return next(violated, None)
