"""All there is to say of one capture: what came of its cases, and on what footing that stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field, frozen

from rackproof.checker.conform.outcome import Answer
from rackproof.checker.conform.tally import Tally
from rackproof.checker.status import Status, worst
from rackproof.model.kernel import Place

if TYPE_CHECKING:
    from rackproof.checker.performance.answers import Table
    from rackproof.checker.verify import Failure

MOST_IN_FULL: Final = 5_000
"""Cases that are told in full to programs; of others, only the counts."""
MOST_RUNS: Final = 20
"""Runs of accepted cases that are shown."""
MOST_DOUBTS: Final = 100
"""Doubts that are kept."""


@define(eq=False)
class Doubts:
    """What could not be read as it should: how often, and the first of it."""

    count: int = 0
    first: list[tuple[Place, str]] = field(factory=list)

    def add(self, place: Place, words: str) -> None:
        """Keep it, unless there are many."""
        self.count += 1
        if len(self.first) < MOST_DOUBTS:
            self.first.append((place, words))


@frozen(eq=False)
class Told:
    """A case that is not plainly accepted, as it is handed on: the texts alone, without its world.

    title, lines: for people. data: for programs.
    """

    name: str
    status: Status
    place: Place | None
    title: str
    lines: tuple[str, ...]
    data: dict[str, Any]


@define(eq=False)
class Conformity:
    """What came of one capture.

    against: the world it was held against, in words. again: the line that shows this again.
    checked, unchecked: what the answer rests on, and what was not looked at, in sentences. stalls:
    what was measured, beside what is predicted. failure: why it could not be read to its end.
    noun: what a case is of. sought: whether changes were sought that would explain rejections.
    in_full: the cases that are not plainly accepted; not_plain: how many. with_runs: whether runs
    of accepted cases are wanted too; runs: these, in lines.
    """

    label: str
    against: str
    again: str
    tally: Tally
    noun: str = "request"
    doubts: Doubts = field(factory=Doubts)
    checked: Sequence[str] = ()
    unchecked: Sequence[str] = ()
    stalls: Table | None = None
    failure: Failure | None = None
    seconds: float = 0.0
    sought: bool = False
    in_full: list[Told] = field(factory=list)
    not_plain: int = 0
    with_runs: bool = False
    runs: list[Sequence[str]] = field(factory=list)

    @property
    def offers_changes(self) -> bool:
        """Whether it could still be asked what would explain what is rejected."""
        return bool(self.tally.answers[Answer.REJECTED]) and not self.sought

    @property
    def status(self) -> Status:
        """The gravest of all cases; a capture of nothing is bad input."""
        if self.failure is not None:
            return worst([self.failure.status, self.tally.status])
        return self.tally.status if self.tally.count else Status.BAD_INPUT
