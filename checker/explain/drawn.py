"""Who takes part in a run, and between whom each step passes; also of worlds that do not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Firing, Identifiers, Kind, Lane, Message, Picture, System

WORLD: Final = "the world"
Place = tuple[Identifiers, int]


def picture(system: System) -> Picture:
    """A system's own picture, or one with a lane for each identifier that transitions take.

    ``ModelError`` where what its own is made of is no picture, also when that is found out later.
    """
    if system.picture is not None:
        return system.picture.checked
    named = _named(system)
    others = [Lane(name, sort.name) for (sort, _), name in named.items()]
    return Picture((Lane(WORLD, "world"), *others), _Messages(system, named))


def message(drawn: Picture, step: Step) -> Message:
    """Between whom a step passes."""
    return drawn.message(step.before, step.firing, step.after)


def try_out(trace: Trace) -> None:
    """Draw all of a run, to raise what the functions of a picture raise."""
    drawn = picture(trace.system)
    for state in (trace.system.initial, *(step.after for step in trace.steps)):
        drawn.beliefs(state)
        drawn.sites(state)
    for step in trace.steps:
        message(drawn, step)
        step.words  # noqa: B018


def _named(system: System) -> Mapping[Place, str]:
    """The identifiers that transitions take, by names of which no two are alike; numbers, such as
    of attempts, are nobody.
    """
    sorts = dict.fromkeys(sort for t in system.transitions for _, sort in t.parameters)
    counts = system.schema.counts
    places = [(s, i) for s in sorts if not s.ordered for i in range(counts[s])]
    labels = Counter(system.label(*place) for place in places)
    return {place: _name(system, *place, labels) for place in places}


def _name(system: System, sort: Identifiers, index: int, labels: Counter[str]) -> str:
    label = system.label(sort, index)
    return label if labels[label] == 1 and label != WORLD else f"{sort.name} {label}"


def _lanes(places: tuple[Place, ...], named: Mapping[Place, str]) -> list[str]:
    return [named[place] for place in places if place in named]


@frozen
class _Messages:
    """A step passes from the first identifier that it takes to the last; from a single one to whom
    it changes something of, be it the world. A fault is drawn at whom it hits.
    """

    system: System
    named: Mapping[Place, str]

    def __call__(self, before: Any, firing: Firing, after: Any) -> Message:
        """Between whom a step passes."""
        sorts = (sort for _, sort in firing.transition.parameters)
        taken = _lanes(tuple(zip(sorts, firing.arguments, strict=True)), self.named)
        if not taken:
            return Message(WORLD, WORLD)
        if firing.transition.kind is Kind.FAULT:
            return Message(taken[-1], taken[-1])
        if len(taken) > 1:
            return Message(taken[0], taken[-1])
        return Message(taken[0], self._touched(taken[0], before, after))

    def _touched(self, own: str, before: Any, after: Any) -> str:
        """Of whom else a step changes something; nobody else, where that is all its own."""
        schema = self.system.schema
        values = zip(schema.slots, schema.flatten(before), schema.flatten(after), strict=True)
        changed = [_lanes(slot.lanes, self.named) for slot, old, new in values if old != new]
        others = [names[-1] for names in changed if names and own not in names]
        return others[0] if others else own if all(changed) else WORLD
