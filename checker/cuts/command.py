"""The command ``cuts``: from a target and what is asked of it to a report."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Sequence
from typing import Any, Final

from attrs import field, frozen
from rich.text import Text

from rackproof.checker.compare import compare
from rackproof.checker.cuts.search import cut_sets
from rackproof.checker.lowering import lower
from rackproof.checker.report.cuts import CutReport
from rackproof.checker.report.progress import Ticker
from rackproof.checker.report.setting import scope_in_words
from rackproof.checker.session import Session, as_json
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target, expand
from rackproof.checker.verify import failure
from rackproof.model.kernel import Kind
from rackproof.scenarios.errors import unknown
from rackproof.scenarios.schema import Scenario, Setting
from rackproof.scenarios.settings import with_faults
from rackproof.scenarios.steps import kebab
from rackproof.scenarios.worlds import InputError

DEFAULT_EXAM: Final = "crash"
"""A request to two workers, the scope in which a stack is examined."""


@frozen
class Asked:
    """What is asked of every target: which properties (all, if none), sets of up to how many
    events, of which faults (all that the world has, if none), and in which exam a stack.
    """

    most: int
    properties: Sequence[str] = ()
    faults: Sequence[str] = ()
    exam: str | None = None
    markdown: str | None = None
    reports: list[CutReport] = field(factory=list)


def tell_cuts(texts: Sequence[str], asked: Asked, session: Session) -> int:
    """Examine every target and report; the exit status."""
    session.check_outputs()
    terminal, statuses = session.terminal(), [Status.OK]
    for target in expand(texts).found:
        scenario: Scenario | None = None
        try:
            scenario = target.load()
            with Ticker(target.label, session.verbosity) as ticker:
                report = _report(target, scenario, asked, session, ticker)
        except (Exception, SystemExit) as error:
            wrong = failure(error, scenario)
            terminal.failed(wrong)
            statuses.append(wrong.status)
            continue
        asked.reports.append(report)
        _print(report, session)
        statuses.append(Status.OK if report.is_conclusive else Status.INCONCLUSIVE)
    session.write(session.json_file, lambda: as_json([report.data() for report in asked.reports]))
    session.write(asked.markdown, lambda: "\n".join(r.markdown() for r in asked.reports))
    return worst([*session.troubles, *statuses])


def _print(report: CutReport, session: Session) -> None:
    out = session.terminal().out
    if session.verbosity > 0:
        out.print("\n".join(report.runs()), soft_wrap=True)
    out.print(Text(f"cut sets of {report.target}", "bold"), soft_wrap=True)
    if report.scope and session.verbosity >= 0:
        out.print(f"scope: {report.scope}", soft_wrap=True)
    if report.broken:
        out.print(report.table(), crop=False)
    if session.verbosity >= 0:
        out.print("\n".join(report.lines(session.verbosity > 0)), soft_wrap=True)
    out.print()


def _report(
    target: Target, scenario: Scenario, asked: Asked, session: Session, progress: Any
) -> CutReport:
    setting, faults = _setting(target, scenario, asked)
    names = {prop.name for prop in setting.system.properties}
    _check("property", asked.properties, names)
    with contextlib.redirect_stdout(sys.stderr):  # what a model prints is no report
        if setting.file is not None:
            compare(lower(setting.system))
        found = cut_sets(
            setting.system,
            faults,
            asked.most,
            session.options,
            asked.properties or None,
            progress,
        )
    return CutReport(
        target.label, found, scope_in_words(setting, with_faults=False), bool(asked.faults)
    )


def _setting(target: Target, scenario: Scenario, asked: Asked) -> tuple[Setting, Collection[str]]:
    """The world with the faults that were asked for, and their transitions."""
    from rackproof.model.scope import fault_names  # noqa: PLC0415

    setting = scenario.case.setting if target.stack is None else _exam(target.stack, asked)
    if setting.bundled is None:
        known = {kebab(t.name): t.name for t in setting.system.transitions}
        own = [kebab(t.name) for t in setting.system.transitions if t.kind is Kind.FAULT]
        _check("transition", asked.faults, known)
        return setting, {known[name] for name in asked.faults or own}
    _check("fault", asked.faults, fault_names())
    setting = with_faults(setting, scenario.path.parent, asked.faults or None, asked.most)
    return setting, {name for names in setting.faults.values() for name in names}


def _exam(stack: str, asked: Asked) -> Setting:
    from rackproof.scenarios.exams import FOLDER, read_exam  # noqa: PLC0415

    name = asked.exam or DEFAULT_EXAM
    _check("exam", [name], [path.stem for path in FOLDER.glob("*.yaml")])
    return read_exam(FOLDER / f"{name}.yaml").setting(stack)


def _check(what: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(unknown(what, name, known))
