"""The key checkpoints: over which link the KV of decode instances is saved, and how.

::

    checkpoints: {over: 4x-c2c, pause: 1 ms, intervals: [1 s, 60 s], gpu: [gpu, 1000 h]}

``gpu`` are mean times between failures of one GPU, or rates that were observed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from rackproof.model.performance.failures.checkpoints import Saving
from rackproof.scenarios.performance.amounts import DURATION
from rackproof.scenarios.performance.parts import attempt, read_link
from rackproof.scenarios.performance.sections.availability import read_mtbf
from rackproof.scenarios.places import Place

T = TypeVar("T")
MOST: Final = 20


def read(place: Place) -> Saving | None:
    """How KV is saved; None after a problem was noted."""
    found = place.record(("over", "pause", "hidden", "intervals", "gpu"), "a map with over")
    if "over" not in found:
        place.fail("say over which link KV is saved: over: 4x-nvlink5")
        return None
    values: dict[str, Any] = {
        "link": read_link(found["over"]),
        "pause_s": DURATION.read(found["pause"], least=True) if "pause" in found else 0.001,
        "hidden": found["hidden"].flag() if "hidden" in found else True,
    }
    if "intervals" in found:
        values["intervals_s"] = _several(found["intervals"], _interval, "times")
    if "gpu" in found:
        values["gpu_mtbf_h"] = _several(found["gpu"], read_mtbf, "times between failures")
    return None if None in values.values() else attempt(place, lambda: Saving(**values))


def _interval(place: Place) -> float | None:
    return DURATION.read(place, high=1e7)


def _several(
    place: Place, read_one: Callable[[Place], T | None], what: str
) -> tuple[T, ...] | None:
    """One of something, or a list of them."""
    places = list(place.items()) if place.is_list else [place]
    if not 0 < len(places) <= MOST:
        place.fail(f"has {len(places)} entries; from 1 to {MOST} {what} are compared")
        return None
    read_all = [read_one(item) for item in places]
    found = tuple(one for one in read_all if one is not None)
    return found if len(found) == len(read_all) else None
