"""Where the runs of two worlds part: the shortest that one can do and the other cannot.

Both are walked side by side, act by act. A firing leads to one state only, so that a run is
possible in a world or it is not, and the pairs of states that the same run leads to are all there
is to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.checker.diff.side import Act, Behaviour

MOST_PAIRS: Final = 200_000
Pair = tuple[int, int]


@frozen
class Step:
    """A step of a run. label: as a scenario writes it; changes: in words, field by field."""

    label: str
    transition: str
    words: str
    is_fault: bool
    changes: tuple[str, ...]


Run = tuple[Step, ...]


@frozen
class Parting:
    """Where two worlds part.

    mine, theirs: for each transition that only one of them can take somewhere after the same run,
    the shortest such run, with it at the end. pairs: how many pairs of states were looked at.
    depth: the steps of the longest run that was. reason: why not all were. left_out: the steps with
    identifiers that only one of them has; nothing is said of runs with them.
    """

    mine: dict[str, Run]
    theirs: dict[str, Run]
    pairs: int
    depth: int
    reason: str | None
    left_out: tuple[str, ...]


def parting(mine: Behaviour, theirs: Behaviour, most: int = MOST_PAIRS) -> Parting:
    """Walk two worlds side by side as far as their moves are known."""
    return _Pairs(mine, theirs, most).parting()


class _Pairs:
    """The pairs of states that the same run leads to, by the length of the shortest."""

    def __init__(self, mine: Behaviour, theirs: Behaviour, most: int) -> None:
        self.mine, self.theirs, self.most = mine, theirs, most
        self.before: dict[Pair, tuple[Pair, int] | None] = {(0, 0): None}
        self.order: list[Pair] = [(0, 0)]
        self.depths: dict[Pair, int] = {(0, 0): 0}
        self.found: tuple[dict[str, Run], dict[str, Run]] = ({}, {})
        self.unknown: set[str] = set()

    @cached_property
    def number(self) -> dict[str, int]:
        """The acts of the other by label."""
        return {act.label: number for number, act in enumerate(self.theirs.acts)}

    @cached_property
    def common(self) -> dict[int, int]:
        """The acts that both have, by mine, the other's."""
        return {
            mine: self.number[act.label]
            for mine, act in enumerate(self.mine.acts)
            if act.label in self.number
        }

    def parting(self) -> Parting:
        """Look at pair after pair."""
        looked, reason = 0, None
        for pair in self.order:
            if len(self.order) > self.most:
                reason = f"more than {self.most:,} pairs of states"
                break
            if pair[0] >= len(self.mine.moves) or pair[1] >= len(self.theirs.moves):
                reason = self.mine.reason or self.theirs.reason
                break
            looked += 1
            self._look(pair)
        depth = self.depths[self.order[looked - 1]] if looked else 0
        left_out = tuple(sorted(self.unknown))
        return Parting(*self.found, looked, depth, reason, left_out)

    def _look(self, pair: Pair) -> None:
        mine = dict(self.mine.moves[pair[0]])
        theirs = dict(self.theirs.moves[pair[1]])
        for act, after in mine.items():
            other = self.common.get(act)
            if other is None or other not in theirs:
                self._note(0, pair, act)
            else:
                self._follow(pair, act, (after, theirs[other]))
        shared = {self.common[act] for act in mine if act in self.common}
        for act in (act for act in theirs if act not in shared):
            self._note(1, pair, act)

    def _follow(self, pair: Pair, act: int, after: Pair) -> None:
        if after not in self.before:
            self.before[after] = pair, act
            self.depths[after] = self.depths[pair] + 1
            self.order.append(after)

    def _note(self, which: int, pair: Pair, act: int) -> None:
        """That one of them parts from the other here, if it is the first time in this way."""
        taken = (self.theirs if which else self.mine).acts[act]
        if self._is_of_one_only(which, taken):
            self.unknown.add(taken.label)
        elif taken.transition not in self.found[which]:
            self.found[which][taken.transition] = self._run(which, pair, act)

    def _is_of_one_only(self, which: int, taken: Act) -> bool:
        """Whether the other has such steps, but not of these identifiers."""
        transitions, labels = self._known[1 - which]
        return taken.transition in transitions and taken.label not in labels

    @cached_property
    def _known(self) -> list[tuple[set[str], set[str]]]:
        """The transitions and the labels of all acts of each."""
        return [
            ({act.transition for act in world.acts}, {act.label for act in world.acts})
            for world in (self.mine, self.theirs)
        ]

    def _run(self, which: int, pair: Pair, last: int) -> Run:
        """The run to a pair and one more act, as one of them does it."""
        own = self.theirs if which else self.mine
        acts = [last]
        here = pair
        while (came := self.before[here]) is not None:
            here, act = came
            acts.append(self.common[act] if which else act)
        return tuple(_steps(own, acts[::-1]))


def _steps(world: Behaviour, acts: Sequence[int]) -> Iterator[Step]:
    """The steps of a run, from the initial state on."""
    state = 0
    for act in acts:
        after = dict(world.moves[state])[act]
        taken = world.acts[act]
        yield Step(
            taken.label, taken.transition, taken.words, taken.is_fault,
            tuple(changes(world, state, after)),
        )  # fmt: skip
        state = after


def changes(world: Behaviour, before: int, after: int) -> Iterator[str]:
    """What differs between two states, in words."""
    pairs = zip(world.columns, world.states[before], world.states[after], strict=True)
    for column, old, new in pairs:
        if old != new:
            yield f"{column.short}: {column.values[old]} -> {column.values[new]}"
