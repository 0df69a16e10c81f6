"""The report as JUnit XML: a suite for each target, a case for each property that counts.

What could not be told, and what nothing put to the test, is an error: a build must not be green
because a check was skipped.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from rackproof.checker.report.ci.checks import Check, checks
from rackproof.checker.report.escaping import line
from rackproof.checker.report.screen import shown
from rackproof.checker.verify import Report

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(reports: Iterable[Report]) -> str:
    """The whole document."""
    root = ET.Element("testsuites", name="rackproof")
    for report in reports:
        _suite(root, report)
    return as_xml(root)


def as_xml(root: ET.Element) -> str:
    """A document as text, in which is nothing that XML does not have."""
    ET.indent(root)
    return _NOT_XML.sub("?", ET.tostring(root, encoding="unicode", xml_declaration=False)) + "\n"


def _suite(root: ET.Element, report: Report) -> None:
    suite = ET.SubElement(
        root, "testsuite", name=line(report.target), time=f"{report.seconds:.3f}", skipped="0"
    )
    found = checks([report])
    told = {"scenario": report.name, **{c.title: c.reproduce for c in found if c.wrong}}
    properties = ET.SubElement(suite, "properties")
    for name, value in told.items():
        shown_name = name if name == "scenario" else f"to see it again: {name}"
        ET.SubElement(properties, "property", name=line(shown_name), value=line(value))
    for _, group in itertools.groupby(found, lambda check: check.title):
        _case(suite, report, [*group])
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))


def _case(suite: ET.Element, report: Report, found: Sequence[Check]) -> None:
    """A case, with all that is wrong about it in one failure or error."""
    check, run = found[0], found[0].run
    seconds = run.findings.seconds / max(len(run.results), 1) if run else 0.0
    case = ET.SubElement(
        suite,
        "testcase",
        classname=line(report.target),
        name=line(check.title),
        time=f"{seconds:.3f}",
    )
    if check.spot is not None:
        case.set("file", line(check.spot.path))
        case.set("line", str(check.spot.line))
    if check.wrong is not None:
        kind = "error" if check.is_open else "failure"
        first = check.message.split("\n", 1)[0]
        item = ET.SubElement(case, kind, message=line(first), type=check.kind)
        wrong = [one.wrong or "" for one in found]
        item.text = shown("\n".join([*wrong, "", *check.details]))
