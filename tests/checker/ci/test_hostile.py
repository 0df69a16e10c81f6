"""Names that would steer a reader, in everything that a build system reads."""

import html
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from sarif_shape import flaws

from rackproof.checker.engines import Options
from rackproof.checker.exams import report_on
from rackproof.checker.report.ci import github
from rackproof.checker.report.ci.checks import Check, Spot, checks
from rackproof.checker.report.ci.github import LONGEST, MOST, commands
from rackproof.checker.report.ci.junit import as_junit
from rackproof.checker.report.ci.sarif import as_sarif
from rackproof.checker.report.ci.summary import as_summary
from rackproof.checker.report.escaping import line
from rackproof.checker.report.plain import as_text
from rackproof.checker.report.shell import argument
from rackproof.checker.targets import expand
from rackproof.checker.verify import Report

HOSTILE = "</x><script>alert(1)</script>\n::error::|`[a](b){0} %0A,@me \u202e\x1b]8;;\"'&amp;"
WORLD = '''
from rackproof.model import kernel

NAME = {name!r}

@kernel.frozen
class World:
    on: bool = False

@kernel.transition(kernel.fault)
def break_down(world: World) -> World | None:
    """Boom {text}"""
    return None if world.on else kernel.evolve(world, on=True)

@kernel.always(name=NAME)
def stays_off(world: World) -> bool:
    """It stays off {text}

    Broken: It is on {text}
    """
    return not world.on

world = kernel.System(NAME, World(), (break_down,), (stays_off,), {{}})
'''
UTF_8 = {"LC_ALL": "C.UTF-8"}
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A world with such names, in a file with such a name, that is not as expected."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "a,b:c%;@me <b>`|\n::error::"
    folder.mkdir()
    text = HOSTILE.replace("{0}", "").encode("unicode_escape").decode().replace('"', "'")
    world = WORLD.format(name=HOSTILE, text=text)
    (folder / "own.py").write_text(world, encoding="utf-8")
    (target,) = expand([f"{folder.name}/own.py:world"]).found
    found = report_on(target, Options())
    assert found.failure is None, found.failure
    return found


@pytest.mark.parametrize(
    "text", ["a\nb", "it's\\\n\x1b[1m", "\u202e|\udcff$(x)`y`", "plain x", "é\t"]
)
def test_a_command_is_one_line_that_a_shell_reads_back(text: str) -> None:
    told = argument(text)
    assert "\n" not in told
    assert not UNSEEN.search(told)
    script = f"printf %s {told}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env=UTF_8)
    assert done.stdout.decode("utf-8", "surrogateescape") == text


def test_under_pytest_they_do_not_steer_and_the_last_line_shows_it_again(report: Report) -> None:
    text = as_text(report)
    assert not UNSEEN.search(text)
    assert f"\n  To see it again: rackproof verify {argument(report.target)}" in text


def test_in_junit_they_are_texts(report: Report) -> None:
    text = as_junit([report])
    root = ET.fromstring(text)
    assert {item.tag for item in root.iter()} == {
        "testsuites",
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
    }
    assert not UNSEEN.search(text)
    assert "<script>alert(1)</script>" in (root.find(".//failure").text or "")  # type: ignore[union-attr]


def test_a_command_of_github_is_one_and_says_what_they_are(report: Report) -> None:
    text = commands(checks([report]))
    assert text.count("\n") == 1
    found = re.fullmatch(r"::error ([^:]*?)::([^\n]*)\n", text)
    assert found is not None
    properties = dict(pair.split("=", 1) for pair in found[1].split(","))
    assert properties.keys() == {"file", "line", "title"}
    assert "@me <b>`|%0A%3A%3Aerror%3A%3A/own.py" in properties["file"]
    decoded = properties["title"].replace("%2C", ",").replace("%3A", ":").replace("%25", "%")
    assert decoded.startswith(
        "</x><script>alert(1)</script>\\n::error::|`[a](b){0} %0A,@me \\u202e"
    )
    assert not UNSEEN.search(text)


