"""The shared store: how many states it has, and what each of its transitions does."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from bundled import count, run

from rackproof.model.kernel import ModelError, System
from rackproof.model.scope import Scope
from rackproof.model.store import gets, loss, puts, room
from rackproof.model.store.records import Entry, Get, Leader, Mount
from rackproof.model.world import World
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting


def system(
    scope: dict[str, object],
    faults: dict[str, int] | None = None,
    mechanisms: dict[str, object] | None = None,
) -> System:
    rack, sizes = {"aggregated": 1}, {"requests": 0, "clients": 1, **scope}
    bundled = Bundled("reference", mechanisms or {}, rack, sizes, faults or {})
    return bundled_setting(bundled, Path()).system


def initial(
    scope: dict[str, object], faults: dict[str, int] | None = None, **changed: object
) -> World:
    mechanisms = {name.replace("_", "-"): value for name, value in changed.items()}
    world = system(scope, faults, mechanisms).initial
    assert isinstance(world, World)
    return world


FOUND = ((gets.look_up, 0, 0), (gets.find, 0, 0, 0))
READ = (*FOUND, (gets.read_first_half, 0, 0), (gets.read_second_half, 0, 0))
WRITING = ((gets.look_up, 0, 0), (gets.miss, 0, 0), (puts.start_put, 0, 0, 0))
STORED: dict[str, object] = {"stored": 1}

Count = tuple[dict[str, object], dict[str, int], int, int]

COUNTS: dict[str, Count] = {
    # idle, asked, found, half, read, valid, used.
    "a get": (STORED, {}, 7, 7),
    # idle, asked, to put, writing, written, computed.
    "a put": ({}, {}, 6, 6),
    # Two readers that share nothing but a count: 7 x 7; pairs of 7 up to their exchange: 7 x 8 / 2.
    "two gets": ({**STORED, "clients": 2}, {}, 49, 28),
    "two puts": ({"clients": 2}, {}, 59, 32),
    # Ranks start and use together: idle; 5 x 5 from asked to valid; then agreed or used, 2 x 2.
    "two ranks": ({**STORED, "clients": 2, "ranks": True}, {}, 30, 19),
    "eviction": ({**STORED, "clients": 2, "keys": 2}, {}, 193, 104),
    "a restart": (STORED, {"segment-loss": 1, "segment-return": 1}, 72, 72),
    # The 7 of a get: before the hang, during it and after it.
    "a failover": (STORED, {"master-hang": 1}, 21, 21),
    "a removal": ({**STORED, "gets": 2, "hot-copies": True}, {"removal": 1}, 54, 54),
    "two segments": ({"segments": 2, "keys": 2}, {"segment-silence": 1}, 155, 42),
}
"""Scope and faults; how many states, and how many up to symmetry."""


@pytest.mark.parametrize("name", COUNTS)
def test_plain_functions_and_native_search_count_the_same_states(name: str) -> None:
    scope, faults, states, orbits = COUNTS[name]
    world = system(scope, faults)
    count(world, states, orbits)


def test_a_world_without_clients_has_no_store() -> None:
    world = system({"clients": 0}).initial
    assert world.objects == world.spaces == world.segments == world.readers == ()


def test_what_is_stored_has_a_key_and_a_space() -> None:
    with pytest.raises(ModelError, match="stored is at most 1"):
        Scope(clients=1, stored=2, spaces=4)


def test_a_reader_pins_and_lets_go() -> None:
    world = run(initial(STORED), *FOUND)
    assert (world.spaces[0].pins, world.readers[0].put) == (1, 1)
    world = run(initial(STORED), *READ, (gets.validate, 0, 0), (gets.use, 0, 0, 0))
    assert (world.spaces[0].pins, world.readers[0].stage) == (0, Get.USED)
    assert not world.readers[0].used_wrong


def test_an_object_is_found_once_it_is_committed() -> None:
    world = run(initial({"clients": 2}), *WRITING, (gets.look_up, 1, 0))
    assert world.objects[0].entry == Entry.PROCESSING
    assert gets.find(world, 1, 0, 0) is None
    world = run(world, (puts.write, 0, 0), (puts.commit, 0, 0, 0))
    assert (world.objects[0].entry, world.objects[0].oldest) == (Entry.COMPLETE, 1)
    assert gets.find(world, 1, 0, 0) is not None


def test_an_object_that_is_published_early_is_read_half_written() -> None:
    world = initial({"clients": 2}, publish_after_commit=False)
    world = run(world, *WRITING, (gets.look_up, 1, 0), (gets.find, 1, 0, 0))
    assert run(world, (gets.read_first_half, 1, 0)).readers[1].wrong


def test_a_disk_has_nothing_to_read_where_memory_has_something() -> None:
    world = initial({"clients": 2, "disk": True}, publish_after_commit=False)
    world = run(world, *WRITING, (gets.look_up, 1, 0), (gets.find, 1, 0, 0))
    assert gets.read_first_half(world, 1, 0) is None
    assert run(world, (gets.read_breaks_off, 1, 0)).readers[1].stage == Get.FAILED


def test_a_second_put_is_refused() -> None:
    world = run(initial({"clients": 2, "spaces": 2}), *WRITING, (gets.look_up, 1, 0))
    world = run(world, (gets.miss, 1, 0))
    assert puts.start_put(world, 1, 0, 1) is None
    assert run(world, (puts.put_refused, 1, 0)).readers[1].stage == Get.COMPUTED


def test_a_second_put_takes_the_place_of_the_first() -> None:
    world = initial({"clients": 2, "spaces": 2}, refuse_existing_keys=False)
    world = run(world, *WRITING, (gets.look_up, 1, 0), (gets.miss, 1, 0))
    world = run(world, (puts.start_put, 1, 0, 1))
    assert (world.objects[0].space, world.objects[0].put) == (1, 2)
    assert world.spaces[0].owner == 0, "it is still written"
    world = run(world, (puts.write, 0, 0), (puts.commit, 0, 0, 0))
    assert world.objects[0].entry == Entry.PROCESSING, "the commit of a put that was replaced"
    assert run(world, (room.reclaim, 0, 0)).spaces[0].owner is None


def crowded(**changed: object) -> World:
    """One client reads key-0, another wants its space for key-1."""
    world = initial({**STORED, "clients": 2, "keys": 2}, {"pressure": 1, "removal": 1}, **changed)
    return run(world, *FOUND, (gets.look_up, 1, 1), (gets.miss, 1, 1))


def test_what_is_read_is_not_evicted() -> None:
    assert room.evict_object(crowded(), 0, 0) is None
    assert room.pressure(crowded(), 0, 0) is None
    assert puts.give_up_put(crowded(), 1) is not None


def test_a_put_that_failed_is_tried_at_another_worker() -> None:
    steps = (*WRITING, (puts.put_failure, 0, 0, 0))
    world = run(initial({"segments": 2}, {"put-failure": 1}), *steps)
    assert (world.readers[0].stage, world.readers[0].shunned) == (Get.TO_PUT, frozenset({0}))
    assert puts.start_put(world, 0, 0, 0) is None
    world = run(world, (puts.start_put, 0, 0, 1), (puts.write, 0, 1), (puts.commit, 0, 0, 1))
    assert (world.objects[0].entry, world.readers[0].shunned) == (Entry.COMPLETE, frozenset())
    alone = run(initial({}, {"put-failure": 1}), *steps)
    assert (alone.readers[0].stage, alone.readers[0].put_lost) == (Get.FAILED, False)


def test_a_put_does_not_give_up_while_it_can_evict() -> None:
    world = crowded(store_protection="none")
    assert puts.give_up_put(world, 1) is None
    assert puts.give_up_put(evolve(world, protocol=crowded(evict_when_full=False).protocol), 1)
    assert room.evict_object(crowded(evict_when_full=False, store_protection="none"), 0, 0) is None


def test_a_reader_asks_whether_its_object_was_there() -> None:
    world = run(crowded(evict_unpinned_only=False), (gets.read_first_half, 0, 0))
    world = run(world, (room.evict_object, 0, 0), (puts.start_put, 1, 1, 0))
    world = run(world, (gets.read_second_half, 0, 0), (gets.validate, 0, 0))
    assert world.readers[0].stage == Get.FAILED
    assert (world.spaces[0].owner, world.spaces[0].pins) == (1, 0)


def test_a_sender_sends_nothing_when_its_object_is_gone() -> None:
    world = run(crowded(store_access="send", store_protection="none"), (room.evict_object, 0, 0))
    assert gets.read_first_half(world, 0, 0) is None
    assert gets.read_breaks_off(world, 0, 0) is None


def test_a_removed_object_keeps_its_space_until_it_is_read() -> None:
    world = run(crowded(), (room.removal, 0))
    assert (world.objects[0].entry, world.objects[0].oldest) == (Entry.ABSENT, 2)
    assert (world.spaces[0].owner, room.reclaim(world, 0, 0)) == (0, None)
    rest = (gets.read_first_half, 0, 0), (gets.read_second_half, 0, 0), (gets.validate, 0, 0)
    world = run(world, *rest, (gets.use, 0, 0, 0), (room.reclaim, 0, 0))
    assert world.spaces[0].owner is None
    assert run(crowded(free_after_readers=False), (room.removal, 0)).spaces[0].owner is None


def test_a_removal_takes_the_copies_that_clients_keep() -> None:
    scope: dict[str, object] = {**STORED, "gets": 2, "hot-copies": True}
    steps = (*READ, (gets.validate, 0, 0), (gets.use, 0, 0, 0), (room.removal, 0))
    world = run(initial(scope, {"removal": 1}), *steps, (gets.look_up, 0, 0))
    assert world.readers[0].copy is None
    stale = run(initial(scope, {"removal": 1}, invalidate_hot_copies=False), *steps)
    stale = run(stale, (gets.look_up, 0, 0), (gets.use_hot_copy, 0, 0))
    assert stale.readers[0].used_wrong


def test_a_copy_is_not_kept_of_what_was_removed_during_the_read() -> None:
    scope: dict[str, object] = {**STORED, "gets": 2, "hot-copies": True}
    world = run(initial(scope, {"removal": 1}), *READ, (room.removal, 0))
    assert run(world, (gets.validate, 0, 0), (gets.use, 0, 0, 0)).readers[0].copy is None


def test_a_lease_ends_under_a_slow_reader_and_a_pin_does_not() -> None:
    assert run(initial(STORED, {"slow-get": 1}), *FOUND, (gets.slow_get, 0, 0)).spaces[0].pins == 1
    world = initial(STORED, {"slow-get": 1}, store_protection="lease")
    assert run(world, *FOUND, (gets.slow_get, 0, 0)).spaces[0].pins == 0


def test_the_pin_of_a_dead_client_is_swept() -> None:
    world = run(initial(STORED, {"client-crash": 1}), *FOUND, (loss.client_crash, 0))
    assert world.spaces[0].pins == 1
    assert run(world, (loss.sweep_pins, 0, 0)).spaces[0].pins == 0


def test_the_put_of_a_dead_client_is_discarded() -> None:
    world = run(initial({}, {"client-crash": 1}), *WRITING, (loss.client_crash, 0))
    world = run(world, (loss.discard_put, 0, 0, 0))
    assert (world.objects[0].entry, world.spaces[0].owner) == (Entry.ABSENT, None)


def test_the_space_of_a_slow_put_waits_for_the_writer() -> None:
    world = run(initial({}, {"slow-put": 1}), *WRITING, (loss.slow_put, 0, 0, 0))
    assert (world.objects[0].entry, world.spaces[0].owner) == (Entry.ABSENT, 0)
    world = run(world, (puts.write, 0, 0), (puts.commit, 0, 0, 0), (room.reclaim, 0, 0))
    assert (world.objects[0].entry, world.spaces[0].owner) == (Entry.ABSENT, None)


def test_ranks_use_what_all_of_them_have() -> None:
    scope: dict[str, object] = {**STORED, "clients": 2, "ranks": True}
    world = run(initial(scope, {"pressure": 1}), (gets.look_up_together, 0))
    assert gets.look_up(world, 0, 0) is None
    world = run(world, (gets.find, 0, 0, 0), *READ[2:], (gets.validate, 0, 0))
    assert (gets.agree(world), gets.fall_back(world, 0, 0)) == (None, None)
    both = run(world, (gets.find, 1, 0, 0), (gets.read_first_half, 1, 0))
    both = run(both, (gets.read_second_half, 1, 0), (gets.validate, 1, 0), (gets.agree,))
    assert [here.stage for here in both.readers] == [Get.AGREED, Get.AGREED]
    assert run(both, (gets.use, 0, 0, 0)).readers[0].stage == Get.USED


def test_a_rank_falls_back_with_the_others() -> None:
    scope: dict[str, object] = {**STORED, "clients": 2, "ranks": True}
    world = initial(scope, {"get-failure": 1})
    world = run(world, (gets.look_up_together, 0), (gets.find, 1, 0, 0))
    world = run(world, (gets.find, 0, 0, 0), *READ[2:], (gets.validate, 0, 0))
    world = run(world, (gets.get_failure, 1, 0), (gets.fall_back, 0, 0))
    assert (world.readers[0].stage, world.spaces[0].pins) == (Get.COMPUTED, 0)


RESTART = {"segment-loss": 1, "segment-return": 1}


def test_a_worker_that_restarts_is_mounted_when_the_old_one_is_struck_off() -> None:
    world = run(initial(STORED, RESTART), *FOUND, (loss.segment_loss, 0), (loss.segment_return, 0))
    assert gets.read_first_half(world, 0, 0) is None
    assert loss.mount(world, 0) is None
    world = run(world, (loss.start_unmount, 0), (loss.finish_unmount, 0), (loss.mount, 0))
    assert (world.segments[0].mount, world.segments[0].mounted) == (Mount.MOUNTED, 1)
    assert world.objects[0].entry == Entry.ABSENT


def test_a_worker_that_restarts_is_struck_off_with_the_old_one() -> None:
    world = initial(STORED, RESTART, epoch_of_segment=False)
    world = run(world, (loss.segment_loss, 0), (loss.start_unmount, 0))
    world = run(world, (loss.segment_return, 0), (loss.mount, 0), (loss.finish_unmount, 0))
    assert (world.segments[0].mount, world.segments[0].joined) == (Mount.GONE, True)


def test_what_was_posted_to_a_worker_that_was_struck_off_does_not_reach_it() -> None:
    world = run(initial({}, {"segment-silence": 1}), *WRITING, (loss.segment_silence, 0))
    assert puts.write(world, 0, 0) is not None, "nobody else has the space yet"
    world = run(world, (loss.finish_unmount, 0), (loss.mount, 0))
    assert puts.write(world, 0, 0) is None
    assert run(world, (puts.write_breaks_off, 0, 0, 0)).readers[0].stage == Get.FAILED


def test_an_address_that_was_lost_is_published_again() -> None:
    world = run(initial(STORED, {"metadata-loss": 1}), *FOUND, (loss.metadata_loss,))
    assert gets.read_first_half(world, 0, 0) is None
    assert (
        run(world, (loss.republish, 0), (gets.read_first_half, 0, 0)).readers[0].stage == Get.HALF
    )


def test_two_locks_in_opposite_orders_block_each_other() -> None:
    world = initial({}, {"segment-silence": 1}, one_lock_order=False)
    world = run(world, (gets.look_up, 0, 0), (gets.miss, 0, 0), (loss.segment_silence, 0))
    world = run(world, (puts.lock_objects, 0), (loss.lock_segments, 0))
    assert loss.finish_unmount(world, 0) is None
    assert puts.give_up_put(world, 0) is None


@pytest.mark.parametrize("fault", [loss.master_crash, loss.master_hang])
def test_another_master_takes_over_with_the_metadata(fault: object) -> None:
    faults = {"master-crash": 1, "master-hang": 1}
    world = run(initial(STORED, faults), (gets.look_up, 0, 0), (fault,))
    assert gets.find(world, 0, 0, 0) is None
    world = run(world, (loss.fail_over,))
    assert (world.master.leader, world.objects[0].entry) == (Leader.SERVING, Entry.COMPLETE)


def test_a_master_without_the_metadata_takes_memory_for_empty() -> None:
    world = initial(STORED, {"master-crash": 1}, replicate_metadata=False)
    world = run(world, *FOUND, (loss.master_crash,), (loss.fail_over,))
    assert (world.objects[0].forgotten, world.spaces[0].owner, world.spaces[0].pins) == (
        True,
        None,
        0,
    )
    assert world.spaces[0].whole, "what lies there is still there"
