"""An inductive invariant from counterexamples to induction and the states of a finite instance.

A step that leads out of what is assumed so far begins in a state that no run should reach. The
smallest combination of its features that no state of the instance has is forbidden, each forbidden
value widened as far as those states allow; and so on until no step leads out. The instance guides,
and z3 over unbounded integers judges: learning from counterexamples to induction after Padon and
others (Ivy, PLDI 2016), with the instance's states as the teacher in place of a person, as in the
ICE framework (Garg and others, CAV 2014).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

import numpy as np
import z3
from attrs import define, field, frozen

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Action, Relation
from rackproof.checker.native.columns import Column
from rackproof.checker.proof import z3terms
from rackproof.checker.proof.hitting import Costs, Hitting
from rackproof.checker.proof.obligations import Obligation
from rackproof.checker.proof.renaming import Renaming, renamings, unchanged
from rackproof.checker.proof.terms import Vector
from rackproof.checker.proof.vocabulary import features, lanes_of
from rackproof.checker.symmetry import Class

Allowed = tuple[tuple[int, frozenset[int]], ...]
"""A clause: for some of these features (by number), the value is one of those."""

PATIENCE: Final = 10_000
"""Milliseconds that z3 may take for one question."""
FEATURE_COST: Final = 2
LANE_COST: Final = 2
"""What a clause is preferred for: to be short, and to speak of few identifiers."""
MOST_FURTHER: Final = 4
"""How many more constants numbers are compared with, one after the other, where that is needed."""
AT_ONCE: Final = 30
"""How many clauses one question is about."""
MOST_HARD: Final = 300
"""How many of the states that were mistaken for others before are looked at first."""


class Unlearned(Exception):
    """No invariant was found; says why."""


@frozen
class Learned:
    """Clauses that hold at the start, that every step keeps, and that exclude what is bad."""

    clauses: tuple[Node, ...]
    counterexamples: int
    questions: int
    seconds: float


class Teacher:
    """The states of an instance, by their features."""

    def __init__(
        self,
        relation: Relation,
        fields: Mapping[int, Column],
        classes: Sequence[Class] = (),
        further: Mapping[int, int] | None = None,
    ) -> None:
        """Compute every feature of every state.

        fields: the states, a column for each variable. classes: bundles that may be exchanged, by
        which there are further states. further: see ``features``.
        """
        self.relation, self.fields, self.classes = relation, fields, classes
        self.further = dict(further or {})
        self.features = features(relation, self.further)
        self.renamings = renamings(relation, self.features, classes)
        columns = [*_distinct([f.column(relation.arena, fields) for f in self.features])]
        alike = [columns, *(renaming.of(columns) for renaming in self.renamings)]
        self.columns = _distinct(np.concatenate(alike, axis=1))
        self.hard: list[Column] = []
        lanes = [lanes_of(relation, f) for f in self.features]
        numbers = {lane: n for n, lane in enumerate(sorted(set().union(*lanes), key=str))}
        labels = [sorted(numbers[lane] for lane in its) for its in lanes]
        self.costs = Costs(labels, FEATURE_COST, LANE_COST)

    def finer(self, ordinals: Mapping[int, int]) -> Teacher | None:
        """One that may tell a state from those that are like it to this one; None where there is
        none.

        Of a state that differs in the fewest numbers, these are compared with one constant more.
        """
        here = self.vector(ordinals)
        columns = [f.column(self.relation.arena, self.fields) for f in self.features]
        for renaming in (unchanged(self.features), *self.renamings):
            alike = np.ones(len(columns[0]), dtype=bool)
            for column, value in zip(renaming.of(columns), here, strict=True):
                alike &= column == value
            if alike.any():
                return self._finer(self._different(ordinals, alike, renaming))
        return None

    def _different(
        self, ordinals: Mapping[int, int], alike: Column, renaming: Renaming
    ) -> list[int]:
        """In which numbers a state differs from the one, of some, from which it differs least."""
        moved = {slot: renaming.slot(self.features, slot) for slot in self._numbers()}
        if not moved:
            return []
        differs = np.array([self.fields[s][alike] != ordinals[m] for s, m in moved.items()])
        least = differs[:, int(np.argmin(differs.sum(axis=0)))]
        return [slot for slot, here in zip(moved.values(), least, strict=True) if here]

    def _finer(self, found: Sequence[int]) -> Teacher | None:
        """Compare these, and whatever may be exchanged with them, with one constant more."""
        orbit = {r.slot(self.features, slot) for slot in found for r in self.renamings}
        further = {s: self.further.get(s, 0) + 1 for s in (*found, *orbit)}
        if not found or max(further.values()) > MOST_FURTHER:
            return None
        return Teacher(self.relation, self.fields, self.classes, {**self.further, **further})

    def _numbers(self) -> list[int]:
        """The fields without bound, but for parameters."""
        slots = self.relation.system.schema.slots
        wide = {feature.left for feature in self.features if feature.right is not None}
        return sorted(slot for slot in wide if not slots[slot].rigid)

    def images(self, allowed: Allowed) -> Iterator[Allowed]:
        """What a clause becomes when identifiers are exchanged."""
        for renaming in self.renamings:
            yield tuple(
                sorted(
                    (renaming.targets[n], frozenset(renaming.values[n][v] for v in values))
                    for n, values in allowed
                )
            )

    def taken(self, number: int) -> frozenset[int]:
        """The values that a feature has in any state."""
        return frozenset(np.unique(self.columns[number]).tolist())

    def vector(self, ordinals: Mapping[int, int]) -> tuple[int, ...]:
        """The features of a state."""
        return tuple(f.of(self.relation.arena, ordinals) for f in self.features)

    def forbidden(self, vector: Sequence[int]) -> Allowed | None:
        """The strongest small clause that excludes a state and none of the instance's.

        None where a state of the instance has all the same features.
        """
        core = self._core(vector)
        if core is None:
            return None
        chosen = {number: frozenset({vector[number]}) for number in core}
        for number in core:
            others = [n for n in core if n != number]
            rows = self._having({n: chosen[n] for n in others})
            seen = frozenset(np.unique(self.columns[number][rows]).tolist())
            chosen[number] = frozenset(self.features[number].values) - seen
        return tuple((n, frozenset(self.features[n].values) - chosen[n]) for n in sorted(chosen))

    def _core(self, vector: Sequence[int]) -> tuple[int, ...] | None:
        """The cheapest features whose values no state has together: what tells the state from each
        of the instance's.
        """
        here = np.array(vector, dtype=np.int8)
        known = np.array(self.hard[-MOST_HARD:], dtype=np.int8).reshape(-1, len(here))
        hitting = Hitting(self.costs, (m for row in known if (m := _mask(row != here))))
        try:
            while True:
                core = hitting.cheapest()
                row = self._alike(core, vector)
                if row is None:
                    return core
                values = self.columns[:, row].copy()
                if not (differs := _mask(values != here)):
                    return None
                self.hard.append(values)
                hitting.add(differs)
        finally:
            hitting.close()

    def _alike(self, core: Sequence[int], vector: Sequence[int]) -> int | None:
        rows = self._having({number: frozenset({vector[number]}) for number in core})
        at = int(np.argmax(rows))
        return at if rows[at] else None

    def _having(self, wanted: Mapping[int, frozenset[int]]) -> Column:
        rows: Column | None = None
        for number, values in wanted.items():
            column = self.columns[number]
            here = column == next(iter(values)) if len(values) == 1 else np.isin(column, [*values])
            rows = here if rows is None else rows & here
        return np.ones(len(self.columns[0]), dtype=bool) if rows is None else rows


def _distinct(columns: Sequence[Column] | Column) -> Column:
    """The features of all states, one row a feature; states with the same features once.

    Should two rows ever have one hash by chance, a state is not learned from, and that is all.
    """
    factors = np.random.default_rng(0).integers(1, 1 << 62, len(columns), dtype=np.uint64)
    hashes = np.zeros(len(columns[0]), dtype=np.uint64)
    for column, factor in zip(columns, factors, strict=True):
        hashes += column.astype(np.uint64) * factor
    kept = np.unique(hashes, return_index=True)[1]  # in an order that no thread has a say in
    return np.array([column[kept] for column in columns])


def _mask(truths: Column) -> int:
    """The bit set of the places that are true."""
    return int.from_bytes(np.packbits(truths, bitorder="little").tobytes(), "little")


@define
class _Step:
    """An action in z3: its own solver, with what it does and how many clauses it assumes."""

    action: Action
    solver: z3.Solver
    after: z3terms.Z3Terms
    assumed: int = 0
    open: list[Node] = field(factory=list)


class Learner:
    """The loop."""

    def __init__(self, obligation: Obligation, teacher: Teacher, deadline: float) -> None:
        """Take what is to be shown, the teacher, and until when (``time.monotonic``)."""
        self.obligation, self.relation = obligation, obligation.relation
        self.teacher, self.deadline = teacher, deadline
        self.state = z3terms.state(self.relation)
        self.terms = z3terms.terms(self.relation, self.state)
        self.always = [
            *z3terms.within(self.relation, self.state),
            *z3terms.rigid(self.relation, self.state),
        ]
        self.clauses: list[Node] = []
        self.known = set[Node]()
        self.steps = [self._step(action) for action in self.relation.actions]
        self.questions = self.counterexamples = 0

    def learned(self) -> Learned:
        """Go on until an invariant is found; ``Unlearned`` says why there is none."""
        started = time.monotonic()
        self._ranges()
        self._exclude_bad()
        while any(step.open for step in self.steps):
            for step in self.steps:
                while step.open:
                    self._keep(step, step.open[:AT_ONCE])
        return Learned(
            tuple(self.clauses), self.counterexamples, self.questions, time.monotonic() - started
        )

    def _ranges(self) -> None:
        """Values that no state of the instance has at all."""
        for number, feature in enumerate(self.teacher.features):
            taken = self.teacher.taken(number)
            if taken != frozenset(feature.values):
                self._add(feature.among(self.relation.arena, taken))

    def _exclude_bad(self) -> None:
        solver = self._solver()
        solver.add(self.obligation.bad(self.terms))
        assumed = 0
        while True:
            solver.add(*(self.terms.truth(clause) for clause in self.clauses[assumed:]))
            assumed = len(self.clauses)
            found = self._model(solver)
            if found is None:
                return
            self._forbid(found)

    def _forbid(self, ordinals: Mapping[int, int]) -> None:
        self.counterexamples += 1
        while (allowed := self.teacher.forbidden(self.teacher.vector(ordinals))) is None:
            finer = self.teacher.finer(ordinals)
            if finer is None:
                raise Unlearned("the features of a state do not tell whether runs reach it")
            self.teacher = finer
        if self._clause(allowed) in self.known:
            raise Unlearned("a clause that is there already does not exclude a state")
        self._add(self._clause(allowed))
        for image in self.teacher.images(allowed):
            self._add(self._clause(image))

    def _clause(self, allowed: Allowed) -> Node:
        arena = self.relation.arena
        parts = (self.teacher.features[n].among(arena, values) for n, values in allowed)
        return reduce(arena.or_, sorted(parts), arena.const(0))

    def _add(self, clause: Node) -> None:
        if clause in self.known:
            return
        self.known.add(clause)
        self.clauses.append(clause)
        slots = self.relation.arena.slots(clause)
        for step in self.steps:
            if step.action.writes & slots:
                step.open.append(clause)

    def _keep(self, step: _Step, clauses: Sequence[Node]) -> None:
        """Forbid states until a step leads out of none of these clauses."""
        broken = z3.Or(*(z3.Not(step.after.truth(clause)) for clause in clauses))
        while (found := self._leads_out(step, broken)) is not None:
            self._forbid(found)
        del step.open[: len(clauses)]

    def _leads_out(self, step: _Step, broken: z3.BoolRef) -> Mapping[int, int] | None:
        """A state in which all clauses hold, and that a step takes to one that is broken."""
        solver = step.solver
        solver.add(*(self.terms.truth(known) for known in self.clauses[step.assumed :]))
        step.assumed = len(self.clauses)
        solver.push()
        solver.add(broken)
        found = self._model(solver)
        solver.pop()
        return found

    def _model(self, solver: z3.Solver) -> Mapping[int, int] | None:
        if time.monotonic() > self.deadline:
            raise Unlearned("out of time")
        self.questions += 1
        answer = solver.check()
        if answer == z3.unknown:
            raise Unlearned(f"z3 does not know: {solver.reason_unknown()}")
        return z3terms.values(solver.model(), self.state) if answer == z3.sat else None

    def _step(self, action: Action) -> _Step:
        stepped = self.terms.action(action)
        after = Vector(
            {**self.state.numbers, **stepped.after.numbers},
            {**self.state.truths, **stepped.after.truths},
        )
        solver = self._solver()
        solver.add(stepped.enabled)
        return _Step(action, solver, z3terms.terms(self.relation, after))

    def _solver(self) -> z3.Solver:
        solver = z3.Solver()
        solver.set("timeout", PATIENCE)
        solver.add(*self.always)
        return solver
