"""The report on one target as plain text, for a test that fails."""

from __future__ import annotations

from rackproof.checker.explain.asked import again
from rackproof.checker.report.counterexample import counterexample
from rackproof.checker.report.screen import shown
from rackproof.checker.verdicts import Verdict
from rackproof.checker.verify import Report


def shortfalls(report: Report) -> list[str]:
    """What a test does not let pass: complaints, and what counts but was not put to the test."""
    return report.complaints + untested(report)


def untested(report: Report) -> list[str]:
    """What counts but was not put to the test, and is no complaint; not what the world has none of:
    nobody asked for that.
    """
    return [
        f"{result.prop.name}: vacuous: {result.reason}"
        for run in report.runs
        for result in run.results
        if result.judged and result.verdict is Verdict.VACUOUS
        if not result.complaint and not result.is_absent
    ]


def as_text(report: Report) -> str:
    """What falls short, and the counterexamples behind it."""
    lines = [f"{report.name} ({report.target})" if report.scenario else report.target]
    lines += [f"  {line}" for line in shortfalls(report)]
    violated = [
        (run, result)
        for run in report.runs
        for result in run.results
        if result.trace is not None and result.complaint
    ]
    for run, result in violated:
        lines += ["", *counterexample(report, result, again(report, run), other_run=False)]
    if report.failure and report.failure.traceback:
        lines += ["", report.failure.traceback]
    return shown("\n".join(lines if violated else [*lines, f"  To see it again: {again(report)}"]))
