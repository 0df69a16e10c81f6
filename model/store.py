"""A store that several engines share: objects under keys, in memory that workers lend.

The master knows which object lies in which space; clients read the spaces themselves. Freeing a
space changes what the master knows and not what lies there: a read of a space that was given to
another object succeeds, and brings the other's bytes. Each put under a key has a number.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.kernel import (
    bounded,
    client,
    environment,
    evolve,
    fault,
    frozen,
    identifier,
    members,
    step,
    timer,
    transition,
)
from rackproof.model.logic import lacks, some
from rackproof.model.protocol import StoreAccess, StoreFailure, StoreProtection
from rackproof.model.sorts import Clients, Keys, Segments, Spaces

if TYPE_CHECKING:
    from rackproof.model.world import World


class Entry(Enum):
    """What the master has under a key."""

    ABSENT = "absent"
    PROCESSING = "processing"
    """It has space, and is being written."""
    COMPLETE = "complete"


class Get(Enum):
    """How far a client is."""

    IDLE = "idle"
    ASKED = "asked"
    """Waits for the master's answer."""
    FOUND = "found"
    HALF = "half"
    """Half of the bytes are read."""
    READ = "read"
    VALID = "valid"
    """Read, and taken to be good."""
    AGREED = "agreed"
    """All ranks have it."""
    TO_PUT = "to put"
    """It computed for itself, and wants to put that."""
    WRITING = "writing"
    WRITTEN = "written"
    STUCK = "stuck"
    """Waits for a read that has failed."""
    USED = "used"
    COMPUTED = "computed"
    FAILED = "failed"
    DEAD = "dead"


ENDED = (Get.USED, Get.COMPUTED, Get.FAILED)
OVER = (Get.IDLE, *ENDED, Get.DEAD)
READING = (Get.FOUND, Get.HALF, Get.READ)
FELL_BACK = (Get.TO_PUT, Get.WRITING, Get.WRITTEN, Get.COMPUTED, Get.FAILED)


class Mount(Enum):
    """What the master thinks of a segment."""

    MOUNTED = "mounted"
    UNMOUNTING = "unmounting"
    """Its objects are being struck off."""
    GONE = "gone"


class Leader(Enum):
    """The process that is master."""

    SERVING = "serving"
    SILENT = "silent"
    """Frozen: its connections stay open, and it answers nobody."""
    DEAD = "dead"


@frozen
class Object:
    """What the master knows under a key.

    put: the number of the last put. oldest: the oldest put that a client who asks now may be given.
    forgotten: it was lost with the master's memory.
    """

    entry: Entry = Entry.ABSENT
    space: int | None = identifier(Spaces)
    put: int = bounded(0, "puts")
    oldest: int = bounded(0, "puts")
    forgotten: bool = False


@frozen
class Space:
    """Room for one object.

    owner, put: what the master gave it to. pins: how many readers hold it. content, written: the
    object that lies in it, and of which put; whole: all of it. freed_twice: it was freed when it
    had been freed already.
    """

    owner: int | None = identifier(Keys)
    put: int = bounded(0, "puts")
    pins: int = bounded(0, "pins")
    content: int | None = identifier(Keys)
    written: int = bounded(0, "puts")
    whole: bool = False
    freed_twice: bool = False


@frozen
class Segment:
    """Memory that a worker lends.

    up, epoch: the truth: whether the worker runs, and how often it registered its memory. mount,
    mounted: what the master thinks, and of which epoch. joined: the worker thinks that it is
    mounted. published:
    its address can be found.
    """

    up: bool = True
    epoch: int = bounded(0, "epochs")
    mount: Mount = Mount.MOUNTED
    mounted: int = bounded(0, "epochs")
    joined: bool = True
    published: bool = True


