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
from rackproof.checker.conform.watch import Watch
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Evidence, Firing, Observation, Record, System, successors
from rackproof.model.kernel.evidence import Case

RUN = "run"


def kinds(system: System) -> frozenset[tuple[str, str]]:
    """Every kind of a world that says nothing of what is recorded."""
    return frozenset((RUN, each.name.replace("_", "-")) for each in system.transitions)


@pytest.mark.parametrize("seed", range(15))
def test_the_state_of_a_run_is_among_those_it_may_be_in(seed: int) -> None:
    system = random_world(seed)
    run = recorded.random_run(system, 8, seed)
    for complete in (kinds(system), frozenset(sorted(kinds(system))[1:])):
        watch = Watch(system, complete)
        for step in run.steps:
            for record in recorded.records(Trace(system, (step,))):
                if (record.witness, record.kind) in complete:
                    seen = Observation(record.witness, record.kind, record.values)
                    assert watch.observe(seen) is None
                    assert step.after in watch.states
        assert watch.trace.final in watch.states


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
    moves = Moves(system)
    for length in (1, 2, 3):
        for log in itertools.product(alphabet, repeat=length):
            watch = Watch(system, complete, moves)
            answers = [watch.observe(seen) is None for seen in log]
            search = Search(moves, Logs(Case("pool", system, (log,), complete)), False, Limits())
            assert all(answers) == (search.run() is not None)


def test_what_was_expected_instead_is_said_at_once_and_the_run_goes_on() -> None:
    lease = WORLDS["lease"][0]()
    watch = Watch(lease, kinds(lease))
    assert watch.observe(Observation(RUN, "start", {"reader": "reader-1"})) is None
    wrong = watch.observe(Observation(RUN, "start", {"reader": "reader-1"}))
    assert wrong is not None
    assert [one.written for one in wrong.expected] == [
        "run start: reader reader-0",
        "run finish: reader reader-1",
        "run slow-read",
    ]
    assert watch.observe(Observation(RUN, "finish")) is None
    assert [step.words for step in watch.trace.steps] == [
        "reader-1 starts to read the block.",
        "reader-1 has read the block.",
    ]


def test_what_was_done_is_taken_as_a_step_and_what_others_write_of_it_is_awaited() -> None:
    lease = WORLDS["lease"][0]()

    def records(_before: Any, firing: Firing, _after: Any) -> Sequence[Record]:
        name = firing.transition.name
        told = [Record("driver", name), Record("reader", name), Record("reader", "line")]
        return told if name == "start" else told[:1]

    system = evolve(lease, evidence=Evidence(records))
    watch = Watch(system, {("reader", "start"), ("reader", "line")})
    assert watch.do(lambda firing: firing.transition.name == "start")
    assert len(watch.states) == 2
    assert not watch.may_be_over()
    wrong = watch.observe(Observation("reader", "line"))
    assert wrong is not None
    assert wrong.expected[0].written == "reader start"
    assert watch.observe(Observation("reader", "start")) is None
    assert watch.observe(Observation("reader", "line")) is None
    assert watch.may_be_over()
    assert not watch.do(lambda firing: firing.transition.name == "restart")


def test_nothing_is_known_of_a_run_that_may_be_in_too_many_states() -> None:
    system = pool(2, 3, 1)
    watch = Watch(system, (), most=20)
    assert watch.observe(Observation(RUN, "finish", {"request": "request-0"})) is None
    assert watch.given_up == "the run may be in more than 20 states"
    assert watch.observe(Observation(RUN, "nothing")) is None


def test_all_states_are_kept_that_the_run_may_be_in() -> None:
    system = pool(2, 1, 1)
    watch = Watch(system, ())
    assert watch.observe(Observation(RUN, "crash")) is None
    crashed = {
        after
        for state in reachable(system)
        for firing, after in successors(system, state)
        if firing.transition.name == "crash"
    }
    assert set(watch.states) == crashed
