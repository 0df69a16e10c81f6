"""What a reviewer reads first: how it went, what was not checked, and what to do next."""

from __future__ import annotations

import re
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
    verb = "is" if of - fine == 1 else "are"
    return f"{of - fine} of {counted(of, 'target')} {verb} not as expected."


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


Move = tuple[str, str | None]
"""What to do, and the command for it."""


def next_moves(
    studies: Sequence[Study], violations: Sequence[Violation], folder: str
) -> Iterator[Move]:
    """What to do with it; folder: where the counterexamples are."""
    first = next((one for one in violations if one.is_unexpected), None)
    if first is not None:
        what = f"Decide on {first.result.prop.name}: read its page, then look for all that mends it"
        yield what, f"rackproof verify --repair {shlex.quote(first.report.target)}"
    elif violations:
        yield "Keep the counterexamples as tests", f"rackproof verify {shlex.quote(folder)}"
    targets: dict[Verdict, str] = {}
    for report, _, result in judged(studies):
        targets.setdefault(result.verdict, shlex.quote(report.target))
    if (target := targets.get(Verdict.INCONCLUSIVE)) is not None:
        command = f"rackproof verify --time-limit 30min --memory 8GB {target}"
        yield "Settle what is open with more time and memory", command
    if (target := targets.get(Verdict.HOLDS)) is not None:
        command = f"rackproof verify --engine prove {target}"
        yield "Prove what holds, for runs of any length", command
    if Verdict.VACUOUS in targets:
        yield "Enlarge the scope of what was put to no test: why is told under Results", None


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
    """A sentence about any: {worker} crashes, of a worker."""
    return re.sub(r"{(\w+)}", r"a \1", sentence)


def idle_guards(studies: Iterable[Study]) -> list[Guard]:
    """The lines whose tests came out one way only in all the states of all the cases."""
    together: dict[Place, set[bool]] = {}
    for study in studies:
        for covered in study.covered.values():
            for place, outcomes in covered.outcomes.items():
                together.setdefault(place, set()).update(outcomes)
    return one_sided(together)
