"""``rackproof.testing``: sampled runs as a test of one's own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rackproof.testing
from rackproof.scenarios.worlds import InputError

pytestmark = pytest.mark.xdist_group("own tests")  # they are run once for all of these

DRILLS = Path(__file__).parents[3] / "scenarios" / "drills"
LEASE = Path(__file__).parents[3] / "docs" / "examples" / "lease.py"
HEAD = "rackproof: 1\nname: A lease\nworld: lease.py:world\n"
BELOW = """
import pytest
import rackproof.testing
from rackproof.testing.fake import Bug, FakeAdapter

test_ini = rackproof.testing.machine("missed.yaml", steps=1)
test_stack = rackproof.testing.lockstep(
    "stack:reference",
    lambda: FakeAdapter([Bug.REPLAYS]),
    actions="submit request-0; wait 3; partition request-0; wait 9",
)
test_none = rackproof.testing.lockstep("fund.yaml", FakeAdapter)

class Own(FakeAdapter):
    def launch(self, setup):
        raise RuntimeError("my own")

test_mine = rackproof.testing.lockstep("stack:reference", Own)

def test_fixtures(recovery_machine, verify_scenario):
    assert verify_scenario("found.yaml").status == 0
    with pytest.raises(AssertionError, match="inconclusive"):
        recovery_machine("../missed.yaml", runs=1, steps=1)
"""
TESTS = """
from hypothesis import HealthCheck, settings

import rackproof.testing

test_found = rackproof.testing.machine("found.yaml", runs=20, steps=20)
test_broken = rackproof.testing.machine("broken.yaml", runs=20, steps=20)
test_missed = rackproof.testing.machine("missed.yaml", runs=5, steps=1)

def test_fixture(recovery_machine):
    recovery_machine("missed.yaml", runs=5, steps=1)

TestLease = rackproof.testing.state_machine("found.yaml").TestCase
TestBroken = rackproof.testing.state_machine("broken.yaml").TestCase
TestLease.settings = TestBroken.settings = settings(
    max_examples=30,
    stateful_step_count=8,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture(scope="module")
def out(folder: Path) -> str:
    (folder / "lease.py").write_text(LEASE.read_text("utf-8"), "utf-8")
    violated = f"{HEAD}expect: {{no-overwrite-in-flight: {{violated: {{steps: 3}}}}}}\n"
    (folder / "found.yaml").write_text(violated, "utf-8")
    (folder / "missed.yaml").write_text(violated, "utf-8")
    holds = f"{HEAD}expect: {{no-overwrite-in-flight: holds}}\n"
    (folder / "broken.yaml").write_text(holds, "utf-8")
    (folder / "test_own.py").write_text(TESTS, "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nrackproof_runs = 7\n", "utf-8")
    (folder / "below").mkdir()
    (folder / "below" / "test_below.py").write_text(BELOW, "utf-8")
    return ran(folder, "test_own.py")


def ran(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-Im", "pytest", "-v", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_what_is_expected_and_found_passes(out: str) -> None:
    assert "test_own.py::test_found PASSED" in out, out
    assert "test_own.py::TestLease::runTest PASSED" in out


def test_what_is_expected_to_hold_fails_with_the_least_counterexample(out: str) -> None:
    assert "test_own.py::test_broken FAILED" in out
    assert "expected holds, but it is violated: 1 fault, 3 steps" in out
    assert re.search(
        r"found in \d+ steps after \d+ runs?; the shortest has 3 steps and 1 fault", out
    )
    assert "To see it again: rackproof verify broken.yaml --engine sample --runs 20" in out
    assert "test_own.py::TestBroken::runTest FAILED" in out


def test_a_violation_that_was_not_found_is_no_success(out: str) -> None:
    assert "test_own.py::test_missed FAILED" in out
    assert "test_own.py::test_fixture FAILED" in out
    assert "expected violated, but it is inconclusive (sampled: 5 runs of up to 1 step)" in out


def test_the_summary_tells_what_the_runs_have_been_through(out: str) -> None:
    assert "rackproof: sampled runs" in out
    assert "found.yaml: 20 runs, " not in out, "a run that finds what is sought ends there"
    assert "missed.yaml: 5 runs, 5 steps; 0 runs came to rest" in out


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("stack:dynamo", "has no faults of its own; write a scenario with stack: dynamo"),
        (str(DRILLS), "scenarios; a test is of one"),
        ("no-such.yaml", "no-such.yaml: there is no such file"),
        (f"{LEASE}:wold", "there is no 'wold' in it"),
    ],
)
def test_what_is_no_world_is_told_when_the_test_runs(target: str, words: str) -> None:
    with pytest.raises((AssertionError, InputError), match=re.escape(words)):
        rackproof.testing.machine(target, runs=1)()


def test_nothing_sampled_is_no_success() -> None:
    with pytest.raises(ValueError, match="runs and steps are at least 1, not 0 and 100"):
        rackproof.testing.machine("found.yaml", runs=0)


@pytest.fixture(scope="module")
def below(folder: Path, out: str) -> str:
    assert out
    return ran(folder / "below", "--numprocesses=1")


def test_a_scenario_is_found_from_a_folder_below_wherever_pytest_is_called(below: str) -> None:
    assert "PASSED test_below.py::test_fixtures" in below
    assert "To see it again: rackproof verify ../missed.yaml --engine sample" in below


def test_the_ini_file_says_how_many_runs_are_drawn(below: str) -> None:
    assert "(sampled: 7 runs of up to 1 step)" in below


@pytest.mark.parametrize("runs", ["0", "many"])
def test_a_number_of_runs_that_is_none_is_refused(folder: Path, runs: str) -> None:
    message = f"rackproof_runs = {runs}: expected a number, at least 1"
    assert message in ran(folder, "-o", f"rackproof_runs={runs}")


def test_a_report_stands_alone_and_an_error_of_a_user_keeps_its_traceback(below: str) -> None:
    assert "lock step with stack:reference: the implementation did what no run" in below
    assert "fund.yaml: there is no such file" in below
    assert below.count("All traceback entries are hidden") <= 1, "that of the error alone"
    assert 'raise RuntimeError("my own")' in below
