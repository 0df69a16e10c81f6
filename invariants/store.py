"""A store that several engines share."""

from __future__ import annotations

from rackproof.invariants.premises import (
    a_client_was_served,
    a_lookup_was_made,
    a_put_was_tried,
    a_rank_was_served,
    a_segment_was_unreachable,
    an_object_was_complete,
    an_object_was_found,
)
from rackproof.model.kernel import always, eventually
from rackproof.model.sorts import Clients, Keys, Segments, Spaces
from rackproof.model.store.records import FELL_BACK, OVER, Entry, Get, Mount
from rackproof.model.world import World


@always(
    client=Clients,
    premise=a_client_was_served,
    why="An engine that continues from other KV answers fluently, to somebody else's prompt.",
    catches=(
        "LMCache#3444",
        "LMCache#993",
        "Mooncake#2447",
        "Mooncake#3073",
        "Mooncake#4239",
        "Mooncake#501",
        "dynamo#15079",
    ),
)
def store_read_consistent(world: World, client: int) -> bool:
    """No client uses bytes of another object or put, of half an object, or of a removed one.

    Broken: {client} used bytes that are wrong, cut short or out of date.
    """
    return not world.readers[client].used_wrong


@always(
    client=Clients,
    premise=an_object_was_found,
    why="A hit that cannot be read costs the wait, and then the prefill that it was to save.",
    catches=("Mooncake#2818",),
)
def no_get_failure_without_fault(world: World, client: int) -> bool:
    """No read or write of a client fails in a run without any fault.

    Broken: A read or write of {client} failed in a run without any fault.
    """
    return world.readers[client].stage != Get.FAILED or world.budget != world.given


@always(
    client=Clients,
    premise=a_put_was_tried,
    why="What is not stored is computed again, for every request with the same prefix.",
    catches=("Mooncake#3688",),
)
def no_needless_put_failure(world: World, client: int) -> bool:
    """No put fails while a worker that it was not tried at has room.

    Broken: A put of {client} failed, though a worker that it was not tried at had room.
    """
    return not world.readers[client].put_lost


@always(
    client=Clients,
    other=Clients,
    premise=a_rank_was_served,
    why="Ranks that disagree on what is computed run different collectives: garbage, or a hang.",
    catches=("LMCache#1101",),
)
def ranks_agree(world: World, client: int, other: int) -> bool:
    """No rank uses the stored prefix while another rank of the request computes it.

    Broken: {client} used the stored prefix, and {other} went on without it.
    """
    if not world.ranks or world.readers[client].stage != Get.USED:
        return True
    return world.readers[other].stage not in FELL_BACK


@eventually(
    client=Clients,
    premise=a_lookup_was_made,
    why="An engine that waits for its store serves nobody, though it could compute.",
    catches=("LMCache#2942", "Mooncake#2383", "Mooncake#2486", "dynamo#5012", "TRT#12542"),
)
def store_progress(world: World, client: int) -> bool:
    """Every look-up and every put ends sooner or later, well or badly.

    Broken: A look-up or a put of {client} never ends.
    """
    return world.readers[client].stage in OVER


@eventually(
    space=Spaces,
    premise=an_object_was_found,
    why="What stays pinned is never evicted; enough of it and the store takes nothing more.",
    catches=("LMCache#2847", "Mooncake#2628"),
)
def no_pin_leak(world: World, space: int) -> bool:
    """Nothing stays pinned for good.

    Broken: {space} stays pinned for ever.
    """
    return world.spaces[space].pins == 0


@always(
    client=Clients,
    premise=an_object_was_found,
    why="The second unpin takes the pin of another reader, whose object is then evicted.",
    catches=("LMCache#2954",),
)
def no_double_unpin(world: World, client: int) -> bool:
    """No reader unpins what it has unpinned.

    Broken: {client} unpinned twice what it had pinned once.
    """
    return not world.readers[client].unpinned_twice


@always(
    space=Spaces,
    premise=a_put_was_tried,
    why="The second free takes the space of whoever was given it in between.",
    catches=("Mooncake#3125",),
)
def no_double_free_of_space(world: World, space: int) -> bool:
    """No space is freed twice for one put.

    Broken: {space} was freed twice for one put.
    """
    return not world.spaces[space].freed_twice


@eventually(
    space=Spaces,
    premise=a_put_was_tried,
    why="Space of an object that nobody can find is memory lost until a restart.",
    catches=("Mooncake put_start_discard_timeout",),
)
def store_reclaims(world: World, space: int) -> bool:
    """No space stays taken for good without an object that can be looked up.

    Broken: {space} stays taken, and has no object that can be looked up.
    """
    room = world.spaces[space]
    if room.owner == None or not world.serving:
        return True
    return any(
        room.owner == key and found.space == space and found.entry == Entry.COMPLETE
        for key, found in enumerate(world.objects)
    )


@eventually(
    key=Keys,
    space=Spaces,
    premise=an_object_was_complete,
    why="Each look-up of a ghost is a hit, and each read of it a failure or garbage.",
    catches=("Mooncake#1549", "Mooncake#501"),
)
def no_ghost_object(world: World, key: int, space: int) -> bool:
    """Nothing can be looked up for good that does not lie whole where it is said to lie.

    Broken: {key} can still be looked up, and does not lie whole in {space}, where it is said to
    lie.
    """
    found, room = world.objects[key], world.spaces[space]
    if found.entry != Entry.COMPLETE or found.space != space or not world.serving:
        return True
    same = room.content == key and room.written == found.put and room.whole
    return same and world.segments[world.lenders[space]].up


@always(
    key=Keys,
    premise=an_object_was_complete,
    why="A store that forgets everything sends every prompt of the fleet back to prefill.",
    catches=("Mooncake#1871",),
)
def no_object_forgotten(world: World, key: int) -> bool:
    """No object is lost but by its removal, its eviction or the loss of its memory.

    Broken: {key} was lost when another master took over.
    """
    return not world.objects[key].forgotten


@eventually(
    segment=Segments,
    premise=a_segment_was_unreachable,
    why="Memory that was lent and is not used is capacity lost without an alarm.",
    catches=("Mooncake#501", "Mooncake#2246"),
)
def live_segment_serves(world: World, segment: int) -> bool:
    """No worker that runs stays unmounted or out of reach for good.

    Broken: The worker of {segment} runs, and its memory stays unmounted or out of reach.
    """
    here = world.segments[segment]
    if not here.up or not world.serving:
        return True
    return here.mount == Mount.MOUNTED and here.published
