"""A run as Markdown for an issue or a pull request, with a Mermaid diagram."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from rackproof.checker.explain import Condition, Explanation, Mend, Moment
from rackproof.checker.report.escaping import fenced, in_markdown, line, link
from rackproof.checker.report.forms.mermaid import mermaid
from rackproof.checker.report.steps import changes_in_words
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.possible import amount_in_words


def markdown(explanation: Explanation) -> str:
    """All of an explanation; a section for each thing that is known."""
    sections = (
        _heading(explanation),
        _section("What happens", _steps(explanation)),
        _section("As a diagram", _diagram(explanation)),
        _section("Where it breaks", _where(explanation)),
        _section("Who was wrong about what", _mistakes(explanation)),
        _section("The last way out", _pivot(explanation)),
        _section("The nearest run that is safe", _near_miss(explanation)),
        _section("What mends it", _mends(explanation)),
        _section("The least that it takes", _smallest(explanation)),
        _section("What could not be found out", _bullets(explanation.untold)),
        _section("Timing", _bullets(_timing(explanation))),
        _section("Where this comes from", _footing(explanation)),
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
    told = {"As reported": explanation.source, "Scope": explanation.scope}
    for name, text in told.items():
        if text:
            yield f"{name}: {link(text)}"
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
    changes = "; ".join(changes_in_words(step, explanation.fields))
    why = "; ".join(map(_condition, moment.why))
    told = [changes, f"possible because {why}" if why else ""]
    if moment.charge is not None:
        told.append("; ".join(amount_in_words(moment.charge)))
    if moment.needed:
        told.append("without it, the other steps do not lead there")
    yield from _bullets(filter(None, told), indent)


def _condition(condition: Condition) -> str:
    since = "" if condition.since is None else f" (since step {condition.since})"
    return f"{condition.text}{since}"


def _diagram(explanation: Explanation) -> Iterator[str]:
    yield from fenced(mermaid(explanation).splitlines(), "mermaid")
    if not all(moment.matters for moment in explanation.moments):
        yield from ("", "Dotted: what makes no difference to the violation.")


def _where(explanation: Explanation) -> Iterator[str]:
    if explanation.where:
        yield from (in_markdown(explanation.where), "")
    named = [", ".join(f"{k} = {v}" for k, v in one.items()) for one in explanation.culprits]
    if any(named):
        yield f"It fails for {in_markdown(' and for '.join(named))}."
    state = explanation.values(explanation.trace.final)
    labels = [field for field in explanation.fields.all if field.label in explanation.reads]
    if labels:
        yield from ("", "| field | value at the end |", "|---|---|")
        for field in labels:
            yield _row(explanation.name(field), state[field.label])
    for key, told, is_so in explanation.facts:
        yield f"- {in_markdown(key)}: {in_markdown(told)}{'' if is_so else ' (not as written)'}"
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


def _pivot(explanation: Explanation) -> Iterator[str]:
    pivot = explanation.pivot
    if pivot is not None:
        yield in_markdown(pivot.words)
        yield ""
        yield from _bullets(f"or {text}" for text in pivot.mechanisms[1:])


def _near_miss(explanation: Explanation) -> Iterator[str]:
    near = explanation.near_miss
    if near is not None:
        yield in_markdown(near.words)
        yield ""
        for number, step in enumerate(near.trace.steps[near.parts - 1 :], near.parts):
            yield f"{number}. {in_markdown(step.words)}"


def _mends(explanation: Explanation) -> Iterator[str]:
    for mend in explanation.mends:
        yield from _bullets([_mend(mend)])


def _mend(mend: Mend) -> str:
    changes = "; ".join(mend.changes)
    verdict = f": {mend.verdict}" if mend.verdict else ""
    also = f"; violated only with it: {', '.join(mend.side_effects)}" if mend.side_effects else ""
    return f"{changes}{verdict} ({mend.source}{also})"


def _smallest(explanation: Explanation) -> Iterator[str]:
    smallest = explanation.smallest
    if smallest is not None:
        yield in_markdown(smallest.words)


def _timing(explanation: Explanation) -> Iterator[str]:
    if explanation.timing_words:
        yield from explanation.timing_words
    elif explanation.timing is not None:
        yield from (text.removeprefix("Timing: ") for text in explanation.timing.lines)


def _footing(explanation: Explanation) -> Iterator[str]:
    footing = explanation.footing
    yield from ("To see it again:", "", *fenced([line(footing.reproduce)], "sh"))
    for title, texts in (("Not checked", footing.not_checked), ("Next", footing.next_moves)):
        if texts:
            yield from ("", f"{title}:", "", *_bullets(texts))
