"""Random worlds, from a seed: every kind of field, guards and updates made of random expressions.

An expression is a closure over the world and a worker; it uses Python's own operators, so that it
runs on plain and on symbolic values alike.
"""

# ruff: noqa: ARG005  (an expression takes world and worker, whether it needs them or not)

from __future__ import annotations

import random
from collections.abc import Callable
from enum import Enum
from typing import Any

from rackproof.model.kernel import (
    Fairness,
    Identifiers,
    Kind,
    System,
    always,
    at_rest,
    bounded,
    each,
    eventually,
    evolve,
    frozen,
    identifier,
    members,
    put,
    transition,
)

Workers = Identifiers("worker")
Expression = Callable[[Any, int], Any]


class Colour(Enum):
    RED = 0
    GREEN = 1
    BLUE = 2


@frozen
class Lane:
    colour: Colour = Colour.RED
    count: int = bounded(-1, 2, initial=0)
    peer: int | None = identifier(Workers)


@frozen
class World:
    lanes: tuple[Lane, ...] = each(Workers)
    total: int = bounded(0, 5)
    flag: bool = False
    chosen: int | None = identifier(Workers)
    marked: frozenset[int] = members(Workers)


class Maker:
    """Random expressions of each type."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def truth(self, depth: int = 2) -> Expression:
        pick = self.random.choice
        a, b = (self.truth(depth - 1), self.truth(depth - 1)) if depth else (None, None)
        low, colour, limit = self.number(), pick(list(Colour)), self.random.randint(-1, 4)
        compound: list[Expression] = []
        if a is not None and b is not None:
            compound = [
                lambda w, i: a(w, i) and b(w, i),
                lambda w, i: a(w, i) or b(w, i),
                lambda w, i: not a(w, i),
                lambda w, i: a(w, i) == b(w, i),
                lambda w, i: a(w, i) if b(w, i) else w.flag,
            ]
        simple: list[Expression] = [
            lambda w, i: w.flag,
            lambda w, i: w.lanes[i].colour == colour,
            lambda w, i: w.lanes[i].colour in (Colour.RED, colour),
            lambda w, i: low(w, i) < limit,
            lambda w, i: limit <= low(w, i),
            lambda w, i: w.chosen == i,
            lambda w, i: w.chosen == None,
            lambda w, i: w.lanes[i].peer == w.chosen,
            lambda w, i: i in w.marked,
            lambda w, i: w.chosen in w.marked,
            lambda w, i: len(w.marked) == 1,
            lambda w, i: bool(w.marked),
            lambda w, i: w.marked <= frozenset({i}),
            lambda w, i: any(lane.colour == colour for lane in w.lanes),
            lambda w, i: w.chosen != None and w.lanes[w.chosen].count == w.lanes[i].count,
        ]
        return pick(compound * 2 + simple)

    def number(self, depth: int = 1) -> Expression:
        value = self.random.randint(0, 3)
        a, b = (self.number(0), self.number(0)) if depth else (None, None)
        compound: list[Expression] = []
        if a is not None and b is not None:
            compound = [
                lambda w, i: a(w, i) + b(w, i),
                lambda w, i: a(w, i) - b(w, i),
                lambda w, i: min(a(w, i), b(w, i)),
                lambda w, i: max(a(w, i), value),
            ]
        simple: list[Expression] = [
            lambda w, i: w.total,
            lambda w, i: w.lanes[i].count,
            lambda w, i: value,
            lambda w, i: sum(lane.count for lane in w.lanes),
        ]
        return self.random.choice(compound + simple)

    def update(self) -> Callable[[Any, int], Any]:
        value, truth, colour = self.number(), self.truth(1), self.random.choice(list(Colour))

        def lane(w: Any, i: int, **changes: Any) -> Any:
            return evolve(w, lanes=put(w.lanes, i, evolve(w.lanes[i], **changes)))

        return self.random.choice(
            [
                lambda w, i: lane(w, i, colour=colour),
                lambda w, i: lane(w, i, count=max(-1, min(value(w, i), 2))),
                lambda w, i: lane(w, i, peer=w.chosen),
                lambda w, i: lane(w, i, peer=None, colour=w.lanes[0].colour),
                lambda w, i: evolve(w, total=max(0, min(value(w, i), 5))),
                lambda w, i: evolve(w, flag=truth(w, i)),
                lambda w, i: evolve(w, chosen=i if truth(w, i) else w.lanes[i].peer),
                lambda w, i: evolve(w, marked=w.marked | {i}),
                lambda w, i: evolve(w, marked=w.marked - frozenset({i})),
                lambda w, i: evolve(w, marked=w.marked ^ frozenset({0})),
                lambda w, i: evolve(w, marked=w.marked | {w.chosen}) if w.chosen != None else w,
            ]
        )


def _transition(maker: Maker, number: int, fairness: Fairness | None = None) -> Any:
    guard, updates = maker.truth(), [maker.update() for _ in range(maker.random.randint(1, 3))]

    def fire(world: World, worker: int) -> World | None:
        if not guard(world, worker):
            return None
        for update in updates:
            world = update(world, worker)
        return world

    fire.__name__ = f"fire_{number}"
    kind = maker.random.choice(list(Kind))
    return transition(kind, fairness=fairness, worker=Workers)(fire)


def random_world(seed: int) -> System:
    """The world of a seed: three to five transitions, and two properties."""
    maker = Maker(seed)
    one, other = maker.truth(), maker.truth()

    @always(worker=Workers)
    def one_way(world: World, worker: int) -> bool:
        return not one(world, worker) or world.total < 5

    @at_rest(worker=Workers)
    def other_way(world: World, worker: int) -> bool:
        return bool(other(world, worker))

    transitions = [_transition(maker, n) for n in range(maker.random.randint(3, 5))]
    lanes = tuple(Lane() for _ in range(maker.random.choice((1, 2, 2, 3))))
    return System(f"random-{seed}", World(lanes=lanes), transitions, (one_way, other_way))


def random_loops(seed: int) -> System:
    """The world of a seed with random fairness, and what is to be true again and again."""
    maker = Maker(seed)
    one, other = maker.truth(), maker.truth()

    @eventually(worker=Workers)
    def each_way(world: World, worker: int) -> bool:
        return bool(one(world, worker))

    @eventually()
    def some_way(world: World) -> bool:
        return any(bool(other(world, i)) for i, _ in enumerate(world.lanes))

    kinds = [None, *Fairness]
    transitions = [
        _transition(maker, n, maker.random.choice(kinds)) for n in range(maker.random.randint(3, 5))
    ]
    lanes = tuple(Lane() for _ in range(maker.random.choice((1, 2, 2, 3))))
    return System(f"loops-{seed}", World(lanes=lanes), transitions, (each_way, some_way))
