"""Each target in detail: its cases, how they were explored, and why each verdict is what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from rackproof.checker.coverage import one_sided
from rackproof.checker.engines import Options
from rackproof.checker.exams import Examined
from rackproof.checker.explain.footing import of_report
from rackproof.checker.proof.certificate import certificate
from rackproof.checker.report import stack
from rackproof.checker.report.proofs import proofs
from rackproof.checker.report.repair import change
from rackproof.checker.report.review.folder import PROOFS, Folder, called
from rackproof.checker.report.review.matrix import Cell, Linked, cell, results
from rackproof.checker.report.review.study import Study
from rackproof.checker.report.setting import assumed, differences, remedy, scope_in_words
from rackproof.checker.report.style import MARKS
from rackproof.checker.status import Status
from rackproof.checker.verdicts import Result, Verdict, counted
from rackproof.checker.verify import WITH_FIX, Report, Run
from rackproof.scenarios.steps import kebab


@frozen
class Line:
    """A property in a case: its verdict, what was expected of it, why it is so, what mends it."""

    name: str
    statement: str
    cell: Cell
    expected: str
    why: str
    mends: str
    certificate: str | None
    where: str = ""


@frozen
class Told:
    """A case: how it was explored, and its properties."""

    label: str
    scope: str | None
    explored: tuple[tuple[str, str], ...]
    changes: tuple[str, ...]
    lines: tuple[Line, ...]
    idle: tuple[str, ...]
    guards: tuple[str, ...]


@frozen
class Entry:
    """A target: what it is called, how it went, its cases, what else was found.

    next_moves: commands, each with what it is for.
    """

    name: str
    target: str
    mark: str
    fine: bool
    source: str | None
    complaints: tuple[str, ...]
    remarks: tuple[str, ...]
    judged: tuple[Line, ...]
    cases: tuple[Told, ...]
    not_checked: tuple[str, ...]
    next_moves: tuple[tuple[str, str], ...]


Certificates = Mapping[int, str]
"""Where the certificate of a proof is, by its identity, from the index."""


def certificates(
    reports: Sequence[Report], folder: Folder
) -> tuple[dict[int, str], dict[str, str]]:
    """The certificate of each proof: where it is, and the texts of the files."""
    places: dict[int, str] = {}
    texts: dict[str, str] = {}
    for report in reports:
        for run in report.runs:
            for proof, names in proofs(run):
                stem = folder.stem(called(report, run, names[0]), PROOFS, (".smt2",))
                places[id(proof)] = f"{PROOFS}/{stem}.smt2"
                text = certificate(report.world, run.label, proof).document.text
                texts[places[id(proof)]] = text
    return places, texts


def entry(study: Study, options: Options, linked: Linked, found: Certificates) -> Entry:
    """What is told of a target."""
    report = study.report
    footing = of_report(report, options)
    examined = report if isinstance(report, Examined) else None
    lines = () if examined is None else tuple(_examined(examined, linked, found))
    return Entry(
        name=report.name,
        target=report.target,
        mark=MARKS[report.status][0],
        fine=report.status is Status.OK,
        source=report.scenario.source if report.scenario else None,
        complaints=tuple(report.complaints),
        remarks=tuple(_remarks(study)),
        judged=lines,
        cases=tuple(_case(study, run, linked, found) for run in report.runs),
        not_checked=footing.not_checked,
        next_moves=tuple(map(move, footing.next_moves)),
    )


def move(told: str) -> tuple[str, str]:
    """A next move: the command, if it is one, and what it is for."""
    command, comment, what = told.partition("  # ")
    return (command, what) if comment else ("", told)


def _remarks(study: Study) -> Iterator[str]:
    report = study.report
    if report.scenario is not None and (told := assumed(report.scenario.case.setting)):
        yield f"Note: {told}."
    if report.note:
        yield f"Note: {report.note}."
    for one in report.diagnosis.needs if report.diagnosis else ():
        yield f"{one.name} needs {', '.join(one.needed) or 'no mechanism'} in this scope."


def _examined(report: Examined, linked: Linked, found: Certificates) -> Iterator[Line]:
    """The result that decides each property, with the exam it is of."""
    for run, result in report.judged:
        if not result.is_absent:
            yield _line(report, run, result, linked, found, stack.where(report, run, result))


def _case(study: Study, run: Run, linked: Linked, found: Certificates) -> Told:
    report, covered = study.report, study.covered.get(run.label)
    return Told(
        label=run.label,
        scope=scope_in_words(run.case.setting),
        explored=tuple(_explored(run)),
        changes=tuple(_changes(report, run)),
        lines=tuple(_line(report, run, r, linked, found) for r in results(report, run)),
        idle=tuple(kebab(name) for name in run.findings.idle),
        guards=tuple(map(str, one_sided(covered.outcomes))) if covered else (),
    )


def _explored(run: Run) -> Iterator[tuple[str, str]]:
    """How, and how much."""
    findings = run.findings
    yield "engine", findings.engine
    yield "states", f"{findings.states:,}"
    yield "transitions", f"{findings.transitions:,}"
    yield "depth", str(findings.depth)
    yield "all states", "seen" if findings.reason is None else f"not seen: {findings.reason}"
    if findings.note:
        yield "note", findings.note


def _changes(report: Report, run: Run) -> Sequence[str]:
    """What a fix changes."""
    if run.label != WITH_FIX or not report.scenario:
        return ()
    return differences(report.scenario.case.setting, run.case.setting)


def _line(
    report: Report,
    run: Run,
    result: Result,
    linked: Linked,
    found: Certificates,
    where: str = "",
) -> Line:
    return Line(
        name=result.prop.name,
        statement=result.prop.statement,
        cell=cell(result, linked),
        expected=_expected(result),
        why=_why(run, result),
        mends=_mends(report, run, result),
        certificate=found.get(id(result.proof)) if result.proof else None,
        where=where,
    )


def _expected(result: Result) -> str:
    expected = result.expected
    if expected is None:
        return "not to be violated"
    sizes = {"fault": expected.faults, "step": expected.steps}
    told = [counted(size, what) for what, size in sizes.items() if size is not None]
    return f"{expected.verdict}: {', '.join(told)}" if told else expected.verdict


def _why(run: Run, result: Result) -> str:
    """Why a verdict is what it is."""
    proof, findings = result.proof, run.findings
    if result.verdict is Verdict.PROVED and proof is not None:
        anything = f" for any {', '.join(proof.open)}" if proof.open else ""
        clauses = counted(len(proof.clauses), "clause")
        checkers = " and ".join(proof.checkers)
        return f"by an invariant of {clauses}{anything} ({proof.method}), confirmed by {checkers}"
    if result.reason:
        return result.reason
    if result.verdict is Verdict.HOLDS:
        return f"in all of the {counted(findings.states, 'state')} of the scope"
    if result.fewest_faults and result.trace is not None and result.trace.faults:
        return "no run with fewer faults violates it"
    return ""


def _mends(report: Report, run: Run, result: Result) -> str:
    """What mends a violation, as far as that was found."""
    if result.trace is None:
        return ""
    if isinstance(report, Examined):
        return stack.mended(report, result.prop.name) or "" if result.judged else ""
    if run.label == WITH_FIX:
        return ""
    if report.diagnosis is None:
        return remedy(report, result) or ""
    repairs = [one for one in report.diagnosis.repairs if one.names == (result.prop.name,)]
    told = [change(report.diagnosis, repair, False) for one in repairs for repair in one.found]
    return "; or ".join(told)
