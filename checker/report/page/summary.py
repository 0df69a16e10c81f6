"""A run told in a few sentences: what happened, why it is wrong, what stops it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from rackproof.checker.explain import Explanation, Moment
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
        yield Sentence("Nothing has to happen: it is so in the initial state.")
        return
    kinds = counted(faults, "fault") if faults else "no fault"
    yield Sentence(f"It takes {counted(steps, 'step')} and {kinds}.")
    for moment in _decisive(told):
        yield Sentence(moment.step.words, moment.number)
    mistake = _mistake(told)
    if mistake:
        yield mistake
    if told.trace.loop is not None:
        first = told.trace.loop + 1
        yield Sentence(f"From step {first} on the same happens again and again, for ever.", first)


def _decisive(told: Explanation) -> list[Moment]:
    """The faults, the pivot and the last step, and the last of those that are needed."""
    moments = told.moments
    marked = {told.pivot.number if told.pivot else 0, len(moments)}
    first = [m for m in moments if m.step.is_fault or m.number in marked][-MOST:]
    rest = [m for m in moments if m not in first and m.matters and m.needed is not False]
    chosen = [*first, *rest[len(rest) - max(0, MOST - len(first)) :]]
    return sorted(chosen, key=lambda moment: moment.number)


def _mistake(told: Explanation) -> Sentence | None:
    """The last wrong belief that came up before the end."""
    for moment, old in reversed(list(zip(told.moments[1:], told.moments, strict=False))):
        for belief in moment.mistaken:
            if belief not in old.mistaken:
                return Sentence(belief_in_words(belief), moment.number)
    return None


def belief_in_words(belief: Belief) -> str:
    """What somebody takes for so, and what is so."""
    return (
        f"From then on {belief.who} takes this for so of {belief.subject}: {belief.believed}; "
        f"in truth: {belief.truth}."
    )


def where(told: Explanation) -> str:
    """In which state the property fails, and for whom."""
    assert told.prop is not None, "a replay has no property"
    names = " and for ".join(filter(None, map(_named, told.culprits)))
    fails = f"{told.where or _state(told, told.prop.scope)} it does not hold"
    return f"{fails} for {names}." if names else f"{fails}."


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
