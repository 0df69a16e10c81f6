"""What is recorded of the caches and of the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from rackproof.model import cache, index
from rackproof.model.kernel import Firing, Observation, System, Transition
from rackproof.model.kernel.evidence import evidence_of
from rackproof.model.world import World
from rackproof.scenarios.schema import Bundled
from rackproof.scenarios.settings import bundled_setting

FAULTS = dict.fromkeys(
    ("lost-event", "publish-failure", "publisher-move", "reregistration", "router-restart"), 1
) | {"engine-restart": 1}
Step = tuple[Transition[..., World | None], tuple[int, ...]]
STORE: Step = (cache.store, (0, 0))
HEAR: Step = (index.apply_stored, (0, 0))


def told(*steps: Step, mechanisms: dict[str, object] | None = None) -> list[tuple[str, ...]]:
    """What is written down of the last of some steps."""
    system = world(mechanisms or {})
    state, found = system.initial, list[tuple[str, ...]]()
    for function, arguments in steps:
        firing = Firing(function, arguments)
        after = firing.apply(system, state)
        assert after is not None, function.name
        records = evidence_of(system).records(state, firing, after)
        found = [(each.witness, each.kind, *map(str, each.values.values())) for each in records]
        state = after
    return found


def world(mechanisms: dict[str, object]) -> System:
    scope = {"requests": 0, "prefixes": 2, "cache-changes": 4}
    bundled = Bundled("reference", mechanisms, {"aggregated": 2}, scope, FAULTS)
    return bundled_setting(bundled, Path()).system


def test_an_engine_tells_what_it_stores_evicts_and_clears() -> None:
    assert told(STORE) == [
        ("worker-0", "event", "0", "0"),
        ("worker-0", "stored", "prefix-0"),
    ]
    assert told(STORE, (cache.evict, (0, 0)))[1] == ("worker-0", "removed", "prefix-0")
    assert told(STORE, (cache.clear_cache, (0,))) == [
        ("worker-0", "event", "1", "0"),
        ("worker-0", "cleared"),
    ]


def test_the_router_tells_what_enters_its_index_and_leaves_it() -> None:
    assert told(STORE, HEAR) == [("router", "entered", "worker-0", "prefix-0")]
    gone = (STORE, HEAR, (cache.evict, (0, 0)), (index.apply_removed, (0, 0)))
    assert told(*gone) == [("router", "left", "worker-0", "prefix-0")]


@pytest.mark.parametrize(
    "loss",
    [
        (cache.lost_event, (0,)),
        (cache.publish_failure, (0,)),
        (cache.publisher_move, (0,)),
        (index.reregistration, (0,)),
        (index.router_restart, ()),
    ],
    ids=lambda step: step[0].name,
)
def test_an_event_that_does_not_arrive_is_missing(loss: Step) -> None:
    assert ("worker-0", "missing", "0", "0") in told(STORE, loss)


def test_what_is_sent_where_nobody_listens_is_missing() -> None:
    found = told((cache.publisher_move, (0,)), STORE)
    assert [kind for _, kind, *_ in found] == ["event", "stored", "missing"]


def test_a_restart_is_told_by_an_operator_and_by_the_engine_where_it_says_so() -> None:
    restart: Step = (cache.engine_restart, (0,))
    assert told(STORE, restart) == [("operator", "restart", "worker-0")]
    assert told(STORE, restart, mechanisms={"restart-signal": "cleared"}) == [
        ("worker-0", "event", "0", "1"),
        ("worker-0", "cleared"),
        ("operator", "restart", "worker-0"),
    ]


def forced(kind: str, block: str | None, *steps: Step, **mechanisms: object) -> World:
    system = world({name.replace("_", "-"): value for name, value in mechanisms.items()})
    state = system.initial
    for function, arguments in steps:
        state = Firing(function, arguments).apply(system, state)
    evidence = evidence_of(system)
    assert evidence.forced is not None
    values = {} if block is None else {"block": block}
    after = evidence.forced(state, Observation("worker-0", kind, values))
    assert isinstance(after, World)
    return after


def test_a_block_without_its_parent_is_cached_and_not_indexed() -> None:
    after = forced("stored", "prefix-1", ask_for_parents=False)
    assert after.caches[0].holds == {1}
    assert after.known[0].believed == frozenset()


def test_what_was_on_its_way_is_heard_before_what_is_forced() -> None:
    after = forced("removed", "prefix-1", STORE, (cache.store, (0, 1)))
    assert after.caches[0].holds == after.known[0].believed == {0}


def test_a_cleared_cache_is_empty_whatever_was_in_it() -> None:
    after = forced("cleared", None, STORE)
    assert after.caches[0].holds == after.known[0].believed == frozenset()