@frozen
class Reader:
    """A client and its present look-up.

    space, put, epoch: what the master's answer named. since: the oldest put it may be given. pins:
    how many it holds. wrong: what it read is not what it asked for. copy, copy_put: the object it
    keeps. gets: how many look-ups it made. shunned: where its put has failed. owes_free: its error
    path frees the space once more. put_lost, used_wrong, unpinned_twice: what went wrong for good.
    """

    stage: Get = Get.IDLE
    key: int | None = identifier(Keys)
    space: int | None = identifier(Spaces)
    put: int = bounded(0, "puts")
    epoch: int = bounded(0, "epochs")
    since: int = bounded(0, "puts")
    pins: int = bounded(0, 1)
    wrong: bool = False
    copy: int | None = identifier(Keys)
    copy_put: int = bounded(0, "puts")
    gets: int = bounded(0, "gets")
    shunned: frozenset[int] = members(Segments)
    owes_free: bool = False
    put_lost: bool = False
    used_wrong: bool = False
    unpinned_twice: bool = False


@frozen
class Master:
    """Who keeps the metadata, and who holds its two locks."""

    leader: Leader = Leader.SERVING
    objects_locked: int | None = identifier(Clients)
    segments_locked: int | None = identifier(Segments)


# The master's answer to a look-up.


@transition(client, client=Clients, key=Keys)
def look_up(world: World, client: int, key: int) -> World | None:
    """{client} looks {key} up."""
    return None if world.ranks or not idle(world, client) else _ask(world, client, key)


@transition(client, key=Keys)
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


@transition(step, client=Clients, key=Keys, space=Spaces)
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


@transition(step, client=Clients, key=Keys)
def miss(world: World, client: int, key: int) -> World | None:
    """The master has no {key} for {client}, which computes it, and wants to put it."""
    here = world.readers[client]
    if here.stage != Get.ASKED or here.key != key or not world.serving:
        return None
    if world.objects[key].entry == Entry.COMPLETE:
        return None
    return world.with_reader(client, stage=Get.TO_PUT)


@transition(step, client=Clients, key=Keys)
def use_hot_copy(world: World, client: int, key: int) -> World | None:
    """{client} has a copy of {key} of its own, and uses it without asking."""
    here = world.readers[client]
    if here.stage != Get.ASKED or here.key != key or here.copy != key or world.ranks:
        return None
    stale = here.copy_put < here.since
    return _end(world, client, Get.USED, used_wrong=here.used_wrong | stale)


# The read.


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


@transition(step, client=Clients, space=Spaces)
def read_first_half(world: World, client: int, space: int) -> World | None:
    """{client} gets the first half of what lies in {space}."""
    return _read(world, client, space, Get.FOUND, Get.HALF)


@transition(step, client=Clients, space=Spaces)
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


@transition(step, client=Clients, space=Spaces)
def read_breaks_off(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} fails: it is not reached, or has nothing to read."""
    here = world.readers[client]
    if here.stage not in (Get.FOUND, Get.HALF) or here.space != space:
        return None
    return None if readable(world, client, space) else get_failed(world, client, space)


@transition(fault, client=Clients, space=Spaces)
def get_failure(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} ends in an error."""
    here = world.readers[client]
    if here.stage not in (Get.FOUND, Get.HALF) or here.space != space:
        return None
    if not world.budget.get_failure:
        return None
    return get_failed(world.spend("get_failure"), client, space)


