"""What a reviewer reads first: how it went, what was not checked, and what to do next."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from attrs import evolve, frozen

from rackproof.checker.coverage import Guard, one_sided
from rackproof.checker.exams import Examined
from rackproof.checker.explain import asked
from rackproof.checker.lowering.paths import Place
from rackproof.checker.report import stack
from rackproof.checker.report.review.found import Found
from rackproof.checker.report.review.matrix import SIGNS
from rackproof.checker.report.review.study import Study
from rackproof.checker.report.review.violations import Violation
from rackproof.checker.search import SOUGHT
from rackproof.checker.status import Status
from rackproof.checker.verdicts import Result, Verdict, counted
from rackproof.checker.verify import Report, Run
from rackproof.model.kernel import Kind
from rackproof.scenarios.steps import kebab

SHOWN: Final = 6
"""Counterexamples that are told on the first screen."""
FAULTS: Final = 8
"""Faults that are named of those that happened nowhere."""


@frozen
class Count:
    """How many: a tile."""

    number: int
    words: str
    colour: str


def judged(studies: Iterable[Study]) -> list[tuple[Report, Run, Result]]:
    """The results that count, of all targets; not those of properties that speak of nothing."""
    return [
        (study.report, run, result)
        for study in studies
        for run, result in study.report.judged
        if not result.is_absent
    ]


def headline(whole: Found) -> str:
    """How it went, in a sentence or, after an interrupt, two."""
    if not whole.interrupted:
        return _outcome(whole.studies)
    done = len(whole.studies)
    return f"Interrupted: {done:,} of {whole.of:,} targets were verified. {_outcome(whole.studies)}"


def _outcome(studies: Sequence[Study]) -> str:
    found = [result for _, _, result in judged(studies)]
    wrong = [result for result in found if result.complaint is not None]
    undecided = sum(result.status is Status.INCONCLUSIVE for result in wrong)
    unexpected = sum(result.verdict is Verdict.VIOLATED for result in wrong)
    failed = sum(study.report.failure is not None for study in studies)
    told = [
        f"{counted(number, what)} {more}"
        for number, what, more in (
            (unexpected, "violation", "that nobody expected"),
            (len(wrong) - unexpected - undecided, "expectation", "not met"),
            (undecided, "question", "left open"),
            (failed, "target", "not checked"),
        )
        if number
    ]
    if told:
        return f"{', '.join(told)}."
    words = Counter(result.verdict for result in found)
    parts = [f"{number:,} {_verb(kind, number)}" for kind in SIGNS if (number := words[kind])]
    fine = all(study.report.status is Status.OK for study in studies)
    return f"{'As' if fine else 'Not as'} expected: {', '.join(parts) or 'as written'}."


def _verb(kind: Verdict, number: int) -> str:
    return "hold" if kind is Verdict.HOLDS and number > 1 else SIGNS[kind][1]


def counts(studies: Sequence[Study], of: int) -> Iterator[Count]:
    """Targets, where there are several, then verdicts."""
    if of > 1:
        fine = sum(study.report.status is Status.OK for study in studies)
        yield Count(fine, f"of {of:,} targets as expected", "good" if fine == of else "bad")
    results = [result for _, _, result in judged(studies)]
    for verdict, (_, word, colour) in SIGNS.items():
        those = [result for result in results if result.verdict is verdict]
        wrong = sum(result.complaint is not None for result in those)
        if those:
            yield Count(len(those), f"{word}, {wrong} unexpectedly" if wrong else word, colour)


def not_checked(studies: Sequence[Study]) -> Iterator[str]:
    """What the verdicts do not say, the gravest first."""
    reports = [study.report for study in studies]
    for report in reports:
        if report.failure is not None:
            yield f"{report.target} could not be checked: {report.failure.lines[0]}"
    yield from _grouped(studies, Verdict.INCONCLUSIVE, "Undecided")
    yield from _grouped(studies, Verdict.VACUOUS, "Put to no test")
    for report in reports:
        if isinstance(report, Examined) and (unsaid := stack.left_out(report)):
            yield f"Of {report.target} {unsaid}."
    yield from _beyond(reports)


def _grouped(studies: Sequence[Study], verdict: Verdict, words: str) -> Iterator[str]:
    """Results of a verdict, by reason."""
    names: dict[str, list[str]] = {}
    for _, _, result in judged(studies):
        if result.verdict is verdict:
            names.setdefault(result.reason or "no reason is known", []).append(result.prop.name)
    for reason, those in names.items():
        told = ", ".join(dict.fromkeys(those))
        yield f"{words}: {told} ({reason})."


def _beyond(reports: Sequence[Report]) -> Iterator[str]:
    """What no scope had: other sizes, other faults, what was not asked."""
    runs = [run for report in reports for run in report.runs]
    if runs:
        yield "Larger scopes than those under Results: what holds was seen to hold in these."
    early = sum(run.findings.reason == SOUGHT for run in runs)
    if early:
        where = "one case the search" if early == 1 else f"{early:,} cases the search"
        yield (
            f"In {where} ended when all expected violations were found: other properties, and "
            "transitions that come later, were not looked at there."
        )
    unasked = sum(not result.judged for run in runs for result in run.results) and not any(
        isinstance(report, Examined) for report in reports
    )
    if unasked:
        yield "Properties of which a scenario expects nothing were not judged there."


def untried(several: Sequence[Firing]) -> Iterator[str]:
    """The faults that happened nowhere."""
    names = [one.name for one in several if one.kind is Kind.FAULT and not one.fired]
    if names:
        more = f" and {len(names) - FAULTS:,} more (see Coverage)" if names[FAULTS:] else ""
        yield f"Faults that happened in no case: {', '.join(names[:FAULTS])}{more}."


Move = tuple[str, str | None]
"""What to do, and the command for it."""


def next_moves(
    studies: Sequence[Study], violations: Sequence[Violation], folder: str
) -> Iterator[Move]:
    """What to do with it; folder: where the counterexamples are."""
    first = next((one for one in violations if one.is_unexpected), None)
    if first is not None:
        yield f"Decide on {first.result.prop.name}: {_remedy(first)[0]}", _remedy(first)[1]
    elif violations:
        yield "Keep the counterexamples as tests", asked.line("verify", folder)
    again: dict[Verdict, Callable[..., str]] = {}
    for report, run, result in judged(studies):
        again.setdefault(result.verdict, partial(_again, report, run))
    if (command := again.get(Verdict.INCONCLUSIVE)) is not None:
        told = command(seconds=1800, memory=8_000_000_000)
        yield "Settle what is open with more time and memory", told
    if (command := again.get(Verdict.HOLDS)) is not None:
        yield "Prove what holds, for runs of any length", command(engine="prove")
    if Verdict.VACUOUS in again:
        yield "Enlarge the scope of what was put to no test: why is told under Results", None


def _again(report: Report, run: Run, **more: Any) -> str:
    """The line that verifies a run again in another way."""
    return asked.again(evolve(report, options=evolve(report.options, **more)), run)


def _remedy(violation: Violation) -> tuple[str, str]:
    """How to find what mends a violation: mechanisms, or in a world that has none a guard."""
    report, run = violation.report, violation.run
    if run.case.setting.bundled is None:
        what = "read its page, then look for a guard that is missing"
        return what, asked.line("guards", report.target)
    what = "read its page, then look for all that mends it"
    return what, f"{asked.again(report, run)} --repair"


@frozen
class Firing:
    """A transition, in how many cases it took effect, of how many in which it might have."""

    name: str
    kind: Kind
    sentence: str
    fired: int
    of: int


def firings(studies: Sequence[Study]) -> list[Firing]:
    """Every transition of every world, the rarest first."""
    known: dict[str, tuple[Kind, str]] = {}
    fired, possible = Counter[str](), Counter[str]()
    for study in studies:
        for run in study.report.runs:
            findings = run.findings
            for transition in run.case.setting.system.transitions:
                known.setdefault(transition.name, (transition.kind, transition.sentence))
            fired.update(findings.fired)
            possible.update(findings.fired)
            possible.update(findings.idle)
    found = [
        Firing(kebab(name), kind, _plain(sentence), fired[name], possible[name])
        for name, (kind, sentence) in known.items()
    ]
    return sorted(found, key=lambda one: (one.fired, -one.of))


def _plain(sentence: str) -> str:
    """A sentence about any: A worker crashes, of {worker} crashes."""
    told = re.sub(r"{(\w+)}", r"a \1", sentence)
    return told[:1].upper() + told[1:]


def idle_guards(studies: Iterable[Study]) -> list[Guard]:
    """The lines whose tests came out one way only in all the states of all the cases."""
    together: dict[Place, set[bool]] = {}
    for study in studies:
        for covered in study.covered.values():
            for place, outcomes in covered.outcomes.items():
                together.setdefault(place, set()).update(outcomes)
    return one_sided(together)
