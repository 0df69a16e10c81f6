"""The key failures: what fails during the run, how that is noticed, and what is done.

::

    failures:
      - {fails: decode-0, at: 8 s, detection: 1 s, recovery: {transfer: 4x-nvlink5}}
      - {fails: tray-3, at: 9 s, detection: [lease, watchdog], recovery: recompute, restart: 64 s}

A map has the list under ``strikes``, and the ``rack`` and the ``seed`` beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.detection import (
    MECHANISMS,
    Detection,
    Detector,
    Symptom,
    Told,
    detector,
)
from rackproof.model.performance.failures.planned import FailurePlan, Moment, Planned
from rackproof.model.performance.failures.rates import restart
from rackproof.model.performance.failures.recovery import Policy, Recovery
from rackproof.model.performance.simulation import Deployment
from rackproof.model.rack import Part, Rack, preset, presets
from rackproof.scenarios.performance.amounts import DURATION, PLAIN, SHARE
from rackproof.scenarios.performance.parts import attempt, noted, plain, read_link
from rackproof.scenarios.places import Place

KEYS: Final = ("fails", "at", "detection", "delay", "recovery", "restart", "looks", "over")
SWITCHES: Final[Mapping[str, str]] = {"falls-back": "falls_back", "resend": "resend"}
MOST_STRIKES: Final = 1_000
LONGEST_S: Final = 1e9


def read(place: Place) -> FailurePlan | None:
    """What is to fail; None after a problem was noted."""
    found = {"strikes": place}
    if place.is_map:
        found = place.record(("strikes", "rack", "seed"))
    if "strikes" not in found:
        place.fail("has no strikes: a list of what fails")
        return None
    strikes = _strikes(found["strikes"])
    rack = read_rack(found["rack"]) if "rack" in found else preset("nvl72")
    seed = found["seed"].whole() if "seed" in found else 1
    if strikes is None or rack is None or seed is None:
        return None
    return FailurePlan(strikes, rack, seed)


def check(place: Place, plan: FailurePlan, deployments: Sequence[Deployment]) -> None:
    """Note what can fail in none of some deployments, and ways that are no ways."""
    found = place.record(("strikes", "rack", "seed"))["strikes"] if place.is_map else place
    for item, one in zip(found.items(), plan.planned, strict=True):
        told = [_untrue(one, plan.rack, deployment) for deployment in deployments]
        if told and None not in told:
            item.fail(str(told[0]))


def _untrue(one: Planned, rack: Rack, deployment: Deployment) -> str | None:
    """Why there is no such failure in a deployment."""
    plan = FailurePlan((one,), rack)
    try:
        one.struck(deployment, plan.placement(deployment))
    except ModelError as error:
        return str(error)
    if (one.falls_back or one.detour) and not _is_way(one.fails, rack):
        key = "falls-back" if one.falls_back else "over"
        return f"{key} is of a way that is lost (a NIC, NVLink switches), not of {one.fails}"
    return None


def _is_way(name: str, rack: Rack) -> bool:
    return name in rack.graph and rack.kind(name) in (Part.NIC, Part.NVLINK_SWITCH)


def read_rack(place: Place) -> Rack | None:
    """A preset by its name, or with options: {preset: nvl72, trays: 4}."""
    if not place.is_map:
        name = place.choice(presets(), "rack")
        return None if name is None else preset(name)
    found = place.entries() or {}
    if "preset" not in found:
        place.fail("has no preset")
        return None
    name = found.pop("preset").choice(presets(), "rack")
    options = {key: plain(item) for key, item in found.items()}
    return None if name is None else attempt(place, lambda: preset(name, options))


def _strikes(place: Place) -> tuple[Planned, ...] | None:
    places = list(place.items("a list of failures, or a map with strikes"))
    if place.is_list and not 0 < len(places) <= MOST_STRIKES:
        place.fail(f"has {len(places):,} entries; from 1 to {MOST_STRIKES:,}")
    read_all = [_strike(item) for item in places]
    found = [one for one in read_all if one is not None]
    return tuple(found) if found and len(found) == len(read_all) else None


def _strike(place: Place) -> Planned | None:
    found = place.record((*KEYS, *SWITCHES), "a map with fails, at and detection")
    for key in ("fails", "at", "detection"):
        if key not in found:
            place.problems.add(place.line, f"{place.key}.{key}", "is missing")
    readers: dict[str, Callable[[Place], Any]] = {
        "fails": Place.text,
        "at": _time,
        "detection": read_detection,
        "recovery": read_recovery,
        "restart": read_restart,
        "looks": _looks,
        "over": read_link,
        "delay": _moment,
        **dict.fromkeys(SWITCHES, Place.flag),
    }
    names = {"at": "at_s", "restart": "restart_s", "over": "detour", "delay": "moment", **SWITCHES}
    values = {names.get(key, key): noted(item, readers[key]) for key, item in found.items()}
    if None in values.values() or not {"fails", "at_s", "detection"} <= values.keys():
        return None
    return Planned(**values)


def _time(place: Place) -> float | None:
    """A time from the start of the run, or never."""
    if place.value == "never":
        return math.inf
    return DURATION.read(place, high=LONGEST_S, least=True)


def read_restart(place: Place) -> float | None:
    """Seconds until all is as before: a time, one of some presets, or never."""
    value = place.value
    if isinstance(value, str) and value.strip()[:1].isalpha() and value != "never":
        name = value.strip()
        found = attempt(place, lambda: restart(name))
        return None if found is None else found.seconds
    return _time(place)


def _looks(place: Place) -> Symptom | None:
    name = place.choice([symptom.value for symptom in Symptom], "look of a failure")
    return None if name is None else Symptom(name)


def _moment(place: Place) -> Moment | None:
    name = place.choice([moment.value for moment in Moment], "choice among delays")
    return None if name is None else Moment(name)


# Detection


def read_detection(place: Place) -> Detection | None:
    """A time, a mechanism, its values, or a list of them (the first that notices); or never."""
    if place.value == "never":
        return Detection(())
    places = list(place.items()) if place.is_list else [place]
    found = [one for item in places for one in _detectors(item)]
    if not places:
        place.fail("is empty; it takes a time, a mechanism such as lease, or never")
    if not found or None in found:
        return None
    return Detection(tuple(one for one in found if one is not None))


def _detectors(place: Place) -> list[Detector | None]:
    if place.is_map:
        found = place.record(MECHANISMS)
        if place.is_empty:
            place.fail(f"is empty; it takes a mechanism: {', '.join(MECHANISMS)}")
        return [_own(name, item) for name, item in found.items()] or [None]
    value = place.value
    if isinstance(value, str) and value.strip()[:1].isalpha():
        return [attempt(place, lambda: detector(value.strip()))]
    seconds = DURATION.read(place, high=LONGEST_S, least=True)
    return [None if seconds is None else Told("given", seconds)]


def _own(mechanism: str, place: Place) -> Detector | None:
    """A mechanism with values of its own, the others as its preset has them."""
    keys = FIELDS[mechanism]
    found = place.record(keys, f"a map with {', '.join(keys)}")
    values = {keys[key][0]: noted(item, keys[key][1]) for key, item in found.items()}
    if place.is_empty:
        place.fail(f"is empty; it takes {', '.join(keys)}, or {mechanism} alone")
    if None in values.values() or not found:
        return None
    base = detector(mechanism)
    return attempt(place, lambda: evolve(base, **values))


def _above(place: Place) -> float | None:
    return DURATION.read(place, high=LONGEST_S)


def _milliseconds(place: Place) -> float | None:
    seconds = DURATION.read(place, high=LONGEST_S, least=True)
    return None if seconds is None else seconds * 1e3


def _count(low: int) -> Callable[[Place], int | None]:
    return lambda place: place.whole(low, 1_000_000)


FIELDS: Final[Mapping[str, Mapping[str, tuple[str, Callable[[Place], Any]]]]] = {
    "stream-break": {"round-trip": ("round_trip_ms", _milliseconds)},
    "lease": {
        "ttl": ("ttl_s", _above),
        "renewed-at": ("renewed_at", lambda place: SHARE.read(place, high=1)),
    },
    "heartbeat": {
        "period": ("period_s", _above),
        "misses": ("misses", _count(1)),
        "timeout": ("timeout_s", _time),
    },
    "watchdog": {"multiple": ("multiple", lambda place: PLAIN.read(place, high=1e6))},
    "canary": {"idle": ("idle_s", _time), "timeout": ("timeout_s", _above)},
    "transport": {"timeout": ("timeout_s", _above), "retries": ("retries", _count(0))},
}
"""Of each mechanism the keys, with what the model calls them and how they are read."""


# Recovery

_SIMPLE: Final = ("replica", "recompute", "abort")
_MOVING: Final = ("transfer", "store", "checkpoint")


def read_recovery(place: Place) -> tuple[Recovery, ...] | None:
    """A policy, or a list of which the cheapest for the whole storm is taken (also: cheapest)."""
    if place.is_map and "cheapest" in (place.entries() or {}):
        place = place.record(("cheapest",))["cheapest"]
        if not place.is_list:
            place.wrong("a list of recoveries to choose from")
            return None
    if place.is_list:
        found = [_recovery(item) for item in place.items()]
        if not found:
            place.fail("is empty; it takes one recovery or more")
    else:
        found = [_recovery(place)]
    if not found or None in found:
        return None
    return tuple(one for one in found if one is not None)


def _recovery(place: Place) -> Recovery | None:
    if not place.is_map:
        name = place.choice((*_SIMPLE, *_MOVING), "recovery")
        if name in _MOVING:
            place.fail(f"say over which link: {{{name}: 4x-nvlink5}}")
            return None
        return None if name is None else Recovery(Policy(name))
    found = place.record(("recompute", *_MOVING), "one recovery")
    if len(found) != 1:
        place.wrong("one recovery, such as {transfer: 4x-nvlink5} or {recompute: in-turn}")
        return None
    name, item = next(iter(found.items()))
    if name == "recompute":
        turn = item.choice(("first", "in-turn"), "turn")
        return None if turn is None else Recovery(Policy.RECOMPUTE, first=turn == "first")
    return _moving(Policy(name), item)


_MORE: Final[Mapping[Policy, tuple[str, str]]] = {
    Policy.STORE: ("look-up", "lookup_s"),
    Policy.CHECKPOINT: ("every", "every_s"),
}
"""What a recovery says beside its link, and what the model calls it."""


def _moving(policy: Policy, place: Place) -> Recovery | None:
    """Over a link: {transfer: 100gbe}, {store: {link: 100gbe, look-up: 1 ms}}."""
    more: dict[str, float | None] = {}
    if policy in _MORE and "link" in (place.entries() or {} if place.is_map else ()):
        key, name = _MORE[policy]
        found = place.record(("link", key))
        if key in found:
            more[name] = DURATION.read(found[key], high=LONGEST_S, least=key == "look-up")
        place = found["link"]
    link = read_link(place)
    if link is None or None in more.values():
        return None
    values: dict[str, Any] = dict(more)
    return attempt(place, lambda: Recovery(policy, link, **values))
