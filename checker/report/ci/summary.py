"""A summary of a build in Markdown: what is wrong first, each counterexample folded away."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rackproof.checker.engines import Options
from rackproof.checker.explain import explain
from rackproof.checker.explain.footing import of_report
from rackproof.checker.report.ci.checks import Check, checks
from rackproof.checker.report.escaping import UNSEEN, fenced, in_markdown, line, unlinked
from rackproof.checker.report.forms.mermaid import mermaid
from rackproof.checker.report.setting import scope_in_words
from rackproof.checker.verdicts import counted
from rackproof.checker.verify import Report

LARGEST: Final = 1024 * 1024
"""Bytes of a job summary; GitHub shows nothing at all of a larger one."""
MOST_NAMES: Final = 12


def as_summary(reports: Iterable[Report], room: int = LARGEST) -> str:
    """The summary, in at most so many bytes; what is left out of it is told."""
    reports = list(reports)
    found = checks(reports)
    wrong = [check for check in found if check.wrong is not None]
    whole = [
        _head(reports, wrong),
        *map(_details, (check for check in wrong if check.result and check.result.trace)),
        _again(wrong),
        _unchecked(reports),
        _all(found),
    ]
    return within([part for part in whole if part], room)


def within(parts: Sequence[str], room: int) -> str:
    """The parts of a text in Markdown, in order, that fit; a short one may where a long one does
    not.
    """
    left = room - 200
    kept = []
    for part in parts:
        size = len(part.encode()) + 1
        if size <= left:
            kept.append(part)
            left -= size
    gone = len(parts) - len(kept)
    if gone:
        told = f"Left out, as a summary has at most {LARGEST >> 20} MiB"
        kept.append(f"{told}: {counted(gone, 'part')} of {len(parts)}.\n")
    return "\n".join(kept)


def _head(reports: Sequence[Report], wrong: Sequence[Check]) -> str:
    """How many targets are as expected, and a row for each thing that is not."""
    bad = {id(check.report) for check in wrong}
    good = len(reports) - len(bad)
    lines = [f"## rackproof: {good} of {counted(len(reports), 'target')} as expected", ""]
    if wrong:
        lines += ["| | target | what | where | what is wrong |", "|---|---|---|---|---|"]
        lines += [
            _row(mark(check), check.report.target, check.title, _where(check), check.message)
            for check in wrong
        ]
        lines.append("")
    return "\n".join(lines)


def mark(check: Check) -> str:
    """A check in a word."""
    if check.wrong is None:
        return "ok"
    return check.kind if check.is_open else "FAILED"


def _where(check: Check) -> str:
    return "" if check.spot is None else f"{check.spot.path}:{check.spot.line}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(in_markdown(cell) or ' ' for cell in cells)} |"


def _details(check: Check) -> str:
    """The counterexample behind a check, folded away."""
    assert check.result is not None, "only a violation has a counterexample"
    lines = [_opened(f"{check.report.target}: {check.title} is {check.result.words}"), ""]
    lines += [*fenced("\n".join(check.details).split("\n")), "", *_diagram(check), ""]
    return "\n".join([*lines, "</details>", ""])


def _opened(title: str) -> str:
    """The beginning of what is folded away; Markdown is not read in it, names of people are."""
    told = UNSEEN.join(map(html.escape, unlinked(line(title))))
    return f"<details><summary>{told}</summary>"


def _diagram(check: Check) -> list[str]:
    """The counterexample as a sequence diagram."""
    assert check.run is not None, "a counterexample is of a run"
    assert check.result is not None, "a counterexample is of a property"
    explanation = explain(check.report, check.run, check.result, check.reproduce)
    return fenced(mermaid(explanation).splitlines(), "mermaid")


def _again(wrong: Sequence[Check]) -> str:
    """The commands that show what is wrong again."""
    commands = dict.fromkeys(check.reproduce for check in wrong)
    if not commands:
        return ""
    return "\n".join(["### To see it again", "", *fenced(commands, "sh"), ""])


def _unchecked(reports: Sequence[Report]) -> str:
    """What was not looked at, target by target."""
    told = [
        f"- {in_markdown(report.target)}: {in_markdown(text)}"
        for report in reports
        for text in not_checked(report)
    ]
    head = [_opened("What was not checked"), ""]
    head.append("A verdict holds for the scope that was explored, and for no other.")
    return "\n".join([*head, *(["", *told] if told else []), "", "</details>", ""])


def not_checked(report: Report) -> Iterator[str]:
    """What was explored, and what a report says nothing of."""
    for run in report.runs:
        case = f"{run.label}: " if len(report.runs) > 1 else ""
        if words := scope_in_words(run.case.setting):
            yield f"{case}explored was {words}"
    if report.runs:
        names = _uncounted(report)
        if names:
            yield f"does not count: {_several(names)}"
        yield from of_report(report, Options()).not_checked


def _uncounted(report: Report) -> list[str]:
    """The properties that decide nothing: that ``expect`` does not name, or, of a stack, that the
    exams which were asked for say nothing of.
    """
    judged = {result.prop.name for _, result in report.judged}
    return [r.prop.name for r in report.runs[0].results if r.prop.name not in judged]


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if names[MOST_NAMES:] else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _all(found: Sequence[Check]) -> str:
    """Every verdict, folded away."""
    lines = [_opened(f"Every check ({len(found)})"), ""]
    lines += ["| | target | what | verdict | states |", "|---|---|---|---|---|"]
    for check in found:
        words = check.result.words if check.result is not None else check.kind
        states = f"{check.run.findings.states:,}" if check.run is not None else ""
        lines.append(_row(mark(check), check.report.target, check.title, words, states))
    return "\n".join([*lines, "", "</details>", ""])
