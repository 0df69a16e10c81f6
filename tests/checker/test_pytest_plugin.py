"""The pytest plugin: which files become tests, and what a failing one says."""

import subprocess
import sys
from pathlib import Path

import pytest

WORLDS = Path(__file__).parents[1] / "support" / "worlds.py"
HEAD = "rackproof: 1\nname: A pool\nworld: own.py:lost\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a world of its own."""
    text = WORLDS.read_text(encoding="utf-8")
    more = "lost = pool(2, 1, 2)\ncalm = pool(2, 1, 0)\n"
    (tmp_path / "own.py").write_text(text + more, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n", encoding="utf-8")
    return tmp_path


def outcome(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest in a folder."""
    command = [sys.executable, "-Im", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_scenario_that_is_as_expected_passes(folder: Path) -> None:
    text = f"{HEAD}expect: {{answered: violated, fails-last: holds}}\n"
    (folder / "good.yaml").write_text(text, encoding="utf-8")
    status, out = outcome(folder, "-v")
    assert (status, "good.yaml::scenario PASSED" in out) == (0, True), out


def test_a_violation_fails_with_its_counterexample_and_no_traceback(folder: Path) -> None:
    (folder / "bad.yaml").write_text(f"{HEAD}expect: {{answered: holds}}\n", encoding="utf-8")
    status, out = outcome(folder)
    assert status == 1
    assert "answered: expected holds, but it is violated: 1 fault, 2 steps" in out
    assert "  1. worker-0 freezes. (fault 1 of 1)" in out
    assert "  2. request-0 goes to worker-0." in out
    assert "Traceback" not in out
    assert "pytest_plugin.py" not in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("expect: 3\n", "expect: expected a map"),
        ("expect: {fails-last: proved}\n", "it holds in this scope only"),
        ("wrld: x\n", "wrld: there is no such key; did you mean world?"),
    ],
)
def test_what_is_wrong_or_open_fails_and_never_skips(folder: Path, more: str, message: str) -> None:
    (folder / "bad.yaml").write_text(HEAD + more, encoding="utf-8")
    status, out = outcome(folder)
    assert status == 1
    assert message in out
    assert "1 failed" in out
    assert "skipped" not in out


def test_a_vacuous_pass_fails(folder: Path) -> None:
    text = HEAD.replace("lost", "calm")
    (folder / "bad.yaml").write_text(text, encoding="utf-8")
    status, out = outcome(folder)
    assert status == 1
    assert "fails-last: vacuous: this never happens: a request failed" in out
    assert "  To see it again: rackproof verify " in out


def test_out_of_time_fails(folder: Path) -> None:
    (folder / "slow.yaml").write_text(HEAD, encoding="utf-8")
    status, out = outcome(folder, "-o", "rackproof_time_limit=1ns")
    assert status == 1
    assert "inconclusive: out of time" in out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ci.yaml", "on: push\njobs: {}\n"),
        ("later.yaml", "name: x\nrackproof: 1\n"),
        ("empty.yaml", ""),
        ("binary.yaml", "\0\1\2"),
        ("other.txt", HEAD),
    ],
)
def test_other_files_are_let_alone(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    status, out = outcome(folder)
    assert (status, "no tests ran" in out) == (5, True), out


@pytest.mark.parametrize("prefix", ["# why\n\n", "---\n", "\ufeff", "%YAML 1.2\n---\n"])
def test_what_may_stand_before_the_first_key(folder: Path, prefix: str) -> None:
    text = f"{prefix}{HEAD}expect: {{answered: violated}}\n"
    (folder / "good.yml").write_text(text, encoding="utf-8")
    status, out = outcome(folder)
    assert status == 0, out


def test_collection_can_be_turned_off(folder: Path) -> None:
    (folder / "good.yaml").write_text(HEAD, encoding="utf-8")
    assert outcome(folder, "-o", "rackproof_collect=false")[0] == 5


def test_scenarios_have_a_marker(folder: Path) -> None:
    (folder / "good.yaml").write_text(HEAD, encoding="utf-8")
    (folder / "test_other.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    status, out = outcome(folder, "-v", "-m", "not rackproof")
    assert (status, "1 passed, 1 deselected" in out) == (0, True), out


def test_the_fixture_verifies_a_target_and_fails_with_the_report(folder: Path) -> None:
    (folder / "test_mine.py").write_text(
        """\
import pytest

@pytest.mark.rackproof
def test_good(verify_scenario):
    report = verify_scenario("good.yaml")
    assert report.runs[0].findings.states > 10

def test_bad(verify_scenario):
    verify_scenario("own.py:lost")

def test_many(verify_scenario):
    verify_scenario(".")
""",
        encoding="utf-8",
    )
    text = f"{HEAD}expect: {{fails-last: holds}}\n"
    (folder / "good.yaml").write_text(text, encoding="utf-8")
    (folder / "better.yaml").write_text(text, encoding="utf-8")
    status, out = outcome(folder, "test_mine.py")
    assert status == 1
    assert "2 failed, 1 passed" in out
    assert "answered: violated: 1 fault, 2 steps" in out
    assert "stands for 2 scenarios; verify one at a time" in out
    assert "rackproof/checker/verify.py" not in out
