"""Clients, workers, metadata and masters that are lost, and that come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.kernel import evolve, fault, step, timer, transition
from rackproof.model.protocol import StoreProtection
from rackproof.model.sorts import Clients, Keys, Segments, Spaces
from rackproof.model.store.common import emptied, release, take_back, unlock
from rackproof.model.store.records import OVER, Entry, Get, Leader, Master, Mount

if TYPE_CHECKING:
    from rackproof.model.world import World


@transition(fault, duration="any-time", client=Clients)
def client_crash(world: World, client: int) -> World | None:
    """{client} crashes: what it had pinned or was writing stays as it is."""
    here = world.readers[client]
    if here.stage in OVER or not world.budget.client_crash:
        return None
    if world.master.objects_locked == client:
        world = unlock(world)
    return world.spend("client_crash").with_reader(client, stage=Get.DEAD, copy=None, copy_put=0)


@transition(timer, duration="pin-sweep", client=Clients, space=Spaces)
def sweep_pins(world: World, client: int, space: int) -> World | None:
    """{client} is known to be dead: its pin on {space} is taken back."""
    here, protocol = world.readers[client], world.protocol
    if here.stage != Get.DEAD or here.space != space or not here.pins or not world.serving:
        return None
    if protocol.store_protection == StoreProtection.PIN and not protocol.sweep_dead_pins:
        return None
    return take_back(world, client, space, here.pins).with_reader(client, pins=0)


@transition(timer, duration="put-discard", client=Clients, key=Keys, space=Spaces)
def discard_put(world: World, client: int, key: int, space: int) -> World | None:
    """{client} is known to be dead: its unfinished put of {key} into {space} is discarded."""
    here, found = world.readers[client], world.objects[key]
    if here.stage != Get.DEAD or here.key != key or here.space != space or not world.serving:
        return None
    if found.entry != Entry.PROCESSING or found.space != space or found.put != here.put:
        return None
    return release(world, key, spare=True) if world.protocol.discard_abandoned_puts else None


@transition(fault, duration="outlived-put", client=Clients, key=Keys, space=Spaces)
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


@transition(fault, duration="any-time", segment=Segments)
def segment_loss(world: World, segment: int) -> World | None:
    """The worker with {segment} dies: all that lay there is gone."""
    if not world.segments[segment].up or not world.budget.segment_loss:
        return None
    world = world.spend("segment_loss").with_segment(segment, up=False, joined=False)
    for space, lender in enumerate(world.lenders):
        if lender == segment:
            world = emptied(world, space)
    return world


@transition(fault, duration="process-restart", segment=Segments)
def segment_return(world: World, segment: int) -> World | None:
    """The worker with {segment} is started again, under the same name, with empty memory."""
    here = world.segments[segment]
    if here.up or not world.budget.segment_return:
        return None
    return world.spend("segment_return").with_segment(segment, up=True, epoch=here.epoch + 1)


@transition(fault, duration="any-time", segment=Segments)
def segment_silence(world: World, segment: int) -> World | None:
    """The master hears nothing of the worker with {segment} for too long, and strikes it off."""
    here = world.segments[segment]
    if not here.up or here.mount != Mount.MOUNTED or not world.serving:
        return None
    if not world.budget.segment_silence:
        return None
    world = world.spend("segment_silence")
    return world.with_segment(segment, mount=Mount.UNMOUNTING, joined=False)


@transition(timer, duration="segment-ttl", segment=Segments)
def start_unmount(world: World, segment: int) -> World | None:
    """The master finds that the worker with {segment} is gone, and begins to strike it off."""
    here = world.segments[segment]
    another = world.protocol.epoch_of_segment and here.epoch != here.mounted
    if here.mount != Mount.MOUNTED or not world.serving or (here.up and not another):
        return None
    return world.with_segment(segment, mount=Mount.UNMOUNTING)


@transition(step, duration="in-process", segment=Segments)
def lock_segments(world: World, segment: int) -> World | None:
    """The unmount of {segment} takes the lock of segments, and then wants that of objects."""
    if world.protocol.one_lock_order or world.master.segments_locked != None:
        return None
    if world.segments[segment].mount != Mount.UNMOUNTING or not world.serving:
        return None
    return world.with_master(segments_locked=segment)


@transition(step, duration="in-process", segment=Segments)
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


@transition(step, duration="store-heartbeat", segment=Segments)
def mount(world: World, segment: int) -> World | None:
    """The worker with {segment} announces itself, and is told that it is mounted."""
    here, tells = world.segments[segment], world.protocol.epoch_of_segment
    if not here.up or here.joined or not world.serving:
        return None
    if here.mount != Mount.GONE:
        return None if tells else world.with_segment(segment, joined=True)
    epoch = here.epoch + 1 if tells and here.epoch == here.mounted else here.epoch
    return world.with_segment(segment, mount=Mount.MOUNTED, mounted=epoch, epoch=epoch, joined=True)


@transition(fault, duration="any-time")
def metadata_loss(world: World) -> World | None:
    """The metadata server restarts empty: no address of a segment can be found."""
    if not world.budget.metadata_loss:
        return None
    world = world.spend("metadata_loss")
    for segment in range(len(world.segments)):
        world = world.with_segment(segment, published=False)
    return world


@transition(step, duration="store-heartbeat", segment=Segments)
def republish(world: World, segment: int) -> World | None:
    """The worker with {segment} finds its address missing, and publishes it again."""
    here = world.segments[segment]
    if here.published or not here.up or not world.protocol.republish_segments:
        return None
    return world.with_segment(segment, published=True)


@transition(fault, duration="any-time")
def master_crash(world: World) -> World | None:
    """The master dies."""
    if world.master.leader == Leader.DEAD or not world.budget.master_crash:
        return None
    return world.spend("master_crash").with_master(leader=Leader.DEAD)


@transition(fault, duration="any-time")
def master_hang(world: World) -> World | None:
    """The master freezes: its connections stay open, and it answers nobody."""
    if not world.serving or not world.budget.master_hang:
        return None
    return world.spend("master_hang").with_master(leader=Leader.SILENT)


@transition(timer, duration="leader-lease")
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
