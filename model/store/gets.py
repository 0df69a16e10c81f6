"""A look-up, the read that follows it, and what ranks make of it together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.kernel import client, fault, step, transition
from rackproof.model.logic import some
from rackproof.model.protocol import StoreAccess, StoreFailure, StoreProtection
from rackproof.model.sorts import Clients, Keys, Spaces
from rackproof.model.store.common import end, intact, readable, right, take_back
from rackproof.model.store.records import ENDED, FELL_BACK, READING, Entry, Get

if TYPE_CHECKING:
    from rackproof.model.world import World


@transition(client, duration="client-choice", client=Clients, key=Keys)
def look_up(world: World, client: int, key: int) -> World | None:
    """{client} looks {key} up."""
    return None if world.ranks or not idle(world, client) else _ask(world, client, key)


@transition(client, duration="client-choice", key=Keys)
def look_up_together(world: World, key: int) -> World | None:
    """A request is scheduled: each of its ranks looks {key} up."""
    ranks = range(len(world.readers))
    if not world.ranks or some(not idle(world, rank) for rank in ranks):
        return None
    for rank in ranks:
        world = _ask(world, rank, key)
    return world


def idle(world: World, client: int) -> bool:
    """Whether a client may begin another look-up."""
    here = world.readers[client]
    return here.stage in (Get.IDLE, *ENDED) and here.gets < world.gets and not here.owes_free


def _ask(world: World, client: int, key: int) -> World:
    since, gets = world.objects[key].oldest, world.readers[client].gets + 1
    return world.with_reader(client, stage=Get.ASKED, key=key, since=since, gets=gets)


@transition(step, duration="call", client=Clients, key=Keys, space=Spaces)
def find(world: World, client: int, key: int, space: int) -> World | None:
    """The master tells {client} that {key} lies in {space}, and protects it there."""
    here, found, room = world.readers[client], world.objects[key], world.spaces[space]
    if here.stage != Get.ASKED or here.key != key or not world.serving:
        return None
    if found.entry != Entry.COMPLETE or found.space != space:
        return None
    taken = 0 if world.protocol.store_protection == StoreProtection.NONE else 1
    twice = world.protocol.store_protection == StoreProtection.PIN and not world.protocol.pin_once
    world = world.with_space(space, pins=room.pins + (2 if twice else taken))
    mounted = world.segments[world.lenders[space]].mounted
    return world.with_reader(
        client, stage=Get.FOUND, space=space, put=found.put, epoch=mounted, pins=taken
    )


@transition(step, duration="store-miss", client=Clients, key=Keys)
def miss(world: World, client: int, key: int) -> World | None:
    """The master has no {key} for {client}, which computes it, and wants to put it."""
    here = world.readers[client]
    if here.stage != Get.ASKED or here.key != key or not world.serving:
        return None
    if world.objects[key].entry == Entry.COMPLETE:
        return None
    return world.with_reader(client, stage=Get.TO_PUT)


@transition(step, duration="at-once", client=Clients, key=Keys)
def use_hot_copy(world: World, client: int, key: int) -> World | None:
    """{client} has a copy of {key} of its own, and uses it without asking."""
    here = world.readers[client]
    if here.stage != Get.ASKED or here.key != key or here.copy != key or world.ranks:
        return None
    stale = here.copy_put < here.since
    return end(world, client, Get.USED, used_wrong=here.used_wrong | stale)


@transition(step, duration="half-store-read", client=Clients, space=Spaces)
def read_first_half(world: World, client: int, space: int) -> World | None:
    """{client} gets the first half of what lies in {space}."""
    return _read(world, client, space, Get.FOUND, Get.HALF)


@transition(step, duration="half-store-read", client=Clients, space=Spaces)
def read_second_half(world: World, client: int, space: int) -> World | None:
    """{client} gets the second half of what lies in {space}."""
    return _read(world, client, space, Get.HALF, Get.READ)


def _read(world: World, client: int, space: int, before: Get, after: Get) -> World | None:
    here = world.readers[client]
    if here.stage != before or here.space != space or not readable(world, client, space):
        return None
    if world.protocol.store_access == StoreAccess.SEND and not intact(world, client, space):
        return None
    wrong = here.wrong | (right(world, client, space) == False)
    return world.with_reader(client, stage=after, wrong=wrong)


@transition(step, duration="transport-loss", client=Clients, space=Spaces)
def read_breaks_off(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} fails: it is not reached, or has nothing to read."""
    here = world.readers[client]
    if here.stage not in (Get.FOUND, Get.HALF) or here.space != space:
        return None
    return None if readable(world, client, space) else get_failed(world, client, space)


