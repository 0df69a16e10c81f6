"""Worlds whose moves depend on mechanisms in ways that are known, for repairs and needs.

A world is a walk over places; each move is possible under a condition on its mechanisms. So the
repairs of a property can be told by trying every protocol.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from enum import Enum

import attrs

from rackproof.model.kernel import (
    Kind,
    Property,
    System,
    Transition,
    always,
    bounded,
    evolve,
    fault,
    fixed,
    frozen,
    holds,
    sometimes,
    step,
    transition,
)
from rackproof.model.protocol.mechanism import mechanism
from rackproof.scenarios.schema import Setting

Cubes = Sequence[Mapping[str, object]]
"""Values of mechanisms of which one must be so; none is never, one without values always."""
ALWAYS: Cubes = ({},)


class Mode(Enum):
    NONE = "none"
    HALF = "half"
    FULL = "full"


@attrs.frozen
class Protocol:
    """a to e: plain; design: what costs more; mode: of which the reference's value may hurt."""

    a: bool = mechanism(True, "a", "")
    b: bool = mechanism(True, "b", "")
    c: bool = mechanism(True, "c", "")
    d: bool = mechanism(True, "d", "")
    e: bool = mechanism(True, "e", "")
    design: bool = mechanism(True, "design", "", design=True)
    mode: Mode = mechanism(Mode.FULL, "mode", "")
    rate: int = 3


NAMES = ("a", "b", "c", "d", "e", "design", "mode")
OFF = Protocol(a=False, b=False, c=False, d=False, e=False, design=False, mode=Mode.NONE)


@frozen
class World:
    place: int = bounded(0, 9)
    protocol: Protocol = fixed()


def allowed(protocol: Protocol, cubes: Cubes) -> bool:
    return any(all(getattr(protocol, n) == v for n, v in cube.items()) for cube in cubes)


def move(start: int, end: int, cubes: Cubes = ALWAYS, kind: Kind = step) -> Transition[..., World]:
    def function(world: World) -> World | None:
        if world.place != start or not allowed(world.protocol, cubes):
            return None
        return evolve(world, place=end)

    function.__name__ = f"move_{start}_{end}"
    return transition(kind)(function)


def never(place: int, name: str = "never", premise: Property | None = None) -> Property:
    @always(name=name, premise=premise)
    def function(world: World) -> bool:
        return world.place != place

    return function


def reached(place: int, name: str = "reached") -> Property:
    @sometimes(name=name)
    def function(world: World) -> bool:
        return world.place == place

    return function


def setting(
    moves: Sequence[Transition[..., World]],
    properties: Sequence[Property],
    protocol: Protocol = OFF,
) -> Setting:
    return Setting(System("switched", World(protocol=protocol), moves, properties), {})


def random_setting(seed: int) -> Setting:
    """A walk whose moves depend on mechanisms in any way, monotone or not."""
    chance = random.Random(seed)
    moves = [
        move(start, end, _random_cubes(chance), chance.choice((step, fault)))
        for start, end in itertools.permutations(range(5), 2)
        if chance.random() < 0.5
    ]
    values = {name: chance.random() < 0.5 for name in NAMES[:5]}
    return setting(moves, (never(4), never(3, "never-3")), attrs.evolve(OFF, **values))


def _random_cubes(chance: random.Random) -> Cubes:
    return [
        {name: chance.random() < 0.5 for name in chance.sample(NAMES[:5], chance.randint(1, 3))}
        for _ in range(chance.randint(1, 2))
    ]


def protocols(base: Protocol, names: Collection[str] = NAMES[:5]) -> list[Protocol]:
    """Every choice of some mechanisms that are true or false."""
    choices = itertools.product((False, True), repeat=len(names))
    return [attrs.evolve(base, **dict(zip(names, values, strict=True))) for values in choices]


def violated(system: System, protocol: Protocol, name: str) -> bool:
    """Whether a property is, from the plain functions."""
    start = attrs.evolve(system.initial, protocol=protocol)
    found, (prop,) = [start], [prop for prop in system.properties if prop.name == name]
    for state in found:
        after = (t.function(state) for t in system.transitions)
        found += [s for s in after if s is not None and s not in found]
    return not all(holds(system, prop, state) for state in found)
