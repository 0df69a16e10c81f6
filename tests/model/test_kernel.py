"""The modelling language: what declarations mean, and what they refuse."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from rackproof.model.kernel import (
    Identifiers,
    ModelError,
    OutOfDomain,
    System,
    bounded,
    each,
    evolve,
    fault,
    fixed,
    frozen,
    identifier,
    members,
    put,
    step,
    successors,
    transition,
)

Workers = Identifiers("worker")


class Health(Enum):
    UP = "up"
    DOWN = "down"


@frozen
class Lane:
    health: Health = Health.UP
    peer: int | None = identifier(Workers)


@frozen
class World:
    lanes: tuple[Lane, ...] = each(Workers)
    seen: frozenset[int] = members(Workers)
    count: int = bounded(1, "top", initial=1)
    limit: int = fixed(9)


@transition(fault, worker=Workers)
def crash(world: World, worker: int) -> World | None:
    """{worker} dies: nobody
    is told.

    A second paragraph is for readers of the code.
    """
    if world.lanes[worker].health == Health.DOWN:
        return None
    return evolve(world, lanes=put(world.lanes, worker, Lane(health=Health.DOWN)))


def make(*transitions: Any, **sizes: int) -> System:
    initial = World(lanes=(Lane(), Lane()))
    names = {Workers: ("decode-0", "decode-1")}
    return System("small", initial, transitions, sizes=sizes or {"top": 3}, names=names)


def test_slots_have_paths_domains_lanes_and_names() -> None:
    slots = make(crash).schema.slots
    assert [(s.label, str(s.domain)) for s in slots] == [
        ("lanes[decode-0].health", "Health"),
        ("lanes[decode-0].peer", "worker or none"),
        ("lanes[decode-1].health", "Health"),
        ("lanes[decode-1].peer", "worker or none"),
        ("seen[decode-0]", "bool"),
        ("seen[decode-1]", "bool"),
        ("count", "1..3"),
    ]
    assert slots[3].path == ("lanes", 1, "peer")
    assert slots[3].lanes == ((Workers, 1),)


def test_flatten_and_unflatten_are_inverse() -> None:
    system = make(crash)
    state = evolve(
        system.initial,
        lanes=(Lane(peer=1), Lane(health=Health.DOWN)),
        seen=frozenset({1}),
        count=3,
    )
    ordinals = system.schema.flatten(state)
    assert ordinals == (0, 1, 1, -1, 0, 1, 3)
    assert system.schema.unflatten(ordinals) == state


def test_words_of_a_firing_use_names_and_the_first_paragraph() -> None:
    system = make(crash)
    firing, after = next(successors(system, system.initial))
    assert firing.words(system) == "decode-0 dies: nobody is told."
    assert after.lanes[0].health == Health.DOWN


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 4}, "count = 4 is outside its domain, 1..3"),
        ({"count": "two"}, "count = 'two'"),
        ({"seen": frozenset({2})}, "seen = frozenset({2})"),
        ({"seen": {0}}, "seen = {0}"),
        ({"lanes": (Lane(),)}, "a tuple of 2"),
        ({"lanes": (Lane(peer=2), Lane())}, "lanes[decode-0].peer = 2"),
        ({"lanes": (Lane(peer=-1), Lane())}, "lanes[decode-0].peer = -1"),
        ({"lanes": (Lane(health="up"), Lane())}, "lanes[decode-0].health = 'up'"),
        ({"limit": 8}, "a constant was changed from 9 to 8"),
    ],
)
def test_a_value_outside_its_domain_is_named(change: dict[str, Any], message: str) -> None:
    @transition(step)
    def go(world: World) -> World | None:
        """Go."""
        return evolve(world, **change)

    system = make(go)
    with pytest.raises(ModelError) as caught:
        list(successors(system, system.initial))
    assert message in str(caught.value)
    assert (
        isinstance(caught.value, OutOfDomain)
        or "expected" in message
        or "tuple" in message
        or ("constant" in message)
    )


def test_a_stutter_is_not_enabled() -> None:
    @transition(step)
    def stay(world: World) -> World | None:
        """Stay."""
        return world

    system = make(stay)
    assert list(successors(system, system.initial)) == []


@frozen
class NoRange:
    count: int = 0


@frozen
class NoSort:
    seen: frozenset[int] = frozenset()


@frozen
class TwoLengths:
    a: tuple[Lane, ...] = each(Workers)
    b: tuple[Lane, ...] = each(Workers)


@pytest.mark.parametrize(
    ("initial", "sizes", "message"),
    [
        (NoRange(), {}, "count: an int field needs its range"),
        (NoSort(), {}, "seen: a set field needs its sort"),
        (TwoLengths(a=(Lane(),), b=(Lane(), Lane())), {}, "TwoLengths.b has 2 elements"),
        (World(lanes=(Lane(), Lane())), {"other": 1}, "the size 'top' is not among"),
        (World(lanes=(Lane(), Lane())), {"top": 0}, "count = 1 is outside its domain, 1..0"),
    ],
)
def test_a_declaration_that_says_too_little_is_refused(
    initial: Any, sizes: dict[str, int], message: str
) -> None:
    with pytest.raises(ModelError) as caught:
        System("bad", initial, (), sizes=sizes).schema  # noqa: B018
    assert message in str(caught.value)


def test_parameters_must_match_the_function() -> None:
    def go(world: World, worker: int) -> World | None:
        """Go."""
        return world if worker else None

    with pytest.raises(ModelError, match="takes worker after the world, but is declared with node"):
        transition(step, node=Workers)(go)


def test_a_docstring_may_only_name_parameters() -> None:
    def go(world: World, worker: int) -> World | None:
        """{request} goes."""
        return world if worker else None

    with pytest.raises(ModelError, match=r"says \{request\}, which it does not take"):
        transition(step, worker=Workers)(go)


def test_two_transitions_of_one_name_are_refused() -> None:
    with pytest.raises(ModelError, match="two transitions are called crash"):
        make(crash, crash)


def test_put_replaces_one_element_and_knows_no_negative_index() -> None:
    assert put((1, 2, 3), 1, 9) == (1, 9, 3)
    with pytest.raises(IndexError):
        put((1, 2), -1, 9)
