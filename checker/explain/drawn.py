"""Who takes part in a run, and between whom each step passes; also of worlds that do not say."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.checker.trace import Step
from rackproof.model.kernel import Kind, Lane, Message, Picture, System

WORLD = "the world"
KINDS = {Kind.CLIENT: "client", Kind.ENVIRONMENT: "environment"}


def picture(system: System) -> Picture:
    """A system's own picture, or one with a lane for each identifier that transitions take."""
    if system.picture is not None:
        return system.picture

    def message(_before: object, firing: object, _after: object) -> Message:
        names = [*firing.named(system).values()]  # type: ignore[attr-defined]
        return Message(names[0], names[-1]) if names else Message(WORLD, WORLD)

    return Picture(tuple(_lanes(system)), message)


def _lanes(system: System) -> Iterator[Lane]:
    yield Lane(WORLD, "world")
    sorts = dict.fromkeys(sort for t in system.transitions for _, sort in t.parameters)
    for sort in sorts:
        for index in range(system.schema.counts[sort]):
            yield Lane(system.label(sort, index), sort.name)


def message(drawn: Picture, step: Step) -> Message:
    """Between whom a step passes."""
    return drawn.message(step.before, step.firing, step.after)
