"""What a search is told, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from attrs import frozen

from rackproof.checker.lowering.relation import Action, Predicate, Raises
from rackproof.checker.native import Native
from rackproof.checker.native.columns import Columns, columns
from rackproof.model.kernel import Property


@frozen
class Limits:
    """When to give up: seconds, bytes for states and table, states; None: no limit, but for memory
    a share of what is available. enough: asked a few times a second; ends the search with a reason.
    """

    time_limit: float | None = None
    memory: int | None = None
    max_states: int | None = None
    enough: Callable[[], str | None] | None = None


@frozen
class Snapshot:
    """How far a search is; reached: the ``sometimes`` properties that some state satisfies. doing:
    what is done instead of searching, in words.
    """

    states: int
    transitions: int
    seconds: float
    frontier: int = 0
    memory: int = 0
    faults: int = 0
    steps: int = 0
    doing: str = ""
    reached: frozenset[str] = frozenset()

    @property
    def rate(self) -> float:
        """States a second."""
        return self.states / self.seconds if self.seconds else 0.0


@frozen
class Found:
    """A state that was looked for, with the least faults and steps that lead to it.

    predicate: the index, in the relation, of the instance that is violated (or reached); None for
    an action that raises. path: the ordinals of each state from the initial one, all of them
    canonical. loop: where the run goes on for ever, the numbers of the actions that lead from the
    last state back to it; the states of the path are then real ones.
    """

    faults: int
    steps: int
    predicate: int | None
    path: tuple[tuple[int, ...], ...]
    loop: tuple[int, ...] = ()


@frozen
class Raised:
    """A place in the model's code that raises in some reachable state."""

    owner: Action | Predicate
    leaf: Raises
    found: Found


@frozen
class Exploration:
    """What a search saw.

    states: up to the symmetry that was used. at_rest: states without any step or timer. exhausted:
    whether these are all; otherwise ``reason`` says why not. endless: why not every loop was looked
    at that has fewer faults than what was found; None where all were. violations: by property name;
    where several of that name are violated, the first. reached: the ``sometimes`` properties
    (premises among them) that some state satisfies. fired: the numbers of the actions that changed
    a state. memory: bytes of states and table at the end. stored: the words of all states one after
    another, where they were asked for. alone: the share of states in which a step is taken alone.
    """

    native: Native
    states: int
    transitions: int
    depth: int
    faults: int
    at_rest: int
    exhausted: bool
    reason: str | None
    endless: str | None
    fired: frozenset[int]
    raises: tuple[Raised, ...]
    violations: Mapping[str, Found]
    reached: frozenset[Property]
    stored: bytes | None
    preparing: float
    searching: float
    memory: int
    alone: float = 0.0

    @property
    def columns(self) -> Columns:
        """The states that were kept, a column for each variable."""
        assert self.stored is not None, "the states were asked for"
        relation, layout = self.native.relation, self.native.layout
        return Columns(relation.arena, columns(relation, layout, self.stored), self.states)

    def states_in_words(self) -> list[tuple[int, ...]]:
        """The states that were kept, each as its words."""
        assert self.stored is not None, "the states were asked for"
        table = np.frombuffer(self.stored, dtype=np.uint64).reshape(-1, self.words)
        return [tuple(row) for row in table.tolist()]

    @property
    def words(self) -> int:
        """Words a state."""
        return self.native.layout.words

    @property
    def bits(self) -> int:
        """Bits a state."""
        return self.native.layout.bits

    @property
    def seconds(self) -> float:
        """Preparing and searching."""
        return self.preparing + self.searching


Progress = Callable[[Snapshot], None]
