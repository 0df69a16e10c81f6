"""Every kind of outcome in everything that a build system reads; docs/ci.md has the table."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rackproof.checker.engines import Options
from rackproof.checker.exams import report_on
from rackproof.checker.report.ci.checks import checks, not_done
from rackproof.checker.report.ci.github import commands
from rackproof.checker.report.ci.junit import as_junit
from rackproof.checker.report.ci.sarif import as_sarif
from rackproof.checker.report.ci.summary import as_summary
from rackproof.checker.report.plain import shortfalls
from rackproof.checker.session import Session
from rackproof.checker.status import Status
from rackproof.checker.targets import expand
from rackproof.checker.verify import Failure, Report

ROOT = Path(__file__).parents[3]
WORLDS = ROOT / "tests" / "support" / "worlds.py"
LOST, CALM = (
    "rackproof: 1\nname: A pool\nworld: own.py:" + name + "\n" for name in ("lost", "calm")
)
EMPTY = CALM.replace("calm", "empty")
NOBODY = '''
from rackproof.model import kernel

Ghosts = kernel.Identifiers("ghost")


@kernel.always(ghost=Ghosts)
def is_no_ghost(world: object, ghost: int) -> bool:
    """{ghost} is none."""
    return False


@kernel.always()
def is_so(world: object) -> bool:
    """It is so."""
    return True


empty = kernel.evolve(calm, properties=(is_so, is_no_ghost), sizes={**calm.sizes, "ghost": 0})
'''
SILENT = """\
rackproof: 1
name: No transfer, no slow read
rack: {preset: nvl72, aggregated: 1}
scope: {tokens: 1, faults: {slow-read: 1}}
expect: {bounded-retries: holds}
"""
STEP = "steps:\n- finish: {request: request-0}\n"
SCENARIOS = {
    "as expected": LOST + "expect: {answered: violated, fails-last: holds}\n",
    "a violation that nobody expected": LOST,
    "another verdict than expected": LOST + "expect:\n  fails-last: violated\n",
    "another length than expected": LOST + "expect: {answered: {violated: {steps: 9}}}\n",
    "vacuous, expected to hold": CALM + "expect:\n  answered: holds\n  fails-last: holds\n",
    "vacuous, nothing expected": CALM,
    "the world has none of it, nothing expected": EMPTY,
    "a fault that never took effect": SILENT,
    "inconclusive": LOST + "expect: {fails-last: holds}\n",
    "seen to hold, expected to be proved": LOST + "expect: {fails-last: proved}\n",
    "a written step that is not possible": LOST + "expect: {answered: violated}\n" + STEP,
    "bad input": LOST + "expct: 3\n",
}
HURRIED = "inconclusive"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Report]:
    """The report on each outcome, from scenarios in a folder of their own."""
    folder = tmp_path_factory.mktemp("builds")
    text = WORLDS.read_text(encoding="utf-8")
    more = f"lost = pool(2, 1, 2)\ncalm = pool(2, 1, 0)\n{NOBODY}"
    (folder / "own.py").write_text(text + more, encoding="utf-8")
    found = {}
    for outcome, scenario in SCENARIOS.items():
        file = folder / f"{re.sub('[^a-z]+', '-', outcome)}.yaml"
        file.write_text(scenario, encoding="utf-8")
        (target,) = expand([str(file)]).found
        found[outcome] = report_on(target, Options(seconds=1e-9 if outcome == HURRIED else None))
    (target,) = expand(["later.yaml"]).found
    crash = Failure(("a fault of rackproof itself: E",), Status.OUR_FAULT, "Traceback")
    found["a fault of rackproof itself"] = Report("x.yaml", Path("x.yaml"), failure=crash)
    found["interrupted before its end"] = not_done(target)
    return found


def table() -> dict[str, list[str]]:
    """The rows of the page, by outcome."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows if len(row) == 7 and row[0] != "what was found"}


def in_junit(report: Report) -> str:
    (suite,) = ET.fromstring(as_junit([report]))
    counts = suite.get("failures"), suite.get("errors")
    tags = {tag for tag in ("failure", "error") if next(suite.iter(tag), None) is not None}
    assert len(tags) < 2
    assert suite.get("skipped") == "0"
    assert counts == tuple(
        str(len(suite.findall(f"testcase/{tag}"))) for tag in ("failure", "error")
    )
    return next(iter(tags), "passes")


