"""For builds: JUnit XML, a suite a capture, with a case for each request that is not plainly
accepted, and one for all the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from rackproof.checker.conform.conformity import Conformity, Told
from rackproof.checker.report.ci.junit import as_xml
from rackproof.checker.report.conform.words import verdict
from rackproof.checker.report.escaping import line
from rackproof.checker.report.screen import shown
from rackproof.checker.status import Status
from rackproof.checker.verdicts import counted


def as_junit(captures: Iterable[Conformity]) -> str:
    """The whole document."""
    root = ET.Element("testsuites", name="rackproof conform")
    for found in captures:
        _suite(root, found)
    return as_xml(root)


def _suite(root: ET.Element, found: Conformity) -> None:
    name = line(found.label)
    suite = ET.SubElement(root, "testsuite", name=name, time=f"{found.seconds:.3f}", skipped="0")
    properties = ET.SubElement(suite, "properties")
    for key, value in (("against", found.against), ("to see it again", found.again)):
        ET.SubElement(properties, "property", name=key, value=line(value))
    for told in found.in_full:
        _case(suite, name, told)
    _rest(suite, name, found)
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))


def _case(suite: ET.Element, capture: str, told: Told) -> None:
    """A request: failed where it is rejected or breaks what is not known, an error where open."""
    case = ET.SubElement(suite, "testcase", classname=capture, name=line(told.name), time="0.000")
    if told.place is not None:
        case.set("file", line(told.place.file))
        case.set("line", str(told.place.line or 1))
    text = shown("\n".join(told.lines))
    if told.status is Status.OK:
        ET.SubElement(case, "system-out").text = text
        return
    kind = "error" if told.status is Status.INCONCLUSIVE else "failure"
    item = ET.SubElement(case, kind, message=line(told.title), type=told.status.name.lower())
    item.text = text


def _rest(suite: ET.Element, capture: str, found: Conformity) -> None:
    """All others: failed where some of them are as bad and there are too many to tell."""
    left = found.tally.count - len(found.in_full)
    name = f"{counted(left, f'other {found.noun}')}"
    case = ET.SubElement(suite, "testcase", classname=capture, name=name, time="0.000")
    untold = found.not_plain - len(found.in_full)
    if found.failure is not None:
        message = line(found.failure.lines[0]) if found.failure.lines else "could not be read"
        item = ET.SubElement(case, "error", message=message, type="bad-input")
        item.text = shown("\n".join(found.failure.lines))
    elif not found.tally.count:
        ET.SubElement(case, "error", message=verdict(found.tally, found.noun), type="bad-input")
    elif untold and found.status is not Status.OK:
        told = f"{counted(untold, found.noun)} more that are not plainly accepted"
        ET.SubElement(case, "failure", message=told, type="too-many")
