"""What a file says of time: what an operator sets, and what is served on what.

::

    timeouts: {kv-lease: 30 s, stream-timeout: none}
    deployment: {model: llama-3-70b, gpu: gb200, prompt: 3000, output: 600, network-rtt: 1 ms}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import attrs

from rackproof.model.kernel import Quantity
from rackproof.model.performance.architecture import Architecture
from rackproof.model.performance.catalogue import presets
from rackproof.model.performance.formats import KvFormat
from rackproof.model.performance.hardware import Gpu
from rackproof.model.timing.deployment import TIMES, Deployment
from rackproof.model.timing.timeouts import TIMEOUTS, with_timeouts
from rackproof.scenarios.places import LARGEST, NOT_SET, Place
from rackproof.scenarios.quantities import duration

MOST_GPUS: Final = 72
PRESETS: Final[Mapping[str, tuple[str, type]]] = {
    "model": ("models.yaml", Architecture),
    "gpu": ("gpus.yaml", Gpu),
    "kv-format": ("kv-formats.yaml", KvFormat),
}
COUNTS: Final = {"gpus": MOST_GPUS, "prompt": LARGEST, "output": LARGEST, "batch": LARGEST}
DEPLOYMENT_KEYS: Final = tuple(a.name.replace("_", "-") for a in attrs.fields(Deployment))


def read_timeouts(place: Place) -> dict[str, str]:
    """The timeouts of a scenario, as they are written."""
    found = place.record(TIMEOUTS, "a map from timeouts to durations")
    read = {name: (item, item.seconds(or_none=True)) for name, item in found.items()}
    return {name: str(item.value) for name, (item, value) in read.items() if value is not None}


def seconds(written: Mapping[str, str]) -> dict[str, float]:
    """What was read, in seconds."""
    return {name: math.inf if text == NOT_SET else duration(text) for name, text in written.items()}


def read_stack_timeouts(place: Place) -> Mapping[str, Quantity]:
    """The timeouts of a stack, each with its source."""
    timeouts: Mapping[str, Quantity] = TIMEOUTS
    for name, item in place.record(TIMEOUTS, "a map of timeouts").items():
        parts = item.record(("value", "source"), "its value and source")
        for key in ("value", "source"):
            if item.is_map and key not in parts:
                item.fail(f"the {key} is missing")
        value = parts["value"].seconds(or_none=True) if "value" in parts else None
        source = parts["source"].text() if "source" in parts else None
        if value is not None and source:
            timeouts = with_timeouts(timeouts, {name: value}, source)
    return timeouts


def read_deployment(place: Place) -> dict[str, object]:
    """What a scenario says is served on what, with times in seconds."""
    found = place.record(DEPLOYMENT_KEYS, "a map of what is served on what")
    read = {key: _part(key, item) for key, item in found.items()}
    return {key: value for key, value in read.items() if value is not None}


def _part(key: str, place: Place) -> object:
    if key in PRESETS:
        file, kind = PRESETS[key]
        return place.choice(presets(file, kind), key)
    if key in COUNTS:
        return place.whole(1, COUNTS[key])
    if key in TIMES:
        return _time(key, place)
    return _share(place)


def _time(key: str, place: Place) -> object:
    if key == "queue-wait" and place.value == NOT_SET:
        return NOT_SET
    return place.value if place.seconds() is not None else None


def _share(place: Place) -> float | None:
    value = place.value
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
        return float(value)
    place.wrong("a share above 0, up to 1")
    return None


def deployed(written: Mapping[str, object]) -> dict[str, object]:
    """What was read, with times in seconds."""
    return {key: _in_seconds(value) if key in TIMES else value for key, value in written.items()}


def _in_seconds(value: object) -> float:
    return 0.0 if value == NOT_SET else duration(str(value))
