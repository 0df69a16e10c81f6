"""The KV index: what events, answers, restarts and removals make of the router's belief."""

from __future__ import annotations

from pathlib import Path

import pytest
from bundled import run

from rackproof.model import cache, discovery, endpoint, index
from rackproof.model.cache import Kind
from rackproof.model.index import Answer, Lane, Reading, reading
from rackproof.model.world import World
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

FAULTS = dict.fromkeys(
    (
        "crash",
        "lost-event",
        "publish-failure",
        "engine-restart",
        "rejoin",
        "reregistration",
        "publisher-move",
        "router-restart",
    ),
    1,
)


def start(
    mechanisms: dict[str, object] | None = None, workers: int = 1, prefixes: int = 2
) -> World:
    scope = {"requests": 0, "prefixes": prefixes, "cache-changes": 4}
    case = Bundled("reference", mechanisms or {}, {"aggregated": workers}, scope, FAULTS)
    world = bundled_setting(case, Path()).system.initial
    assert isinstance(world, World)
    return world


STORED = ((cache.store, 0, 0), (index.apply_stored, 0, 0))
BOTH = (*STORED, (cache.store, 0, 1), (index.apply_stored, 0, 1))
REMOVED = ((endpoint.crash, 0), (discovery.lease_expires, 0), (index.detach, 0))


def believed(world: World, worker: int = 0) -> set[int]:
    return set(world.known[worker].believed)


def held(world: World, worker: int = 0) -> set[int]:
    return set(world.caches[worker].holds)


def test_the_index_follows_the_events_in_their_order() -> None:
    world = run(start(), *BOTH)
    assert believed(world) == held(world) == {0, 1}
    world = run(world, (cache.evict, 0, 1), (cache.evict, 0, 0))
    assert [event.number for event in world.caches[0].flight] == [2, 3]
    assert index.apply_removed(world, 0, 0) is None
    world = run(world, (index.apply_removed, 0, 1), (index.apply_removed, 0, 0))
    assert believed(world) == held(world) == set()


def test_a_prefix_is_stored_behind_its_parent_and_evicted_before_it() -> None:
    assert cache.store(start(), 0, 1) is None
    world = run(start(), *BOTH)
    assert cache.evict(world, 0, 0) is None
    assert cache.evict(world, 0, 1) is not None


def test_no_more_events_are_on_their_way_than_there_is_room_for() -> None:
    world = run(start(), (cache.store, 0, 0), (cache.store, 0, 1))
    assert cache.evict(world, 0, 1) is None


def test_a_gap_has_the_worker_asked_and_the_answer_is_all_it_holds() -> None:
    world = run(start(), (cache.store, 0, 0), (cache.lost_event, 0), (cache.store, 0, 1))
    assert reading(world, 0) is Reading.GAP
    world = run(world, (index.see_gap, 0))
    assert reading(world, 0) is Reading.NOTHING
    world = run(world, (index.answer, 0), (index.take_answer, 0))
    assert believed(world) == {0, 1}
    assert (world.known[0].due, world.known[0].lane) == (2, Lane.FOLLOWING)
    assert world.known[0].answer == Answer()


def test_an_orphan_is_refused_where_gaps_are_ignored() -> None:
    # ParentBlockNotFound: the block is there and its parent is, but nobody ever enters either.
    world = run(start({"after-gap": "ignore"}), (cache.store, 0, 0), (cache.lost_event, 0))
    world = run(world, (cache.store, 0, 1))
    assert index.apply_stored(world, 0, 1) is None
    world = run(world, (index.refuse_orphan, 0, 1))
    assert (believed(world), held(world)) == (set(), {0, 1})


def test_a_heartbeat_shows_the_loss_of_the_last_event() -> None:
    lost = ((cache.store, 0, 0), (cache.lost_event, 0))
    assert index.heartbeat(run(start({"heartbeat-numbers": False}), *lost), 0) is None
    world = run(start(), *lost, (index.heartbeat, 0), (index.answer, 0), (index.take_answer, 0))
    assert believed(world) == {0}
    assert index.heartbeat(world, 0) is None


