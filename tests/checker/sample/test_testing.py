"""``rackproof.testing``: sampled runs as a test of one's own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rackproof.testing
from rackproof.scenarios.worlds import InputError

DRILLS = Path(__file__).parents[3] / "scenarios" / "drills"
LEASE = Path(__file__).parents[3] / "docs" / "examples" / "lease.py"
HEAD = "rackproof: 1\nname: A lease\nworld: lease.py:world\n"
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
def out(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("own")
    (folder / "lease.py").write_text(LEASE.read_text("utf-8"), "utf-8")
    violated = f"{HEAD}expect: {{no-overwrite-in-flight: {{violated: {{steps: 3}}}}}}\n"
    (folder / "found.yaml").write_text(violated, "utf-8")
    (folder / "missed.yaml").write_text(violated, "utf-8")
    holds = f"{HEAD}expect: {{no-overwrite-in-flight: holds}}\n"
    (folder / "broken.yaml").write_text(holds, "utf-8")
    (folder / "test_own.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-Im", "pytest", "-v", "-p", "no:cacheprovider", "test_own.py"]
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
