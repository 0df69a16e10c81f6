"""Symmetry: used where it is shown, refused where an exchange changes the model."""

from __future__ import annotations

from typing import Any

import naive
import pytest
import worlds

from rackproof.checker.lowering import lower
from rackproof.checker.symmetry import interchangeable
from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    each,
    evolve,
    frozen,
    put,
    step,
    transition,
)


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_states_up_to_symmetry(name: str) -> None:
    make, _, orbits = worlds.WORLDS[name]
    system = make()
    relation = lower(system)
    states = naive.reachable(system)
    assert naive.orbits(relation, interchangeable(relation), states) == orbits


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_the_reachable_states_are_closed_under_every_exchange(name: str) -> None:
    system = worlds.WORLDS[name][0]()
    relation = lower(system)
    classes = interchangeable(relation)
    states = naive.reachable(system)
    full = {naive.projected(relation, system.schema.flatten(s)) for s in states}
    for state in states[:200]:
        assert naive.orbit(relation, classes, system.schema.flatten(state)) <= full


Workers = Identifiers("worker")


@frozen
class Lane:
    busy: bool = False


@frozen
class Lanes:
    lanes: tuple[Lane, ...] = each(Workers)


def lanes_system(function: Any, *properties: Any) -> System:
    initial = Lanes(lanes=(Lane(), Lane(), Lane()))
    return System("lanes", initial, [transition(step, worker=Workers)(function)], properties)


def take(w: Lanes, worker: int) -> Lanes | None:
    """{worker} takes work."""
    return evolve(w, lanes=put(w.lanes, worker, Lane(busy=True)))


def sizes(system: System) -> list[int]:
    return [len(bundles) for bundles in interchangeable(lower(system))]


def test_a_transition_that_treats_all_alike_keeps_the_whole_class() -> None:
    @always(worker=Workers)
    def idle_or_busy(w: Lanes, worker: int) -> bool:
        return w.lanes[worker].busy in (True, False)

    assert sizes(lanes_system(take, idle_or_busy)) == [3]


def test_a_transition_that_prefers_the_first_splits_it_off() -> None:
    def first(w: Lanes, worker: int) -> Lanes | None:
        return take(w, worker) if worker == 0 or w.lanes[0].busy else None

    assert sizes(lanes_system(first)) == [2]


def test_choosing_the_first_free_in_order_is_no_symmetry() -> None:
    def in_order(w: Lanes, worker: int) -> Lanes | None:
        if any(not lane.busy for lane in w.lanes[:worker]):
            return None
        return take(w, worker)

    assert sizes(lanes_system(in_order)) == []


def test_a_property_that_names_one_worker_splits_it_off() -> None:
    @always()
    def zero(w: Lanes) -> bool:
        return not (w.lanes[0].busy and w.lanes[1].busy and w.lanes[2].busy)

    @always()
    def only_zero(w: Lanes) -> bool:
        return not w.lanes[0].busy

    assert sizes(lanes_system(take, zero)) == [3]
    assert sizes(lanes_system(take, only_zero)) == [2]


def test_an_initial_state_that_differs_splits() -> None:
    @always()
    def some(w: Lanes) -> bool:
        return any(not lane.busy for lane in w.lanes)

    initial = Lanes(lanes=(Lane(busy=True), Lane(), Lane()))

    @transition(step, worker=Workers)
    def flip(w: Lanes, worker: int) -> Lanes | None:
        """{worker} changes."""
        busy = w.lanes[worker].busy
        return evolve(w, lanes=put(w.lanes, worker, Lane(busy=not busy)))

    assert sizes(System("lanes", initial, [flip], [some])) == [2]
