"""A run told in a few sentences: what happened, why it is wrong, what stops it."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.explain import Explanation, Mend, Moment
from rackproof.checker.explain.drawn import picture
from rackproof.checker.explain.explanation import OPEN, Parting
from rackproof.checker.explain.mends import AVERTED, FIX, LEAST
from rackproof.checker.explain.pivot import phrase, quoted
from rackproof.checker.report.page.turns import Turn, turns
from rackproof.checker.report.timed import InTime, WithinTimes
from rackproof.checker.timing.possible import Possible
from rackproof.checker.trace import Step
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Belief, Kind

MOST: Final = 9
"""Steps that are told at the top; the rest is told below."""
FEW_LOOPED: Final = 3
"""Steps of a loop that are told there too."""
ORIGINS: Final = {FIX: "the fix named in the scenario", LEAST: "found by search: a least change"}


BY: Final = {Kind.CLIENT: "by a client", Kind.ENVIRONMENT: "from outside"}


@frozen
class Sentence:
    """A sentence, the number of the step that it tells of, and what was mistaken from then on."""

    words: str
    step: int | None = None
    mistake: str = ""


def what_happened(told: Explanation) -> Iterator[Sentence]:
    """The faults and the steps that decide, in order, with what was wrongly believed."""
    steps, faults = len(told.moments), told.trace.faults
    if not steps:
        yield Sentence("No step is needed: the initial state is enough.")
        return
    decisive, free = _decisive(told), choices(told)
    free = f"; {free}" if free else ""
    shown = sum(m.step.is_fault for m in told.moments if m.number in decisive)
    rest = f"; the last {shown} of these are told here" if shown < faults else ""
    yield Sentence(f"The run has {counted(steps, 'step')}, {_of_them(faults)}{rest}{free}.")
    mistakes = _mistakes(told, decisive)
    for number in sorted(decisive):
        words = told.moments[number - 1].step.words
        yield Sentence(words, number, mistakes.get(number, ""))
    if told.trace.loop is not None:
        yield from _looped(told)
        first, last = told.trace.loop + 1, len(told.moments)
        again = f"step {first} happens" if first == last else f"steps {first} to {last} happen"
        yield Sentence(f"From then on {again} again and again, for ever.", first)


def _looped(told: Explanation) -> Iterator[Sentence]:
    """The steps of a loop, where they are few."""
    steps = told.moments[told.trace.lead :]
    if len(steps) <= FEW_LOOPED:
        yield from (Sentence(moment.step.words, moment.number) for moment in steps)


def _of_them(faults: int) -> str:
    if not faults:
        return "none of them a fault"
    return "1 of them a fault" if faults == 1 else f"{faults} of them faults"


def _lead(told: Explanation) -> Sequence[Moment]:
    return told.moments[: told.trace.lead] or told.moments


def _decisive(told: Explanation) -> set[int]:
    """The steps that tell most of a run: its end, its last chances and what mends would change, its
    faults and the choices of those outside, what it fails by; then the mistakes by which that came
    about, what leads to the last step, and to that, and so on.
    """
    lead = _lead(told)
    known = {m.number for m in lead if m.step.is_fault or (m.matters and m.needed is not False)}
    ranked = [lead[-1].number, *chances(told)]
    ranked += [m.number for m in reversed(lead) if m.step.is_fault]
    ranked += [m.number for m in reversed(lead) if _is_free(m.step)]
    ranked += [condition.since for condition in told.failing if condition.since]
    ranked += [opened for opened, number, _ in _relied_on(told) if number in ranked]
    ranked += _leading(told, lead[-1].number)
    ranked += [moment.number for moment in reversed(lead)]
    return set(list(dict.fromkeys(number for number in ranked if number in known))[:MOST])


def _is_free(step: Step) -> bool:
    """Whether it is the choice of a client, or of the world outside."""
    return step.firing.transition.kind in (Kind.CLIENT, Kind.ENVIRONMENT)


def _leading(told: Explanation, number: int) -> list[int]:
    """The steps that another depends on, the nearest first."""
    found = [number]
    for each in found:
        causes = sorted(told.moments[each - 1].causes, reverse=True)
        found += [cause for cause in causes if cause not in found]
    return found


def _relied_on(told: Explanation) -> Iterator[tuple[int, int, Turn]]:
    """Mistakes in which somebody acts: the step at which each came up, that of the first act in it,
    and what it is. Those that come up at the end count there.
    """
    lead = _lead(told)
    for moment, some in zip(lead, course_of_beliefs(told), strict=False):
        for turn in some:
            act = _act(turn.belief, moment, lead) if turn.is_new else None
            if act is not None:
                yield moment.number, act, turn


def _act(belief: Belief, since: Moment, lead: Sequence[Moment]) -> int | None:
    """The first step that somebody has a part in while mistaken."""
    for moment in lead[since.number :]:
        held = {_content(each) for each in lead[moment.number - 2].mistaken}
        if _content(belief) not in held:
            return None
        if belief.who in (moment.message.source, moment.message.target):
            return moment.number
    is_last = since is lead[-1] and belief.who in (since.message.source, since.message.target)
    return since.number if is_last else None


def _content(belief: Belief) -> tuple[str, str, str]:
    return belief.who, belief.subject, belief.believed


def _mistakes(told: Explanation, decisive: set[int]) -> dict[int, str]:
    """By the step at which it came up, the mistake in which a step that is told was made."""
    found = dict[int, str]()
    for opened, number, turn in _relied_on(told):
        if opened in decisive and number in decisive:
            found.setdefault(opened, f"From then on {turn.words}")
    return found


def course_of_beliefs(told: Explanation) -> list[tuple[Turn, ...]]:
    """For each step, what somebody began or ceased to be mistaken in with it."""
    initial = picture(told.trace.system).beliefs(told.trace.system.initial)
    states = [tuple(initial), *(moment.beliefs for moment in told.moments)]
    return [turns(old, new) for old, new in itertools.pairwise(states)]


def start(told: Explanation) -> int:
    """The step at which a reader had better begin: the first fault, or else the first mistake."""
    mistaken = (n for n, some in enumerate(course_of_beliefs(told), 1) for t in some if t.is_new)
    faults = (moment.number for moment in told.moments if moment.step.is_fault)
    first = min(len(told.moments), 1)
    return next(faults, next(mistaken, first))


# The last chances.


@frozen
class Chance:
    """What would have saved a run at a step. changes: of mechanisms, one or another of which does:
    each what is chosen with what it is now; empty where it is a choice.
    """

    words: str
    changes: tuple[tuple[tuple[str, str], ...], ...] = ()


def chances(told: Explanation) -> dict[int, list[Chance]]:
    """By the number of a step, what would have saved the run there."""
    found = dict[int, list[Chance]]()
    if told.pivot is None:
        return found
    if told.pivot.choice:
        step = told.trace.steps[told.pivot.choice - 1]
        found[told.pivot.choice] = [Chance(_choice(step, told.pivot.instead))]
    for (number, words), some in _alike(told.pivot.partings).items():
        own = told.trace.steps[number - 1]
        outcome = words.replace(f"step {number} ({quoted(own)})", "this step")
        changes = tuple(tuple(map(changed_to, parting.changes)) for parting in some)
        found.setdefault(number, []).append(Chance(f"{outcome}.", changes))
    return found


def _alike(partings: Sequence[Parting]) -> dict[tuple[int, str], list[Parting]]:
    """By where they part and how, the changes of mechanisms that come to the same."""
    found = dict[tuple[int, str], list[Parting]]()
    for parting in partings:
        found.setdefault((parting.number, parting.words), []).append(parting)
    return found


def _choice(step: Step, instead: Sequence[str]) -> str:
    if instead:
        return f'Here "{instead[0]}" instead of "{phrase(step)}" could still have saved the run.'
    if step.is_fault:
        return "Had this fault not come here, the run could still have come out right."
    return "Up to here the run could still have come out right."


# What it comes to.


def where(told: Explanation) -> str:
    """In which state the property fails, for whom, and by what."""
    fails = told.where or "At the end it does not hold"
    values = ", ".join(condition.text for condition in told.failing)
    return f"{fails}: {values}." if values else f"{fails}."


def choices(told: Explanation) -> str:
    """The choices of clients and of the world outside that have a budget, counted."""
    budget = told.setting.bundled.faults if told.setting and told.setting.bundled else {}
    found = Counter(
        f"{name} {BY[step.firing.transition.kind]}"
        for step in told.trace.steps
        if _is_free(step) and (name := step.firing.transition.name.replace("_", "-")) in budget
    )
    return ", ".join(f"{count} {name}" for name, count in found.items())


@frozen
class Timing:
    """Whether it can happen within the times, in words; sign: good, bad or warn."""

    words: str
    sign: str


def in_time(told: Explanation) -> Timing | None:
    """What the times make of it, in a line; None where nothing takes any time."""
    if told.in_time is not None:
        return _in_time(told.in_time)
    if told.timing is None:
        return None
    can = "possible" if told.timing.is_possible else "not possible"
    return Timing(f"This run is {can} {_with(told.timing)}", "bad" if can == "possible" else "warn")


def _with(timing: Possible) -> str:
    told = timing.set_to.strip(" ()")
    return f"with {told}" if told else "within the times of this world"


def _in_time(found: WithinTimes) -> Timing:
    chosen = ", ".join(f"{time.name} {time.value}" for time in found.times if time.chosen)
    times = f"with {chosen}" if chosen else "within the times of this world"
    match found.verdict:
        case InTime.POSSIBLE:
            return Timing(f"Possible {times}", "bad")
        case InTime.IN_OTHER_STEPS:
            return Timing(f"Possible {times}, but in other steps than these", "bad")
        case InTime.OPEN:
            return Timing("Timing not settled", "warn")
    either = " or ".join(way.condition for way in found.ways)
    ways = f"; possible with {'either ' if found.ways[1:] else ''}{either}" if either else ""
    return Timing(f"Not possible {times}{ways}", "warn")


# What mends it.


def changed_to(change: str) -> tuple[str, str]:
    """A change as what is chosen, and what it is now: release: heartbeat, lease."""
    name, _, values = change.partition(": ")
    now, arrow, then = values.rpartition(" -> ")
    return (f"{name}: {then}", now) if arrow else (change, "")


def origin(mend: Mend) -> str:
    """Whose idea a mend is."""
    return ORIGINS.get(mend.source, mend.source)


def verified(mend: Mend, name: str) -> str:
    """What was found with a mend."""
    it = "it" if len(mend.changes) == 1 else "these"
    if mend.verdict == "holds":
        return f"With {it} {name} holds in every run of this scope."
    if mend.verdict == AVERTED:
        return f"With {it} {mend.verdict}."
    return f"With {it}, {name}: {mend.verdict.rstrip('.')}."


def is_clean(mends: Sequence[Mend]) -> bool:
    """Whether all there are stop it, and violate nothing themselves as far as is known."""
    stops = all(mend.verdict.startswith(("holds", "proved", AVERTED)) for mend in mends)
    return bool(mends) and stops and not any(map(breaks, mends))


def breaks(mend: Mend) -> list[str]:
    """What is violated with a mend alone."""
    return [name for name in mend.side_effects if not _is_open(name)]


def unclear(mend: Mend) -> list[str]:
    """What is violated with a mend, and perhaps without it too."""
    return [name.removesuffix(OPEN) for name in mend.side_effects if _is_open(name)]


def _is_open(effect: str) -> bool:
    """Whether it was not found out what is so without the mend."""
    return effect.endswith(OPEN)


# Texts.


def sentences(text: str) -> list[str]:
    """The sentences of a text, one by one."""
    return re.split(r"(?<=[.!?]) (?=[A-Z])", text)


def timing_words(told: Explanation) -> list[str]:
    """What is said of the times, beside tables and runs."""
    lines = told.in_time.words if told.in_time else told.timing.lines if told.timing else ()
    plain = [line.strip().removeprefix("Timing: ") for line in lines]
    return [f"{line[:1].upper()}{line[1:].rstrip(':.')}." for line in plain]


def command(move: str) -> tuple[str, str]:
    """A move as a command and what it is for; no command where it is just words."""
    if not move.startswith("rackproof "):
        return "", move
    typed, _, why = move.partition("  # ")
    return typed, why
