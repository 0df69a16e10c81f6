"""What tests of pictures share: bundled worlds by their bug, and runs of them by chance."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rackproof.model.kernel import Firing, Picture, System
from rackproof.scenarios.loader import load

BUGS = Path(__file__).parents[2] / "scenarios" / "bugs"


def world_of(bug: str) -> System:
    return load(BUGS / f"{bug}.yaml").case.setting.system


def drawn(system: System) -> Picture:
    assert system.picture is not None
    return system.picture


def walk(system: System, steps: int, seed: int = 1) -> Iterator[tuple[Any, Firing, Any]]:
    """A run by chance: of the firings in a random order, the first that is possible."""
    chance, state, firings = random.Random(seed), system.initial, list(system.firings())
    for _ in range(steps):
        chance.shuffle(firings)
        moves = ((firing, firing.apply(system, state)) for firing in firings)
        firing, after = next((move for move in moves if move[1] is not None), (None, None))
        if firing is None:
            return
        yield state, firing, after
        state = after
