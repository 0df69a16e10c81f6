"""Packing: nothing is lost, and the canonical form is one and the same for a whole orbit."""

from __future__ import annotations

import itertools
import random

import naive
import pytest
import worlds
from random_worlds import random_world

from rackproof.checker.lowering import lower
from rackproof.checker.native import Layout, Native
from rackproof.checker.native.classes import MOST_ORDERS, divide, plain_changes
from rackproof.checker.native.layout import OneHot
from rackproof.checker.symmetry import Class, interchangeable
from rackproof.model.kernel import Identifiers, System

WIDE = {
    "pool-2-1": lambda: worlds.pool(2, 1, 1),
    "pool-20-1": lambda: worlds.pool(20, 1, 2),
    "pool-9-3": lambda: worlds.pool(9, 3, 2),
    "ring-5": lambda: worlds.ring(5),
    "trays-3-4": lambda: worlds.trays(3, 4),
}
ALL = {**{name: make for name, (make, _, _) in worlds.WORLDS.items()}, **WIDE}


def some_states(system: System, most: int = 300) -> list[tuple[int, ...]]:
    return [system.schema.flatten(state) for state in naive.reachable(system, most)]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("symmetric", [False, True])
def test_unpacking_gives_back_what_was_packed(name: str, symmetric: bool) -> None:
    system = ALL[name]()
    relation = lower(system)
    layout = Layout.of(relation, interchangeable(relation) if symmetric else ())
    for ordinals in some_states(system):
        words = layout.pack(ordinals)
        assert len(words) == layout.words
        assert all(0 <= word < 1 << 64 for word in words)
        expected = {v.slot: ordinals[v.slot] for v in relation.variables}
        assert layout.unpack(words) == expected


@pytest.mark.parametrize("name", [n for n in worlds.WORLDS if n != "counters"])
def test_canonical_is_one_state_of_the_orbit_and_the_same_for_all(name: str) -> None:
    canonical_of_orbits(worlds.WORLDS[name][0]())


@pytest.mark.parametrize(("workers", "requests"), [(5, 2), (4, 3), (9, 1)])
def test_canonical_of_entangled_classes_in_several_words(workers: int, requests: int) -> None:
    canonical_of_orbits(worlds.pool(workers, requests, 2), most=12, orders=40)


@pytest.mark.parametrize("seed", range(20))
def test_canonical_in_random_worlds(seed: int) -> None:
    canonical_of_orbits(random_world(seed), most=40)


def canonical_of_orbits(system: System, most: int = 100, orders: int = 1_000) -> None:
    relation = lower(system)
    classes = interchangeable(relation)
    native = Native(relation, classes)
    assert not native.layout.reduced
    chance = random.Random(1)
    for ordinals in chance.sample(states := some_states(system, 2_000), min(most, len(states))):
        permutations = itertools.islice(naive.permutations(classes), orders)
        images = [naive.permuted(system, ordinals, p) for p in permutations]
        (canonical,) = {native.canonical(image) for image in images}
        unpacked = native.ordinals(canonical)
        assert native.canonical(unpacked) == canonical
        if len(images) < orders:
            orbit = naive.orbit(relation, classes, ordinals)
            assert naive.projected(relation, unpacked) in orbit


def test_records_are_laid_out_alike() -> None:
    relation = lower(worlds.pool(9, 3, 2))
    layout = Layout.of(relation, interchangeable(relation))
    for records in layout.records:
        assert len({tuple(place.width for place in record) for record in records}) == 1
    places = [place for records in layout.records for record in records for place in record]
    for one, other in itertools.combinations(places, 2):
        assert one.word != other.word or not one.mask & other.mask
    assert all(place.shift + place.width <= 64 for place in places)


def test_identifiers_are_one_hot_only_where_their_sort_is_permuted() -> None:
    relation = lower(worlds.pool(3, 1, 1))
    classes = interchangeable(relation)
    assert any(isinstance(s, OneHot) for s in Layout.of(relation, classes).stored.values())
    assert not any(isinstance(s, OneHot) for s in Layout.of(relation).stored.values())


def test_a_value_that_no_state_has_is_not_packed() -> None:
    system = worlds.pool(2, 1, 1)
    layout = Layout.of(lower(system))
    ordinals = list(system.schema.flatten(system.initial))
    slot = next(iter(layout.stored))
    ordinals[slot] = 99
    with pytest.raises(ValueError, match="cannot be packed"):
        layout.pack(ordinals)


@pytest.mark.parametrize("count", range(1, 7))
def test_plain_changes_meet_every_order_once(count: int) -> None:
    order = list(range(count))
    met = [tuple(order)]
    for i in plain_changes(count):
        order[i], order[i + 1] = order[i + 1], order[i]
        met.append(tuple(order))
    assert sorted(met) == sorted(itertools.permutations(range(count)))


def some_classes(*sizes: int) -> list[Class]:
    sorts = [Identifiers(f"sort-{i}") for i in range(len(sizes))]
    return [tuple(((sort, i),) for i in range(n)) for sort, n in zip(sorts, sizes, strict=True)]


def test_classes_that_no_bit_entangles_are_all_sorted() -> None:
    classes = some_classes(20, 30)
    division = divide(classes, [frozenset({(0, 1)}), frozenset({(1, 2)})])
    assert division.sorted == tuple(classes)


def test_the_smaller_of_two_entangled_classes_is_enumerated() -> None:
    classes = some_classes(20, 3)
    division = divide(classes, [frozenset({(0, 1), (1, 2)})])
    assert division.sorted == (classes[0],)
    assert division.enumerated == (classes[1],)
    assert not division.reduced


def test_a_class_entangled_with_itself_is_enumerated_as_far_as_that_is_few_orders() -> None:
    (whole,) = classes = some_classes(8)
    division = divide(classes, [frozenset({(0, 1), (0, 2)})])
    assert division.enumerated == (whole[:6],)
    assert division.reduced == (whole,)
    assert MOST_ORDERS == 720


def test_three_classes_entangled_in_a_chain() -> None:
    classes = some_classes(9, 3, 9)
    chain = [frozenset({(0, 0), (1, 0)}), frozenset({(1, 0), (2, 0)})]
    division = divide(classes, chain)
    assert division.enumerated == (classes[1],)
    assert division.sorted == (classes[0], classes[2])
