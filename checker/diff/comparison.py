"""Two sides held against each other: as they are written, in what they do, what holds, what it
costs. The first is ``mine``, the second ``theirs``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.checker.diff.gained import Both, Gained, gained
from rackproof.checker.diff.side import Costs, Judged, Rule, Side
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.status import Status

SCOPES: Final = ("rack", "scope", "faults", "sizes")
"""The parts of what is written that say how much is explored."""
HELD: Final = ("holds", "proved")
OPEN: Final = "inconclusive"
NOTHING: Final = Both()


@frozen
class Changed:
    """Something that is written, with what it is on either side; None where it is not there."""

    part: str
    key: str
    mine: str | None
    theirs: str | None


@frozen
class Verdicts:
    """What is known of a property on either side; None where it is not asked there."""

    name: str
    mine: Judged | None
    theirs: Judged | None

    @property
    def is_worse(self) -> bool:
        """Whether it is violated and was not, or is open and held."""
        before = self.mine.verdict if self.mine else None
        after = self.theirs.verdict if self.theirs else None
        newly = after == "violated" and before != "violated"
        return newly or (before in HELD and after == OPEN)

    @property
    def is_better(self) -> bool:
        """Whether it holds and was violated or open."""
        if self.mine is None or self.theirs is None:
            return False
        return self.mine.verdict in ("violated", OPEN) and self.theirs.verdict in HELD

    @property
    def is_open(self) -> bool:
        """Whether there is a side of which the verdict could not be told."""
        return OPEN in [judged.verdict for judged in (self.mine, self.theirs) if judged]

    @property
    def differs(self) -> bool:
        """Whether the verdict is another, or the counterexample of another size."""
        told = [j and (j.verdict, j.words) for j in (self.mine, self.theirs)]
        return told[0] != told[1]


@frozen(slots=False)
class Comparison:
    """Two sides in one scope each."""

    mine: Side
    theirs: Side

    @property
    def case(self) -> str:
        """Which case or exam this is of."""
        one, other = self.mine.case, self.theirs.case
        return one if one == other else f"{one} / {other}"

    @property
    def is_of_verdicts(self) -> bool:
        """Whether of one of them nothing but verdicts is known."""
        return self.mine.behaviour is None or self.theirs.behaviour is None

    @property
    def has_something_in_common(self) -> bool:
        """Whether there is a field or a property of the same name."""
        pairs = (
            (self.mine.fields, self.theirs.fields),
            (self.mine.properties, self.theirs.properties),
        )
        return any(one.keys() & other.keys() for one, other in pairs)

    @cached_property
    def written(self) -> tuple[Changed, ...]:
        """What differs as it is written; fields and identifiers too, where the worlds are users'
        own.
        """
        if self.is_of_verdicts:
            return ()
        mine, theirs = dict(self.mine.written), dict(self.theirs.written)
        if self.mine.is_own or self.theirs.is_own:
            mine["fields"], theirs["fields"] = self.mine.fields, self.theirs.fields
            mine["identifiers"], theirs["identifiers"] = map(_names, (self.mine, self.theirs))
            shared = mine["fields"].keys() & theirs["fields"].keys()
            for parts in (mine, theirs):
                start = parts.get("initial state", {})
                parts["initial state"] = {key: start[key] for key in start if key in shared}
        return tuple(
            Changed(part, key, mine.get(part, {}).get(key), theirs.get(part, {}).get(key))
            for part in dict.fromkeys([*mine, *theirs])
            for key in dict.fromkeys([*mine.get(part, {}), *theirs.get(part, {})])
            if mine.get(part, {}).get(key) != theirs.get(part, {}).get(key)
        )

    @property
    def scopes(self) -> tuple[Changed, ...]:
        """What of that says how much is explored."""
        return tuple(changed for changed in self.written if changed.part in SCOPES)

    @property
    def is_of_one_form(self) -> bool:
        """Whether both are lowered to the same, and so have the same states and verdicts."""
        return self.mine.form == self.theirs.form

    @property
    def rules(self) -> Both:
        """The transitions that only one has."""
        if self.is_of_verdicts:
            return Both()
        mine, theirs = self.mine.rules, self.theirs.rules
        return Both(
            tuple(name for name in mine if name not in theirs),
            tuple(name for name in theirs if name not in mine),
        )

    @cached_property
    def changed(self) -> dict[str, tuple[str, ...]]:
        """By transition that both have, what is written otherwise, in words."""
        mine, theirs = self.mine.rules, self.theirs.rules
        shared = [name for name in mine if name in theirs]
        found = {name: tuple(_changes(mine[name], theirs[name])) for name in shared}
        return {name: told for name, told in found.items() if told}

    @cached_property
    def gained(self) -> Gained | None:
        """How the behaviours differ; None where they are the same by their form, or not known."""
        mine, theirs = self.mine.behaviour, self.theirs.behaviour
        if mine is None or theirs is None or self.is_of_one_form:
            return None
        return gained(mine, theirs)

    @cached_property
    def verdicts(self) -> tuple[Verdicts, ...]:
        """Each property, in the order of the first side."""
        mine, theirs = self.mine.properties, self.theirs.properties
        return tuple(
            Verdicts(name, mine.get(name), theirs.get(name))
            for name in dict.fromkeys([*mine, *theirs])
            if not self.is_of_verdicts or (name in mine and name in theirs)
        )

    @property
    def asked_otherwise(self) -> tuple[tuple[str, str], ...]:
        """The properties of one name that do not ask the same, and how they differ."""
        return tuple(
            (each.name, told)
            for each in self.verdicts
            if each.mine and each.theirs and (told := self._asks(each.mine, each.theirs))
        )

    def _asks(self, mine: Judged, theirs: Judged) -> str | None:
        if self.is_of_verdicts:
            return None
        if mine.scope != theirs.scope:
            return f"asked {mine.scope} -> {theirs.scope}"
        if mine.statement != theirs.statement:
            return f"{mine.statement} -> {theirs.statement}"
        is_own = self.mine.is_own or self.theirs.is_own
        return "asks something else of a state" if is_own and mine.form != theirs.form else None

    @cached_property
    def costs(self) -> tuple[Changed, ...]:
        """What the paths take, where that differs and is known of both."""
        mine, theirs = self.mine.costs, self.theirs.costs
        if mine is None or theirs is None:
            return ()
        worst = [Changed("all paths", "worst stall", mine.stall, theirs.stall)]
        return tuple(c for c in [*worst, *_paths(mine, theirs)] if c.mine != c.theirs)

    @property
    def differs(self) -> bool:
        """Whether anything was found to differ."""
        parts = (self.written, self.rules, self.changed, self.costs, self.asked_otherwise)
        told = any(each.differs for each in self.verdicts)
        return any(parts) or told or (self.gained is not None and self.gained.differs)

    @property
    def status(self) -> Status:
        """Whether anything got worse, or whether that could not be told."""
        if any(each.is_worse for each in self.verdicts):
            return Status.VIOLATED
        is_open = any(each.is_open for each in self.verdicts)
        return Status.INCONCLUSIVE if is_open else Status.OK


@frozen
class Difference:
    """Two targets in all the scopes that they are compared in.

    of: how many scopes there are to compare in, where an interrupt may have left some out.
    mine, theirs: as they were asked for; alone: the cases or exams that only one has. is_same: that
    they are one and the same target, so that nothing was looked at.
    """

    mine: str
    theirs: str
    comparisons: tuple[Comparison, ...]
    footing: Footing
    alone: Both = NOTHING
    is_same: bool = False
    of: int = 0

    @property
    def is_cut(self) -> bool:
        """Whether some scopes were left out."""
        return self.of > len(self.comparisons)

    @property
    def status(self) -> Status:
        """The gravest of all scopes: worse, then what could not be told."""
        found = {comparison.status for comparison in self.comparisons}
        order = (Status.VIOLATED, Status.INCONCLUSIVE)
        return next((status for status in order if status in found), Status.OK)

    @property
    def differs(self) -> bool:
        """Whether anything was found to differ."""
        return bool(self.alone) or any(each.differs for each in self.comparisons)


def _names(side: Side) -> Mapping[str, str]:
    return {sort: ", ".join(names) for sort, names in side.sorts.items()}


def _changes(mine: Rule, theirs: Rule) -> Iterator[str]:
    """What is written otherwise in a transition."""
    for name in ("kind", "fairness", "duration", "parameters"):
        one, other = getattr(mine, name), getattr(theirs, name)
        if one != other:
            yield f"{name}: {_told(one)} -> {_told(other)}"
    if bool(mine.forms) != bool(theirs.forms):
        which = "A" if mine.forms else "B"
        yield f"possible in {which} only, by the values that its fields take"
        return
    told = [*_guards(mine, theirs), *_writes(mine, theirs)]
    shared = mine.forms.keys() & theirs.forms.keys()
    if not told and any(mine.forms[label] != theirs.forms[label] for label in shared):
        told = ["tests or writes something else, with the same needs"]
    yield from told


def _told(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value or "none")


def _guards(mine: Rule, theirs: Rule) -> Iterator[str]:
    """The tests that only one of them needs on every way to take effect."""
    needs = [test for test in theirs.needs if test not in mine.needs]
    needed = [test for test in mine.needs if test not in theirs.needs]
    if needs:
        yield f"now also needs {' and '.join(needs)}"
    if needed:
        yield f"no longer needs {' and '.join(needed)}"


def _writes(mine: Rule, theirs: Rule) -> Iterator[str]:
    more = [family for family in theirs.writes if family not in mine.writes]
    less = [family for family in mine.writes if family not in theirs.writes]
    if more:
        yield f"now also writes {', '.join(more)}"
    if less:
        yield f"no longer writes {', '.join(less)}"


def _paths(mine: Costs, theirs: Costs) -> Iterator[Changed]:
    """The classes of paths column by column; of one that only one has, that it has it."""
    for name in dict.fromkeys([*mine.paths, *theirs.paths]):
        one, other = mine.paths.get(name), theirs.paths.get(name)
        if one is None or other is None:
            totals = [None if costs is None else costs["total"] for costs in (one, other)]
            yield Changed(name, "total", *totals)
            continue
        for column, value in one.items():
            yield Changed(name, column, value, other[column])


def on_both(comparison: Comparison, verdict: str) -> list[str]:
    """The properties that have a verdict on both sides."""
    return [
        each.name
        for each in comparison.verdicts
        if each.mine and each.theirs and each.mine.verdict == each.theirs.verdict == verdict
    ]


def worsened(comparisons: Sequence[Comparison]) -> Iterator[tuple[Comparison, Verdicts]]:
    """What got worse, scope by scope."""
    for comparison in comparisons:
        for each in comparison.verdicts:
            if each.is_worse:
                yield comparison, each
