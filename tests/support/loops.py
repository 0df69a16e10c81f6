"""Small worlds that can go on for ever, each with what is known of its liveness.

``LOOPS`` maps a name to a world with one ``eventually`` property, and to the faults and steps
before the rest or the loop that violates it; None where it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rackproof.model.kernel import (
    Fairness,
    Identifiers,
    Kind,
    Property,
    System,
    Transition,
    bounded,
    each,
    environment,
    eventually,
    evolve,
    fault,
    frozen,
    put,
    step,
    transition,
)

Workers = Identifiers("worker")


@frozen
class Lane:
    up: bool = False
    tagged: bool = False


@frozen
class World:
    lanes: tuple[Lane, ...] = each(Workers)
    done: bool = False
    phase: int = bounded(0, 3)
    faults_left: int = bounded(0, 2)

    def with_lane(self, worker: int, up: bool) -> World:
        return evolve(self, lanes=put(self.lanes, worker, evolve(self.lanes[worker], up=up)))


@eventually()
def done(world: World) -> bool:
    """It is done."""
    return world.done


@eventually(worker=Workers)
def each_up(world: World, worker: int) -> bool:
    """Each worker is up again and again."""
    return world.lanes[worker].up


def toggle(kind: Kind, fairness: Fairness | None = None) -> Transition[..., Any]:
    @transition(kind, fairness=fairness, worker=Workers)
    def toggle(world: World, worker: int) -> World | None:
        """{worker} goes up or down."""
        return None if world.done else world.with_lane(worker, not world.lanes[worker].up)

    return toggle


def serve(fairness: Fairness) -> Transition[..., Any]:
    @transition(step, fairness=fairness, worker=Workers)
    def serve(world: World, worker: int) -> World | None:
        """{worker} serves, if it is up."""
        return evolve(world, done=True) if world.lanes[worker].up else None

    return serve


def finish(fairness: Fairness) -> Transition[..., Any]:
    @transition(step, fairness=fairness)
    def finish(world: World) -> World | None:
        """It gets done, at any time."""
        return evolve(world, done=True)

    return finish


@transition(step, source=Workers, target=Workers)
def hand_over(world: World, source: int, target: int) -> World | None:
    """What {source} holds is handed to {target}."""
    if world.done or not world.lanes[source].up or world.lanes[target].up:
        return None
    return world.with_lane(source, False).with_lane(target, True)


@transition(step, worker=Workers)
def begin(world: World, worker: int) -> World | None:
    """{worker} holds it first."""
    return None if any(lane.up for lane in world.lanes) else world.with_lane(worker, True)


@transition(step, fairness=Fairness.STRONG, worker=Workers)
def tag(world: World, worker: int) -> World | None:
    """{worker} is tagged, once another holds it."""
    if world.lanes[worker].up or not any(lane.up for lane in world.lanes):
        return None
    if any(lane.tagged for lane in world.lanes):
        return None
    return evolve(world, lanes=put(world.lanes, worker, Lane(tagged=True)))


@transition(step, worker=Workers)
def tagged_finishes(world: World, worker: int) -> World | None:
    """{worker}, which is tagged, gets it done."""
    return evolve(world, done=True) if world.lanes[worker].tagged else None


@transition(step)
def turn(world: World) -> World | None:
    """The phase turns: 1, 2, 1, 2."""
    return evolve(world, phase=2 if world.phase == 1 else 1) if world.phase in (1, 2) else None


@transition(fault)
def loosen(world: World) -> World | None:
    """Something comes loose: it turns for ever; a second time it gets stuck."""
    if not world.faults_left:
        return None
    return evolve(world, phase=1 if world.phase == 0 else 3, faults_left=world.faults_left - 1)


@eventually()
def turns_not(world: World) -> bool:
    """It neither turns nor sticks."""
    return world.phase == 0


@eventually()
def first_phase(world: World) -> bool:
    """The phase is the first, again and again."""
    return world.phase == 1


def world(lanes: int, moves: Sequence[Transition[..., Any]], prop: Property, **more: int) -> System:
    """A world with so many workers."""
    state = World(lanes=tuple(Lane() for _ in range(lanes)), **more)
    return System("loops", state, moves, (prop,))


WEAK, STRONG, NONE = Fairness.WEAK, Fairness.STRONG, Fairness.NONE
LOOPS: dict[str, tuple[Callable[[], System], tuple[int, int] | None]] = {
    "weakly fair to who is not always up": (
        lambda: world(1, (toggle(step), serve(WEAK)), done),
        (0, 0),
    ),
    "strongly fair to who is up again and again": (
        lambda: world(1, (toggle(step), serve(STRONG)), done),
        None,
    ),
    "strongly fair, but it may never be up": (
        lambda: world(2, (toggle(environment), serve(STRONG), turn), done, phase=1),
        (0, 0),
    ),
    "the environment does not keep a step from its due": (
        lambda: world(2, (toggle(environment), finish(WEAK)), done),
        None,
    ),
    "the environment goes round while a step is owed nothing": (
        lambda: world(2, (toggle(environment), finish(NONE)), done),
        (0, 0),
    ),
    "handed round, which symmetry sees as standing still": (
        lambda: world(3, (begin, hand_over, serve(WEAK)), done),
        (0, 1),
    ),
    "handed round, and whoever has it is owed its turn": (
        lambda: world(3, (begin, hand_over, serve(STRONG)), done),
        None,
    ),
    "the same worker is owed all along, under two names": (
        lambda: world(3, (begin, hand_over, tag, tagged_finishes), done),
        None,
    ),
    "now one, now the other": (lambda: world(2, (begin, hand_over), each_up), None),
    "two of three hand it to each other": (
        lambda: world(3, (begin, hand_over), each_up),
        (0, 1),
    ),
    "false now and then": (lambda: world(1, (turn,), first_phase, phase=1), None),
    "at rest": (lambda: world(1, (turn,), done), (0, 0)),
    "a loop takes fewer faults than rest": (
        lambda: world(1, (turn, loosen), turns_not, faults_left=2),
        (1, 1),
    ),
}
