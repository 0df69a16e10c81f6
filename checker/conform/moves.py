"""The runs of a world as far as they were asked for: states by number, and what leads on from each.

Only plain functions run here. A state is compared with others once, when it is first met; a
firing's function is called once for each state. That fields keep to their domains is not looked at:
whoever shows a run walks it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from attrs import frozen

from rackproof.model.kernel import Firing, Property, Record, Scope, System, evidence_of


@frozen(eq=False)
class Move:
    """A step out of a state. target: the number of the state it leads to; records: what the
    witnesses write down of it. owed: whether it happens without anybody's choice.
    """

    firing: Firing
    target: int
    records: tuple[Record, ...]
    owed: bool


class Moves:
    """A world, explored on demand; the initial state has the number 0."""

    def __init__(self, system: System) -> None:
        """Nothing is explored yet."""
        self.system = system
        self.states: list[Any] = [system.initial]
        self._numbers: dict[Any, int] = {system.initial: 0}
        self._moves: dict[int, tuple[Move, ...]] = {}
        self._broken: dict[int, frozenset[Property]] = {}
        self._ordinals: dict[int, tuple[int, ...]] = {}
        self._records = evidence_of(system).records

    @cached_property
    def _firings(self) -> list[tuple[Firing, Callable[..., Any], tuple[int, ...], bool]]:
        return [(f, f.transition.function, f.arguments, f.is_owed) for f in self.system.firings()]

    @cached_property
    def _always(self) -> list[tuple[Property, list[tuple[int, ...]]]]:
        return [
            (prop, list(self.system.choices(prop.parameters)))
            for prop in self.system.properties
            if prop.scope is Scope.ALWAYS
        ]

    def number(self, state: Any) -> int:
        """The number of a state; it need not be one that can be reached."""
        known = self._numbers.setdefault(state, len(self.states))
        if known == len(self.states):
            self.states.append(state)
        return known

    def ordinals(self, number: int) -> tuple[int, ...]:
        """A state as the ordinals of its slots; ``OutOfDomain`` where one does not fit."""
        found = self._ordinals.get(number)
        if found is None:
            flatten = self.system.schema.flatten
            found = self._ordinals[number] = flatten(self.states[number])
        return found

    def of(self, number: int) -> tuple[Move, ...]:
        """What may happen in a state, in the order of the system's firings."""
        found = self._moves.get(number)
        if found is None:
            found = self._moves[number] = tuple(self._found(number))
        return found

    def _found(self, here: int) -> Iterator[Move]:
        before = self.states[here]
        for firing, function, arguments, owed in self._firings:
            after = function(before, *arguments)
            if after is not None and (number := self.number(after)) != here:
                records = tuple(self._records(before, firing, self.states[number]))
                yield Move(firing, number, records, owed)

    def broken(self, number: int) -> frozenset[Property]:
        """The properties that are to hold in every state, and do not in this one."""
        found = self._broken.get(number)
        if found is None:
            state = self.states[number]
            found = self._broken[number] = frozenset(
                prop
                for prop, choices in self._always
                if not all(prop.function(state, *ids) for ids in choices)
            )
        return found
