"""The pivot: the last step at which another choice, or a mechanism, would have saved a run.

*By choice* it is the step that leads from the last state from which some safe run begins (see
``ahead``) to one from which none does. Where each state of a loop has a way out, it is the last
step of the loop instead of which such a way begins. *By mechanism*, under which the property was
found not to be violated, it is the first step that is not possible with it, or leads elsewhere in
something on which the violation depends: up to there nothing that matters is different, and from
there on none of the mended world ends in the violation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import attrs
from attrs import frozen

from rackproof.checker.explain.ahead import Ahead, Way
from rackproof.checker.explain.bound import Cut
from rackproof.checker.explain.explanation import END, Moment, Parting, Pivot
from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Firing, Kind, ModelError, System, successors
from rackproof.scenarios.fields import Fields

MOST: Final = 4
"""Alternatives that are told."""
FEW: Final = 2
"""Fields in which a mended run differs that are told."""
FAIR: Final = "every run of this scope in which what stays possible happens in the end"
Matters = Callable[[int, str], bool]
"""Whether it matters for the violation what a field is after a step of a run."""
_ORDER: Final = (Kind.STEP, Kind.TIMER, Kind.CLIENT, Kind.ENVIRONMENT, Kind.FAULT)


@frozen
class Choice:
    """The pivot by choice: the number of a step (0: there was none), and what else was possible.

    instead: firings, no faults, that lead to where a safe run begins. disarms: whether the step
    itself, right after them, is not possible or does no harm; else they only put it off.
    """

    number: int
    instead: tuple[Firing, ...] = ()
    disarms: bool = True


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
    others = [
        (action, after)
        for action, after in ahead.moves(ahead.words(step.before))
        if action != mine and not ahead.is_fault[action] and ahead.is_safe(after)
    ]
    disarming = [action for action, after in others if _is_disarmed(mine, after, ahead)]
    chosen = disarming or [action for action, _ in others]
    return Choice(number, _in_order(chosen, ahead), bool(disarming))


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


# By mechanism.


def on_which_it_depends(moments: Sequence[Moment], reads: Collection[str]) -> Matters:
    """What matters, as an explanation tells it: what the property reads, and what a step has
    changed on which a later step of the slice, or the violation, depends.
    """

    def matters(number: int, label: str) -> bool:
        return label in reads or any(
            user in (END, *range(number + 1, len(moments) + 1))
            for moment in moments[:number]
            for user in moment.users.get(label, ())
        )

    return matters


def parting(trace: Trace, mended: System, matters: Matters = lambda *_: True) -> Parting | None:
    """Where a run parts from the same steps in a mended system, in what matters if it does in that
    at all; None where they cannot be compared, as the two have other fields.
    """
    labels = [slot.label for slot in trace.system.schema.slots]
    if labels != [slot.label for slot in mended.schema.slots]:
        return None
    try:
        return _Beside(trace, mended, matters).parting
    except ModelError:
        return None


@frozen
class _Beside:
    """A run, and the same steps in a mended system."""

    trace: Trace
    mended: System
    matters: Matters

    @property
    def parting(self) -> Parting:
        """The first difference that matters, or else the first of all."""
        first, there = None, Trace(self.mended, ())
        if told := self._otherwise(0, there):
            return Parting(1, f"at the start {told}")
        known = {one.name: one for one in self.mended.transitions}
        for number, step in enumerate(self.trace.steps, 1):
            transition = known.get(step.firing.transition.name)
            firing = Firing(transition, step.firing.arguments) if transition else None
            after = firing.apply(self.mended, there.final) if firing else None
            if firing is None or after is None:
                return Parting(number, f"{_where(number, step)} would not have been possible")
            there = Trace(
                self.mended, (*there.steps, Step(self.mended, firing, there.final, after))
            )
            if self._labels(number, there, self.matters):
                return self._elsewhere(number, there)
            if first is None and self._labels(number, there):
                first = self._elsewhere(number, there)
        return first or _at_the_end(self.trace, attrs.evolve(there, loop=self.trace.loop))

    def _labels(self, number: int, there: Trace, matters: Matters | None = None) -> list[str]:
        """The fields in which the two differ after a step: those that matter."""
        one, other = self._states(number, there)
        return [
            field.label
            for field in Fields(self.trace.system).all
            if field.value(one) != field.value(other)
            and (matters is None or matters(number, field.label))
        ]

    def _states(self, number: int, there: Trace) -> tuple[tuple[int, ...], tuple[int, ...]]:
        steps = self.trace.steps
        here = steps[number - 1].after if number else self.trace.system.initial
        system = self.trace.system
        return system.schema.flatten(here), there.system.schema.flatten(there.final)

    def _elsewhere(self, number: int, there: Trace) -> Parting:
        """To what else a step would have led: as it says itself, or by what would be otherwise."""
        own, other = self.trace.steps[number - 1], there.steps[-1]
        if phrase(own) != phrase(other):
            words = f"{_where(number, own)} would have come to: {quoted(other)}"
        else:
            words = f"after {_where(number, own)} {self._otherwise(number, there)}"
        return Parting(number, words)

    def _otherwise(self, number: int, there: Trace) -> str:
        """In what a mended run differs after a step, in words; empty where it does not."""
        one, other = self._states(number, there)
        fields = Fields(self.trace.system)
        labels = self._labels(number, there, self.matters) or self._labels(number, there)
        told = [
            f"{fields.short[label]} would be {field.words(field.value(other))}, "
            f"not {field.words(field.value(one))}"
            for label in labels[:FEW]
            for field in [fields.by_label[label]]
        ]
        return " and ".join(told)


def _where(number: int, step: Step) -> str:
    return f"step {number} ({quoted(step)})"


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
    matters: Matters = lambda *_: True,
) -> Pivot | None:
    """The pivot in words, what comes last first. mends: changes of mechanisms that were found to
    stop it, each with the system that it makes.
    """
    parts = [
        (changes, found)
        for changes, system in mends
        if changes and (found := parting(trace, system, matters)) is not None
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
    return () if isinstance(choice, Cut) else tuple(map(phrase, _others(trace, choice)))


def _others(trace: Trace, choice: Choice) -> list[Step]:
    """What else was possible, as steps."""
    system = trace.system
    before = trace.steps[choice.number - 1].before if choice.number else system.initial
    return [Step(system, f, before, f.apply(system, before)) for f in choice.instead]


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
    told = [quoted(other) for other in _others(trace, choice)]
    listed = "; or ".join(told[:MOST]) + (f"; or {len(told) - MOST} more" if told[MOST:] else "")
    number, is_fault = choice.number, trace.steps[choice.number - 1].is_fault
    if choice.disarms and told and is_fault:
        yield f"Had this happened before that fault, all could have been well: {listed}."
    elif choice.disarms and told:
        yield (
            f"It is a race: had this happened before step {number}, all could have been well, and "
            f"nothing in the protocol makes it happen first: {listed}."
        )
    elif is_fault:
        yield "Had that fault not come there, it could still have come out right."
    elif told:
        yield f"Whatever else could have happened there only puts it off: {listed}."
    else:
        yield "Nothing else could have happened there but to come to rest, or a fault."
