"""Behaviours gained and lost: what happens, and what is reached, in one of two worlds only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from rackproof.checker.diff.parting import Parting, Run, parting
from rackproof.checker.diff.side import Behaviour, Column

Edge = tuple[str, str]
"""A value, and the one that a step changes it to."""


@frozen
class Both:
    """What is in the first only, and what in the second only."""

    mine: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.mine or self.theirs)


@frozen
class Counts:
    """How often a transition is possible in states that both reach: there in one of them only, and
    in both but leading elsewhere.
    """

    mine: int
    theirs: int
    elsewhere: int


@frozen
class States:
    """How many states are reached by both, by the first only and by the second only, over the
    fields that both have.

    possible: by transition, in how many of those that both reach it is possible in one only.
    """

    both: int
    mine: int
    theirs: int
    possible: dict[str, Counts] = field(factory=dict)


@frozen
class Gained:
    """How the behaviours of two worlds differ.

    fired: transitions that take effect in one only. values: by family of fields, values that are
    reached in one only; edges: changes from a value to another, of fields whose values have names.
    states: None where the fields differ, or not all states are known. reasons: why not all is known
    of the first and of the second.
    """

    fired: Both
    values: dict[str, Both]
    edges: dict[str, Both]
    states: States | None
    parting: Parting
    reasons: tuple[str | None, str | None]

    @property
    def is_whole(self) -> bool:
        """Whether every state of both was seen."""
        return not any(self.reasons)

    @property
    def differs(self) -> bool:
        """Whether anything was found to differ."""
        runs = self.parting.mine or self.parting.theirs or self.parting.left_out
        other = self.states is not None and (self.states.mine or self.states.theirs)
        return bool(self.fired or self.values or self.edges or runs or other)


def gained(mine: Behaviour, theirs: Behaviour) -> Gained:
    """Hold the behaviours of two worlds against each other."""
    fired = _apart(sorted(mine.fired), sorted(theirs.fired))
    common = _families(mine).keys() & _families(theirs).keys()
    return Gained(
        fired,
        _by_family(common, _values(mine), _values(theirs)),
        _by_family(common, _edges(mine), _edges(theirs)),
        _states(mine, theirs),
        _told(parting(mine, theirs), mine, theirs),
        (mine.reason, theirs.reason),
    )


def _told(found: Parting, mine: Behaviour, theirs: Behaviour) -> Parting:
    """The runs in the words of those who can do them."""
    return evolve(found, mine=_in_words(found.mine, mine), theirs=_in_words(found.theirs, theirs))


def _in_words(runs: dict[str, Run], world: Behaviour) -> dict[str, Run]:
    """Runs with what each step of them came to."""
    if world.tell is None or not runs:
        return runs
    told = world.tell([[step.label for step in run] for run in runs.values()])
    return {
        name: tuple(evolve(step, words=words) for step, words in zip(run, said, strict=True))
        for (name, run), said in zip(runs.items(), told, strict=True)
    }


def _apart(mine: Sequence[str], theirs: Sequence[str]) -> Both:
    """What is in one of two only, in their order."""
    return Both(
        tuple(x for x in mine if x not in set(theirs)),
        tuple(x for x in theirs if x not in set(mine)),
    )


def _families(world: Behaviour) -> dict[str, list[int]]:
    """The numbers of the columns of each family."""
    found = defaultdict[str, list[int]](list)
    for number, column in enumerate(world.columns):
        found[column.family].append(number)
    return found


def _values(world: Behaviour) -> dict[str, list[str]]:
    """By family the values that are reached."""
    return {
        family: list(dict.fromkeys(v for n in numbers for v in world.columns[n].values))
        for family, numbers in _families(world).items()
    }


def _edges(world: Behaviour) -> dict[str, list[str]]:
    """By family the changes from a value to another."""
    table = _table(world)
    moves = [(state, after) for state, row in enumerate(world.moves) for _, after in row]
    ends = np.array(moves, dtype=np.int64).reshape(-1, 2)
    found = {}
    for family, numbers in _families(world).items():
        edges = [edge for n in numbers for edge in _changes(world.columns[n], table[:, n], ends)]
        found[family] = sorted(set(edges))
    return found


def _changes(column: Column, values: Any, ends: Any) -> Iterator[str]:
    if column.is_phase and len(ends):
        pairs = np.unique(values[ends], axis=0)
        for before, after in pairs[pairs[:, 0] != pairs[:, 1]].tolist():
            yield f"{column.values[before]} -> {column.values[after]}"


def _table(world: Behaviour) -> Any:
    shape = len(world.states), len(world.columns)
    return np.array(world.states, dtype=np.int64).reshape(shape)


def _by_family(
    common: set[str], mine: dict[str, list[str]], theirs: dict[str, list[str]]
) -> dict[str, Both]:
    """What is in one only, of the families that both have."""
    found = {name: _apart(mine[name], theirs[name]) for name in mine if name in common}
    return {name: both for name, both in found.items() if both}


def _states(mine: Behaviour, theirs: Behaviour) -> States | None:
    """The states by their values; None where the fields differ or not all states are known."""
    labels = [column.label for column in mine.columns]
    is_whole = mine.reason is None and theirs.reason is None
    if sorted(labels) != sorted(column.label for column in theirs.columns) or not is_whole:
        return None
    own, other = _in_values(mine, labels), _in_values(theirs, labels)
    shared = [(number, other[state]) for state, number in own.items() if state in other]
    possible = _possible(mine, theirs, shared, labels)
    return States(len(shared), len(own) - len(shared), len(other) - len(shared), possible)


def _in_values(world: Behaviour, labels: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The number of each state by its values."""
    places = {column.label: n for n, column in enumerate(world.columns)}
    columns = [(places[label], world.columns[places[label]].values) for label in labels]
    return {
        tuple(values[state[place]] for place, values in columns): number
        for number, state in enumerate(world.states)
    }


def _possible(
    mine: Behaviour, theirs: Behaviour, shared: Sequence[tuple[int, int]], labels: Sequence[str]
) -> dict[str, Counts]:
    """In how many states that both reach each transition is possible in one only, or leads
    elsewhere.
    """
    numbers = _in_values(theirs, labels)
    same = {n: numbers.get(state) for state, n in _in_values(mine, labels).items()}
    alone, others, elsewhere = Counter[str](), Counter[str](), Counter[str]()
    for own, other in shared:
        left, right = _named(mine, own), _named(theirs, other)
        alone.update({transition for transition, _ in left.keys() - right.keys()})
        others.update({transition for transition, _ in right.keys() - left.keys()})
        differing = [key for key in left.keys() & right.keys() if same[left[key]] != right[key]]
        elsewhere.update({transition for transition, _ in differing})
    return {
        name: Counts(alone[name], others[name], elsewhere[name])
        for name in sorted({*alone, *others, *elsewhere})
    }


def _named(world: Behaviour, state: int) -> dict[tuple[str, str], int]:
    """The moves of a state by transition and label."""
    acts = world.acts
    return {(acts[act].transition, acts[act].label): after for act, after in world.moves[state]}
