"""Who takes part in the world and between whom its steps pass, on walks of the plain world."""

import pickle

import attrs
import pytest
from pictured import drawn, walk, world_of
from runs import steps_of

from rackproof.checker.trace import Step
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


@pytest.mark.parametrize("part", ["serving", "one request", "indexed"])
def test_where_something_is_sent_the_sentence_says_from_whom_to_whom(part: str) -> None:
    system = world_of(WALKED[part])
    for seed in range(6):
        for before, firing, after in walk(system, 30, seed):
            passed = drawn(system).message(before, firing, after)
            told = Step(system, firing, before, after).words
            for lane in (passed.source, passed.target):
                name = lane.removeprefix("cache ").split(" of ")[0]
                assert passed.source == passed.target or name in told, told


def passes(bug: str, number: int) -> Message:
    system, steps = steps_of(bug)
    step = steps[number - 1]
    return drawn(system).message(step.before, step.firing, step.after)


@pytest.mark.parametrize(
    ("bug", "number", "source", "target"),
    [
        ("vllm-21570-read-after-timeout", 2, "prefill-0", "frontend"),
        ("vllm-21570-read-after-timeout", 4, "prefill-0", "prefill-0"),
        ("vllm-21570-read-after-timeout", 5, "decode-0", "prefill-0"),
        ("sglang-24527-abort-under-a-writer", 4, "prefill-0", "prefill-0"),
        ("sglang-24527-abort-under-a-writer", 14, "prefill-0", "decode-0"),
        ("llm-d-router-1738-queued-event-after-removal", 3, "discovery", "discovery"),
        ("llm-d-router-1738-queued-event-after-removal", 4, "discovery", "router"),
        ("dynamo-7863-replay-without-end", 4, "router", "router"),
        ("dynamo-7863-replay-without-end", 6, "router", "worker-0"),
        ("dynamo-7930-guided-request-migrated", 6, "frontend", "frontend"),
    ],
)
def test_a_message_is_drawn_from_who_sends_it(
    bug: str, number: int, source: str, target: str
) -> None:
    assert passes(bug, number) == Message(source, target)


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
