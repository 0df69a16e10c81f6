"""A put: its space, its bytes, its commit, and its failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.kernel import fault, step, transition
from rackproof.model.logic import some
from rackproof.model.sorts import Clients, Keys, Spaces
from rackproof.model.store.common import drop_copies, end, free, full, reachable, release, unlock
from rackproof.model.store.records import Entry, Get

if TYPE_CHECKING:
    from rackproof.model.world import World


def evictable(world: World) -> bool:
    """Whether an object could be evicted."""
    return some(
        (found.entry == Entry.COMPLETE) & (found.space == space) & (room.pins == 0)
        for found in world.objects
        for space, room in enumerate(world.spaces)
    )


def unlocked(world: World) -> bool:
    """Whether a put that holds the lock of objects gets that of segments."""
    return world.protocol.one_lock_order or world.master.segments_locked == None


def _locked(world: World, client: int) -> bool:
    return world.protocol.one_lock_order or world.master.objects_locked == client


@transition(step, duration="in-process", client=Clients)
def lock_objects(world: World, client: int) -> World | None:
    """The put of {client} takes the lock of objects, and then wants that of segments."""
    if world.protocol.one_lock_order or world.master.objects_locked != None:
        return None
    if world.readers[client].stage != Get.TO_PUT or not world.serving:
        return None
    return world.with_master(objects_locked=client)


@transition(step, duration="call", client=Clients, key=Keys, space=Spaces)
def start_put(world: World, client: int, key: int, space: int) -> World | None:
    """The master gives {space} to the put of {key} by {client}, which starts to write."""
    here, found, lender = world.readers[client], world.objects[key], world.lenders[space]
    if here.stage != Get.TO_PUT or here.key != key or not world.serving:
        return None
    if not free(world, space) or lender in here.shunned:
        return None
    segment = world.segments[lender]
    if found.entry != Entry.ABSENT and world.protocol.refuse_existing_keys:
        return None
    if not _locked(world, client) or not unlocked(world):
        return None
    world, put = release(world, key, world.protocol.free_after_readers), found.put + 1
    entry = Entry.PROCESSING if world.protocol.publish_after_commit else Entry.COMPLETE
    world = world.with_object(key, entry=entry, space=space, put=put)
    world = world.with_space(space, owner=key, put=put, pins=0)
    if segment.up and segment.epoch == segment.mounted:
        world = world.with_space(space, content=key, written=put, whole=False)
    return unlock(world).with_reader(
        client, stage=Get.WRITING, space=space, put=put, epoch=segment.mounted
    )


@transition(step, duration="call", client=Clients, key=Keys)
def put_refused(world: World, client: int, key: int) -> World | None:
    """The put of {key} by {client} is refused: it is there already, or being written."""
    here = world.readers[client]
    if here.stage != Get.TO_PUT or here.key != key or not world.serving:
        return None
    if world.objects[key].entry == Entry.ABSENT or not world.protocol.refuse_existing_keys:
        return None
    if not _locked(world, client):
        return None
    return end(unlock(world), client, Get.COMPUTED)


@transition(step, duration="call", client=Clients)
def give_up_put(world: World, client: int) -> World | None:
    """The put of {client} finds no room and nothing to evict, and is given up."""
    if world.readers[client].stage != Get.TO_PUT or not world.serving or not full(world, client):
        return None
    if not world.protocol.give_up_when_full:
        return None
    if world.protocol.evict_when_full and evictable(world):
        return None
    if not _locked(world, client) or not unlocked(world):
        return None
    return end(unlock(world), client, Get.COMPUTED)


@transition(step, duration="store-write", client=Clients, space=Spaces)
def write(world: World, client: int, space: int) -> World | None:
    """{client} writes the rest of its object into {space}."""
    here = world.readers[client]
    if here.stage != Get.WRITING or here.space != space or not reachable(world, client, space):
        return None
    world = world.with_space(space, content=here.key, written=here.put, whole=True)
    return world.with_reader(client, stage=Get.WRITTEN)


@transition(step, duration="call", client=Clients, key=Keys, space=Spaces)
def commit(world: World, client: int, key: int, space: int) -> World | None:
    """The master hears from {client} that {key} is whole: it can be looked up."""
    here, found = world.readers[client], world.objects[key]
    if here.stage != Get.WRITTEN or here.key != key or here.space != space or not world.serving:
        return None
    if found.put == here.put and found.space == space:
        world = world.with_object(key, entry=Entry.COMPLETE, oldest=here.put)
        world = drop_copies(world, key)
    return end(world, client, Get.COMPUTED)


@transition(step, duration="transport-loss", client=Clients, key=Keys, space=Spaces)
def write_breaks_off(world: World, client: int, key: int, space: int) -> World | None:
    """The write of {key} into {space} by {client} fails: it cannot be reached."""
    here = world.readers[client]
    if here.stage != Get.WRITING or here.key != key or here.space != space:
        return None
    if reachable(world, client, space) or not world.serving:
        return None
    return revoke(world, client, key, space)


@transition(fault, duration="any-time", client=Clients, key=Keys, space=Spaces)
def put_failure(world: World, client: int, key: int, space: int) -> World | None:
    """The put of {key} into {space} by {client} ends in an error, and is revoked."""
    here = world.readers[client]
    if here.stage != Get.WRITING or here.key != key or here.space != space:
        return None
    if not world.budget.put_failure or not world.serving:
        return None
    return revoke(world.spend("put_failure"), client, key, space)


def revoke(world: World, client: int, key: int, space: int) -> World:
    """The world in which a put is taken back, and its space freed."""
    here, found = world.readers[client], world.objects[key]
    world = end(world, client, Get.FAILED)
    if found.put == here.put and found.space == space:
        world = release(world, key, spare=True)
    if not world.protocol.free_space_once:
        return world.with_reader(client, space=space, owes_free=True)
    shunned = here.shunned | frozenset({world.lenders[space]})
    if full(world.with_reader(client, shunned=shunned), client):
        return world
    if world.protocol.put_elsewhere:
        return world.with_reader(client, stage=Get.TO_PUT, key=key, shunned=shunned)
    return world.with_reader(client, put_lost=True)


@transition(step, duration="in-process", client=Clients, space=Spaces)
def free_again(world: World, client: int, space: int) -> World | None:
    """The buffer of {client} is destroyed, which frees {space} once more."""
    here = world.readers[client]
    if not here.owes_free or here.space != space or not world.serving:
        return None
    world = world.with_reader(client, space=None, owes_free=False)
    return world.with_space(space, owner=None, put=0, pins=0, freed_twice=True)
