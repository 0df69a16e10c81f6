"""Real states, without symmetry, and where among them a fair run can stay for ever."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from rackproof.checker.native import Native
from rackproof.checker.native.native import Words
from rackproof.checker.search.paths import holds
from rackproof.model.kernel import Fairness, Kind

Move = tuple[int, int]
"""The number of an action, and of the state it leads to."""


class Graph:
    """States and their calm transitions, as far as their canonical forms are in some core.

    moves, enabled: by a state's number; enabled are all actions that are possible, faults too.
    """

    def __init__(
        self, native: Native, core: Collection[Words], watch: Callable[[int], None]
    ) -> None:
        """Begin empty; watch: called often, with the number of states there are."""
        self.native, self.core, self.watch = native, core, watch
        self.states: list[Words] = []
        self.numbers: dict[Words, int] = {}
        self.moves: list[list[Move]] = []
        self.enabled: list[frozenset[int]] = []
        self._outside: set[Words] = set()
        self._alike: dict[frozenset[int], frozenset[int]] = {}
        self.weak, self.strong = self._owed(Fairness.WEAK), self._owed(Fairness.STRONG)
        actions = native.relation.actions
        self.calm = {n for n, a in enumerate(actions) if a.firing.transition.kind != Kind.FAULT}

    def _owed(self, fairness: Fairness) -> frozenset[int]:
        actions = self.native.relation.actions
        return frozenset(
            n for n, a in enumerate(actions) if a.firing.transition.fairness is fairness
        )

    def unfold(self, seeds: Iterable[Words]) -> None:
        """Add states of the core, and all that they lead to in it."""
        for words in seeds:
            self._number(words)
        while len(self.moves) < len(self.states):
            self.watch(len(self.states))
            moves = self.native.moves(self.states[len(self.moves)])
            enabled = frozenset(action for action, _ in moves)
            self.enabled.append(self._alike.setdefault(enabled, enabled))
            calm = ((action, after) for action, after in moves if action in self.calm)
            self.moves.append(
                [(action, self._number(after)) for action, after in calm if self._stays(after)]
            )

    def _number(self, words: Words) -> int:
        number = self.numbers.setdefault(words, len(self.states))
        if number == len(self.states):
            self.states.append(words)
        return number

    def _stays(self, words: Words) -> bool:
        if words in self.numbers:
            return True
        if words not in self._outside and self.native.least(words) not in self.core:
            self._outside.add(words)
        return words not in self._outside

    @property
    def all(self) -> set[int]:
        """Every state."""
        return set(range(len(self.states)))

    def violating(self, predicate: int, states: Iterable[int]) -> set[int]:
        """The states in which an instance of a property is false."""
        relation, ordinals = self.native.relation, self.native.ordinals
        tree = relation.predicates[predicate].tree
        return {
            state
            for state in self._watched(states)
            if holds(relation, tree, ordinals(self.states[state])) is False
        }

    def _watched(self, states: Iterable[int]) -> Iterator[int]:
        """The same states, under the eyes of the clock."""
        for state in states:
            self.watch(len(self.states))
            yield state

    def inner(self, state: int, states: Collection[int]) -> Iterator[Move]:
        """The moves of a state that stay among some."""
        return (move for move in self.moves[state] if move[1] in states)

    def knots(self, states: set[int]) -> Iterator[set[int]]:
        """The strongly connected components of several states among some.

        Tarjan's algorithm, without recursion: low is the earliest state of its component that a
        state is known to reach, kept until that component is whole.
        """
        entered, low = dict[int, int](), dict[int, int]()
        left, found = dict[int, Iterator[Move]](), list[int]()
        for root in self._watched(states):
            way = [] if root in entered else [root]
            while way:
                state = way[-1]
                if state not in entered:
                    entered[state] = low[state] = len(entered)
                    left[state] = self.inner(state, states)
                    found.append(state)
                following = next((s for _, s in left[state] if s not in entered), None)
                if following is not None:
                    way.append(following)
                    continue
                way.pop()
                reached = (low[after] for _, after in self.inner(state, states) if after in low)
                low[state] = min((low[state], *reached))
                if low[state] == entered[state]:
                    component = set[int]()
                    while state not in component:
                        component.add(found.pop())
                    for member in component:
                        del low[member], left[member]
                    if len(component) > 1:
                        yield component

    def fair(self, states: set[int]) -> Iterator[set[int]]:
        """Components in which a run can stay for ever and give each action what it is owed.

        Where one must be taken that no inner transition takes, no run may stay for ever: if it
        stays possible (weak fairness), or in what has a state in which it is possible (strong).
        """
        pending = [states]
        while pending:
            for component in self.knots(pending.pop()):
                taken = {a for state in component for a, _ in self.inner(state, component)}
                enabled = {self.enabled[state] for state in component}
                starved = self.strong.intersection(frozenset().union(*enabled)) - taken
                if self.weak.intersection(*enabled) - taken:
                    continue
                if starved:
                    pending.append({s for s in component if not self.enabled[s] & starved})
                else:
                    yield component

    def round(
        self, start: int, component: Collection[int], begun: Sequence[Move] = ()
    ) -> list[int]:
        """The actions of a short way from a state of a fair component back to it, fair itself.

        It goes to the nearest place that gives an action its due, from there to the next nearest,
        and home when nothing is owed; on the way home more may become owed. begun: how it begins.
        """
        visited = [self.enabled[state] for state in (start, *(after for _, after in begun))]
        taken, here = [action for action, _ in begun], begun[-1][1] if begun else start
        while True:
            debts = self._debts(visited, taken)
            if taken and here == start and not debts:
                return taken
            way = self._way(here, component, debts, start)
            taken += (action for action, _ in way)
            visited += (self.enabled[state] for _, state in way)
            here = way[-1][1]

    def _debts(self, visited: Sequence[frozenset[int]], taken: Collection[int]) -> frozenset[int]:
        """The actions that a walk has not yet given what they are owed."""
        strong = self.strong.intersection(frozenset().union(*visited))
        return (self.weak.intersection(*visited) | strong).difference(taken)

    def _way(
        self, here: int, component: Collection[int], debts: frozenset[int], home: int
    ) -> list[Move]:
        """The shortest way to where a debt is settled; without debts, the way home."""
        weak = debts & self.weak
        ways: list[tuple[int, list[Move]]] = [(here, [])]
        seen: set[int] = set()
        for state, way in ways:
            for action, after in self.inner(state, component):
                settles = action in debts or bool(weak - self.enabled[after])
                longer = [*way, (action, after)]
                if settles if debts else after == home:
                    return longer
                if after not in seen:
                    seen.add(after)
                    ways.append((after, longer))
        raise AssertionError("a fair component has no fair loop")
