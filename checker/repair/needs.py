"""Which mechanisms a property that holds needs, and which are there for nothing in this scope.

Each mechanism is put the other way alone; without what is needed the property is violated. Then all
the others are at once, and the least sets of them are looked for that are enough, put back, for the
property to hold: the same method as for repairs, from the other end. Two mechanisms that do the
same are interchangeable; what is in none of the sets is redundant. All that is redundant was put
the other way at once; a part of it alone need not do, as a mechanism may ask for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.repair.candidates import Candidates
from rackproof.checker.repair.hitting import Solutions
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.switches import Assignment, Switch
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import Verdict

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
    without = tuple(_other_way(switch) for switch in switches.all)
    asked = [i for i in sorted(protocols.asked) if without[i] != switches.all[i].present]
    needed = _needed(protocols, name, asked, without)
    base = tuple(switches.present[i] if i in needed else off for i, off in enumerate(without))
    pairs = zip(base, switches.present, strict=True)
    allowed = [tuple(dict.fromkeys(values)) for values in pairs]
    candidates = Candidates(switches, base, allowed)
    solutions = Solutions(protocols, candidates, (name,), untested=True)
    found: list[frozenset[int]] = []
    averted: list[frozenset[int]] = []
    for candidate, results in solutions:
        if len(found) == MOST:
            solutions.doubts.append(f"there are more than {MOST}")
            break
        found.append(frozenset(index for index, _ in candidates.changes(candidate)))
        if results[name].verdict is not Verdict.HOLDS:
            averted.append(found[-1])
    found.sort(key=lambda one: (len(one), sorted(one)))
    some = frozenset[int]().union(*found)
    return Needs(
        name=name,
        sets=tuple(switches.names(one | needed.keys()) for one in found),
        averted=tuple(number for number, one in enumerate(found) if one in averted),
        needed={switches.all[index].name: trace for index, trace in needed.items()},
        interchangeable=switches.names(some),
        redundant=switches.names(set(asked) - some - needed.keys()),
        doubt=next(iter(solutions.doubts), None),
        explored=protocols.explorations - before,
    )


def _other_way(switch: Switch) -> object:
    """How things are without a mechanism; a matter of design stays as it is."""
    return switch.present if switch.mechanism.design else switch.mechanism.off


def _needed(
    protocols: Protocols, name: str, asked: Sequence[int], other: Assignment
) -> dict[int, Trace]:
    """The mechanisms without which alone a property is violated."""
    present, found = protocols.switches.present, dict[int, Trace]()
    for index in asked:
        without = (*present[:index], other[index], *present[index + 1 :])
        if not protocols.violates(name, without):
            protocols.results(without)
        trace = protocols.trace(name, without)
        if trace is not None:
            found[index] = trace
    return found