@transition(fault, client=Clients, space=Spaces)
def short_get(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} brings only the first of its bytes, and no error."""
    here = world.readers[client]
    if here.stage != Get.HALF or here.space != space or not world.budget.short_get:
        return None
    world = world.spend("short_get")
    if world.protocol.check_length:
        return get_failed(world, client, space)
    return world.with_reader(client, stage=Get.READ, wrong=True)


@transition(fault, client=Clients, space=Spaces)
def slow_get(world: World, client: int, space: int) -> World | None:
    """The read of {client} from {space} takes longer than a lease lasts."""
    here = world.readers[client]
    if here.stage not in READING or here.space != space or not world.budget.slow_get:
        return None
    world = world.spend("slow_get")
    if world.protocol.store_protection != StoreProtection.LEASE or not here.pins:
        return world
    return _take_back(world, client, space, 1).with_reader(client, pins=0)


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
        world = _take_back(world, client, space, world.readers[client].pins)
    return _end(world, client, Get.FAILED)


def _end(world: World, client: int, stage: Get, used_wrong: bool = False) -> World:
    """End what a client does."""
    cleared = {"key": None, "space": None, "put": 0, "epoch": 0, "since": 0, "pins": 0}
    used_wrong = world.readers[client].used_wrong | used_wrong
    world = world.with_reader(client, wrong=False, shunned=frozenset(), **cleared)
    return world.with_reader(client, stage=stage, used_wrong=used_wrong)


def _take_back(world: World, client: int, space: int, pins: int) -> World:
    """Give pins back that a client has on an object, if the object is still there."""
    left = max(world.spaces[space].pins - pins, 0)
    return world.with_space(space, pins=left) if intact(world, client, space) else world


@transition(step, client=Clients, space=Spaces)
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


@transition(step, client=Clients)
def trust(world: World, client: int) -> World | None:
    """{client} takes what it read as it is."""
    if world.readers[client].stage != Get.READ or world.protocol.validate_after_store_read:
        return None
    return world.with_reader(client, stage=Get.VALID)


@transition(step)
def agree(world: World) -> World | None:
    """The ranks compare what they got: each of them has all."""
    if not world.ranks or not world.protocol.agree_across_ranks:
        return None
    if some(here.stage != Get.VALID for here in world.readers):
        return None
    for rank in range(len(world.readers)):
        world = world.with_reader(rank, stage=Get.AGREED)
    return world


@transition(step, client=Clients, space=Spaces)
def fall_back(world: World, client: int, space: int) -> World | None:
    """The ranks compare what they got: one of them has nothing, so {client} computes as well."""
    here = world.readers[client]
    if not world.ranks or not world.protocol.agree_across_ranks or not world.serving:
        return None
    if here.stage != Get.VALID or here.space != space:
        return None
    if not some(other.stage in (*FELL_BACK, Get.DEAD) for other in world.readers):
        return None
    return _end(_take_back(world, client, space, here.pins), client, Get.COMPUTED)


@transition(step, client=Clients, key=Keys, space=Spaces)
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
    world = _take_back(world, client, space, 2 if twice else here.pins)
    world = world.with_reader(client, unpinned_twice=here.unpinned_twice | twice)
    return _end(world, client, Get.USED, used_wrong=here.wrong)


def _keep_copy(world: World, client: int, key: int) -> World:
    """A client keeps what it read, unless that is known to be out of date."""
    put = world.readers[client].put
    if world.protocol.invalidate_hot_copies and put < world.objects[key].oldest:
        return world
    return world.with_reader(client, copy=key, copy_put=put)


# The put.


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


@transition(step, client=Clients)
def lock_objects(world: World, client: int) -> World | None:
    """The put of {client} takes the lock of objects, and then wants that of segments."""
    if world.protocol.one_lock_order or world.master.objects_locked != None:
        return None
    if world.readers[client].stage != Get.TO_PUT or not world.serving:
        return None
    return world.with_master(objects_locked=client)


@transition(step, client=Clients, key=Keys, space=Spaces)
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
    return _unlock(world).with_reader(
        client, stage=Get.WRITING, space=space, put=put, epoch=segment.mounted
    )


def _unlock(world: World) -> World:
    return world.with_master(objects_locked=None)


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


@transition(step, client=Clients, key=Keys)
def put_refused(world: World, client: int, key: int) -> World | None:
    """The put of {key} by {client} is refused: it is there already, or being written."""
    here = world.readers[client]
    if here.stage != Get.TO_PUT or here.key != key or not world.serving:
        return None
    if world.objects[key].entry == Entry.ABSENT or not world.protocol.refuse_existing_keys:
        return None
    if not _locked(world, client):
        return None
    return _end(_unlock(world), client, Get.COMPUTED)


@transition(step, client=Clients)
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
    return _end(_unlock(world), client, Get.COMPUTED)


@transition(step, client=Clients, space=Spaces)
def write(world: World, client: int, space: int) -> World | None:
    """{client} writes the rest of its object into {space}."""
    here = world.readers[client]
    if here.stage != Get.WRITING or here.space != space or not reachable(world, client, space):
        return None
    world = world.with_space(space, content=here.key, written=here.put, whole=True)
    return world.with_reader(client, stage=Get.WRITTEN)


@transition(step, client=Clients, key=Keys, space=Spaces)
def commit(world: World, client: int, key: int, space: int) -> World | None:
    """The master hears from {client} that {key} is whole: it can be looked up."""
    here, found = world.readers[client], world.objects[key]
    if here.stage != Get.WRITTEN or here.key != key or here.space != space or not world.serving:
        return None
    if found.put == here.put and found.space == space:
        world = world.with_object(key, entry=Entry.COMPLETE, oldest=here.put)
        world = drop_copies(world, key)
    return _end(world, client, Get.COMPUTED)


def drop_copies(world: World, key: int) -> World:
    """The world in which clients have lost the copies that they keep of a key."""
    if not world.hot_copies or not world.protocol.invalidate_hot_copies:
        return world
    for keeper, here in enumerate(world.readers):
        kept = None if here.copy == key else here.copy
        put = 0 if here.copy == key else here.copy_put
        world = world.with_reader(keeper, copy=kept, copy_put=put)
    return world


@transition(step, client=Clients, key=Keys, space=Spaces)
def write_breaks_off(world: World, client: int, key: int, space: int) -> World | None:
    """The write of {key} into {space} by {client} fails: it cannot be reached."""
    here = world.readers[client]
    if here.stage != Get.WRITING or here.key != key or here.space != space:
        return None
    if reachable(world, client, space) or not world.serving:
        return None
    return revoke(world, client, key, space)


@transition(fault, client=Clients, key=Keys, space=Spaces)
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
    world = _end(world, client, Get.FAILED)
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


@transition(step, client=Clients, space=Spaces)
def free_again(world: World, client: int, space: int) -> World | None:
    """The buffer of {client} is destroyed, which frees {space} once more."""
    here = world.readers[client]
    if not here.owes_free or here.space != space or not world.serving:
        return None
    world = world.with_reader(client, space=None, owes_free=False)
    return world.with_space(space, owner=None, put=0, pins=0, freed_twice=True)


# Room: eviction, removal, and what becomes of spaces.


@transition(step, key=Keys, space=Spaces)
def evict(world: World, key: int, space: int) -> World | None:
    """{key} is evicted from {space}: a put needs the room."""
    waiting = some(
        (here.stage == Get.TO_PUT) & full(world, waiter)
        for waiter, here in enumerate(world.readers)
    )
    if not world.protocol.evict_when_full or not waiting:
        return None
    return _evicted(world, key, space)


@transition(environment, key=Keys, space=Spaces)
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


@transition(client, key=Keys)
def removal(world: World, key: int) -> World | None:
    """A user has {key} removed."""
    found = world.objects[key]
    if found.entry != Entry.COMPLETE or not world.budget.removal or not world.serving:
        return None
    world = release(world.spend("removal"), key, world.protocol.free_after_readers)
    return drop_copies(world.with_object(key, oldest=found.put + 1), key)


@transition(step, key=Keys, space=Spaces)
def reclaim(world: World, key: int, space: int) -> World | None:
    """{space} is freed: {key} is no longer found in it, and nobody reads or writes it any more."""
    room, found = world.spaces[space], world.objects[key]
    if room.owner != key or not world.serving or held(world, space):
        return None
    if found.space == space and found.put == room.put:
        return None
    return world.with_space(space, owner=None, put=0)


@transition(fault, key=Keys, space=Spaces)
def disk_eviction(world: World, key: int, space: int) -> World | None:
    """The disk with {space} is full, and drops {key}."""
    found, segment = world.objects[key], world.segments[world.lenders[space]]
    if found.entry != Entry.COMPLETE or found.space != space or not world.serving:
        return None
    if not world.disk or not segment.up or not world.budget.disk_eviction:
        return None
    world = emptied(world.spend("disk_eviction"), space)
    return release(world, key, spare=True) if world.protocol.tell_master_of_eviction else world


def emptied(world: World, space: int) -> World:
    """The world in which nothing lies in a space."""
    return world.with_space(space, content=None, written=0, whole=False)


# Clients, workers and masters that die.


@transition(fault, client=Clients)
def client_crash(world: World, client: int) -> World | None:
    """{client} crashes: what it had pinned or was writing stays as it is."""
    here = world.readers[client]
    if here.stage in OVER or not world.budget.client_crash:
        return None
    if world.master.objects_locked == client:
        world = _unlock(world)
    return world.spend("client_crash").with_reader(client, stage=Get.DEAD, copy=None, copy_put=0)


@transition(timer, client=Clients, space=Spaces)
def sweep_pins(world: World, client: int, space: int) -> World | None:
    """{client} is known to be dead: its pin on {space} is taken back."""
    here, protocol = world.readers[client], world.protocol
    if here.stage != Get.DEAD or here.space != space or not here.pins or not world.serving:
        return None
    if protocol.store_protection == StoreProtection.PIN and not protocol.sweep_dead_pins:
        return None
    return _take_back(world, client, space, here.pins).with_reader(client, pins=0)


@transition(timer, client=Clients, key=Keys, space=Spaces)
def discard_put(world: World, client: int, key: int, space: int) -> World | None:
    """{client} is known to be dead: its unfinished put of {key} into {space} is discarded."""
    here, found = world.readers[client], world.objects[key]
    if here.stage != Get.DEAD or here.key != key or here.space != space or not world.serving:
        return None
    if found.entry != Entry.PROCESSING or found.space != space or found.put != here.put:
        return None
    return release(world, key, spare=True) if world.protocol.discard_abandoned_puts else None


@transition(fault, client=Clients, key=Keys, space=Spaces)
def slow_put(world: World, client: int, key: int, space: int) -> World | None:
    """{client} takes too long over its put of {key} into {space}, which is discarded meanwhile."""
    here, found = world.readers[client], world.objects[key]
    if here.stage != Get.WRITING or here.key != key or here.space != space or not world.serving:
        return None
    if found.entry != Entry.PROCESSING or found.space != space or not world.budget.slow_put:
        return None
    world, protocol = world.spend("slow_put"), world.protocol
    if not protocol.discard_abandoned_puts:
        return world
    return release(world, key, protocol.free_after_readers)


@transition(fault, segment=Segments)
def segment_loss(world: World, segment: int) -> World | None:
    """The worker with {segment} dies: all that lay there is gone."""
    if not world.segments[segment].up or not world.budget.segment_loss:
        return None
    world = world.spend("segment_loss").with_segment(segment, up=False, joined=False)
    for space, lender in enumerate(world.lenders):
        if lender == segment:
            world = emptied(world, space)
    return world


@transition(fault, segment=Segments)
def segment_return(world: World, segment: int) -> World | None:
    """The worker with {segment} is started again, under the same name, with empty memory."""
    here = world.segments[segment]
    if here.up or not world.budget.segment_return:
        return None
    return world.spend("segment_return").with_segment(segment, up=True, epoch=here.epoch + 1)


@transition(fault, segment=Segments)
def segment_silence(world: World, segment: int) -> World | None:
    """The master hears nothing of the worker with {segment} for too long, and strikes it off."""
    here = world.segments[segment]
    if not here.up or here.mount != Mount.MOUNTED or not world.serving:
        return None
    if not world.budget.segment_silence:
        return None
    world = world.spend("segment_silence")
    return world.with_segment(segment, mount=Mount.UNMOUNTING, joined=False)


@transition(timer, segment=Segments)
def start_unmount(world: World, segment: int) -> World | None:
    """The master finds that the worker with {segment} is gone, and begins to strike it off."""
    here = world.segments[segment]
    another = world.protocol.epoch_of_segment and here.epoch != here.mounted
    if here.mount != Mount.MOUNTED or not world.serving or (here.up and not another):
        return None
    return world.with_segment(segment, mount=Mount.UNMOUNTING)


@transition(step, segment=Segments)
def lock_segments(world: World, segment: int) -> World | None:
    """The unmount of {segment} takes the lock of segments, and then wants that of objects."""
    if world.protocol.one_lock_order or world.master.segments_locked != None:
        return None
    if world.segments[segment].mount != Mount.UNMOUNTING or not world.serving:
        return None
    return world.with_master(segments_locked=segment)


@transition(step, segment=Segments)
def finish_unmount(world: World, segment: int) -> World | None:
    """The master has struck off {segment}, with all that was found in it."""
    if world.segments[segment].mount != Mount.UNMOUNTING or not world.serving:
        return None
    master = world.master
    alone = (master.segments_locked == segment) & (master.objects_locked == None)
    if not world.protocol.one_lock_order and not alone:
        return None
    for space, lender in enumerate(world.lenders):
        if lender == segment:
            world = _strike_off(world, space)
    world = world.with_master(segments_locked=None)
    return world.with_segment(segment, mount=Mount.GONE)


def _strike_off(world: World, space: int) -> World:
    """The world in which nothing is found in a space, and it is nobody's."""
    for key, found in enumerate(world.objects):
        here = found.space == space
        entry = Entry.ABSENT if here else found.entry
        world = world.with_object(key, entry=entry, space=None if here else found.space)
    return world.with_space(space, owner=None, put=0, pins=0)


