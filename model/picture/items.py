"""What is kept of requests, caches, objects and links, which a fault may lose.

They are looked up like properties: on plain states, and lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rackproof.model.cache import NOBODY
from rackproof.model.endpoint import Process, Role
from rackproof.model.kernel import Item
from rackproof.model.kv import Hold, Load
from rackproof.model.logic import some
from rackproof.model.peers import Connection, broken, peer_of
from rackproof.model.rack import Placement
from rackproof.model.request import Phase
from rackproof.model.rooms import Guest
from rackproof.model.scope import Scope
from rackproof.model.sorts import Clients, Keys, Links, Requests, Rooms, Workers
from rackproof.model.store.records import Entry
from rackproof.model.stream import Attempt, Stage
from rackproof.model.world import World

Test = Callable[[World, int, Attempt, Load], bool]


def items(scope: Scope, placement: Placement) -> tuple[Item, ...]:
    """The items of a scope."""
    roles = {instance.role for instance in placement.instances}
    found: list[Item] = []
    if scope.requests:
        found += [*_of_requests(scope), *_of_kv(roles)]
    if scope.prefixes:
        cached, lives = "the prefixes that an engine has cached", min(roles)
        found += [Item("cached prefixes", cached, lives, Workers, _cached), INDEXED]
    if scope.links:
        found += LINKED
    if scope.rooms:
        found.append(ROOM)
    if scope.clients:
        found += STORED
    if scope.hot_copies and scope.clients:
        found.append(COPY)
    return tuple(found)


def _of_requests(scope: Scope) -> Iterator[Item]:
    """What is kept of a request apart from its KV."""
    yield Item("prompt", "what is sent again when a worker is lost", "frontend", Requests, _prompt)
    text = "how many tokens the client has, by which a replay goes on"
    yield Item("delivered tokens", text, "frontend", Requests, _delivered)
    if scope.withholds:
        text = "text held back because it may begin a stop string"
        yield Item("withheld text", text, "frontend", Requests, _withheld)
    text = "the attempts that were made, against the retry limit"
    yield Item("retry count", text, "frontend", Requests, _counted)
    text = "the workers that failed it, which are not tried again"
    yield Item("failed workers", text, "router", Requests, _failed)
    yield Item("booking", "the room it takes up on a worker", "router", Requests, _booked)
    if scope.sessions:
        text = "the worker that its session is bound to"
        yield Item("session", text, "router", Requests, _bound)


def _of_kv(roles: set[str]) -> Iterator[Item]:
    """What workers have of a request."""
    serving = next(role.value for role in Role if role is not Role.PREFILL and role.value in roles)
    text = "tokens that its worker has sent and the client does not have: they are in the stream"
    yield Item("tokens on their way", text, serving, Requests, _on_their_way)
    text = "sampling: the tokens so far, random numbers, guided decoding"
    yield Item("engine state", text, serving, Requests, _running)
    if Role.PREFILL.value in roles:
        text = "the KV of the prompt, until the decode worker has it"
        yield Item("KV on the prefill worker", text, Role.PREFILL.value, Requests, _kv_at_prefill)
        text = "that blocks stay as they are until they are read"
        yield Item("hold on the KV", text, Role.PREFILL.value, Requests, _held)
    if Role.DECODE.value in roles:
        text = "the KV that is decoded from"
        yield Item("KV on the decode worker", text, Role.DECODE.value, Requests, _kv_at_decode)


def _present(world: World, request: int, test: Test) -> bool:
    """Whether something is so of the present attempt of a request."""
    current, loads = world.retries[request].current, world.loads[request].attempts
    return some(
        (current == attempt) & test(world, request, here, loads[attempt])
        for attempt, here in enumerate(world.streams[request].attempts)
    )


def _remembers(world: World, worker: int | None) -> bool:
    """Whether the memory of a worker is there."""
    kept = (Process.UP, Process.HUNG, Process.DRAINING)
    return some(
        (worker == other) & some(endpoint.process == process for process in kept)
        for other, endpoint in enumerate(world.endpoints)
    )


def _holds(world: World, request: int, wanted: int | None) -> bool:
    """Whether a block is a request's, and has its KV in it."""
    return some(
        (wanted == block)
        & (room.owner == request)
        & (room.content == request)
        & _remembers(world, world.homes[block])
        for block, room in enumerate(world.blocks)
    )


