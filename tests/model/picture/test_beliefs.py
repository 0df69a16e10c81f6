"""Who believes what, step by step in runs that are known; what stands on the rack then."""

import networkx as nx
import pytest
from bundled import run
from pictured import drawn, walk, world_of
from runs import steps_of

from rackproof.model.cache import lost_event, store
from rackproof.model.discovery import lease_expires
from rackproof.model.endpoint import crash, hang
from rackproof.model.kernel import Belief, Site, System
from rackproof.model.kv import admit, prefill
from rackproof.model.picture.board import Board
from rackproof.model.rack import checked, place, preset
from rackproof.model.retry import dispatch, dispatch_decode, start_stream
from rackproof.model.stream import emit, receive
from rackproof.model.transfer import land, load_ends
from rackproof.model.world import World

FREED = "dynamo-826-blocks-freed-before-transfer"
FREED_RUN = (
    (dispatch, 0, 0),
    (prefill, 0, 0, 0, 0),
    (dispatch_decode, 0, 0, 1),
    (admit, 0, 0, 1, 1),
    (dispatch, 1, 0),
    (prefill, 1, 0, 0, 0),
    (land, 0, 0, 0, 1),
    (load_ends, 0, 0, 1),
)


def mistaken(system: System, world: World) -> list[Belief]:
    return [belief for belief in drawn(system).beliefs(world) if belief.mistaken]


@pytest.fixture(scope="module")
def freed() -> System:
    return world_of(FREED)


def test_the_kv_of_another_is_taken_for_its_own(freed: System) -> None:
    found = mistaken(freed, run(freed.initial, *FREED_RUN))
    own, other = "holds the KV of request-0", "holds the KV of request-1"
    assert Belief("decode-0", "block-0@decode-0", own, other, False) in found


def test_a_block_is_freed_while_a_transfer_from_it_is_posted(freed: System) -> None:
    found = mistaken(freed, run(freed.initial, *FREED_RUN[:4]))
    name, truth = "block-0@prefill-0", "has 1 posted transfer of request-0 to come"
    assert Belief("prefill-0", name, "is read by nobody", truth, False) in found
    overwritten = mistaken(freed, run(freed.initial, *FREED_RUN[:6]))
    held, truth = (
        "has its KV held in block-0@prefill-0",
        "has its KV overwritten by that of request-1",
    )
    assert Belief("decode-0", "request-0", held, truth, False) in overwritten


def test_what_stands_on_the_rack(freed: System) -> None:
    sites = drawn(freed).sites(run(freed.initial, *FREED_RUN))
    block = "block-0: allocated to request-0, holds KV of request-1"
    assert sites["decode-0"] == Site("suspect", ("decodes request-0", block))
    assert sites["gpu-4"] == Site("busy")
    assert sites["prefill-0"].words == ("block-0: free, holds KV of request-1",)
    graph = drawn(freed).graph
    assert graph is not None
    assert set(sites) <= set(graph)


def test_a_dead_worker_is_there_for_discovery_until_its_lease_expires() -> None:
    system = world_of("dynamo-7930-guided-request-migrated")
    dead = run(system.initial, (crash, 0))
    assert Belief("discovery", "worker-0", "is there", "has crashed", False) in mistaken(
        system, dead
    )
    assert drawn(system).sites(dead)["worker-0"] == Site("failed", ("has crashed",))
    expired = run(dead, (lease_expires, 0))
    assert mistaken(system, expired) == []
    words = ("has crashed", "not in discovery")
    assert drawn(system).sites(expired)["worker-0"] == Site("failed", words)


def test_nobody_is_mistaken_in_a_run_without_faults() -> None:
    system = world_of("dynamo-7930-guided-request-migrated")
    world: World = system.initial
    moves = ((dispatch, 0, 0), (start_stream, 0, 0, 0), (emit, 0, 0, 0), (receive, 0, 0))
    for move in moves:
        world = run(world, move)
        assert mistaken(system, world) == []


@pytest.mark.parametrize(
    "bug",
    [
        "nixl-2027-stale-handle-after-reconnect",
        "sglang-6857-old-success-on-reused-room",
        "dynamo-11169-split-restores-removed-worker",
        "mooncake-4239-lease-not-checked",
    ],
)
def test_what_is_believed_and_true_is_told_alike(bug: str) -> None:
    system = world_of(bug)
    for seed in range(3):
        for _, _, after in walk(system, 20, seed):
            beliefs = drawn(system).beliefs(after)
            assert all(belief.agrees for belief in beliefs if belief.believed == belief.truth)
            assert not any(belief.agrees and belief.behind for belief in beliefs)
            assert len({(b.who, b.subject, b.believed, b.truth) for b in beliefs}) == len(beliefs)


