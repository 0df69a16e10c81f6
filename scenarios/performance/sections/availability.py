"""The key availability: how often GPUs fail, and what follows.

::

    availability: {gpu: 50000 h, restart: 64 s, detection: lease, recovery: recompute}

``gpu`` is the mean time between failures of one GPU, or a rate that was observed (gpu, gpu-alone,
gpu-worst); ``nvlink-domain`` and ``nvlink-restart`` are of the whole NVLink domain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rackproof.model.performance.failures.degraded import Expected
from rackproof.model.performance.failures.rates import HOUR_S, observed
from rackproof.scenarios.performance.amounts import DURATION
from rackproof.scenarios.performance.parts import attempt, noted
from rackproof.scenarios.performance.sections.failures import (
    read_detection,
    read_recovery,
    read_restart,
)
from rackproof.scenarios.places import Place


def read(place: Place) -> Expected | None:
    """What failures are expected; None after a problem was noted."""
    found = place.record(READERS, "a map with gpu, restart, detection, recovery")
    values = {READERS[key][0]: noted(item, READERS[key][1]) for key, item in found.items()}
    if None in values.values() or not place.is_map:
        return None
    return attempt(place, lambda: Expected(**values))


def read_mtbf(place: Place) -> float | None:
    """Hours between failures: a time, or what was observed."""
    value = place.value
    if isinstance(value, str) and value.strip()[:1].isalpha():
        rate = attempt(place, lambda: observed(value.strip()))
        return None if rate is None else rate.mtbf_h
    seconds = DURATION.read(place)
    return None if seconds is None else seconds / HOUR_S


def _restart(place: Place) -> float | None:
    """A restart that ends."""
    if place.value == "never":
        place.fail("what never comes back has no availability; say how long a restart takes")
        return None
    return read_restart(place)


READERS: Final[Mapping[str, tuple[str, Callable[[Place], Any]]]] = {
    "gpu": ("gpu_mtbf_h", read_mtbf),
    "restart": ("restart_s", _restart),
    "detection": ("detection", read_detection),
    "recovery": ("recovery", read_recovery),
    "nvlink-domain": ("domain_mtbf_h", read_mtbf),
    "nvlink-restart": ("domain_restart_s", _restart),
}
"""Keys, with what the model calls them and how they are read."""
