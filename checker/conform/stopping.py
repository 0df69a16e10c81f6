"""How a run may go on after its record, and whether it may be over there.

After the last record only steps come that no log tells of. A run may be over where such steps lead
it to rest, or round a loop in which it is fair to stay: nothing that is owed is still to be
recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from attrs import field, frozen

from rackproof.checker.conform.moves import Move, Moves
from rackproof.model.kernel import Fairness, Property, Scope, holds
from rackproof.model.kernel.evidence import Kinds

MOST: Final = 2_000
"""States that are looked at after the last record."""

NONE: Final[frozenset[Property]] = frozenset()


@frozen
class Stop:
    """How a run is over: by which moves it comes to where it stays, and what is broken there."""

    path: tuple[Move, ...] = ()
    broken: frozenset[Property] = NONE


@frozen(eq=False)
class Aftermath:
    """Where owed steps lead from a state, if some are never taken.

    moves: by state, the owed steps out of it, each with whether it may be taken. paths: by state,
    how it is come to. whole: whether everything was looked at.
    """

    explored: Moves
    moves: dict[int, list[tuple[Move, bool]]] = field(factory=dict)
    paths: dict[int, tuple[Move, ...]] = field(factory=dict)
    whole: bool = True

    def stays(self) -> Iterator[frozenset[int]]:
        """The sets of states in which a fair run may stay for ever, one of them if it rests."""
        import networkx as nx  # noqa: PLC0415  (which takes as long as many cases)

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(self.moves)
        for state, moves in self.moves.items():
            graph.add_edges_from((state, move.target) for move, taken in moves if taken)
        for part in nx.strongly_connected_components(graph):
            if part <= self.moves.keys() and not self._neglects(part):
                yield frozenset(part)

    def _neglects(self, part: set[int]) -> bool:
        """Whether staying among these owes a firing by its fairness what it does not give."""
        enabled: dict[object, set[int]] = {}
        given = set[object]()
        strong = set[object]()
        for state in part:
            for move, taken in self.moves[state]:
                key = move.firing.transition.name, move.firing.arguments
                fairness = move.firing.transition.fairness
                if fairness is Fairness.NONE or (taken and move.target in part):
                    given.add(key)
                if fairness is Fairness.STRONG:
                    strong.add(key)
                enabled.setdefault(key, set()).add(state)
        due = (key for key in enabled if key not in given)
        return any(key in strong or enabled[key] >= part for key in due)

    def broken(self, part: frozenset[int]) -> frozenset[Property]:
        """What is broken by a run that stays among some states."""
        system = self.explored.system
        states = [self.explored.states[number] for number in sorted(part)]
        asked = {Scope.EVENTUALLY, Scope.AT_REST} if len(part) == 1 else {Scope.EVENTUALLY}
        return frozenset(
            prop
            for prop in system.properties
            if prop.scope in asked and not any(holds(system, prop, state) for state in states)
        )

    def stop(self, part: frozenset[int]) -> Stop:
        """How a run comes to stay among some states."""
        first = next(state for state in self.moves if state in part)
        return Stop(self.paths[first], self.broken(part))


def aftermath(
    explored: Moves, state: int, may: Callable[[Move], bool], *, due: bool, most: int = MOST
) -> Aftermath:
    """Where the owed steps lead that may be taken, breadth first; due: whether the others are owed
    all the same.
    """
    found = Aftermath(explored, paths={state: ()})
    pending = [state]
    for here in pending:
        if len(found.moves) >= most:
            return Aftermath(explored, found.moves, found.paths, whole=False)
        owed = [(move, may(move)) for move in explored.of(here) if move.owed]
        moves = found.moves[here] = [(move, taken) for move, taken in owed if taken or due]
        for move, taken in moves:
            if taken and move.target not in found.paths:
                found.paths[move.target] = (*found.paths[here], move)
                pending.append(move.target)
    return found


class Stops:
    """How runs may be over that end where a record does, by state."""

    def __init__(self, moves: Moves, complete: Kinds) -> None:
        """Nothing is looked at yet. complete: the witnesses and kinds of which all is recorded."""
        self.moves, self.complete = moves, complete
        self.given_up = False
        self._known: dict[int, Stop | None] = {}

    def of(self, state: int) -> Stop | None:
        """How a run is over in this state, with the fewest properties broken; None where it is not
        over, or where that cannot be told (``given_up``).
        """
        if state not in self._known:
            self._known[state] = self._found(state)
        return self._known[state]

    def is_silent(self, move: Move) -> bool:
        """Whether no log tells of a step."""
        return not any((each.witness, each.kind) in self.complete for each in move.records)

    def _found(self, state: int) -> Stop | None:
        if not any(move.owed for move in self.moves.of(state)):
            here = Aftermath(self.moves, {state: []}, {state: ()})
            return here.stop(frozenset({state}))
        after = aftermath(self.moves, state, self.is_silent, due=True)
        stops = [after.stop(part) for part in after.stays()]
        if after.whole or any(not stop.broken for stop in stops):
            return min(stops, key=lambda stop: (len(stop.broken), len(stop.path)), default=None)
        self.given_up = self.given_up or not stops
        return Stop(stops[0].path) if stops else None
