"""Which observations may be what was written of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rackproof.model.kernel import Observation, Record
from rackproof.model.kernel.evidence import Case, Kinds, Value, differing

Positions = tuple[int, ...]
"""How far into each log everything is explained."""

Pairs = tuple[tuple[Observation, Record], ...]
"""Observations, each with the record that it is of."""

Way = tuple[Positions, Pairs]


class Logs:
    """The logs of a case, and which records of a step must be, or may be, in them."""

    def __init__(self, case: Case) -> None:
        """Look up which log has which kind of record."""
        self.logs, self.complete = case.logs, case.complete
        self.start: Positions = tuple(0 for _ in case.logs)
        self.end: Positions = tuple(len(log) for log in case.logs)
        self._homes: dict[tuple[str, str], tuple[int, ...]] = {}
        for index, log in enumerate(case.logs):
            for key in dict.fromkeys((each.witness, each.kind) for each in log):
                self._homes[key] = (*self._homes.get(key, ()), index)
        witnesses = [{each.witness for each in log} for log in case.logs]
        self._witnesses = witnesses
        self._stopped = {
            name: tuple(index for index, found in enumerate(witnesses) if name in found)
            for name in case.stopped
        }
        self._mixed = any(len(found) > 1 for found in witnesses)

    def is_complete(self, record: Record) -> bool:
        """Whether a step that writes this is in the logs, if it happened."""
        return (record.witness, record.kind) in self.complete

    def may_hold(self, log: int, record: Record) -> bool:
        """Whether a record may be missing in a log: who writes there, writes all of that kind."""
        return record.witness in self._witnesses[log] and self.is_complete(record)

    def ways(self, records: Sequence[Record], at: Positions) -> Iterator[Way]:
        """How far the logs are explained after a step that writes these; nothing where they have
        something else next.
        """
        told = [each for each in records if self._is_told(each)]
        if not told:
            yield at, ()
        elif len(told) == 1:
            yield from self._one(told[0], at)
        else:
            yield from self._several(_by_witness(told), at, ())

    def _is_told(self, record: Record) -> bool:
        key = record.witness, record.kind
        return key in self.complete or key in self._homes

    def _one(self, record: Record, at: Positions) -> Iterator[Way]:
        key = record.witness, record.kind
        for log in self._homes.get(key, ()):
            if at[log] < self.end[log] and (observed := self.logs[log][at[log]]).fits(record):
                yield (*at[:log], at[log] + 1, *at[log + 1 :]), ((observed, record),)
        if key not in self.complete or self._is_stopped(record.witness, at):
            yield at, ()

    def _is_stopped(self, witness: str, at: Positions) -> bool:
        """Whether the log of a witness stops here, so that it says no more of anything."""
        logs = self._stopped.get(witness)
        return logs is not None and all(at[log] == self.end[log] for log in logs)

    @property
    def complete_to_the_end(self) -> Kinds:
        """The witnesses and kinds of which all is recorded that there is after the logs."""
        return frozenset(key for key in self.complete if key[0] not in self._stopped)

    def _several(self, queues: list[list[Record]], at: Positions, pairs: Pairs) -> Iterator[Way]:
        """Each witness writes in its order; who comes first of two in one log is open."""
        if not queues:
            yield at, pairs
        for index, (first, *later) in enumerate(queues if self._mixed else queues[:1]):
            rest = [*queues[:index], *([later] if later else []), *queues[index + 1 :]]
            for after, found in self._one(first, at):
                yield from self._several(rest, after, (*pairs, *found))


def _by_witness(records: Sequence[Record]) -> list[list[Record]]:
    queues: dict[str, list[Record]] = {}
    for each in records:
        queues.setdefault(each.witness, []).append(each)
    return list(queues.values())


def misread(observed: Observation, record: Record) -> dict[str, tuple[Value, Value]]:
    """What an observation says beside, and what is so instead, by name."""
    if not observed.aside and not record.aside:
        return {}
    said, truth = {**observed.values, **observed.aside}, {**record.aside, **record.values}
    return {name: (said[name], truth[name]) for name in differing(said, truth)}
