"""A run of the plain functions: what a counterexample is, whatever engine found it.

An engine finds a path over packed, possibly canonical states. Here it is walked again with the
plain functions, under the real names, and the property is asked of the plain state it ends in.
Nothing is shown that did not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import attrs
from attrs import frozen

from rackproof.model.kernel import (
    Fairness,
    Firing,
    Kind,
    Property,
    Scope,
    System,
    holds,
    successors,
)
from rackproof.model.kernel.schema import ScalarShape, SetShape, Slot
from rackproof.model.kernel.system import at_rest


class EngineError(AssertionError):
    """An engine and the plain functions disagree: a fault of ours, never of the model."""


@frozen
class Change:
    """A field that a step changed, as plain values."""

    label: str
    before: object
    after: object


@frozen
class Step:
    """A firing and the states around it."""

    system: System
    firing: Firing
    before: Any
    after: Any

    @property
    def changes(self) -> tuple[Change, ...]:
        """The fields that differ, in slot order."""
        schema = self.system.schema
        pairs = zip(schema.values(self.before), schema.values(self.after), strict=True)
        return tuple(
            Change(_label(self.system, shape), old, new)
            for (shape, old), (_, new) in pairs
            if old != new
        )

    @property
    def is_fault(self) -> bool:
        """Whether this step is a fault."""
        return self.firing.transition.kind is Kind.FAULT

    def spends(self, label: str) -> bool:
        """Whether a field is the budget of this very fault: that it is used up need not be said."""
        spent = ("_left", f".{self.firing.transition.name}")
        return self.is_fault and label.endswith(spent)

    @property
    def words(self) -> str:
        """What the step came to, in words, with names."""
        drawn = self.system.picture
        if drawn is None:
            return self.firing.words(self.system)
        sentence = drawn.checked.sentence(self.before, self.firing, self.after)
        return sentence.format(**self.firing.named(self.system))


def _label(system: System, shape: object) -> str:
    slots: tuple[Slot, ...] = system.schema.slots
    if isinstance(shape, ScalarShape):
        return slots[shape.slot].label
    if isinstance(shape, SetShape) and shape.slots:
        return slots[shape.slots[0]].label.rsplit("[", 1)[0]
    return "a constant"


@frozen(eq=False)
class Trace:
    """A run from the initial state; like its system, it is the same only as itself.

    loop: where it goes on for ever, the index of the first of the steps that are repeated.
    """

    system: System
    steps: tuple[Step, ...]
    loop: int | None = None

    @property
    def undrawn(self) -> Trace:
        """The same run, of a world without a picture."""
        system = attrs.evolve(self.system, picture=None)
        steps = tuple(attrs.evolve(step, system=system) for step in self.steps)
        return Trace(system, steps, self.loop)

    @property
    def final(self) -> Any:
        """The state the run ends in."""
        return self.steps[-1].after if self.steps else self.system.initial

    @property
    def faults(self) -> int:
        """How many of its steps are faults."""
        return sum(step.is_fault for step in self.steps)

    @property
    def lead(self) -> int:
        """How many steps there are before the loop; all, where there is none."""
        return len(self.steps) if self.loop is None else self.loop

    @property
    def repeated(self) -> tuple[Step, ...]:
        """The steps of the loop."""
        return self.steps[self.lead :]

    def violates(self, prop: Property) -> bool:
        """Whether the plain predicate fails at the end: in the final state, for ``at rest`` only
        where nothing more happens, for ``eventually`` there or all along a loop that is sound.
        """
        if prop.scope is Scope.EVENTUALLY and self.loop is not None:
            return self.flaw is None and next(self.failing(prop), None) is not None
        if prop.scope in (Scope.AT_REST, Scope.EVENTUALLY) and not self.rests:
            return False
        return prop.scope is not Scope.SOMETIMES and not holds(self.system, prop, self.final)

    def failing(self, prop: Property) -> Iterator[tuple[int, ...]]:
        """The identifiers for which the predicate fails in the final state and all along a loop."""
        states = [self.final, *(step.after for step in self.repeated)]
        for arguments in self.system.choices(prop.parameters):
            if not any(prop.function(state, *arguments) for state in states):
                yield arguments

    def culprits(self, prop: Property) -> list[dict[str, str]]:
        """The same identifiers by name."""
        return [self.system.named(prop.parameters, ids) for ids in self.failing(prop)]

    def broken(self, prop: Property) -> tuple[str, ...]:
        """What is so instead, for each of them, in sentences with names; each is told once."""
        told = ((self._broken(prop, ids), ids) for ids in self.failing(prop))
        named = [
            sentence.format(**self.system.named(prop.parameters, ids))
            for sentence, ids in told
            if sentence is not None
        ]
        return tuple(dict.fromkeys(named))

    def _broken(self, prop: Property, arguments: tuple[int, ...]) -> str | None:
        """The sentence for some identifiers: one that is true all along a loop."""
        drawn = self.system.picture
        if drawn is None:
            return prop.broken
        states = [self.final, *(step.after for step in self.repeated)]
        told = {drawn.broken(state, prop, arguments) for state in states}
        return told.pop() if len(told) == 1 else prop.broken

    @property
    def flaw(self) -> str | None:
        """Why no fair run goes round the loop for ever; None where one does."""
        if not self.repeated or self.final != self.repeated[0].before:
            return "does not come back to the state in which it begins"
        if any(step.is_fault for step in self.repeated):
            return "has a fault, and faults do not go on for ever"
        neglected = next((f for f in self.system.firings() if self._neglects(f)), None)
        return (
            None if neglected is None else f"never gives its due to: {neglected.words(self.system)}"
        )

    def _neglects(self, firing: Firing) -> bool:
        """Whether the loop owes a firing by its fairness what it does not give."""
        fairness = firing.transition.fairness
        if fairness is Fairness.NONE or any(step.firing == firing for step in self.repeated):
            return False
        possible = (firing.apply(self.system, step.before) is not None for step in self.repeated)
        return all(possible) if fairness is Fairness.WEAK else any(possible)

    @property
    def rests(self) -> bool:
        """Whether no step and no timer is possible in the final state."""
        return at_rest(self.system, self.final)


def run(system: System, firings: Sequence[Firing]) -> Trace:
    """Fire one transition after another; ``EngineError`` where one is not enabled."""
    state, steps = system.initial, []
    for firing in firings:
        after = firing.apply(system, state)
        if after is None:
            raise EngineError(
                f"{firing.transition.name} {firing.named(system)} is not enabled here"
            )
        steps.append(Step(system, firing, state, after))
        state = after
    return Trace(system, tuple(steps))


def for_ever(trace: Trace, firings: Sequence[Firing]) -> Trace:
    """Go on with a loop from the end of a run; ``EngineError`` where none can go on like that."""
    state, steps = trace.final, list(trace.steps)
    for firing in firings:
        after = firing.apply(trace.system, state)
        if after is None:
            raise EngineError(f"{firing.words(trace.system)}: not possible in the loop")
        steps.append(Step(trace.system, firing, state, after))
        state = after
    found = Trace(trace.system, tuple(steps), len(trace.steps))
    if found.flaw is not None:
        raise EngineError(f"the loop {found.flaw}")
    return found


def walk(
    system: System, path: Sequence[Hashable], key: Callable[[tuple[int, ...]], Hashable]
) -> Trace:
    """Walk a path of canonical states with the plain functions.

    path: the key of each state, the initial one first. key: from a plain state's ordinals to the
    key of its canonical form. The first firing (in the system's order) that leads on is taken, one
    that is no fault where there is a choice, so that the same path gives the same trace.
    """
    schema = system.schema
    if key(schema.flatten(system.initial)) != path[0]:
        raise EngineError("the path does not begin at the initial state")
    state, steps = system.initial, list[Step]()
    for number, target in enumerate(path[1:], 1):
        found = [
            Step(system, firing, state, after)
            for firing, after in successors(system, state)
            if key(schema.flatten(after)) == target
        ]
        if not found:
            raise EngineError(
                f"step {number} of the path is none of the plain functions' successors"
            )
        steps.append(min(found, key=lambda step: step.is_fault))
        state = steps[-1].after
    return Trace(system, tuple(steps))
