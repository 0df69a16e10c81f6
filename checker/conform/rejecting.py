"""What to say of a record that no run explains: where it goes wrong, what was expected there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.conform.forcing import BEYOND
from rackproof.checker.conform.matching import Positions
from rackproof.checker.conform.moves import Move
from rackproof.checker.conform.outcome import Allowed, Rejection
from rackproof.checker.conform.search import Limits, Node, Search
from rackproof.checker.conform.telling import written
from rackproof.model.kernel import Observation, evidence_of
from rackproof.model.kernel.evidence import Case

MOST_EXPECTED: Final = 4
"""Steps that are told as what the model allowed."""

NO_STEP: Final = 3
"""Further from what was observed than any step."""


@frozen(eq=False)
class Stuck:
    """Where a record goes wrong: after a node, at the next observation of a log.

    seen: that observation; the last one of the log, where something is missing after it; None where
    the log is empty. nodes: all that the same may be said of, the node first. gain: how much is
    explained if there is one mistake in the log, and so: if it is as the observation says, though
    the model has no such step. instead: the step that it is then the record of, if all is.
    """

    node: Node
    log: int
    seen: Observation | None
    after: bool
    nodes: tuple[Node, ...]
    gain: int = 0
    so: int = 0
    instead: Move | None = None


def stuck(search: Search) -> Stuck:
    """Of the observations that come next after the longest runs, the one where one mistake of its
    log would explain the most: that it is too much, or something else, or that one before it is
    missing; then the one that would explain the most if it were so, though the model has no such
    step. Of several, one where the same witness was to write something else; the first log's.
    """
    most = max(node.explained for node in search.reached)
    furthest = [node for node in search.reached if node.explained == most]
    logs = search.logs.logs
    places = [
        _tried(search, _place(log, at, search, furthest))
        for log in range(len(logs))
        for at in dict.fromkeys(node.at[log] for node in furthest)
    ]

    def order(place: Stuck) -> tuple[int, int, int]:
        rank = min((rank for rank, _ in _steps(search, place)), default=NO_STEP)
        return -place.gain, -place.so, rank

    return min(places, key=order)


def _place(log: int, at: int, search: Search, furthest: Sequence[Node]) -> Stuck:
    observed = search.logs.logs[log]
    after = at == len(observed)
    seen = observed[at - after] if observed else None
    nodes = tuple(node for node in furthest if node.at[log] == at)
    return Stuck(nodes[0], log, seen, after, nodes)


def _tried(search: Search, place: Stuck) -> Stuck:
    """The same with how much is explained if there is one mistake in its log at this place."""
    at = place.node.at[place.log]
    nodes = [node for node in search.reached if node.at[place.log] == at]
    starts = [each for node in nodes for each in _mended(search, node, place)]
    found, gain = _onwards(search, starts)
    _, so = _onwards(search, [each for node in nodes for each in _forced(search, node, place)])
    mended = {id(each) for each in starts}
    path = [] if found is None else [*found.path, found]
    move = next((each.move for each in path if id(each) in mended), None)
    return evolve(place, gain=gain, so=so, instead=move)


def _onwards(search: Search, starts: Sequence[Node]) -> tuple[Node | None, int]:
    """The run from one of some nodes that explains all else, and how much is explained from them;
    one more where that is all.
    """
    limits = Limits(max(search.limits.states // 4, len(starts)))
    again = Search(search.moves, search.logs, search.stops is not None, limits)
    found = again.run(starts)
    if found is not None:
        return found, found.explained + 1
    return None, max((node.explained for node in again.reached), default=0)


def _mended(search: Search, node: Node, place: Stuck) -> Iterator[Node]:
    """What comes after a node if an observation is too much, or another one, or one is missing."""
    logs, log = search.logs, place.log
    ways = [node.at] if place.after else [node.at, _passed(node.at, log)]
    if not place.after:
        yield evolve(node, at=ways[1], parent=node, move=None, pairs=())
    for move in search.moves.of(node.state):
        for index, record in enumerate(move.records):
            if logs.may_hold(log, record):
                others = (*move.records[:index], *move.records[index + 1 :])
                yield from (
                    search.after(node, move, *way) for at in ways for way in logs.ways(others, at)
                )


def _forced(search: Search, node: Node, place: Stuck) -> Iterator[Node]:
    """What comes after a node if the observation is so, though no step of the model has it."""
    force = evidence_of(search.moves.system).forced
    if force is None or place.seen is None:
        return
    with contextlib.suppress(*BEYOND):
        after = force(search.moves.states[node.state], place.seen)
        if after is not None:
            at, state = _passed(node.at, place.log), search.moves.number(after)
            yield evolve(node, state=state, at=at, parent=node, move=None, pairs=())


def _passed(at: Positions, log: int) -> Positions:
    return (*at[:log], at[log] + 1, *at[log + 1 :])


def rejection(case: Case, search: Search, at: Stuck) -> Rejection:
    """What is said of it."""
    found = list(_steps(search, at))
    least = min((rank for rank, _ in found), default=NO_STEP)
    allowed = [move for rank, move in found if rank == least]
    allowed = [at.instead, *allowed] if at.instead else allowed
    told = dict[str, str]()
    for move in allowed:
        told.setdefault(_written(move, at.seen), move.firing.words(case.system))
    expected = tuple(Allowed(words, text) for text, words in told.items())[:MOST_EXPECTED]
    seen = at.seen or _never(allowed)
    if at.after:
        return Rejection(seen, expected, (), after=True)
    from rackproof.checker.conform.guarding import guards_of  # noqa: PLC0415  (lowering is slow)

    states = list(dict.fromkeys(node.state for node in search.reached))
    failed = guards_of(search.moves).failed(at.node.state, seen, states)
    return Rejection(seen, expected, tuple(dict.fromkeys(failed)))


def _written(move: Move, seen: Observation | None) -> str:
    """What is recorded of a step; where that is what was observed, what else is."""
    others = [record for record in move.records if seen is None or not seen.fits(record)]
    if len(others) in (0, len(move.records)):
        return "; ".join(map(written, move.records))
    return f"which also writes {'; '.join(map(written, others))}"


def _never(allowed: Sequence[Move]) -> Observation:
    """What would be in an empty log."""
    record = next(record for move in allowed for record in move.records)
    return Observation(record.witness, record.kind)


def _steps(search: Search, at: Stuck) -> Iterator[tuple[int, Move]]:
    """Steps that the model has instead, what is owed first, each with how far it is from what was
    observed: 0 if it is as all other logs have it, 1 if it is not, 2 if it is in other logs alone.
    """
    logs = search.logs
    for node in at.nodes:
        for owed in (True, False):
            for move in search.moves.of(node.state):
                told = [record for record in move.records if logs.is_complete(record)]
                if move.owed is owed and told:
                    others = [each for each in told if not logs.may_hold(at.log, each)]
                    fits = next(logs.ways(others, node.at), None) is not None
                    yield (2 if len(others) == len(told) else int(not fits)), move


def after_that(search: Search, at: Stuck) -> list[Observation]:
    """The rejected observation, and what is after it in its log."""
    if at.after or at.seen is None:
        return []
    return list(search.logs.logs[at.log][at.node.at[at.log] :])
