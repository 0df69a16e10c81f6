"""What becomes of objects and spaces: eviction, removal, reclaim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.kernel import client, environment, fault, step, transition
from rackproof.model.logic import some
from rackproof.model.sorts import Keys, Spaces
from rackproof.model.store.common import drop_copies, emptied, full, held, release
from rackproof.model.store.records import Entry, Get, Mount

if TYPE_CHECKING:
    from rackproof.model.world import World


@transition(step, duration="in-process", key=Keys, space=Spaces)
def evict_object(world: World, key: int, space: int) -> World | None:
    """{key} is evicted from {space}: a put needs the room."""
    waiting = some(
        (here.stage == Get.TO_PUT) & full(world, waiter)
        for waiter, here in enumerate(world.readers)
    )
    if not world.protocol.evict_when_full or not waiting:
        return None
    return _evicted(world, key, space)


@transition(environment, duration="any-time", key=Keys, space=Spaces)
def pressure(world: World, key: int, space: int) -> World | None:
    """{key} is evicted from {space}: others need memory."""
    return _evicted(world.spend("pressure"), key, space) if world.budget.pressure else None


def _evicted(world: World, key: int, space: int) -> World | None:
    found, segment = world.objects[key], world.segments[world.lenders[space]]
    if found.entry != Entry.COMPLETE or found.space != space or not world.serving:
        return None
    if segment.mount != Mount.MOUNTED:
        return None
    if world.protocol.evict_unpinned_only and world.spaces[space].pins:
        return None
    return release(world, key, spare=False)


@transition(client, duration="client-choice", key=Keys)
def removal(world: World, key: int) -> World | None:
    """A user has {key} removed."""
    found = world.objects[key]
    if found.entry != Entry.COMPLETE or not world.budget.removal or not world.serving:
        return None
    world = release(world.spend("removal"), key, world.protocol.free_after_readers)
    return drop_copies(world.with_object(key, oldest=found.put + 1), key)


@transition(step, duration="in-process", key=Keys, space=Spaces)
def reclaim(world: World, key: int, space: int) -> World | None:
    """{space} is freed: {key} is no longer found in it, and nobody reads or writes it any more."""
    room, found = world.spaces[space], world.objects[key]
    if room.owner != key or not world.serving or held(world, space):
        return None
    if found.space == space and found.put == room.put:
        return None
    return world.with_space(space, owner=None, put=0)


@transition(fault, duration="any-time", key=Keys, space=Spaces)
def disk_eviction(world: World, key: int, space: int) -> World | None:
    """The disk with {space} is full, and drops {key}."""
    found, segment = world.objects[key], world.segments[world.lenders[space]]
    if found.entry != Entry.COMPLETE or found.space != space or not world.serving:
        return None
    if not world.disk or not segment.up or not world.budget.disk_eviction:
        return None
    world = emptied(world.spend("disk_eviction"), space)
    return release(world, key, spare=True) if world.protocol.tell_master_of_eviction else world
