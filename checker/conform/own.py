"""A record of a world of one's own, whose kinds are the names of its transitions.

A line of it tells of one step: the values name the identifiers that the transition takes, and may
say what fields of the world hold after it::

    {"kind": "start", "values": {"reader": "reader-0", "last": "reader-0"}}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

from attrs import evolve

from rackproof.model.kernel import (
    Evidence,
    Firing,
    Observation,
    Record,
    System,
    Transition,
    evidence_of,
)
from rackproof.model.kernel.domains import Truth
from rackproof.model.kernel.evidence import Case, Value
from rackproof.scenarios.errors import hint, quoted
from rackproof.scenarios.fields import Field, Fields
from rackproof.scenarios.recorded.noted import Noted
from rackproof.scenarios.worlds import InputError

WITNESS: Final = "run"
FACTS: Final = "facts"
COMPLETE: Final = "complete"
ENDED: Final = "ended"


def case_of_world(system: System, noted: Iterable[Noted], name: str | None = None) -> Case:
    """All of a record as one case; ``InputError`` for what the world does not know.

    Every kind that is there at all is taken to be written whenever it happens, and so are those
    that a line of the witness ``facts`` and the kind ``complete`` names; with ``ended`` it says
    that the record goes to the end of the run. What has the same clock has an order.
    """
    noted, reader = list(noted), _Reader(system)
    facts = [each.observation for each in noted if each.observation.witness == FACTS]
    logs: dict[str, list[Observation]] = {}
    for each in noted:
        if each.observation.witness != FACTS:
            logs.setdefault(each.clock, []).append(reader.read(each.observation))
    seen = {(each.witness, each.kind) for log in logs.values() for each in log}
    named = {pair for fact in facts for pair in reader.complete(fact)}
    return Case(
        name or system.name,
        reader.told,
        tuple(map(tuple, logs.values())),
        frozenset(seen | named),
        ended=any(fact.values.get(ENDED) is True for fact in facts),
    )


class _Reader:
    """Checks what lines say of a world; ``spoken`` are the fields that any of them speaks of."""

    def __init__(self, system: System) -> None:
        self.system, self.fields = system, Fields(system)
        self.spoken: dict[str, Field] = {}
        self.steps = {each.name.replace("_", "-"): each for each in system.transitions}

    @property
    def told(self) -> System:
        """The system, whose records say what the fields hold that lines speak of."""
        if not self.spoken:
            return self.system
        write, fields, schema = evidence_of(self.system).records, self.spoken, self.system.schema

        def records(before: Any, firing: Firing, after: Any) -> Sequence[Record]:
            ordinals = schema.flatten(after)
            held = {name: _value(field, ordinals) for name, field in fields.items()}
            return [
                evolve(each, values={**held, **each.values})
                for each in write(before, firing, after)
            ]

        return evolve(self.system, evidence=Evidence(records))

    def read(self, seen: Observation) -> Observation:
        """A line as the world has it; as it is, where the world says itself what is recorded."""
        if self.system.evidence is not None:
            return seen
        if seen.witness != WITNESS:
            known = hint(seen.witness, [WITNESS, FACTS])
            _refuse(seen, f"nobody called {quoted(seen.witness)} writes of this world{known}")
        kind = self._kind(seen.kind, seen)
        for name, value in seen.values.items():
            self._check(self.steps[kind], name, value, seen)
        return evolve(seen, kind=kind)

    def complete(self, fact: Observation) -> Iterator[tuple[str, str]]:
        """The kinds of which a line says that they are always written."""
        if fact.kind != COMPLETE:
            _refuse(fact, f"there is no fact {quoted(fact.kind)}{hint(fact.kind, [COMPLETE])}")
        for name, value in fact.values.items():
            if name != ENDED and value is True:
                yield WITNESS, self._kind(name, fact)

    def _kind(self, name: str, at: Observation) -> str:
        kind = name.replace("_", "-")
        if kind not in self.steps:
            known = hint(name, list(self.steps))
            _refuse(at, f"{self.system.name} has no transition {quoted(name)}{known}")
        return kind

    def _check(self, step: Transition[..., Any], name: str, value: Value, at: Observation) -> None:
        sort = dict(step.parameters).get(name)
        if sort is not None:
            count = self.system.schema.counts[sort]
            labels = [self.system.label(sort, index) for index in range(count)]
            if value not in labels:
                _refuse(
                    at, f"{name}: there is no {sort} {quoted(str(value))}{hint(str(value), labels)}"
                )
            return
        field = self.fields.find(name, value)
        if isinstance(field, str):
            takes = ", ".join(key for key, _ in step.parameters) or "nothing"
            _refuse(at, f"{name}: {step.name.replace('_', '-')} takes {takes}, and {field}")
        self.spoken[name] = field


def _value(field: Field, ordinals: Sequence[int]) -> Value:
    value = field.data(field.value(ordinals))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(field.domain, Truth):
        return bool(field.value(ordinals))
    return value if isinstance(value, int) else str(value)


def _refuse(at: Observation, what: str) -> NoReturn:
    raise InputError(f"{at.place or 'the record'}: {what}")
