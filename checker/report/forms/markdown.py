"""A run as Markdown for an issue or a pull request, with a Mermaid diagram."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from rackproof.checker.explain import Condition, Explanation, Mend, Moment, Pivot
from rackproof.checker.report.counterexample import few_faults
from rackproof.checker.report.escaping import fenced, in_markdown, line, link
from rackproof.checker.report.explained import (
    MOST_TOLD,
    changes_in_words,
    ending,
    since_in_words,
)
from rackproof.checker.report.forms.mermaid import mermaid
from rackproof.checker.report.setting import source_label
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.possible import amount_in_words


def markdown(explanation: Explanation) -> str:
    """All of an explanation; a section for each thing that is known."""
    pivot = explanation.pivot
    turning = f"The turning point: step {pivot.number}" if pivot else ""
    footing = explanation.footing
    sections = (
        _heading(explanation),
        _section("What happens", _steps(explanation)),
        _section("As a diagram", _diagram(explanation)),
        _section("Where it goes wrong", _where(explanation)),
        _section("Why nothing mends it any more", _conditions(explanation.stays)),
        _section("Who was wrong about what", _mistakes(explanation)),
        _section("What it leads to", _facts(explanation)),
        _section("What it takes", _needed(explanation)),
        _section(turning, _bullets([pivot.words, *_others(pivot)]) if pivot else []),
        _section("The nearest run that is safe", _near_miss(explanation)),
        _section("What mends it", map(_mend, explanation.mends)),
        _section("Timing", _timing(explanation)),
        _section("What was not found out", _bullets(explanation.untold)),
        _section("Not checked", _bullets(footing.not_checked)),
        _section("What to do next", _bullets(footing.next_moves)),
        _section("To see it again", fenced([line(footing.reproduce)])),
    )
    return "\n".join(itertools.chain(*sections)).rstrip("\n") + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    """A section under its title; none without anything in it."""
    told = list(lines)
    return [f"## {title}", "", *told, ""] if told else []


def _bullets(texts: Iterable[str], indent: str = "") -> Iterator[str]:
    return (f"{indent}- {in_markdown(text)}" for text in texts)


def _heading(explanation: Explanation) -> Iterator[str]:
    prop = explanation.prop
    yield f"# {in_markdown(explanation.title)}"
    yield ""
    if prop is not None:
        yield f"**{in_markdown(prop.name)}** is {in_markdown(explanation.verdict)}."
        yield ""
        yield f"> {in_markdown(prop.statement)}"
        if prop.why:
            yield ">"
            yield f"> Why it matters: {in_markdown(prop.why)}"
        yield ""
    source = explanation.source or ""
    told = {source_label(source): source, "Scope": explanation.scope}
    for name, text in told.items():
        if text:
            yield f"{name}: {link(text)}"
            yield ""
    if explanation.unexplained:
        yield f"The steps are not explained: {in_markdown(explanation.unexplained)}"
        yield ""
    if explanation.notes:
        yield in_markdown(" ".join(explanation.notes.split()))
        yield ""


def _steps(explanation: Explanation) -> Iterator[str]:
    """The steps, numbered; those that make no difference are folded away."""
    if not explanation.moments:
        yield "No step: the initial state itself."
    loop = explanation.trace.loop
    parts = itertools.groupby(
        explanation.moments, lambda m: (m.matters, loop is not None and m.number > loop)
    )
    for (matters, repeated), group in parts:
        moments = [*group]
        if repeated and loop is not None and moments[0].number == loop + 1:
            yield from ("From here on, for ever:", "")
        if not matters:
            yield f"<details><summary>{_without(moments)}</summary>"
            yield ""
        for moment in moments:
            yield from _step(explanation, moment)
        yield ""
        if not matters:
            yield from ("</details>", "")
    if loop is not None:
        yield f"And back to the state before step {loop + 1}."


def _without(moments: Sequence[Moment]) -> str:
    first, last = moments[0].number, moments[-1].number
    if first == last:
        return f"Step {first} makes no difference to it"
    return f"Steps {first} to {last} make no difference to it"


def _step(explanation: Explanation, moment: Moment) -> Iterator[str]:
    """A step with what it changed, what made it possible and what it cost."""
    number, step = moment.number, moment.step
    when = "" if moment.at is None else f"at {in_units(moment.at)}: "
    words = in_markdown(step.words)
    if step.is_fault:
        faults = [m.number for m in explanation.moments if m.step.is_fault]
        words = f"**Fault {faults.index(number) + 1} of {len(faults)}: {words}**"
    yield f"{number}. {when}{words}"
    indent = " " * (len(str(number)) + 2)
    used, also = map("; ".join, changes_in_words(explanation, moment))
    told = {
        "because": "; ".join(since_in_words(condition, number) for condition in moment.why),
        "changes": used or also,
        "also": also if used else "",
        "costs": "; ".join(amount_in_words(moment.charge)) if moment.charge else "",
    }
    yield from _bullets((f"{key}: {text}" for key, text in told.items() if text), indent)


def _diagram(explanation: Explanation) -> Iterator[str]:
    yield from fenced(mermaid(explanation).splitlines(), "mermaid")
    if not all(moment.matters for moment in explanation.moments):
        yield from ("", "Dotted: what makes no difference to it.")


def _where(explanation: Explanation) -> Iterator[str]:
    if told := ending(explanation):
        yield from (in_markdown(told), "")
    yield from _conditions(explanation.failing)
    if not explanation.failing:
        state = explanation.values(explanation.trace.final)
        fields = [field for field in explanation.fields.all if field.label in explanation.reads]
        yield from _bullets(f"{explanation.name(field)}: {state[field.label]}" for field in fields)


def _conditions(conditions: Sequence[Condition]) -> Iterator[str]:
    """Tests that came out as they did; the first few, and how many more."""
    yield from _bullets(since_in_words(condition, None) for condition in conditions[:MOST_TOLD])
    if len(conditions) > MOST_TOLD:
        yield f"- and {len(conditions) - MOST_TOLD} more"


def _facts(explanation: Explanation) -> Iterator[str]:
    for key, told, is_so in explanation.facts:
        yield from _bullets([f"{key}: {told}{'' if is_so else ', which is not as written'}"])
    yield from _bullets(explanation.complaints)


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(in_markdown, cells))} |"


def _mistakes(explanation: Explanation) -> Iterator[str]:
    """The beliefs that were not true, each from the step to the step at which it was held."""
    spans: dict[tuple[str, str, str, str], list[int]] = {}
    for moment in explanation.moments:
        for b in moment.mistaken:
            spans.setdefault((b.who, b.subject, b.believed, b.truth), []).append(moment.number)
    if spans:
        yield from ("| who | about | believed | in truth | after steps |", "|---|---|---|---|---|")
    for cells, numbers in spans.items():
        yield _row(*cells, spans_in_words(numbers))


def spans_in_words(numbers: Sequence[int]) -> str:
    """Numbers, in order, as spans: 3 to 5, 8."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(f"{s[0]} to {s[-1]}" if s[1:] else str(s[0]) for s in spans)


