"""Links between workers and bootstrap rooms: how many states there are, and runs one by one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bundled import count, run

from rackproof.invariants import CATALOGUE
from rackproof.model import peers, rooms
from rackproof.model.kernel import ModelError, System, holds, successors
from rackproof.model.peers import Connection, Handle, Life, Read
from rackproof.model.rooms import Guest, Status
from rackproof.model.world import World
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

PAIR, TWO_DECODE = {"prefill": 1, "decode": 1}, {"prefill": 1, "decode": 2}
READER, OWNER = 1, 0
"""In a PAIR worker 0 prefills and is read from; worker 1 decodes and reads over link 0."""


def system_of(
    mechanisms: Mapping[str, object] = {},
    faults: Mapping[str, int] = {},
    instances: Mapping[str, object] = PAIR,
    **scope: object,
) -> System:
    bundled = Bundled("reference", mechanisms, instances, {"requests": 0, **scope}, faults)
    return bundled_setting(bundled, Path()).system


def start(
    mechanisms: Mapping[str, object] = {}, faults: Mapping[str, int] = {}, **scope: object
) -> World:
    world = system_of(mechanisms, faults, **{"links": 1, "rooms": 1, **scope}).initial  # type: ignore[arg-type]
    assert isinstance(world, World)
    return world


def good(world: World, name: str) -> bool:
    return holds(system_of(links=len(world.links), rooms=1), CATALOGUE[name], world)


CONNECTED = ((peers.ask, 0), (peers.connect, 0))
PREPARED = (*CONNECTED, (peers.begin_prepare, 0), (peers.end_prepare, 0))
POSTED = (*PREPARED, (peers.post_read, 0))
LANDED = (*POSTED, (peers.data_lands, 0))


def gone(peer: int) -> tuple[tuple[Any, ...], ...]:
    return ((peers.peer_crash, peer),)


def back(peer: int) -> tuple[tuple[Any, ...], ...]:
    return ((peers.replace_peer, peer, 1), (peers.allocate_memory, peer))


@pytest.mark.parametrize(
    ("scope", "instances", "faults", "states", "orbits"),
    [
        # Nothing; asked; connected; preparing; ready; posted; landed; served, which leads to ready.
        ({"links": 1}, PAIR, {}, 8, 8),
        # Two that share nothing but the worker they read from.
        ({"links": 2}, TWO_DECODE, {}, 64, 36),
        # Nothing; entered; heard of; admitted; sending; sent; left, which leads to entered.
        ({"rooms": 1}, PAIR, {}, 7, 7),
        ({"rooms": 2}, PAIR, {}, 49, 28),
        # Those 7; failed in the queue, admitted, sending, left and still sending, left; the 6 that
        # follow an entrance once more: 18, and all but the first with a duplicate refused.
        ({"rooms": 1}, PAIR, {"room-failure": 1, "duplicate-room": 1}, 35, 35),
        ({"links": 1}, PAIR, {"peer-crash": 1}, 65, 65),
        ({"links": 2}, TWO_DECODE, {"peer-crash": 1}, 905, 478),
        ({"links": 1}, PAIR, {"weight-update": 1}, 31, 31),
        ({"links": 1}, PAIR, {"domain-fault": 1, "handshake-failure": 1}, 57, 57),
    ],
)
def test_plain_functions_and_native_search_count_the_same_states(
    scope: dict[str, object],
    instances: dict[str, object],
    faults: dict[str, int],
    states: int,
    orbits: int,
) -> None:
    system = system_of({}, faults, instances, **scope)
    count(system, states, orbits)


def test_a_world_without_links_and_rooms_has_none_of_their_steps() -> None:
    system = system_of({}, {"peer-crash": 1, "domain-fault": 1})
    assert list(successors(system, system.initial)) == []


def test_links_join_decode_and_prefill_workers_as_many_as_there_are() -> None:
    system = system_of(links=2, instances=TWO_DECODE)
    assert [system.label(peers.Links, link) for link in range(2)] == [
        "decode-0->prefill-0",
        "decode-1->prefill-0",
    ]
    with pytest.raises(ModelError, match="2 at most, not 3"):
        system_of(links=3, instances=TWO_DECODE)


def test_a_handle_outlives_its_connection_and_is_refused_once_the_peer_is_another() -> None:
    # nixl#2027: the name of the peer is the same, its memory is not.
    moves = (*PREPARED, *gone(OWNER), (peers.close_endpoint, 0), *back(OWNER), (peers.connect, 0))
    world = run(start({}, {"peer-crash": 1}), *moves)
    assert (world.links[0].prepared, world.links[0].generation) == (0, 1)
    assert peers.post_read(world, 0) is None
    refused = run(world, (peers.refuse_stale_handle, 0))
    assert refused.links[0].handle == Handle.NONE
    again = ((peers.begin_prepare, 0), (peers.end_prepare, 0), (peers.post_read, 0))
    assert not run(refused, *again).links[0].stale

    world = run(start({"generation-in-handles": False}, {"peer-crash": 1}), *moves)
    assert peers.refuse_stale_handle(world, 0) is None
    assert not good(run(world, (peers.post_with_stale_handle, 0)), "no-stale-access")


def test_an_endpoint_is_not_closed_under_the_thread_that_unpacks_keys_on_it() -> None:
    # nixl#1986, #1987.
    for quiesces in (True, False):
        world = start({"quiesce-before-teardown": quiesces}, {"peer-crash": 1})
        world = run(world, *CONNECTED, (peers.begin_prepare, 0), *gone(OWNER))
        assert peers.close_endpoint(world, 0) is None
        died = peers.close_under_unpack(world, 0)
        assert (died is None) == quiesces
        if died is not None:
            assert died.peers[READER].life == Life.DOWN
            assert not good(died, "no-crash-by-peer")
    world = run(start({}, {"peer-crash": 1}), *CONNECTED, (peers.begin_prepare, 0), *gone(OWNER))
    assert run(world, (peers.end_prepare, 0), (peers.close_endpoint, 0)).links[0].mapped is None


def test_a_replacement_waits_for_those_who_have_its_predecessors_memory_mapped() -> None:
    # vllm#58063: the next handshake would unmap it, and there is nobody yet to shake hands with.
    for unmaps in (True, False):
        world = start({"unmap-on-peer-loss": unmaps}, {"peer-crash": 1})
        world = run(world, *CONNECTED, *gone(OWNER), (peers.replace_peer, OWNER, 1))
        assert peers.allocate_memory(world, OWNER) is None
        world = run(world, (peers.close_endpoint, 0))
        assert (peers.allocate_memory(world, OWNER) is not None) == unmaps
        assert peers.connect(world, 0) is None
        assert run(world, (peers.find_no_peer, 0)).links[0].read == Read.FAILED


def test_memory_is_free_once_the_last_that_mapped_it_lets_go() -> None:
    world = start({}, {"peer-crash": 1}, links=2, instances=TWO_DECODE)
    world = run(world, *CONNECTED, (peers.ask, 1), (peers.connect, 1), *gone(OWNER))
    world = run(world, (peers.replace_peer, OWNER, 1), (peers.close_endpoint, 1))
    assert peers.allocate_memory(world, OWNER) is None
    assert peers.allocate_memory(run(world, (peers.close_endpoint, 0)), OWNER) is not None


def test_a_reader_that_comes_back_finds_the_endpoint_of_its_predecessor() -> None:
    # Mooncake#3188: the peer did not notice that the reader was gone.
    for replaces in (True, False):
        world = start({"replace-stale-endpoint": replaces}, {"peer-crash": 1})
        world = run(world, *CONNECTED, *gone(READER), *back(READER), (peers.ask, 0))
        assert (world.links[0].accepted, world.peers[READER].generation) == (0, 1)
        assert (peers.connect(world, 0) is not None) == replaces
        assert (peers.reject_handshake(world, 0) is None) == replaces


def test_a_peer_that_comes_back_has_no_endpoint_of_anybody() -> None:
    world = start({"replace-stale-endpoint": False}, {"peer-crash": 1})
    world = run(world, *CONNECTED, *gone(OWNER), (peers.close_endpoint, 0), *back(OWNER))
    assert run(world, (peers.connect, 0)).links[0].connection == Connection.CONNECTED


def test_after_a_fault_of_the_domain_a_link_goes_over_the_network() -> None:
    world = run(start({}, {"domain-fault": 1}), *POSTED, (peers.domain_fault,))
    assert peers.data_lands(world, 0) is None
    world = run(world, (peers.close_endpoint, 0), (peers.ask, 0), (peers.connect, 0))
    assert (world.links[0].connection, world.links[0].mapped) == (Connection.CONNECTED, None)
    assert run(world, (peers.post_read, 0), (peers.data_lands, 0)).links[0].signal


def test_without_another_way_whoever_has_memory_mapped_dies() -> None:
    # marin#8934: those alone, and all at once.
    mechanisms = {"fall-back-to-scale-out": False}
    world = start(mechanisms, {"domain-fault": 1}, links=2, instances=TWO_DECODE)
    world = run(world, *CONNECTED, (peers.domain_fault,))
    assert [peer.felled for peer in world.peers] == [False, True, False]
    assert run(world, (peers.ask, 1), (peers.find_no_peer, 1)).links[1].read == Read.FAILED


def test_a_signal_that_was_there_before_is_taken_for_the_data() -> None:
    # nixl#1451: the new slots lie where send buffers lay.
    for clears in (True, False):
        world = start({"clear-signals-on-connect": clears}, {"scale-up": 1})
        world = run(world, (peers.scale_up, 0), *POSTED)
        assert (peers.use_too_early(world, 0) is None) == clears


def test_data_that_arrived_is_lost_with_its_peer_and_its_signal_is_not() -> None:
    world = run(start({}, {"peer-crash": 1}), *LANDED, *gone(OWNER), (peers.close_endpoint, 0))
    here = world.links[0]
    assert (here.landed, here.signal, here.read) == (None, True, Read.FAILED)


def test_a_handshake_compares_what_it_compares() -> None:
    world = run(start({}, mixed_layout=True), (peers.ask, 0))
    assert run(world, (peers.refuse_handshake, 0)).links[0].connection == Connection.REFUSED
    world = run(start({"compare-layout": False}, mixed_layout=True), *LANDED, (peers.use_data, 0))
    assert not good(world, "kv-compatible")


@pytest.mark.parametrize(
    ("compares", "connects", "uses"),
    [("each-read", False, False), ("handshake", False, True), ("never", True, True)],
)
def test_weights_that_are_updated_before_and_after_the_handshake(
    compares: str, connects: bool, uses: bool
) -> None:
    mechanisms = {"compare-weights-version": compares}
    before = run(
        start(mechanisms, {"weight-update": 1}), (peers.weight_update, OWNER, 1), (peers.ask, 0)
    )
    assert (peers.connect(before, 0) is not None) == connects
    after = run(start(mechanisms, {"weight-update": 1}), *LANDED, (peers.weight_update, READER, 1))
    used = peers.use_data(after, 0)
    assert (used is not None) == uses
    assert (peers.refuse_data(after, 0) is None) == uses
    if used is not None:
        assert not good(used, "kv-compatible")


@pytest.mark.parametrize(
    ("cache", "cached", "read"), [("clear", 1, 1), ("salt", 0, 1), ("keep", 0, 0)]
)
def test_what_an_update_leaves_in_the_cache(cache: str, cached: int, read: int) -> None:
    world = start({"cache-on-weight-update": cache}, {"weight-update": 2})
    world = run(world, (peers.weight_update, OWNER, 1), (peers.weight_update, READER, 1))
    assert world.peers[OWNER].cached == cached
    assert (peers.reuse_prefix(world, OWNER) is not None) == (cache == "keep")
    assert run(world, *LANDED).links[0].landed == read


@pytest.mark.parametrize("path", ["error", "wait", "crash"])
def test_what_becomes_of_a_request_whose_read_cannot_be_made(path: str) -> None:
    mechanisms, faults = {"fail-path-of-handshake": path}, {"handshake-failure": 1}
    for moves in (
        ((peers.ask, 0), (peers.handshake_failure, 0)),
        (*gone(OWNER), (peers.ask, 0), (peers.find_no_peer, 0)),
        (*PREPARED, (peers.link_post_failure, 0)),
        (*POSTED, *gone(OWNER), (peers.close_endpoint, 0)),
    ):
        world = run(start(mechanisms, {**faults, "peer-crash": 1, "link-post-failure": 1}), *moves)
        read, life = world.links[0].read, world.peers[READER].life
        assert (read, life) == {
            "error": (Read.FAILED, Life.UP),
            "wait": (Read.STRANDED, Life.UP),
            "crash": (Read.NONE, Life.DOWN),
        }[path]
        assert (peers.ask(world, 0) is not None) == (path == "error")


ADMITTED = ((rooms.enter, 0), (rooms.prefill_is_heard, 0), (rooms.admit_guest, 0))
SENT = (*ADMITTED, (rooms.send_kv, 0), (rooms.report_sent, 0), (rooms.conclude, 0))


def test_a_reused_room_shows_how_the_request_before_ended() -> None:
    # sglang#6857: the queue waits for waiting, and sees success.
    for clears, status in ((True, Status.BOOTSTRAPPING), (False, Status.SUCCESS)):
        world = run(start({"clear-status-on-reuse": clears}), *SENT, (rooms.enter, 0))
        assert world.rooms[0].status == status
        assert (rooms.prefill_is_heard(world, 0) is not None) == clears
        assert rooms.conclude(world, 0) is None


def test_failed_is_smaller_than_what_is_reported_behind_it() -> None:
    # sglang#30352.
    for latches, status in ((True, Status.FAILED), (False, Status.SUCCESS)):
        world = start({"latch-failed-status": latches}, {"room-failure": 1})
        world = run(world, *ADMITTED, (rooms.send_kv, 0), (rooms.room_failure, 0))
        world = run(world, (rooms.report_sent, 0))
        assert world.rooms[0].status == status
        assert good(world, "failed-rooms-stay-failed") == latches


def test_a_room_is_in_use_until_its_transfer_has_reported() -> None:
    world = start({}, {"room-failure": 1, "duplicate-room": 1})
    world = run(world, *ADMITTED, (rooms.send_kv, 0), (rooms.room_failure, 0), (rooms.conclude, 0))
    assert world.rooms[0].guest == Guest.NONE
    assert rooms.enter(world, 0) is None
    assert not run(world, (rooms.duplicate_room, 0)).rooms[0].crashed
    assert run(world, (rooms.report_sent, 0), (rooms.enter, 0)).rooms[0].guest == Guest.HANDSHAKE


def test_a_second_request_in_a_room_takes_both_schedulers_down() -> None:
    # sglang#40125.
    world = start({"reject-duplicate-rooms": False}, {"duplicate-room": 1})
    world = run(world, (rooms.enter, 0), (rooms.duplicate_room, 0))
    assert not good(world, "no-crash-by-room")
    assert rooms.prefill_is_heard(world, 0) is None
