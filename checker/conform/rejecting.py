"""What to say of a record that no run explains: where it goes wrong, and what was expected there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.conform.guarding import guards_of
from rackproof.checker.conform.moves import Move
from rackproof.checker.conform.outcome import Allowed, Rejection
from rackproof.checker.conform.search import Limits, Node, Search
from rackproof.checker.conform.telling import renamed, written
from rackproof.model.kernel import Observation
from rackproof.model.kernel.evidence import Case

MOST_EXPECTED: Final = 4
"""Steps that are told as what the model allowed."""


@frozen(eq=False)
class Stuck:
    """Where a record goes wrong: after a node, at the next observation of a log.

    log: None where all of it is explained, and the run may not be over there.
    """

    node: Node
    log: int | None
    nodes: tuple[Node, ...]
    """All that the same may be said of; the run to the first is the one to show."""


def stuck(search: Search) -> Stuck:
    """The observation without which alone the rest goes furthest, among those that come next after
    the longest runs; of several the earliest.
    """
    most = max(node.explained for node in search.reached)
    furthest = [node for node in search.reached if node.explained == most]
    logs = range(len(search.logs.end))
    nexts = dict.fromkeys(
        (node.at[log], log) for node in furthest for log in logs if search.logs.next(log, node.at)
    )
    if not nexts:
        return Stuck(furthest[0], None, tuple(furthest))
    gains = (
        {key: _gain(search, *key) for key in nexts} if len(nexts) > 1 else dict.fromkeys(nexts, 0)
    )

    def order(key: tuple[int, int]) -> tuple[int, bool, float, int]:
        at, log = key
        when = search.logs.logs[log][at].time
        return -gains[key], when is None, when or 0.0, log

    at, log = min(nexts, key=order)
    found = tuple(node for node in furthest if node.at[log] == at)
    return Stuck(found[0], log, found)


def _gain(search: Search, at: int, log: int) -> int:
    """How much is explained if one observation is passed over."""
    starts = [
        evolve(node, at=(*node.at[:log], at + 1, *node.at[log + 1 :]))
        for node in search.reached
        if node.at[log] == at
    ]
    limits = Limits(max(search.limits.states // 4, len(starts)))
    again = Search(search.moves, search.logs, search.stops is not None, limits)
    found = again.run(starts)
    return found.explained + 1 if found else max(node.explained for node in again.reached)


def rejection(case: Case, search: Search, at: Stuck) -> Rejection:
    """What is said of it."""
    allowed = _allowed(search, at)
    seen = _observed(search, at, allowed)
    told = (
        Allowed(
            renamed(move.firing.words(case.system), case.called),
            renamed("; ".join(written(record) for record in move.records), case.called),
        )
        for move in allowed
    )
    expected = tuple({one.written: one for one in reversed(list(told))}.values())[::-1]
    failed = () if at.log is None else guards_of(search.moves).failed(at.node.state, seen)
    texts = dict.fromkeys(renamed(text, case.called) for text in failed)
    return Rejection(seen, expected[:MOST_EXPECTED], tuple(texts), after=at.log is None)


def _observed(search: Search, at: Stuck, allowed: Sequence[Move]) -> Observation:
    """The observation to blame; where something is missing, the last that its witness wrote."""
    if at.log is not None:
        return search.logs.logs[at.log][at.node.at[at.log]]
    witnesses = [record.witness for move in allowed for record in move.records]
    last = {each.witness: each for log in search.logs.logs for each in log}
    known = [last[witness] for witness in witnesses if witness in last]
    if known or last:
        return (known or list(last.values()))[0]
    return Observation(allowed[0].records[0].witness, allowed[0].records[0].kind)


def _allowed(search: Search, at: Stuck) -> list[Move]:
    """The steps that would write something else: the same witness first, what is owed first."""
    found = list(_steps(search, at))
    least = min((rank for rank, _ in found), default=0)
    return [move for rank, move in found if rank == least]


def _steps(search: Search, at: Stuck) -> Iterator[tuple[int, Move]]:
    """Steps with how far they are from what was observed."""
    logs = search.logs
    seen = None if at.log is None else logs.next(at.log, at.node.at)
    for node in at.nodes:
        for owed in (True, False):
            for move in search.moves.of(node.state):
                told = [record for record in move.records if logs.is_complete(record)]
                if move.owed is not owed or not told:
                    continue
                others = [each for each in told if seen and each.witness != seen.witness]
                fits = next(logs.ways(others, node.at), None) is not None
                mine = len(others) < len(told)
                yield (0 if mine and fits else 1 if mine else 2), move


def after_that(search: Search, at: Stuck) -> list[Observation]:
    """The rejected observation, and what its witness wrote after it."""
    if at.log is None:
        return []
    log = search.logs.logs[at.log][at.node.at[at.log] :]
    return [each for each in log if each.witness == log[0].witness]
