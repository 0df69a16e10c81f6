"""Who takes part in the world and between whom its steps pass, on walks of the plain world."""

import pickle

import attrs
import pytest
from pictured import drawn, walk, world_of

from rackproof.model.build import TRANSITIONS
from rackproof.model.kernel import Kind, Message
from rackproof.model.picture.messages import BETWEEN

WALKED = {
    "serving": "sglang-34570-pair-sent-again",
    "one request": "dynamo-w1-finish-then-disconnect",
    "linked": "marin-8934-nvlink-fault-fells-the-domain",
    "rooms": "sglang-40125-duplicate-room",
    "indexed": "llm-d-router-1738-queued-event-after-removal",
    "stored": "mooncake-2246-addresses-lost",
    "ranks": "lmcache-1101-ranks-disagree",
}


def lanes(bug: str) -> list[str]:
    return [lane.name for lane in drawn(world_of(bug)).lanes]


def test_every_transition_passes_between_somebody() -> None:
    assert {transition.name for transition in TRANSITIONS} == set(BETWEEN)


@pytest.mark.parametrize("part", WALKED)
def test_messages_and_beliefs_are_of_lanes_that_exist(part: str) -> None:
    system = world_of(WALKED[part])
    picture, steps = drawn(system), 0
    names = {lane.name for lane in picture.lanes}
    for seed in range(3):
        for before, firing, after in walk(system, 30, seed):
            passed = picture.message(before, firing, after)
            assert {passed.source, passed.target} <= names
            assert passed.source == passed.target or firing.transition.kind is not Kind.FAULT
            assert {belief.who for belief in picture.beliefs(after)} <= names
            steps += 1
    assert steps > 5


def test_lanes_are_of_what_a_scope_has() -> None:
    assert lanes(WALKED["one request"]) == ["client", "frontend", "router", "worker-0", "worker-1"]
    clients = ["client of request-0", "client of request-1"]
    workers = ["prefill-0", "decode-0"]
    served = ["frontend", "router", *workers]
    assert lanes("dynamo-826-blocks-freed-before-transfer") == [*clients, *served]
    assert lanes(WALKED["rooms"]) == workers
    assert lanes(WALKED["stored"]) == ["client-0", "master", "segment-0", "metadata server"]


def test_the_workers_of_an_attempt_are_looked_up() -> None:
    system = world_of("dynamo-826-blocks-freed-before-transfer")
    found = {}
    for seed in range(20):
        for before, firing, after in walk(system, 30, seed):
            found[firing.transition.name] = drawn(system).message(before, firing, after)
    assert found["dispatch"] == Message("router", "prefill-0")
    assert found["dispatch_decode"] == Message("router", "decode-0")
    assert found["land"] == Message("prefill-0", "decode-0")


def test_a_picture_survives_pickling_and_evolving() -> None:
    system = world_of(WALKED["serving"])
    picture = pickle.loads(pickle.dumps(drawn(system)))
    other = attrs.evolve(system, properties=())
    for before, firing, after in walk(system, 10):
        assert picture.message(before, firing, after) == drawn(other).message(before, firing, after)
        assert picture.beliefs(after) == drawn(other).beliefs(after)
