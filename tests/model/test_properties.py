"""What a property says of itself: what must hold, and what is so where it does not."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest

from rackproof.checker.trace import Trace, run
from rackproof.model.kernel import (
    Firing,
    Identifiers,
    ModelError,
    Picture,
    Property,
    System,
    always,
    each,
    eventually,
    evolve,
    fault,
    frozen,
    put,
    sometimes,
    step,
    transition,
)

Workers = Identifiers("worker")
HOSTILE = ("{worker}", "<b>{0}</b>")


class Light(Enum):
    """Of one worker."""

    ON = "on"
    OFF = "off"


@frozen
class World:
    """Two lights."""

    lights: tuple[Light, ...] = each(Workers)


@transition(fault, worker=Workers)
def breaks(world: World, worker: int) -> World | None:
    """The light of {worker} breaks."""
    return evolve(world, lights=put(world.lights, worker, Light.OFF))


@transition(step)
def swaps(world: World) -> World | None:
    """The lights are exchanged."""
    return evolve(world, lights=world.lights[::-1])


@always(worker=Workers)
def shines(world: World, worker: int) -> bool:
    """Every light is on,
    always.

    Broken: The light of {worker}
    is off.

    As one would expect.
    """
    return world.lights[worker] == Light.ON


@always(worker=Workers)
def glows(world: World, worker: int) -> bool:
    """Every light is on.
    Broken: It is dark at {worker}.
    """
    return world.lights[worker] == Light.ON


@always(worker=Workers)
def mute(world: World, worker: int) -> bool:
    """Every light is on: Broken: is no beginning of a line here."""
    return world.lights[worker] == Light.ON


@always()
def any_shines(world: World) -> bool:
    """Some light is on.

    Broken: All is dark.
    """
    return any(light == Light.ON for light in world.lights)


@eventually()
def steady(world: World) -> bool:
    """The first two are on at once, again and again.

    Broken: One of them is off for ever.
    """
    return world.lights == (Light.ON, Light.ON)


def whole(picture: Picture | None = None) -> System:
    world = World(lights=(Light.ON, Light.ON))
    properties = (shines, glows, mute, any_shines, steady)
    names = {Workers: HOSTILE}
    return System("lights", world, (breaks, swaps), properties, {}, names, picture=picture)


def dark(*workers: int, picture: Picture | None = None) -> Trace:
    system = whole(picture)
    return run(system, [Firing(breaks, (worker,)) for worker in workers])


@pytest.mark.parametrize(
    ("prop", "statement", "broken"),
    [
        (shines, "Every light is on, always.", "The light of {worker} is off."),
        (glows, "Every light is on.", "It is dark at {worker}."),
        (mute, "Every light is on: Broken: is no beginning of a line here.", None),
        (any_shines, "Some light is on.", "All is dark."),
    ],
)
def test_a_docstring_is_taken_apart(prop: Property, statement: str, broken: str | None) -> None:
    assert (prop.statement, prop.broken) == (statement, broken)


def test_each_culprit_has_a_sentence_whatever_its_name() -> None:
    trace = dark(0, 1)
    assert trace.broken(shines) == tuple(f"The light of {name} is off." for name in HOSTILE)
    assert trace.broken(mute) == ()
    assert trace.broken(any_shines) == ("All is dark.",)
    assert dark(1).broken(glows) == ("It is dark at <b>{0}</b>.",)
    assert dark(1).broken(any_shines) == ()


def told(state: World, prop: Property, _: Any) -> str | None:
    if prop is any_shines:
        return None
    first = "first" if state.lights[0] == Light.OFF else "last"
    return "The first light is off." if prop is steady and first == "first" else prop.broken


def test_a_picture_may_say_more_where_all_of_a_loop_says_it() -> None:
    picture = Picture((), lambda *_: pytest.fail("nobody asks"), broken=told)
    trace = dark(0, picture=picture)
    assert trace.broken(steady) == ("The first light is off.",)
    assert dark(0, 1, picture=picture).broken(any_shines) == ()
    exchange = Firing(swaps, ())
    there = run(trace.system, [*(step.firing for step in trace.steps), exchange, exchange])
    loop = Trace(trace.system, there.steps, 1)
    assert loop.flaw is None
    assert loop.broken(steady) == ("One of them is off for ever.",)


def wrong(text: str) -> Callable[[World, int], bool]:
    def on(world: World, worker: int) -> bool:
        return world.lights[worker] == Light.ON

    on.__doc__ = text
    return on


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "On.\n\nBroken: {node} is off.",
            r"on: its docstring says \{node\}, which it does not take",
        ),
        ("On.\n\nBroken: {} is off.", r"on: its docstring says \{\}, which it does not take"),
        ("On.\n\nBroken: {worker is off.", "on: a brace of its docstring is no placeholder"),
        ("On.\n\nBroken: worker} is off.", "on: a brace of its docstring is no placeholder"),
        ("On.\n\nBroken:\n", "on says Broken: and nothing after it"),
        ("Broken: {worker} is off.", "on says what must hold before Broken:"),
    ],
)
def test_a_sentence_that_could_not_be_said_is_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=rf"test_properties\.py:\d+: {message}"):
        always(worker=Workers)(wrong(text))


def test_what_no_run_breaks_needs_no_sentence() -> None:
    with pytest.raises(ModelError, match="on is asked sometimes, which no run breaks"):
        sometimes(worker=Workers)(wrong("On.\n\nBroken: {worker} is off."))
