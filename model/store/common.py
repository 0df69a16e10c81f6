"""What the transitions of a store share: what a read gets to, and when a space is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.logic import lacks, some
from rackproof.model.store.records import Entry, Get, Mount

if TYPE_CHECKING:
    from rackproof.model.world import World


def reachable(world: World, client: int, space: int) -> bool:
    """Whether what a client reads or writes in a space gets there."""
    here, segment = world.readers[client], world.segments[world.lenders[space]]
    same = (segment.epoch == here.epoch) | (not world.protocol.epoch_of_segment)
    return segment.up & segment.published & same


def right(world: World, client: int, space: int) -> bool:
    """Whether the object that a client asked for lies in a space, whole."""
    here, room = world.readers[client], world.spaces[space]
    return (room.content == here.key) & (room.written == here.put) & room.whole


def readable(world: World, client: int, space: int) -> bool:
    """Whether a read brings any bytes: memory always does, a disk where it has the object."""
    there = reachable(world, client, space)
    return there & right(world, client, space) if world.disk else there


def intact(world: World, client: int, space: int) -> bool:
    """Whether the master still has in a space what it named to a client."""
    here, room = world.readers[client], world.spaces[space]
    return (room.owner == here.key) & (room.put == here.put)


def end(world: World, client: int, stage: Get, used_wrong: bool = False) -> World:
    """End what a client does."""
    cleared = {"key": None, "space": None, "put": 0, "epoch": 0, "since": 0, "pins": 0}
    used_wrong = world.readers[client].used_wrong | used_wrong
    world = world.with_reader(client, wrong=False, shunned=frozenset(), **cleared)
    return world.with_reader(client, stage=stage, used_wrong=used_wrong)


def take_back(world: World, client: int, space: int, pins: int) -> World:
    """Give pins back that a client has on an object, if the object is still there."""
    left = max(world.spaces[space].pins - pins, 0)
    return world.with_space(space, pins=left) if intact(world, client, space) else world


def held(world: World, space: int) -> bool:
    """Whether somebody reads or writes a space."""
    return (world.spaces[space].pins > 0) | some(
        ((here.stage == Get.WRITING) | (here.stage == Get.WRITTEN)) & (here.space == space)
        for here in world.readers
    )


def release(world: World, key: int, spare: bool) -> World:
    """The world in which the master has nothing under a key.

    spare: its space stays with it as long as somebody reads or writes it.
    """
    found = world.objects[key]
    for space, room in enumerate(world.spaces):
        if found.space == space:
            world = world.with_object(key, entry=Entry.ABSENT, space=None)
            ours = room.owner == key and room.put == found.put
            if ours and not (spare and held(world, space)):
                return world.with_space(space, owner=None, put=0, pins=0)
            return world
    return world


def emptied(world: World, space: int) -> World:
    """The world in which nothing lies in a space."""
    return world.with_space(space, content=None, written=0, whole=False)


def drop_copies(world: World, key: int) -> World:
    """The world in which clients have lost the copies that they keep of a key."""
    if not world.hot_copies or not world.protocol.invalidate_hot_copies:
        return world
    for keeper, here in enumerate(world.readers):
        kept = None if here.copy == key else here.copy
        put = 0 if here.copy == key else here.copy_put
        world = world.with_reader(keeper, copy=kept, copy_put=put)
    return world


def free(world: World, space: int) -> bool:
    """Whether a put may be given a space."""
    segment = world.segments[world.lenders[space]]
    return (world.spaces[space].owner == None) & (segment.mount == Mount.MOUNTED)


def full(world: World, client: int) -> bool:
    """Whether no space is free for the put of a client."""
    shunned = world.readers[client].shunned
    return not some(
        free(world, space) & lacks(shunned, lender) for space, lender in enumerate(world.lenders)
    )


def unlock(world: World) -> World:
    """The world in which no put holds the lock of objects."""
    return world.with_master(objects_locked=None)
