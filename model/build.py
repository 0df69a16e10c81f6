"""From a protocol, a scope and a placement on a rack to a ``System``."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from rackproof.model import endpoint, kv, request, retry, stream
from rackproof.model.endpoint import Endpoint, Role
from rackproof.model.kernel import Bundle, Identifiers, Property, System, Transition
from rackproof.model.kv import Block, Load, Loads
from rackproof.model.protocol import Protocol
from rackproof.model.request import Request
from rackproof.model.retry import Retry
from rackproof.model.scope import Scope
from rackproof.model.sorts import (
    Blocks,
    Clients,
    Keys,
    Requests,
    Segments,
    Spaces,
    Trays,
    Workers,
)
from rackproof.model.store import gets, loss, puts, room
from rackproof.model.store.records import Entry, Object, Reader, Segment, Space
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
    for machine in (request, retry, stream, kv, endpoint, gets, puts, room, loss)
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
            **_store_names(scope),
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


def _store_names(scope: Scope) -> dict[Identifiers, tuple[str, ...]]:
    client, several = "rank" if scope.ranks else "client", scope.segments > 1
    return {
        Keys: tuple(f"key-{i}" for i in range(len(_objects(scope)))),
        Clients: tuple(f"{client}-{i}" for i in range(scope.clients)),
        Segments: tuple(f"segment-{i}" for i in range(_segments(scope))),
        Spaces: tuple(
            f"space-{i % scope.spaces}" + (f"@segment-{segment}" if several else "")
            for i, segment in enumerate(_lenders(scope))
        ),
    }


def _segments(scope: Scope) -> int:
    """How many segments there are: none without a store."""
    return scope.segments if scope.clients else 0


def _lenders(scope: Scope) -> tuple[int, ...]:
    """The segment that each space is in."""
    return tuple(segment for segment in range(_segments(scope)) for _ in range(scope.spaces))


def _objects(scope: Scope) -> tuple[Object, ...]:
    """What the master has at the start."""
    there = [Object(entry=Entry.COMPLETE, space=i, put=1, oldest=1) for i in range(scope.stored)]
    absent = [Object() for _ in range(scope.keys - scope.stored)]
    return (*there, *absent) if scope.clients else ()


def _spaces(scope: Scope) -> tuple[Space, ...]:
    """What lies in the store at the start."""
    there = [Space(owner=i, put=1, content=i, written=1, whole=True) for i in range(scope.stored)]
    empty = [Space() for _ in range(len(_lenders(scope)) - scope.stored)]
    return (*there, *empty) if scope.clients else ()


def _initial(protocol: Protocol, scope: Scope, placement: Placement, homes: Sequence[int]) -> World:
    each_request = range(scope.requests)
    each_attempt = range(scope.retry_limit + 1)
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
        gets=scope.gets,
        ranks=scope.ranks,
        hot_copies=scope.hot_copies,
        disk=scope.disk,
        lenders=_lenders(scope),
        objects=_objects(scope),
        spaces=_spaces(scope),
        segments=tuple(Segment() for _ in range(_segments(scope))),
        readers=tuple(Reader() for _ in range(scope.clients)),
        requests=tuple(shape for _ in each_request),
        streams=tuple(
            Stream(attempts=tuple(Attempt() for _ in each_attempt)) for _ in each_request
        ),
        loads=tuple(Loads(attempts=tuple(Load() for _ in each_attempt)) for _ in each_request),
        retries=tuple(Retry() for _ in each_request),
        endpoints=tuple(Endpoint() for _ in placement.instances),
        blocks=tuple(Block() for _ in homes),
        budget=scope.budget,
    )


def _sizes(scope: Scope, placement: Placement) -> dict[str, int]:
    return {
        "most": max(scope.tokens, scope.max_tokens or 0) + 1,
        "handles": scope.handles,
        "dispatches": scope.retry_limit + 2,
        "faults": max([1, *scope.faults.values()]),
        "tray": len(placement.trays),
        "request": scope.requests,
        "attempt": scope.retry_limit + 1,
        "block": len(_homes(scope, placement)),
        "puts": scope.clients * scope.gets * scope.segments + 2,
        "pins": 2 * max(scope.clients * scope.gets, 1),
        "epochs": max(sum(scope.faults.get(f"segment-{f}", 0) for f in ("return", "silence")), 1),
        "gets": scope.gets,
    }


def _interchangeable(
    scope: Scope, placement: Placement, homes: Sequence[int]
) -> tuple[tuple[Bundle, ...], ...]:
    """The rack's own symmetry, with the blocks on its workers; and requests, all alike."""
    requests = tuple(((Requests, i),) for i in range(scope.requests))
    classes = [tuple(_bundle(names, homes) for names in group) for group in placement.bundles]
    return (requests, *classes, *_in_store(scope))


def _in_store(scope: Scope) -> tuple[tuple[Bundle, ...], ...]:
    """What is alike in the store: clients, keys that are not there yet, segments that are empty."""
    clients = tuple(((Clients, i),) for i in range(scope.clients))
    if not scope.clients:
        return ()
    keys = tuple(((Keys, i),) for i in range(scope.stored, scope.keys))
    lenders, first = _lenders(scope), -(-scope.stored // scope.spaces)
    segments = tuple(
        ((Segments, i), *((Spaces, space) for space, lender in enumerate(lenders) if lender == i))
        for i in range(first, scope.segments)
    )
    return (clients, keys, segments)


def _bundle(names: Sequence[tuple[str, int]], homes: Sequence[int]) -> Bundle:
    """What the rack exchanges together, and the blocks of its workers."""
    lanes = [(_SORTS[name], index) for name, index in names]
    workers = [index for sort, index in lanes if sort == Workers]
    blocks = [(Blocks, i) for worker in workers for i, home in enumerate(homes) if home == worker]
    return (*lanes, *blocks)
