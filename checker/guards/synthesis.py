"""Guided by counterexamples: which tests, added to a transition, make a violated property hold.

Candidates are the tests that the model's own steps and timers make somewhere, or the property,
read over the identifiers that a transition takes. A guard must keep some firing of every
counterexample from happening; so they are collected along one counterexample, and where a guard
leaves another one, a second guard is collected along that (counterexample-guided inductive
synthesis: Solar-Lezama, Tancau, Bodik, Seshia and Saraswat, "Combinatorial sketching for finite
programs", ASPLOS 2006). Candidates are judged on the graph of all reachable states; what passes is
proved anew by an exhaustive search of the model with the guard in it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

import attrs
import numpy as np
from attrs import frozen

from rackproof.checker.engines import Options
from rackproof.checker.guards.graph import PROGRESS, StateGraph
from rackproof.checker.guards.templates import (
    Template,
    Templates,
    negated,
    size,
    truths,
)
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import (
    Action,
    Disabled,
    Predicate,
    Relation,
    Test,
    Tree,
    Verdict,
)
from rackproof.checker.native.columns import Column
from rackproof.checker.search import Exploration, Limits
from rackproof.checker.search import explore as search
from rackproof.checker.searched import Progress, model_error
from rackproof.checker.symmetry import Class, interchangeable
from rackproof.checker.trace import EngineError
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Property, Scope, System, Transition
from rackproof.scenarios.steps import kebab

MOST_STATES: Final = 300_000
"""A graph of more states is not made."""
MOST_TRIALS: Final = 20_000
"""More guards and pairs than this are not judged."""
MOST_PROVED: Final = 5
"""The best guards, of which each is proved by a search."""
NONE: Final = (
    "no test that a step, a timer or the property makes lets it hold, added to one step or timer "
    "or to two, unless something else is lost"
)


@frozen
class Guard:
    """A test that a transition is to make before it fires."""

    transition: Transition[..., object]
    test: Template
    text: str

    @property
    def words(self) -> str:
        """The guard as a person writes it down."""
        return f"{kebab(self.transition.name)}: only if {self.text}"


@frozen
class Mend:
    """Guards with which a property holds, and what they leave of the model.

    states, moves: how many are still reachable. others: further tests that come to the very same.
    lost: transitions that fired before and no longer do.
    """

    guards: tuple[Guard, ...]
    states: int
    moves: int
    others: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@frozen
class NearMiss:
    """A guard with which the property holds, at a cost: what is lost, or no longer holds."""

    guards: tuple[Guard, ...]
    costs: tuple[str, ...]


@frozen
class Synthesis:
    """What was found out about one property.

    states, moves: of the model as it is. mends: the best first; each was proved by an exhaustive
    search. nearest: where there is none, a guard that fails by the least. tried: how many guards
    and pairs of guards were judged. reason: why nothing, or not everything, is known. is_open:
    whether that is for want of time or memory.
    """

    prop: Property
    states: int
    moves: int
    mends: tuple[Mend, ...] = ()
    nearest: NearMiss | None = None
    tried: int = 0
    reason: str | None = None
    is_open: bool = False


def missing_guards(
    system: System,
    names: Collection[str] | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> tuple[Synthesis, ...]:
    """For each violated property (of these names): the guards, on one transition or else on two,
    with which it holds, every ``sometimes`` goal stays reachable, nothing comes to rest that did
    not, and what held still holds.

    Only steps and timers are guarded: nobody can forbid a fault, a client or the environment.
    ``ModelError`` where the model raises.
    """
    model = _Model(system, options or Options(), progress)
    props = [
        prop
        for prop in system.properties
        if (prop.name in model.before.violations if names is None else prop.name in names)
    ]
    return tuple(_Synthesis(model, prop).result() for prop in props)


class _Model:
    """The model as it is: lowered, searched, and as a graph."""

    def __init__(self, system: System, options: Options, progress: Progress | None) -> None:
        self.system, self.options, self.progress = system, options, progress
        self.relation = lower(system)
        self.classes = interchangeable(self.relation)
        self.before = self.searched(self.relation, self.classes, keep=True)
        if self.before.raises:
            raise model_error(system, self.before.raises[0])

    @cached_property
    def graph(self) -> StateGraph:
        """Every state and move."""
        return StateGraph(self.relation, self.before)

    def searched(
        self, relation: Relation, classes: Sequence[Class], keep: bool = False
    ) -> Exploration:
        """Search the relation, or one made of it."""
        return search(
            relation,
            classes,
            limits=Limits(self.options.seconds, self.options.memory, MOST_STATES),
            workers=self.options.workers,
            progress=self.progress,
            keep=keep,
        )


@frozen
class _Trial:
    """Some guards and what they come to.

    kept: the moves that the guards leave. reached: the states that these lead to.
    """

    guards: tuple[Guard, ...]
    kept: Column
    reached: Column

    @property
    def key(self) -> bytes:
        """What tells different behaviours apart."""
        return np.packbits(self.reached).tobytes()


class _Synthesis:
    """The candidates for one property, judged and proved."""

    def __init__(self, model: _Model, prop: Property) -> None:
        self.model, self.prop = model, prop
        self.started, self.tried = time.monotonic(), 0
        self.failed: list[tuple[_Trial, tuple[str, ...]]] = []

    def result(self) -> Synthesis:
        """Try guards, and prove the best."""
        before = self.model.before
        told = Synthesis(self.prop, before.states, before.transitions)
        if why := self._hopeless():
            return attrs.evolve(told, reason=why, is_open=not before.exhausted)
        self.graph = self.model.graph
        self.judge = _Judge(self.graph, self.prop)
        self.candidates = _Candidates(self.graph, self.prop)
        told = attrs.evolve(told, moves=len(self.graph.source))
        try:
            mends = tuple(self._proved(self._singles())) or tuple(self._proved(self._pairs()))
        except _Enough as enough:
            return attrs.evolve(
                told, reason=str(enough), is_open=True, tried=self.tried, nearest=self._nearest()
            )
        if mends:
            return attrs.evolve(told, mends=mends, tried=self.tried)
        return attrs.evolve(told, reason=NONE, tried=self.tried, nearest=self._nearest())

    def _hopeless(self) -> str | None:
        """Why there is nothing to be tried."""
        before = self.model.before
        if not before.exhausted:
            return f"not all states were seen: {before.reason}"
        if self.prop.name not in before.violations:
            return "it is not violated here, so no guard is missing"
        if before.violations[self.prop.name].loop:
            return "a run violates it that goes on for ever; no guard ends that"
        return None

    def _nearest(self) -> NearMiss | None:
        """The guard that fails by the least: by the fewest costs."""
        if not self.failed:
            return None
        trial, costs = min(self.failed, key=lambda each: (len(each[1]), *self._rank(each[0])))
        return NearMiss(trial.guards, costs)

    # Which guards to try.

    def _singles(self) -> list[_Trial]:
        """The trials of one guard that mend, after all were judged."""
        path = self.graph.path(self.graph.all, self.judge.bad(self.graph.all))
        assert path is not None, "it is violated"
        self.firsts = [self._trial((guard,)) for guard in self.candidates.along(path)]
        return [trial for trial in self.firsts if self._mends(trial)]

    def _mends(self, trial: _Trial) -> bool:
        if not self.judge.averts(trial):
            return False
        costs = tuple(self.judge.costs(trial))
        if costs:
            self.failed.append((trial, costs))
        return not costs

    def _pairs(self) -> list[_Trial]:
        """The trials of two guards that mend: the second against what the first leaves."""
        found, seen = [], set[bytes]()
        for first in sorted(self._distinct(self.firsts), key=self._rank):
            if any(self.judge.lost(first)):
                continue
            path = self.graph.path(first.kept, self.judge.bad(first.kept))
            for guard in self.candidates.along(path or ()):
                kept = np.packbits(first.kept & self.candidates.allowed(guard)).tobytes()
                if kept not in seen:
                    seen.add(kept)
                    trial = self._trial((*first.guards, guard))
                    found += [trial] if self._mends(trial) else []
        return found

    def _trial(self, guards: tuple[Guard, ...]) -> _Trial:
        self.tried += 1
        if self.tried > MOST_TRIALS:
            raise _Enough(f"stopped after {MOST_TRIALS:,} guards and pairs of guards")
        limit = self.model.options.seconds
        if limit is not None and time.monotonic() - self.started > limit:
            raise _Enough(f"out of time: {limit:g} s")
        kept = self.graph.all
        for guard in guards:
            kept &= self.candidates.allowed(guard)
        return _Trial(guards, kept, self.graph.reached(kept))

    def _distinct(self, trials: Iterable[_Trial]) -> list[_Trial]:
        found: dict[bytes, _Trial] = {}
        for trial in trials:
            found.setdefault(self._behaviour(trial), trial)
        return list(found.values())

    def _behaviour(self, trial: _Trial) -> bytes:
        """The states and the moves that are left, as a key."""
        return np.packbits(trial.kept & trial.reached[self.graph.source]).tobytes() + trial.key

    def _rank(self, trial: _Trial) -> tuple[int, int, int, int, str]:
        """The least loss of states, then of moves; then what is the shortest to read."""
        moves = int((trial.kept & trial.reached[self.graph.source]).sum())
        shortest = sum(size(guard.test) for guard in trial.guards)
        text = _told(trial.guards)
        return -int(trial.reached.sum()), -moves, shortest, len(text), text

    # Which of them are told.

    def _proved(self, trials: Sequence[_Trial]) -> Iterator[Mend]:
        """The best few, each with a search of the model that has the guards in it."""
        alike: dict[bytes, list[_Trial]] = {}
        for trial in sorted(trials, key=self._rank):
            alike.setdefault(self._behaviour(trial), []).append(trial)
        proved = 0
        for best, *others in alike.values():
            mend = self._mend(best, others)
            costs = tuple(self._refuted(best, mend))
            if costs:
                self.failed.append((best, costs))
                continue
            yield mend
            proved += 1
            if proved == MOST_PROVED:
                return

    def _mend(self, trial: _Trial, others: Sequence[_Trial]) -> Mend:
        kept = trial.kept & trial.reached[self.graph.source]
        return Mend(
            trial.guards,
            int(trial.reached.sum()),
            int(kept.sum()),
            (*self.candidates.alike(trial.guards), *(_told(other.guards) for other in others)),
            tuple(self._lost(kept)),
        )

    def _lost(self, kept: Column) -> Iterator[str]:
        actions = self.model.relation.actions
        names = [action.firing.transition.name for action in actions]
        left = {names[number] for number in np.unique(self.graph.action[kept])}
        once = {names[number] for number in np.unique(self.graph.action)}
        yield from dict.fromkeys(name for name in names if name in once - left)

    def _refuted(self, trial: _Trial, mend: Mend) -> Iterator[str]:
        """What an exhaustive search of the guarded model has against it."""
        model, relation = self.model, self.candidates.guarded(trial.guards)
        classes = interchangeable(relation)
        seen = model.searched(relation, classes)
        if not seen.exhausted or seen.endless:
            raise _Enough(
                f"{_told(trial.guards)} could not be proved: {seen.reason or seen.endless}"
            )
        here = seen.violations.get(self.prop.name)
        is_other = classes == model.classes and seen.states != mend.states
        if is_other or (here is not None and not here.loop):
            raise EngineError(f"{_told(trial.guards)}: the search and the graph do not agree")
        if here is not None:
            yield f"a run that goes on for ever violates {self.prop.name}"
        broken = seen.violations.keys() - model.before.violations
        yield from (f"{name} is violated" for name in sorted(broken))
        lost = {prop.name for prop in model.before.reached - seen.reached}
        yield from (f"{name} is never reached" for name in sorted(lost))


def _simplicity(guard: Guard) -> tuple[int, int, str]:
    return size(guard.test), len(guard.text), guard.text


def _told(guards: Sequence[Guard]) -> str:
    return "; ".join(guard.words for guard in guards)


class _Enough(Exception):
    """A limit is reached; the text says which."""


class _Judge:
    """What the guards of a trial come to, told from the graph."""

    def __init__(self, graph: StateGraph, prop: Property) -> None:
        self.graph, self.prop = graph, prop
        predicates = graph.relation.predicates
        self.false = np.zeros(graph.states, dtype=bool)
        for predicate in predicates:
            if predicate.property is prop:
                self.false |= ~graph.columns.holds(predicate.tree)
        self.goals = {name: goal for name, goal in self._goals(predicates).items() if goal.any()}
        self.moving = graph.moving(graph.all)

    def _goals(self, predicates: Sequence[Predicate]) -> dict[str, Column]:
        """Where each ``sometimes`` property, premises among them, is satisfied."""
        found: dict[str, Column] = {}
        for predicate in predicates:
            if predicate.property.scope is Scope.SOMETIMES:
                here, name = self.graph.columns.holds(predicate.tree), predicate.property.name
                found[name] = found[name] | here if name in found else here
        return found

    def bad(self, kept: Column) -> Column:
        """The states that violate the property where only these moves are left."""
        rests = self.prop.scope is not Scope.ALWAYS
        found: Column = self.false & ~self.graph.moving(kept) if rests else self.false
        return found

    def averts(self, trial: _Trial) -> bool:
        """Whether no state that violates the property is reached."""
        return not bool((self.bad(trial.kept) & trial.reached).any())

    def costs(self, trial: _Trial) -> Iterator[str]:
        """What a mend must not do: what comes to rest, and what is lost."""
        stuck = self.moving & ~self.graph.moving(trial.kept) & trial.reached
        if stuck.any():
            yield f"{counted(int(stuck.sum()), 'state')} from which something went on come to rest"
        yield from self.lost(trial)

    def lost(self, trial: _Trial) -> Iterator[str]:
        """The goals that are no longer reached, and guarded transitions that never fire."""
        here = trial.reached[self.graph.source] & trial.kept
        actions = self.graph.relation.actions
        fires = {actions[n].firing.transition.name for n in np.unique(self.graph.action[here])}
        for name in dict.fromkeys(guard.transition.name for guard in trial.guards):
            if name not in fires:
                yield f"{kebab(name)} never happens"
        for name, goal in self.goals.items():
            if not (goal & trial.reached).any():
                yield f"{name} is never reached"


class _Candidates:
    """The guards that keep some firing of a run from happening."""

    def __init__(self, graph: StateGraph, prop: Property) -> None:
        self.graph, self.relation = graph, graph.relation
        self.templates = Templates(self.relation)
        trees = [
            action.tree
            for action in self.relation.actions
            if action.firing.transition.kind in PROGRESS  # what only faults ask nobody can know
        ]
        trees += [p.tree for p in self.relation.predicates if p.property is prop]
        self.tests = sorted(truths(self.relation, _conditions(trees)))
        self._instances: dict[tuple[str, Template], dict[int, Node] | None] = {}
        self._allowed: dict[tuple[str, Template], Column] = {}
        self._keys: dict[Guard, bytes] = {}
        self._alike: dict[bytes, list[Guard]] = {}

    def along(self, path: Iterable[int]) -> list[Guard]:
        """The guards that are false at some firing of a run; of those that never differ, one."""
        found: dict[bytes, Guard] = {}
        for move in path:
            action = self.relation.actions[self.graph.action[move]]
            if action.firing.transition.kind in PROGRESS:
                for guard in self._before(action, int(self.graph.source[move])):
                    found.setdefault(self._register(guard), guard)
        return [min(self._alike[key], key=_simplicity) for key in found]

    def alike(self, guards: Sequence[Guard]) -> tuple[str, ...]:
        """What else one guard may say."""
        if len(guards) > 1:
            return ()
        known = sorted(self._alike[self._register(guards[0])], key=_simplicity)
        words = (guard.words for guard in known if guard != guards[0])
        return tuple(word for word in dict.fromkeys(words) if word != guards[0].words)

    def _register(self, guard: Guard) -> bytes:
        """What tells apart guards that leave different moves."""
        known = self._keys.get(guard)
        if known is None:
            name = guard.transition.name.encode()
            known = self._keys[guard] = name + np.packbits(self.allowed(guard)).tobytes()
            self._alike.setdefault(known, []).append(guard)
        return known

    def _before(self, action: Action, state: int) -> Iterator[Guard]:
        """The guards that are false at a firing in a state."""
        transition = action.firing.transition
        for test in self._false_at(action, state):
            if self._of(transition.name, test) is not None:
                yield Guard(transition, test, self.templates.words(test, transition))

    def _false_at(self, action: Action, state: int) -> Iterator[Template]:
        for test in self.tests:
            is_true = bool(self.graph.columns.value(test)[state])
            for reading in self.templates.readings(test, action.firing):
                yield negated(reading) if is_true else reading

    def _of(self, name: str, test: Template) -> dict[int, Node] | None:
        """The test of each action of a transition; None where some cannot make it."""
        key = name, test
        if key not in self._instances:
            found = {
                number: self.templates.instance(test, action.firing.arguments)
                for number, action in enumerate(self.relation.actions)
                if action.firing.transition.name == name
            }
            known = {number: node for number, node in found.items() if node is not None}
            self._instances[key] = known if len(known) == len(found) else None
        return self._instances[key]

    def allowed(self, guard: Guard) -> Column:
        """The moves that a guard leaves."""
        key = guard.transition.name, guard.test
        if key not in self._allowed:
            kept, graph = self.graph.all, self.graph
            for number, node in (self._of(*key) or {}).items():
                mine = np.flatnonzero(graph.action == number)
                kept[mine] = graph.columns.truth(node)[graph.source[mine]]
            self._allowed[key] = kept
        return self._allowed[key].copy()

    def guarded(self, guards: Sequence[Guard]) -> Relation:
        """The relation with the guards in it."""
        actions = list(self.relation.actions)
        for guard in guards:
            for number, node in (self._of(guard.transition.name, guard.test) or {}).items():
                action = actions[number]
                actions[number] = attrs.evolve(
                    action,
                    tree=Test(node, action.tree, Disabled()),
                    reads=action.reads | self.relation.arena.slots(node),
                )
        return attrs.evolve(self.relation, actions=tuple(actions), places=())


def _conditions(trees: Iterable[Tree]) -> Iterator[Node]:
    """The tests and verdicts of some trees."""
    seen: set[int] = set()
    pending = list(trees)
    while pending:
        tree = pending.pop()
        if id(tree) in seen:
            continue
        seen.add(id(tree))
        if isinstance(tree, Test):
            yield tree.condition
            pending += (tree.yes, tree.no)
        elif isinstance(tree, Verdict):
            yield tree.value
