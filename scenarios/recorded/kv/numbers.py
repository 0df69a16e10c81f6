"""The numbers of a publisher's events, cut where they do not go on by one.

A case has the turn from one run of numbers to the next: the last number before it, what is
missing, the first number after it and the last one of the run. That is exact: the model counts from
0 in each life and by one from event to event, whatever the number, so that numbers may be put close
together as long as 0 stays 0, equal ones equal, and the next one the next one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from enum import Enum
from typing import Final

from attrs import define, field, frozen

from rackproof.model.kernel import Observation
from rackproof.model.kernel.evidence import Case
from rackproof.scenarios.recorded.kv.batches import Batch
from rackproof.scenarios.recorded.kv.worlds import WORKER, Worlds, case, complete, observed

KINDS: Final = complete("event", "missing")
LOST: Final = ("lost-event", "publish-failure")
RESTART: Final = "engine-restart"
REMEMBERED: Final = 10_000
"""How many batches are remembered, to know one that comes again: as many as vLLM can replay."""


class Turn(Enum):
    """How the numbers of a publisher go on."""

    ON = "goes on"
    BEGINS = "begins"
    JOINED = "was joined late"
    GAP = "gap"
    RESTART = "restart"
    AGAIN = "sent again"
    BACK = "goes back"


@frozen
class Start:
    """The first event of a run of numbers, and what came before it."""

    turn: Turn
    batch: Batch
    before: Batch | None


@define(eq=False)
class Numbers:
    """The numbers of one publisher, as far as they were read.

    due: the number that comes next. seen: hashes of the batches of late, by their numbers.
    """

    publisher: str
    due: int | None = None
    last: Batch | None = None
    start: Start | None = None
    seen: OrderedDict[int, int] = field(factory=OrderedDict)

    def turn(self, batch: Batch) -> Turn:
        """How a batch goes on from the ones before."""
        number = _number(batch)
        if self.due is None:
            return Turn.BEGINS if number in batch.rules.first else Turn.JOINED
        if number >= self.due:
            return Turn.ON if number == self.due else Turn.GAP
        fresh = batch.time is None and number in batch.rules.first
        if not fresh and self.seen.get(number) == hash(batch.same):
            return Turn.AGAIN
        return Turn.RESTART if number in batch.rules.first else Turn.BACK

    def take(self, batch: Batch, worlds: Worlds) -> tuple[Turn, list[Case]]:
        """Go on with a batch: how, and the case of the run of numbers that it ends, if it does."""
        turn = self.turn(batch)
        if turn is Turn.ON:
            self._went_on(batch)
            return turn, []
        found = list(self.ended(worlds))
        self.start = Start(turn, batch, self.last)
        if turn is Turn.AGAIN:
            found += self.ended(worlds)
        else:
            self._went_on(batch)
        return turn, found

    def _went_on(self, batch: Batch) -> None:
        number = _number(batch)
        self.last, self.due = batch, number + 1
        self.seen[number] = hash(batch.same)
        if len(self.seen) > REMEMBERED:
            self.seen.popitem(last=False)

    def ended(self, worlds: Worlds) -> Iterator[Case]:
        """The case of the run of numbers that was read last."""
        if self.start is None or self.last is None:
            return
        behind = None if self.last is self.start.batch else self.last
        again = self.start.turn is Turn.AGAIN
        yield _case(self.publisher, self.start, None if again else behind, worlds)
        self.start = None


def _case(publisher: str, start: Start, behind: Batch | None, worlds: Worlds) -> Case:
    """The case of a turn, with small numbers."""
    small = SMALL[start.turn]
    repeated = start.before is not None and _number(start.before) == _number(start.batch)
    due = small.due - repeated
    log = [_event("event", start.before, due)] if start.before else []
    for number in small.missing:  # that it was used, the next one shows
        log += [_event(kind, start.batch, number) for kind in ("event", "missing")]
    log += [_event("event", start.batch, small.first)]
    log += [_event("event", behind, small.first + 1)] if behind else []
    system = worlds.world(1, due=due, faults=small.faults)
    name, called = f"{_told(start)} of {publisher}", {WORKER: publisher, "prefix-0": "a block"}
    return case(name, system, tuple(log), KINDS, called, HIDDEN.get(start.turn, ()))


@frozen
class Small:
    """The numbers of a turn in its world: which is due at the start (one less, where the number
    before is the same as the one that comes), which are missing, and which one comes first; and the
    faults that may be behind it.
    """

    due: int
    missing: tuple[int, ...]
    first: int
    faults: tuple[str, ...] = ()


SMALL: Final = {
    Turn.BEGINS: Small(0, (), 0),
    Turn.JOINED: Small(1, (), 1),
    Turn.GAP: Small(1, (2,), 3, LOST),
    Turn.RESTART: Small(1, (), 0, (RESTART,)),
    Turn.AGAIN: Small(2, (), 1),
    Turn.BACK: Small(2, (0,), 1, (*LOST, RESTART)),
}
"""One that is missing stands for any that are: none of them says anything."""


def _event(kind: str, batch: Batch, number: int) -> Observation:
    return observed(kind, batch.place, batch.time, number=number)


def _number(batch: Batch | None) -> int:
    assert batch is not None
    assert batch.number is not None
    return batch.number


HIDDEN: Final = {
    Turn.JOINED: ("record of what was sent before",),
    Turn.GAP: ("record of what is missing",),
    Turn.BACK: ("record of how its engine started again, or of which publisher sent what",),
}
"""What is not there, in words that are the same whatever the numbers, to be explained once."""


def _told(start: Start) -> str:
    """What the name of a case says of its events."""
    number = _number(start.batch)
    if start.turn is Turn.AGAIN:
        return f"event {number}, once more,"
    if start.turn is Turn.GAP:
        return f"events from {number} on, without {_events(_number(start.before) + 1, number)},"
    return f"events from {number} on"


def _events(first: int, behind: int) -> str:
    return str(first) if behind - first == 1 else f"{first} to {behind - 1}"
