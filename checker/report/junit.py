"""The report as JUnit XML: a suite for each target, a case for each property that counts.

What could not be told is an error and what nothing put to the test a failure: a build must not be
green because a check was skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

from rackproof.checker.report.counterexample import counterexample
from rackproof.checker.status import Status
from rackproof.checker.verdicts import Result, Verdict
from rackproof.checker.verify import Report, Run

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(reports: Sequence[Report]) -> str:
    """The whole document."""
    root = ET.Element("testsuites", name="rackproof")
    for report in reports:
        _suite(root, report)
    ET.indent(root)
    return _NOT_XML.sub("?", ET.tostring(root, encoding="unicode", xml_declaration=False)) + "\n"


def _suite(root: ET.Element, report: Report) -> None:
    suite = ET.SubElement(root, "testsuite", name=report.target, time=f"{report.seconds:.3f}")
    for run, result in report.judged:
        _result(suite, report, run, result)
    for label in report.untested:
        case = _case(suite, report, f"something was tested, {label}", None)
        _add(case, "failure", "no property was put to the test", "vacuous")
    if report.replayed is not None:
        case = _case(suite, report, "steps", None)
        if report.replayed.complaints:
            _add(case, "failure", "\n".join(report.replayed.complaints), "replay")
    if report.failure is not None:
        case = _case(suite, report, "can be verified", None)
        text = "\n".join([*report.failure.lines, report.failure.traceback or ""]).strip()
        _add(case, "error", text, report.failure.status.name.lower())
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite)))
    suite.set("skipped", "0")


def _result(suite: ET.Element, report: Report, run: Run, result: Result) -> None:
    case = _case(suite, report, f"{result.prop.name}, {run.label}", run)
    vacuous = result.verdict is Verdict.VACUOUS
    text = result.complaint or (f"vacuous: {result.reason}" if vacuous else None)
    if text is None:
        return
    if result.trace is not None:
        again = f"rackproof verify {report.target}"
        text = "\n".join([text, "", *counterexample(report, result, again)])
    kind = "error" if result.status is Status.INCONCLUSIVE else "failure"
    _add(case, kind, text, result.verdict.value)


def _case(suite: ET.Element, report: Report, name: str, run: Run | None) -> ET.Element:
    seconds = run.findings.seconds / max(len(run.results), 1) if run else 0.0
    return ET.SubElement(
        suite, "testcase", classname=report.target, name=name, time=f"{seconds:.3f}"
    )


def _add(case: ET.Element, kind: str, text: str, sort: str) -> None:
    item = ET.SubElement(case, kind, message=text.split("\n", 1)[0], type=sort)
    item.text = text
