"""The key workload: requests made from a seed, or read from a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rackproof.model.performance.simulation import Convention, Slo
from rackproof.model.performance.workload import (
    Arrivals,
    Lengths,
    Replayed,
    Synthetic,
    azure_rows,
    mooncake_rows,
)
from rackproof.model.performance.workload.records import Row
from rackproof.scenarios.files import is_file
from rackproof.scenarios.performance.amounts import DURATION, PLAIN, RATE, tokens
from rackproof.scenarios.performance.parts import Readers, attempt, read_keys
from rackproof.scenarios.performance.plan import Workload
from rackproof.scenarios.places import Place

TRACES: Final = {"azure": azure_rows, "mooncake": mooncake_rows}
KINDS: Final = ("synthetic", *TRACES)
MOST_REQUESTS: Final = 10**9
MOST_SEED: Final = 2**63 - 1


def _requests(place: Place) -> int | None:
    return place.whole(1, MOST_REQUESTS)


LENGTHS: Final[Readers] = {
    "mean": ("mean", tokens),
    "cv": ("cv", lambda place: PLAIN.read(place, least=True)),
    "longest": ("longest", tokens),
}


def _variation(place: Place) -> float | None:
    """Poisson, constant, or a map with the coefficient of variation of the gaps."""
    if not place.is_map:
        word = place.choice(("poisson", "constant"), "kind of arrivals")
        return None if word is None else {"poisson": 1.0, "constant": 0.0}[word]
    found = place.record(("cv",), "a map with cv")
    if "cv" not in found:
        place.lacks("cv")
        return None
    return PLAIN.read(found["cv"], least=True)


def _lengths(place: Place) -> Lengths | None:
    """A mean, or a map with a mean and more."""
    if not place.is_map:
        mean = tokens(place)
        return None if mean is None else attempt(place, lambda: Lengths(mean))
    found = place.record(LENGTHS, "a map with a mean")
    if "mean" not in found:
        place.lacks("mean")
        return None
    parts = read_keys(found, LENGTHS)
    return None if None in parts.values() else attempt(place, lambda: Lengths(**parts))


def _convention(place: Place) -> Convention | None:
    """Until when a time to the first token counts."""
    name = place.choice([one.value for one in Convention], "convention of TTFT")
    return None if name is None else Convention(name)


SYNTHETIC: Final[Readers] = {
    "requests": ("requests", _requests),
    "prompt": ("prompt", _lengths),
    "output": ("output", _lengths),
    "seed": ("seed", lambda place: place.whole(0, MOST_SEED)),
}
ARRIVALS: Final[Readers] = {
    "rate": ("rate_per_s", RATE.read),
    "arrivals": ("cv", _variation),
}
SLO: Final[Readers] = {
    "ttft": ("ttft_s", DURATION.read),
    "tpot": ("tpot_s", DURATION.read),
    "convention": ("convention", _convention),
}
TRACE: Final[Readers] = {
    "speed": ("speed", PLAIN.read),
    "repeat": ("passes", lambda place: place.whole(1)),
    "requests": ("requests", _requests),
}


def read_workload(place: Place, path: Path) -> Workload | None:
    """A workload; a trace's path starts where the file is."""
    found = place.record(KINDS, f"a map with one of {', '.join(KINDS)}")
    if len(found) != 1:
        if place.is_map:
            place.fail(f"needs one of {', '.join(KINDS)}, and has {len(found) or 'none'}")
        return None
    ((kind, item),) = found.items()
    return _synthetic(item) if kind == "synthetic" else _trace(item, TRACES[kind], path)


def _synthetic(place: Place) -> Synthetic | None:
    found = place.record((*SYNTHETIC, *ARRIVALS), "a map with requests, rate, prompt and output")
    lacking = [key for key in ("requests", "rate", "prompt", "output") if key not in found]
    for key in lacking:
        place.lacks(key)
    parts, arrivals = read_keys(found, SYNTHETIC), read_keys(found, ARRIVALS)
    if lacking or None in (*parts.values(), *arrivals.values()):
        return None
    return attempt(place, lambda: Synthetic(Arrivals(**arrivals), **parts))


def _trace(place: Place, rows: Callable[[Path], Iterator[Row]], path: Path) -> Replayed | None:
    found = place.record(("file", *TRACE), "a map with a file")
    if "file" not in found and place.is_map:
        place.lacks("file")
    name = found["file"].text("the path of a trace") if "file" in found else None
    if name is None:
        return None
    file = path.parent / name
    if not is_file(file):
        found["file"].fail(f"there is no file {file}")
        return None
    parts = read_keys(found, TRACE)
    if None in parts.values():
        return None
    if "requests" in parts:
        parts.setdefault("passes", None)  # as often as it takes
    return attempt(place, lambda: Replayed(file, rows, **parts))


def read_slo(place: Place) -> Slo | None:
    """The two times that a request is to keep, and until when the first counts."""
    parts = read_keys(place.record(SLO, "a map with ttft and tpot"), SLO)
    return None if None in parts.values() else attempt(place, lambda: Slo(**parts))