def _prompt(world: World, request: int) -> bool:
    phase = world.requests[request].phase
    return (phase != Phase.DONE) & (phase != Phase.FAILED) & (phase != Phase.CANCELLED)


def _delivered(world: World, request: int) -> bool:
    return (world.streams[request].delivered > 0) & (world.retries[request].afresh == False)


def _withheld(world: World, request: int) -> bool:
    return world.streams[request].withheld


def _counted(world: World, request: int) -> bool:
    return world.retries[request].in_round > 0


def _failed(world: World, request: int) -> bool:
    return world.retries[request].failed != NOBODY


def _booked(world: World, request: int) -> bool:
    return world.retries[request].booked != NOBODY


def _bound(world: World, _: int) -> bool:
    return world.session != None


def _on_their_way(world: World, request: int) -> bool:
    decoding = world.requests[request].phase == Phase.DECODING
    return decoding & _present(world, request, lambda _w, _r, here, _l: here.sent > here.received)


def _running(world: World, request: int) -> bool:
    return _present(world, request, _runs)


def _runs(world: World, _: int, here: Attempt, __: Load) -> bool:
    known = (here.stage == Stage.RUNNING) & (here.severed == False)
    return known & _remembers(world, here.worker)


def _kv_at_prefill(world: World, request: int) -> bool:
    return _present(world, request, _at_prefill)


def _at_prefill(world: World, request: int, _: Attempt, load: Load) -> bool:
    held = (load.hold == Hold.HELD) & (load.stale == False)
    return held & _holds(world, request, load.source)


def _held(world: World, request: int) -> bool:
    return _present(world, request, _is_held)


def _is_held(world: World, _: int, __: Attempt, load: Load) -> bool:
    held = (load.hold == Hold.HELD) & (load.stale == False)
    return held & _remembers(world, load.prefill)


def _kv_at_decode(world: World, request: int) -> bool:
    return _present(world, request, _at_decode)


def _at_decode(world: World, request: int, here: Attempt, load: Load) -> bool:
    return (here.severed == False) & _holds(world, request, load.target)


def _cached(world: World, worker: int) -> bool:
    return (world.caches[worker].holds != NOBODY) & _remembers(world, worker)


def _indexed(world: World, worker: int) -> bool:
    entered = world.known[worker].believed
    return (entered != NOBODY) & (entered == world.caches[worker].holds)


def _connected(world: World, link: int) -> bool:
    connected = world.links[link].connection == Connection.CONNECTED
    return connected & (broken(world, link) == False)


def _prepared(world: World, link: int) -> bool:
    prepared, peer = world.links[link].prepared, peer_of(world, link)
    return (prepared != None) & (prepared == peer.generation)


def _in_room(world: World, room: int) -> bool:
    return world.rooms[room].guest != Guest.NONE


def _object(world: World, key: int) -> bool:
    return world.objects[key].entry == Entry.COMPLETE


def _bytes(world: World, key: int) -> bool:
    return some(
        (room.content == key) & room.whole & world.segments[world.lenders[space]].up
        for space, room in enumerate(world.spaces)
    )


def _copied(world: World, client: int) -> bool:
    return world.readers[client].copy != None


INDEXED: Final = Item(
    "index entries",
    "what the router knows of a cache, where that is right",
    "index",
    Workers,
    _indexed,
)
LINKED: Final = (
    Item("connection", "a link to a peer that is there", "decode", Links, _connected),
    Item("transfer handle", "a way into the memory of the peer", "decode", Links, _prepared),
)
ROOM: Final = Item("place in a room", "a request that waits for its KV", "decode", Rooms, _in_room)
STORED: Final = (
    Item("store entry", "an object that the master can find", "store", Keys, _object),
    Item("stored bytes", "an object that lies in memory, whole", "segment", Keys, _bytes),
)
COPY: Final = Item(
    "hot copy", "an object that a client keeps by itself", "engine", Clients, _copied
)
