"""What is written down of a run: by whom, of which step, and what it says.

A log is looked at from both ends. From a run of the model: what every witness would have written
(``Evidence.records``). From a file: what somebody did write (``Observation``). A recorded run is a
run of the model where the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from rackproof.model.kernel.system import Firing, System

Value = bool | int | str
"""What a record says of one thing: a flag, a number, or the name of an identifier or of a value."""

Kinds = frozenset[tuple[str, str]]
"""Witnesses, each with a kind of what it tells, such as ``("client", "token")``."""


@frozen
class Place:
    """Where something is written; lines count from one, and 0 is a file without lines."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        """As editors and terminals understand it."""
        return f"{self.file}:{self.line}" if self.line else self.file


@frozen
class Record:
    """What a witness writes down of a step.

    witness: who writes, such as client, frontend, operator, or the name of a worker. kind: what is
    told, such as token. values: what it says of it, by name. aside: what it says beside, of which a
    wrong value is an error of the log and no other run.
    """

    witness: str
    kind: str
    values: Mapping[str, Value] = field(factory=dict)
    aside: Mapping[str, Value] = field(factory=dict)


@frozen
class Observation:
    """What somebody wrote down. What it leaves out it says nothing of, and any value fits.

    time: seconds, by the clock of whoever wrote; None where there is none. Times of different
    clocks are never compared.
    """

    witness: str
    kind: str
    values: Mapping[str, Value] = field(factory=dict)
    aside: Mapping[str, Value] = field(factory=dict)
    place: Place | None = None
    time: float | None = None

    def fits(self, record: Record) -> bool:
        """Whether it may be what was written of a step: nothing that both say differs."""
        return (
            self.witness == record.witness
            and self.kind == record.kind
            and not differing(self.values, record.values)
        )


def differing(left: Mapping[str, Value], right: Mapping[str, Value]) -> tuple[str, ...]:
    """The names of what both speak of, and say differently."""
    return tuple(name for name, value in left.items() if right.get(name, value) != value)


Records = Callable[[Any, Firing, Any], Sequence[Record]]
"""What the witnesses write down of a step: of the state before, the firing, the state after."""


@frozen(eq=False)
class Evidence:
    """What is recorded of the runs of a world.

    records: of each step, in the order in which one witness writes. forced: the state after
    something was observed though no transition allows it (such as a token that is delivered
    twice), of the state before; None where nothing is known of that. Both are plain functions, and
    decide nothing of what the world does. owed: the names of properties that say what whoever
    writes must have got by the end of a record. words: from a condition on fields to the same as
    people say it; None where they have no other words for it.
    """

    records: Records
    forced: Callable[[Any, Observation], Any | None] | None = None
    owed: Collection[str] = ()
    words: Callable[[str], str] | None = None


def evidence_of(system: System) -> Evidence:
    """What is recorded of a world's runs: as it says, or by default every step under its name, with
    the names of its identifiers, by one witness called ``run``.
    """
    if system.evidence is not None:
        return system.evidence

    def records(_before: Any, firing: Firing, _after: Any) -> Sequence[Record]:
        name = firing.transition.name.replace("_", "-")
        return (Record("run", name, dict(firing.named(system))),)

    return Evidence(records)


@frozen(eq=False)
class Case:
    """What was recorded of one request (of one block, or of a whole run), and the world in which it
    is to be explained.

    logs: each in its own order; of observations in two of them no order is known. complete: the
    witnesses and kinds of which every record is there, so that such a step without one did not
    happen; steps of other kinds are filled in freely. called: what identifiers of the system are
    called in the logs. missing: logs without which nothing is accepted, in words. ended: whether
    the record goes to the end of the run, so that what has not happened by then did not happen.
    stopped: the witnesses whose log stops before the run is over, each with where; what they would
    have written after that is not known. still_open: where the run stands at the end of the record,
    in words, if it is not over by then. numbered: what positions and numbers of tokens stand for in
    the logs, where some were taken out. key: the same for cases whose systems are the same, down to
    the names of their identifiers; None where that is not known. went: what became of it, in a
    line, where that did not go plainly well. sentences: what is so where a property is broken, with
    the numbers of the logs, by its name.
    """

    name: str
    system: System
    logs: tuple[tuple[Observation, ...], ...]
    complete: Kinds = frozenset()
    called: Mapping[str, str] = field(factory=dict)
    missing: tuple[str, ...] = ()
    ended: bool = False
    stopped: Mapping[str, Place | None] = field(factory=dict)
    still_open: str | None = None
    numbered: Mapping[int, int] = field(factory=dict)
    key: Hashable = None
    went: str | None = None
    sentences: Mapping[str, str] = field(factory=dict)
