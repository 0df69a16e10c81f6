"""The search against the slowest there is, in every figure that it gives."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import naive
import pytest
import worlds
from attrs import define, field
from random_worlds import random_world

from rackproof.checker.lowering import lower
from rackproof.checker.lowering.relation import Disabled, Relation, Test
from rackproof.checker.native import Native
from rackproof.checker.native import classes as native_classes
from rackproof.checker.search import SOUGHT, Exploration, Limits, Snapshot, explore, store
from rackproof.checker.search import threads as search_threads
from rackproof.checker.symmetry import interchangeable
from rackproof.checker.trace import walk
from rackproof.model.kernel import (
    Identifiers,
    Kind,
    Property,
    Scope,
    System,
    always,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    holds,
    put,
    sometimes,
    step,
    successors,
    transition,
)

Key = tuple[int, ...]


@define
class Reference:
    """Cells by plain functions: the least faults, then the least steps, to each state."""

    relation: Relation
    cells: dict[Key, tuple[int, int]] = field(factory=dict)
    states: dict[Key, Any] = field(factory=dict)
    transitions: int = 0
    at_rest: int = 0
    fired: set[tuple[str, tuple[int, ...]]] = field(factory=set)
    violations: dict[str, tuple[int, int]] = field(factory=dict)
    reached: set[Property] = field(factory=set)

    def run(self) -> Reference:
        system = self.relation.system
        frontier = {self.key(system.initial): system.initial}
        calm: dict[int, dict[Key, Any]] = {0: frontier}
        faults = 0
        while calm:
            calm = self.layer(faults, calm)
            faults += 1
        return self

    def layer(self, faults: int, entries: Mapping[int, dict[Key, Any]]) -> dict[int, Any]:
        """Close a layer, given what enters it by faults; return what enters the next."""
        following: dict[int, dict[Key, Any]] = {}
        pending = {steps: dict(states) for steps, states in entries.items()}
        steps = 0
        while pending:
            for key, state in sorted(pending.pop(steps, {}).items()):
                if key not in self.cells:
                    self.cells[key] = faults, steps
                    self.states[key] = state
                    for is_fault, after in self.visit(state):
                        into = following if is_fault else pending
                        into.setdefault(steps + 1, {})[self.key(after)] = after
            steps += 1
        return following

    def visit(self, state: Any) -> Iterator[tuple[bool, Any]]:
        system, rests, here = self.relation.system, True, self.key(state)
        for firing, after in successors(system, state):
            if self.key(after) != here:
                self.transitions += 1
                self.fired.add((firing.transition.name, firing.arguments))
                rests = rests and not firing.is_progress
                yield firing.transition.kind is Kind.FAULT, after
        self.at_rest += rests
        for prop in {predicate.property for predicate in self.relation.predicates}:
            self.ask(prop, state, rests)

    def ask(self, prop: Property, state: Any, rests: bool) -> None:
        if prop.scope is Scope.AT_REST and not rests:
            return
        holds_here = holds(self.relation.system, prop, state)
        if prop.scope is Scope.SOMETIMES and holds_here:
            self.reached.add(prop)
        elif prop.scope is not Scope.SOMETIMES and not holds_here:
            self.violations.setdefault(prop.name, self.cells[self.key(state)])

    def key(self, state: Any) -> Key:
        return naive.projected(self.relation, self.relation.system.schema.flatten(state))


def compare(relation: Relation, found: Exploration, reference: Reference) -> None:
    actions = [relation.actions[number].firing for number in found.fired]
    assert found.exhausted
    assert found.reason is None
    assert found.states == len(reference.cells)
    assert found.transitions == reference.transitions
    assert found.at_rest == reference.at_rest
    assert found.depth == max(steps for _, steps in reference.cells.values())
    assert found.faults == max(faults for faults, _ in reference.cells.values())
    assert {(f.transition.name, f.arguments) for f in actions} == reference.fired
    assert found.reached == reference.reached
    assert lengths(found) == reference.violations


def lengths(found: Exploration) -> dict[str, tuple[int, int]]:
    return {name: (f.faults, f.steps) for name, f in found.violations.items()}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", worlds.WORLDS)
def test_every_figure(name: str, workers: int) -> None:
    relation = lower(worlds.WORLDS[name][0]())
    compare(relation, explore(relation, workers=workers), Reference(relation).run())


@pytest.mark.parametrize("seed", range(40))
def test_every_figure_in_random_worlds(seed: int) -> None:
    system = random_world(seed)
    if len(naive.reachable(system, 5_000)) < 5_000:
        relation = lower(system)
        compare(relation, explore(relation), Reference(relation).run())


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_up_to_symmetry(name: str) -> None:
    make, states, up_to_symmetry = worlds.WORLDS[name]
    relation = lower(make())
    plain, reduced = explore(relation), explore(relation, interchangeable(relation))
    assert (plain.states, reduced.states) == (states, up_to_symmetry)
    assert lengths(plain) == lengths(reduced)
    assert plain.reached == reduced.reached
    assert (plain.depth, plain.faults) == (reduced.depth, reduced.faults)
    names = [
        {relation.actions[n].firing.transition.name for n in e.fired} for e in (plain, reduced)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_orbits_of_the_reduced_space_are_the_whole_space(name: str) -> None:
    system = worlds.WORLDS[name][0]()
    relation = lower(system)
    classes = interchangeable(relation)
    native = Native(relation, classes)
    found = [native.canonical(relation.initial)]
    for words in found:
        for _, after in native.successors(native.ordinals(words)):
            canonical = native.canonical(native.ordinals(after))
            if canonical not in found:
                found.append(canonical)
    orbits = [naive.orbit(relation, classes, native.ordinals(words)) for words in found]
    states = {naive.projected(relation, system.schema.flatten(s)) for s in naive.reachable(system)}
    assert set().union(*orbits) == states
    assert len(found) == explore(relation, classes).states


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", worlds.WORLDS)
def test_counterexamples_pass_the_plain_functions(name: str, symmetric: bool) -> None:
    system = worlds.WORLDS[name][0]()
    relation = lower(system)
    found = explore(relation, interchangeable(relation) if symmetric else ())
    for prop in system.properties:
        if prop.name in found.violations:
            violation = found.violations[prop.name]
            canonical = found.native.canonical
            trace = walk(system, [canonical(state) for state in violation.path], canonical)
            assert trace.violates(prop)
            assert (trace.faults, len(trace.steps)) == (violation.faults, violation.steps)
            assert violation.predicate is not None
            assert relation.predicates[violation.predicate].property is prop


def test_a_class_too_large_for_all_its_orders_is_used_in_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native_classes, "MOST_ORDERS", 24)
    system = worlds.ring(5)
    relation = lower(system)
    (peers,) = classes = interchangeable(relation)
    found = explore(relation, classes)
    assert found.native.layout.reduced == (peers,)
    states = naive.reachable(system)
    assert found.states == naive.orbits(relation, (peers[:4],), states)
    assert lengths(found) == lengths(explore(relation))


@pytest.fixture
def eager_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_threads, "SMALL", 64)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("symmetric", [False, True])
def test_threads_change_nothing(symmetric: bool) -> None:
    relation = lower(worlds.pool(4, 3, 2))
    classes = interchangeable(relation) if symmetric else ()
    alone, *others = [figures(explore(relation, classes, workers=n)) for n in (1, 2, 2, 3)]
    assert all(other == alone for other in others)


def figures(found: Exploration) -> tuple[Any, ...]:
    return (
        *(found.states, found.transitions, found.depth, found.faults, found.at_rest),
        *(found.fired, found.violations, found.reached, found.exhausted),
    )


@pytest.mark.usefixtures("eager_threads")
def test_table_grows_under_two_threads() -> None:
    relation = lower(worlds.pool(5, 3, 2))
    found = explore(relation, workers=2)
    assert found.states == 690_046
    assert found.memory / found.states <= 24


@pytest.mark.usefixtures("eager_threads")
def test_thorough_code_is_taken_up_amid_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_threads, "PATIENCE", 0.0)
    monkeypatch.setattr(search_threads, "TICK", 0.001)
    relation = lower(worlds.pool(5, 3, 2))
    assert explore(relation, workers=2).states == 690_046


def test_what_is_sought_ends_the_search() -> None:
    relation = lower(worlds.pool(3, 2, 2))
    found = explore(relation, stop_when={"answered"})
    assert not found.exhausted
    assert found.reason == SOUGHT
    assert found.states < 3_154
    assert lengths(found) == {"answered": (1, 3)}


def test_sometimes_can_be_sought_too() -> None:
    found = explore(lower(worlds.pool(2, 1, 2)), stop_when={"somebody-failed"})
    assert found.reason == SOUGHT
    assert [prop.name for prop in found.reached] == ["somebody-failed"]


def test_a_name_that_no_property_has() -> None:
    with pytest.raises(ValueError, match="no property is called nonsense"):
        explore(lower(worlds.pool(2, 1, 1)), stop_when={"nonsense"})


@pytest.mark.parametrize("workers", [1, 2])
def test_limit_of_states(workers: int) -> None:
    limits = Limits(max_states=100_000)
    found = explore(lower(worlds.pool(4, 4, 2)), limits=limits, workers=workers)
    assert not found.exhausted
    assert found.reason == f"stopped at {found.states:,} states: the limit is 100,000"
    assert 100_000 <= found.states < 110_000
    assert lengths(found) == {"answered": (1, 5)} or not found.violations


@pytest.mark.parametrize("workers", [1, 2])
def test_limit_of_memory(workers: int) -> None:
    limits = Limits(memory=8 << 20)
    found = explore(lower(worlds.pool(4, 4, 2)), limits=limits, workers=workers)
    assert not found.exhausted
    assert found.reason is not None
    assert found.reason.startswith("out of memory")
    assert 6 << 20 < found.memory <= 8 << 20


@pytest.mark.parametrize("workers", [1, 2])
def test_limit_of_time(workers: int) -> None:
    started = time.monotonic()
    limits = Limits(time_limit=0.3)
    found = explore(lower(worlds.pool(6, 5, 2)), limits=limits, workers=workers)
    assert found.reason == "out of time: 0.3 s"
    assert not found.exhausted
    assert found.states > 1
    assert time.monotonic() - started < 60


def test_progress_is_told_while_native_code_runs() -> None:
    told: list[Snapshot] = []
    limits = Limits(time_limit=0.8)
    explore(lower(worlds.pool(6, 5, 2)), limits=limits, progress=told.append)
    assert len(told) >= 3
    assert [s.states for s in told] == sorted(s.states for s in told)
    assert told[-1].rate > 0
    assert 0 < told[-1].frontier <= told[-1].states
    assert told[-1].transitions > 0
    assert told[-1].memory > 8 * told[-1].states


def test_an_interrupt_ends_the_search_at_once() -> None:
    relation = lower(worlds.pool(6, 5, 2))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        explore(relation, limits=Limits(time_limit=120))
    timer.join()


def test_memory_that_a_container_leaves(tmp_path: Path) -> None:
    assert store._free_in_container(tmp_path) == []
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert store._free_in_container(tmp_path) == []
    (tmp_path / "memory.max").write_text("5000\n")
    assert store._free_in_container(tmp_path) == [4000]
    assert store.available_memory() > 0


# A model's mistakes, the order of counterexamples, and states of several words.

Workers = Identifiers("worker")


@frozen
class Walk:
    at: int = bounded(0, 9)
    broken: int = bounded(0, 2)


@transition(step)
def onward(world: Walk) -> Walk | None:
    """One step further."""
    return evolve(world, at=world.at + 1) if world.at < 8 else None


@transition(fault)
def leap(world: Walk) -> Walk | None:
    """A fault leads straight to the end."""
    return evolve(world, at=8, broken=world.broken + 1) if world.broken < 2 else None


@always()
def never_arrives(world: Walk) -> bool:
    """The end is never reached."""
    return world.at < 8


def test_fewer_faults_come_before_fewer_steps() -> None:
    found = explore(lower(System("walk", Walk(), (onward, leap), (never_arrives,))))
    assert lengths(found) == {"never-arrives": (0, 8)}
    only_leaps = explore(lower(System("leap", Walk(), (leap,), (never_arrives,))))
    assert lengths(only_leaps) == {"never-arrives": (1, 1)}


@transition(step)
def beyond(world: Walk) -> Walk | None:
    """A step too far, once something is broken."""
    return evolve(world, at=world.at + 2) if world.broken == 2 else None


@always()
def looked_up(world: Walk) -> bool:
    """A predicate that raises at nine."""
    return ("a", "b", "c", "d", "e", "f", "g", "h", "i")[world.at] != "z"


def test_what_raises_is_told_with_the_state() -> None:
    found = explore(lower(System("beyond", Walk(), (onward, leap, beyond), (looked_up,))))
    (raised,) = [r for r in found.raises if "leaves its domain" in r.leaf.message]
    assert raised.leaf.message == "ModelError: at leaves its domain, 0..9"
    assert raised.found.faults == 2
    assert raised.found.path[-1] == (8, 2)
    assert found.exhausted
    assert not found.violations


@frozen
class Lane:
    load: int = bounded(0, 100)


@frozen
class Lanes:
    lanes: tuple[Lane, ...] = each(Workers)
    left: int = bounded(0, 3, initial=3)


@transition(step, worker=Workers)
def add(world: Lanes, worker: int) -> Lanes | None:
    """{worker} takes much more."""
    if not world.left:
        return None
    lane = evolve(world.lanes[worker], load=world.lanes[worker].load + 33)
    return evolve(world, lanes=put(world.lanes, worker, lane), left=world.left - 1)


@sometimes()
def all_on_the_last(world: Lanes) -> bool:
    """The last lane has it all."""
    return world.lanes[-1].load == 99


def test_states_of_several_words() -> None:
    lanes = tuple(Lane() for _ in range(25))
    relation = lower(System("lanes", Lanes(lanes=lanes), (add,), (all_on_the_last,)))
    found = explore(relation)
    assert found.words == 3
    compare(relation, found, Reference(relation).run())


def test_a_tree_of_a_thousand_tests() -> None:
    lanes = tuple(Lane() for _ in range(25))
    relation = lower(System("lanes", Lanes(lanes=lanes), (add,), (all_on_the_last,)))
    arena, first = relation.arena, relation.actions[0]
    tree = first.tree
    for one, other in itertools.islice(
        itertools.cycle(itertools.permutations(range(25), 2)), 1_000
    ):
        never = arena.lt(arena.add(arena.var(one), arena.const(200)), arena.var(other))
        tree = Test(never, Disabled(), tree)
    deep = attrs.evolve(relation, actions=(attrs.evolve(first, tree=tree), *relation.actions[1:]))
    plain, found = explore(relation), explore(deep)
    assert (found.states, found.transitions) == (plain.states, plain.transitions)


@sometimes()
def all_on_one(world: Lanes) -> bool:
    """One lane has it all."""
    return any(lane.load == 99 for lane in world.lanes)


def test_symmetry_of_many_lanes() -> None:
    lanes = tuple(Lane() for _ in range(25))
    relation = lower(System("lanes", Lanes(lanes=lanes), (add,), (all_on_one,)))
    found = explore(relation, interchangeable(relation))
    # The partitions of at most three: (), 1, 2, 1+1, 3, 2+1, 1+1+1.
    assert found.states == 7
    assert found.reached == {all_on_one}


def test_a_world_that_never_moves() -> None:
    @always()
    def still(world: Walk) -> bool:
        """Nothing happened yet."""
        return world.at == 0

    found = explore(lower(System("still", Walk(), (), (still,))))
    assert (found.states, found.transitions, found.depth, found.at_rest) == (1, 0, 0, 1)
    assert found.exhausted
    assert not found.violations
