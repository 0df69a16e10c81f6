"""The engines under one interface: from a system to ``Findings``.

``search`` sees every state of a finite scope; ``prove`` finds invariants, for runs of any length;
``auto`` searches, and where that takes long proves beside it: whichever tells first counts.
``sample`` draws runs, of scopes that are too large for either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen

from rackproof.checker.beside import PROVED, Beside
from rackproof.checker.compare import compare
from rackproof.checker.lowering import Relation, lower
from rackproof.checker.opened import OPEN_SECONDS, proved_for_any
from rackproof.checker.proof.obligations import SAFETY
from rackproof.checker.proof.prover import Prover
from rackproof.checker.search import SOUGHT, Limits, Snapshot
from rackproof.checker.searched import Progress, searched
from rackproof.checker.verdicts import Findings
from rackproof.model.kernel import Property, Scope, System
from rackproof.scenarios.changes import Change

if TYPE_CHECKING:
    from rackproof.checker.sample.machine import Driver

ENGINES: Final = ("auto", "search", "prove", "sample")
NEAR: Final = 100_000
"""States that are searched before a proof, for what is near: violations, and that premises are
met.
"""
LAST: Final = 60.0
"""Seconds that a proof has at least once the search beside it has run out of memory."""
LOOPS: Final = "a proof says nothing of loops, a search does"


@frozen
class Options:
    """How an engine is to run; None leaves a limit to the engine.

    coverage: tell the guards that always came out the same way, too. reduce: leave out orders of
    steps that z3 shows to make no difference. compare: hold the plain functions against their
    lowered form on some states first, as for a world of a user's own. repair: look for what mends
    each violation, and for what each property that holds needs. open: sizes that a proof leaves
    open, by the names of the system's freedoms. racks: ask for any number of workers. exams: those
    in which a stack is put to the test; none named: all. changes: mechanisms that are set otherwise
    than the target is written. runs, run_length, seed: how many runs are sampled, of how many steps
    at most, and what they are drawn by; driver: makes what goes along with each of them.
    """

    engine: str = "auto"
    workers: int | None = None
    memory: int | None = None
    seconds: float | None = None
    coverage: bool = False
    reduce: bool = False
    compare: bool = False
    repair: bool = False
    open: tuple[str, ...] = ()
    racks: bool = False
    exams: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    runs: int = 1_000
    run_length: int = 100
    seed: int = 0
    driver: Callable[[], Driver] | None = None

    @property
    def beyond(self) -> tuple[str, ...]:
        """The sizes that are left open, the number of workers among them."""
        return (*self.open, *(["workers"] if self.racks else []))


def explore(
    system: System,
    sought: Collection[str] | None,
    options: Options,
    progress: Progress | None = None,
    asked: Collection[str] | None = None,
) -> Findings:
    """Find out about a system; where ``sought`` is given, until all of these are violated.

    asked: the properties that matter; None for all.
    """
    if options.engine == "sample":
        return _sampled(system, sought, options, progress, asked)
    relation = lower(system.with_lemmas if options.engine == "prove" else system)
    if options.compare:
        compare(relation)
    question = _Question(relation, sought, asked, options, progress)
    if options.engine == "search":
        return question.searched(reduce=options.reduce)
    engine = _opened if options.open else _proved if options.engine == "prove" else _both
    return engine(question)


def _sampled(
    system: System,
    sought: Collection[str] | None,
    options: Options,
    progress: Progress | None,
    asked: Collection[str] | None,
) -> Findings:
    """Runs that are drawn: nothing is lowered for that."""
    from rackproof.checker.sample.engine import sampled  # noqa: PLC0415
    from rackproof.checker.sample.tally import Sampling  # noqa: PLC0415

    sampling = Sampling(options.runs, options.run_length, options.seed)
    return sampled(system, sampling, sought, asked, options.seconds, progress, options.driver)


@frozen
class _Question:
    """What is asked of an engine: the arguments of ``explore``, with the lowered relation."""

    relation: Relation
    sought: Collection[str] | None
    asked: Collection[str] | None
    options: Options
    progress: Progress | None

    @property
    def matters(self) -> list[Property]:
        """The properties of which something is to be known, and that speak of anything."""
        system, wanted = self.relation.system, self.asked if self.sought is None else self.sought
        every = [p for p in system.properties if wanted is None or p.name in wanted]
        return [p for p in every if p.scope is Scope.SOMETIMES or system.speaks_of_anything(p)]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of them that an invariant can show."""
        return tuple(prop.name for prop in self.matters if prop.scope in SAFETY)

    def searched(
        self,
        most: int | None = None,
        reduce: bool = False,
        beside: Beside | None = None,
    ) -> Findings:
        """A search within the limits that were asked for, and of so many states at most."""
        options, enough = self.options, None if beside is None else beside.enough
        limits = Limits(options.seconds, options.memory, most, enough)
        progress = beside or self.progress
        return searched(self.relation, self.sought, limits, options.workers, progress, reduce)

    def tell(self, near: Findings, seconds: float, doing: str) -> None:
        """Pass on what is done after a search of what is near."""
        if self.progress is not None:
            self.progress(Snapshot(near.states, near.transitions, seconds, doing=doing))


