"""From a run that was drawn to the least one: what can be left out, and a search of the same world.

Hypothesis does not find the least failures of stateful tests. So its run is first shortened here,
step by step with the plain functions, and the world is then searched for the least of all: all of
it within a bound, and where that is too much, with no other transitions than the run has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.lowering import lower
from rackproof.checker.search import Limits
from rackproof.checker.searched import searched
from rackproof.checker.trace import Trace, run
from rackproof.checker.verdicts import Findings
from rackproof.model.kernel import Firing, Property, Scope, System, holds

MOST_STATES: Final = 500_000
"""What is searched for the least run of a violation."""
MOST_SECONDS: Final = 20.0
MOST_FIRINGS: Final = 2_000
"""Larger worlds are not lowered for it."""


@frozen
class Least:
    """The least run that was found. shortest: whether no shorter one has as few faults; fewest:
    whether none has fewer faults. findings: of the search of the whole world, where it ended there.
    late: whether more time might have told more.
    """

    trace: Trace
    shortest: bool
    fewest: bool
    findings: Findings | None = None
    late: bool = False


def least(
    system: System,
    prop: Property,
    firings: Sequence[Firing],
    left: Callable[[], float] = lambda: math.inf,
) -> Least:
    """The least run that violates a property, given one that does. left: says how many seconds
    there are for it.
    """
    found = run(system, shortened(system, prop, firings, left))
    whole = _searched(system, prop, left())
    if whole is not None and (trace := whole.violated.get(prop.name)) is not None:
        return Least(trace, prop.name not in whole.longer, prop.name in whole.fewest, whole)
    smaller = None if prop.scope is not Scope.ALWAYS else _searched(_only(found), prop, left())
    if smaller is not None and (trace := smaller.violated.get(prop.name)) is not None:
        shorter = run(system, [step.firing for step in trace.steps])
        found = min(found, shorter, key=lambda one: (one.faults, len(one.steps)))
    return Least(found, shortest=False, fewest=False, late=left() <= 0)


def _searched(system: System, prop: Property, left: float) -> Findings | None:
    """A search for one property alone; None where there is no time, or the world is too large even
    to be lowered.
    """
    if left <= 0 or sum(1 for _ in system.firings()) > MOST_FIRINGS:
        return None
    limits = Limits(min(left, MOST_SECONDS), None, max_states=MOST_STATES)
    relation = lower(evolve(system, properties=(prop,)))
    return searched(relation, (prop.name,), limits)


def _only(trace: Trace) -> System:
    """The world with the transitions of a run and no others."""
    names = {step.firing.transition.name for step in trace.steps}
    kept = tuple(one for one in trace.system.transitions if one.name in names)
    return evolve(trace.system, transitions=kept)


def shortened(
    system: System,
    prop: Property,
    firings: Sequence[Firing],
    left: Callable[[], float] = lambda: math.inf,
) -> tuple[Firing, ...]:
    """A run after as many of its steps are left out as can be, one after another from its end, so
    that it still violates the property there; fewer where no seconds are left for it.
    """
    best, before = tuple(firings), 0
    while before != len(best):
        before = len(best)
        for number in reversed(range(len(best))):
            if number < len(best) and left() > 0:
                shorter = _violating(system, prop, (*best[:number], *best[number + 1 :]))
                best = best if shorter is None else shorter
    return best


def _violating(
    system: System, prop: Property, firings: Collection[Firing]
) -> tuple[Firing, ...] | None:
    """The firings, without those that are not possible in turn, up to where the property is
    violated; None where it never is.
    """
    state, taken = system.initial, list[Firing]()
    always = prop.scope is Scope.ALWAYS
    for firing in firings:
        after = firing.transition.function(state, *firing.arguments)
        if after is not None and after != state:
            state = after
            taken.append(firing)
            if always and not holds(system, prop, state):
                return tuple(taken)
    if always or not run(system, taken).violates(prop):
        return None
    return tuple(taken)
