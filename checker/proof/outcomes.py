"""What an engine of proofs comes to: an invariant, a path to a bad state, or neither."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from rackproof.checker.lowering.arena import Node
from rackproof.checker.lowering.relation import Action, Relation, Update
from rackproof.checker.trace import EngineError, Trace, walk

State = tuple[int, ...]
"""The ordinals of the variables of a relation, in order."""


@frozen
class Invariant:
    """Clauses that hold in every reachable state, and that no action leads out of together, where
    every variable is within its range; in no state in which all hold is the obligation's bad.

    clauses: truth values in the arena of the relation.
    """

    clauses: tuple[Node, ...]


@frozen
class Path:
    """States from the first one to one that is sought; each is a step from the one before."""

    states: tuple[State, ...]


@frozen
class Unknown:
    """Neither was found; ``reason`` says why, as the end of a sentence.

    depth: no path of so many steps, or of fewer, leads to what is sought.
    """

    reason: str
    depth: int = -1


@frozen
class Budget:
    """What an engine may use: seconds on the clock ``time.monotonic`` (the moment at which it has
    to end), and bytes of memory that the process may have grown by when it is asked.
    """

    deadline: float | None = None
    memory: int | None = None
    before: int = 0

    @classmethod
    def of(cls, seconds: float | None = None, memory: int | None = None) -> Budget:
        """From now on."""
        deadline = None if seconds is None else time.monotonic() + seconds
        return cls(deadline, memory, resident() if memory else 0)

    @property
    def left(self) -> float | None:
        """Seconds left; None where there is no limit."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    @property
    def spent(self) -> str | None:
        """What is used up, if anything is."""
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "out of time"
        if self.memory is not None and resident() - self.before > self.memory:
            return "out of memory"
        return None


def resident() -> int:
    """Bytes of memory that this process has now (or had at most, where no more is told)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")


def kept(relation: Relation) -> Callable[[State], State]:
    """From the ordinals of all slots to those of the variables."""
    slots = [variable.slot for variable in relation.variables]
    return lambda ordinals: tuple(ordinals[slot] for slot in slots)


def walked(relation: Relation, path: Path) -> Trace:
    """The path once more, with the plain functions."""
    return walk(relation.system, path.states, kept(relation))


def path_of(relation: Relation, actions: list[Action]) -> Path:
    """The states that actions lead through from the first one."""
    states, state = [kept(relation)(relation.initial)], list(relation.initial)
    for action in actions:
        leaf = relation.leaf(action.tree, state)
        if not isinstance(leaf, Update):
            raise EngineError(f"{action.firing.transition.name} is not enabled on the path")
        values = [(slot, relation.value(node, state)) for slot, node in leaf.writes]
        for slot, value in values:
            state[slot] = value
        states.append(kept(relation)(tuple(state)))
    return Path(tuple(states))
