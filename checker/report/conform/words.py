"""A finding in sentences, under the names that the logs have for everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from attrs import frozen

from rackproof.checker.conform.errors import as_written
from rackproof.checker.conform.outcome import Answer, Broken, Explained, Rejection
from rackproof.checker.conform.renaming import numbering, renaming
from rackproof.checker.conform.tally import Group, LogError, Tally
from rackproof.checker.conform.telling import said
from rackproof.checker.verdicts import counted, listed
from rackproof.model.kernel import Observation, evidence_of
from rackproof.model.kernel.evidence import Case

MOST_NAMES: Final = 8
"""Names of cases in a line."""
MOST_ALLOWED: Final = 4
"""Steps that a person is told of where something else was observed."""


def observed(observation: Observation, case: Case) -> str:
    """What somebody wrote down, in a line, with where; under the names and numbers of the log."""
    where = f" at {observation.place}" if observation.place else ""
    return f"{renaming(case.called)(what(as_written(observation, case)))}{where}"


def what(observation: Observation) -> str:
    """What somebody wrote down, in a line: ``client: token (position 20)``."""
    values = ", ".join(f"{name} {said(value)}" for name, value in observation.values.items())
    told = f" ({values})" if values else ""
    return f"{observation.witness}: {observation.kind}{told}"


@frozen
class Part:
    """Lines that belong together, under a heading of their own."""

    heading: str
    lines: tuple[str, ...]


def verdict(tally: Tally, noun: str, failed: bool = False) -> str:
    """All cases in a line: how many were accepted, rejected and left open, and what they break.

    failed: whether it could not be read to its end, as is said elsewhere.
    """
    if not tally.count and failed:
        return "cannot be read"
    if not tally.count:
        return f"there is no {noun} in it"
    found = tally.answers
    parts = (f"{found[answer]:,} {answer.words}" for answer in Answer if found[answer])
    told = f"{counted(tally.count, noun)}: {', '.join(parts)}"
    broken = ", ".join(_broken_by(tally, noun))
    return f"{told}; broken: {broken}" if broken else told


def _broken_by(tally: Tally, noun: str) -> Iterator[str]:
    """The properties that are broken, those together that as many cases break."""
    alike = dict[tuple[int, bool, bool], list[str]]()
    for prop, count in sorted(_by_property(tally).items()):
        predicted = not tally.broken[prop, False]
        alike.setdefault((count, prop in tally.known, predicted), []).append(prop)
    for (count, known, predicted), props in alike.items():
        each = " each" if len(props) > 1 else ""
        defect = ", a known defect of the stack" if predicted and not known else ""
        yield f"{listed(props)} ({counted(count, noun)}{each}{defect}{', known' if known else ''})"


def _by_property(tally: Tally) -> dict[str, int]:
    names = sorted({prop for prop, _ in tally.broken})
    return {name: tally.broken[name, True] + tally.broken[name, False] for name in names}


def title(found: Explained, noun: str) -> str:
    """A case and what became of it."""
    told = f"{noun} {found.case.name} is {found.answer.words}"
    breaks = ", ".join(dict.fromkeys(one.prop for one in found.broken))
    where = f" at {found.place}" if found.place else ""
    and_so = f", {'and' if found.answer is Answer.ACCEPTED else 'which'} breaks {breaks}"
    return f"{told}{where}{and_so if breaks else ''}"


def brief(found: Explained, noun: str) -> str:
    """A case in a line that begins with the file and the line that it is about."""
    at = found.place or next((one.at.place for one in found.broken if one.at), None)
    told = f"{noun} {found.case.name} is {found.answer.value}"
    breaks = [
        f"breaks {one.prop} ({sentence(one, found.case).rstrip('.')})" for one in found.broken
    ]
    if found.broken and all(one.predicted for one in found.broken):
        breaks.append("a known defect of the stack")
    open_ = found.answer is Answer.INCONCLUSIVE
    lacks = [f"there is no {what}" for what in found.case.missing] if open_ else []
    why = [found.reason] if open_ and found.reason and not lacks else []
    return f"{f'{at}: ' if at else ''}{'; '.join([told, *breaks, *lacks, *why])}"


def finding(found: Explained, known: Iterable[str] = (), every: bool = False) -> Iterator[Part]:
    """All that is to be told of a case. every: also what is much."""
    if found.rejection is not None:
        yield from _rejected(found.rejection, found.case, every)
    if found.answer is Answer.OPEN:
        yield Part(f"{found.reason}", ())
    elif found.case.missing and not found.case.stopped:
        yield Part("inconclusive, as there is no", found.case.missing)
    elif found.reason is not None:
        yield Part(f"inconclusive: {found.reason}", ())
    for one in found.broken:
        yield _broken(one, found, frozenset(known))
    if found.assumed:
        yield Part("assumed, as no log tells of it:", found.assumed)
    if found.changes:
        typed = (f"{one} (to try it: --set {one.replace(': ', '=')})" for one in found.changes)
        yield Part("the record would be explained with any of:", tuple(typed))
    elif found.changes is not None:
        tried = f" ({found.tried:,} tried)" if found.tried else ""
        yield Part(f"no single change of a mechanism explains it{tried}", ())
    if found.untold:
        yield Part(f"of {counted(found.untold, 'other change')} it was not found out", ())


def _rejected(rejection: Rejection, case: Case, every: bool) -> Iterator[Part]:
    at = observed(rejection.at, case)
    if rejection.after:
        yield Part(f"nothing explains that it is over with {at}", ())
    else:
        yield Part(f"nothing explains {at}", ())
    shown = rejection.expected if every else rejection.expected[:MOST_ALLOWED]
    allowed = tuple(f"{one.words} ({one.written})" if one.written else one.words for one in shown)
    left = len(rejection.expected) - len(shown)
    more = (f"and {left} more (-v)",) if left else ()
    if allowed:
        yield Part("the model allowed instead:", (*allowed, *more))
    else:
        yield Part("the model allowed nothing more to be recorded", ())
    if rejection.failed:
        yield Part("why that could not be:", in_words(rejection.failed, case))


def _broken(one: Broken, found: Explained, known: frozenset[str]) -> Part:
    where = f" ({observed(one.at, found.case)})" if one.at else ""
    whose = "the model has such runs too: a known defect of the stack" if one.predicted else None
    news = "it is known, and does not count (--known)" if one.prop in known else None
    props = {prop.name: prop for prop in found.case.system.properties}
    why = props[one.prop].why if one.prop in props else ""
    lines = (f"why it matters: {why}" if why else None, whose, news)
    return Part(
        f"breaks {one.prop}: {sentence(one, found.case)}{where}", tuple(filter(None, lines))
    )


def sentence(broken: Broken, case: Case) -> str:
    """What is so where a property is broken: by the numbers of the logs, where they tell."""
    return case.sentences.get(broken.prop, broken.sentence)


def in_words(conditions: Iterable[str], case: Case) -> tuple[str, ...]:
    """Conditions as people of the field say them."""
    words = evidence_of(case.system).words
    return tuple(conditions) if words is None else tuple(map(words, conditions))


def alike(group: Group, every: bool = False) -> str | None:
    """The other cases of a group in a line."""
    if group.count == 1:
        return None
    rest = group.count - 1
    shown = group.others if every else group.others[:MOST_NAMES]
    more = " and others" if rest > len(shown) else ""
    return f"and {rest:,} more like it: {', '.join(shown)}{more}"


def error(key: tuple[str, str, str], found: LogError, noun: str) -> str:
    """An error of the logs in a line."""
    witness, kind, name = key
    where = f" {found.first.place}" if found.first.place else ""
    return (
        f"{witness}: wrong {name} in {counted(found.times, f'{kind} record')} of "
        f"{counted(found.cases, noun)} (first{where}: says {found.said}, was {found.truth})"
    )


def steps(found: Explained) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The run that explains a case: each step in words, with what was recorded of it."""
    rename, counted_as = renaming(found.case.called), numbering(found.case.numbered)
    width = len(str(len(found.trace.steps)))
    for number, step in enumerate(found.trace.steps, 1):
        nobody = ("nothing recorded",)
        written = found.written[number - 1] if number <= len(found.written) else ()
        told = tuple(observed(one, found.case) for one in written) or nobody
        fault = " (fault)" if step.is_fault else ""
        yield f"{number:>{width}}. {rename(counted_as(step.words))}{fault}", told


def lines(
    found: Explained, noun: str, known: Iterable[str] = (), every: bool = False
) -> tuple[str, ...]:
    """A case as plain text, with the run that explains it where all is asked for."""
    told = [title(found, noun)]
    if found.case.went:
        told.append(f"  {found.case.went}")
    for part in finding(found, known, every):
        told += [f"  {part.heading}", *(f"    {line}" for line in part.lines)]
    for step, written in steps(found) if every else ():
        told += [f"  {step}", *(f"       | {line}" for line in written)]
    return tuple(told)
