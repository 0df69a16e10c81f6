"""What survives which fault: exact in a world counted by hand, and as a plain search finds it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
import naive
import pytest
from pictured import world_of
from random_worlds import Workers, random_world

from rackproof.checker.compare import compare
from rackproof.checker.explain.survival import Fate, Survival, survival
from rackproof.checker.lowering import lower
from rackproof.model.kernel import (
    Identifiers,
    Item,
    Kind,
    Lane,
    Message,
    OutOfDomain,
    Picture,
    Property,
    Scope,
    System,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    put,
    step,
    successors,
    transition,
)
from rackproof.model.kernel.system import at_rest

Keys = Identifiers("key")


@frozen
class Entry:
    cached: bool = False


@frozen
class Cache:
    entries: tuple[Entry, ...] = each(Keys)
    left: int = bounded(0, 1, initial=1)


def entered(world: Cache, key: int, cached: bool) -> Cache:
    return evolve(world, entries=put(world.entries, key, Entry(cached=cached)))


@transition(step, key=Keys)
def fetch(world: Cache, key: int) -> Cache:
    """{key} is fetched."""
    return entered(world, key, True)


@transition(step, key=Keys)
def evict(world: Cache, key: int) -> Cache:
    """{key} is evicted."""
    return entered(world, key, False)


@transition(fault, key=Keys)
def drop(world: Cache, key: int) -> Cache:
    """{key} is lost."""
    return entered(world, key, False)


@transition(fault)
def crash(world: Cache) -> Cache | None:
    """All is lost, once."""
    return Cache(entries=tuple(Entry() for _ in world.entries), left=0) if world.left else None


def is_cached(world: Cache, key: int) -> bool:
    return world.entries[key].cached


CACHED = Item("cached", "what is kept of a key", "key", Keys, is_cached)


def drawn(items: tuple[Item, ...], lanes: tuple[Lane, ...]) -> Picture:
    return Picture(lanes, lambda *_: Message("", ""), items=items)


def cache(*transitions: Any) -> System:
    picture = drawn((CACHED,), tuple(Lane(f"key-{i}", "key") for i in range(2)))
    start = Cache(entries=(Entry(), Entry()))
    return System("cache", start, transitions, picture=picture)


def test_a_cache_counted_by_hand() -> None:
    found = survival(cache(fetch, evict, drop, crash))
    (life,), (dropped, crashed) = found.lives, found.fates
    assert (found.states, found.reason) == (8, None)
    assert (life.states, life.made, life.ended) == (6, ((fetch, 8),), ((evict, 8),))
    assert dropped == Fate(CACHED, drop, ("key",), 4, 8, ((fetch, 8),))
    assert crashed == Fate(CACHED, crash, (), 0, 4, ((fetch, 4),))
    assert (dropped.survives, crashed.survives) == ("sometimes", "never")
    told = "never survives crash: lost at 4 of 4 moments, and comes back by fetch"
    assert crashed.words == told


def test_what_never_comes_back_is_told() -> None:
    @transition(step, key=Keys)
    def fetch_at_first(world: Cache, key: int) -> Cache | None:
        """{key} is fetched, unless all was lost."""
        return entered(world, key, True) if world.left else None

    (fate,) = survival(cache(fetch_at_first, crash)).fates
    assert (fate.lost, fate.back, fate.for_good) == (4, (), 2)
    end = "lost at 4 of 4 moments, and never comes back; 2 states end without it"
    assert fate.words == f"never survives crash: {end}"


def test_a_world_that_is_too_large_or_has_no_items_is_told_so() -> None:
    assert survival(cache(fetch, crash), most=3).reason is not None
    assert survival(random_world(1)).reason == "the world does not say what can be lost"


def is_marked(world: Any, worker: int) -> bool:
    return worker in world.marked


def watched(system: System, *items: Item) -> System:
    """The system with items as its properties, which tells what fields matter."""
    return attrs.evolve(
        system,
        properties=[
            Property(item.name, Scope.SOMETIMES, item.there, (("i", item.sort),), "", (), None)
            for item in items
        ],
    )


def by_hand(system: System, item: Item) -> Iterator[tuple[object, ...]]:
    """The same counts by the plain functions, a fault at a time."""
    relation = lower(watched(system, item))
    assert system.picture is not None
    kinds = {lane.name: lane.kind for lane in system.picture.lanes}

    def key(state: Any) -> Any:
        return naive.projected(relation, system.schema.flatten(state))

    moves: dict[Any, dict[Any, Any]] = {}
    plain: dict[Any, Any] = {}
    for state in naive.reachable(system):
        here = moves.setdefault(key(state), {})
        plain[key(state)] = state
        for firing, after in successors(system, state):
            if key(after) != key(state):
                here[firing] = key(after)
    resting = {here for here, state in plain.items() if at_rest(system, state)}
    firings = list(dict.fromkeys(firing for here in moves.values() for firing in here))
    ats = {f: tuple(kinds[n] for n in f.named(system).values() if n in kinds) for f in firings}
    faults = dict.fromkeys(
        (firing.transition.name, ats[firing])
        for firing in system.firings()
        if firing in ats and firing.transition.kind is Kind.FAULT
    )
    for name, at in faults:
        kept, lost, good, back = 0, 0, 0, Counter[str]()
        for index in range(system.schema.counts[item.sort]):
            there = {here: item.there(state, index) for here, state in plain.items()}
            seeds = set()
            for here, leaving in moves.items():
                for firing, after in leaving.items():
                    if there[here] and (firing.transition.name, ats[firing]) == (name, at):
                        kept, lost = kept + there[after], lost + (not there[after])
                        seeds |= set() if there[after] else {after}
            without = list(seeds)
            for here in without:
                for firing, after in moves[here].items():
                    back[firing.transition.name] += there[after]
                    if not there[after] and after not in without:
                        without.append(after)
            good += len(resting & set(without))
        if kept or lost:
            yield name, at, kept, lost, {name: n for name, n in back.items() if n}, good


def told(found: Survival) -> list[tuple[object, ...]]:
    return [
        (
            fate.fault.name,
            fate.at,
            fate.kept,
            fate.lost,
            {transition.name: count for transition, count in fate.back},
            fate.for_good,
        )
        for fate in found.fates
    ]


def test_random_worlds_come_to_what_the_plain_functions_do() -> None:
    item = Item("marked", "a mark", "worker", Workers, is_marked)
    lanes = (Lane("worker-0", "first"), Lane("worker-1", "second"))
    compared = []
    for seed in range(25):
        system = attrs.evolve(random_world(seed), picture=drawn((item,), lanes))
        try:
            expected = list(by_hand(system, item))
        except OutOfDomain:
            continue
        assert told(survival(system)) == expected, seed
        compared += expected
    assert {bool(kept) + 2 * bool(lost) for _, _, kept, lost, *_ in compared} == {1, 3}
    assert any(back for *_, back, _ in compared)


def test_the_kv_of_a_request_survives_what_does_not_hit_its_worker() -> None:
    found = survival(world_of("vllm-20139-decode-dies-after-prefill"))
    fates = {(fate.item.name, fate.at): fate.survives for fate in found.fates}
    for worker in ("prefill", "decode"):
        item = f"KV on the {worker} worker"
        lost = {at for name, at in fates if name == item and fates[name, at] == "never"}
        assert lost == {(worker,)}
    assert fates["prompt", ("prefill",)] == fates["delivered tokens", ("decode",)] == "always"


@pytest.mark.parametrize(
    "bug",
    [
        "vllm-20139-decode-dies-after-prefill",
        "marin-8934-nvlink-fault-fells-the-domain",
        "sglang-40125-duplicate-room",
        "llm-d-router-1738-queued-event-after-removal",
        "mooncake-2447-hot-copy-after-removal",
    ],
)
def test_items_are_looked_up_in_columns_as_by_the_plain_functions(bug: str) -> None:
    system = world_of(bug)
    assert system.picture is not None
    assert system.picture.items
    compare(lower(watched(system, *system.picture.items)), states=60)
