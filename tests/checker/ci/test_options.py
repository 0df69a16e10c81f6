"""The options of verify for builds: what is written where, and what is refused before anything."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rackproof.checker import session
from rackproof.checker.cli import run
from rackproof.checker.report.ci.summary import LARGEST

ROOT = Path(__file__).parents[3]
LEASE = ROOT / "docs" / "examples"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the lease in it, in no build."""
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    protocols = tmp_path / "protocols"
    protocols.mkdir()
    for name in ("lease.py", "lease.yaml"):
        shutil.copy(LEASE / name, protocols)
    text = (protocols / "lease.yaml").read_text(encoding="utf-8")
    (protocols / "wrong.yaml").write_text(text.replace("steps: 3", "steps: 4"), encoding="utf-8")
    monkeypatch.chdir(protocols)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sarif", "no/x"], "--sarif no/x: there is no such folder"),
        (["--summary", "no/x"], "--summary no/x: there is no such folder"),
        (["--sarif", "."], "is a directory"),
        (["--summary", ""], "is empty"),
        (["--junit", "-", "--sarif", "-"], "--junit and --sarif cannot both go to stdout"),
        (["--json", "-", "--summary", "-"], "--json and --summary cannot both go to stdout"),
        (["--junit", "x", "--sarif", "./x"], "--junit x and --sarif ./x: are the same file"),
        (["--json", "x", "--summary", "../protocols/x"], "are the same file"),
        (["--annotations", "jenkins"], "'jenkins' is not"),
        (["--annotations"], "requires an argument"),
        (["--exam", "crash"], "--exam crash: none of these is a stack"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["verify", "lease.yaml", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("option", ["--sarif", "--summary"])
def test_what_cannot_be_written_is_told_and_so_is_what_was_found(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert run(["verify", "lease.yaml", option, "/dev/full", "--junit", "/dev/null"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "/dev/full: cannot be written: no space left on device\n"
    assert "all as expected" in captured.out


def test_a_bad_exam_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "stack:dynamo", "--exam", "crsh"]) == 2
    assert "there is no exam 'crsh'; did you mean crash?" in capsys.readouterr().out
    assert run(["verify", "stack:sglang", "--exam", "store-chain"]) == 2
    told = "exam store-chain: the file of stack sglang says nothing of store"
    assert told in capsys.readouterr().out


def test_a_stack_in_one_exam_is_judged_by_what_it_speaks_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "stack:reference", "--exam", "calm", "--json", "x.json"]) == 0
    (data,) = json.loads(Path("x.json").read_text(encoding="utf-8"))
    assert [exam["name"] for exam in data["exams"]] == ["calm"]
    verdicts = {prop["name"]: prop["verdict"] for prop in data["properties"]}
    assert verdicts["no-lost-tokens"] == "holds"
    assert "rooms-empty" not in verdicts
    capsys.readouterr()


def annotated(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The commands to GitHub beyond those that guard the report for people."""
    lines = capsys.readouterr().out.splitlines()
    token = lines[0].removeprefix("::stop-commands::")
    return lines[lines.index(f"::{token}::") + 1 :]


def test_annotations_come_after_the_report_and_name_files_as_the_project_has_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    assert run(["verify", "wrong.yaml", "lease.yaml", "--annotations", "github"]) == 1
    (here,) = annotated(capsys)
    assert here.startswith("::error file=wrong.yaml,line=8,col=10,title=no-overwrite-in-flight in ")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder))
    assert run(["verify", "wrong.yaml", "--annotations", "github", "--sarif", "x"]) == 1
    (there,) = annotated(capsys)
    assert there.startswith("::error file=protocols/wrong.yaml,line=8,")
    (result,) = json.loads(Path("x").read_text(encoding="utf-8"))["runs"][0]["results"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    places = [step["location"]["physicalLocation"] for step in steps]
    assert {place["artifactLocation"]["uri"] for place in places} == {"protocols/lease.py"}
    lines = (LEASE / "lease.py").read_text(encoding="utf-8").splitlines()
    begun = [lines[place["region"]["startLine"]] for place in places]
    assert [text.split("(")[0] for text in begun] == ["def start", "def slow_read", "def reuse"]


def test_where_all_is_as_expected_there_is_no_annotation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "lease.yaml", "--annotations", "github"]) == 0
    assert annotated(capsys) == []


def test_the_summary_of_a_job_is_added_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "job.md")
    Path("job.md").write_text("before\n", encoding="utf-8")
    assert run(["verify", "lease.yaml"]) == 0
    assert Path("job.md").read_text(encoding="utf-8") == "before\n"
    assert run(["verify", "lease.yaml", "--annotations", "github", "--summary", "own.md"]) == 0
    own = Path("own.md").read_text(encoding="utf-8")
    assert own.startswith("## rackproof: 1 of 1 target as expected\n")
    assert Path("job.md").read_text(encoding="utf-8") == f"before\n{own}"
    assert run(["verify", "lease.yaml", "--summary", "./job.md"]) == 0
    assert Path("job.md").read_text(encoding="utf-8") == f"before\n{own}{own}"
    Path("job.md").write_text("x" * (LARGEST - 700), encoding="utf-8")
    assert run(["verify", "wrong.yaml", "--annotations", "github"]) == 1
    assert len(Path("job.md").read_bytes()) <= LARGEST
    assert "Left out" in Path("job.md").read_text(encoding="utf-8")
    capsys.readouterr()


def test_what_an_interrupt_left_out_is_an_error_everywhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report_on, calls = session.report_on, []

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return report_on(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "report_on", interrupted)
    files = ["--junit", "x.xml", "--sarif", "x.sarif", "--summary", "x.md"]
    arguments = ["lease.yaml", "wrong.yaml", "lease.py:world", *files, "--annotations", "github"]
    assert run(["verify", *arguments]) == 130
    suites = {suite.get("name"): suite for suite in ET.parse("x.xml").getroot()}
    assert {name: suite.get("errors") for name, suite in suites.items()} == {
        "lease.yaml": "0",
        "wrong.yaml": "1",
        "lease.py:world": "1",
    }
    (found,) = json.loads(Path("x.sarif").read_text(encoding="utf-8"))["runs"]
    assert [result["properties"]["verdict"] for result in found["results"]] == ["interrupted"] * 2
    assert found["invocations"] == [{"executionSuccessful": False, "exitCode": 130}]
    assert "## rackproof: 1 of 3 targets as expected" in Path("x.md").read_text(encoding="utf-8")
    assert len(annotated(capsys)) == 2


def test_strict_fails_where_nothing_put_a_property_to_the_test(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (LEASE / "lease.py").read_text(encoding="utf-8")
    more = '''
@kernel.always(premise=somebody_reads)
def slots_are_whole(world: World) -> bool:
    """Slots are whole."""
    return True


@kernel.transition(step)
def idle(world: World) -> World | None:
    """Nothing happens."""
    return None


calm = kernel.System("calm", World(), (idle,), (slots_are_whole, alone), sizes)
'''
    alone = '\n@kernel.always()\ndef alone(world: World) -> bool:\n    """So."""\n    return True\n'
    Path("lease.py").write_text(text + alone + more, encoding="utf-8")
    assert run(["verify", "lease.py:calm"]) == 0
    assert run(["verify", "lease.py:calm", "--strict"]) == 1
    assert run(["verify", "lease.yaml", "--strict"]) == 0
    capsys.readouterr()


def test_every_file_is_the_same_every_time() -> None:
    for name in ("a", "b"):
        files = ["--sarif", f"{name}.sarif", "--summary", f"{name}.md"]
        assert run(["verify", "wrong.yaml", "-q", *files]) == 1
    for ending in ("sarif", "md"):
        assert Path(f"a.{ending}").read_bytes() == Path(f"b.{ending}").read_bytes()
