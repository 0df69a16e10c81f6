"""Minimal cut sets: known ones on tiny worlds, and all of them on random ones by brute force."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from naive import unfair
from random_worlds import Maker, World, random_loops, random_world
from random_worlds import Workers as RandomWorkers
from worlds import Rack, Trays, Workers, load, pool, tray_loss, trays

from rackproof.checker.cli import run
from rackproof.checker.cuts import CutSets, cut_sets
from rackproof.checker.cuts.watch import Event, Events, Watch, images
from rackproof.checker.cuts.words import in_words
from rackproof.checker.engines import Options
from rackproof.model.kernel import (
    Identifiers,
    Kind,
    Property,
    Scope,
    System,
    always,
    at_rest,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    holds,
    put,
    step,
    successors,
    transition,
)
from rackproof.model.kernel import system as kernel

Replicas = Identifiers("replica")


@frozen
class Group:
    up: tuple[bool, ...] = each(Replicas)
    network: bool = True
    storage: bool = True
    written: int = bounded(0, 1)


@transition(fault, replica=Replicas)
def die(world: Group, replica: int) -> Group | None:
    """{replica} dies."""
    return evolve(world, up=put(world.up, replica, False)) if world.up[replica] else None


@transition(fault, replica=Replicas)
def return_(world: Group, replica: int) -> Group | None:
    """{replica} comes back, empty; what was written counts twice."""
    if world.up[replica] or not world.written:
        return None
    return evolve(world, up=put(world.up, replica, True), written=0)


@transition(fault)
def cut_network(world: Group) -> Group | None:
    """The network is cut."""
    return evolve(world, network=False) if world.network else None


@transition(fault)
def lose_storage(world: Group) -> Group | None:
    """The storage goes."""
    return evolve(world, storage=False) if world.storage else None


@transition(fault)
def shrug(world: Group) -> Group | None:
    """A fault that changes nothing."""
    return evolve(world, network=world.network)


@transition(step)
def write(world: Group) -> Group | None:
    """Something is written."""
    return evolve(world, written=1) if world.written == 0 else None


@always()
def quorum(world: Group) -> bool:
    """Two of three are up."""
    return sum(world.up) >= 2


@at_rest()
def reachable(world: Group) -> bool:
    """The group is reached over the network or through the storage, and most of it is up."""
    return (world.network or world.storage) and sum(world.up) >= 2


@always()
def has_network(world: Group) -> bool:
    """The network or the storage is whole: either one breaks it."""
    return world.network and world.storage


@always()
def never_written(world: Group) -> bool:
    """Nothing is ever written: broken without a fault."""
    return world.written == 0


@always()
def keeps(world: Group) -> bool:
    """What was written is not lost by a return: nothing is up and empty."""
    return world.network or all(world.up) or world.written == 0


FAULTS = ("die", "return_", "cut_network", "lose_storage", "shrug")


def group() -> System:
    return System(
        "group",
        Group(up=(True, True, True)),
        (die, return_, cut_network, lose_storage, shrug, write),
        (quorum, reachable, has_network, never_written, keeps),
        sizes={"replica": 3},
    )


def told(found: CutSets) -> dict[str, list[str]]:
    return {
        row.prop.name: [in_words(cut.trace, found.classes) for cut in row.cuts]
        for row in found.rows
    }


def sets(found: CutSets, watch: Watch) -> dict[str, set[Events]]:
    """Every cut set under its real names."""
    return {
        row.prop.name: {
            image for cut in row.cuts for image in images(cut.events, watch, found.classes)
        }
        for row in found.rows
    }


def test_known_cut_sets() -> None:
    found = cut_sets(group(), FAULTS, 3)
    assert told(found) == {
        "quorum": ["die (a replica) + die (another replica)"],
        "reachable": ["lose-storage + cut-network", "die (a replica) + die (another replica)"],
        "has-network": ["lose-storage", "cut-network"],
        "never-written": ["no fault at all"],
        "keeps": ["cut-network + die (a replica)"],
    }
    rows = {row.prop.name: row for row in found.rows}
    assert all(row.settled == 3 and row.reason is None for row in rows.values())
    assert [cut.alike for cut in rows["quorum"].cuts] == [3]
    assert rows["never-written"].ruled_out == 0
    assert all(row.cuts[0].trace.violates(row.prop) for row in found.rows)


def test_no_more_than_asked() -> None:
    row = next(r for r in cut_sets(group(), FAULTS, 1).rows if r.prop.name == "quorum")
    assert row.cuts == ()
    assert row.settled == 1
    nine = 1 + 9  # none, or one of three dies, three returns and three others
    assert row.ruled_out == nine


def test_faults_that_are_not_asked_for_do_not_happen() -> None:
    found = cut_sets(group(), ("die",), 2, names=("has-network", "quorum"))
    assert told(found) == {
        "has-network": [],
        "quorum": ["die (a replica) + die (another replica)"],
    }


@transition(fault, worker=Workers)
def crash_one(world: Rack, worker: int) -> Rack | None:
    """{worker} crashes."""
    lane = world.placed[worker]
    if not lane.up:
        return None
    return evolve(world, placed=put(world.placed, worker, evolve(lane, up=False, load=0)))


def test_the_loss_of_a_tray_is_one_event_with_the_crash_of_each_worker_on_it() -> None:
    system = trays(2, 2)
    system = attrs.evolve(system, transitions=(tray_loss, crash_one, load))
    found = cut_sets(system, ("tray_loss", "crash_one"), 4)
    tray, crash = "tray-loss (the tray of {})", "crash-one ({})"
    there = crash.format("the other worker there")
    assert told(found)["half-lives"] == [
        " + ".join([tray.format("a worker"), tray.format("another worker")]),
        " + ".join([tray.format("a worker"), crash.format("another worker"), there]),
        " + ".join([crash.format("a worker"), crash.format("another worker"), there, there]),
    ]
    sizes = [len(cut.events) for cut in found.rows[0].cuts]
    assert sizes == [2, 3, 4]
    assert [cut.alike for cut in found.rows[0].cuts] == [1, 2, 1]
    assert Trays in {sort for bundles in found.classes for bundle in bundles for sort, _ in bundle}


def test_a_limit_leaves_open_what_it_must() -> None:
    found = cut_sets(pool(3, 2, 2), ("crash", "hang"), 3, Options(seconds=0.0))
    assert all(row.settled is None and row.reason for row in found.rows)


def brute(watch: Watch, most: int) -> dict[str, set[Events]]:
    """The minimal ones of all multisets of events on runs that violate each property."""
    system = watch.plain
    start = (system.initial, ())
    seen, order = {start}, [start]
    for state, events in order:
        for firing, after in successors(system, state):
            is_fault = firing.transition.kind is Kind.FAULT
            event = (Event(firing.transition.name, firing.arguments),) if is_fault else ()
            key = (after, tuple(sorted((*events, *event))))
            if len(key[1]) <= most and key not in seen:
                seen.add(key)
                order.append(key)
    return {prop.name: minimal(violating(system, prop, order)) for prop in system.properties}


def violating(
    system: System, prop: Property, states: Collection[tuple[Any, Events]]
) -> Iterator[Events]:
    for state, events in states:
        asked = prop.scope is Scope.ALWAYS or kernel.at_rest(system, state)
        if asked and not holds(system, prop, state):
            yield events


def minimal(found: Iterator[Events]) -> set[Events]:
    every = set(found)
    return {
        one
        for one in every
        if not any(Counter(other) < Counter(one) for other in every if other != one)
    }


def picky(seed: int) -> System:
    """A random world with properties that take several coincidences to violate."""
    maker = Maker(seed)

    def one(number: int) -> Property:
        parts = [maker.truth() for _ in range(3)]

        @always(name=f"picky-{number}", worker=RandomWorkers)
        def never(world: World, worker: int) -> bool:
            return not all(bool(part(world, worker)) for part in parts)

        return never

    system = random_world(seed)
    return attrs.evolve(system, properties=(*system.properties, *(one(n) for n in range(8))))


LIVELY = (35, 38, 40, 44, 55, 60, 71, 72, 78, 80, 87, 88, 89, 148)
"""Seeds of worlds of which some properties need faults, two even."""
LOOPING = (60, 70, 130)


@pytest.mark.parametrize("seed", LIVELY)
def test_brute_force_agrees(seed: int) -> None:
    system = picky(seed)
    faults = tuple(t.name for t in system.transitions)
    watch = Watch(system, faults, 2)
    found = sets(cut_sets(system, faults, 2), watch)
    assert found == brute(watch, 2)
    assert any(len(events) == 2 for row in found.values() for events in row)


def only(system: System, event: Event | None) -> System:
    """A system in which nothing but one event, once, or no fault at all may happen."""
    watched = Watch(system, [event.fault] if event else [], 1).system

    def allowed(item: Any) -> Any:
        def fire(state: Any, worker: int) -> Any:
            return item.function(state, worker) if event == Event(item.name, (worker,)) else None

        fire.__name__ = item.name
        return attrs.evolve(item, function=fire) if item.kind is Kind.FAULT else item

    return attrs.evolve(watched, transitions=[allowed(item) for item in watched.transitions])


@pytest.mark.parametrize("seed", LOOPING)
def test_loops_are_looked_at_with_each_set_of_faults(seed: int) -> None:
    """A set breaks ``eventually`` where the system with just this fault, once, does."""
    system = random_loops(seed)
    faults = tuple(t.name for t in system.transitions if t.kind is Kind.FAULT)
    watch = Watch(system, faults, 1)
    found = sets(cut_sets(system, faults, 1), watch)
    events = [
        Event(name, (worker,)) for name in faults for worker in range(len(system.initial.lanes))
    ]
    for prop in system.properties:
        broken = {
            (event,) if event else ()
            for event in (None, *events)
            if unfair(restricted := only(system, event), _named(restricted, prop.name)) is not None
        }
        assert found[prop.name] == minimal(iter(broken))


def _named(system: System, name: str) -> Property:
    return next(prop for prop in system.properties if prop.name == name)


def test_the_same_whatever_the_hash_seed(tmp_path: Path) -> None:
    texts = []
    for seed in ("0", "1"):
        file = tmp_path / f"{seed}.json"
        code = "import sys; from rackproof.checker.cli import main; main(sys.argv[1:])"
        arguments = ("cuts", "docs/examples/lease.py:world", "--json", str(file))
        subprocess.run(
            (sys.executable, "-c", code, *arguments),
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed},
        )
        data = json.loads(file.read_text())
        texts.append([{**item, "seconds": 0} for item in data])
    assert texts[0] == texts[1]


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    markdown = tmp_path / "cuts.md"
    names = ("--property", "terminal-latch", "--property", "progress")
    asked = ("--faults", "crash,hang", "--at-most", "1", "--markdown", str(markdown))
    status = run(["cuts", "stack:dynamo", *asked, *names])
    out = capsys.readouterr().out
    assert status == 0
    assert "terminal-latch  crash (a worker)" in out
    assert "progress        hang (a worker)" in out
    assert "shown by exhaustion of all runs with up to 1 of 4 fault events: 5 sets" in out
    assert "| progress | hang (a worker) | 4 |" in markdown.read_text()


def test_a_scenario_is_asked_with_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own budgets do not count; trays that are named are told with who is on them."""
    bug = "scenarios/bugs/vllm-35943-no-limit-on-a-load.yaml"
    asked = ("--property", "dead-endpoint-removed", "--at-most", "1", "--workers", "1")
    assert run(["cuts", bug, *asked]) == 0
    out = capsys.readouterr().out
    assert "crash (prefill-0)" in out
    assert "tray-loss (tray-0)" in out
    assert "on the rack: prefill-0 on tray-0" in out


