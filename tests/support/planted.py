"""A world of one's own with mechanisms: a message that is lost, and what keeps it."""

from __future__ import annotations

from attrs import frozen as plain

from rackproof.model.kernel import (
    System,
    always,
    bounded,
    evolve,
    fault,
    fixed,
    frozen,
    step,
    transition,
)


@plain
class Protocol:
    """Either of the first two keeps the message; the third sees to it that there is one only."""

    backup: bool = True
    resend: bool = True
    number: bool = True


@frozen
class World:
    sent: int = bounded(0, 2)
    lost: bool = False
    protocol: Protocol = fixed()


@transition(step)
def send(world: World) -> World | None:
    """The message is sent."""
    return None if world.sent or world.lost else evolve(world, sent=1)


@transition(fault)
def lose(world: World) -> World | None:
    """The message is lost."""
    kept = world.protocol.backup or world.protocol.resend
    return None if kept or not world.sent else evolve(world, sent=0, lost=True)


@transition(step)
def repeat(world: World) -> World | None:
    """It is sent again."""
    return None if world.protocol.number or world.sent != 1 else evolve(world, sent=2)


@always()
def never_lost(world: World) -> bool:
    """No message is lost."""
    return not world.lost


@always()
def never_twice(world: World) -> bool:
    """No message comes twice."""
    return world.sent < 2


world = System(
    "planted",
    World(protocol=Protocol(backup=False, resend=False)),
    (send, lose, repeat),
    (never_lost, never_twice),
)
