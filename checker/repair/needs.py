"""Which mechanisms a property that holds needs, and which are there for nothing in this scope.

Each mechanism is put the other way alone; without what is needed the property is violated. Then all
the others are at once, and the least sets of them are looked for that are enough, put back, for the
property to hold: the same method as for repairs, from the other end. Two mechanisms that do the
same are interchangeable; what is in none of the sets is redundant. All that is redundant was put
the other way at once; a part of it alone need not do, as a mechanism may ask for another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.repair.candidates import Candidates
from rackproof.checker.repair.hitting import Solutions
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.runs import asked_by
from rackproof.checker.repair.switches import Assignment, Switch
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Verdict
from rackproof.model.kernel import ModelError

MOST: Final = 16
"""Sets that are looked for."""


@frozen
class Needs:
    """What a property that holds needs, of the mechanisms that protect something.

    needed: without which alone it is violated, with the run; each of the others was explored alone,
    too. sets: the least sets that have these and are enough, with all others put the other way at
    once; each was explored, and no part of one that has these is enough. averted: the numbers of
    those sets with which nothing puts the property to the test. interchangeable: what is in some of
    the sets, and not needed. redundant: what the world asks, and is neither. doubt: why there may
    be other sets.
    """

    name: str
    sets: tuple[tuple[str, ...], ...]
    averted: tuple[int, ...]
    needed: Mapping[str, Trace]
    interchangeable: tuple[str, ...]
    redundant: tuple[str, ...]
    doubt: str | None = None
    explored: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing was left open."""
        return self.doubt is None


def needs(protocols: Protocols, name: str) -> Needs:
    """What a property that holds needs."""
    switches, before = protocols.switches, protocols.explorations
    without = _without(protocols)
    asked = [i for i, one in enumerate(switches.all) if without[i] != one.present]
    doubts: list[str] = []
    needed = _needed(protocols, name, asked, without, doubts)
    found = _enough(protocols, name, needed.keys(), without, doubts)
    sets = sorted(found, key=lambda one: (len(one), sorted(one)))
    some = frozenset[int]().union(*sets) - needed.keys()
    return Needs(
        name=name,
        sets=tuple(map(switches.names, sets)),
        averted=tuple(number for number, one in enumerate(sets) if found[one]),
        needed={switches.all[index].name: trace for index, trace in needed.items()},
        interchangeable=switches.names(some),
        redundant=switches.names(set(asked) - some - needed.keys()),
        doubt=next(iter(doubts), None),
        explored=protocols.explorations - before,
    )


def _without(protocols: Protocols) -> Assignment:
    """All that is asked put the other way, and all that is asked only then."""
    switches, asked, size = protocols.switches, set(protocols.asked), -1
    while size != len(asked):
        size = len(asked)
        found = tuple(
            _other_way(one) if i in asked else one.present for i, one in enumerate(switches.all)
        )
        asked |= asked_by(switches, switches.at(found))
    return found


def _other_way(switch: Switch) -> object:
    """How things are without a mechanism; a matter of design stays as it is."""
    return switch.present if switch.mechanism.design else switch.mechanism.off


def _needed(
    protocols: Protocols, name: str, asked: Sequence[int], other: Assignment, doubts: list[str]
) -> dict[int, Trace]:
    """The mechanisms without which alone a property is violated."""
    present, found = protocols.switches.present, dict[int, Trace]()
    for index in asked:
        without = (*present[:index], other[index], *present[index + 1 :])
        if not protocols.violates(name, without):
            doubts += _explored(protocols, name, without)
        trace = protocols.trace(name, without)
        if trace is not None:
            found[index] = trace
    return found


def _explored(protocols: Protocols, name: str, assignment: Assignment) -> Iterator[str]:
    """Explore a protocol; why it could not be told whether a property is violated in it."""
    try:
        result = protocols.results(assignment)[name]
    except ModelError as error:
        yield str(error)
        return
    if result.verdict is Verdict.INCONCLUSIVE:
        yield f"{name}: {result.reason}"


def _enough(
    protocols: Protocols,
    name: str,
    needed: Collection[int],
    without: Assignment,
    doubts: list[str],
) -> dict[frozenset[int], bool]:
    """The least sets of mechanisms that have what is needed, and are enough with all others put the
    other way; and of each whether nothing puts the property to the test.
    """
    switches, found = protocols.switches, dict[frozenset[int], bool]()
    base = tuple(switches.present[i] if i in needed else off for i, off in enumerate(without))
    pairs = zip(base, switches.present, strict=True)
    candidates = Candidates(switches, base, [tuple(dict.fromkeys(values)) for values in pairs])
    solutions = Solutions(protocols, candidates, (name,), untested=True, doubts=doubts)
    for candidate, results in solutions:
        if len(found) == MOST:
            doubts.append(f"there are more than {MOST}")
            break
        changed = frozenset(index for index, _ in candidates.changes(candidate))
        found[changed.union(needed)] = results[name].verdict is not Verdict.HOLDS
    return found
