"""The search for a run that explains a record: over states of the model and positions in the logs.

Of several runs the one is found that breaks the fewest properties; then that takes the fewest steps
that nobody owes and no log tells of, such as a crash; then to which the least of what logs say
beside is wrong. So what the found run has of these, every other has some of too. Where no run is
found soon, this is kept to for the properties alone, and runs that explain more go first.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final

from attrs import evolve, field, frozen

from rackproof.checker.conform.matching import Logs, Pairs, Positions, misread
from rackproof.checker.conform.moves import Move, Moves
from rackproof.checker.conform.stopping import MOST, Stop, Stops
from rackproof.model.kernel import Property

PATIENT: Final = 400
"""States after which a run is sought that explains the record, whatever else it assumes."""

PAYS: Final = 3
"""Observations that a step which no log tells of has to explain from then on."""

NONE: Final[frozenset[Property]] = frozenset()


@frozen
class Limits:
    """How much is looked at before an answer is given up.

    states: of the model with positions in the logs. seconds: of wall time; what hangs on them is
    not the same every time, so that there is no such limit by default.
    """

    states: int = 50_000
    seconds: float | None = None


@frozen(eq=False)
class Node:
    """Where a run has come to that explains the logs up to some positions.

    broken: the properties it breaks on the way. assumed: steps of it that nobody owes, and no log
    tells of. wrong: values beside that are not so. stop: set once the run is over.
    """

    state: int
    at: Positions
    broken: frozenset[Property] = NONE
    assumed: int = 0
    wrong: int = 0
    depth: int = 0
    parent: Node | None = None
    move: Move | None = None
    pairs: Pairs = ()
    stop: Stop | None = None
    explained: int = field(init=False)

    @explained.default
    def _explained(self) -> int:
        return sum(self.at)

    @property
    def key(self) -> tuple[int, ...]:
        """The less, the sooner it is looked at."""
        return len(self.broken), self.assumed, self.wrong, -self.explained, self.depth

    @property
    def hasty(self) -> tuple[int, ...]:
        """The same where any run will do: what explains most comes first."""
        return -self.explained, self.assumed, self.depth

    @property
    def promise(self) -> tuple[int, ...]:
        """The less, the sooner it is looked at once much was: a step that nobody owes must be worth
        some observations.
        """
        worth = PAYS * self.assumed - self.explained
        return len(self.broken), worth, self.assumed, self.wrong, self.depth

    @property
    def path(self) -> list[Node]:
        """The nodes on the way here, without the first one."""
        found, node = list[Node](), self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


BEST, PROMISE = attrgetter("key"), attrgetter("promise")
"""In which order nodes are looked at: at first, and once that were many."""


class Search:
    """One search; ``reached`` are the nodes it came to, in order."""

    def __init__(
        self, moves: Moves, logs: Logs, ended: bool, limits: Limits, *, hasty: bool = False
    ) -> None:
        """Nothing is looked at yet. ended: whether a run must be over with its record. hasty:
        whether any run will do, be it the best or not.
        """
        self.moves, self.logs, self.limits = moves, logs, limits
        self._key = attrgetter("hasty") if hasty else BEST
        self.stops = Stops(moves, logs.complete_to_the_end) if ended else None
        self.reached: list[Node] = []
        self.given_up: str | None = None
        self._deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
        self._settled: dict[tuple[int, Positions], list[frozenset[Property]]] = {}

    def run(self, starts: Iterable[Node] | None = None) -> Node | None:
        """The run that explains everything; None where there is none, or none was found within the
        limits (``given_up`` says so).
        """
        count = itertools.count()
        if starts is None:
            starts = [Node(0, self.logs.start, self.moves.broken(0))]
        pending = [(self._key(node), next(count), node) for node in starts]
        heapq.heapify(pending)
        while pending:
            if self._key is BEST and len(self.reached) >= PATIENT:
                self._key = PROMISE
                pending = [(node.promise, order, node) for _, order, node in pending]
                heapq.heapify(pending)
            _, _, node = heapq.heappop(pending)
            if node.stop is not None:
                return node
            if self._is_settled(node.state, node.at, node.broken):
                continue
            if self._is_over():
                break
            self._settle(node)
            for after in self._onwards(node):
                heapq.heappush(pending, (self._key(after), next(count), after))
        if self.given_up is None and self.stops is not None and self.stops.given_up:
            self.given_up = f"it takes more than {MOST:,} states to tell how the run goes on"
        return None

    def _is_settled(self, state: int, at: Positions, broken: frozenset[Property]) -> bool:
        """Whether as much was reached before, with nothing broken that is not broken here."""
        return any(known <= broken for known in self._settled.get((state, at), ()))

    def _settle(self, node: Node) -> None:
        self.reached.append(node)
        self._settled.setdefault((node.state, node.at), []).append(node.broken)

    def _is_over(self) -> bool:
        if len(self.reached) >= self.limits.states:
            self.given_up = f"no answer within {self.limits.states:,} states"
        elif self._deadline is not None and time.monotonic() > self._deadline:
            self.given_up = f"no answer within {self.limits.seconds:g} seconds"
        return self.given_up is not None

    def _onwards(self, node: Node) -> Iterator[Node]:
        if node.at == self.logs.end:
            yield from self._stopped(node)
            if self.stops is None:
                return
        for move in self.moves.of(node.state):
            for at, pairs in self.logs.ways(move.records, node.at):
                broken = node.broken | self.moves.broken(move.target)
                if not self._is_settled(move.target, at, broken):
                    yield self.after(node, move, at, pairs)

    def after(self, node: Node, move: Move, at: Positions, pairs: Pairs) -> Node:
        """The node that a move leads to."""
        return Node(
            move.target,
            at,
            node.broken | self.moves.broken(move.target),
            node.assumed + (not move.owed and not pairs),
            node.wrong + sum(len(misread(*pair)) for pair in pairs),
            node.depth + 1,
            node,
            move,
            pairs,
        )

    def _stopped(self, node: Node) -> Iterator[Node]:
        """The run as one that is over, if it may be."""
        if self.stops is None:
            yield evolve(node, stop=Stop((), NONE))
        elif (stop := self.stops.of(node.state)) is not None:
            yield evolve(node, stop=stop, broken=node.broken | stop.broken)
