"""What a step came to, in words."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from rackproof.checker.trace import Step
from rackproof.model.build import TRANSITIONS
from rackproof.model.kernel import Firing, System, evolve, successors
from rackproof.model.picture.outcomes import ENDS, OUTCOMES
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

BUGS = Path(__file__).parents[3] / "scenarios" / "bugs"
WALKED = (
    "vllm-21570-read-after-timeout",
    "dynamo-7930-guided-request-migrated",
    "sglang-12779-decode-killed-with-prefill",
    "llm-d-router-1738-queued-event-after-removal",
    "vllm-57789-replay-buffer-too-short",
    "dynamo-11169-split-restores-removed-worker",
    "vllm-32255-abort-races-completion",
    "marin-8934-nvlink-fault-fells-the-domain",
    "sglang-40125-duplicate-room",
    "mooncake-2246-addresses-lost",
    "lmcache-3444-removed-while-read",
)


def told(system: System, name: str, state: object) -> list[str]:
    """What each firing of a transition that is possible comes to."""
    return [
        Step(system, firing, state, after).words
        for firing, after in successors(system, state)
        if firing.transition.name == name
    ]


def small(**scope: object) -> System:
    rack, faults = {"aggregated": 2}, {"crash": 1}
    bundled = Bundled(rack=rack, scope={"tokens": 1, **scope}, faults=faults)
    return bundled_setting(bundled, Path("small.yaml")).system


def fired(system: System, state: object, name: str, *ids: int) -> object:
    (transition,) = (item for item in TRANSITIONS if item.name == name)
    after = Firing(transition, ids).apply(system, state)
    assert after is not None, name
    return after


def test_those_that_have_one_are_transitions() -> None:
    assert {*OUTCOMES, *ENDS} <= {transition.name for transition in TRANSITIONS}


@pytest.mark.parametrize("name", WALKED)
def test_every_step_has_a_whole_sentence(name: str) -> None:
    system = load(BUGS / f"{name}.yaml").case.setting.system
    assert system.picture is not None
    rng = random.Random(name)
    for _ in range(4):
        state = system.initial
        for _ in range(25):
            options = list(successors(system, state))
            if not options:
                break
            firing, after = rng.choice(options)
            sentence = system.picture.sentence(state, firing, after)
            names = {field for _, field, _, _ in string.Formatter().parse(sentence) if field}
            assert names <= {name for name, _ in firing.transition.parameters}
            assert sentence.endswith(".")
            assert not any(flaw in sentence for flaw in ("  ", "..", " .", " ,", "None", ",,"))
            state = after


def test_a_dispatch_says_who_answered() -> None:
    system = small()
    assert told(system, "dispatch", system.initial) == [
        "The router sends request-0 to worker-0, which accepts it.",
        "The router sends request-0 to worker-1, which accepts it.",
    ]
    dead = fired(system, system.initial, "crash", 0)
    assert told(system, "dispatch", dead)[0] == (
        "The router sends request-0 to worker-0, which cannot be reached; "
        "the router inhibits worker-0."
    )
    full = evolve(
        system.initial,
        endpoints=tuple(evolve(one, busy=True) for one in system.initial.endpoints),
    )
    assert told(system, "dispatch", full)[0] == (
        "The router sends request-0 to worker-0, which is full and refuses it; "
        "the router marks worker-0 as overloaded."
    )


@pytest.mark.parametrize(("retries", "fate"), [(1, "is to be sent again"), (0, "fails")])
def test_a_break_says_what_becomes_of_the_request(retries: int, fate: str) -> None:
    system = small(**{"retry-limit": retries})
    sent = fired(system, system.initial, "dispatch", 0, 0)
    streaming = fired(system, sent, "start_stream", 0, 0, 0)
    (words,) = told(system, "notice", fired(system, streaming, "crash", 0))
    begins = "The frontend finds the stream of request-0 from worker-0 broken: request-0 "
    assert words.startswith(begins + fate)


def test_a_token_that_the_client_had_is_told() -> None:
    path = BUGS / "dynamo-7930-guided-request-migrated.yaml"
    system = load(path).case.setting.system
    state: object = system.initial
    for name, ids in (("dispatch", (0, 0)), ("start_stream", (0, 0, 0)), ("emit", (0, 0, 0))):
        state = fired(system, state, name, *ids)
    assert told(system, "receive", state) == [
        "The frontend gets token 1 of request-0 (attempt-0) and hands it on to the client."
    ]
