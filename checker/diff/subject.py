"""From a world to a side of a comparison: it is lowered, searched, walked and timed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property, partial
from typing import Any, Final

import attrs
import numpy as np
from attrs import frozen

from rackproof.checker.compare import compare
from rackproof.checker.diff.rules import Forms, Guards, digest, domain_in_words, families, family
from rackproof.checker.diff.side import Act, Behaviour, Column, Costs, Judged, Rule, Side
from rackproof.checker.lowering import Relation, lower
from rackproof.checker.native import Native
from rackproof.checker.native.columns import columns
from rackproof.checker.report.setting import parts, written
from rackproof.checker.report.steps import run_in_words
from rackproof.checker.search import Limits, Snapshot
from rackproof.checker.searched import Progress, searched
from rackproof.checker.timing.amounts import exact, in_units
from rackproof.checker.timing.moves import Graph
from rackproof.checker.trace import run
from rackproof.checker.verdicts import Result, results
from rackproof.checker.verify import silent
from rackproof.model.kernel import Kind, Property, System, Transition
from rackproof.model.kernel.domains import Enumeration, FixedSpec, Truth, spec_of
from rackproof.scenarios.fields import Field, Fields
from rackproof.scenarios.quantities import in_words
from rackproof.scenarios.schema import Setting
from rackproof.scenarios.steps import kebab
from rackproof.scenarios.steps import written as as_step

MOST_STATES: Final = 20_000
"""States of which all moves are followed."""
SECONDS: Final = 60.0
"""For the walk over them, and for each exploration of times, unless told otherwise."""


@frozen
class Asked:
    """What is asked of a side. seconds, memory, states: the limits of each exploration. costs:
    whether to tell what its paths take.
    """

    seconds: float | None = None
    memory: int | None = None
    workers: int | None = None
    costs: bool = False
    states: int = MOST_STATES


@frozen(slots=False, eq=False)
class Subject:
    """A world to compare, in one scope."""

    target: str
    case: str
    setting: Setting
    asked: Asked

    @property
    def system(self) -> System:
        """The world."""
        return self.setting.system

    @cached_property
    def relation(self) -> Relation:
        """The world lowered; one of a user's own is held against its plain functions."""
        relation = lower(self.system)
        if self.setting.file is not None:
            compare(relation)
        return relation

    @cached_property
    def forms(self) -> Forms:
        """What its trees test and do."""
        return Forms(self.relation)

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """Its transitions as they are written, by the names that scenarios give them."""
        return {kebab(t.name): self._rule(t) for t in self.system.transitions}

    def _rule(self, transition: Transition[..., Any]) -> Rule:
        actions = [a for a in self.relation.actions if a.firing.transition is transition]
        slots = {slot for action in actions for slot in action.writes}
        return Rule(
            kind=transition.kind.value,
            fairness=transition.fairness.value,
            parameters=tuple(name for name, _ in transition.parameters),
            duration=transition.duration,
            forms={as_step(a.firing, self.system): self.forms.tree(a.tree) for a in actions},
            needs=Guards(self.relation).of(actions),
            writes=families(self.system, slots),
        )

    @cached_property
    def fields(self) -> dict[str, str]:
        """What each field may hold."""
        return {
            field.label: domain_in_words(self.system, field.domain)
            for field in Fields(self.system).all
        }

    @cached_property
    def asks(self) -> dict[str, str]:
        """By property, a digest of what its instances ask, and of when they are put to the test."""
        found: dict[Property, list[str]] = {}
        for predicate in self.relation.predicates:
            form = f"{predicate.arguments}: {self.forms.tree(predicate.tree)}"
            found.setdefault(predicate.property, []).append(form)
        return {
            prop.name: digest(*found.get(prop, ()), *self._premise(prop, found))
            for prop in self.system.properties
        }

    @staticmethod
    def _premise(prop: Property, found: Mapping[Property, Sequence[str]]) -> list[str]:
        """What the premise of a property asks, after its name."""
        premise = prop.premise
        return [] if premise is None else [f"premise {premise.name}", *found.get(premise, ())]

    @cached_property
    def form(self) -> str:
        """A digest of all that states, moves and verdicts depend on."""
        system = self.system
        start = [f"{label} {v}" for label, v in zip(self.fields, self._initial, strict=True)]
        told = [str(attrs.asdict(rule)) for rule in self.rules.values()]
        asked = [f"{p.name} {p.scope} {self.asks[p.name]}" for p in system.properties]
        given = map(self.forms.node, self.relation.given)
        return digest(
            *start, *self.rules, *told, *asked, *given, str(self.fields), str(self._sorts),
            str(sorted(self.setting.budgets.items())), *(a.words for a in self._acts),
        )  # fmt: skip

    @property
    def _initial(self) -> Iterator[str]:
        ordinals = self.system.schema.flatten(self.system.initial)
        return (field.words(field.value(ordinals)) for field in Fields(self.system).all)

    @property
    def _sorts(self) -> dict[str, tuple[str, ...]]:
        counts = self.system.schema.counts.items()
        return {
            sort.name: tuple(self.system.label(sort, index) for index in range(count))
            for sort, count in counts
        }

    @property
    def _acts(self) -> tuple[Act, ...]:
        system = self.system
        return tuple(
            Act(
                as_step(firing, system),
                kebab(firing.transition.name),
                firing.words(system),
                firing.transition.kind is Kind.FAULT,
            )
            for firing in system.firings()
        )

    def side(self, like: Side | None = None, progress: Progress | None = None) -> Side:
        """Find out all that is asked.

        like: a side that may turn out to be of the same form, of which everything is known.
        """
        is_like = like is not None and like.form == self.form
        return Side(
            target=self.target,
            case=self.case,
            written=self._written(),
            fields=self.fields,
            sorts=self._sorts,
            rules=self.rules,
            properties=like.properties if like and is_like else self._judged(progress),
            behaviour=like.behaviour if like and is_like else self._behaviour(progress),
            form=self.form,
            is_own=self.setting.file is not None,
            costs=self._costs(progress),
        )

    def _written(self) -> dict[str, dict[str, str]]:
        """What there is to choose, by part and key."""
        if self.setting.bundled is None:
            start = dict(zip(self.fields, self._initial, strict=True))
            sizes = {name: str(size) for name, size in self.system.sizes.items()}
            constants = fixed_values(self.system.initial)
            found = {"sizes": sizes, "fixed": constants, "initial state": start}
        else:
            found = {
                part: {key: written(value) for key, value in known.items()}
                for part, known in parts(self.setting).items()
            }
            deployment = self.setting.bundled.deployment
            found["deployment"] = {key: written(value) for key, value in deployment.items()}
        timing = self.system.timing
        quantities = timing.quantities if timing else {}
        return {**found, "times": {name: _time(q.value) for name, q in quantities.items()}}

    def _judged(self, progress: Progress | None) -> dict[str, Judged]:
        """The verdict on each property, by a search."""
        asked = self.asked
        limits = Limits(asked.seconds, asked.memory)
        found = searched(self.relation, None, limits, asked.workers, progress)
        every = results(self.system, found, {}, silent(self.setting, found))
        return {result.prop.name: self._told(result) for result in every}

    def _told(self, result: Result) -> Judged:
        trace = result.trace
        return Judged(
            statement=result.prop.statement,
            scope=result.prop.scope.value,
            form=self.asks[result.prop.name],
            verdict=result.verdict.value,
            words=result.words,
            reason=result.reason,
            faults=trace.faults if trace else None,
            steps=len(trace.steps) if trace else None,
            run=tuple(run_in_words(trace)) if trace else (),
        )

    def _behaviour(self, progress: Progress | None) -> Behaviour:
        walk = _Walk(self, progress)
        table = walk.table()
        found, indices = [], []
        fields = Fields(self.system)
        for field in fields.all:
            column, index = _column(field, fields.short[field.label], table)
            found.append(column)
            indices.append(index)
        states = np.array(indices, dtype=np.int64).T.tolist() or [[] for _ in table]
        moves = tuple(walk.moves)
        told = partial(in_words_of, self.system)
        known = tuple(map(tuple, states))
        return Behaviour(self._acts, tuple(found), known, moves, walk.reason, told)

    def _costs(self, progress: Progress | None) -> Costs | None:
        """What the paths take, where it is asked and the world says how long things do."""
        if not self.asked.costs or self.system.timing is None:
            return None
        from rackproof.checker.diff.spent import costs  # noqa: PLC0415

        return costs(self.system, self.asked.seconds or SECONDS, progress)


