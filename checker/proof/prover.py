"""Engine ``prove``: several ways to an invariant or to a run, side by side.

What is found is never taken on trust: a run is walked with the plain functions, an invariant is
checked by solvers that had no part in finding it, from the lowered relation itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from attrs import define, evolve, field, frozen

from rackproof.checker.cores import available_cores
from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Action, Predicate, Raises, Relation, error_in_words
from rackproof.checker.proof import clauses, solvers
from rackproof.checker.proof.abc import abc, program
from rackproof.checker.proof.bounded import bounded
from rackproof.checker.proof.certificate import Certificate, certificate
from rackproof.checker.proof.checking import check
from rackproof.checker.proof.induction import Undecided, with_lemmas
from rackproof.checker.proof.obligations import Obligation, obligation, unreachable
from rackproof.checker.proof.outcomes import Budget, Invariant, Path, Unknown, walked
from rackproof.checker.proof.pdr import pdr
from rackproof.checker.proof.proof import Proof
from rackproof.checker.proof.race import Race, Runner, Told
from rackproof.checker.proof.unbounded import prove_for_any
from rackproof.checker.trace import EngineError, Trace
from rackproof.model.kernel import ModelError, Property, Scope, System, holds

BOUNDED: Final = "bounded check"
PDR: Final = "pdr (python-sat)"
ABC: Final = "pdr (berkeley-abc)"
INDUCTION: Final = "induction (z3)"
LEARNING: Final = "learned from all states"
MOST_SECONDS: Final = 3_600.0
"""What learning may take where there is no limit."""
SHORTER: Final = 10.0
"""Seconds that a shorter run is looked for, once there is one."""
_LAST_WORDS: Final = 2.0
"""Seconds that a runner has, after its time is up, to say how far it came."""

PATIENCE: Final = 20.0
"""Seconds after which a second engine for the same is tried, where there are few cores."""
KIND: Final = 10
"""The bounded check yields to the others: it pays where they find nothing."""

Working = Generator[None, None, Any]
Engine = Callable[..., Invariant | Path | Unknown]


@frozen
class Answer:
    """What is known of one obligation: a proof, a run (a shortest?), or why neither."""

    proof: Proof | None = None
    trace: Trace | None = None
    is_shortest: bool = False
    reason: str | None = None


@define
class Prover:
    """Proves properties of a relation beside whatever else this process does.

    names: the properties to prove. reached, never: the ``sometimes`` properties, premises among
    them, that are known to be satisfied by some run, and by none. seconds, memory: limits, of all
    and of each process. patience: how long to wait for news before a yield. is_small: a search has
    seen all states, so that clauses can be learned from them. After ``work``: what is
    proved, violated (longer: those of which a shorter run may be), never satisfied, and why nothing
    is known of the rest.
    """

    relation: Relation
    names: tuple[str, ...]
    reached: set[str] = field(factory=set)
    never: set[str] = field(factory=set)
    seconds: float | None = None
    memory: int | None = None
    patience: float = 0.2
    is_small: bool = False
    proofs: dict[str, Proof] = field(factory=dict)
    violated: dict[str, Trace] = field(factory=dict)
    longer: set[str] = field(factory=set)
    reasons: dict[str, str] = field(factory=dict)
    _started: float = field(factory=time.monotonic)

    def run(self) -> None:
        """Work until everything is known that can be."""
        for _ in self.work():
            pass

    @property
    def doing(self) -> str:
        """What it is doing, in words."""
        left = [n for n in self.names if n not in {*self.proofs, *self.violated, *self.reasons}]
        if not left:
            return "proving what can never happen"
        return f"proving {', '.join(left[:3])}{' and more' if len(left) > 3 else ''}"

    def work(self) -> Working:
        """Work on, and yield whenever there is nothing to do but wait."""
        yield from self._prove(list(self.names))
        yield from self._reach(self._premises())

    def _prove(self, names: list[str]) -> Working:
        """All in one proof, which is quicker than one by one, but for those that are violated."""
        while names:
            shown = obligation(self.relation, names)
            answer: Answer = yield from self._answered(shown, self._chained(names))
            if answer.trace is None:
                break
            false = self._false(answer.trace, names)
            self.longer |= set() if answer.is_shortest else false
            names = [name for name in names if name not in false]
        for name in names:
            if answer.proof is not None:
                self.proofs[name] = answer.proof
            else:
                self.reasons[name] = answer.reason or "no proof was found"

    def _chained(self, names: Collection[str]) -> list[Property]:
        """The properties to show by induction, if their lemmas are there to rely on."""
        there = self.relation.system.properties
        wanted = [prop for prop in there if prop.name in names]
        return wanted if all(item in there for prop in wanted for item in prop.chain) else []

    def _false(self, trace: Trace, names: Collection[str]) -> set[str]:
        """The properties that a run violates; it is a counterexample of each."""
        false = {
            prop.name
            for prop in self.relation.system.properties
            if prop.name in names and trace.violates(prop)
        }
        if not false:
            raise EngineError("a run is said to violate a property, and violates none")
        self.violated |= dict.fromkeys(false, trace)
        return false

    def _premises(self) -> list[Property]:
        """What has to be reached for the proofs to say something, and goals of their own."""
        properties = self.relation.system.properties
        wanted = [p.premise for p in properties if p.name in self.proofs and p.premise]
        wanted += [p for p in properties if p.scope is Scope.SOMETIMES]
        return [p for p in dict.fromkeys(wanted) if p.name not in self.reached | self.never]

    def _reach(self, premises: list[Property]) -> Working:
        """Which of them some run satisfies; that none satisfies the rest is one proof."""
        answer = Answer()
        while premises:
            names = [premise.name for premise in premises]
            answer = yield from self._answered(unreachable(self.relation, names))
            if answer.trace is None:
                break
            end, system = answer.trace.final, self.relation.system
            self.reached |= {premise.name for premise in premises if holds(system, premise, end)}
            premises = [premise for premise in premises if premise.name not in self.reached]
        for premise in premises:
            if answer.proof is not None:
                self.never.add(premise.name)
            else:
                self.reasons[premise.name] = answer.reason or "no run was found that satisfies it"

    def _answered(self, shown: Obligation, chained: Sequence[Property] = ()) -> Working:
        """A proof, or a shortest run, or why there is neither."""
        began = time.monotonic()
        found: _Found = yield from self._raced(self._runners(shown, chained))
        if found.path is not None:
            _check_errors(shown, found.path)
            return Answer(trace=walked(shown.relation, found.path), is_shortest=found.is_shortest)
        if found.clauses is None:
            return Answer(reason=found.reason)
        if found.runner == INDUCTION:
            shown = obligation(self.relation, [item.name for p in chained for item in p.chain])
        nodes = clauses.heard(shown.relation.arena, found.clauses)
        proof = Proof(shown, nodes, found.runner, time.monotonic() - began)
        return (yield from confirmed(proof, self._left, self.memory, self.patience))

    def _raced(self, runners: Mapping[str, Runner]) -> Working:
        """The first invariant; where there is a run, the one that the bounded check finds.

        That one is a shortest, whatever ends first; another counts if that one takes too long.
        """
        found = _Found()
        with Race(runners, self.memory) as race:
            while not (race.is_over or found.is_enough or self._has_waited):
                for told in race.news(self.patience):
                    found.take(told)
                if not found.is_enough:
                    yield
        return found

    def _runners(self, shown: Obligation, chained: Sequence[Property]) -> dict[str, Runner]:
        budget = Budget.of(self._left, self.memory)
        runners: dict[str, Runner] = {
            BOUNDED: partial(_runner, bounded, shown, budget, KIND),
            PDR: partial(_runner, pdr, shown, budget),
        }
        if chained:
            runners[INDUCTION] = partial(_induced, self.relation, chained, budget.deadline)
        if self.is_small and chained:
            names, seconds = [p.name for p in chained], self._left
            most = MOST_SECONDS if seconds is None else seconds
            runners[LEARNING] = partial(_learned, self.relation.system, names, most)
        if program() is not None:
            wait = 0.0 if available_cores() > len(runners) else PATIENCE
            runners[ABC] = partial(_runner, abc, shown, budget, wait=wait)
        return runners

    @property
    def spent(self) -> float:
        """Seconds since the prover was made."""
        return time.monotonic() - self._started

    @property
    def is_late(self) -> bool:
        """Whether its time is up."""
        return self._left == 0

    @property
    def _left(self) -> float | None:
        return None if self.seconds is None else max(0.0, self.seconds - self.spent)

    @property
    def _has_waited(self) -> bool:
        """Whether even those that were to tell how far they came should have done so by now."""
        return self.seconds is not None and self.spent > self.seconds + _LAST_WORDS


def confirmed(
    proof: Proof, seconds: float | None, memory: int | None = None, patience: float = 0.2
) -> Working:
    """The proof as an answer, where two solvers agree, each by itself; or why they do not."""
    item = certificate("", "", proof)
    runners = {name: partial(_checker, item, name, seconds) for name in solvers.NAMES}
    agreed: list[str] = []
    with Race(runners, memory) as race:
        while not race.is_over:
            for told in race.news(patience):
                if told.result == solvers.SAT:
                    raise EngineError(f"{told.runner} refutes an invariant of {proof.method}")
                agreed += [told.runner] if told.result == solvers.UNSAT else []
            yield
    silent = " and ".join(name for name in runners if name not in agreed)
    if silent:
        return Answer(reason=f"an invariant was found, but {silent} did not confirm it in time")
    return Answer(proof=evolve(proof, checkers=tuple(sorted(agreed))))


@define
class _Found:
    """What the runners of a race told."""

    runner: str = ""
    clauses: tuple[clauses.Told, ...] | None = None
    path: Path | None = None
    is_shortest: bool = False
    since: float = 0.0
    depth: int = -1
    troubles: dict[str, str] = field(factory=dict)

    def take(self, told: Told) -> None:
        result = told.result
        if isinstance(result, Path):
            if self.path is None or told.runner == BOUNDED:
                self.since = self.since or time.monotonic()
                self.path, self.is_shortest = result, told.runner == BOUNDED
        elif isinstance(result, Unknown):
            self.troubles[told.runner] = result.reason
            self.depth = max(self.depth, result.depth)
        elif result is not None:
            self.runner, self.clauses = told.runner, result
        elif told.trouble:
            self.troubles[told.runner] = told.trouble

    @property
    def is_enough(self) -> bool:
        """Whether there is nothing to wait for any more."""
        is_late = self.path is not None and time.monotonic() - self.since > SHORTER
        return self.clauses is not None or self.is_shortest or is_late

    @property
    def reason(self) -> str:
        """Why there is neither a proof nor a run."""
        seen = f"; no run of up to {self.depth} steps is one" if self.depth >= 0 else ""
        each = sorted(set(self.troubles.values()))
        whole = (
            each[0]
            if len(each) == 1
            else "; ".join(f"{n}: {w}" for n, w in sorted(self.troubles.items()))
        )
        return f"{whole or 'out of time'}{seen}"


def _check_errors(shown: Obligation, path: Path) -> None:
    """``ModelError`` where the model raises in a state of a path."""
    relation = shown.relation
    for steps, state in enumerate(path.states):
        ordinals = list(relation.initial)
        for variable, ordinal in zip(relation.variables, state, strict=True):
            ordinals[variable.slot] = ordinal
        owners: list[Action | Predicate] = [*relation.actions, *shown.predicates]
        for owner in owners:
            leaf = relation.leaf(owner.tree, ordinals)
            if isinstance(leaf, Raises):
                raise ModelError(error_in_words(relation.system, owner, leaf, steps))


def _runner(
    engine: Engine, shown: Obligation, budget: Budget, niceness: int = 0, wait: float = 0.0
) -> Iterator[Any]:
    """In a process of its own: what an engine finds, clauses as plain values."""
    os.nice(niceness)
    time.sleep(wait)
    found = engine(shown, budget=budget)
    yield (
        clauses.told(shown.relation.arena, found.clauses) if isinstance(found, Invariant) else found
    )


def _induced(
    relation: Relation, chained: Sequence[Property], deadline: float | None
) -> Iterator[Any]:
    """In a process of its own: clauses by induction, property by property."""
    os.nice(KIND)
    found: dict[Node, None] = {}
    for prop in chained:
        _, by = with_lemmas(relation, prop, deadline)
        if isinstance(by, Undecided) or by.clauses is None:
            return  # the others go on
        found |= dict.fromkeys(by.clauses)
    yield clauses.told(relation.arena, found)


def _learned(system: System, names: Sequence[str], seconds: float) -> Iterator[Any]:
    """In a process of its own: clauses that are true of all states, as many as are needed."""
    found = prove_for_any(system, names, (), time.monotonic() + seconds)
    if isinstance(found, Proof):
        yield clauses.told(found.obligation.relation.arena, found.clauses)


def _checker(item: Certificate, solver: str, seconds: float | None) -> Iterator[str]:
    yield check(item, seconds, [solver]).answers[0].said
