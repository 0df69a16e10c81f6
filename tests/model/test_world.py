"""The modelled world: how many states it has, that native code moves as it does, its mechanisms."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from bundled import count, run

from rackproof.checker.lowering import lower
from rackproof.checker.native import Native
from rackproof.invariants import CATALOGUE
from rackproof.model import discovery, endpoint, kv, marks, request, retry, stream, transfer
from rackproof.model.endpoint import Process
from rackproof.model.kernel import System, evolve, holds, successors
from rackproof.model.kv import Hold
from rackproof.model.request import Phase
from rackproof.model.stream import Attempt, Finish, Link, Stage, limit
from rackproof.model.world import World
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled, Case
from rackproof.scenarios.settings import bundled_setting

ROOT = Path(__file__).parents[2] / "scenarios"
SCENARIOS = sorted([*(ROOT / "bugs").glob("*.yaml"), *(ROOT / "drills").glob("*.yaml")])

ONE, TWO, THREE = {"aggregated": 1}, {"aggregated": 2}, {"aggregated": 3}
PAIR, TWO_PREFILL, TWO_DECODE = (
    {"prefill": 1, "decode": 1},
    {"prefill": 2, "decode": 1},
    {"prefill": 1, "decode": 2},
)


def setting(
    mechanisms: dict[str, object],
    instances: dict[str, int],
    scope: dict[str, int],
    faults: dict[str, int],
    stack: str = "reference",
) -> System:
    return bundled_setting(Bundled(stack, mechanisms, instances, scope, faults), Path()).system


Count = tuple[str, dict[str, int], dict[str, int], dict[str, int], int, int]

SMALL = {"tokens": 1, "retry-limit": 0}
CACHED = {"requests": 0, "prefixes": 1}
SMALL_TWICE = {"requests": 2, **SMALL}

COUNTS: dict[str, Count] = {
    # Queued, accepted; then 6 pairs of tokens sent and received, 3 with the finish sent too; done
    # with its booking, and without: 1 + 1 + 6 + 3 + 2.
    "one worker, no fault": ("reference", ONE, {"tokens": 2}, {}, 13, 13),
    # Two requests that share nothing: the square of 17 = 1 + 2 workers x 8; their pairs up to the
    # exchange of requests and of workers.
    "two requests, no fault": ("reference", TWO, SMALL_TWICE, {}, 289, 81),
    "a crash": ("reference", TWO, {"tokens": 1}, {"crash": 1}, 255, 128),
    "a crash under Dynamo": ("dynamo", THREE, {"tokens": 1}, {"crash": 1}, 1945, 358),
    "a zombie": ("reference", TWO, {"tokens": 1}, {"hang": 1, "resume": 1}, 876, 439),
    "a drain": ("dynamo", TWO, {"tokens": 1}, {"drain": 1}, 623, 312),
    "a client leaves": ("reference", TWO, {"tokens": 1}, {"leave": 1}, 54, 28),
    "disaggregated, no fault": ("reference", PAIR, SMALL_TWICE, {}, 148, 75),
    "disaggregated, a crash": ("reference", TWO_DECODE, {"tokens": 1}, {"crash": 1}, 722, 367),
    "disaggregated, a client leaves": ("vllm-nixl", PAIR, SMALL_TWICE, {"leave": 1}, 1094, 548),
    "disaggregated, a zombie": ("vllm-nixl", TWO_DECODE, SMALL, {"hang": 1, "resume": 1}, 127, 68),
    "disaggregated, a transfer fails": (
        "reference",
        {"prefill": 2, "decode": 2},
        {"tokens": 1, "handles": 2},
        {"transfer-failure": 1},
        401,
        102,
    ),
    # Scales that always move with their values have no states of their own.
    "disaggregated, quantised KV": (
        "reference",
        PAIR,
        {**SMALL_TWICE, "quantised": True},
        {},
        148,
        75,
    ),
    # Nothing cached; stored, and told; entered in the index.
    "an index, one block stored": ("reference", ONE, {**CACHED, "cache-changes": 1}, {}, 3, 3),
    # The square of those, without the 4 in which both have stored: one change is all there is.
    "an index, two workers": ("reference", TWO, {**CACHED, "cache-changes": 1}, {}, 5, 3),
    "an index, an event is lost": ("reference", ONE, CACHED, {"lost-event": 1}, 48, 48),
    "an index, a router starts": ("reference", TWO, CACHED, {"router-restart": 1}, 671, 344),
    "an index, a worker rejoins": ("dynamo", TWO, CACHED, {"crash": 1, "rejoin": 1}, 981, 492),
    "disaggregated, a tray is lost": (
        "dynamo",
        TWO_DECODE,
        {"tokens": 1},
        {"tray-loss": 1},
        702,
        359,
    ),
}
"""Stack, instances, scope, faults; how many states, and how many up to symmetry."""


@pytest.mark.parametrize("name", COUNTS)
def test_plain_functions_and_native_search_count_the_same_states(name: str) -> None:
    stack, instances, scope, faults, states, orbits = COUNTS[name]
    system = setting({}, instances, scope, faults, stack)
    count(system, states, orbits)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_native_code_moves_as_the_plain_functions_do(path: Path) -> None:
    scenario = load(path)
    cases: list[Case | None] = [scenario.case, scenario.fix]
    for case in filter(None, cases):
        agree(case.setting.system)


def agree(system: System, states: int = 50) -> None:
    """Walk at random, from the start again where a run ends; compare all successors on the way."""
    relation = lower(system)
    native = Native(relation)
    numbers = {
        (action.firing.transition.name, action.firing.arguments): number
        for number, action in enumerate(relation.actions)
    }
    chance, state = random.Random(system.name), system.initial
    for _ in range(states):
        ordinals = system.schema.flatten(state)
        before, plain, following = native.layout.pack(ordinals), [], []
        for firing, after in successors(system, state):
            following.append(after)
            words = native.layout.pack(system.schema.flatten(after))
            if words != before:
                plain.append((numbers[firing.transition.name, firing.arguments], words))
        assert native.successors(ordinals) == sorted(plain)
        state = chance.choice(following) if following else system.initial


# Mechanisms, one run each by the plain functions. In a PAIR worker 0 prefills into block 0 and
# worker 1 decodes from block 1; requests and attempts count from 0.

Moves = tuple[tuple[Any, ...], ...]


def start(
    mechanisms: dict[str, object],
    instances: dict[str, int],
    scope: dict[str, int] | None = None,
    faults: dict[str, int] | None = None,
) -> tuple[System, World]:
    system = setting(mechanisms, instances, scope or {}, faults or {})
    assert isinstance(system.initial, World)
    return system, system.initial


def good(system: System, world: World) -> dict[str, bool]:
    """What holds in a state, by name."""
    return {name: holds(system, prop, world) for name, prop in CATALOGUE.items()}


def prefilled(number: int, worker: int = 0, block: int = 0) -> Moves:
    return ((retry.dispatch, number, worker), (kv.prefill, number, 0, worker, block))


def loading(number: int, decode: int, target: int) -> Moves:
    return (
        (retry.dispatch_decode, number, 0, decode),
        (kv.admit, number, 0, decode, target),
    )


def streaming(number: int, attempt: int, worker: int) -> Moves:
    return ((retry.dispatch, number, worker), (retry.start_stream, number, attempt, worker))


def test_a_posted_transfer_lands_in_a_block_that_was_given_to_another_request() -> None:
    # vllm#32255: RDMA knows addresses, not requests. The abort frees the target at once, the next
    # request is decoding from it when the write of the first arrives.
    system, world = start(
        {"defer-free-on-abort": False}, TWO_PREFILL, {"requests": 2}, {"leave": 1}
    )
    world = run(
        world, *prefilled(0), *loading(0, 2, 2), (request.leave, 0), (transfer.abort, 0, 0, 2)
    )
    assert world.blocks[2].owner is None
    world = run(world, *prefilled(1, 1, 1), *loading(1, 2, 2))
    assert not good(system, world)["no-overwrite-in-flight"]
    world = run(world, (transfer.land, 1, 0, 1, 2), (transfer.load_ends, 1, 0, 2))
    assert good(system, world)["kv-consistent"]
    world = run(world, (transfer.land, 0, 0, 0, 2))
    assert (world.blocks[2].owner, world.blocks[2].content) == (1, 0)
    assert not good(system, world)["kv-consistent"]


QUANTISED = {"tokens": 1, "retry-limit": 0, "quantised": True}
LANDED = ((transfer.land, 0, 0, 0, 1), (transfer.load_ends, 0, 0, 1))


@pytest.mark.parametrize("lost", ["move-block-scales", "move-tensor-scale"])
def test_values_without_their_scales_are_not_consistent(lost: str) -> None:
    # sglang#36121: the buffers of the values are copied, those of the scales are not.
    for moves in (True, False):
        system, world = start({lost: moves, "read-validation": "checksum"}, PAIR, QUANTISED)
        world = run(world, *prefilled(0), *loading(0, 1, 1), *LANDED)
        assert (world.blocks[1].content, world.has_scales(0, 1)) == (0, moves)
        assert good(system, world)["kv-consistent"] == moves


def test_scales_of_the_one_before_stay_until_others_come() -> None:
    # A late write brings another request's values; its block scales stay behind with the source.
    _, world = start(
        {"defer-free-on-abort": False, "move-block-scales": False},
        TWO_PREFILL,
        {"requests": 2, "quantised": True},
        {"leave": 1},
    )
    world = run(
        world, *prefilled(0), *loading(0, 2, 2), (request.leave, 0), (transfer.abort, 0, 0, 2)
    )
    world = run(world, *prefilled(1, 1, 1), *loading(1, 2, 2), (transfer.land, 0, 0, 0, 2))
    assert world.blocks[2].content == 0
    assert (world.scales[2].block_scales, world.scales[2].tensor_scale) == (None, 0)


def test_what_is_computed_has_its_own_scales() -> None:
    nothing: dict[str, object] = {"move-block-scales": False, "move-tensor-scale": False}
    failing = {"transfer-failure": 1}
    system, world = start({**nothing, "load-failure": "recompute"}, PAIR, QUANTISED, failing)
    world = run(world, *prefilled(0), *loading(0, 1, 1), (transfer.transfer_failure, 0, 0, 1))
    world = run(world, (transfer.load_ends, 0, 0, 1))
    assert good(system, world)["kv-consistent"]
    system, world = start(nothing, PAIR, {**QUANTISED, "short": True})
    world = run(world, *prefilled(0), *loading(0, 1, 1))
    assert world.has_scales(0, 1)
    assert good(system, world)["kv-consistent"]


def test_a_restart_leaves_no_scales() -> None:
    _, world = start({}, PAIR, QUANTISED, {"crash": 1, "restart": 1})
    world = run(world, *prefilled(0))
    assert world.has_scales(0, 0)
    world = run(world, (endpoint.crash, 0), (endpoint.restart, 0))
    assert not world.has_scales(0, 0)


def test_without_quantised_kv_there_are_no_scales() -> None:
    _, world = start({"move-block-scales": False}, PAIR, SMALL)
    assert world.scales == ()
    assert world.has_scales(0, 0)


def test_a_target_stays_allocated_until_its_transfer_has_ended() -> None:
    # The fix of vllm#32255: the decode worker is done with the request, its block is not free.
    _, world = start({}, PAIR, {}, {"leave": 1})
    world = run(
        world, *prefilled(0), *loading(0, 1, 1), (request.leave, 0), (transfer.abort, 0, 0, 1)
    )
    assert [block.owner for block in world.blocks] == [0, 0]
    world = run(world, (transfer.land, 0, 0, 0, 1), (transfer.load_ends, 0, 0, 1))
    assert [block.owner for block in world.blocks] == [None, None]


def test_a_read_of_a_reassigned_block_succeeds_with_what_lies_in_it_by_then() -> None:
    # vllm#21570, dynamo#826: no error tells the reader; invalid_block_ids cannot see it either.
    system, world = start(
        {"release": "on-finish", "read-validation": "none"}, PAIR, {"requests": 2}
    )
    world = run(world, *prefilled(0), *loading(0, 1, 1), *prefilled(1), (transfer.land, 0, 0, 0, 1))
    world = run(world, (transfer.load_ends, 0, 0, 1))
    assert world.streams[0].attempts[0].stage == Stage.RUNNING
    assert world.streams[0].attempts[0].link == Link.OPEN
    assert not good(system, world)["kv-consistent"]


def test_a_reader_that_asks_afterwards_whether_its_lease_held_fails_the_load() -> None:
    # Mooncake's client does this (LEASE_EXPIRED); the nixl connector does not.
    _, world = start({"release": "lease"}, PAIR, {}, {"slow-read": 1})
    world = run(
        world, *prefilled(0), *loading(0, 1, 1), (kv.slow_read, 0, 0), (transfer.land, 0, 0, 0, 1)
    )
    world = run(world, (transfer.load_ends, 0, 0, 1))
    assert world.streams[0].attempts[0].link == Link.ERROR
    world = run(world, (retry.notice, 0, 0, 1))
    assert world.requests[0].phase == Phase.QUEUED


@pytest.mark.parametrize(
    ("release", "expires"), [("on-ack", False), ("lease", False), ("heartbeat", True)]
)
def test_a_hold_for_a_frozen_reader_expires_only_where_heartbeats_keep_it(
    release: str, expires: bool
) -> None:
    # A read notification may still come (on-ack), and a lease of fixed length outlasts the read
    # but for a slow one. Heartbeats stop with the reader, though its posted read goes on.
    _, world = start({"release": release}, PAIR, {}, {"hang": 1})
    world = run(world, *prefilled(0), *loading(0, 1, 1), (endpoint.hang, 1))
    assert (kv.hold_expires(world, 0, 0, 0) is not None) == expires


def test_a_dead_reader_releases_nothing_where_no_time_limit_does() -> None:
    # vllm#20139: the prefill worker waits for a notification that no process is left to send.
    for release, freed in (("on-ack", False), ("heartbeat", True), ("quiescent", True)):
        _, world = start({"release": release}, PAIR, {}, {"crash": 1})
        world = run(world, *prefilled(0), *loading(0, 1, 1), (endpoint.crash, 1))
        assert transfer.land(world, 0, 0, 0, 1) is None
        after = kv.hold_expires(world, 0, 0, 0)
        assert (after is not None and after.blocks[0].owner is None) == freed


def test_a_quiescent_reader_posts_no_read_behind_its_lease() -> None:
    # A reader that froze in front of its read finds its lease gone when it wakes.
    _, world = start({}, PAIR, {}, {"hang": 1, "resume": 1})
    world = run(world, *prefilled(0), (retry.dispatch_decode, 0, 0, 1), (endpoint.hang, 1))
    world = run(world, (kv.hold_expires, 0, 0, 0), (endpoint.resume, 1), (kv.admit, 0, 0, 1, 1))
    assert world.loads[0].attempts[0].flying == 0
    assert world.streams[0].attempts[0].link == Link.ERROR


def test_a_pull_fails_by_itself_when_its_source_is_gone_and_a_push_does_not() -> None:
    # vllm#46283: nobody is left to post the write, and no completion will tell of that.
    for mover, told in (("pull", True), ("push", False)):
        mechanisms: dict[str, object] = {"transfer": mover, "notice-peer-loss": False}
        _, world = start(mechanisms, PAIR, {}, {"crash": 1})
        world = run(world, *prefilled(0), *loading(0, 1, 1), (endpoint.crash, 0))
        assert (transfer.peer_is_gone(world, 0, 0, 0, 1) is not None) == told


def test_the_first_error_of_a_split_read_frees_blocks_that_its_siblings_still_write() -> None:
    # vllm#56104: one handle of two errs; the other was posted to the same block.
    for waits, owner in ((False, None), (True, 0)):
        mechanisms: dict[str, object] = {"wait-for-all-handles": waits}
        _, world = start(mechanisms, PAIR, {"handles": 2}, {"transfer-failure": 1})
        world = run(world, *prefilled(0), *loading(0, 1, 1), (transfer.transfer_failure, 0, 0, 1))
        assert world.loads[0].attempts[0].flying == 1
        after = transfer.load_ends(world, 0, 0, 1)
        assert (after or world).blocks[1].owner == owner


def test_an_aborted_request_completes_twice() -> None:
    # vllm#46240: finished_recving when the read has ended, finished_sending as of any abort.
    system, world = start({"latch-completions": False}, PAIR, {}, {"leave": 1})
    world = run(
        world, *prefilled(0), *loading(0, 1, 1), (request.leave, 0), (transfer.abort, 0, 0, 1)
    )
    world = run(world, (transfer.land, 0, 0, 0, 1), (transfer.load_ends, 0, 0, 1))
    assert good(system, world)["no-double-free"]
    assert not good(system, run(world, (transfer.abort_completes, 0, 0, 1)))["no-double-free"]


def test_a_killed_transfer_neither_lands_nor_fails() -> None:
    # dynamo#7489, NVIDIA/TensorRT-LLM#12313: each side waits for a completion, and none will come.
    system, world = start(
        {"spare-transfers": False}, PAIR, {"retry-limit": 0}, {"leave": 1, "transfer-failure": 1}
    )
    world = run(
        world, *prefilled(0), *loading(0, 1, 1), (request.leave, 0), (transfer.abort, 0, 0, 1)
    )
    world = run(world, (retry.release_booking, 0))
    assert {firing.transition.name for firing, _ in successors(system, world)} == set()
    assert [block.owner for block in world.blocks] == [0, 0]


def test_a_request_whose_client_left_is_routed_to_decode_to_be_collected() -> None:
    # dynamo#13855: a biased select saw the stopped context, and the blocks stayed.
    for collects, phase in ((True, Phase.READY), (False, Phase.CANCELLED)):
        mechanisms: dict[str, object] = {"collect-after-cancel": collects, "release": "on-ack"}
        _, world = start(mechanisms, PAIR, {}, {"leave": 1})
        world = run(world, (retry.dispatch, 0, 0), (request.leave, 0), (kv.prefill, 0, 0, 0, 0))
        assert world.requests[0].phase == phase
        assert kv.hold_expires(world, 0, 0, 0) is None
        if collects:
            world = run(world, (retry.dispatch_decode, 0, 0, 1), (transfer.abort, 0, 0, 1))
            assert world.blocks[0].owner is None


def test_a_retry_without_budget_is_refused_by_each_worker_in_turn() -> None:
    # Dynamo 1.6.1 (W2): the refusal of max_tokens = 0 counts as cannot_connect, so that it uses up
    # a retry and marks a healthy worker down.
    scope, faults = {"tokens": 1, "retry-limit": 2}, {"crash": 1}
    held: dict[str, object] = {"zero-budget": "refuse", "blame-only-faults": False}
    system, world = start(held, THREE, scope, faults)
    world = run(world, *streaming(0, 0, 0), (stream.emit, 0, 0, 0), (stream.receive, 0, 0))
    world = run(world, (endpoint.crash, 0), (retry.notice, 0, 0, 0), (retry.dispatch, 0, 1))
    assert retry.start_stream(world, 0, 1, 1) is None
    world = run(world, (retry.refuse, 0, 1, 1))
    assert world.requests[0].phase == Phase.QUEUED
    world = run(world, (retry.dispatch, 0, 2), (retry.refuse, 0, 2, 2))
    assert world.requests[0].phase == Phase.FAILED
    assert [worker.inhibited for worker in world.endpoints] == [True] * 3
    assert [worker.process for worker in world.endpoints[1:]] == [Process.UP] * 2
    assert not good(system, world)["complete-output-succeeds"]


@pytest.mark.parametrize(
    ("zero_budget", "tokens", "start_at", "finished", "expected"),
    [
        ("refuse", 2, 0, False, 2),  # stops at the end of the output
        ("refuse", 2, 1, False, 2),  # goes on behind what was replayed, to the same end
        ("refuse", 2, 2, False, 2),  # sent all but the end: the end comes again, at once
        ("refuse", 2, 2, True, 3),  # sent the end too: nothing makes it stop before the limit
        ("refuse", 3, 3, True, 3),  # no budget: no token
        ("emit", 3, 3, False, 4),  # no budget: an engine that looks behind its first token
        ("emit", 2, 2, False, 2),  # budget left: no matter
    ],
)
def test_where_an_engine_stops(
    zero_budget: str, tokens: int, start_at: int, finished: bool, expected: int
) -> None:
    _, world = start({"zero-budget": zero_budget}, ONE, {"tokens": tokens, "max-tokens": 3})
    world = world.with_stream(0, delivered=start_at, finished=finished)
    attempt = Attempt(start=start_at, sent=start_at, received=start_at)
    assert limit(world, 0, attempt) == expected


def test_a_finish_does_not_outlive_its_stream_where_nothing_latches_it() -> None:
    # Dynamo (W1): the finish chunk arrived, complete_final did not; the stream counts as broken.
    scope, faults = {"tokens": 1, "max-tokens": 2}, {"disconnect": 1}
    system, world = start({"finish-latch": False}, TWO, scope, faults)
    world = run(world, *streaming(0, 0, 0), (stream.finish_with_last_token, 0, 0, 0))
    world = run(world, (stream.receive, 0, 0), (stream.receive_finish, 0, 0))
    assert world.requests[0].phase == Phase.DECODING
    world = run(world, (stream.disconnect, 0, 0), (retry.notice, 0, 0, 0), *streaming(0, 1, 1))
    world = run(world, (stream.emit, 0, 1, 1), (stream.receive, 0, 1))
    assert not good(system, world)["nothing-after-finish"]


def test_a_finish_that_is_latched_ends_the_request() -> None:
    _, world = start({}, TWO, {"tokens": 1, "max-tokens": 2}, {"disconnect": 1})
    world = run(world, *streaming(0, 0, 0), (stream.finish_with_last_token, 0, 0, 0))
    world = run(world, (stream.receive, 0, 0), (stream.receive_finish, 0, 0))
    assert world.requests[0].phase == Phase.DONE
    assert stream.disconnect(world, 0, 0) is None


def test_a_retry_replays_what_was_received_and_not_what_was_sent() -> None:
    # Dynamo appends to token_ids what reached the frontend; the rest is generated again.
    _, world = start({}, TWO, {"tokens": 3}, {"crash": 1})
    world = run(world, *streaming(0, 0, 0), (stream.emit, 0, 0, 0), (stream.emit, 0, 0, 0))
    world = run(world, (stream.receive, 0, 0), (endpoint.crash, 0), (retry.notice, 0, 0, 0))
    world = run(world, (retry.dispatch, 0, 1))
    assert world.streams[0].attempts[1].start == 1
    assert stream.receive(world, 0, 0) is None


def test_a_guided_request_starts_again_at_the_root_of_its_grammar() -> None:
    # dynamo#7930: the second worker emits the first token of the JSON again.
    scope, faults = {"tokens": 2, "guided": True}, {"crash": 1}
    system, world = start({"migrate-guided-requests": True}, TWO, scope, faults)
    world = run(world, *streaming(0, 0, 0), (stream.emit, 0, 0, 0), (stream.receive, 0, 0))
    world = run(world, (endpoint.crash, 0), (retry.notice, 0, 0, 0), *streaming(0, 1, 1))
    world = run(world, (stream.emit, 0, 1, 1), (stream.receive, 0, 1))
    assert not good(system, world)["no-duplicate-tokens"]


def test_a_token_of_a_step_in_flight_is_applied_behind_the_resumed_request() -> None:
    # vllm#38624: with asynchronous scheduling the step cannot be recalled by a preemption.
    for fenced, duplicated in ((False, True), (True, False)):
        mechanisms: dict[str, object] = {"fence-steps": fenced}
        _, world = start(mechanisms, ONE, {"tokens": 2}, {"preemption": 1})
        world = run(world, *streaming(0, 0, 0), (stream.preemption, 0, 0, 0))
        world = run(world, (stream.late_token, 0, 0, 0), (stream.emit, 0, 0, 0))
        world = run(world, (stream.receive, 0, 0))
        assert world.streams[0].duplicated == duplicated


def test_a_zombie_still_talks_and_is_not_heard() -> None:
    # A frozen process keeps its sockets: when it wakes, its tokens reach the frontend.
    for fenced in (True, False):
        mechanisms: dict[str, object] = {"fence-attempts": fenced}
        _, world = start(mechanisms, TWO, {"tokens": 2}, {"hang": 1, "resume": 1})
        world = run(world, *streaming(0, 0, 0), (endpoint.hang, 0), (retry.stream_timeout, 0, 0, 0))
        world = run(world, *streaming(0, 1, 1), (endpoint.resume, 0), (stream.emit, 0, 0, 0))
        assert (stream.receive(world, 0, 0) is None) == fenced


def test_a_crash_breaks_a_stream_and_silence_does_not() -> None:
    # The kernel of a living host closes the sockets of a dead process. A frozen process and a host
    # without power close nothing: only a time-out tells.
    fault: Moves = ((endpoint.crash, 0), (endpoint.hang, 0))
    for move, breaks in ((fault[0], True), (fault[1], False), ((endpoint.tray_loss, 0), False)):
        _, world = start({}, TWO, {}, {"crash": 1, "hang": 1, "tray-loss": 1})
        world = run(world, *streaming(0, 0, 0), move)
        assert (retry.notice(world, 0, 0, 0) is not None) == breaks
        assert (retry.stream_timeout(world, 0, 0, 0) is not None) != breaks


def test_a_request_in_the_queue_of_a_dead_worker_has_no_stream_that_could_break() -> None:
    # dynamo#8182: it was acknowledged; only the removal from discovery tells that nobody answers.
    _, world = start({}, TWO, {}, {"crash": 1})
    world = run(world, (retry.dispatch, 0, 0), (endpoint.crash, 0))
    assert retry.notice(world, 0, 0, 0) is None
    assert retry.stream_timeout(world, 0, 0, 0) is None
    assert retry.cancel_pending(world, 0, 0, 0) is None
    world = run(world, (discovery.lease_expires, 0), (retry.cancel_pending, 0, 0, 0))
    assert world.requests[0].phase == Phase.QUEUED


def test_a_removal_that_was_missed_cancels_nothing() -> None:
    # dynamo#13088: a watcher that compares snapshots does not see who came and went in between.
    for raw, told in ((False, False), (True, True)):
        mechanisms: dict[str, object] = {"raw-removal-events": raw}
        _, world = start(mechanisms, TWO, {}, {"crash": 1, "churn": 1})
        world = run(world, (retry.dispatch, 0, 0), (endpoint.crash, 0), (discovery.churn, 0))
        assert (retry.cancel_pending(world, 0, 0, 0) is not None) == told


def test_a_worker_that_drains_finishes_what_it_has_until_its_grace_ends() -> None:
    # It leaves discovery first (dynamo graceful shutdown); the rest is aborted with EngineShutdown.
    _, world = start({}, TWO, {"tokens": 2}, {"drain": 1})
    world = run(world, *streaming(0, 0, 0), (endpoint.drain, 0), (stream.emit, 0, 0, 0))
    assert not world.endpoints[0].listed
    assert retry.notice(world, 0, 0, 0) is None
    world = run(world, (endpoint.grace_ends, 0))
    assert stream.emit(world, 0, 0, 0) is None
    assert retry.notice(world, 0, 0, 0) is None  # a frame it sent before is still to come
    world = run(world, (stream.receive, 0, 0), (retry.notice, 0, 0, 0))
    assert (world.requests[0].phase, world.retries[0].failed) == (Phase.QUEUED, frozenset({0}))


def test_a_worker_whose_lease_is_gone_stops_itself_when_it_wakes() -> None:
    # Dynamo: a lease that is lost is not granted again, the process cancels its own runtime.
    _, world = start({}, TWO, {}, {"hang": 1, "resume": 1})
    world = run(world, (endpoint.hang, 0), (discovery.lease_expires, 0))
    assert endpoint.self_fence(world, 0) is None
    world = run(world, (endpoint.resume, 0), (endpoint.self_fence, 0))
    assert world.endpoints[0].process == Process.STOPPED


def test_the_only_worker_is_out_until_its_inhibition_ends() -> None:
    # dynamo#5043: without the reconcile nothing ever asks again.
    for restores in (True, False):
        mechanisms: dict[str, object] = {"restore-inhibited": restores}
        _, world = start(mechanisms, ONE, {"requests": 2}, {"disconnect": 1})
        world = run(world, *streaming(0, 0, 0), (stream.disconnect, 0, 0), (retry.notice, 0, 0, 0))
        assert retry.dispatch(world, 1, 0) is None
        assert (marks.restore(world, 0) is not None) == restores


def test_a_retry_collides_with_the_booking_of_its_own_first_attempt() -> None:
    # dynamo#11647: one request id for all attempts; the router refuses the second as a duplicate.
    system, world = start({"release-booking-first": False}, TWO, {}, {"crash": 1})
    world = run(world, *streaming(0, 0, 0), (endpoint.crash, 0), (retry.notice, 0, 0, 0))
    world = run(world, (retry.dispatch, 0, 1))
    assert world.requests[0].phase == Phase.FAILED
    assert not good(system, world)["no-duplicate-request"]


def test_withheld_text_goes_with_its_detokeniser() -> None:
    # dynamo#14378: each attempt has a detokeniser of its own, and the old one had given nothing.
    for carried, lost in ((True, False), (False, True)):
        mechanisms: dict[str, object] = {"carry-withheld-text": carried}
        _, world = start(mechanisms, TWO, {"tokens": 2, "withholds": True}, {"crash": 1})
        world = run(world, *streaming(0, 0, 0), (stream.emit, 0, 0, 0), (stream.receive, 0, 0))
        assert world.streams[0].withheld
        world = run(world, (endpoint.crash, 0), (retry.notice, 0, 0, 0))
        assert (world.streams[0].withheld, world.streams[0].lost) == (carried, lost)


def test_a_request_without_budget_is_finished_where_nothing_is_left_to_compute() -> None:
    _, world = start({}, TWO, {"tokens": 1}, {"crash": 1})
    world = run(world, *streaming(0, 0, 0), (stream.emit, 0, 0, 0), (stream.receive, 0, 0))
    world = run(world, (endpoint.crash, 0), (retry.notice, 0, 0, 0))
    assert world.requests[0].phase == Phase.DONE
    assert world.streams[0].finished


def test_the_reason_alone_leaves_the_last_token_out() -> None:
    # dynamo#3531: the engine's last chunk has a token and the finish reason.
    _, world = start({"send-last-tokens": False}, ONE, {"tokens": 1})
    world = run(world, *streaming(0, 0, 0), (stream.finish_with_last_token, 0, 0, 0))
    assert world.streams[0].attempts[0].finish == Finish.SENT
    assert run(world, (stream.receive_finish, 0, 0)).streams[0].lost


def test_a_load_that_failed_is_told_recomputed_or_decoded_from() -> None:
    # vllm kv_load_failure_policy; vllm#52234 for the hybrid models where it reached nobody.
    for policy, stage, consistent in (
        ("fail", Stage.OVER, True),
        ("recompute", Stage.RUNNING, True),
        ("unreported", Stage.RUNNING, False),
    ):
        mechanisms: dict[str, object] = {"load-failure": policy}
        system, world = start(mechanisms, PAIR, {}, {"transfer-failure": 1})
        world = run(world, *prefilled(0), *loading(0, 1, 1), (transfer.transfer_failure, 0, 0, 1))
        world = run(world, (transfer.load_ends, 0, 0, 1))
        assert world.streams[0].attempts[0].stage == stage
        assert good(system, world)["kv-consistent"] == consistent


def test_a_freed_block_keeps_its_content_and_a_hold_is_released_once() -> None:
    # An allocator does not wipe. That is why a late read of it looks right until it is reused.
    _, world = start({}, PAIR)
    world = run(world, *prefilled(0)).release_hold(0, 0)
    assert (world.blocks[0].owner, world.blocks[0].content) == (None, 0)
    assert world.loads[0].attempts[0].hold == Hold.FREED
    taken = evolve(world, blocks=(evolve(world.blocks[0], owner=0), world.blocks[1]))
    assert taken.release_hold(0, 0) == taken


def test_a_migration_behind_a_replay_goes_on_where_the_client_is() -> None:
    # Both workers were full, so the gateway began again; then the router delivered a token.
    scope = {"tokens": 2, "gateway-retries": 1, "retry-limit": 1}
    _, world = start({}, TWO, scope, {"overload": 2, "crash": 1})
    world = run(world, (marks.overload, 0), (marks.overload, 1))
    world = run(world, (retry.dispatch, 0, 0), (retry.dispatch, 0, 1))
    assert world.retries[0].gateway == 1
    for worker in (0, 1):
        world = run(world, (marks.load_drops, worker), (marks.clear_mark, worker))
    world = evolve_failed(world)
    world = run(world, (retry.dispatch, 0, 0), (retry.start_stream, 0, 2, 0))
    world = run(world, (stream.emit, 0, 2, 0), (stream.receive, 0, 2), (endpoint.crash, 0))
    world = run(world, (retry.notice, 0, 2, 0), (retry.dispatch, 0, 1))
    assert world.streams[0].attempts[3].start == 1


def evolve_failed(world: World) -> World:
    """The world in which no worker counts as having failed the request."""
    return world.with_retry(0, failed=frozenset())


def test_a_prefilled_request_without_a_decode_worker_begins_again_where_one_does_it_all() -> None:
    rack = {"prefill": 1, "decode": 1, "aggregated": 1}
    _, world = start({}, rack, {"tokens": 1, "retry-limit": 1}, {"drain": 1})
    workers = [role.value for role in world.roles]
    prefill, decode = workers.index("prefill"), workers.index("decode")
    world = run(world, (retry.dispatch, 0, prefill), (kv.prefill, 0, 0, prefill, 0))
    world = run(world, (endpoint.drain, decode), (retry.nobody_left, 0))
    assert world.requests[0].phase == Phase.QUEUED
