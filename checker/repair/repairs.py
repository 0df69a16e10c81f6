"""What would mend a violation: the least changes of mechanisms under which a property holds.

The method is that of implicit hitting sets. Each counterexample rules out every protocol in which
it is one (``runs``); the cheapest protocol that none rules out (``candidates``) is explored; it is
a repair, or it has a counterexample, which rules out more. So each repair was explored, and no part
of it is a repair: each part has a known counterexample.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.repair.candidates import Candidates
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.switches import Assignment, Choice
from rackproof.checker.verdicts import Result, Verdict
from rackproof.model.kernel import ModelError, Scope

MOST: Final = 12
"""Repairs of one violation that are looked for."""
MOST_EXPLORED: Final = 100
"""Protocols that are explored for one violation before it is given up."""


@frozen
class Repair:
    """A change of mechanisms that was explored, and under which the properties are not violated.

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
    """What mends the violations of some properties, all of them at once, least changes first.

    whole: whether these are all repairs of that cost; where there is none: whether there is none in
    this world, whatever is chosen. reason: why not, otherwise. explored: how many protocols were
    for it, beside those explored before.
    """

    names: tuple[str, ...]
    found: tuple[Repair, ...]
    whole: bool
    reason: str | None = None
    explored: int = 0


def repairs(protocols: Protocols, names: Sequence[str], judged: Collection[str]) -> Repairs:
    """The least repairs of the violations of these properties.

    judged: the properties that count. Changes to the reference's values are looked for first, then
    any; those that break nothing else first, then any.
    """
    before = protocols.explorations
    present = protocols.switches.present
    held = protocols.held(present, [name for name in judged if name not in names])
    found = Repairs(tuple(names), (), whole=True)
    for kept in (held, []) if held else ([],):
        for allowed in (_reference(protocols), _all(protocols)):
            found = _Mending(protocols, tuple(names), tuple(kept), tuple(judged)).repairs(allowed)
            if found.found or not found.whole:
                break
        if found.found:
            break
    told = tuple(sorted(found.found, key=lambda one: (bool(one.breaks), list(one.choice))))
    return Repairs(found.names, told, found.whole, found.reason, protocols.explorations - before)


def _reference(protocols: Protocols) -> list[tuple[object, ...]]:
    return [
        tuple(dict.fromkeys((one.present, one.reference))) for one in protocols.switches.all
    ]


def _all(protocols: Protocols) -> list[tuple[object, ...]]:
    return [one.mechanism.values for one in protocols.switches.all]


@frozen
class _Mending:
    """A search for repairs of ``names`` that leave ``kept`` as they are."""

    protocols: Protocols
    names: tuple[str, ...]
    kept: tuple[str, ...]
    judged: tuple[str, ...]

    def repairs(self, allowed: Sequence[Sequence[object]]) -> Repairs:
        """All that cost as little as the first, with these values of mechanisms allowed."""
        present = self.protocols.switches.present
        candidates = Candidates(self.protocols.switches, present, allowed)
        found: list[Repair] = []
        reasons: list[str] = []
        least = None
        for candidate in self._offered(candidates):
            if least is not None and candidates.cost(candidate) > least:
                return Repairs(self.names, tuple(found), not reasons, _first(reasons))
            repair = self._explored(candidate, reasons)
            if repair is not None:
                found.append(repair)
                least = candidates.cost(candidate)
            if len(found) == MOST:
                reasons.append(f"the first {MOST} are told")
                break
        return Repairs(self.names, tuple(found), not reasons, _first(reasons))

    def _offered(self, candidates: Candidates) -> Iterator[Assignment]:
        """The cheapest choice again and again, with what was learnt from those before."""
        limit = self.protocols.explorations + MOST_EXPLORED
        while self.protocols.explorations < limit:
            required = (*self.names, *self.kept)
            known = self.protocols.conflicts
            candidates.conflicts = [one for name in required for one in known(name)]
            candidate = candidates.cheapest()
            if candidate is None:
                return
            if any([self.protocols.violates(name, candidate) for name in required]):
                continue
            yield candidate
            if not any(self.protocols.violates(name, candidate) for name in required):
                candidates.excluded.append(candidates.changes(candidate))

    def _explored(self, candidate: Assignment, reasons: list[str]) -> Repair | None:
        """The repair that a choice is, if it is one."""
        try:
            results = self.protocols.results(candidate, self.names)
        except ModelError as error:
            reasons.append(str(error))
            return None
        asked = [results[name] for name in (*self.names, *self.kept)]
        if any(result.verdict is Verdict.VIOLATED for result in asked):
            return None
        undecided = [r for r in asked[: len(self.names)] if not r.is_averted]
        if undecided:
            reasons.append(f"{undecided[0].prop.name}: {undecided[0].reason}")
            return None
        repair = self._repair(candidate, results)
        return None if self.kept and repair.breaks else repair

    def _repair(self, candidate: Assignment, results: Mapping[str, Result]) -> Repair:
        switches = self.protocols.switches
        before = self.protocols.results(switches.present)
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


def _first(reasons: Sequence[str]) -> str | None:
    return reasons[0] if reasons else None
