"""Notes that follow one another, as one: a few bytes for each token of a stream."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import define, field

from rackproof.model.kernel import Observation, Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.noted import Noted

POSITION: Final = "position"
MOST_NOTES: Final = 1024
"""Notes of a run that is still open."""


@define(eq=False)
class Run:
    """Notes that differ in nothing but line, time and a position that counts up.

    first: the position of the first; None where they have none. values: the others. file: None
    without a place.
    """

    about: str | None
    witness: str
    kind: str
    clock: str
    file: str | None
    first: int | None
    values: Mapping[str, Value]
    aside: Mapping[str, Value]
    lines: array[int] = field(factory=lambda: array("q"))
    times: array[float] = field(factory=lambda: array("d"))

    def add(self, line: int, time: float | None) -> None:
        """Keep what sets a note apart from the others."""
        self.lines.append(line)
        self.times.append(math.nan if time is None else time)

    def goes_on(
        self, witness: str, kind: str, values: Mapping[str, Value], aside: Mapping[str, Value]
    ) -> bool:
        """Whether a note of the same request, file and clock is one more of this run."""
        if kind != self.kind or witness != self.witness or aside != self.aside:
            return False
        position = values.get(POSITION)
        if self.first is None:
            return type(position) is not int and values == self.values
        if type(position) is not int or position != self.first + len(self.lines):
            return False
        return len(values) == 1 + len(self.values) and self.values.items() <= values.items()

    def takes(self, other: Run) -> bool:
        """Whether another run of the same request goes on with this one; then it is added."""
        if other.clock != self.clock or other.file != self.file:
            return False
        values = other.values if other.first is None else {POSITION: other.first, **other.values}
        if not self.goes_on(other.witness, other.kind, values, other.aside):
            return False
        self.lines.extend(other.lines)
        self.times.extend(other.times)
        return True

    def notes(self) -> Iterator[Noted]:
        """The notes as they came."""
        for index, (line, time) in enumerate(zip(self.lines, self.times, strict=True)):
            values = self.values
            if self.first is not None:
                values = {POSITION: self.first + index, **values}
            place = None if self.file is None else Place(self.file, line)
            when = None if math.isnan(time) else time
            seen = Observation(self.witness, self.kind, values, self.aside, place, when)
            yield Noted(self.about, seen, self.clock)

    def packed(self) -> tuple[Any, ...]:
        """Plain values, to be written out; not of whom it is."""
        told = (self.witness, self.kind, self.clock, self.file, self.first)
        plain = dict(self.values), dict(self.aside)
        return (*told, *plain, self.lines.tobytes(), self.times.tobytes())


def begun(
    about: str | None,
    witness: str,
    kind: str,
    clock: str,
    file: str | None,
    values: Mapping[str, Value],
    aside: Mapping[str, Value],
) -> Run:
    """A run without a note yet, of what its notes say."""
    position = values.get(POSITION)
    if type(position) is not int:
        return Run(about, witness, kind, clock, file, None, values, aside)
    others = {name: value for name, value in values.items() if name != POSITION}
    return Run(about, witness, kind, clock, file, position, others, aside)


def run_of(noted: Noted) -> Run:
    """A run of one note."""
    seen, place = noted.observation, noted.observation.place
    file = place.file if place else None
    said = seen.witness, seen.kind, noted.clock, file, seen.values, seen.aside
    run = begun(noted.about, *said)
    run.add(place.line if place else 0, seen.time)
    return run


def unpacked(about: str, packed: tuple[Any, ...]) -> Run:
    """A run as it was before it was packed."""
    *told, lines, times = packed
    run = Run(about, *told)
    run.lines.frombytes(lines)
    run.times.frombytes(times)
    return run
