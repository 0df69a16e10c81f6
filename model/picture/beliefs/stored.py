"""What the master and the clients of a shared store take its objects and spaces for."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.kernel import Belief
from rackproof.model.picture.cast import MASTER, METADATA, Cast
from rackproof.model.picture.words import counted
from rackproof.model.sorts import Clients, Keys, Segments, Spaces
from rackproof.model.store.common import full, intact
from rackproof.model.store.puts import evictable
from rackproof.model.store.records import FELL_BACK, READING, Entry, Get, Leader, Mount, Object
from rackproof.model.world import World

_WAITS = (Get.ASKED, Get.TO_PUT, Get.WRITTEN)
_LEADER = {
    Leader.SERVING: "answers",
    Leader.SILENT: "is frozen, and answers nobody",
    Leader.DEAD: "is dead",
}


def of_store(cast: Cast, world: World) -> Iterator[Belief]:
    """What is thought of objects, spaces, segments, and of the master."""
    for key, found in enumerate(world.objects):
        yield from _object(cast, world, key, found)
    for space in range(len(world.spaces)):
        yield from _space(cast, world, space)
    for segment in range(len(world.segments)):
        yield from _segment(cast, world, segment)
    for client in range(len(world.readers)):
        yield from _client(cast, world, client)
        yield from _look_up(cast, world, client)
    yield from _ranks(cast, world)
    yield from _locks(cast, world)


def _lies(cast: Cast, world: World, space: int) -> str:
    """What lies in a space."""
    room, segment = world.spaces[space], world.segments[world.lenders[space]]
    if not segment.up:
        return "is gone with its worker"
    if room.content is None:
        return "has nothing in it"
    part = "" if room.whole else "a part of "
    return f"has {part}put {room.written} of {cast.called(Keys, room.content)} in it"


def _has(cast: Cast, world: World, space: int, key: int, put: int) -> tuple[str, str, bool]:
    """What a space is thought to have in it, what it has, and whether that is the same."""
    believed, truth = f"has put {put} of {cast.called(Keys, key)} in it", _lies(cast, world, space)
    return believed, truth, believed == truth


def _object(cast: Cast, world: World, key: int, found: Object) -> Iterator[Belief]:
    """Whether what the master would give out is there."""
    if found.entry is Entry.COMPLETE and found.space is not None:
        name = cast.called(Spaces, found.space)
        yield Belief(MASTER, name, *_has(cast, world, found.space, key, found.put))
    elif found.forgotten:
        truth = "was put, and lost with the master's memory"
        yield Belief(MASTER, cast.called(Keys, key), "was never put", truth, False)


def _space(cast: Cast, world: World, space: int) -> Iterator[Belief]:
    """Whether a space is held by as many, and is as free, as the master thinks."""
    room, name = world.spaces[space], cast.called(Spaces, space)
    users = [here for here in world.readers if here.space == space]
    held = sum(here.pins for here in users if here.stage is not Get.DEAD)
    if room.pins or held:
        believed, truth = (f"is held by {counted(it, 'reader')}" for it in (room.pins, held))
        yield Belief(MASTER, name, believed, truth, room.pins == held)
    if room.freed_twice:
        yield Belief(MASTER, name, "was freed once", "was freed twice", False)
    for client, here in enumerate(world.readers):
        uses = here.stage in (*READING, Get.WRITING) and here.space == space
        if uses and not intact(world, client, space):
            does = "written" if here.stage is Get.WRITING else "read"
            truth = f"is {does} by {cast.called(Clients, client)}, for what it was before"
            yield Belief(MASTER, name, _given(cast, world, space), truth, False)


def _given(cast: Cast, world: World, space: int) -> str:
    owner = world.spaces[space].owner
    return "is free" if owner is None else f"is {cast.called(Keys, owner)}'s alone"


def _segment(cast: Cast, world: World, segment: int) -> Iterator[Belief]:
    """Whether the master, and the worker that lends it, agree on a segment."""
    here, name = world.segments[segment], cast.called(Segments, segment)
    truth = "is up" if here.up else "is gone with its worker"
    if here.mount is Mount.MOUNTED:
        again = here.up and here.epoch != here.mounted
        truth = "has started again, with empty memory" if again else truth
        yield Belief(MASTER, name, "is up", truth, here.up and not again)
    elif here.up and here.mount is Mount.GONE:
        yield Belief(MASTER, name, "is gone", truth, False)
    if here.up and here.joined and here.mount is not Mount.MOUNTED:
        yield Belief(name, name, "is mounted", f"is {here.mount.value} for the master", False)
    if here.up and not here.published:
        who = METADATA if METADATA in cast.there else MASTER
        yield Belief(who, name, "has no address", "is up, and can be reached", False)


def _client(cast: Cast, world: World, client: int) -> Iterator[Belief]:
    """Whether what a client waits for, or has put by, is as it thinks."""
    here, name = world.readers[client], cast.called(Clients, client)
    if here.stage in _WAITS and not world.serving:
        yield Belief(name, MASTER, "answers", _LEADER[world.master.leader], False)
    if here.stage is Get.TO_PUT and full(world, client):
        room = world.protocol.evict_when_full and evictable(world)
        truth = "can have room" if room else "finds no room, and nothing to evict"
        yield Belief(name, "its put", "is going to have room", truth, room)
    if here.stage is Get.STUCK:
        yield Belief(name, "its read", "is going to end", "has failed", False)
    if here.copy is not None:
        fresh = here.copy_put >= world.objects[here.copy].oldest
        believed = f"has a copy of {cast.called(Keys, here.copy)} that is good"
        yield Belief(name, name, believed, believed if fresh else "has one out of date", fresh)
    if here.used_wrong:
        truth = "was something else"
        yield Belief(name, "what it used", "was what it asked for", truth, False)
    if here.unpinned_twice:
        yield Belief(name, "its pin", "was given back once", "was given back twice", False)
    if here.put_lost:
        truth = "had room elsewhere"
        yield Belief(name, "its put", "had nowhere to go", truth, False)
    if here.owes_free and here.space is not None:
        name_of_space, free = cast.called(Spaces, here.space), "is its own to free"
        yield Belief(name, name_of_space, free, "has been freed already", False)


def _look_up(cast: Cast, world: World, client: int) -> Iterator[Belief]:
    """Whether what a client reads is what it asked for."""
    here, name = world.readers[client], cast.called(Clients, client)
    if here.key is None or here.space is None:
        return
    if here.stage in (*READING, Get.VALID, Get.AGREED):
        believed, truth, fine = _has(cast, world, here.space, here.key, here.put)
        if here.wrong:
            truth, fine = "has not given it that, whole", False
        yield Belief(name, cast.called(Spaces, here.space), believed, truth, fine)


def _ranks(cast: Cast, world: World) -> Iterator[Belief]:
    """Whether what one rank goes on with is there for all of them."""
    if not world.ranks or world.protocol.agree_across_ranks:
        return
    alike = not any(other.stage in (*FELL_BACK, Get.DEAD) for other in world.readers)
    believed = "is there for every rank"
    truth = believed if alike else "is not there for every rank"
    for client, here in enumerate(world.readers):
        if here.stage in (Get.VALID, Get.USED):
            yield Belief(cast.called(Clients, client), "what it read", believed, truth, alike)


def _locks(cast: Cast, world: World) -> Iterator[Belief]:
    """Whether two who hold a lock each wait for that of the other."""
    client, segment = world.master.objects_locked, world.master.segments_locked
    if client is None or segment is None:
        return
    put, unmount = cast.called(Clients, client), cast.called(Segments, segment)
    believed = "is going to be free"
    for name, holder, waits_for in (
        ("the lock of segments", f"the unmount of {unmount}", "objects"),
        ("the lock of objects", f"the put of {put}", "segments"),
    ):
        truth = f"is held by {holder}, which waits for that of {waits_for}"
        yield Belief(MASTER, name, believed, truth, False)
