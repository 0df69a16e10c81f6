"""The caches of engines and the router's index of them, at the start."""

from __future__ import annotations

from rackproof.model.build.part import Part
from rackproof.model.cache import IN_FLIGHT, Cache, Event
from rackproof.model.index import Known
from rackproof.model.rack import Placement
from rackproof.model.scope import Scope
from rackproof.model.sorts import Prefixes


def indexed(scope: Scope, placement: Placement) -> Part:
    """The caches and the index; without prefixes there is nothing to cache."""
    there = bool(scope.prefixes)
    changes, in_flight = there * scope.cache_changes, there * IN_FLIGHT
    restarts = there * sum(scope.faults.get(name, 0) for name in ("engine-restart", "rejoin"))
    no_events = tuple(Event() for _ in range(in_flight))
    return Part(
        fields={
            "prefixes": scope.prefixes,
            "caches": tuple(Cache(kept=no_events, flight=no_events) for _ in placement.instances),
            "known": tuple(Known() for _ in placement.instances),
            "changes_left": changes,
        },
        sizes={
            "changes": changes,
            "numbers": changes + restarts,
            "epochs": restarts,
            "prefix": scope.prefixes,
            "event": in_flight,
        },
        names={Prefixes: tuple(f"{Prefixes}-{i}" for i in range(scope.prefixes))},
    )