def in_words_of(system: System, runs: Sequence[Sequence[str]]) -> list[list[str]]:
    """What the steps of runs came to, each run walked with the plain functions."""
    firings = {as_step(firing, system): firing for firing in system.firings()}
    return [
        [step.words for step in run(system, [firings[label] for label in labels]).steps]
        for labels in runs
    ]


def fixed_values(world: Any) -> dict[str, str]:
    """The constants that a world of one's own holds, mechanisms and all, by name."""
    found: dict[str, str] = {}
    for attribute in attrs.fields(type(world)):
        if isinstance(spec_of(attribute), FixedSpec):
            found.update(_constants(attribute.name, getattr(world, attribute.name)))
    return found


def _constants(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """A constant by its name; of a record, each of its fields."""
    if attrs.has(type(value)):
        for attribute in attrs.fields(type(value)):
            yield from _constants(f"{name}.{attribute.name}", getattr(value, attribute.name))
    elif value is None or isinstance(value, bool | int | float | str):
        yield name, written(value)
    elif isinstance(value, Enum):
        yield name, str(value.value)


def _time(value: float | Callable[..., float]) -> str:
    """The value of a quantity."""
    if callable(value):
        return "depends on the state"
    return "none" if value == math.inf else in_units(exact(value))


class _Walk:
    """The states within the limits, and their moves; by native code, unless the lowered state
    leaves something out that a step changes.

    reason: why there are more states, if so.
    """

    def __init__(self, subject: Subject, progress: Progress | None) -> None:
        self.subject, self.asked, self.relation = subject, subject.asked, subject.relation
        self.moves: list[tuple[tuple[int, int], ...]] = []
        self.plain = Graph(subject.system) if self.relation.unread else None
        self.native = Native(self.relation)
        self.words = [self.native.layout.pack(self.relation.initial)]
        self.numbers = {self.words[0]: 0}
        self.reason = self._walked(progress)

    def _walked(self, progress: Progress | None) -> str | None:
        begun, seconds = time.monotonic(), self.asked.seconds or SECONDS
        find = self._natively if self.plain is None else self.plain.of
        states = self.words if self.plain is None else self.plain.states
        while len(self.moves) < len(states):
            done, spent = len(self.moves), time.monotonic() - begun
            if done == self.asked.states:
                return f"more than {done:,} states"
            if spent > seconds:
                return f"the time limit of {in_words(seconds)}"
            if progress is not None and done % 256 == 0:
                progress(Snapshot(done, 0, spent, doing=f"following {done:,} states"))
            self.moves.append(tuple(find(done)))
        return None

    @cached_property
    def _order(self) -> list[int]:
        """The number among all firings of each action."""
        numbers = {firing: number for number, firing in enumerate(self.subject.system.firings())}
        return [numbers[action.firing] for action in self.relation.actions]

    def _natively(self, state: int) -> Iterator[tuple[int, int]]:
        for action, after in self.native.moves(self.words[state]):
            number = self.numbers.setdefault(after, len(self.words))
            if number == len(self.words):
                self.words.append(after)
            yield self._order[action], number

    def table(self) -> Any:
        """The ordinals of every slot in every state."""
        if self.plain is not None:
            return np.array([self.subject.system.schema.flatten(s) for s in self.plain.states])
        stored = np.array(self.words, dtype=np.uint64).tobytes()
        known = columns(self.relation, self.native.layout, stored)
        table = np.tile(np.array(self.relation.initial, dtype=np.int64), (len(self.words), 1))
        for slot, column in known.items():
            table[:, slot] = column
        return table


def _column(field: Field, short: str, table: Any) -> tuple[Column, list[int]]:
    """A field with the values it takes in some states, and the index of the one that each has."""
    if field.is_set:
        weights = np.array([2**n for n in range(len(field.slots))], dtype=object)
        packed: Any = (table[:, list(field.slots)].astype(object) * weights).sum(axis=1)
    else:
        packed = table[:, field.slots[0]]
    found, index = np.unique(packed, return_inverse=True)
    values = tuple(field.words(_value(field, int(value))) for value in found)
    path = family(field.system, field.slots[0], field.is_set)
    is_phase = not field.is_set and isinstance(field.domain, Enumeration | Truth)
    return Column(field.label, short, path, values, is_phase), index.tolist()


def _value(field: Field, packed: int) -> object:
    if field.is_set:
        return frozenset(n for n in range(len(field.slots)) if packed >> n & 1)
    return field.domain.decode(packed)