def test_an_event_that_comes_behind_the_answer_is_applied_to_it() -> None:
    asked = (*STORED, (index.router_restart,), (index.attach, 0), (index.answer, 0))
    world = run(start(), *asked, (cache.store, 0, 1), (index.take_answer, 0))
    world = run(world, (index.apply_stored, 0, 1))
    assert believed(world) == {0, 1}


def test_an_event_that_is_not_held_back_is_undone_by_the_answer() -> None:
    # dynamo#9881: the answer is of the moment it was taken, and is applied over what came since.
    asked = (*STORED, (index.router_restart,), (index.attach, 0), (index.answer, 0))
    world = run(start({"hold-while-asking": False}), *asked, (cache.evict, 0, 0))
    world = run(world, (index.apply_removed, 0, 0), (index.take_answer, 0))
    assert (believed(world), held(world)) == ({0}, set())


def test_a_replay_brings_back_a_lost_event_and_not_one_that_was_never_sent() -> None:
    for fault, expected in ((cache.lost_event, {0}), (cache.publish_failure, set())):
        world = run(start({"after-gap": "replay"}), (cache.store, 0, 0), (fault, 0))
        world = run(world, (index.heartbeat, 0), (index.answer, 0), (index.take_answer, 0))
        assert (believed(world), world.known[0].due) == (expected, 1)


def test_a_replay_buffer_forgets() -> None:
    world = run(start({"after-gap": "replay"}), *BOTH, (cache.evict, 0, 1))
    assert [event.number for event in world.caches[0].kept] == [1, 2]
    world = run(world, (index.router_restart,), (index.attach, 0))
    world = run(world, (index.answer, 0), (index.take_answer, 0))
    assert (believed(world), held(world)) == (set(), {0})


@pytest.mark.parametrize(
    ("mechanisms", "seen"),
    [
        ({"restart-signal": "none"}, Reading.STALE),
        ({"restart-signal": "none", "persistent-publisher": True}, Reading.NEXT),
        ({"restart-signal": "rollback"}, Reading.RESTART),
        ({"restart-signal": "rollback", "persistent-publisher": True}, Reading.NEXT),
        ({"restart-signal": "epoch"}, Reading.RESTART),
        ({"restart-signal": "epoch", "persistent-publisher": True}, Reading.RESTART),
    ],
)
def test_what_the_first_event_of_an_engine_that_restarted_looks_like(
    mechanisms: dict[str, object], seen: Reading
) -> None:
    world = run(start(mechanisms), *STORED, (cache.engine_restart, 0), (cache.store, 0, 0))
    assert reading(world, 0) is seen


@pytest.mark.parametrize(("persistent", "ghosts"), [(True, set()), (False, {0})])
def test_a_cleared_event_at_the_start_is_obeyed_where_numbers_go_on(
    persistent: bool, ghosts: set[int]
) -> None:
    # Where they start at 0 again, the event itself is taken for one that was applied.
    mechanisms = {"restart-signal": "cleared", "persistent-publisher": persistent}
    world = run(start(mechanisms), *STORED, (cache.engine_restart, 0))
    assert world.caches[0].flight[0].kind is Kind.CLEARED
    world = run(world, (index.apply_cleared if persistent else index.drop_event, 0))
    assert believed(world) == ghosts


@pytest.mark.parametrize(("obeys", "left"), [(True, set()), (False, {0})])
def test_a_cleared_cache_leaves_the_index_only_where_the_event_is_obeyed(
    obeys: bool, left: set[int]
) -> None:
    world = run(start({"obey-cleared": obeys}), *STORED, (cache.clear_cache, 0))
    assert believed(run(world, (index.apply_cleared, 0))) == left


def test_a_removed_worker_has_no_entries_and_its_queued_events_are_dropped() -> None:
    world = run(start(), *STORED, (cache.store, 0, 1), *REMOVED)
    assert believed(world) == set()
    assert believed(run(world, (index.drop_event, 0))) == set()


