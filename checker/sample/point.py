"""A state on a run, and what is possible in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache, partial
from typing import Any, Final

from attrs import field, frozen

from rackproof.model.kernel import Firing, System
from rackproof.model.kernel.transitions import Transition

AnyTransition = Transition[..., Any]
KEPT: Final = 10_000
"""Points that are kept, for runs that come by again."""


@frozen
class Move:
    """A firing that is possible in a state, with the state it leads to."""

    system: System = field(repr=False, eq=False)
    firing: Firing
    after: Any = field(eq=False)

    def __repr__(self) -> str:
        """As Hypothesis prints it: the names of the identifiers."""
        return ", ".join(self.firing.named(self.system).values()) or "-"


class Choices:
    """Every firing of a system, a transition at a time."""

    def __init__(self, system: System) -> None:
        """Choose all identifiers once: a state is then asked firing by firing."""
        self.system = system
        self.firings: dict[str, tuple[Firing, ...]] = {
            one.name: tuple(Firing(one, ids) for ids in system.choices(one.parameters))
            for one in system.transitions
        }
        self.owed = {name for name, those in self.firings.items() if those and those[0].is_owed}
        """Transitions that happen without anybody's choice."""
        self.progress = [
            name for name, those in self.firings.items() if those and those[0].is_progress
        ]
        self.at = lru_cache(KEPT)(partial(Point, self))
        """The point of a state."""


class Point:
    """A state; what is possible in it is found out once, and only when it is asked."""

    def __init__(self, choices: Choices, state: Any) -> None:
        """Ask nothing yet."""
        self.choices, self.state = choices, state
        self._moves: dict[str, tuple[Move, ...]] = {}
        self.answers: dict[str, bool] = {}
        """What was asked of this state, by the name of the property."""

    def moves(self, name: str) -> tuple[Move, ...]:
        """What a transition can do here, in the order of its identifiers."""
        found = self._moves.get(name)
        if found is None:
            found = self._moves[name] = tuple(self._possible(name))
        return found

    def _possible(self, name: str) -> Iterator[Move]:
        state, system = self.state, self.choices.system
        for firing in self.choices.firings[name]:
            after = firing.transition.function(state, *firing.arguments)
            if after is not None and after != state:
                yield Move(system, firing, after)

    @cached_property
    def possible(self) -> tuple[str, ...]:
        """The transitions that can do something here."""
        return tuple(name for name in self.choices.firings if self.moves(name))

    @cached_property
    def rests(self) -> bool:
        """Whether no step and no timer is possible."""
        return not any(self.moves(name) for name in self.choices.progress)