def decisive(bug: str, number: int) -> set[tuple[str, str, str, str]]:
    """Who is mistaken after a step of the run of a bug."""
    system, steps = steps_of(bug)
    found = mistaken(system, steps[number - 1].after)
    return {(b.who, b.subject, b.believed, b.truth) for b in found}


@pytest.mark.parametrize(
    ("bug", "steps", "belief"),
    [
        (
            "dynamo-frozen-worker-chosen-again",
            5,
            ("router", "worker-0", "can be sent requests", "is frozen"),
        ),
        (
            "dynamo-7863-replay-without-end",
            4,
            (
                "router",
                "worker-0",
                "holds nothing from before event 1 that the index lacks",
                "holds prefix-0 from before that",
            ),
        ),
        (
            "llm-d-router-1738-queued-event-after-removal",
            4,
            ("router", "event 0 of worker-0", "is news", "is from before worker-0 was removed"),
        ),
        (
            "dynamo-9881-answer-undoes-newer-events",
            5,
            (
                "router",
                "worker-0",
                "has in its answer all that it holds",
                "has in it what it held before event 0, which was heard since",
            ),
        ),
        (
            "dynamo-11169-split-restores-removed-worker",
            6,
            (
                "router",
                "the entry of prefix-0",
                "has worker-0 in it",
                "has worker-0 out of it by now",
            ),
        ),
        (
            "trt-12640-each-waits-for-the-other",
            6,
            (
                "decode-0",
                "request-0",
                "is going to have room",
                "waits for room that request-1 has, which waits for room elsewhere",
            ),
        ),
        (
            "dynamo-7930-guided-request-migrated",
            7,
            (
                "worker-1",
                "request-0",
                "comes to token 1 next",
                "has had token 1 delivered already",
            ),
        ),
        (
            "dynamo-3531-last-tokens-with-finish",
            4,
            (
                "worker-0",
                "request-0",
                "has all its tokens sent",
                "has 1 of its 2 tokens sent",
            ),
        ),
    ],
)
def test_the_belief_that_a_wrong_step_is_taken_on_is_told_before_it(
    bug: str, steps: int, belief: tuple[str, str, str, str]
) -> None:
    assert belief in decisive(bug, steps)


def test_an_event_on_its_way_is_no_mistake() -> None:
    system = world_of("llm-d-router-1737-gap-goes-unseen")
    sent = run(system.initial, (store, 0, 0))
    assert mistaken(system, sent) == []
    assert Belief(
        "cache index", "worker-0", "holds nothing", "holds prefix-0", False, behind=True
    ) in drawn(system).beliefs(sent)
    lost = run(sent, (lost_event, 0))
    assert Belief("cache index", "worker-0", "holds nothing", "holds prefix-0", False) in mistaken(
        system, lost
    )


def test_a_frozen_worker_believes_nothing() -> None:
    system = world_of("dynamo-frozen-worker-chosen-again")
    frozen = run(system.initial, (dispatch, 0, 0), (start_stream, 0, 0, 0), (hang, 0))
    assert "worker-0" not in {belief.who for belief in drawn(system).beliefs(frozen)}


def test_a_large_rack_is_drawn_small() -> None:
    placement = place(preset("nvl72", {"racks": 3}), prefill=1, decode=1)
    graph = Board(placement).graph()
    assert graph.nodes["16 other trays of rack-0"]["count"] == 16
    assert graph.nodes["36 other trays elsewhere"]["count"] == 36
    assert graph.nodes["gpu-4"]["on"] == "decode-0"
    assert graph.nodes["decode-0"]["on"] == "tray-1"
    links = {link["kind"] for _, _, link in graph.edges(data=True)}
    assert links == {"nvlink", "pcie", "network"}
    assert len(graph) < 30


def test_nodes_of_the_rack_that_have_the_name_of_an_instance_are_told_apart() -> None:
    rack: nx.Graph[str] = nx.Graph()
    rack.add_node("worker-0", kind="tray")
    rack.add_node("gpu-0", kind="gpu", parent="worker-0")
    graph = Board(place(checked("mine", rack), aggregated=1)).graph()
    assert dict(graph.nodes["worker-0"]) == {"kind": "aggregated", "on": "worker-0 (tray)"}
    assert dict(graph.nodes["gpu-0"]) == {"kind": "gpu", "on": "worker-0"}
