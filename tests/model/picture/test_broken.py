"""What is so where a property does not hold, in words."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from rackproof.checker.engines import Options
from rackproof.checker.targets import expand
from rackproof.checker.verify import verify
from rackproof.invariants import CATALOGUE
from rackproof.model.kernel import System
from rackproof.model.peers import Life, with_link, with_peer
from rackproof.model.picture.broken import BROKEN
from rackproof.model.request import Phase
from rackproof.model.sorts import Blocks
from rackproof.model.stream import Stage
from rackproof.model.world import World
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

BUGS = Path(__file__).parents[3] / "scenarios" / "bugs"


def told(system: System, name: str, world: World) -> set[str]:
    """The sentences for all identifiers for which a property fails in a state."""
    prop = CATALOGUE[name]
    assert system.picture is not None
    failing = [ids for ids in system.choices(prop.parameters) if not prop(world, *ids)]
    assert failing, name
    found = set()
    for ids in failing:
        sentence = system.picture.broken(world, prop, ids)
        assert sentence is not None
        assert sentence.endswith(".")
        named = {field for _, field, _, _ in string.Formatter().parse(sentence) if field}
        assert named <= {parameter for parameter, _ in prop.parameters}
        found.add(sentence.format(**system.named(prop.parameters, ids)))
    return found


@pytest.fixture(scope="module")
def pair() -> System:
    """Two requests on a prefill and a decode worker with one block each, KV with its scales."""
    scope = {"requests": 2, "tokens": 1, "quantised": True}
    bundled = Bundled(rack={"prefill": 1, "decode": 1}, scope=scope, faults={"crash": 1})
    return bundled_setting(bundled, Path("pair.yaml")).system


def decoding(system: System, **block: int | None) -> World:
    """A state in which the first request decodes from the block of the decode worker."""
    world: World = system.initial
    target = world.homes.index(1)
    world = world.with_attempt(0, 0, stage=Stage.RUNNING, worker=1)
    world = world.with_load(0, 0, source=world.homes.index(0), target=target)
    return world.with_block(target, **block)


def blocks(system: System) -> tuple[str, str]:
    """What the two blocks are called: the source's and the target's name."""
    world: World = system.initial
    return system.label(Blocks, world.homes.index(0)), system.label(Blocks, world.homes.index(1))


@pytest.mark.parametrize(
    ("content", "scales", "words"),
    [
        (1, (0, 0), "which holds the KV of request-1."),
        (None, (0, 0), "which holds the KV of no request."),
        (0, (1, 0), "which holds its KV with scales for that of request-1."),
        (0, (0, 1), "which holds its KV with scales for that of request-1."),
        (0, (0, None), "which holds its KV without all of its scales."),
    ],
)
def test_whose_kv_it_is(
    pair: System, content: int | None, scales: tuple[int | None, int | None], words: str
) -> None:
    world = decoding(pair, content=content)
    world = world.with_scales(world.homes.index(1), block_scales=scales[0], tensor_scale=scales[1])
    _, target = blocks(pair)
    assert told(pair, "kv-consistent", world) == {f"request-0 decodes from {target}, {words}"}


@pytest.mark.parametrize(
    ("owners", "words"),
    [
        ((0, 1), "{target} belongs to request-1 by now, while a transfer into it"),
        ((1, 0), "{source} belongs to request-1 by now, while a transfer from it"),
        ((1, None), "{source} belongs to request-1 by now, while a transfer from it"),
        (
            (1, 1),
            "{target} belongs to request-1 and {source} belongs to request-1 by now, "
            "while a transfer from {source} into {target}",
        ),
    ],
)
def test_whose_blocks_they_are(pair: System, owners: tuple[int, int | None], words: str) -> None:
    world = decoding(pair, owner=owners[1]).with_load(0, 0, flying=1)
    world = world.with_block(world.homes.index(0), owner=owners[0])
    source, target = blocks(pair)
    expected = f"{words.format(source=source, target=target)} for request-0 is still posted."
    assert told(pair, "no-overwrite-in-flight", world) == {expected}


def test_who_keeps_a_block_and_where_a_request_stays_booked(pair: System) -> None:
    source, target = blocks(pair)
    world: World = pair.initial
    world = world.with_block(world.homes.index(0), owner=0)
    world = world.with_block(world.homes.index(1), owner=1).end(1, Phase.CANCELLED)
    assert told(pair, "no-kv-leak", world) == {
        f"{source} stays allocated to request-0 for ever.",
        f"{target} stays allocated to request-1 for ever, though that was cancelled.",
    }
    world = world.with_retry(0, booked=frozenset({0, 1})).with_retry(1, booked=frozenset({0}))
    assert told(pair, "bookings-exact", world) == {
        "request-0 stays booked at prefill-0 and decode-0 for ever.",
        "request-1 stays booked at prefill-0 for ever, though that was cancelled.",
    }


@pytest.mark.parametrize(
    ("marks", "words"),
    [
        ({"listed": False}, "off the list of discovery"),
        ({"inhibited": True, "overloaded": True}, "inhibited and marked as overloaded"),
    ],
)
def test_what_keeps_a_worker_out(pair: System, marks: dict[str, bool], words: str) -> None:
    world = pair.initial.with_endpoint(0, **marks)
    found = told(pair, "live-endpoint-selectable", world)
    assert found == {f"prefill-0 is up, but stays {words} for ever."}


def test_a_token_is_said_to_be_sent_twice_only_where_none_was_skipped(pair: System) -> None:
    world = pair.initial.with_stream(0, duplicated=True)
    twice = "The client of request-0 was sent a token twice."
    assert told(pair, "no-duplicate-tokens", world) == {twice}
    past = (
        "The client of request-0 was sent a token for a position that its output was already past."
    )
    assert told(pair, "no-duplicate-tokens", world.with_stream(0, lost=True)) == {past}


def test_what_becomes_of_a_request_with_its_finish(pair: System) -> None:
    world = pair.initial.with_stream(0, finished=True)
    finish = "though its client was given the finish reason."
    assert told(pair, "terminal-latch", world) == {f"request-0 is still being tried, {finish}"}
    failed = world.end(0, Phase.FAILED)
    assert told(pair, "terminal-latch", failed) == {f"request-0 has failed, {finish}"}


def test_whose_memory_is_missed() -> None:
    system = load(BUGS / "vllm-58063-peer-keeps-memory-mapped.yaml").case.setting.system
    world: World = system.initial
    waits = "The replacement of prefill-0 waits for its memory for ever"
    starting = with_peer(world, 0, life=Life.STARTING, generation=1)
    assert told(system, "memory-reclaimed", starting) == {f"{waits}."}
    mapped = with_link(starting, 0, mapped=0)
    kept = f"{waits}, and that of its predecessor stays mapped."
    assert told(system, "memory-reclaimed", mapped) == {kept}
    gone = with_peer(mapped, 0, life=Life.UP)
    stays = "Memory of a process of prefill-0 that is gone stays mapped for ever."
    assert told(system, "memory-reclaimed", gone) == {stays}


def test_all_of_them_are_properties() -> None:
    assert {*BROKEN} <= {*CATALOGUE}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "vllm-21570-read-after-timeout",
            "request-0 decodes from block-0@decode-0, which holds the KV of request-1.",
        ),
        (
            "sglang-24527-abort-under-a-writer",
            "block-0@decode-0 belongs to request-1 by now, while a transfer into it for request-0 "
            "is still posted.",
        ),
        (
            "dynamo-frozen-worker-chosen-again",
            "The router let worker-0 be chosen again while it did not answer.",
        ),
        (
            "dynamo-7863-replay-without-end",
            "worker-0 runs, and the router waits for ever for what it holds.",
        ),
        (
            "llm-d-router-1738-queued-event-after-removal",
            "The index keeps an entry of worker-0, which no longer runs.",
        ),
        ("dynamo-7930-guided-request-migrated", "The client of request-0 was sent a token twice."),
    ],
)
def test_what_a_bundled_bug_breaks(name: str, sentence: str) -> None:
    (target,) = expand([str(BUGS / f"{name}.yaml")]).found
    found = [result for _, result in verify(target, Options()).judged if result.trace is not None]
    assert sentence in {text for result in found for text in result.trace.broken(result.prop)}
