"""From a protocol, a scope and a placement on a rack to a ``System``."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from rackproof.model import cache, endpoint, index, kv, request, retry, stream
from rackproof.model.cache import IN_FLIGHT, Cache, Event
from rackproof.model.endpoint import Endpoint, Role
from rackproof.model.index import Known
from rackproof.model.kernel import Bundle, Property, System, Transition
from rackproof.model.kv import Block, Load, Loads
from rackproof.model.protocol import Protocol
from rackproof.model.request import Request
from rackproof.model.retry import Retry
from rackproof.model.scope import Scope
from rackproof.model.sorts import Blocks, Requests, Trays, Workers
from rackproof.model.stream import Attempt, Stream
from rackproof.model.world import World

if TYPE_CHECKING:
    from rackproof.model.rack import Placement

_SORTS: Final = {sort.name: sort for sort in (Trays, Workers)}


def _transitions(module: ModuleType) -> list[Transition[..., Any]]:
    """The transitions that a machine's file defines, in the order it does."""
    found = [value for value in vars(module).values() if isinstance(value, Transition)]
    return [item for item in found if item.function.__module__ == module.__name__]


TRANSITIONS: Final = tuple(
    transition
    for machine in (request, retry, stream, kv, endpoint, cache, index)
    for transition in _transitions(machine)
)
"""Every transition of the world, machine by machine."""


def build(
    protocol: Protocol,
    scope: Scope,
    placement: Placement,
    properties: Sequence[Property],
    name: str = "world",
) -> System:
    """Return the world in which this protocol serves this scope on these instances."""
    homes = _homes(scope, placement)
    return System(
        name=name,
        initial=_initial(protocol, scope, placement, homes),
        transitions=TRANSITIONS,
        properties=tuple(properties),
        sizes=_sizes(scope, placement),
        names={
            Requests: tuple(f"request-{i}" for i in range(scope.requests)),
            Workers: tuple(instance.name for instance in placement.instances),
            Trays: placement.trays,
            Blocks: _block_names(placement, homes),
        },
        interchangeable=_interchangeable(scope, placement, homes),
    )


def _homes(scope: Scope, placement: Placement) -> tuple[int, ...]:
    """The worker that each block is on; aggregated workers move no KV and need none."""
    return tuple(
        worker
        for worker, instance in enumerate(placement.instances)
        for _ in range(scope.blocks_per_worker)
        if Role(instance.role) is not Role.AGGREGATED
    )


def _block_names(placement: Placement, homes: Sequence[int]) -> tuple[str, ...]:
    return tuple(
        f"block-{homes[:i].count(home)}@{placement.instances[home].name}"
        for i, home in enumerate(homes)
    )


def _initial(protocol: Protocol, scope: Scope, placement: Placement, homes: Sequence[int]) -> World:
    each_request = range(scope.requests)
    each_attempt = range(scope.retry_limit + 1)
    no_events = tuple(Event() for _ in range(_in_flight(scope)))
    shape = Request(guided=scope.guided, short=scope.short, withholds=scope.withholds)
    return World(
        protocol=protocol,
        tokens=scope.tokens,
        max_tokens=scope.max_tokens or scope.tokens,
        most_dispatches=scope.retry_limit + 1,
        handles=scope.handles,
        given=scope.budget,
        roles=tuple(Role(instance.role) for instance in placement.instances),
        trays=tuple(instance.tray for instance in placement.instances),
        homes=tuple(homes),
        prefixes=scope.prefixes,
        requests=tuple(shape for _ in each_request),
        streams=tuple(
            Stream(attempts=tuple(Attempt() for _ in each_attempt)) for _ in each_request
        ),
        loads=tuple(Loads(attempts=tuple(Load() for _ in each_attempt)) for _ in each_request),
        retries=tuple(Retry() for _ in each_request),
        endpoints=tuple(Endpoint() for _ in placement.instances),
        blocks=tuple(Block() for _ in homes),
        caches=tuple(Cache(kept=no_events, flight=no_events) for _ in placement.instances),
        known=tuple(Known() for _ in placement.instances),
        changes_left=_changes(scope),
        budget=scope.budget,
    )


def _in_flight(scope: Scope) -> int:
    return IN_FLIGHT if scope.prefixes else 0


def _changes(scope: Scope) -> int:
    return scope.cache_changes if scope.prefixes else 0


def _restarts(scope: Scope) -> int:
    """How often an engine may start again."""
    counts = [scope.faults.get(name, 0) for name in ("engine-restart", "rejoin")]
    return sum(counts) if scope.prefixes else 0


def _sizes(scope: Scope, placement: Placement) -> dict[str, int]:
    return {
        "most": max(scope.tokens, scope.max_tokens or 0) + 1,
        "handles": scope.handles,
        "dispatches": scope.retry_limit + 2,
        "faults": max([1, *scope.faults.values()]),
        "changes": _changes(scope),
        "numbers": _changes(scope) + _restarts(scope),
        "epochs": _restarts(scope),
        "prefix": scope.prefixes,
        "event": _in_flight(scope),
        "tray": len(placement.trays),
        "request": scope.requests,
        "attempt": scope.retry_limit + 1,
        "block": len(_homes(scope, placement)),
    }


def _interchangeable(
    scope: Scope, placement: Placement, homes: Sequence[int]
) -> tuple[tuple[Bundle, ...], ...]:
    """The rack's own symmetry, with the blocks on its workers; and requests, all alike."""
    requests = tuple(((Requests, i),) for i in range(scope.requests))
    classes = [tuple(_bundle(names, homes) for names in group) for group in placement.bundles]
    return (requests, *classes)


def _bundle(names: Sequence[tuple[str, int]], homes: Sequence[int]) -> Bundle:
    """What the rack exchanges together, and the blocks of its workers."""
    lanes = [(_SORTS[name], index) for name, index in names]
    workers = [index for sort, index in lanes if sort == Workers]
    blocks = [(Blocks, i) for worker in workers for i, home in enumerate(homes) if home == worker]
    return (*lanes, *blocks)
