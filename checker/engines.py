"""The engines under one interface: from a system to ``Findings``.

``search`` sees every state of a finite scope; ``prove`` finds invariants, for runs of any length;
``auto`` searches, and where that takes long proves beside it: whichever tells first counts.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Final

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

ENGINES: Final = ("auto", "search", "prove")
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
    open, by the names of the system's freedoms. racks: ask for any number of workers.
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
    relation = lower(system.with_lemmas if options.engine == "prove" else system)
    if options.compare:
        compare(relation)
    if options.engine == "search":
        limits = Limits(options.seconds, options.memory)
        return searched(relation, sought, limits, options.workers, progress, options.reduce)
    wanted = sought if sought is not None else asked
    names = tuple(
        prop.name
        for prop in system.properties
        if prop.scope in SAFETY and (wanted is None or prop.name in wanted) and speaks(system, prop)
    )
    engine = _opened if options.open else _proved if options.engine == "prove" else _both
    return engine(relation, names, sought, options, progress)


def speaks(system: System, prop: Property) -> bool:
    """Whether there is anything that a property speaks of."""
    return next(system.choices(prop.parameters), None) is not None


def _proved(
    relation: Relation,
    names: Sequence[str],
    sought: Collection[str] | None,
    options: Options,
    progress: Progress | None,
) -> Findings:
    """A short search for what is near, then proofs of the rest."""
    began = time.monotonic()
    limits = Limits(options.seconds, options.memory, NEAR)
    near = searched(relation, sought, limits, options.workers, progress)
    if sought is not None and near.violated.keys() >= set(sought):
        return evolve(near, engine="prove")
    left = None if options.seconds is None else options.seconds - (time.monotonic() - began)
    rest = tuple(name for name in names if name not in near.violated)
    prover = Prover(
        relation,
        rest,
        reached=set(near.reached),
        never=unmet(relation, near),
        seconds=left,
        memory=options.memory,
        is_small=near.reason is None,
    )
    for _ in prover.work():
        if progress is not None:
            progress(Snapshot(near.states, near.transitions, prover.spent, doing=prover.doing))
    return merged(near, prover)


def _opened(
    relation: Relation,
    names: Sequence[str],
    sought: Collection[str] | None,
    options: Options,
    progress: Progress | None,
) -> Findings:
    """A short search of the scope as it is, then proofs for every value of some sizes."""
    began = time.monotonic()
    limits = Limits(options.seconds, options.memory, NEAR)
    near = searched(relation, sought, limits, options.workers, progress)
    left = (options.seconds or OPEN_SECONDS) - (time.monotonic() - began)
    if progress is not None:
        doing = f"proving for any {', '.join(options.open)}"
        progress(Snapshot(near.states, near.transitions, near.seconds, doing=doing))
    return proved_for_any(near, relation.system, names, options.open, left)


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


def _both(
    relation: Relation,
    names: Sequence[str],
    sought: Collection[str] | None,
    options: Options,
    progress: Progress | None,
) -> Findings:
    """A search, and after a while a proof beside it, until one of them has told all.

    A search that is exhausted says more than a proof (it has seen every property), so it counts.
    """
    prover = Prover(relation, tuple(names), seconds=options.seconds, memory=options.memory)
    every = {prop.name for prop in relation.system.properties}
    with Beside(prover, frozenset(sought or every), progress) as beside:
        limits = Limits(options.seconds, options.memory, enough=beside.enough)
        seen = searched(relation, sought, limits, options.workers, beside, options.reduce)
        if seen.reason is None or seen.reason == SOUGHT:
            return seen
        if seen.reason != PROVED:
            beside.finish(max(LAST, seen.seconds))
        return merged(seen, prover)
