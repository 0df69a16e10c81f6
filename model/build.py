"""From a protocol, a scope and a placement on a rack to a ``System``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from rackproof.model import (
    cache,
    discovery,
    endpoint,
    index,
    kv,
    marks,
    peers,
    request,
    retry,
    rooms,
    stream,
    transfer,
)
from rackproof.model.cache import IN_FLIGHT, Cache, Event
from rackproof.model.endpoint import Endpoint, Role
from rackproof.model.index import Known
from rackproof.model.kernel import Bundle, Identifiers, ModelError, Property, System, Transition
from rackproof.model.kv import Block, Load, Loads
from rackproof.model.peers import Link, Peer
from rackproof.model.protocol import Protocol
from rackproof.model.request import Request
from rackproof.model.retry import Retry
from rackproof.model.rooms import Room
from rackproof.model.scope import Scope
from rackproof.model.sorts import (
    Blocks,
    Clients,
    Keys,
    Links,
    Peers,
    Requests,
    Rooms,
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


MACHINES: Final = (
    request,
    retry,
    stream,
    kv,
    transfer,
    endpoint,
    discovery,
    marks,
    peers,
    rooms,
    cache,
    index,
    gets,
    puts,
    room,
    loss,
)
"""The files of the machines, in the order in which their transitions are told."""

TRANSITIONS: Final = tuple(
    transition for machine in MACHINES for transition in _transitions(machine)
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
            Peers: _peer_names(scope, placement),
            Links: tuple(_link_names(scope, placement)),
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


def _pairs(scope: Scope, placement: Placement) -> tuple[tuple[int, int], ...]:
    """The reader and the owner of each link: decode workers read from prefill workers."""
    roles = [Role(instance.role) for instance in placement.instances]
    readers = [worker for worker, role in enumerate(roles) if role is Role.DECODE]
    owners = [worker for worker, role in enumerate(roles) if role is Role.PREFILL]
    pairs = [(reader, serving) for serving in owners for reader in readers]
    if scope.links > len(pairs):
        raise ModelError(
            f"links join a decode and a prefill worker: {len(pairs)} at most, not {scope.links}"
        )
    return tuple(pairs[: scope.links])


def _peer_names(scope: Scope, placement: Placement) -> tuple[str, ...]:
    return tuple(instance.name for instance in placement.instances) if scope.links else ()


def _link_names(scope: Scope, placement: Placement) -> Iterator[str]:
    names = [instance.name for instance in placement.instances]
    for reader, serving in _pairs(scope, placement):
        yield f"{names[reader]}->{names[serving]}"


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
    each_attempt = range(scope.most_dispatches)
    pairs = _pairs(scope, placement)
    no_events = tuple(Event() for _ in range(_in_flight(scope)))
    shape = Request(guided=scope.guided, short=scope.short, withholds=scope.withholds)
    return World(
        protocol=protocol,
        tokens=scope.tokens,
        max_tokens=scope.max_tokens or scope.tokens,
        a_round=scope.retry_limit + 1,
        gateway_retries=scope.gateway_retries,
        client_retries=scope.client_retries,
        most_dispatches=scope.most_dispatches,
        handles=scope.handles,
        sessions=scope.sessions,
        given=scope.budget,
        roles=tuple(Role(instance.role) for instance in placement.instances),
        trays=tuple(instance.tray for instance in placement.instances),
        homes=tuple(homes),
        link_readers=tuple(reader for reader, _ in pairs),
        link_owners=tuple(serving for _, serving in pairs),
        layouts_differ=scope.mixed_layouts,
        prefixes=scope.prefixes,
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
        peers=tuple(Peer(generation=0, weights=0, cached=0) for _ in _peer_names(scope, placement)),
        links=tuple(Link() for _ in pairs),
        rooms=tuple(Room() for _ in range(scope.rooms)),
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


def _remounts(scope: Scope) -> int:
    """How often a segment of the store may be mounted anew."""
    counts = [scope.faults.get(f"segment-{fault}", 0) for fault in ("return", "silence")]
    return max(sum(counts), 1)


def _sizes(scope: Scope, placement: Placement) -> dict[str, int]:
    return {
        "most": max(scope.tokens, scope.max_tokens or 0) + 1,
        "handles": scope.handles,
        "dispatches": scope.most_dispatches + 1,
        "round": scope.retry_limit + 2,
        "gateway_rounds": scope.gateway_retries,
        "client_rounds": scope.client_retries,
        "faults": max([1, *scope.faults.values()]),
        "changes": _changes(scope),
        "numbers": _changes(scope) + _restarts(scope),
        "epochs": _restarts(scope),
        "prefix": scope.prefixes,
        "event": _in_flight(scope),
        "tray": len(placement.trays),
        "request": scope.requests,
        "attempt": scope.most_dispatches,
        "block": len(_homes(scope, placement)),
        "generation": scope.faults.get("peer-crash", 0) + 1,
        "version": scope.faults.get("weight-update", 0) + 1,
        "puts": scope.clients * scope.gets * scope.segments + 2,
        "pins": 2 * max(scope.clients * scope.gets, 1),
        "segment_epochs": max(
            sum(scope.faults.get(f"segment-{f}", 0) for f in ("return", "silence")), 1
        ),
        "gets": scope.gets,
    }


def _interchangeable(
    scope: Scope, placement: Placement, homes: Sequence[int]
) -> tuple[tuple[Bundle, ...], ...]:
    """The rack's own symmetry, with the blocks on its workers; and requests, all alike."""
    requests = tuple(((Requests, i),) for i in range(scope.requests))
    classes = [tuple(_bundle(names, homes) for names in group) for group in placement.bundles]
    return (requests, *classes, *_links(scope, placement), *_in_store(scope))


def _links(scope: Scope, placement: Placement) -> tuple[tuple[Bundle, ...], ...]:
    """Rooms, all alike; and the links to one worker, with those who have no other link."""
    rooms = tuple(((Rooms, i),) for i in range(scope.rooms))
    found: dict[int, list[Bundle]] = {}
    pairs = _pairs(scope, placement)
    readers = [reader for reader, _ in pairs]
    for link, (reader, serving) in enumerate(pairs):
        if readers.count(reader) == 1:
            found.setdefault(serving, []).append(((Peers, reader), (Links, link)))
    return (rooms, *(tuple(bundles) for bundles in found.values()))


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
