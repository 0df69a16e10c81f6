"""The states of a system and the moves between them, found as they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from rackproof.checker.lowering import lower
from rackproof.checker.native import Native
from rackproof.checker.native.native import Words
from rackproof.checker.timing.durations import Durations
from rackproof.model.kernel import Firing, System, successors

FEW: Final = 200
"""States that are found with the plain functions before native code is worth its compilation."""
Move = tuple[int, int]
"""The number of a firing, and of the state it leads to."""


class Graph:
    """The states of a system by number, the initial one 0, and its moves, whatever they take.

    No symmetry is used: clocks are those of real instances.
    """

    def __init__(self, system: System) -> None:
        """Begin with the initial state alone."""
        self.system = system
        self.firings: list[Firing] = list(system.firings())
        self.states: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._moves: dict[int, list[Move]] = {}
        self._number(system.initial)

    def of(self, state: int) -> list[Move]:
        """The moves of a state, by the number of the firing."""
        if state not in self._moves:
            find = self._plain if len(self._moves) < FEW else self._native
            self._moves[state] = find(state)
        return self._moves[state]

    def _number(self, plain: Any) -> int:
        number = self._numbers.setdefault(plain, len(self.states))
        if number == len(self.states):
            self.states.append(plain)
        return number

    @cached_property
    def _order(self) -> dict[Firing, int]:
        return {firing: number for number, firing in enumerate(self.firings)}

    def _plain(self, state: int) -> list[Move]:
        found = successors(self.system, self.states[state])
        return [(self._order[firing], self._number(after)) for firing, after in found]

    @cached_property
    def _native(self) -> Callable[[int], list[Move]]:
        """Faster moves, where the lowered state leaves nothing out that anyone may look at; all
        from then on are found by it.
        """
        relation = lower(self.system)
        if relation.unread:
            return self._plain
        native, schema = Native(relation), self.system.schema
        order = [self._order[action.firing] for action in relation.actions]
        words = [native.layout.pack(schema.flatten(plain)) for plain in self.states]
        numbers = {each: number for number, each in enumerate(words)}

        def number(after: Words) -> int:
            found = numbers.setdefault(after, len(words))
            if found == len(words):
                words.append(after)
                self.states.append(schema.unflatten(native.ordinals(after)))
            return found

        return lambda state: [(order[n], number(after)) for n, after in native.moves(words[state])]


class Moves:
    """States by number, the initial one 0; firings in the system's order; and what they take.

    graph: shared by systems that differ in their times alone. longest: the most ticks, but for
    infinity, that any span so far has.
    """

    def __init__(self, durations: Durations, graph: Graph | None = None) -> None:
        """Begin with the initial state alone, or with what is known of the graph."""
        self.system, self.durations = durations.system, durations
        self.graph = graph or Graph(durations.system)
        self.firings, self.states = self.graph.firings, self.graph.states
        self._running: dict[int, tuple[int, ...]] = {}
        self._rests: dict[int, bool] = {}
        self._moves: dict[int, tuple[Move, ...]] = {}
        self._spans: dict[Move, tuple[float, float]] = {}
        self.longest = 0.0
        self._ticks = durations.ticks_a_second

    def of(self, state: int) -> tuple[Move, ...]:
        """The moves of a state, by the number of the firing; not those that wait for ever."""
        if state not in self._moves:
            found = self.graph.of(state)
            kept = [move for move in found if self.span(move[0], state)[0] < math.inf]
            self._rests[state] = not any(self.firings[n].is_progress for n, _ in kept)
            self._moves[state] = tuple(kept)
        return self._moves[state]

    def rests(self, state: int) -> bool:
        """Whether no step and no timer will happen, however long one waits: none is possible, or
        they wait for times that are infinite.
        """
        self.of(state)
        return self._rests[state]

    def span(self, firing: int, state: int) -> tuple[float, float]:
        """The least and the most ticks of a firing that is possible in a state."""
        if (firing, state) not in self._spans:
            durations = self.durations
            span = durations.span(self.firings[firing], self.states[state])
            least, most = (
                math.inf if seconds is None else float(seconds * self._ticks)
                for seconds in durations.limits(span)
            )
            self._spans[firing, state] = least, most
            finite = (ticks for ticks in (least, most) if ticks < math.inf)
            self.longest = max(self.longest, *finite, 0.0)
        return self._spans[firing, state]

    def is_timed(self, firing: int, state: int) -> bool:
        """Whether it matters when a firing became possible that is in a state."""
        least, most = self.span(firing, state)
        return most < math.inf or (least > 0.0 and firing not in self.held)

    @cached_property
    def held(self) -> dict[int, float]:
        """The firings whose least counts from something else, each with that least where it is the
        same in all states, infinity where not.
        """
        found = dict[int, float]()
        for number, firing in enumerate(self.firings):
            if self.durations.duration(firing).since and not self.durations.is_never(firing):
                least = self.durations.constant_least(firing)
                found[number] = math.inf if least is None else float(least * self._ticks)
        return found

    def running(self, state: int) -> tuple[int, ...]:
        """Those of them of which that is so in a state."""
        if state not in self._running:
            plain, holds = self.states[state], self.durations.holds_back
            found = (number for number in self.held if holds(self.firings[number], plain))
            self._running[state] = tuple(found)
        return self._running[state]


def moves_of(system: System) -> Moves:
    """The moves of a system that says how long they take."""
    return Moves(Durations(system))