@transition(step, segment=Segments)
def mount(world: World, segment: int) -> World | None:
    """The worker with {segment} announces itself, and is told that it is mounted."""
    here, tells = world.segments[segment], world.protocol.epoch_of_segment
    if not here.up or here.joined or not world.serving:
        return None
    if here.mount != Mount.GONE:
        return None if tells else world.with_segment(segment, joined=True)
    epoch = here.epoch + 1 if tells and here.epoch == here.mounted else here.epoch
    return world.with_segment(segment, mount=Mount.MOUNTED, mounted=epoch, epoch=epoch, joined=True)


@transition(fault)
def metadata_loss(world: World) -> World | None:
    """The metadata server restarts empty: no address of a segment can be found."""
    if not world.budget.metadata_loss:
        return None
    world = world.spend("metadata_loss")
    for segment in range(len(world.segments)):
        world = world.with_segment(segment, published=False)
    return world


@transition(step, segment=Segments)
def republish(world: World, segment: int) -> World | None:
    """The worker with {segment} finds its address missing, and publishes it again."""
    here = world.segments[segment]
    if here.published or not here.up or not world.protocol.republish_segments:
        return None
    return world.with_segment(segment, published=True)


@transition(fault)
def master_crash(world: World) -> World | None:
    """The master dies."""
    if world.master.leader == Leader.DEAD or not world.budget.master_crash:
        return None
    return world.spend("master_crash").with_master(leader=Leader.DEAD)


@transition(fault)
def master_hang(world: World) -> World | None:
    """The master freezes: its connections stay open, and it answers nobody."""
    if not world.serving or not world.budget.master_hang:
        return None
    return world.spend("master_hang").with_master(leader=Leader.SILENT)


@transition(timer)
def fail_over(world: World) -> World | None:
    """Another master takes over."""
    if world.serving:
        return None
    if world.master.leader == Leader.SILENT and not world.protocol.fail_over_on_silence:
        return None
    world = evolve(world, master=Master())
    if world.protocol.replicate_metadata:
        return world
    for key, found in enumerate(world.objects):
        lost = found.entry == Entry.COMPLETE
        world = world.with_object(
            key, entry=Entry.ABSENT, space=None, forgotten=found.forgotten | lost
        )
    for space in range(len(world.spaces)):
        world = world.with_space(space, owner=None, put=0, pins=0)
    return world