def _proved(question: _Question) -> Findings:
    """A short search for what is near, then proofs of the rest."""
    began, options, sought = time.monotonic(), question.options, question.sought
    near = question.searched(NEAR)
    if sought is not None and near.violated.keys() >= set(sought):
        return evolve(near, engine="prove")
    left = None if options.seconds is None else options.seconds - (time.monotonic() - began)
    prover = Prover(
        question.relation,
        tuple(name for name in question.names if name not in near.violated),
        reached=set(near.reached),
        never=unmet(question.relation, near),
        seconds=left,
        memory=options.memory,
        is_small=near.reason is None,
    )
    for _ in prover.work():
        question.tell(near, prover.spent, prover.doing)
    return merged(near, prover)


def _opened(question: _Question) -> Findings:
    """A short search of the scope as it is, then proofs for every value of some sizes."""
    began, options = time.monotonic(), question.options
    near = question.searched(NEAR)
    left = (options.seconds or OPEN_SECONDS) - (time.monotonic() - began)
    question.tell(near, near.seconds, f"proving for any {', '.join(options.open)}")
    return proved_for_any(near, question.relation.system, question.names, options.open, left)


def unmet(relation: Relation, seen: Findings) -> set[str]:
    """What a search that has seen every state has seen in none, of all that is to happen once."""
    properties = relation.system.properties
    goals = {p.premise for p in properties if p.premise}
    goals |= {p for p in properties if p.scope is Scope.SOMETIMES}
    return {p.name for p in goals if p.name not in seen.reached} if seen.reason is None else set()


def merged(seen: Findings, prover: Prover) -> Findings:
    """What a search saw, with what was proved."""
    properties = prover.relation.system.properties
    loops = [p.name for p in properties if p.scope is Scope.EVENTUALLY]
    return evolve(
        seen,
        engine="prove",
        seconds=seen.seconds + prover.spent,
        violated={**prover.violated, **seen.violated},
        reached=seen.reached | prover.reached,
        longer=seen.longer | (prover.longer - seen.violated.keys()),
        proofs=prover.proofs,
        never=frozenset(prover.never),
        reasons={**dict.fromkeys(loops, LOOPS), **prover.reasons},
    )


def _both(question: _Question) -> Findings:
    """A search, and after a while a proof beside it, until one of them has told all.

    A search that is exhausted says more than a proof (it has seen every property), so it counts.
    """
    options, relation = question.options, question.relation
    prover = Prover(relation, question.names, seconds=options.seconds, memory=options.memory)
    goals = frozenset(prop.name for prop in question.matters)
    with Beside(prover, goals, question.progress) as beside:
        seen = question.searched(reduce=options.reduce, beside=beside)
        if seen.reason is None or seen.reason == SOUGHT:
            return seen
        if seen.reason != PROVED:
            beside.finish(max(LAST, seen.seconds))
        return merged(seen, prover)
