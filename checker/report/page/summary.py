"""A run told in a few sentences: what happened, why it is wrong, what stops it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.explain import Explanation
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Belief

MOST: Final = 6
"""Steps that are told at the top; the rest is told below."""
CHOICE: Final = "Another choice here would still have saved the run."
MECHANISM: Final = "With another mechanism this step is not possible here, or ends otherwise."


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
    """The steps that tell most of a run: its end, the last chances, its faults, what it fails by;
    then what leads to its last step, and to that, and so on.
    """
    lead = told.moments[: told.trace.lead] or told.moments
    known = {m.number for m in lead if m.step.is_fault or (m.matters and m.needed is not False)}
    ranked = [lead[-1].number, *chances(told)]
    ranked += [moment.number for moment in reversed(lead) if moment.step.is_fault]
    ranked += [condition.since for condition in told.failing if condition.since]
    ranked += _leading(told, lead[-1].number)
    ranked += [moment.number for moment in reversed(lead)]
    return set(list(dict.fromkeys(number for number in ranked if number in known))[:MOST])


def _leading(told: Explanation, number: int) -> list[int]:
    """The steps that another depends on, the nearest first."""
    found = [number]
    for each in found:
        causes = sorted(told.moments[each - 1].causes, reverse=True)
        found += [cause for cause in causes if cause not in found]
    return found


def chances(told: Explanation) -> dict[int, str]:
    """What is said at a step that was a last chance, by its number."""
    if told.pivot is None:
        return {}
    number, choice = told.pivot.number, told.pivot.choice
    found = {number: MECHANISM} if number != choice else {}
    return {choice: CHOICE, **found} if choice else found


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
    """In which state the property fails, for whom, and by what."""
    fails = told.where or "At the end it does not hold"
    values = ", ".join(condition.text for condition in told.failing)
    return f"{fails}: {values}." if values else f"{fails}."


def sentences(text: str) -> list[str]:
    """The sentences of a text, one by one."""
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text)


def printed(lines: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Lines, those together that follow each other and are set in, with whether they are."""
    for is_set_in, some in itertools.groupby(lines, key=lambda line: line.startswith(" ")):
        yield is_set_in, list(some)


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
