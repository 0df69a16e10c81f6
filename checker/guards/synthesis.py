"""Guided by counterexamples: which tests, added to a transition, make a violated property hold.

Candidates are the tests that the model itself makes somewhere, read over the identifiers that a
transition takes. A guard must keep some firing of every counterexample from happening; so they are
collected along one counterexample, and where a guard leaves another one, a second guard is
collected along that (counterexample-guided inductive synthesis: Solar-Lezama, Tancau, Bodik,
Seshia and Saraswat, "Combinatorial sketching for finite programs", ASPLOS 2006). Candidates are
judged on the graph of all reachable states; what passes is proved anew by an exhaustive search of
the model with the guard in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs
import numpy as np
from attrs import frozen

from rackproof.checker.columns import Column
from rackproof.checker.engines import Options, Progress
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
from rackproof.checker.search import Exploration, Limits
from rackproof.checker.search import explore as search
from rackproof.checker.symmetry import Class, interchangeable
from rackproof.checker.trace import EngineError
from rackproof.model.kernel import Property, Scope, System, Transition

MOST_STATES: Final = 300_000
"""A graph of more states is not made."""
MOST_TRIALS: Final = 20_000
"""More guards and pairs than this are not judged."""
MOST_PROVED: Final = 5
"""The best guards, of which each is proved by a search."""


@frozen
class Guard:
    """A test that a transition is to make before it fires."""

    transition: Transition[..., object]
    test: Template
    text: str

    @property
    def words(self) -> str:
        """The guard as a person writes it down."""
        return f"{self.transition.name.replace('_', '-')}: only if {self.text}"


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
class Synthesis:
    """What was found out about one property.

    states, moves: of the model as it is. mends: the best first; each was proved by an exhaustive
    search. tried: how many guards and pairs of guards were judged. reason: why nothing, or not
    everything, is known.
    """

    prop: Property
    states: int
    moves: int
    mends: tuple[Mend, ...]
    tried: int
    reason: str | None = None


def missing_guards(
    system: System,
    name: str,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """The guards, on one transition or else on two, with which the violated property of this name
    holds, every ``sometimes`` goal stays reachable, nothing comes to rest that did not, and what
    held still holds.

    Only steps and timers are guarded: nobody can forbid a fault, a client or the environment.
    """
    return _Synthesis(system, name, options or Options(), progress).result()


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

    def __init__(
        self, system: System, name: str, options: Options, progress: Progress | None
    ) -> None:
        self.system, self.options, self.progress = system, options, progress
        self.prop = next(prop for prop in system.properties if prop.name == name)
        self.started, self.tried = time.monotonic(), 0
        self.relation = lower(system)
        self.classes = interchangeable(self.relation)

    def result(self) -> Synthesis:
        """Search the model, try guards, prove the best."""
        self.before = seen = self._searched(self.relation, self.classes, keep=True)
        if not seen.exhausted:
            return self._none(f"not all states were seen: {seen.reason}")
        if self.prop.name not in seen.violations:
            return self._none("it is not violated here, so no guard is missing")
        if seen.violations[self.prop.name].loop:
            return self._none("a run violates it that goes on for ever; no guard ends that")
        self.graph = StateGraph(self.relation, seen)
        self.judge = _Judge(self.graph, self.prop)
        self.candidates = _Candidates(self.graph, self.prop)
        reason = None
        try:
            found = self._singles() or self._pairs()
        except _Enough as enough:
            found, reason = [], str(enough)
        mends = tuple(self._proved(found))
        if not mends and reason is None:
            reason = (
                "no test that the model makes, on one step or timer or two, lets it hold "
                "without cost to what else is to happen"
            )
        return attrs.evolve(self._none(reason), mends=mends)

    def _none(self, reason: str | None) -> Synthesis:
        moves = len(self.graph.source) if hasattr(self, "graph") else self.before.transitions
        return Synthesis(self.prop, self.before.states, moves, (), self.tried, reason)

    def _searched(
        self, relation: Relation, classes: Sequence[Class], keep: bool = False
    ) -> Exploration:
        return search(
            relation,
            classes,
            limits=Limits(self.options.seconds, self.options.memory, MOST_STATES),
            workers=self.options.workers,
            progress=self.progress,
            keep=keep,
        )

    # Which guards to try.

    def _singles(self) -> list[_Trial]:
        """The trials of one guard that mend, after all were judged."""
        path = self.graph.path(self.graph.all, self.judge.bad(self.graph.all))
        assert path is not None, "it is violated"
        self.firsts = [self._trial((guard,)) for guard in self.candidates.along(path)]
        return [trial for trial in self.firsts if self.judge.mends(trial)]

    def _pairs(self) -> list[_Trial]:
        """The trials of two guards that mend: the second against what the first leaves."""
        found, seen = [], set[bytes]()
        for first in sorted(self._distinct(self.firsts), key=self._rank):
            if not self.judge.keeps_goals(first):
                continue
            path = self.graph.path(first.kept, self.judge.bad(first.kept))
            for guard in self.candidates.along(path or ()):
                kept = np.packbits(first.kept & self.candidates.allowed(guard)).tobytes()
                if kept not in seen:
                    seen.add(kept)
                    trial = self._trial((*first.guards, guard))
                    found += [trial] if self.judge.mends(trial) else []
        return found

    def _trial(self, guards: tuple[Guard, ...]) -> _Trial:
        self.tried += 1
        if self.tried > MOST_TRIALS:
            raise _Enough(f"stopped after {MOST_TRIALS:,} guards and pairs of guards")
        limit = self.options.seconds
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
            if self._holds(best, mend):
                proved += 1
                yield mend
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
        actions = self.relation.actions
        names = [action.firing.transition.name for action in actions]
        left = {names[number] for number in np.unique(self.graph.action[kept])}
        once = {names[number] for number in np.unique(self.graph.action)}
        yield from dict.fromkeys(name for name in names if name in once - left)

    def _holds(self, trial: _Trial, mend: Mend) -> bool:
        """Whether an exhaustive search of the guarded model says so, too."""
        relation = self.candidates.guarded(trial.guards)
        classes = interchangeable(relation)
        seen = self._searched(relation, classes)
        if not seen.exhausted or seen.endless or seen.raises:
            return False
        if classes == self.classes and seen.states != mend.states:
            raise EngineError(f"{mend.guards[0].words}: the search and the graph do not agree")
        return seen.violations.keys() <= self.before.violations.keys() - {self.prop.name} and (
            seen.reached >= self.before.reached
        )


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
        columns, predicates = graph.columns, graph.relation.predicates
        true = np.ones(graph.states, dtype=bool)
        self.false = ~np.logical_and.reduce(
            [true, *(columns.holds(p.tree) for p in predicates if p.property is prop)]
        )
        self.goals = [goal for goal in self._goals(predicates) if goal.any()]
        self.moves_before = graph.moving(graph.all)

    def _goals(self, predicates: Sequence[Predicate]) -> Iterator[Column]:
        """Where each ``sometimes`` property, premises among them, is satisfied."""
        found: dict[int, Column] = {}
        for predicate in predicates:
            if predicate.property.scope is Scope.SOMETIMES:
                here = self.graph.columns.holds(predicate.tree)
                key = id(predicate.property)
                found[key] = found[key] | here if key in found else here
        yield from found.values()

    def bad(self, kept: Column) -> Column:
        """The states that violate the property where only these moves are left."""
        if self.prop.scope is Scope.ALWAYS:
            return self.false
        return self.false & ~self.graph.moving(kept)

    def keeps_goals(self, trial: _Trial) -> bool:
        """Whether every goal is still reached, and each guarded transition still fires."""
        here = trial.reached[self.graph.source] & trial.kept
        names = {guard.transition.name for guard in trial.guards}
        actions = self.graph.relation.actions
        fires = {actions[n].firing.transition.name for n in np.unique(self.graph.action[here])}
        return names <= fires and all((goal & trial.reached).any() for goal in self.goals)

    def mends(self, trial: _Trial) -> bool:
        """Whether the property holds, the goals stay, and nothing rests that did not."""
        stuck = self.moves_before & ~self.graph.moving(trial.kept)
        return (
            not (self.bad(trial.kept) & trial.reached).any()
            and not (stuck & trial.reached).any()
            and self.keeps_goals(trial)
        )


class _Candidates:
    """The guards that keep some firing of a run from happening."""

    def __init__(self, graph: StateGraph, prop: Property) -> None:
        self.graph, self.relation = graph, graph.relation
        self.templates = Templates(self.relation)
        trees = [action.tree for action in self.relation.actions]
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
