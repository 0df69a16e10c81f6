"""What comes of itself from a state on: steps, timers and whatever else fairness owes.

Nobody chooses to do anything more: no fault, no client, nothing of the environment that is not
owed. Where every such run comes to a violation, it is *inevitable*: steps of it that are left out
come all the same. The plain functions are followed, so there are no trees to be had for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import networkx as nx
from attrs import define, field

from rackproof.model.kernel import Fairness, Firing, Kind, Property, Scope, System

MOST_STATES: Final = 600
"""States that are looked at for one run, whatever is left out of it."""

Moves = list[tuple[Firing, Any]]


@define(eq=False)
class Onwards:
    """The runs from states on, for a property that is asked at rest or again and again.

    culprits: the identifiers for some of whom it is to fail.
    """

    system: System
    prop: Property
    culprits: tuple[tuple[int, ...], ...]
    moves: dict[Any, Moves] = field(factory=dict)
    settled: dict[Any, bool] = field(factory=dict)

    def ends_in_it(self, state: Any) -> bool | None:
        """Whether every fair run from a state comes to the violation; None where that would take
        too many states to tell.
        """
        if state not in self.settled:
            found = self._followed(state)
            if found is None:
                return None
            self.settled |= dict.fromkeys(found, True) if found else {state: False}
        return self.settled[state]

    def _followed(self, state: Any) -> set[Any] | None:
        """The states on the way to the violation; none where a run can keep away from it, None
        where there are too many.
        """
        found, pending = set[Any](), [state]
        while pending:
            here = pending.pop()
            if here in found or self.settled.get(here):
                continue
            if here not in self.moves and len(self.moves) >= MOST_STATES:
                return None
            found.add(here)
            if not self._is_bad(here):
                after = [after for _, after in self._owed(here)]
                if not after or self.settled.get(here) is False:
                    return set()
                pending += after[::-1]
        going = {here for here in found if not self._is_bad(here)}
        return set() if any(map(self._is_kept, self._rounds(going))) else found

    def _owed(self, state: Any) -> Moves:
        """What happens in a state of itself."""
        if state not in self.moves:
            self.moves[state] = [
                (firing, after)
                for firing in self.system.firings()
                if firing.is_owed
                if (after := firing.apply(self.system, state)) is not None
            ]
        return self.moves[state]

    def _is_bad(self, state: Any) -> bool:
        """Whether the violation has come: the property fails at rest."""
        at_rest = not any(firing.is_progress for firing, _ in self._owed(state))
        return at_rest and not all(self._holds(state))

    def _holds(self, state: Any) -> list[bool]:
        return [bool(self.prop.function(state, *ids)) for ids in self.culprits]

    def _is_kept(self, states: set[Any]) -> bool:
        """Whether a run that goes round some states for ever is none that violates it."""
        if self.prop.scope is not Scope.EVENTUALLY:
            return True
        return all(any(each) for each in zip(*map(self._holds, states), strict=True))

    def _rounds(self, states: set[Any]) -> Iterator[set[Any]]:
        """The largest sets of states that a fair run can go round for ever."""
        inner = {
            here: {f: s for f, s in self._owed(here) if s in states and not _is_fault(f)}
            for here in states
        }
        graph = nx.DiGraph([(here, s) for here in states for s in inner[here].values()])
        for those in nx.strongly_connected_components(graph):
            fired = {f for here in those for f, after in inner[here].items() if after in those}
            owed = {here: {f for f, _ in self._owed(here)} - fired for here in those}
            always = set.intersection(*owed.values())
            if fired and not any(_is(Fairness.WEAK, f) for f in always):
                fair = {
                    s for s, due in owed.items() if not any(_is(Fairness.STRONG, f) for f in due)
                }
                yield from [those] if fair == those else self._rounds(fair)


def _is_fault(firing: Firing) -> bool:
    return firing.transition.kind is Kind.FAULT


def _is(fairness: Fairness, firing: Firing) -> bool:
    return firing.transition.fairness is fairness
