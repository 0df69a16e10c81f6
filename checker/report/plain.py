"""The report on one target as plain text, for a test that fails."""

from __future__ import annotations

from rackproof.checker.report.counterexample import counterexample
from rackproof.checker.verdicts import Verdict
from rackproof.checker.verify import Report


def shortfalls(report: Report) -> list[str]:
    """What a test does not let pass: complaints, and what counts but was not put to the test."""
    vacuous = [
        f"{result.prop.name}: vacuous: {result.reason}"
        for run in report.runs
        for result in run.results
        if result.judged and result.verdict is Verdict.VACUOUS and not result.complaint
    ]
    return report.complaints + vacuous


def as_text(report: Report) -> str:
    """What falls short, and the counterexamples behind it."""
    lines = [f"{report.name} ({report.target})" if report.scenario else report.target]
    lines += [f"  {line}" for line in shortfalls(report)]
    for run in report.runs:
        for result in run.results:
            if report.scenario and result.trace is not None and result.complaint:
                again = f"rackproof verify {report.target}"
                lines += ["", *counterexample(report, result, again)]
    if report.failure and report.failure.traceback:
        lines += ["", report.failure.traceback]
    return "\n".join(lines)
