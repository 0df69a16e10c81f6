"""The command ``export`` for runs: from a target to its run, explained, in the form asked for."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs
import click

from rackproof.checker.asking import check, setting_of
from rackproof.checker.engines import Options
from rackproof.checker.exams import Examined
from rackproof.checker.explain import Explanation, asked, explain, explain_replay
from rackproof.checker.replay import replay
from rackproof.checker.report.forms import FORMS
from rackproof.checker.report.screen import shown
from rackproof.checker.report.titles import title
from rackproof.checker.status import Status
from rackproof.checker.targets import Target, expand
from rackproof.checker.verdicts import Result
from rackproof.checker.verify import AS_REPORTED, WITH_FIX, Report, Run, explored, mistake
from rackproof.scenarios.changes import Change
from rackproof.scenarios.schema import Case, Expectation, Scenario
from rackproof.scenarios.worlds import InputError

MOST_SHOWN: Final = 6
"""Verdicts that are told where there is no violation."""


def export(
    text: str,
    form: str,
    names: Sequence[str],
    *,
    fixed: bool = False,
    exam: str | None = None,
    out: str | None = None,
    changes: Sequence[Change] = (),
) -> int:
    """Write a target's run in a form to a file, or to stdout where none is given; exit status."""
    scenario: Scenario | None = None
    try:
        target = _target(text, changes)
        scenario = target.load()
        with contextlib.redirect_stdout(sys.stderr):  # what a model prints is no part of the form
            deep = FORMS[form].is_deep
            explanation = explained(target, scenario, names, fixed=fixed, exam=exam, deep=deep)
        folder = Path(out).parent if out and out != "-" else Path()
        written = FORMS[form].write(attrs.evolve(explanation, folder=folder))
    except (Exception, SystemExit) as error:
        wrong = mistake(error, scenario)
        click.echo(shown("\n".join(wrong.lines)), err=True)
        return wrong.status
    _write(written, out)
    return Status.OK


def explained(
    target: Target,
    scenario: Scenario,
    names: Sequence[str] = (),
    *,
    fixed: bool = False,
    exam: str | None = None,
    deep: bool = False,
) -> Explanation:
    """Explain the run of a target: the one that it has written down, or the shortest violation.

    names: the property that is to be violated, if any is named; of more than one, the first that
    is. deep: with what needs exploring again. ``InputError`` where there is no such run, with what
    was found instead.
    """
    if exam is not None and target.stack is None:
        raise InputError(f"--exam {exam}: {target.label} is no stack")
    if fixed and scenario.fix is None:
        raise InputError(f"{scenario.path}: there is no fix: in this scenario")
    if scenario.steps is not None and not names and not fixed:
        again = asked.line("replay", str(scenario.path))
        return explain_replay(scenario, replay(scenario), again)
    check("property", names, {prop.name for prop in scenario.case.setting.system.properties})
    if target.stack is not None:
        return _of_stack(target, scenario, names, exam, deep)
    cases = {AS_REPORTED: scenario.case, **({WITH_FIX: scenario.fix} if scenario.fix else {})}
    runs = tuple(_explored(label, case, names) for label, case in cases.items())
    report = Report(target.label, target.file, scenario, runs, options=_options(target))
    return _explained(report, runs[fixed], names, deep)


def _options(target: Target) -> Options:
    """What was asked of a target, to be told how it is seen again."""
    return Options(changes=target.changes)


def _target(text: str, changes: Sequence[Change]) -> Target:
    found = expand([text], changes).found
    if len(found) != 1:
        raise InputError(f"{text}: {len(found)} scenarios; export takes one")
    return found[0]


def _explored(label: str, case: Case, names: Sequence[str]) -> Run:
    """A case, explored until the properties that are named are found to be violated, or not."""
    if names and not set(names) <= case.expect.keys():
        case = attrs.evolve(case, expect={name: Expectation("violated") for name in names})
    return explored(label, case, Options(), None)


def _of_stack(
    target: Target, scenario: Scenario, names: Sequence[str], exam: str | None, deep: bool
) -> Explanation:
    """A stack in the exam that is named, or in that of its least violation."""
    from rackproof.scenarios.exams import exams  # noqa: PLC0415
    from rackproof.scenarios.stacks import load_stack  # noqa: PLC0415

    if exam is None and not names:
        raise InputError(f"{target.label}: say where (--exam NAME) or of what (--property NAME)")
    assert target.stack is not None, "it is a stack"
    concerns = load_stack(target.stack).concerns
    where = [exam] if exam else [each.name for each in exams() if each.concerns <= concerns]
    runs = tuple(
        _explored(name, Case(setting_of(target, scenario, name, names)), names) for name in where
    )
    violated = [(run, found) for run in runs if (found := _violation(run, names)) is not None]
    least = min(violated, key=lambda one: _size(one[1]), default=(runs[0], None))[0]
    report = Examined(target.label, None, scenario, runs, options=_options(target))
    return _explained(report, least, names, deep)


def _size(result: Result) -> tuple[int, int]:
    assert result.trace is not None, "only a violation has a size"
    return result.trace.faults, len(result.trace.steps)


def _violation(run: Run, names: Sequence[str]) -> Result | None:
    """The violation that is asked for: of what is named, of what is expected, or of what counts."""
    found = {result.prop.name: result for result in run.results if result.trace is not None}
    expected = [name for name, e in run.case.expect.items() if e.verdict == "violated"]
    wanted = names or [*expected, *(name for name, result in found.items() if result.judged)]
    return next((found[name] for name in wanted if name in found), None)


def _explained(report: Report, run: Run, names: Sequence[str], deep: bool) -> Explanation:
    result = _violation(run, names)
    if result is None:
        raise InputError(_nothing(report, run, names))
    told = explain(report, run, result, asked.again(report, run), deep=deep)
    return attrs.evolve(told, title=title(report, run, result))


def _nothing(report: Report, run: Run, names: Sequence[str]) -> str:
    """What verify says where there is no violation to tell."""
    told = [
        f"{result.prop.name} {_is(result)}"
        for result in run.results
        if result.prop.name in names or (not names and result.judged and not result.is_absent)
    ]
    where = f" ({run.label})" if run.label != AS_REPORTED else ""
    more = f"; and {len(told) - MOST_SHOWN} more" if told[MOST_SHOWN:] else ""
    found = "; ".join(told[:MOST_SHOWN]) + more
    return f"{report.target}{where}: no run violates what is asked, nothing is written: {found}"


def _is(result: Result) -> str:
    word = "holds" if result.is_averted else f"is {result.verdict.value}"
    return f"{word} ({result.reason})" if result.reason else word


def _write(text: str, out: str | None) -> None:
    if out is None or out == "-":
        click.echo(text.encode(), nl=False)  # as in a file, whatever a terminal reads
        return
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"--out {out}: {(error.strerror or '').lower()}") from None
