"""A search that leaves out orders of steps which make no difference, where z3 certifies that.

A run that such a search finds need not be the shortest. So where one is found (or a loop, which may
be fair or not), the search is made again with nothing left out; what was seen to hold holds anyway.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.proof.reduction import Reduction, reduction
from rackproof.checker.search import Exploration, Limits, explore
from rackproof.checker.search.results import Progress
from rackproof.checker.symmetry import Class

MOST_TOLD: Final = 3
"""Reasons that are told in a line."""


@frozen
class Reduced:
    """What a search saw.

    longer: the violated properties of which no shortest run was looked for. note: what was left
    out and what certifies that, or why nothing was, in a line.
    """

    seen: Exploration
    note: str
    longer: frozenset[str] = frozenset()


def explore_reduced(
    relation: Relation,
    classes: Sequence[Class] = (),
    *,
    limits: Limits | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reduced:
    """Visit the reachable states of a relation, but for orders that z3 shows to be of no matter.

    The time limit is for the certificates and the search, and once more for a search again.
    """
    started, limits = time.monotonic(), limits or Limits()

    def left() -> Limits:
        spent = time.monotonic() - started
        seconds = limits.time_limit
        return evolve(limits, time_limit=None if seconds is None else max(seconds - spent, 0.1))

    def is_late() -> bool:
        return limits.time_limit is not None and time.monotonic() - started > limits.time_limit / 2

    found = reduction(relation, is_late)
    seen = explore(
        relation, classes, limits=left(), workers=workers, progress=progress, alone=found.local
    )
    if not found.local or not (seen.violations or seen.raises or seen.endless):
        return Reduced(seen, told(found, seen))
    whole = explore(relation, classes, limits=limits, workers=workers, progress=progress)
    if whole.exhausted and whole.endless is None:
        return Reduced(whole, f"{told(found, seen)}; then without, for the shortest runs")
    return _together(found, seen, whole)


def _together(found: Reduction, seen: Exploration, whole: Exploration) -> Reduced:
    """What was seen with orders left out, and the shorter runs of a search that ended early."""
    longer = frozenset(seen.violations.keys() - whole.violations.keys())
    both = evolve(
        seen,
        violations={**seen.violations, **whole.violations},
        raises=whole.raises or seen.raises,
        fired=seen.fired | whole.fired,
        reached=seen.reached | whole.reached,
    )
    return Reduced(both, f"{told(found, seen)}; then without, which did not end", longer)


def told(found: Reduction, seen: Exploration) -> str:
    """What was left out, and what certifies that, in a line."""
    why = [f"{name}: {reason}" for name, reason in found.refused]
    if not why:
        off = ""
    else:
        more = f" (and {len(why) - MOST_TOLD} more)" if len(why) > MOST_TOLD else ""
        off = f"; off for {', '.join(why[:MOST_TOLD])}{more}"
    if not found.local:
        return f"no certified reduction{off}"
    return (
        f"certified reduction: {', '.join(found.names)} taken alone in "
        f"{100 * seen.alone:.0f} % of the states; {found.certificates:,} questions answered by z3 "
        f"in {found.seconds:.1f} s{off}"
    )
