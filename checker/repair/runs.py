"""For which choices of mechanisms a counterexample is one: exactly, from the plain functions.

A run is a counterexample of another protocol too if each of its steps leads there from the same
state to the same state, and the property fails at its end in the same way. Each of these
*conditions* asks a few mechanisms only, which are noted while the plain function runs; the function
is run again for each other value of what it asked, so that a condition is a decision tree whose
true leaves are known. A protocol that is to be free of the run must break a condition: the
conflicts of implicit hitting sets (Reiter, A theory of diagnosis from first principles, 1987;
Davies and Bacchus, MAXHS, 2011), which hold for all combinations at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import attrs
from attrs import define, evolve, field, frozen

from rackproof.checker.lowering import lower
from rackproof.checker.repair.switches import Assignment, Switches
from rackproof.checker.trace import EngineError, Trace, run
from rackproof.model.kernel import Fairness, Firing, ModelError, Property, Scope, System

Cube = frozenset[tuple[int, object]]
"""Switches, by number, with a value each."""

Condition = frozenset[Cube]
"""What must be so: one of these."""


KEPT: Final = "is anything that is computed from mechanisms kept from one call to the next?"


@frozen
class Conflict:
    """The conditions under which a run violates a property, whatever else is chosen."""

    conditions: tuple[Condition, ...]

    def holds(self, assignment: Assignment) -> bool:
        """Whether the run is a counterexample under these values."""
        return all(
            any(all(assignment[index] == value for index, value in cube) for cube in condition)
            for condition in self.conditions
        )

    @property
    def switches(self) -> frozenset[int]:
        """The switches on which it depends."""
        return frozenset(i for condition in self.conditions for cube in condition for i, _ in cube)


def conflict(switches: Switches, trace: Trace, prop: Property) -> Conflict:
    """The conflict of a counterexample to a property."""
    recorder = _Recorder.of(switches, trace.system)
    found = (recorder.condition(asked) for asked in _asked(recorder, trace, prop))
    distinct = dict.fromkeys(found)
    known = Conflict(tuple(one for one in distinct if not recorder.always(one)))
    _check(known, switches, trace, prop)
    return known


def _check(known: Conflict, switches: Switches, trace: Trace, prop: Property) -> None:
    """Walk the run again with all that it does not ask put otherwise."""
    asked, base = known.switches, switches.of(trace.system)
    other = tuple(
        base[i] if i in asked else next((v for v in one.mechanism.values if v != base[i]), base[i])
        for i, one in enumerate(switches.all)
    )
    try:
        again = run(switches.at(other), [step.firing for step in trace.steps])
        same = evolve(again, loop=trace.loop).violates(prop)
    except EngineError:
        same = False
    if not same:
        raise ModelError(
            f"a run that violates {prop.name} depends on mechanisms that it does not ask: {KEPT}"
        )


def asked_by(switches: Switches, system: System) -> frozenset[int]:
    """The switches that some transition or property of a system asks, in whatever state; without
    the others it is the same system.
    """
    recorder = _Recorder.of(switches, system)
    recorder.values.update(enumerate(recorder.base))
    lower(attrs.evolve(system, initial=recorder.state(system.initial)))
    return frozenset(recorder.asked)


@define
class _Recorder:
    """The mechanisms of a world behind objects that note which of them are asked.

    values: what each switch is set to just now. asked: those that were asked, in that order.
    """

    switches: Switches
    base: Assignment
    values: dict[int, object] = field(factory=dict)
    asked: dict[int, None] = field(factory=dict)
    holders: dict[str, object] = field(factory=dict)

    @classmethod
    def of(cls, switches: Switches, system: System) -> _Recorder:
        world = system.initial
        recorder = cls(switches, switches.of(system))
        for owner in {one.owner: None for one in switches.all}:
            recorder.holders[owner] = recorder._holder(owner, getattr(world, owner))
        return recorder

    def _holder(self, owner: str, original: Any) -> object:
        """An object like the one a world holds, whose mechanisms are asked here."""
        known = {one.field: i for i, one in enumerate(self.switches.all) if one.owner == owner}
        values, asked = self.values, self.asked

        def look(holder: object, name: str) -> object:
            if name not in known:
                return object.__getattribute__(holder, name)
            asked.setdefault(known[name])
            return values[known[name]]

        kind = type(original)
        space = {"__slots__": (), "__getattribute__": look}
        same = {"__eq__": lambda one, other: one is other, "__hash__": object.__hash__}
        holder: Any = object.__new__(type(kind.__name__, (kind,), {**space, **same}))
        for attribute in attrs.fields(kind):
            if attribute.name not in known:
                object.__setattr__(holder, attribute.name, getattr(original, attribute.name))
        return holder

    def state(self, state: Any) -> Any:
        """A state whose mechanisms are asked here."""
        return attrs.evolve(state, **self.holders)

    def condition(self, asked: Callable[[], bool]) -> Condition:
        """The choices of mechanisms for which something is true."""
        return frozenset(self._leaves(asked, {}))

    def _leaves(self, question: Callable[[], bool], given: Mapping[int, object]) -> Iterator[Cube]:
        """The true leaves below what is given: the one of the base, then off each of its nodes."""
        self.values.clear()
        self.values.update(enumerate(self.base))
        self.values.update(given)
        self.asked.clear()
        truth, path = _answer(question), [(i, self.values[i]) for i in self.asked]
        if truth:
            yield frozenset(path)
        for depth, (index, value) in enumerate(path):
            if index not in given:
                for other in self.switches.all[index].mechanism.values:
                    if other != value:
                        yield from self._leaves(question, {**dict(path[:depth]), index: other})

    def always(self, condition: Condition) -> bool:
        """Whether a condition is met whatever is chosen: its leaves are all there are.

        They exclude one another, unless an answer was kept from one question to the next.
        """
        sizes = [len(switch.mechanism.values) for switch in self.switches.all]
        shares = (_product(Fraction(1, sizes[index]) for index, _ in cube) for cube in condition)
        whole = sum(shares, Fraction(0))
        if whole > 1:
            raise ModelError(f"a model that is asked the same twice says different things: {KEPT}")
        return whole == 1


def _product(factors: Iterator[Fraction]) -> Fraction:
    product = Fraction(1)
    for factor in factors:
        product *= factor
    return product


def _answer(question: Callable[[], bool]) -> bool:
    """The answer; a model that raises where it was never meant to be asked, says no."""
    try:
        return bool(question())
    except Exception:
        return False


def _asked(recorder: _Recorder, trace: Trace, prop: Property) -> Iterator[Callable[[], bool]]:
    """What must be so for a run to violate a property."""
    states = [recorder.state(state) for state in (trace.system.initial, *_after(trace))]
    for step, before, after in zip(trace.steps, states, states[1:], strict=False):
        yield _leads(step.firing, before, after)
    ends = states[-1:] if trace.loop is None else states[trace.loop :]
    arguments = next(trace.failing(prop))
    for end in dict.fromkeys(ends):
        yield lambda end=end: not prop.function(end, *arguments)  # type: ignore[misc]
    if trace.loop is not None:
        yield from _goes_round(trace, ends)
    elif prop.scope in (Scope.AT_REST, Scope.EVENTUALLY):
        for firing in trace.system.firings():
            if firing.is_progress:
                yield _rests(firing, states[-1])


def _after(trace: Trace) -> Iterator[Any]:
    return (step.after for step in trace.steps)


def _leads(firing: Firing, before: Any, after: Any) -> Callable[[], bool]:
    return lambda: bool(firing.transition.function(before, *firing.arguments) == after)


def _rests(firing: Firing, state: Any) -> Callable[[], bool]:
    """That a firing does nothing in a state."""

    def rests() -> bool:
        after = firing.transition.function(state, *firing.arguments)
        return after is None or after == state

    return rests


def _goes_round(trace: Trace, states: Sequence[Any]) -> Iterator[Callable[[], bool]]:
    """That a loop owes nothing to what it leaves out: where that is due once, in the first state in
    which it is not possible; where it is due always, in all of them.
    """
    taken = {step.firing for step in trace.repeated}
    plain = [step.after for step in trace.repeated]
    for firing in trace.system.firings():
        fairness = firing.transition.fairness
        if fairness is Fairness.NONE or firing in taken:
            continue
        idle = [i for i, s in enumerate(plain) if firing.apply(trace.system, s) is None]
        for number in idle[:1] if fairness is Fairness.WEAK else idle:
            yield _rests(firing, states[1:][number])
