"""Runs held against the model while they happen."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import recorded
from attrs import evolve
from naive import reachable
from random_worlds import random_world
from worlds import WORLDS, pool

from rackproof.checker.conform.matching import Logs
from rackproof.checker.conform.moves import Moves
from rackproof.checker.conform.search import Limits, Search
from rackproof.checker.conform.watch import TooMany, Unexplained, Watch, World
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Evidence, Firing, Observation, Record, System, successors
from rackproof.model.kernel.evidence import Case

RUN = "run"


def follow(watch: Watch, *log: Observation) -> Watch | None:
    """The watch after one observation after another; None where one of them is not explained."""
    for seen in log:
        after = watch.after([seen])
        if isinstance(after, Unexplained):
            assert after.at is seen
            return None
        watch = after
    return watch


def kinds(system: System) -> frozenset[tuple[str, str]]:
    """Every kind of a world that says nothing of what is recorded."""
    return frozenset((RUN, each.name.replace("_", "-")) for each in system.transitions)


@pytest.mark.parametrize("seed", range(15))
def test_the_state_of_a_run_is_among_those_it_may_be_in(seed: int) -> None:
    system = random_world(seed)
    run = recorded.random_run(system, 8, seed)
    for complete in (kinds(system), frozenset(sorted(kinds(system))[1:])):
        watch = Watch.at_start(World(system), complete)
        for step in run.steps:
            for record in recorded.records(Trace(system, (step,))):
                if (record.witness, record.kind) in complete:
                    seen = Observation(record.witness, record.kind, record.values)
                    after = follow(watch, seen)
                    assert after is not None
                    assert step.after in after.states
                    watch = after
        assert watch.trace(watch.nodes[0]).final in watch.states


@pytest.mark.parametrize("silent", [(), ("crash", "give-up")])
def test_a_watch_says_what_a_search_says_of_the_same_record(silent: tuple[str, ...]) -> None:
    system = pool(2, 1, 1)
    complete = frozenset(each for each in kinds(system) if each[1] not in silent)
    names = {"worker": ("worker-0", "worker-1"), "request": ("request-0",)}
    alphabet = [
        Observation(RUN, each.name.replace("_", "-"), dict(zip(keys, values, strict=True)))
        for each in system.transitions
        if (RUN, each.name.replace("_", "-")) in complete
        for keys in [[name for name, _ in each.parameters]]
        for values in itertools.product(*(names[key] for key in keys))
    ]
    world, moves = World(system), Moves(system)
    for length in (1, 2, 3):
        for log in itertools.product(alphabet, repeat=length):
            watch = follow(Watch.at_start(world, complete), *log)
            search = Search(moves, Logs(Case("pool", system, (log,), complete)), False, Limits())
            assert (watch is not None) == (search.run() is not None)


def test_an_observation_that_nothing_explains_leaves_what_was_known() -> None:
    lease = WORLDS["lease"][0]()
    start = Observation(RUN, "start", {"reader": "reader-1"})
    watch = follow(Watch.at_start(World(lease), kinds(lease)), start)
    assert watch is not None
    assert follow(watch, start) is None
    after = follow(watch, Observation(RUN, "finish"))
    assert after is not None
    assert [step.words for step in after.trace(after.nodes[0]).steps] == [
        "reader-1 starts to read the block.",
        "reader-1 has read the block.",
    ]


def reading() -> Watch:
    """A world in which a driver starts to read and restarts; readers write two lines of it."""
    lease = WORLDS["lease"][0]()

    def records(_before: Any, firing: Firing, _after: Any) -> Sequence[Record]:
        name = firing.transition.name
        told = [Record("driver", name), Record("reader", name), Record("reader", "line")]
        return told if name == "start" else told[:1]

    system = evolve(lease, evidence=Evidence(records))
    deeds = {"start": ("driver", "start")}
    return Watch.at_start(
        World(system, deeds), frozenset({("reader", "start"), ("reader", "line")})
    )


START = ("start", "reader", "reader-0")


def test_what_was_done_is_taken_as_a_step_and_what_others_write_of_it_is_awaited() -> None:
    watch = reading().doing(START)
    assert watch is not None
    assert len(watch.states) == 1
    assert not watch.resting
    assert follow(watch, Observation("reader", "line")) is None
    watch = follow(watch, Observation("reader", "start"), Observation("reader", "line"))
    assert watch is not None
    assert watch.resting
    assert watch.may_do(("start", "reader", "reader-2")) is None


def test_what_was_ordered_may_take_effect_at_any_time_from_then_on() -> None:
    lines = [Observation("reader", "start"), Observation("reader", "line")]
    assert follow(reading(), *lines) is None
    ordered = reading().ordering(START)
    assert not ordered.resting
    watch = follow(ordered, *lines)
    assert watch is not None
    assert watch.resting
    assert follow(watch, lines[0]) is None


def test_nothing_is_known_of_a_run_that_may_be_in_too_many_states() -> None:
    watch = Watch.at_start(World(pool(2, 3, 1), most=20), frozenset())
    with pytest.raises(TooMany, match="more than 20 states of the model"):
        watch.after([Observation(RUN, "finish", {"request": "request-0"})])


def test_all_states_are_kept_that_the_run_may_be_in() -> None:
    system = pool(2, 1, 1)
    watch = follow(Watch.at_start(World(system), frozenset()), Observation(RUN, "crash"))
    assert watch is not None
    crashed = {
        after
        for state in reachable(system)
        for firing, after in successors(system, state)
        if firing.transition.name == "crash"
    }
    assert set(watch.states) == crashed
