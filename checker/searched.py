"""Engine ``search``: from a relation to ``Findings``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from rackproof.checker.lowering.relation import Relation, error_in_words
from rackproof.checker.reducing import explore_reduced
from rackproof.checker.search import Exploration, Found, Limits, Raised, Snapshot
from rackproof.checker.search import explore as search
from rackproof.checker.symmetry import interchangeable
from rackproof.checker.trace import EngineError, Trace, for_ever, walk
from rackproof.checker.verdicts import Findings
from rackproof.model.kernel import ModelError, Scope, System

Progress = Callable[[Snapshot], None]


def searched(
    relation: Relation,
    sought: Collection[str] | None,
    limits: Limits,
    workers: int | None = None,
    progress: Progress | None = None,
    reduce: bool = False,
) -> Findings:
    """Explore a relation; where ``sought`` is given, until all of these properties are violated.

    reduce: leave out orders of steps that z3 shows to make no difference, where the runs that are
    found do not decide.
    """
    system, classes = relation.system, interchangeable(relation)
    note, longer = "", frozenset[str]()
    if reduce and sought is None:
        found = explore_reduced(
            relation, classes, limits=limits, workers=workers, progress=progress
        )
        seen, note, longer = found.seen, found.note, found.longer
    else:
        seen = search(
            relation, classes, limits=limits, workers=workers, stop_when=sought, progress=progress
        )
        note = "no reduction: violations are expected" if reduce else ""
    if seen.raises:
        raise model_error(system, seen.raises[0])
    traces = {name: trace_of(system, seen, name, found) for name, found in seen.violations.items()}
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
        longer=longer,
        note=note or None,
    )


def trace_of(system: System, seen: Exploration, name: str, found: Found) -> Trace:
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


def model_error(system: System, raised: Raised) -> ModelError:
    """The mistake of a model that raises in a reachable state."""
    return ModelError(error_in_words(system, raised.owner, raised.leaf, raised.found.steps))
