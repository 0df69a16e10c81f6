"""A state machine laid out to be drawn: values one below the other, in the order of their class.

Changes to the next value go straight down, those further on pass by on the right, those back on the
left, each in a track of its own. No two lines lie on one another, and none crosses a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import field, frozen

from rackproof.checker.machines.machine import Change, Machine
from rackproof.model.kernel import Kind

TRACK: Final = 30
PORT: Final = 22
GAP: Final = 46
LETTER: Final = 8
LEAST: Final = 40
CURVE: Final = 9
TIP: Final = 7


@frozen
class Box:
    """A value: its middle, its size, whether a run begins with it."""

    value: str
    x: float
    y: float
    width: float
    height: float
    begins: bool


@frozen
class Line:
    """An edge: its number, its path, the corners of its tip, and where its number stands.

    style: seen, fault (seen, by faults alone) or never (seen).
    """

    number: int
    before: str
    after: str
    changes: tuple[Change, ...]
    path: str
    tip: str
    x: float
    y: float
    style: str


@frozen
class Drawing:
    """Boxes and lines in a picture of a size."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


@frozen
class _Edge:
    """From one place in the order to another."""

    start: int
    end: int
    number: int
    changes: tuple[Change, ...]

    @property
    def side(self) -> int:
        """1 on the right, -1 on the left, 0 straight down."""
        return 0 if self.end == self.start + 1 else 1 if self.end > self.start else -1

    @property
    def span(self) -> tuple[int, int]:
        return min(self.start, self.end), max(self.start, self.end)


@frozen(slots=False)
class _Layout:
    """Where everything is. tracks: of each edge that passes by, how far out, from 0 on."""

    machine: Machine
    edges: tuple[_Edge, ...]
    tracks: dict[int, int] = field(factory=dict)
    tops: list[float] = field(factory=list)
    heights: list[float] = field(factory=list)

    def ports(self, place: int, side: int) -> list[_Edge]:
        """The edges at one side of a value: those that go up first, the furthest of them last."""
        here = [e for e in self.edges if e.side == side and place in e.span]
        return sorted(here, key=lambda e: self._order(e, place))

    def _order(self, edge: _Edge, place: int) -> tuple[int, int]:
        """Lines that go up leave above those that go down; the inner ones nearer to the edge."""
        goes_up = place == edge.span[1]
        return (0, self.tracks[edge.number]) if goes_up else (1, -self.tracks[edge.number])

    def port(self, edge: _Edge, place: int) -> float:
        """The height at which an edge leaves or reaches a value."""
        those = self.ports(place, edge.side)
        middle = self.tops[place] + self.heights[place] / 2
        return middle + PORT * (those.index(edge) - (len(those) - 1) / 2)

    def out(self, side: int) -> float:
        """How much room one side needs."""
        used = [self.tracks[e.number] for e in self.edges if e.side == side]
        return TRACK * (max(used, default=-1) + 1) + (CURVE if used else 0) + 12


def drawing(machine: Machine) -> Drawing:
    """Lay a machine out."""
    layout = _laid_out(machine)
    width = max(map(len, machine.values)) * LETTER + 36
    left = layout.out(-1)
    boxes = tuple(
        Box(
            value,
            left + width / 2,
            layout.tops[n] + layout.heights[n] / 2,
            width,
            layout.heights[n],
            value in machine.initial,
        )
        for n, value in enumerate(machine.values)
    )
    lines = tuple(_line(layout, edge, left, width) for edge in layout.edges)
    height = layout.tops[-1] + layout.heights[-1] + 8
    return Drawing(left + width + layout.out(1), height, boxes, lines)


def _laid_out(machine: Machine) -> _Layout:
    place = {value: number for number, value in enumerate(machine.values)}
    edges = tuple(
        _Edge(place[before], place[after], number, changes)
        for number, ((before, after), changes) in enumerate(machine.edges.items(), 1)
    )
    layout = _Layout(machine, edges, _tracks(edges))
    top = 28.0
    for number in range(len(machine.values)):
        most = max(len(layout.ports(number, side)) for side in (1, -1))
        layout.tops.append(top)
        layout.heights.append(max(LEAST, PORT * most + 6))
        top += layout.heights[-1] + GAP
    return layout


def _tracks(edges: Sequence[_Edge]) -> dict[int, int]:
    """A track for each edge that passes by: the innermost that is free along its way."""
    tracks: dict[int, int] = {}
    taken: dict[tuple[int, int], list[tuple[int, int]]] = {}
    passing = [edge for edge in edges if edge.side]
    for edge in sorted(passing, key=lambda e: (e.span[1] - e.span[0], e.span, e.number)):
        low, high = edge.span
        track = 0
        while any(a <= high and low <= b for a, b in taken.get((edge.side, track), ())):
            track += 1
        taken.setdefault((edge.side, track), []).append(edge.span)
        tracks[edge.number] = track
    return tracks


def _line(layout: _Layout, edge: _Edge, left: float, width: float) -> Line:
    path, tip, at = (
        _straight(layout, edge, left + width / 2)
        if not edge.side
        else _around(layout, edge, left if edge.side < 0 else left + width)
    )
    before, after = layout.machine.values[edge.start], layout.machine.values[edge.end]
    return Line(edge.number, before, after, edge.changes, path, tip, *at, _style(edge.changes))


def _style(changes: Iterable[Change]) -> str:
    seen = [change for change in changes if change.seen]
    if not seen:
        return "never"
    return "fault" if all(change.kind is Kind.FAULT for change in seen) else "seen"


Drawn = tuple[str, str, tuple[float, float]]


def _straight(layout: _Layout, edge: _Edge, x: float) -> Drawn:
    """From a value down to the next."""
    top = layout.tops[edge.start] + layout.heights[edge.start]
    end = layout.tops[edge.end]
    tip = f"{x:g},{end:g} {x - TIP / 2:g},{end - TIP:g} {x + TIP / 2:g},{end - TIP:g}"
    return f"M{x:g} {top:g}V{end - TIP:g}", tip, (x, (top + end - TIP) / 2)


def _around(layout: _Layout, edge: _Edge, side_x: float) -> Drawn:
    """Out to its track, along it, and in again."""
    out = TRACK * (layout.tracks[edge.number] + 1) - CURVE
    x = side_x + edge.side * (out + CURVE)
    start, end = layout.port(edge, edge.start), layout.port(edge, edge.end)
    down = 1 if end > start else -1
    inner = x - edge.side * CURVE
    path = (
        f"M{side_x:g} {start:g}H{inner:g}Q{x:g} {start:g} {x:g} {start + down * CURVE:g}"
        f"V{end - down * CURVE:g}Q{x:g} {end:g} {inner:g} {end:g}H{side_x + edge.side * TIP:g}"
    )
    base = side_x + edge.side * TIP
    tip = f"{side_x:g},{end:g} {base:g},{end - TIP / 2:g} {base:g},{end + TIP / 2:g}"
    return path, tip, (x, (start + end) / 2)
