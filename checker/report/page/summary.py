"""A run told in a few sentences: what happened, why it is wrong, what stops it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from rackproof.checker.explain import Explanation
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Belief, Scope

MOST: Final = 5
"""Steps that are told at the top; the rest is told below."""


@frozen
class Sentence:
    """A sentence, and the number of the step that it tells of."""

    words: str
    step: int | None = None


def what_happened(told: Explanation) -> Iterator[Sentence]:
    """The faults and the steps that decide, in order, with what was wrongly believed."""
    steps, faults = len(told.moments), told.trace.faults
    if not steps:
        yield Sentence("No step is needed: the initial state is enough.")
        return
    mistake, decisive = _mistake(told), _decisive(told)
    shown = sum(m.step.is_fault for m in told.moments if m.number in decisive)
    rest = f"; the last {shown} of these are told here" if shown < faults else ""
    yield Sentence(f"The run has {counted(steps, 'step')}, {_of_them(faults)}{rest}.")
    for moment in told.moments:
        if moment.number in decisive:
            yield Sentence(moment.step.words, moment.number)
        if mistake and mistake.step == moment.number:
            yield mistake
    if told.trace.loop is not None:
        first, last = told.trace.loop + 1, len(told.moments)
        again = f"step {first} happens" if first == last else f"steps {first} to {last} happen"
        yield Sentence(f"From then on {again} again and again, for ever.", first)


def _of_them(faults: int) -> str:
    if not faults:
        return "none of them a fault"
    return "1 of them a fault" if faults == 1 else f"{faults} of them faults"


def _decisive(told: Explanation) -> set[int]:
    """The faults, the pivot and the last step before any loop, and the last that are needed."""
    lead = told.moments[: told.trace.lead] or told.moments
    marked = {told.pivot.number if told.pivot else 0, lead[-1].number}
    first = [m.number for m in lead if m.step.is_fault or m.number in marked][-MOST:]
    rest = [m.number for m in lead if m.matters and m.needed is not False]
    more = [number for number in rest if number not in first]
    return {*first, *more[max(0, len(more) + len(first) - MOST) :]}


def _mistake(told: Explanation) -> Sentence | None:
    """The last wrong belief that came up before the end."""
    for moment, old in reversed(list(zip(told.moments[1:], told.moments, strict=False))):
        for belief in moment.mistaken:
            if belief not in old.mistaken:
                return Sentence(belief_in_words(belief), moment.number)
    return None


def belief_in_words(belief: Belief) -> str:
    """What somebody takes for so, and what is so."""
    who, subject = belief.who, belief.subject
    return (
        f"From then on {who} believes that {subject} {belief.believed}; in truth it {belief.truth}."
    )


def where(told: Explanation) -> str:
    """In which state the property fails, and for whom."""
    assert told.prop is not None, "a replay has no property"
    names = " and for ".join(filter(None, map(_named, told.culprits)))
    fails = f"{told.where or _state(told, told.prop.scope)} it does not hold"
    values = ", ".join(f"{name} is {value}" for name, value in at_fault(told))
    return f"{fails}{f' for {names}' if names else ''}{f': {values}' if values else ''}."


def _state(told: Explanation, scope: Scope) -> str:
    if told.trace.loop is not None:
        return f"In every state from step {told.trace.loop + 1} on"
    at = f"After step {len(told.moments)}" if told.moments else "In the initial state"
    rests = scope in (Scope.AT_REST, Scope.EVENTUALLY)
    return f"{at} nothing more can happen, and" if rests else at


def _named(culprit: Mapping[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in culprit.items())


def at_fault(told: Explanation) -> Iterator[tuple[str, str]]:
    """The fields that the property reads, with their values at the end (in turn, in a loop)."""
    ends = [told.trace.final, *(step.after for step in told.trace.repeated)]
    values = [told.values(state) for state in ends] if told.reads else []
    for label in told.reads:
        if label in told.fields.by_label:
            name = told.name(told.fields.by_label[label])
            yield name, ", then ".join(dict.fromkeys(state[label] for state in values))


def mistakes(told: Explanation) -> Iterator[tuple[tuple[Belief, ...], tuple[Belief, ...]]]:
    """For each step, the wrong beliefs that came up with it and those that are over after it."""
    before: tuple[Belief, ...] = ()
    for moment in told.moments:
        now = moment.mistaken
        yield (
            tuple(belief for belief in now if belief not in before),
            tuple(belief for belief in before if belief not in now),
        )
        before = now
