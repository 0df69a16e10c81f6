"""Fault events in words: by the role of what they hit, up to what is interchangeable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import define, field

from rackproof.checker.symmetry import Class
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Firing, System
from rackproof.model.kernel.schema import Lane
from rackproof.scenarios.steps import kebab

NONE: Final = "no fault at all"
_NUMBER: Final = re.compile(r"-\d+")


def in_words(trace: Trace, classes: Sequence[Class]) -> str:
    """The faults of a run in the order in which they happen: crash (a decode worker) + ..."""
    telling = _Telling(trace.system, tuple(classes))
    faults = [telling.event(step.firing) for step in trace.steps if step.is_fault]
    return " + ".join(faults) or NONE


@define
class _Telling:
    """One set of events under way: which bundles were mentioned already, and what of them."""

    system: System
    classes: tuple[Class, ...]
    mentioned: dict[tuple[int, int], frozenset[Lane]] = field(factory=dict)

    def event(self, firing: Firing) -> str:
        """A fault with whom it hits; what there is only one of goes without saying."""
        counts, sorts = self.system.schema.counts, firing.transition.parameters
        lanes = [
            (sort, index)
            for (_, sort), index in zip(sorts, firing.arguments, strict=True)
            if counts[sort] > 1
        ]
        hit = ", ".join([self._identifier(lane) for lane in lanes])
        return kebab(firing.transition.name) + (f" ({hit})" if hit else "")

    def _identifier(self, lane: Lane) -> str:
        home = next(self._homes(lane), None)
        if home is None:
            return self.system.label(*lane)
        noun, known = self._noun(lane), self.mentioned.get(home, frozenset())
        article = "another" if any(number == home[0] for number, _ in self.mentioned) else "a"
        self.mentioned[home] = known | {lane}
        if known:
            other = "other " if any(sort == lane[0] for sort, _ in known) else ""
            return f"the same {noun}" if lane in known else f"the {other}{noun} there"
        company = self._company(lane, home)
        return f"the {noun} of {article} {company}" if company else f"{article} {noun}"

    def _homes(self, lane: Lane) -> Iterator[tuple[int, int]]:
        """The class and the bundle in it that an identifier belongs to."""
        for number, bundles in enumerate(self.classes):
            for at, bundle in enumerate(bundles):
                if lane in bundle:
                    yield number, at

    def _noun(self, lane: Lane) -> str:
        """What an identifier is: its sort, with the role that its name tells."""
        sort = lane[0].name
        role = _NUMBER.sub("", self.system.label(*lane))
        return role if sort in role else f"{role} {sort}"

    def _company(self, lane: Lane, home: tuple[int, int]) -> str | None:
        """With whom something is exchanged that has no role of its own: the worker of a tray."""
        first, *others = self.classes[home[0]][home[1]]
        is_told_so = lane == first and others and self._noun(lane) == lane[0].name
        return self._noun(others[0]) if is_told_so else None