def test_a_rack_of_ones_own_is_found_from_the_scenario(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rack = Path(__file__).parents[2] / "scenarios" / "racks" / "pair.yaml"
    (tmp_path / "racks").mkdir()
    (tmp_path / "racks" / "mine.yaml").write_text(rack.read_text())
    (tmp_path / "scenarios").mkdir()
    scenario = tmp_path / "scenarios" / "one.yaml"
    scenario.write_text(
        "rackproof: 1\nname: one\nrack: {path: ../racks/mine.yaml, aggregated: 2}\n"
        "scope: {tokens: 1, faults: {crash: 1}}\n"
    )
    asked = ["--at-most", "0", "--property", "no-lost-tokens"]
    assert run(["cuts", str(scenario), *asked]) == 0
    assert "no set of up to 0 faults breaks: no-lost-tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["scenarios/drills/prefill-crash.yaml", "--faults", "crsh"],
            "there is no fault 'crsh'; did you mean crash?",
        ),
        (["stack:dynamo", "--property", "progres"], "there is no property 'progres'; did you"),
        (["stack:dynamo", "--exam", "crsh"], "there is no exam 'crsh'; did you mean crash?"),
        (["stack:dynamo", "--at-most", "9"], "9 is not in the range 0<=x<=4"),
        (["docs/examples/lease.py:world", "--faults", "crash"], "there is no transition 'crash'"),
    ],
)
def test_bad_input(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cuts", *arguments]) == 2
    captured = capsys.readouterr()
    assert complaint in captured.out + captured.err


def test_a_mistake_is_told_where_it_was_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from rackproof.model import kernel\n"
        "@kernel.frozen\n"
        "class W:\n"
        "    x: int = kernel.bounded(0, 1)\n"
        "@kernel.transition(kernel.fault)\n"
        "def rise(w):\n"
        "    'It rises.'\n"
        "    return kernel.evolve(w, x=w.x + 1)\n"
        "@kernel.always()\n"
        "def low(w):\n"
        "    return w.x < 1\n"
        "world = kernel.System('w', W(), (rise,), (low,))\n"
    )
    assert run(["cuts", f"{file}:world"]) == 2
    captured = capsys.readouterr()
    assert f"{file}" in captured.out + captured.err
    assert "watch.py" not in captured.out + captured.err
