"""What a reviewer reads first: how it went, what was not checked, and what to do next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.coverage import Guard, one_sided
from rackproof.checker.exams import Examined
from rackproof.checker.lowering.paths import Place
from rackproof.checker.report import stack
from rackproof.checker.report.review.matrix import SIGNS
from rackproof.checker.report.review.study import Study
from rackproof.checker.report.review.violations import Violation
from rackproof.checker.search import SOUGHT
from rackproof.checker.status import Status
from rackproof.checker.verdicts import Result, Verdict, counted
from rackproof.checker.verify import Report, Run
from rackproof.model.kernel import Kind
from rackproof.scenarios.steps import kebab

SHOWN: Final = 5
"""Counterexamples that are told on the first screen, reasons of a kind, and next moves."""


@frozen
class Count:
    """How many: a tile."""

    number: int
    words: str
    colour: str


@frozen
class Overview:
    """The first screen. command: the line that makes the report again."""

    title: str
    fine: bool
    headline: str
    counts: tuple[Count, ...]
    top: tuple[Violation, ...]
    not_checked: tuple[str, ...]
    next_moves: tuple[str, ...]
    command: str


def judged(studies: Iterable[Study]) -> list[tuple[Report, Run, Result]]:
    """The results that count, of all targets; not those of properties that speak of nothing."""
    return [
        (study.report, run, result)
        for study in studies
        for run, result in study.report.judged
        if not result.is_absent
    ]


def headline(reports: Sequence[Report], of: int) -> str:
    """How it went, in a sentence."""
    fine = sum(report.status is Status.OK for report in reports)
    if fine == of:
        return "Everything is as expected." if of > 1 else "All is as expected."
    return f"{of - fine} of {counted(of, 'target')} {'is' if of - fine == 1 else 'are'} not as expected."


def counts(studies: Sequence[Study], of: int) -> Iterator[Count]:
    """Targets, then verdicts."""
    fine = sum(study.report.status is Status.OK for study in studies)
    yield Count(fine, f"of {counted(of, 'target')} as expected", "good" if fine == of else "bad")
    found = Counter(result.verdict for _, _, result in judged(studies))
    unexpected = sum(
        result.verdict is Verdict.VIOLATED and result.complaint is not None
        for _, _, result in judged(studies)
    )
    for verdict, (_, word, colour) in SIGNS.items():
        if found[verdict]:
            more = ""
            if verdict is Verdict.VIOLATED:
                more = f", {unexpected or 'none'} unexpected"
            yield Count(found[verdict], f"{word}{more}", colour)


def not_checked(studies: Sequence[Study], of: int) -> Iterator[str]:
    """What the verdicts do not say, the gravest first."""
    reports = [study.report for study in studies]
    if len(reports) < of:
        yield f"{counted(of - len(reports), 'target')}: it was interrupted"
    for report in reports:
        if report.failure is not None:
            yield f"{report.target} could not be checked: {report.failure.lines[0]}"
    yield from _grouped(studies, Verdict.INCONCLUSIVE, "undecided")
    yield from _grouped(studies, Verdict.VACUOUS, "put to no test")
    for report in reports:
        if isinstance(report, Examined) and (unsaid := stack.left_out(report)):
            yield f"{report.target}: {unsaid}"
    yield from _beyond(reports)
    yield from dict.fromkeys(line for study in studies for line in study.left_out)


def _grouped(studies: Sequence[Study], verdict: Verdict, words: str) -> Iterator[str]:
    """Results of a verdict, by reason."""
    names: dict[str, list[str]] = {}
    for _, _, result in judged(studies):
        if result.verdict is verdict:
            names.setdefault(result.reason or "no reason is known", []).append(result.prop.name)
    for reason, those in names.items():
        told = ", ".join(dict.fromkeys(those))
        yield f"{words}: {told} ({reason})"


def _beyond(reports: Sequence[Report]) -> Iterator[str]:
    """What no scope had: other sizes, other faults, what was not asked."""
    runs = [run for report in reports for run in report.runs]
    if any(result.verdict is Verdict.HOLDS for run in runs for result in run.results):
        yield "what holds was seen to hold in its scope; nothing is said of larger ones"
    early = sum(run.findings.reason == SOUGHT for run in runs)
    if early:
        those = "case, the search" if early == 1 else "cases, the search"
        yield (
            f"in {early:,} {those} ended when all expected violations were found: other "
            "properties, and transitions that come later, were not looked at there"
        )
    faults = {name for run in runs for name in run.case.setting.faults}
    tried = {name for run in runs for name, n in run.case.setting.budgets.items() if n}
    if faults - tried:
        yield f"faults that no case allows: {', '.join(sorted(faults - tried))}"


def next_moves(
    studies: Sequence[Study], violations: Sequence[Violation], folder: str
) -> Iterator[str]:
    """What to do with it, each with its command."""
    reports = [study.report for study in studies]
    unexpected = [one for one in violations if one.is_unexpected]
    if unexpected:
        first = unexpected[0]
        yield (
            f"Decide on {first.result.prop.name} of {first.report.name}: read its page, then look "
            f"for what mends it: rackproof verify --repair {shlex.quote(first.report.target)}"
        )
    verdicts = {result.verdict: report for report, _, result in judged(studies)}
    if Verdict.INCONCLUSIVE in verdicts:
        target = shlex.quote(verdicts[Verdict.INCONCLUSIVE].target)
        yield f"Settle what is open: rackproof verify --time-limit 30min --memory 8GB {target}"
    if Verdict.HOLDS in verdicts:
        target = shlex.quote(verdicts[Verdict.HOLDS].target)
        yield f"Prove what holds for runs of any length: rackproof verify --engine prove {target}"
    if Verdict.VACUOUS in verdicts:
        yield "Enlarge the scope of what was put to no test: its reasons are under the results"
    if violations and not unexpected:
        yield f"Keep the counterexamples as tests: rackproof verify {shlex.quote(folder)}"
    if not reports:
        yield "Give a target that can be loaded"


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
        Firing(kebab(name), kind, sentence, fired[name], possible[name])
        for name, (kind, sentence) in known.items()
    ]
    return sorted(found, key=lambda one: (one.fired, -one.of))


def idle_guards(studies: Iterable[Study]) -> list[Guard]:
    """The lines whose tests came out one way only in all the states of all the cases."""
    together: dict[Place, set[bool]] = {}
    for study in studies:
        for covered in study.covered.values():
            for place, outcomes in covered.outcomes.items():
                together.setdefault(place, set()).update(outcomes)
    return one_sided(together)
