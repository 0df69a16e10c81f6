"""The small worlds in which parts of a stream of events are explained: a worker and its router."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import define, evolve, field

from rackproof.model.kernel import Observation, Place, System
from rackproof.model.kernel.evidence import Case
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

WORKER: Final = "worker-0"
"""The name of the one worker, in the worlds."""
MOST_EVENTS: Final = 6
"""No part has more events; numbers and changes are bounded by it."""


@define(eq=False)
class Worlds:
    """The worlds of one stack, each made once.

    base: the stack, with mechanisms of its own.
    """

    base: Bundled
    made: dict[object, System] = field(factory=dict)

    def world(
        self, prefixes: int, held: int = 0, due: int = 0, faults: tuple[str, ...] = ()
    ) -> System:
        """The world of so many blocks, each the parent of the next; at the start the cache and the
        index have so many of them, and the next event has this number.
        """
        key = (prefixes, held, due, faults)
        if key not in self.made:
            system = self._built(prefixes, faults)
            world, there = system.initial, frozenset(range(held))
            world = world.with_cache(0, holds=there, next=due)
            world = world.with_known(0, believed=there, due=due)
            self.made[key] = evolve(system, initial=world)
        return self.made[key]

    def _built(self, prefixes: int, faults: tuple[str, ...]) -> System:
        scope = {"requests": 0, "prefixes": prefixes, "cache-changes": MOST_EVENTS}
        budgets = dict.fromkeys(faults, 1)
        bundled = evolve(self.base, rack={"aggregated": 1}, scope=scope, faults=budgets)
        return bundled_setting(bundled, Path()).system


def observed(kind: str, place: Place, time: float | None, **values: int | str) -> Observation:
    """What the log of the one worker says."""
    return Observation(WORKER, kind, values, place=place, time=time)


def complete(*kinds: str) -> frozenset[tuple[str, str]]:
    """These kinds, of the one worker: every such record is there."""
    return frozenset((WORKER, kind) for kind in kinds)


def case(
    name: str,
    system: System,
    log: tuple[Observation, ...],
    kinds: frozenset[tuple[str, str]],
    called: Mapping[str, str],
    missing: tuple[str, ...] = (),
    ended: bool = False,
) -> Case:
    """A case of one log."""
    return Case(name, system, (log,), kinds, called, missing, ended)