def test_a_queued_event_enters_a_removed_worker_again() -> None:
    # router#1738 names this race as a known limitation.
    world = run(start({"fence-removed": False}), (cache.store, 0, 0), *REMOVED)
    assert believed(run(world, (index.apply_stored, 0, 0))) == {0}


def test_a_worker_that_rejoins_starts_with_nothing_and_is_asked() -> None:
    world = run(start(), *STORED, *REMOVED, (cache.rejoin, 0))
    assert (held(world), world.caches[0].next, world.caches[0].epoch) == (set(), 0, 1)
    assert world.known[0].lane is Lane.GONE
    assert run(world, (index.attach, 0)).known[0].lane is Lane.ASKING


@pytest.mark.parametrize(("resets", "found"), [(True, {0}), (False, set())])
def test_a_worker_that_registers_again_is_replayed_from_where_the_number_stands(
    resets: bool, found: set[int]
) -> None:
    mechanisms = {"after-gap": "replay", "reset-number-on-removal": resets}
    world = run(start(mechanisms), *STORED, (index.reregistration, 0), (index.answer, 0))
    assert believed(run(world, (index.take_answer, 0))) == found


def test_a_router_that_does_not_follow_a_publisher_hears_nothing_any_more() -> None:
    world = run(start(), (cache.publisher_move, 0), (cache.store, 0, 0))
    assert world.caches[0].flight[0].kind is Kind.NOTHING
    assert index.heartbeat(world, 0) is None
    found = run(world, (index.resubscribe, 0), (index.answer, 0), (index.take_answer, 0))
    assert believed(found) == {0}


def test_a_router_serves_once_every_worker_has_answered() -> None:
    world = run(start(workers=2), (index.router_restart,), (index.attach, 0), (index.attach, 1))
    world = run(world, (index.answer, 0), (index.take_answer, 0), (index.answer, 1))
    assert index.serve(world) is None
    assert index.recovery_times_out(world) is None
    world = run(world, (index.take_answer, 1), (index.serve,))
    assert (world.router.serving, world.router.early) == (True, False)


def test_a_router_that_does_not_wait_serves_early() -> None:
    world = run(start({"recover-before-serving": False}), (index.router_restart,), (index.serve,))
    assert world.router.early


def test_a_router_gives_up_a_worker_that_does_not_answer_and_is_not_early() -> None:
    world = run(start(), (index.router_restart,), (index.attach, 0), (endpoint.crash, 0))
    assert index.serve(world) is None
    world = run(world, (index.recovery_times_out,))
    assert (world.router.serving, world.router.early) == (True, False)


@pytest.mark.parametrize("cancels", [True, False])
def test_a_removal_ends_the_question_where_it_is_cancelled(cancels: bool) -> None:
    world = run(start({"cancel-recovery-on-removal": cancels}), (index.router_restart,))
    world = run(world, (index.attach, 0), (endpoint.crash, 0), (discovery.lease_expires, 0))
    assert (index.detach(world, 0) is not None) == cancels


def test_a_split_enters_a_worker_that_was_removed_meanwhile() -> None:
    # dynamo#11169
    world = run(start({"revalidate-split": False}, 2), *STORED, (cache.evict, 0, 0))
    world = run(world, (cache.store, 1, 0), (index.read_for_split, 1, 0))
    world = run(world, (index.apply_removed, 0, 0), (index.write_split, 1, 0))
    assert (believed(world, 0), held(world, 0)) == ({0}, set())


def test_a_delete_takes_a_worker_with_it_that_was_entered_meanwhile() -> None:
    # kv-cache#393
    world = run(start({"revalidate-delete": False}, 2), *STORED, (cache.evict, 0, 0))
    world = run(world, (index.apply_removed, 0, 0), (cache.store, 1, 0))
    world = run(world, (index.apply_stored, 1, 0), (index.delete_entry, 0, 0))
    assert (believed(world, 1), held(world, 1)) == (set(), {0})
