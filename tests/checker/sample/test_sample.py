"""Runs that Hypothesis draws: what is counted, found, shortened and told."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import worlds
from attrs import evolve
from click.testing import CliRunner
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from rackproof.checker.cli import cli
from rackproof.checker.engines import Options
from rackproof.checker.replay import replay
from rackproof.checker.report.sampling import lines
from rackproof.checker.sample.engine import impossible, sampled, told
from rackproof.checker.sample.machine import state_machine
from rackproof.checker.sample.phases import Phases, in_words
from rackproof.checker.sample.point import Choices, Move, Point
from rackproof.checker.sample.shortest import least, shortened
from rackproof.checker.sample.tally import Sampling, Sighting, Tally, Visits
from rackproof.checker.sample.walks import Walks
from rackproof.checker.trace import run
from rackproof.checker.verify import explored
from rackproof.model.kernel import Firing, System, successors
from rackproof.model.kernel.system import at_rest
from rackproof.scenarios.loader import load
from rackproof.scenarios.schema import Case, Setting

LEASE = worlds.WORLDS["lease"][0]()
POOL = worlds.pool(2, 1, 2)
FEW = Sampling(runs=60, length=30)


def sizes(found: Any) -> dict[str, tuple[int, int]]:
    return {name: (trace.faults, len(trace.steps)) for name, trace in found.violated.items()}


@pytest.mark.parametrize("name", ["lease", "counters"])
def test_what_is_possible_is_what_the_plain_functions_say(name: str) -> None:
    system = worlds.WORLDS[name][0]()
    choices, states = Choices(system), {system.initial}
    for _ in range(4):
        for state in list(states):
            point = Point(choices, state)
            moves = [m for one in system.transitions for m in point.moves(one.name)]
            assert [(m.firing, m.after) for m in moves] == list(successors(system, state))
            assert point.rests == at_rest(system, state)
            states |= {move.after for move in moves}


def test_a_violation_is_the_shortest_there_is() -> None:
    found = sampled(LEASE, FEW)
    assert sizes(found) == {"no-overwrite-in-flight": (1, 3)}
    assert found.fewest == {"no-overwrite-in-flight"}
    assert found.longer == frozenset()
    assert "; the shortest has 3 steps and 1 fault" in (found.note or "")


def test_nothing_more_is_claimed_than_that_runs_were_drawn() -> None:
    calm = evolve(LEASE, initial=evolve(LEASE.initial, slow_left=0))
    found = sampled(calm, FEW)
    assert not found.violated
    assert found.reason == f"sampled: 60 runs of up to {found.depth} steps"
    case = Case(Setting(calm, {}))
    (result,) = explored("", case, Options(engine="sample", runs=20), None).results
    assert (result.verdict.value, result.reason) == ("inconclusive", result.reason)


def test_what_never_can_happen_was_asked_for_in_vain() -> None:
    calm = evolve(LEASE, initial=evolve(LEASE.initial, slow_left=0))
    assert impossible(calm) == ("slow_read",)
    setting = Setting(calm, {}, budgets={"slow": 1}, faults={"slow": frozenset({"slow_read"})})
    run = explored("", Case(setting), Options(engine="sample", runs=20), None)
    assert [r.reason for r in run.results] == ["slow can never take effect"]
    assert run.complaints == ["no property was put to the test"]


def test_the_same_seed_draws_the_same_runs_and_another_one_others() -> None:
    few = Sampling(runs=15, length=12)
    first, again = (sampled(POOL, few, asked=()).sampled for _ in range(2))
    other = sampled(POOL, evolve(few, seed=7), asked=()).sampled
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.tally == again.tally
    assert first.tally.fired != other.tally.fired


def test_the_counts_are_those_of_the_steps() -> None:
    drawn = Recorded()
    found = sampled(LEASE, Sampling(runs=30, length=20), asked=(), driver=lambda: drawn)
    assert found.sampled is not None
    tally = found.sampled.tally
    assert tally.fired == Counter(firing.transition.name for firing in drawn.firings)
    assert (tally.runs, tally.steps) == (30, len(drawn.firings))
    assert found.fired == set(tally.fired) == {one.name for one in LEASE.transitions}
    assert set(tally.covered) <= tally.seen
    assert found.reached == {"somebody-reads"}


class Recorded:
    """A driver that holds what it is told against the plain functions."""

    def __init__(self, fails_at: str = "") -> None:
        self.firings: list[Firing] = []
        self.fails_at, self.runs, self.ended = fails_at, 0, 0

    def start(self, system: System) -> None:
        self.system, self.state, self.runs = system, system.initial, self.runs + 1

    def step(self, firing: Firing, before: Any, after: Any) -> None:
        assert before == self.state
        assert firing.apply(self.system, before) == after
        self.state = after
        self.firings.append(firing)
        if firing.transition.name == self.fails_at:
            raise ValueError("not what the system does")

    def finish(self) -> None:
        self.ended += 1


def test_a_driver_goes_along_and_its_error_comes_with_the_least_run() -> None:
    made: list[Recorded] = []

    def driver() -> Recorded:
        made.append(Recorded(fails_at="reuse"))
        return made[-1]

    with pytest.raises(ValueError, match="not what the system does") as caught:
        sampled(LEASE, FEW, driver=driver, asked=())
    assert all(one.runs == one.ended == 1 for one in made)
    told = [f"  {n}. {one.words(LEASE)}" for n, one in enumerate(made[-1].firings, 1)]
    (note,) = (note for note in caught.value.__notes__ if note.startswith("in a run"))
    assert note.splitlines()[1:] == told
    assert len(told) <= 4, "start, finish, expire, reuse"


def test_a_run_is_shortened_to_steps_that_are_all_needed() -> None:
    (prop,) = LEASE.properties
    by_name = {one.name: one for one in LEASE.transitions}
    names = [("start", (1,)), ("start", (0,)), ("finish", (1,)), ("slow_read", ()), ("reuse", ())]
    firings = [Firing(by_name[name], ids) for name, ids in names]
    kept = shortened(LEASE, prop, firings)
    assert [firing.transition.name for firing in kept] == ["start", "slow_read", "reuse"]
    assert run(LEASE, kept).violates(prop)


def test_the_phase_of_a_fault_is_told_by_those_it_concerns() -> None:
    freeze = next(one for one in POOL.transitions if one.kind.value == "fault")
    pair = Phases(POOL).pair(Firing(freeze, (0,)), POOL.initial, "")
    assert pair[0] == freeze.name
    assert "at the start" in in_words(pair)


def test_a_machine_runs_under_settings_of_ones_own() -> None:
    machine = seed(1)(state_machine(LEASE))
    chosen = settings(max_examples=80, database=None, suppress_health_check=list(HealthCheck))
    with pytest.raises(AssertionError, match="no-overwrite-in-flight"):
        run_state_machine_as_test(machine, settings=chosen)


def test_what_is_saved_replays(tmp_path: Path) -> None:
    path = Path(__file__).parents[3] / "docs" / "examples" / "lease.yaml"
    how = ["--engine", "sample", "--runs", "60", "--save", str(tmp_path)]
    first = CliRunner().invoke(cli, ["verify", str(path), *how])
    assert "no-overwrite-in-flight: found in" in first.output
    assert "; the shortest has 3 steps and 1 fault" in first.output
    (saved,) = tmp_path.iterdir()
    assert replay(load(saved)).complaints == ()
    again = CliRunner().invoke(cli, ["verify", str(saved)])
    assert again.exit_code == 0, again.output


class Blind(Visits):
    """For plain walks: no move is better than another."""

    def least(self, moves: Sequence[Move]) -> Sequence[Move]:
        return moves


def test_runs_go_where_they_came_least_often() -> None:
    known = []
    for visits in (Visits(), Blind()):
        tally, walks = Tally(visits=visits), Walks(POOL, seed=1)
        while tally.steps < 300:
            walks.walk(tally.plan(), tally, 30)
        known.append(len(visits.known))
    assert known[0] > known[1]
    first, second = Point(Choices(POOL), POOL.initial).moves("crash")
    assert Visits(Counter({hash(first.after): 1})).least((first, second)) == [second]


def test_nothing_is_searched_once_the_time_is_up() -> None:
    (prop,) = LEASE.properties
    by_name = {one.name: one for one in LEASE.transitions}
    names = [("start", (1,)), ("start", (0,)), ("slow_read", ()), ("reuse", ())]
    firings = [Firing(by_name[name], ids) for name, ids in names]
    late = least(LEASE, prop, firings, lambda: 0)
    assert (late.late, late.shortest, len(late.trace.steps)) == (True, False, len(firings))
    assert "the time was up" in told(Sighting(4, 1, tuple(firings)), late)


def test_a_fault_without_a_budget_is_not_missed() -> None:
    calm = evolve(LEASE, initial=evolve(LEASE.initial, slow_left=0))
    found = explored("", Case(Setting(calm, {})), Options(engine="sample", runs=5), None).findings
    assert "slow_read" not in found.idle
    assert not any("slow-read" in line for line in lines(found))
