"""The engines under one interface: from a system to ``Findings``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from attrs import frozen

from rackproof.checker.compare import compare
from rackproof.checker.lowering import lower
from rackproof.checker.lowering.relation import Action, Relation
from rackproof.checker.reducing import Reduced, explore_reduced
from rackproof.checker.search import Exploration, Found, Limits, Raised, Snapshot
from rackproof.checker.search import explore as search
from rackproof.checker.symmetry import interchangeable
from rackproof.checker.trace import EngineError, Trace, for_ever, walk
from rackproof.checker.verdicts import Findings
from rackproof.model.kernel import ModelError, Scope, System

Progress = Callable[[Snapshot], None]


@frozen
class Options:
    """How an engine is to run; None leaves a limit to the engine.

    coverage: tell the guards that always came out the same way, too. reduce: leave out orders of
    steps that z3 shows to make no difference. compare: hold the plain
    functions against their lowered form on some states first, as for a world of a user's own.
    """

    engine: str = "auto"
    workers: int | None = None
    memory: int | None = None
    seconds: float | None = None
    coverage: bool = False
    reduce: bool = False
    compare: bool = False


def explore(
    system: System,
    sought: Collection[str] | None,
    options: Options,
    progress: Progress | None = None,
) -> Findings:
    """Explore a system; where ``sought`` is given, until all of these properties are violated."""
    relation = lower(system)
    if options.compare:
        compare(relation)
    reduced = _reduced(relation, sought, options, progress)
    seen = reduced.seen
    if seen.raises:
        raise ModelError(_raised(system, seen.raises[0]))
    traces = {name: _trace(system, seen, name, found) for name, found in seen.violations.items()}
    fired = frozenset(relation.actions[number].firing.transition.name for number in seen.fired)
    possible = {action.firing.transition.name for action in relation.actions}
    return Findings(
        engine="search",
        states=seen.states,
        transitions=seen.transitions,
        depth=seen.depth,
        seconds=seen.seconds,
        at_rest=seen.at_rest,
        reason=seen.reason,
        violated=traces,
        endless=seen.endless,
        fewest=frozenset(_fewest(system, seen, traces)),
        reached=frozenset(prop.name for prop in seen.reached),
        fired=fired,
        idle=tuple(t.name for t in system.transitions if t.name in possible - fired),
        impossible=tuple(t.name for t in system.transitions if t.name not in possible),
        reads={(p.property.name, p.arguments): p.reads for p in relation.predicates},
        longer=reduced.longer,
        note=reduced.note or None,
    )


def _reduced(
    relation: Relation,
    sought: Collection[str] | None,
    options: Options,
    progress: Progress | None,
) -> Reduced:
    """Search, with orders left out where that is asked for and the runs that are found do not
    decide.
    """
    classes, workers = interchangeable(relation), options.workers
    limits = Limits(options.seconds, options.memory)
    if options.reduce and sought is None:
        return explore_reduced(relation, classes, limits=limits, workers=workers, progress=progress)
    seen = search(
        relation, classes, limits=limits, workers=workers, stop_when=sought, progress=progress
    )
    return Reduced(seen, "no reduction: violations are expected" if options.reduce else "")


def _trace(system: System, seen: Exploration, name: str, found: Found) -> Trace:
    """The run that leads to a state, walked with the plain functions under the real names.

    The plain property is asked too; ``EngineError`` where it does not fail.
    """
    native = seen.native
    key = native.layout.pack if found.loop else native.canonical
    trace = walk(system, [key(state) for state in found.path], key)
    if found.loop:
        actions = native.relation.actions
        trace = for_ever(trace, [actions[number].firing for number in found.loop])
    if not any(trace.violates(prop) for prop in system.properties if prop.name == name):
        raise EngineError(f"{name} is said to be violated, and the plain functions do not agree")
    return trace


def _fewest(system: System, seen: Exploration, traces: Mapping[str, Trace]) -> Iterator[str]:
    """The violated properties of which it is known that no run with fewer faults violates them."""
    scopes = {prop.name: prop.scope for prop in system.properties}
    for name, found in seen.violations.items():
        is_known = seen.endless is None or scopes[name] is not Scope.EVENTUALLY
        if is_known and traces[name].faults == found.faults:
            yield name


def _raised(system: System, raised: Raised) -> str:
    """Where a model raises, and in what."""
    owner = raised.owner
    if isinstance(owner, Action):
        what = f"in: {owner.firing.words(system)}"
    else:
        what = f"in the property {owner.property.name}"
    where = raised.leaf.where
    steps = raised.found.steps
    after = f"after {steps} step{'' if steps == 1 else 's'}" if steps else "at once"
    return f"{where}: {raised.leaf.message} ({what}, {after})"
