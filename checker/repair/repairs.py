"""What would mend a violation: the least changes of mechanisms under which a property holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import attrs
from attrs import frozen

from rackproof.checker.repair.candidates import Candidates
from rackproof.checker.repair.hitting import Solutions
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.switches import Assignment, Choice
from rackproof.checker.verdicts import Result, Verdict
from rackproof.model.kernel import Scope

MOST: Final = 12
"""Repairs of one violation that are looked for."""

Values = Sequence[Sequence[object]]
"""For each switch, the values that it may take."""


@frozen
class Repair:
    """A change of mechanisms that was explored, and under which some properties are not violated.

    averted: those of them that hold because what they are about can no longer happen. breaks: the
    properties that count and are violated, or no longer reachable, only with the change. uncovers:
    those that do not count and are violated only with it.
    """

    choice: Choice
    averted: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    uncovers: tuple[str, ...] = ()


@frozen
class Repairs:
    """What mends the violations of some properties, all of them at once: every least change.

    whole: whether these are all of that cost; where there is none: whether there is none, whatever
    is chosen. doubt: why not. explored: how many protocols it took, beside those known before.
    """

    names: tuple[str, ...]
    found: tuple[Repair, ...]
    doubt: str | None = None
    explored: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing was left open."""
        return self.doubt is None


def repairs(
    protocols: Protocols,
    names: Sequence[str],
    judged: Collection[str],
    reported: Assignment | None = None,
) -> Repairs:
    """The least repairs of the violations of these properties.

    judged: the properties that count. reported: the protocol of a fix that is known. Changes to
    the reference's values, and to those of the fix, are looked for first, then any; those that
    break nothing else first, then any.
    """
    before = protocols.explorations
    results = protocols.results(protocols.switches.present)
    kept = [
        name
        for name in judged
        if name not in names and results[name].verdict is not Verdict.VIOLATED
    ]
    mending = _Mending(protocols, tuple(names), tuple(judged), results)
    found = Repairs(tuple(names), ())
    for protected in (tuple(kept), ()) if kept else ((),):
        for allowed in (_known(protocols, reported), _all(protocols)):
            if not found.found:
                found = mending.repairs(allowed, protected)
    return attrs.evolve(found, explored=protocols.explorations - before)


def _known(protocols: Protocols, reported: Assignment | None) -> Values:
    """The values that somebody has chosen for good."""
    switches = protocols.switches
    pairs = zip(switches.all, reported or switches.present, strict=True)
    return [tuple(dict.fromkeys((one.present, one.reference, fix))) for one, fix in pairs]


def _all(protocols: Protocols) -> Values:
    return [one.mechanism.values for one in protocols.switches.all]


@frozen
class _Mending:
    """Looking for repairs of ``names``; before: what was found of each property without."""

    protocols: Protocols
    names: tuple[str, ...]
    judged: tuple[str, ...]
    before: Mapping[str, Result]

    def repairs(self, allowed: Values, kept: tuple[str, ...]) -> Repairs:
        """All that cost as little as the first and leave as it is what is to be kept."""
        present = self.protocols.switches.present
        candidates = Candidates(self.protocols.switches, present, allowed)
        solutions = Solutions(self.protocols, candidates, self.names, kept)
        found: list[Repair] = []
        least = None
        for candidate, results in solutions:
            repair = self._repair(candidate, results)
            if least is not None and candidates.cost(candidate) > least:
                break
            if kept and repair.breaks:
                continue
            if len(found) == MOST:
                solutions.doubts.append(f"there are more than {MOST}")
                break
            found.append(repair)
            least = candidates.cost(candidate)
        names = [switch.name for switch in self.protocols.switches.all]
        found.sort(key=lambda one: [names.index(name) for name in one.choice])
        return Repairs(self.names, tuple(found), next(iter(solutions.doubts), None))

    def _repair(self, candidate: Assignment, results: Mapping[str, Result]) -> Repair:
        switches, before = self.protocols.switches, self.before
        worse = [name for name, result in results.items() if _is_worse(before[name], result)]
        return Repair(
            choice=switches.choice(candidate, switches.present),
            averted=tuple(n for n in self.names if results[n].verdict is not Verdict.HOLDS),
            breaks=tuple(name for name in worse if name in self.judged),
            uncovers=tuple(name for name in worse if name not in self.judged),
        )


def _is_worse(before: Result, after: Result) -> bool:
    """Whether a property is violated only now, or what must be reachable no longer is."""
    if after.prop.scope is Scope.SOMETIMES:
        return before.verdict is Verdict.HOLDS and after.verdict is not Verdict.HOLDS
    return Verdict.VIOLATED is after.verdict is not before.verdict
