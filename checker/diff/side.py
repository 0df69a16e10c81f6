"""One side of a comparison, as plain data: a world as written, what it does, what holds in it.

Nothing here refers to functions or classes of the world, so that a side may come from a process
with other code. Numbers count from 0 unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from attrs import frozen

FORMAT: Final = 1
"""Of the data that processes pass on."""


Tell = Callable[[Sequence[Sequence[str]]], Sequence[Sequence[str]]]
"""From runs, each of the labels of its steps, to what each step came to, in words."""


@frozen
class Act:
    """A firing. label: as a scenario writes it; words: with names."""

    label: str
    transition: str
    words: str
    is_fault: bool


@frozen
class Column:
    """A field of the state. label: its whole path; short: the shortest name that leaves no doubt;
    family: the path with sorts in place of identifiers. values: those that were seen, in words;
    states have their indices. is_phase: whether it has a few values that have names.
    """

    label: str
    short: str
    family: str
    values: tuple[str, ...]
    is_phase: bool


@frozen(eq=False)
class Behaviour:
    """Every state that was seen, and what can happen there.

    acts: every firing that there could be. states: in the order of their distance from the initial
    one, the first; for each column the index of its value. moves: of the first states, the act and
    the state it leads to. reason: why there are more states than that; None where these are all.
    tell: what the steps of runs come to, in words; None where nobody is there to say it.
    """

    acts: tuple[Act, ...]
    columns: tuple[Column, ...]
    states: tuple[tuple[int, ...], ...]
    moves: tuple[tuple[tuple[int, int], ...], ...]
    reason: str | None = None
    tell: Tell | None = None

    @property
    def fired(self) -> frozenset[str]:
        """The transitions that took effect somewhere."""
        return frozenset(self.acts[act].transition for row in self.moves for act, _ in row)


@frozen
class Rule:
    """A transition as it is written.

    forms: of each of its firings that is possible anywhere, a digest of what it tests and does, by
    label. needs: tests that every one of them makes on every way to take effect, in words. writes:
    the families of the fields that it changes.
    """

    kind: str
    fairness: str
    parameters: tuple[str, ...]
    duration: str | None
    forms: Mapping[str, str]
    needs: tuple[str, ...]
    writes: tuple[str, ...]


@frozen
class Judged:
    """A property and what is known of it.

    form: a digest of what it asks. words: the verdict with the size of its counterexample. faults,
    steps: that size, where there is one. run: the counterexample in words.
    """

    statement: str
    scope: str
    form: str
    verdict: str
    words: str
    reason: str | None = None
    faults: int | None = None
    steps: int | None = None
    run: tuple[str, ...] = ()


@frozen
class Costs:
    """What the paths of a world take, in words. stall: the worst; seconds: how long it is, None
    where nobody waits or for ever. paths: of each class its columns. reason: why not all was seen.
    """

    stall: str
    seconds: float | None
    paths: Mapping[str, Mapping[str, str]]
    reason: str | None = None


@frozen
class Side:
    """One world in one scope.

    target: as it was asked for; case: which of its cases or exams. written: what there is to
    choose, by part (``scope``, ``times``, ...) and key, in words. fields: by their whole path, what
    each may hold. sorts: the names of the identifiers. is_own: whether it is a user's own world.
    form: a digest of all that its states, moves and verdicts depend on. notes: what is not known of
    this side, and why. others: properties that are not asked about.
    """

    target: str
    case: str
    written: Mapping[str, Mapping[str, str]]
    fields: Mapping[str, str]
    sorts: Mapping[str, tuple[str, ...]]
    rules: Mapping[str, Rule]
    properties: Mapping[str, Judged]
    behaviour: Behaviour | None
    form: str
    is_own: bool = False
    costs: Costs | None = None
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def as_data(side: Side) -> dict[str, Any]:
    """A side as lists, maps, texts and numbers."""
    return {"format": FORMAT, **attrs.asdict(side, filter=lambda each, _: each.name != "tell")}


def from_data(data: Mapping[str, Any]) -> Side:
    """The side that was passed on as data; ``ValueError`` where it is of another format."""
    known = dict(data)
    if known.pop("format", None) != FORMAT:
        raise ValueError("another format")
    known["rules"] = {name: _rule(item) for name, item in known["rules"].items()}
    known["properties"] = {name: _judged(item) for name, item in known["properties"].items()}
    known["sorts"] = {name: tuple(names) for name, names in known["sorts"].items()}
    known["behaviour"] = known["behaviour"] and _behaviour(known["behaviour"])
    known["costs"] = known["costs"] and Costs(**known["costs"])
    known.update({name: tuple(known[name]) for name in ("notes", "others")})
    return Side(**known)


def _rule(data: Mapping[str, Any]) -> Rule:
    lists = {name: tuple(data[name]) for name in ("parameters", "needs", "writes")}
    return Rule(**{**data, **lists})


def _judged(data: Mapping[str, Any]) -> Judged:
    return Judged(**{**data, "run": tuple(data["run"])})


def _behaviour(data: Mapping[str, Any]) -> Behaviour:
    return Behaviour(
        acts=tuple(Act(**act) for act in data["acts"]),
        columns=tuple(Column(**{**c, "values": tuple(c["values"])}) for c in data["columns"]),
        states=tuple(map(tuple, data["states"])),
        moves=tuple(tuple((act, target) for act, target in row) for row in data["moves"]),
        reason=data["reason"],
    )
