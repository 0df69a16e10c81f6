"""Figures of runs that a file names: those that were published, and bounds that are expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rackproof.model.performance.measures import MEASURES
from rackproof.scenarios.performance.amounts import DURATION, tokens
from rackproof.scenarios.performance.plan import Expected, Published
from rackproof.scenarios.places import Place

IDEAL: Final = "hand-off-ideal"
FIGURE: Final = ("figure", "of", "measure", "value")
BOUNDS: Final = ("at-least", "at-most")
UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "seconds": DURATION.units,
    "share": {"%": 0.01},
    "joules": {"J": 1},
    "tokens/s": {"tok/s": 1},
    "requests/s": {"/s": 1},
}
"""The units in which figures of each kind are printed, and what they are worth in SI."""


def read_published(place: Place, variants: Sequence[str]) -> tuple[Published, ...]:
    """The figures that were published for some of these variants."""
    read = [_figure(item, variants) for item in place.items("a list of figures")]
    return tuple(figure for figure in read if figure is not None)


def read_expected(place: Place, variants: Sequence[str]) -> tuple[Expected, ...]:
    """The bounds that the variants, or one of them, are expected to keep."""
    read = [_bound(item, variants) for item in place.items("a list of bounds")]
    return tuple(bound for bound in read if bound is not None)


def _figure(place: Place, variants: Sequence[str]) -> Published | None:
    found = place.record((*FIGURE, "note"), f"a map with {', '.join(FIGURE)}")
    if not _has(place, found, FIGURE):
        return None
    title = found["figure"].text()
    of = found["of"].choice(variants, "variant")
    measure, count = _measure(found["measure"])
    printed = _printed(found["value"], measure)
    note = found["note"].text() if "note" in found else ""
    if title is None or of is None or measure is None or printed is None:
        return None
    return Published(title, of, measure, count, *printed, note or "")


def _bound(place: Place, variants: Sequence[str]) -> Expected | None:
    found = place.record(("of", "measure", *BOUNDS), "a map with a measure and a bound")
    if not _has(place, found, ("measure",)):
        return None
    if not found.keys() & set(BOUNDS):
        place.fail(f"has no bound: {' or '.join(BOUNDS)}")
    of = found["of"].choice(variants, "variant") if "of" in found else ""
    measure = found["measure"].choice(MEASURES, "measure")
    if of is None or measure is None:
        return None
    read = [_printed(found[key], measure) if key in found else None for key in BOUNDS]
    bounds = [float(b[0].replace(",", "")) * b[2] if b else None for b in read]
    return Expected(measure, of, *bounds)


def _has(place: Place, found: Mapping[str, Place], keys: Sequence[str]) -> bool:
    lacking = [key for key in keys if key not in found]
    for key in lacking if place.is_map else ():
        place.lacks(key)
    return not lacking


def _measure(place: Place) -> tuple[str | None, int | None]:
    """A measure of a run, or the ideal hand-off of so many tokens."""
    if place.is_map:
        found = place.record((IDEAL,), f"a measure, or {{{IDEAL}: 3000 tokens}}")
        count = tokens(found[IDEAL]) if IDEAL in found else None
        return (None if count is None else IDEAL), count
    return place.choice(MEASURES, "measure"), None


def _printed(place: Place, measure: str | None) -> tuple[str, str, float] | None:
    """A printed figure: its digits, its unit, and what that is worth."""
    if measure is None:
        return None
    units = UNITS[MEASURES[measure].kind if measure in MEASURES else "seconds"]
    text = place.value if isinstance(place.value, str) else ""
    digits, _, unit = text.strip().partition(" ")
    plain = digits.replace(",", "")
    if unit not in units or not plain.replace(".", "", 1).isdigit() or not plain.isascii():
        place.wrong(f"a figure as it was printed, with a unit: {', '.join(units)}")
        return None
    return digits, unit, units[unit]