def in_pytest(report: Report) -> str:
    return "fails" if shortfalls(report) else "passes"


def in_github(report: Report) -> str:
    told = commands(checks([report]))
    (run,) = json.loads(as_sarif([report]))["runs"]
    assert bool(told) == bool(run["results"])
    assert all(result["level"] == "error" for result in run["results"])
    return "error" if told.startswith("::error ") else "nothing"


def in_summary(report: Report) -> str:
    text = as_summary([report])
    words = re.findall(r"^\| ([\w-]+) \| (?!what)", text, re.MULTILINE)
    return words[0] if words[0] != "target" else words[1]


def test_the_page_has_every_outcome(reports: Mapping[str, Report]) -> None:
    assert table().keys() == reports.keys()


@pytest.mark.parametrize(
    "outcome", [*SCENARIOS, "a fault of rackproof itself", "interrupted before its end"]
)
def test_each_outcome_is_told_as_the_page_says(reports: Mapping[str, Report], outcome: str) -> None:
    report = reports[outcome]
    found = [in_junit(report), in_github(report), in_summary(report), in_pytest(report)]
    strict = Session(Options(), strict=True, reports=[report]).status
    assert [*found, str(int(report.status)), str(int(strict))] == table()[outcome]


def test_nothing_that_falls_short_is_green(reports: Mapping[str, Report]) -> None:
    for outcome, report in reports.items():
        if table()[outcome][-1] != "0":
            assert in_junit(report) != "passes"
            assert in_github(report) != "nothing"
            assert in_summary(report) != "ok"
            assert in_pytest(report) != "passes"


def test_what_is_strict_fails_where_a_test_does(reports: Mapping[str, Report]) -> None:
    for outcome, report in reports.items():
        status = Session(Options(), strict=True, reports=[report]).status
        assert (status is Status.OK) == (in_pytest(report) == "passes"), outcome


def test_a_target_that_cannot_be_verified_is_called_so(reports: Mapping[str, Report]) -> None:
    report = reports["bad input"]
    assert "title=cannot be verified in " in commands(checks([report]))
    assert {r["ruleId"] for r in json.loads(as_sarif([report]))["runs"][0]["results"]} == {
        "rackproof/bad-input"
    }


def test_a_case_is_named_only_where_there_are_several(reports: Mapping[str, Report]) -> None:
    for outcome, report in reports.items():
        assert "as reported" not in as_junit([report]) + as_sarif([report]), outcome


def test_a_complaint_stands_at_the_line_that_is_not_met(reports: Mapping[str, Report]) -> None:
    places = {
        "another verdict than expected": [(5, 3)],
        "another length than expected": [(4, 10)],
        "vacuous, expected to hold": [(6, 3)],
        "a violation that nobody expected": [(1, 0)],
        "a written step that is not possible": [(6, 0)],
        "bad input": [(4, 1)],
    }
    for outcome, wanted in places.items():
        wrong = [check for check in checks([reports[outcome]]) if check.wrong]
        assert [(c.spot.line, c.spot.column) for c in wrong if c.spot] == wanted, outcome


def test_a_violation_with_the_fix_is_summed_up_too(tmp_path: Path) -> None:
    text = WORLDS.read_text(encoding="utf-8")
    (tmp_path / "own.py").write_text(f"{text}lost = pool(2, 1, 2)\nmore = pool(2, 1, 2)\n", "utf-8")
    fix = "expect: {answered: violated}\nfix: {world: own.py:more}\n"
    (tmp_path / "fixed.yaml").write_text(LOST + fix, encoding="utf-8")
    (target,) = expand([str(tmp_path / "fixed.yaml")]).found
    report = report_on(target, Options())
    (wrong,) = (check for check in checks([report]) if check.wrong)
    assert (wrong.title, wrong.spot and wrong.spot.line) == ("answered, with the fix", 5)
    text = as_summary([report])
    assert "sequenceDiagram" in text
    assert "does not count: fails-last" in text


def test_why_is_told(reports: Mapping[str, Report]) -> None:
    assert "slow-read never took effect" in as_junit([reports["a fault that never took effect"]])
    assert "out of time" in as_junit([reports["inconclusive"]])
    (wrong,) = (c.wrong for c in checks([reports["seen to hold, expected to be proved"]]))
    assert wrong == "expected proved, but it holds in this scope only: a search proves nothing"
