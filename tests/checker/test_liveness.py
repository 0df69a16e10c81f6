"""Liveness under fairness: against a naive oracle, with and without symmetry and threads."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import loops
import naive
import pytest
import worlds
from random_worlds import random_loops

from rackproof.checker.cli import run
from rackproof.checker.engines import Options
from rackproof.checker.engines import explore as verified
from rackproof.checker.lowering import lower
from rackproof.checker.native.memory import Shared
from rackproof.checker.search import Exploration, Limits, cycles, explore
from rackproof.checker.search import threads as search_threads
from rackproof.checker.symmetry import interchangeable
from rackproof.checker.trace import EngineError, Trace, for_ever
from rackproof.checker.verdicts import Verdict, results
from rackproof.model.kernel import (
    Fairness,
    Firing,
    Scope,
    System,
    bounded,
    eventually,
    evolve,
    fault,
    frozen,
    step,
    transition,
)

LOOPS = loops.LOOPS


def explored(system: System, **options: Any) -> list[Exploration]:
    """Without and with symmetry, by one and by two workers."""
    relation = lower(system)
    return [
        explore(relation, classes, workers=workers, **options)
        for classes in ((), interchangeable(relation))
        for workers in (1, 2)
    ]


def levels(found: Exploration) -> dict[str, tuple[int, int]]:
    return {name: (f.faults, f.steps) for name, f in found.violations.items()}


def expected(system: System) -> dict[str, tuple[int, int]]:
    levels = {prop.name: naive.unfair(system, prop) for prop in system.properties}
    return {name: level for name, level in levels.items() if level is not None}


@pytest.fixture(autouse=True)
def eager_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_threads, "SMALL", 8)


# Verdicts.


@pytest.mark.parametrize("name", LOOPS)
def test_known_verdicts(name: str) -> None:
    make, known = LOOPS[name]
    system = make()
    (prop,) = system.properties
    assert naive.unfair(system, prop) == known
    for found in explored(system):
        assert levels(found) == ({} if known is None else {prop.name: known})
        assert found.exhausted
        assert found.endless is None


@pytest.mark.parametrize("seed", range(60))
def test_random_worlds(seed: int) -> None:
    system = random_loops(seed)
    if len(naive.reachable(system, 500)) < 500:
        for found in explored(system):
            assert levels(found) == expected(system)


def test_random_worlds_have_loops_and_rest_and_neither() -> None:
    seen = set()
    for seed in range(20):
        violations = explore(lower(random_loops(seed))).violations
        seen |= {"loop" if found.loop else "rest" for found in violations.values()}
        seen |= {"neither"} if len(violations) < 2 else set()
    assert seen == {"loop", "rest", "neither"}


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_what_was_asked_at_rest_may_be_asked_eventually(name: str) -> None:
    """Where nothing goes on for ever, the two agree."""
    system = worlds.WORLDS[name][0]()
    asked = [
        eventually(name=p.name, **dict(p.parameters))(p.function)
        for p in system.properties
        if p.scope is Scope.AT_REST
    ]
    if asked:
        at_rest = levels(explore(lower(system)))
        found = explore(lower(System(name, system.initial, system.transitions, asked)))
        assert levels(found) == {p.name: at_rest[p.name] for p in asked}
        assert all(not found.violations[p.name].loop for p in asked)


def test_only_what_is_sought_keeps_a_search_going() -> None:
    system = LOOPS["a loop takes fewer faults than rest"][0]()
    for found in explored(system, stop_when=["turns-not"]):
        assert levels(found) == {"turns-not": (1, 1)}
        assert found.endless is None


# What a loop must close in.


@frozen
class Turning:
    """The count is read by nobody."""

    way: bool = False
    count: int = bounded(0, 9)
    left: int = bounded(0, 1, initial=1)


@transition(step)
def swing(world: Turning) -> Turning:
    """It swings, and is counted."""
    return evolve(world, way=not world.way, count=min(world.count + 1, 9))


@transition(fault, fairness=Fairness.WEAK)
def stop(world: Turning) -> Turning | None:
    """It is stopped, which is owed to it."""
    return evolve(world, left=0, count=0) if world.left else None


@eventually()
def counts_not(world: Turning) -> bool:
    """Never: it is there to be violated."""
    return world.way != world.way


def test_a_loop_closes_in_what_nobody_reads() -> None:
    system = System("turning", Turning(), (swing,), (counts_not,))
    assert expected(system) == {"counts-not": (0, 9)}
    for found in explored(system):
        assert levels(found) == {"counts-not": (0, 9)}


def test_a_fault_that_is_owed_must_have_happened() -> None:
    system = System("turning", Turning(), (swing, stop), (counts_not,))
    assert expected(system) == {"counts-not": (1, 10)}
    for found in explored(system):
        assert levels(found) == {"counts-not": (1, 10)}


def test_what_is_asked_may_raise_in_any_state() -> None:
    @eventually()
    def stumbles(world: Turning) -> bool:
        if world.count == 7:
            raise ValueError("seven")
        return True

    system = System("turning", Turning(), (swing,), (stumbles,))
    for found in explored(system):
        assert [raised.found.steps for raised in found.raises] == [7]


# Counterexamples.


@functools.cache
def lassos() -> list[System]:
    found = [make() for make, _ in LOOPS.values()]
    found += [random_loops(seed) for seed in range(60)]
    return [s for s in found if any(f.loop for f in explore(lower(s)).violations.values())]


def test_every_lasso_passes_the_plain_functions() -> None:
    assert len(lassos()) >= 10
    for system in lassos():
        found = verified(system, None, Options())
        for prop in system.properties:
            trace = found.violated.get(prop.name)
            if trace is not None and trace.loop is not None:
                states = [trace.final, *(step.before for step in trace.repeated)]
                assert states[0] == states[1]
                assert trace.flaw is None
                assert trace.violates(prop)
                assert trace.culprits(prop)
                assert not any(step.is_fault for step in trace.repeated)


def test_lassos_do_not_depend_on_threads() -> None:
    for system in lassos():
        relation = lower(system)
        for classes in ((), interchangeable(relation)):
            one, two, again = (explore(relation, classes, workers=n) for n in (1, 2, 2))
            assert one.violations == two.violations == again.violations


def lasso(name: str) -> Trace:
    system = LOOPS[name][0]()
    (trace,) = verified(system, None, Options()).violated.values()
    return trace


def test_a_loop_is_no_longer_than_it_must_be() -> None:
    assert len(lasso("weakly fair to who is not always up").repeated) == 2
    assert len(lasso("handed round, which symmetry sees as standing still").repeated) == 2


def firing(trace: Trace, name: str, *arguments: int) -> Firing:
    (found,) = (t for t in trace.system.transitions if t.name == name)
    return Firing(found, arguments)


@pytest.mark.parametrize(
    ("names", "flaw"),
    [
        ([("toggle", 0)], "the loop does not come back to the state in which it begins"),
        ([("toggle", 0), ("serve", 0)], "the loop does not come back"),
        ([("serve", 0)], "{worker} serves|worker-0 serves, if it is up.: not possible in the loop"),
        ([], "the loop does not come back"),
    ],
)
def test_a_loop_that_is_none_is_refused(names: list[tuple[str, int]], flaw: str) -> None:
    trace = lasso("weakly fair to who is not always up")
    start = Trace(trace.system, trace.steps[: trace.lead])
    with pytest.raises(EngineError, match=flaw):
        for_ever(start, [firing(trace, *name) for name in names])


def test_a_loop_that_is_not_fair_is_refused() -> None:
    system = LOOPS["strongly fair to who is up again and again"][0]()
    start = Trace(system, ())
    toggle = firing(start, "toggle", 0)
    with pytest.raises(EngineError, match="never gives its due to: worker-0 serves, if it is up"):
        for_ever(start, [toggle, toggle])


def test_a_loop_with_a_fault_is_refused() -> None:
    start = Trace(System("loops", loops.World(lanes=(loops.Lane(),)), (loops.toggle(fault),)), ())
    toggle = firing(start, "toggle", 0)
    with pytest.raises(EngineError, match="has a fault, and faults do not go on for ever"):
        for_ever(start, [toggle, toggle])


# Limits.


def test_a_limit_in_the_search_for_loops_leaves_only_liveness_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cycles, "ROOM", 1 << 50)
    system = LOOPS["false now and then"][0]()
    holds = LOOPS["a loop takes fewer faults than rest"][0]()
    for found in [*explored(system), *explored(holds)]:
        if found.endless is not None:
            assert found.exhausted
            assert found.endless.startswith("out of memory: looking for a loop among")
    findings = verified(holds, None, Options())
    (result,) = results(holds, findings, {})
    assert result.verdict is Verdict.VIOLATED
    assert result.trace is not None
    assert result.trace.faults == 2
    assert not result.fewest_faults


def test_what_is_open_for_want_of_memory_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "ROOM", 1 << 50)
    system = LOOPS["strongly fair to who is up again and again"][0]()
    (result,) = results(system, verified(system, None, Options()), {})
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None
    assert result.reason.startswith("out of memory: looking for a loop among 2 states")


def test_time_may_run_out_while_loops_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def looks_for_loops(team: search_threads.Team) -> str | None:
        return "out of time: 7 s" if team.store.shared[Shared.ALIVE] else None

    monkeypatch.setattr(search_threads.Team, "_ended", looks_for_loops)
    system = LOOPS["strongly fair to who is up again and again"][0]()
    findings = verified(system, None, Options(seconds=7))
    assert findings.reason is None
    assert findings.endless == "out of time: 7 s"
    (result,) = results(system, findings, {})
    assert (result.verdict, result.reason) == (Verdict.INCONCLUSIVE, "out of time: 7 s")


def test_a_search_that_was_cut_short_says_nothing_of_loops() -> None:
    system = LOOPS["weakly fair to who is not always up"][0]()
    found = explore(lower(system), limits=Limits(max_states=1))
    assert not found.exhausted
    assert found.violations == {}


# Reports.

WORLD = """
import sys
sys.path.insert(0, {support!r})
from loops import LOOPS
world = LOOPS["a loop takes fewer faults than rest"][0]()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    support = str(Path(loops.__file__).parent)
    (tmp_path / "own.py").write_text(WORLD.format(support=support))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("own")