def _others(pivot: Pivot) -> list[str]:
    """What else would have saved the run there."""
    return [f"or {mechanism}" for mechanism in pivot.mechanisms[1:]]


def _needed(explanation: Explanation) -> Iterator[str]:
    """Which steps and faults it takes, and the least of all."""
    yield from _bullets(explanation.necessity)
    if explanation.smallest is not None:
        yield from _bullets([explanation.smallest.words])
    elif explanation.fewest_faults and explanation.trace.faults:
        yield from _bullets([few_faults(explanation.trace)])


def _near_miss(explanation: Explanation) -> Iterator[str]:
    near = explanation.near_miss
    if near is not None:
        yield in_markdown(near.words)
        yield ""
        for number, step in enumerate(near.trace.steps[near.parts - 1 :], near.parts):
            yield f"{number}. {in_markdown(step.words)}"


def _mend(mend: Mend) -> str:
    verdict = f": {mend.verdict}" if mend.verdict else ""
    told = ", ".join(mend.side_effects)
    effects = f"; violated with it: {told}" if told else ""
    changes = "; ".join(mend.changes)
    return f"- {in_markdown(f'{changes}{verdict} ({mend.source}){effects}')}"


def _timing(explanation: Explanation) -> Iterator[str]:
    """Sentences as items; what is indented below one, such as another run, as a list in it."""
    told: Iterable[str] = explanation.timing_words
    if not told and explanation.timing is not None:
        told = explanation.timing.lines
    deep = "  "
    for text in told:
        inner = text.lstrip(" ").removeprefix("Timing: ")
        step = re.match(r"\d+\. ", inner)
        if text.startswith(" ") and step:
            deep = "  " + " " * len(step[0])
            yield f"  {step[0]}{in_markdown(inner[step.end() :])}"
        else:
            by = deep if text.startswith(" " * 5) else "  " if text.startswith(" ") else ""
            yield f"{by}- {in_markdown(inner)}"
