"""The sequence diagram: lanes from left to right, a row for each step, in pixels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from attrs import frozen

from rackproof.checker.explain import Explanation, Moment
from rackproof.checker.explain.drawn import picture
from rackproof.model.kernel import Lane

WIDE: Final = 76
NARROW: Final = 64
"""From lane to lane, where there are few and where there are many."""
WIDEST: Final = 120
LETTER: Final = 8.2
"""Pixels of a letter of a name, at most."""
FEW: Final = 6
"""Lanes that have room enough to stand far apart."""
MANY: Final = 9
"""Lanes beside which there is no room for words."""
MIDDLE: Final = 22
"""How far below the top of its row a step is drawn."""
HEAD: Final = 9
"""The length of an arrow's head."""
FAILED: Final = "failed"


@frozen(slots=False)
class Row:
    """A step as it is drawn: from x to x; dead: the x of lanes that have failed, and from where."""

    moment: Moment
    source: int
    target: int
    dead: tuple[tuple[int, int], ...] = ()

    @property
    def glyph(self) -> str:
        """The sign of its kind."""
        return self.moment.step.firing.transition.kind.value

    @property
    def is_alone(self) -> bool:
        """Whether nothing passes between two."""
        return self.source == self.target

    @property
    def tip(self) -> str:
        """The head of its arrow, as an SVG path."""
        back = HEAD if self.target < self.source else -HEAD
        return f"M{self.target} {MIDDLE}l{back} -4.5v9z"

    @property
    def words(self) -> str:
        """What is drawn, for who does not see it."""
        names = self.moment.message
        alone = names.source == names.target
        return f"at {names.source}" if alone else f"{names.source} to {names.target}"


@frozen(slots=False)
class Diagram:
    """All of a run."""

    explanation: Explanation

    @cached_property
    def lanes(self) -> tuple[Lane, ...]:
        """Those who take part, in the order of the picture; all, where nothing happens."""
        seen = {
            name
            for moment in self.explanation.moments
            for name in (moment.message.source, moment.message.target)
        }
        known = {lane.name for lane in self.explanation.lanes}
        extra = tuple(Lane(name, "") for name in sorted(seen - known))
        return tuple(lane for lane in self.explanation.lanes if lane.name in seen) + extra

    @property
    def idle(self) -> tuple[Lane, ...]:
        """Those who do not."""
        drawn = {lane.name for lane in self.lanes}
        return tuple(lane for lane in self.explanation.lanes if lane.name not in drawn)

    @property
    def pitch(self) -> int:
        """From lane to lane: so that no part of a name has to be broken, if it is not too long."""
        ends = r"[\s-]" if self.is_wide else r"\s"
        parts = (part for lane in self.lanes for part in re.split(ends, lane.name))
        longest = round(LETTER * max(map(len, parts), default=0)) + 10
        return max(WIDE if len(self.lanes) <= FEW else NARROW, min(longest, WIDEST))

    @property
    def is_wide(self) -> bool:
        """Whether the words had better come before it."""
        return len(self.lanes) > MANY

    @property
    def width(self) -> int:
        """Of all lanes."""
        return self.pitch * max(1, len(self.lanes))

    @cached_property
    def places(self) -> dict[str, int]:
        """The x of each lane by its name."""
        return {lane.name: self.pitch * i + self.pitch // 2 for i, lane in enumerate(self.lanes)}

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The steps."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[Row]:
        failed = self._failed()
        for moment, before, after in zip(
            self.explanation.moments, failed, failed[1:], strict=False
        ):
            dead = [(x, 0) for name, x in self.places.items() if name in before & after]
            dead += [(x, MIDDLE) for name, x in self.places.items() if name in after - before]
            names = moment.message
            yield Row(moment, self.places[names.source], self.places[names.target], tuple(dead))

    def _failed(self) -> Sequence[frozenset[str]]:
        """Whose lanes have failed in each state, where the picture tells."""
        sites = picture(self.explanation.trace.system).sites
        return [
            frozenset(name for name, site in sites(state).items() if site.condition == FAILED)
            for state in self.explanation.states
        ]
