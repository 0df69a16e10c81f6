"""The pivot: the last step at which another choice, or a mechanism, would have saved a run.

*By choice* it is the step that leads from the last state from which some safe run begins (see
``ahead``) to one from which none does. Where each state of a loop has a way out, it is the last
step of the loop instead of which such a way begins. *By mechanism*, under which the property was
found not to be violated, it is the first step that is not possible with it, or leads elsewhere: up
to there the runs are the same, and from there on none of the mended world ends in the violation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.checker.explain.ahead import Ahead, Way
from rackproof.checker.explain.bound import Cut
from rackproof.checker.explain.explanation import Parting, Pivot
from rackproof.checker.trace import Step, Trace
from rackproof.model.kernel import Firing, Kind, ModelError, System, successors
from rackproof.scenarios.fields import Fields

MOST: Final = 4
"""Alternatives, and differences, that are told."""
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


def parting(trace: Trace, mended: System) -> Parting | None:
    """Where a run parts from the same steps in a mended system; None where they cannot be
    compared, as the two have other fields.
    """
    labels = [slot.label for slot in trace.system.schema.slots]
    if labels != [slot.label for slot in mended.schema.slots]:
        return None
    try:
        return _parting(trace, mended)
    except ModelError:
        return None


def _parting(trace: Trace, mended: System) -> Parting | None:
    there, known = Trace(mended, ()), {one.name: one for one in mended.transitions}
    if told := _otherwise(trace, trace.system.initial, there):
        return Parting(1, f"it would have begun with {told}")
    for number, step in enumerate(trace.steps, 1):
        transition = known.get(step.firing.transition.name)
        firing = Firing(transition, step.firing.arguments) if transition else None
        after = firing.apply(mended, there.final) if firing else None
        where = f"step {number} ({quoted(step)})"
        if firing is None or after is None:
            return Parting(number, f"{where} would not have been possible")
        there = Trace(mended, (*there.steps, Step(mended, firing, there.final, after)))
        if told := _otherwise(trace, step.after, there):
            return Parting(number, f"{where} would have led to {told}")
    return _at_the_end(trace, attrs.evolve(there, loop=trace.loop))


def _otherwise(trace: Trace, here: Any, there: Trace) -> str:
    """In what a mended run has come to another state, in words; empty where it is the same."""
    one, other = trace.system.schema.flatten(here), there.system.schema.flatten(there.final)
    fields = Fields(trace.system)
    pairs = [(field, field.value(one), field.value(other)) for field in fields.all]
    told = [
        f"{fields.short[field.label]}: {field.words(theirs)} (not {field.words(ours)})"
        for field, ours, theirs in pairs
        if ours != theirs
    ]
    more = f" and {len(told) - MOST} more" if len(told) > MOST else ""
    return ", ".join(told[:MOST]) + more


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
    trace: Trace, choice: Choice | Cut, mends: Sequence[tuple[Sequence[str], System]]
) -> Pivot | None:
    """The pivot in words. mends: changes of mechanisms that were found to stop it, each with the
    system that it makes.
    """
    parts = [
        (changes, found)
        for changes, system in mends
        if changes and (found := parting(trace, system)) is not None
    ]
    mechanisms = [f"with {', '.join(changes)}, {found.words}" for changes, found in parts]
    numbers = [found.number for _, found in parts]
    numbers += [choice.number] if isinstance(choice, Choice) else []
    if not numbers or not trace.steps:
        return None
    return Pivot(
        number=max(numbers),
        words=" ".join([*_words(trace, choice), *(_sentence(words) for words in mechanisms[:1])]),
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
            "No choice would have saved it: from the initial state on, every fair run of this "
            "scope ends in the violation."
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
        return f"Up to {told}, the last, it could still have come out right."
    return (
        f"{_sentence(told)[:-1]} is the last at which another choice would have saved it: after "
        "it every fair run of this scope ends in the violation."
    )


def _what_else(trace: Trace, choice: Choice) -> Iterator[str]:
    told = [quoted(other) for other in _others(trace, choice)]
    listed = "; or ".join(told[:MOST]) + (f"; or {len(told) - MOST} more" if told[MOST:] else "")
    if choice.disarms and told:
        yield f"Instead of it, this could have happened: {listed}."
    elif trace.steps[choice.number - 1].is_fault:
        yield "Had that fault not come there, it could still have come out right."
    elif told:
        yield f"Whatever else could have happened there only puts it off: {listed}."
    else:
        yield "Nothing else could have happened there but to come to rest, or a fault."