@transition(fault, duration="any-time", client=Clients, space=Spaces)
def get_failure(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} ends in an error."""
    here = world.readers[client]
    if here.stage not in (Get.FOUND, Get.HALF) or here.space != space:
        return None
    if not world.budget.get_failure:
        return None
    return get_failed(world.spend("get_failure"), client, space)


@transition(fault, duration="any-time", client=Clients, space=Spaces)
def short_get(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} brings only the first of its bytes, and no error."""
    here = world.readers[client]
    if here.stage != Get.HALF or here.space != space or not world.budget.short_get:
        return None
    world = world.spend("short_get")
    if world.protocol.check_length:
        return get_failed(world, client, space)
    return world.with_reader(client, stage=Get.READ, wrong=True)


@transition(fault, duration="outlived-store-lease", client=Clients, space=Spaces)
def slow_get(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} takes longer than a lease lasts."""
    here = world.readers[client]
    if here.stage not in READING or here.space != space or not world.budget.slow_get:
        return None
    world = world.spend("slow_get")
    if world.protocol.store_protection != StoreProtection.LEASE or not here.pins:
        return world
    return take_back(world, client, space, 1).with_reader(client, pins=0)


def get_failed(world: World, client: int, space: int) -> World:
    """A read failed: do what the engine does then."""
    match world.protocol.store_failure:
        case StoreFailure.SERVE:
            return world.with_reader(client, stage=Get.READ, wrong=True)
        case StoreFailure.WAIT:
            return world.with_reader(client, stage=Get.STUCK)
        case _:
            return _fail(world, client, space)


def _fail(world: World, client: int, space: int) -> World:
    """End a read as a failure."""
    leased = world.protocol.store_protection == StoreProtection.LEASE
    if leased or world.protocol.unpin_on_error:
        world = take_back(world, client, space, world.readers[client].pins)
    return end(world, client, Get.FAILED)


@transition(step, duration="call", client=Clients, space=Spaces)
def validate(world: World, client: int, space: int) -> World | None:
    """{client} has read {space}, and asks whether its object was in it all the time."""
    here = world.readers[client]
    if here.stage != Get.READ or here.space != space or not world.serving:
        return None
    if not world.protocol.validate_after_store_read:
        return None
    if not intact(world, client, space):
        return _fail(world, client, space)
    return world.with_reader(client, stage=Get.VALID)


@transition(step, duration="at-once", client=Clients)
def trust(world: World, client: int) -> World | None:
    """{client} takes what it read as it is."""
    if world.readers[client].stage != Get.READ or world.protocol.validate_after_store_read:
        return None
    return world.with_reader(client, stage=Get.VALID)


@transition(step, duration="rank-agreement")
def agree(world: World) -> World | None:
    """The ranks compare what they got: each of them has all."""
    if not world.ranks or not world.protocol.agree_across_ranks:
        return None
    if some(here.stage != Get.VALID for here in world.readers):
        return None
    for rank in range(len(world.readers)):
        world = world.with_reader(rank, stage=Get.AGREED)
    return world


@transition(step, duration="rank-agreement", client=Clients, space=Spaces)
def fall_back(world: World, client: int, space: int) -> World | None:
    """The ranks compare what they got: one of them has nothing, so {client} computes as well."""
    here = world.readers[client]
    if not world.ranks or not world.protocol.agree_across_ranks or not world.serving:
        return None
    if here.stage != Get.VALID or here.space != space:
        return None
    if not some(other.stage in (*FELL_BACK, Get.DEAD) for other in world.readers):
        return None
    return end(take_back(world, client, space, here.pins), client, Get.COMPUTED)


@transition(step, duration="in-process", client=Clients, key=Keys, space=Spaces)
def use(world: World, client: int, key: int, space: int) -> World | None:
    """{client} uses what it read from {space} as {key}, and lets go of it."""
    here, protocol = world.readers[client], world.protocol
    compared = world.ranks and protocol.agree_across_ranks
    if here.stage != (Get.AGREED if compared else Get.VALID) or not world.serving:
        return None
    if here.key != key or here.space != space:
        return None
    if world.hot_copies:
        world = _keep_copy(world, client, key)
    twice = (
        (here.pins > 0)
        & (protocol.store_protection == StoreProtection.PIN)
        & (not protocol.unpin_once)
    )
    world = take_back(world, client, space, 2 if twice else here.pins)
    world = world.with_reader(client, unpinned_twice=here.unpinned_twice | twice)
    return end(world, client, Get.USED, used_wrong=here.wrong)


def _keep_copy(world: World, client: int, key: int) -> World:
    """A client keeps what it read, unless that is known to be out of date."""
    put = world.readers[client].put
    if world.protocol.invalidate_hot_copies and put < world.objects[key].oldest:
        return world
    return world.with_reader(client, copy=key, copy_put=put)
