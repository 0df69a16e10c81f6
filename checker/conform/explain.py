"""Whether some run of a world explains what was recorded of it."""

from __future__ import annotations

from typing import Final

from attrs import evolve

from rackproof.checker.conform.forcing import forced_breaks
from rackproof.checker.conform.matching import Logs
from rackproof.checker.conform.moves import Moves
from rackproof.checker.conform.outcome import Answer, Broken, Explained, lacking
from rackproof.checker.conform.rejecting import after_that, rejection, stuck
from rackproof.checker.conform.renaming import renamed
from rackproof.checker.conform.search import Limits, Node, Search
from rackproof.checker.conform.telling import (
    assumed,
    broken_on,
    broken_sentence,
    misattributed,
    trace_of,
    written_of,
)
from rackproof.model.kernel.evidence import Case

DEFAULT: Final = Limits()

MOST_UNTOLD: Final = 25_000
"""States that are looked at where logs are missing, so that very much may have happened."""


def explain(
    case: Case, limits: Limits = DEFAULT, *, changes: bool = False, moves: Moves | None = None
) -> Explained:
    """Search for a run of the case's world that explains its record.

    limits: after how much nothing is answered. changes: whether to try which mechanism with another
    value would have a rejected record explained. moves: the case's world, as far as it is explored
    already.
    """
    moves = Moves(case.system) if moves is None else moves
    return renamed(_explained(case, limits, moves, changes), case.called)


def _explained(case: Case, limits: Limits, moves: Moves, changes: bool) -> Explained:
    """What came of a case, under the names of its system."""
    if case.missing:  # so that it is not accepted, whatever is found
        limits = evolve(limits, states=min(limits.states, MOST_UNTOLD))
    search = Search(moves, Logs(case), case.ended, limits)
    found = search.run()
    if found is not None:
        return _accepted(case, moves, found)
    if search.given_up is not None:
        return _given_up(case, search)
    told = _rejected(case, search)
    if case.missing and _may_lack(case, limits, moves):
        return evolve(told, answer=Answer.INCONCLUSIVE, reason=lacking(case))
    if changes:
        from rackproof.checker.conform.changing import changes_that_explain  # noqa: PLC0415

        changed, untold, _ = changes_that_explain(case, limits)
        return evolve(told, changes=changed, untold=untold)
    return told


def _told(case: Case, moves: Moves, node: Node, answer: Answer) -> Explained:
    """What is said of the run to a node."""
    trace, observed = trace_of(moves, node), written_of(node)
    words, wrong = assumed(trace, observed), misattributed(node)
    return Explained(case, answer, trace, observed, misattributed=wrong, assumed=words)


def _accepted(case: Case, moves: Moves, node: Node) -> Explained:
    told = _told(case, moves, node, Answer.ACCEPTED)
    broken = broken_on(moves, node, case.complete)
    told = evolve(told, broken=(*broken, *_broken_at_rest(moves, node)))
    if case.missing or (case.stopped and case.still_open is None):
        return evolve(told, answer=Answer.INCONCLUSIVE, reason=lacking(case))
    if case.still_open is not None:
        return evolve(told, answer=Answer.OPEN, reason=case.still_open)
    return told


def _broken_at_rest(moves: Moves, node: Node) -> tuple[Broken, ...]:
    """What fails for good where the run is over."""
    if node.stop is None or not node.stop.broken:
        return ()
    end = node.stop.path[-1].target if node.stop.path else node.state
    return tuple(
        Broken(prop.name, broken_sentence(moves.system, prop, moves.states[end]), None, True)
        for prop in moves.system.properties
        if prop in node.stop.broken
    )


def _given_up(case: Case, search: Search) -> Explained:
    furthest = max(search.reached, key=lambda node: node.explained)
    told = _told(case, search.moves, furthest, Answer.INCONCLUSIVE)
    return evolve(told, reason=search.given_up)


def _rejected(case: Case, search: Search) -> Explained:
    at = stuck(search)
    told = _told(case, search.moves, at.node, Answer.REJECTED)
    # Which run comes furthest is open, and so is what such a run would break before.
    forced = forced_breaks(case, search.moves.states[at.node.state], after_that(search, at))
    return evolve(told, rejection=rejection(case, search, at), broken=forced)


def _may_lack(case: Case, limits: Limits, moves: Moves) -> bool:
    """Whether it is for what is missing that nothing explains the rest: for a log of which nothing
    is there at all.
    """
    seen = {(each.witness, each.kind) for log in case.logs for each in log}
    doubtful = evolve(case, complete=case.complete & seen)
    if doubtful.complete == case.complete:
        return False
    search = Search(moves, Logs(doubtful), case.ended, limits)
    return search.run() is not None or search.given_up is not None
