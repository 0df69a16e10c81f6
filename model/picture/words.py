"""How states of the world are put in words."""

from __future__ import annotations

from typing import Final

from rackproof.model.endpoint import ANSWERS, Process
from rackproof.model.world import World

PROCESS: Final = {
    Process.UP: "is up",
    Process.HUNG: "is frozen",
    Process.DRAINING: "is stopping in good order",
    Process.STOPPED: "has stopped",
    Process.DOWN: "has crashed",
    Process.LOST: "is lost with its tray",
}


def counted(number: int, thing: str) -> str:
    """A number of things: no token, 1 token, 2 tokens."""
    return f"{number or 'no'} {thing}{'s' if number > 1 else ''}"


def answers(world: World, worker: int) -> bool:
    """Whether a worker is awake and at work."""
    return world.endpoints[worker].process in ANSWERS