def texts(node: object) -> Iterator[str]:
    """The message texts of a log."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "message":
                yield value["text"]
            else:
                yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)


def test_in_sarif_no_message_has_a_link_or_a_placeholder(report: Report) -> None:
    text = as_sarif([report])
    log = json.loads(text)
    assert not flaws(log)
    found = [*texts(log)]
    assert found
    for message in found:
        assert not re.search(r"(?<!\\)\[", message)
        assert not re.search(r"(?<!\{)\{(?:\{\{)*\d", message)
        assert not UNSEEN.search(message)
    (result,) = log["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[\w.~%/,-]+", uri)


def test_in_the_summary_they_are_texts(report: Report) -> None:
    text = as_summary([report])
    page = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)
    tags = set(re.findall(r"</?([a-z]+)", page))
    assert not tags & {"script", "x", "a", "b", "img"}
    assert "alert(1)" in html.unescape(page)
    assert not UNSEEN.search(text)
    rows = [row for row in text.splitlines() if row.startswith("| FAILED")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert "@me" not in re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def test_github_is_told_of_as_many_errors_as_it_shows(report: Report) -> None:
    found = [
        Check(report, f"check-{n}", "violated", Spot(Path("x"), n + 1), "no") for n in range(12)
    ]
    text = commands(found)
    assert text.count("::error ") == MOST == 10
    where = line(report.target).replace("%", "%25")
    others = "; ".join(f"check-{n} in {where}" for n in (9, 10, 11))
    assert f"3 more errors: {others}" in text.splitlines()[-1]
    assert commands(found[:10]).count("more errors") == 0


def test_the_gravest_errors_come_first_and_are_those_that_are_shown(report: Report) -> None:
    kinds = ("vacuous", "interrupted", "inconclusive", "violated", "bad-input", "our-fault")
    found = [
        Check(report, f"{kind}-{n}", kind, Spot(Path("x"), n + 1), "no", kind != "violated")
        for kind in kinds
        for n in range(4)
    ]
    titles = re.findall(r"line=\d,title=([a-z-]+-\d) in ", commands(found))
    wanted = [c.name for kind in reversed(kinds) for c in found if c.kind == kind]
    assert titles == wanted[:9]
    assert "vacuous-3 in" in commands(found).splitlines()[-1]


def test_what_is_wrong_in_the_same_way_is_one_error(report: Report) -> None:
    found = [
        Check(report, f"check-{n}", "vacuous", Spot(Path("x")), "vacuous: so") for n in range(40)
    ]
    assert commands(found).count("::error ") == 1
    assert "title=check-0%2C check-1%2C check-2 and 37 more in " in commands(found)


def test_a_long_message_is_cut_before_its_last_line(report: Report) -> None:
    found = Check(report, "check", "violated", None, "%" * 3 * LONGEST)
    (told,) = commands([found]).splitlines()
    message = told.split("::", 2)[2].replace("%0A", "\n").replace("%25", "%")
    assert len(message) == LONGEST
    assert "[...]" in message
    assert message.splitlines()[-1].startswith("  To see it again: rackproof verify ")


def test_a_summary_keeps_to_its_room_and_says_so(report: Report) -> None:
    whole = as_summary([report] * 30)
    for room in (600, 3_000, len(whole.encode()) // 2):
        text = as_summary([report] * 30, room)
        assert len(text.encode()) <= room
        assert re.search(r"Left out, as a summary has at most 1 MiB: \d+ parts of 34\.", text)
    assert "Left out" not in whole


def test_commands_are_off_while_people_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github.secrets, "token_hex", lambda _: "abc")
    told: list[str] = []
    with github.no_commands(told.append):
        told.append("::error::x")
    assert told == ["::stop-commands::abc", "::error::x", "::abc::"]
