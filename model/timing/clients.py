"""What clients have got, and whether they wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackproof.model.request import TERMINAL
from rackproof.model.timing.progress import has_come, streams

if TYPE_CHECKING:
    from rackproof.model.world import World


def seen(world: World) -> tuple[object, ...]:
    """Of each client: how many tokens it was handed, up to where, and how its request ended.

    And whether tokens flow: when they begin to, the first of them is there.
    """
    return tuple(_seen(world, request) for request in range(len(world.requests)))


def _seen(world: World, request: int) -> tuple[object, ...]:
    stream, phase = world.streams[request], world.requests[request].phase
    handed = sum(here.received - here.start for here in stream.attempts)
    ended = phase if phase in TERMINAL else None
    return handed, stream.delivered, stream.finished, ended, streams(world, request)


def waiting(world: World) -> tuple[bool, ...]:
    """Of each client: whether it is owed something, and nothing flows.

    A client whose request has not come does not wait yet. One that is being streamed to gets a
    token every step, though the world has none for most of them.
    """
    return tuple(_waits(world, request) for request in range(len(world.requests)))


def _waits(world: World, request: int) -> bool:
    here = world.requests[request]
    owed = has_come(world, request) and not here.gone and here.phase not in TERMINAL
    return owed and not streams(world, request)
