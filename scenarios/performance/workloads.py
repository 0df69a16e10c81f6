"""The key workload: requests made from a seed, or read from a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from rackproof.model.performance.simulation import Slo
from rackproof.model.performance.workload import (
    Arrivals,
    Lengths,
    Replayed,
    Synthetic,
    azure_rows,
    mooncake_rows,
)
from rackproof.scenarios.performance.amounts import DURATION, PLAIN, RATE, tokens
from rackproof.scenarios.performance.parts import attempt
from rackproof.scenarios.performance.plan import Workload
from rackproof.scenarios.places import Place

TRACES: Final = {"azure": azure_rows, "mooncake": mooncake_rows}
KINDS: Final = ("synthetic", *TRACES)
SYNTHETIC: Final = ("requests", "rate", "prompt", "output", "arrivals", "seed")
MOST_REQUESTS: Final = 10**9
MOST_SEED: Final = 2**63 - 1


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
    found = place.record(SYNTHETIC, "a map with requests, rate, prompt and output")
    for key in SYNTHETIC[:4]:
        if key not in found:
            place.problems.add(place.line, f"{place.key}.{key}", "is missing")
    parts: dict[str, Any] = {}
    for key in ("prompt", "output"):
        parts[key] = _lengths(found[key]) if key in found else None
    parts["arrivals"] = _arrivals(found)
    parts["requests"] = found["requests"].whole(1, MOST_REQUESTS) if "requests" in found else None
    parts["seed"] = found["seed"].whole(0, MOST_SEED) if "seed" in found else 1
    return None if None in parts.values() else attempt(place, lambda: Synthetic(**parts))


def _arrivals(found: Mapping[str, Place]) -> Arrivals | None:
    """At a rate: poisson, constant, or with the variation of a map."""
    rate = RATE.read(found["rate"]) if "rate" in found else None
    cv: float | None = 1.0
    if "arrivals" in found and found["arrivals"].is_map:
        inner = found["arrivals"].record(("cv",), "a map with cv")
        cv = PLAIN.read(inner["cv"], least=True) if "cv" in inner else None
    elif "arrivals" in found:
        word = found["arrivals"].choice(("poisson", "constant"), "kind of arrivals")
        cv = None if word is None else {"poisson": 1.0, "constant": 0.0}[word]
    if rate is None or cv is None:
        return None
    return attempt(found["rate"], lambda: Arrivals(rate, cv))


def _lengths(place: Place) -> Lengths | None:
    """A mean, or a map with a mean and more."""
    if not place.is_map:
        mean = tokens(place)
        return None if mean is None else attempt(place, lambda: Lengths(mean))
    found = place.record(("mean", "cv", "longest"), "a map with a mean")
    if "mean" not in found:
        place.problems.add(place.line, f"{place.key}.mean", "is missing")
        return None
    parts: dict[str, Any] = {"mean": tokens(found["mean"])}
    if "cv" in found:
        parts["cv"] = PLAIN.read(found["cv"], least=True)
    if "longest" in found:
        parts["longest"] = tokens(found["longest"])
    return None if None in parts.values() else attempt(place, lambda: Lengths(**parts))


def _trace(place: Place, rows: Callable[[Path], Any], path: Path) -> Replayed | None:
    found = place.record(("file", "speed", "repeat", "requests"), "a map with a file")
    if "file" not in found:
        place.problems.add(place.line, f"{place.key}.file", "is missing")
        return None
    name = found["file"].text("the path of a trace")
    if name is None:
        return None
    file = path.parent / name
    if not file.is_file():
        found["file"].fail(f"there is no file {file}")
        return None
    parts: dict[str, Any] = {}
    if "speed" in found:
        parts["speed"] = PLAIN.read(found["speed"])
    if "requests" in found:
        parts["requests"] = found["requests"].whole(1, MOST_REQUESTS)
        parts["passes"] = None
    if "repeat" in found:
        parts["passes"] = found["repeat"].whole(1)
    if any(parts[key] is None for key in parts if key != "passes"):
        return None
    return attempt(place, lambda: Replayed(file, rows, **parts))


def read_slo(place: Place) -> Slo | None:
    """The two times that a request is to keep."""
    found = place.record(("ttft", "tpot"), "a map with ttft and tpot")
    times = {f"{key}_s": DURATION.read(item) for key, item in found.items()}
    return None if None in times.values() else attempt(place, lambda: Slo(**times))  # type: ignore[arg-type]
