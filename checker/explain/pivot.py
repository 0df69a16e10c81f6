"""The pivot: the last step at which another choice, or a mechanism, would have saved a run.

*By choice* it is the step that leads from the last state from which some safe run begins (see
``ahead``) to one from which none does. Where each state of a loop has a way out, it is the last
step of the loop instead of which such a way begins. *By mechanism*, under which the property was
found not to be violated, it is the first step that is not possible with it, or does something else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.checker.explain.ahead import Ahead, Way
from rackproof.checker.explain.bound import Cut
from rackproof.checker.explain.explanation import END, Moment, Parting, Pivot
from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import (
    Fairness,
    Firing,
    Kind,
    ModelError,
    System,
    Transition,
    successors,
)
from rackproof.scenarios.fields import Fields

MOST: Final = 4
"""Alternatives that are told."""
FEW: Final = 2
"""Fields in which a mended run differs that are told."""
FAIR: Final = "every run of this scope in which what stays possible happens in the end"
_WHOSE: Final = {
    Kind.CLIENT: "It is up to a client whether step {} happens.",
    Kind.ENVIRONMENT: "It is up to the environment whether step {} happens.",
}
Users = Callable[[int, str], frozenset[int]]
"""The later steps (``END`` for the violation) that depend on what a field is after so many."""


def _all(_: int, __: str) -> frozenset[int]:
    return frozenset((END,))


_ORDER: Final = (Kind.STEP, Kind.TIMER, Kind.CLIENT, Kind.ENVIRONMENT, Kind.FAULT)


@frozen
class Choice:
    """The pivot by choice: the number of a step (0: there was none), and what else was possible.

    instead: firings, no faults, that lead to where a safe run begins. disarms: whether the step
    itself, right after them, is not possible or does no harm. faults: where there are none, the
    faults that lead there.
    """

    number: int
    instead: tuple[Firing, ...] = ()
    disarms: bool = True
    faults: tuple[Firing, ...] = ()


def phrase(step: Step) -> str:
    """A step in words, as a part of a list."""
    return step.words.rstrip(".")


def quoted(step: Step) -> str:
    """A step in words, as a part of a sentence."""
    return f'"{phrase(step)}"'


# By choice.


def by_choice(trace: Trace, ahead: Ahead) -> Choice:
    """The last step of a counterexample that another choice would have kept from its end."""
    for number in range(len(trace.steps), trace.lead, -1):
        step = trace.steps[number - 1]
        way = ahead.nearest(step.before)
        if way is not None and not goes_with(way, step):
            return _leaving(number, step, way, ahead)
    for number in range(trace.lead, 0, -1):
        step = trace.steps[number - 1]
        if ahead.is_safe(ahead.words(step.before)):
            return _instead(number, step, ahead)
    return Choice(0)


def goes_with(way: Way, step: Step) -> bool:
    """Whether a way begins with a step of the run itself."""
    return (*way.lead, *way.loop)[:1] == (step.firing,)


def _instead(number: int, step: Step, ahead: Ahead) -> Choice:
    """What else could have happened: first of all what disarms the step."""
    mine = ahead.number(step.firing)
    safe = [
        (action, after)
        for action, after in ahead.moves(ahead.words(step.before))
        if action != mine and ahead.is_safe(after)
    ]
    others = [(action, after) for action, after in safe if not ahead.is_fault[action]]
    disarming = [action for action, after in others if _is_disarmed(mine, after, ahead)]
    chosen = disarming or [action for action, _ in others]
    faults = [] if others else [action for action, _ in safe]
    return Choice(number, _in_order(chosen, ahead), bool(disarming), _in_order(faults, ahead))


def _is_disarmed(action: int, words: tuple[int, ...], ahead: Ahead) -> bool:
    after = dict(ahead.moves(words)).get(action)
    return after is None or ahead.is_safe(after)


def _leaving(number: int, step: Step, way: Way, ahead: Ahead) -> Choice:
    """The first steps of ways out of a loop that are as short as the shortest."""
    first, chosen = (*way.lead, *way.loop)[:1], []
    for action, after in ahead.moves(ahead.words(step.before)):
        firing = ahead.firings[action]
        other = ahead.nearest_from(after) if firing != step.firing else None
        if (firing,) == first or (other is not None and len(other.lead) < len(way.lead)):
            chosen.append(action)
    return Choice(number, _in_order(chosen, ahead))


def _in_order(actions: Sequence[int], ahead: Ahead) -> tuple[Firing, ...]:
    """What the protocol does by itself first."""
    firings = [ahead.firings[action] for action in actions]
    return tuple(sorted(firings, key=lambda firing: _ORDER.index(firing.transition.kind)))


# By mechanism: of all runs of the mended world, none ends in the violation.


def dependants(moments: Sequence[Moment], reads: Collection[str]) -> Users:
    """What an explanation tells of who depends on a field: what the property reads, and what a step
    has changed on which a later step of the slice, or the violation, depends.
    """

    def users(number: int, label: str) -> frozenset[int]:
        told = {user for one in moments[:number] for user in one.users.get(label, ())}
        later = {user for user in told if user > number or user == END}
        return frozenset(later | ({END} if label in reads else set()))

    return users


def parting(trace: Trace, mended: System, users: Users = _all) -> Parting | None:
    """Where a run parts from the same steps in a mended system; None where they cannot be compared,
    as the two have other fields.

    It is where a step is not possible, or does something else as it says itself; else where a field
    on which something depends is another, or any field.
    """
    labels = [slot.label for slot in trace.system.schema.slots]
    if labels != [slot.label for slot in mended.schema.slots]:
        return None
    try:
        return _Beside(trace, mended, users).parting
    except ModelError:
        return None


@frozen(slots=False)
class _Beside:
    """A run, and the same steps in a mended system."""

    trace: Trace
    mended: System
    users: Users

    @cached_property
    def there(self) -> Trace:
        """The steps in the mended system, up to the first that is not possible."""
        there = Trace(self.mended, ())
        for step in self.trace.steps:
            firing = self._firing(step)
            after = firing.apply(self.mended, there.final) if firing else None
            if firing is None or after is None:
                break
            mended = Step(self.mended, firing, there.final, after)
            there = Trace(self.mended, (*there.steps, mended))
        return there

    @property
    def parting(self) -> Parting:
        if told := self._otherwise(self._differing(0), 0):
            return Parting(1, f"at the start {told}")
        for number, (own, other) in enumerate(
            zip(self.trace.steps, self.there.steps, strict=False), 1
        ):
            if phrase(own) != phrase(other):
                does = f"would have come to: {quoted(other)}"
                return Parting(number, f"{self._where(number)} {does}{self._why(number)}")
        number = len(self.there.steps) + 1
        if number <= len(self.trace.steps):
            words = f"{self._where(number)} would not have been possible{self._why(number)}"
            return Parting(number, words)
        return self._by_fields() or self._at_the_end()

    def _by_fields(self) -> Parting | None:
        """The first step after which a field is another, one that matters if any does."""
        found = {
            n: labels for n in range(1, len(self.there.steps) + 1) if (labels := self._differing(n))
        }
        mattering = {
            n: kept
            for n, labels in found.items()
            if (kept := [label for label in labels if self.users(n, label)])
        }
        for number, labels in (mattering or found).items():
            words = f"after {self._where(number)} {self._otherwise(labels, number)}"
            return Parting(number, words)
        return None

    def _why(self, number: int) -> str:
        """What was another before a step that depends on it, in words; nothing where the step would
        be another in the run's own state too.
        """
        before, own = number - 1, self.trace.steps[number - 1]
        labels = [one for one in self._differing(before) if number in self.users(before, one)]
        is_own = not labels or not self._does_the_same(own)
        return "" if is_own else f", as {self._otherwise(labels, before)}"

    def _does_the_same(self, own: Step) -> bool:
        """Whether a step is the same in the mended system, from where it was in the run."""
        before = self.mended.schema.unflatten(self.trace.system.schema.flatten(own.before))
        firing = self._firing(own)
        after = firing.apply(self.mended, before) if firing else None
        if firing is None or after is None:
            return False
        return phrase(Step(self.mended, firing, before, after)) == phrase(own)

    def _firing(self, own: Step) -> Firing | None:
        """The firing of a step in the mended system, if it has that transition."""
        transition = self._known.get(own.firing.transition.name)
        return Firing(transition, own.firing.arguments) if transition else None

    @cached_property
    def _known(self) -> dict[str, Transition[..., Any]]:
        return {one.name: one for one in self.mended.transitions}

    def _differing(self, number: int) -> list[str]:
        """The fields in which the two differ after so many steps."""
        one, other = self._states(number)
        fields = Fields(self.trace.system).all
        return [field.label for field in fields if field.value(one) != field.value(other)]

    def _states(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        found = []
        for trace in (self.trace, self.there):
            state = trace.steps[number - 1].after if number else trace.system.initial
            found.append(trace.system.schema.flatten(state))
        return found[0], found[1]

    def _otherwise(self, labels: Sequence[str], number: int) -> str:
        """In what the two differ after so many steps, in words."""
        one, other = self._states(number)
        fields = Fields(self.trace.system)
        chosen = [(fields.short[label], fields.by_label[label]) for label in labels[:FEW]]
        values = [
            (n, field.words(field.value(other)), field.words(field.value(one)))
            for n, field in chosen
        ]
        return " and ".join(f"{name} would be {new}, not {old}" for name, new, old in values)

    def _where(self, number: int) -> str:
        return f"step {number} ({quoted(self.trace.steps[number - 1])})"

    def _at_the_end(self) -> Parting:
        return _at_the_end(self.trace, attrs.evolve(self.there, loop=self.trace.loop))


def _at_the_end(trace: Trace, there: Trace) -> Parting:
    """How a run that is possible as it is, is no violation there."""
    number = len(trace.steps)
    if trace.loop is not None:
        flaw = there.flaw
        told = f"the loop {flaw.rstrip('.')}" if flaw else "the same loop is no violation"
        return Parting(number, told)
    going = [
        Step(there.system, firing, there.final, after)
        for firing, after in successors(there.system, there.final)
        if firing.is_progress
    ]
    if going and trace.rests:
        more = quoted(going[0])
        return Parting(number, f"it would have gone on after step {number}: {more}")
    return Parting(number, "the same run would have been possible, and no violation")


# Together.


def pivot(
    trace: Trace,
    choice: Choice | Cut,
    mends: Sequence[tuple[Sequence[str], System]],
    users: Users = _all,
) -> Pivot | None:
    """The pivot in words, what comes last first. mends: changes of mechanisms that were found to
    stop it, each with the system that it makes.
    """
    parts = [
        (changes, found)
        for changes, system in mends
        if changes and (found := parting(trace, system, users)) is not None
    ]
    parts.sort(key=lambda part: -part[1].number)
    mechanisms = [f"with {', '.join(changes)}, {found.words}" for changes, found in parts]
    numbers = [found.number for _, found in parts]
    numbers += [choice.number] if isinstance(choice, Choice) else []
    if not numbers or not trace.steps:
        return None
    return Pivot(
        number=max(numbers),
        words=" ".join([*(_sentence(words) for words in mechanisms[:1]), *_words(trace, choice)]),
        instead=_alternatives(trace, choice),
        mechanisms=tuple(mechanisms),
        choice=choice.number if isinstance(choice, Choice) else None,
        partings=tuple(attrs.evolve(found, changes=tuple(changes)) for changes, found in parts),
    )


def _alternatives(trace: Trace, choice: Choice | Cut) -> tuple[str, ...]:
    if isinstance(choice, Cut):
        return ()
    return tuple(map(phrase, _others(trace, choice, choice.instead)))


def _others(trace: Trace, choice: Choice, firings: Sequence[Firing]) -> list[Step]:
    """What else was possible, as steps."""
    system = trace.system
    before = trace.steps[choice.number - 1].before if choice.number else system.initial
    return [Step(system, f, before, f.apply(system, before)) for f in firings]


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _words(trace: Trace, choice: Choice | Cut) -> Iterator[str]:
    if isinstance(choice, Cut):
        yield f"Whether another choice would have saved it could not be told: {choice}."
    elif not choice.number:
        yield (
            f"No choice would have saved it: from the initial state on, {FAIR} ends in the "
            "violation."
        )
    else:
        yield _last_choice(trace, choice)
        yield from _what_else(trace, choice)


def _last_choice(trace: Trace, choice: Choice) -> str:
    number = choice.number
    step = trace.steps[number - 1]
    kind = "a fault: " if step.is_fault else ""
    told = f"step {number} ({kind}{quoted(step)})"
    if trace.loop is not None and number > trace.lead:
        return (
            f"Each round of the loop has a way out, the last at {told}; fairness alone does not "
            "make a run take it."
        )
    if number == len(trace.steps):
        return f"Until {told} it could still have come out right."
    return (
        f"Until {told} it could still have come out right by another choice; after it, {FAIR} ends "
        "in the violation."
    )


def _what_else(trace: Trace, choice: Choice) -> Iterator[str]:
    told, step = _listed(trace, choice, choice.instead), trace.steps[choice.number - 1]
    number, is_fault = choice.number, step.is_fault
    if choice.disarms and told and is_fault:
        yield f"Had this happened before that fault, all could have been well: {told}."
    elif choice.disarms and told:
        yield (
            f"It is a race: had this happened before step {number}, all could have been well, and "
            f"nothing in the protocol makes it happen first: {told}."
        )
    elif is_fault:
        yield "Had that fault not come there, it could still have come out right."
    else:
        yield from _without(trace, choice, told)


def _without(trace: Trace, choice: Choice, told: str) -> Iterator[str]:
    """What there was but a step that nothing else disarms."""
    transition, number = trace.steps[choice.number - 1].firing.transition, choice.number
    if transition.fairness is Fairness.NONE:
        yield _WHOSE.get(transition.kind, "Nothing makes step {} happen.").format(number)
    if told:
        yield (
            f"This could have happened there instead, but step {number} would have been possible "
            f"after it as well, and as harmful: {told}."
        )
    elif faults := _listed(trace, choice, choice.faults):
        yield f"Of what else could have happened there, only a fault might have saved it: {faults}."


def _listed(trace: Trace, choice: Choice, firings: Sequence[Firing]) -> str:
    told = [quoted(other) for other in _others(trace, choice, firings)]
    return "; or ".join(told[:MOST]) + (f"; or {len(told) - MOST} more" if told[MOST:] else "")