def test_a_lasso_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:world"]) == 1
    out = capsys.readouterr().out
    assert "turns-not is violated: 1 fault, 1 step and a loop of 2" in out
    assert (
        """
  1. Something comes loose: it turns for ever; a second time it gets stuck. (fault 1 of 1)
      phase: 0 -> 1
  -- from here on, for ever:
  2. The phase turns: 1, 2, 1, 2.
      phase: 1 -> 2
  3. The phase turns: 1, 2, 1, 2.
      phase: 2 -> 1
  -- and back to the state before step 2

  In every state from step 2 on it does not hold:
     phase: now 1, now 2
"""
        in out
    )
    assert "1 fault suffices; without any, no run violates it." in out


@pytest.mark.usefixtures("own")
def test_a_lasso_for_machines() -> None:
    assert run(["verify", "own.py:world", "--json", "own.json", "--junit", "own.xml"]) == 1
    (data,) = json.loads(Path("own.json").read_text())
    (told,) = data["properties"]
    assert told["counterexample"]["loop"] == 2
    assert len(told["counterexample"]["steps"]) == 3
    assert "violated: 1 fault, 1 step and a loop of 2" in Path("own.xml").read_text()


@pytest.mark.usefixtures("own")
def test_a_saved_lasso_replays(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:world", "--save", "out"]) == 1
    (file,) = Path("out").iterdir()
    text = file.read_text()
    assert "loop: 2\n" in text
    assert "violated: {steps: 1, faults: 1}" in text
    capsys.readouterr()
    assert run(["replay", str(file), "--json", "again.json"]) == 0
    assert "-- from here on, for ever:" in capsys.readouterr().out
    (data,) = json.loads(Path("again.json").read_text())
    assert data["loop"] == 2
    assert run(["verify", str(file)]) == 0


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("loop: 1", "loop: what begins there does not come back to the state in which it begins"),
        ("loop: 3", "loop: what begins there does not come back to the state in which it begins"),
        ("loop: 4", "loop: expected a whole number from 1 to 3, not 4"),
        ("loop: true", "loop: expected a whole number from 1 to 3, not true"),
    ],
)
def test_a_written_loop_that_is_none_is_told(
    loop: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["verify", "own.py:world", "--save", "out"])
    (file,) = Path("out").iterdir()
    file.write_text(file.read_text().replace("loop: 2", loop))
    capsys.readouterr()
    assert run(["replay", str(file)]) in (1, 2)
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("moves", ["", "spin"])
def test_a_counterexample_without_a_step_is_saved_and_replays(
    moves: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is violated at once: at rest where it starts, or by a loop that begins there.
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(
        "from rackproof.model.kernel import System, eventually, evolve, frozen, step, transition\n"
        "@frozen\nclass W:\n    up: bool = False\n"
        "@transition(step)\ndef spin(world: W) -> W:\n    '''It turns.'''\n"
        "    return evolve(world, up=not world.up)\n"
        "@eventually()\ndef alive(world: W) -> bool:\n    '''It never is.'''\n    return False\n"
        f"world = System('w', W(), ({moves}{',' if moves else ''}), (alive,))\n"
    )
    assert run(["verify", "own.py:world", "--save", "out"]) == 1
    (file,) = Path("out").iterdir()
    assert "steps: 0" in file.read_text()
    assert run(["replay", str(file)]) == 0
    assert run(["verify", str(file)]) == 0
