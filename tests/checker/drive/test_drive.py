import json
import os
from pathlib import Path

import pytest
from standing_in import StandIn

from rackproof.checker.cli import run
from rackproof.checker.drive.held import held_against_the_model
from rackproof.checker.status import Status
from rackproof.scenarios.loader import load

DRILL = "scenarios/drills/zero-budget-migration.yaml"
NO_DYNAMO = "RACKPROOF_DYNAMO_PYTHON"

USAGE = """
rackproof: 1
name: a usage that counts what was generated as prompt
protocol: {stack: dynamo}
rack: {preset: nvl72, aggregated: 2}
scope: {tokens: 2, faults: {crash: 1}}
steps:
- dispatch: {request: request-0, worker: worker-0}
- start-stream: {request: request-0, attempt: attempt-0, worker: worker-0}
- emit: {request: request-0, attempt: attempt-0, worker: worker-0}
- receive: {request: request-0, attempt: attempt-0}
- crash: {worker: worker-0}
- notice: {request: request-0, attempt: attempt-0, worker: worker-0}
- dispatch: {request: request-0, worker: worker-1}
- start-stream: {request: request-0, attempt: attempt-1, worker: worker-1}
- finish-with-last-token: {request: request-0, attempt: attempt-1, worker: worker-1}
- receive: {request: request-0, attempt: attempt-1}
- receive-finish: {request: request-0, attempt: attempt-1}
then: {usage-exact: violated}
"""


@pytest.fixture
def standing_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in where Dynamo would be, with a second as a twentieth of one."""
    monkeypatch.setattr("rackproof.checker.drive.command.find_python", lambda _given: None)
    monkeypatch.setattr("rackproof.checker.drive.command.Dynamo", lambda *_given: StandIn())
    monkeypatch.setattr("rackproof.checker.drive.command.EVERY", 0.1)


def test_what_would_be_done_is_told_without_dynamo(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "dynamo", DRILL, "--plan"]) == Status.OK
    told = capsys.readouterr().out
    assert "predicted: no-blame-for-clients: worker-1 was inhibited" in told
    assert "step 5: crash of worker-0 (SIGKILL) at attempt 0, all tokens sent" in told
    assert "retry-limit 3 is --migration-limit 3" in told


def test_without_dynamo_it_is_told_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NO_DYNAMO, raising=False)
    assert run(["drive", "dynamo", DRILL]) == Status.BAD_INPUT
    told = capsys.readouterr().err
    assert "docs/dynamo.md" in told
    assert NO_DYNAMO in told
    assert run(["drive", "dynamo", DRILL, "--python", "/nowhere/python"]) == Status.BAD_INPUT
    assert "/nowhere/python: no such file or directory" in capsys.readouterr().err


@pytest.mark.usefixtures("standing_in")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([DRILL, "--property", "no-blame"], "no-blame-for-clients"),
        (["scenarios/drills/zombie-resumes.yaml"], "is of stack reference"),
        (["nowhere.yaml"], "there is no such file"),
        ([DRILL, "--out", "tests"], "is there already"),
        ([DRILL, "--out", "README.md/x"], "--out README.md/x: cannot be written: not a directory"),
        ([DRILL, "--exam", "crash"], "is for a stack"),
        (["stack:dynamo", "--exam", "crsh"], "did you mean crash?"),
        (["docs/examples/lease.py:world"], "is a world of its own"),
    ],
)
def test_bad_input(options: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["drive", "dynamo", *options]) == Status.BAD_INPUT
    assert told in capsys.readouterr().err


def test_a_counterexample_of_an_exam_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--exam", "freeze", "--property", "progress", "--plan"]
    assert run(["drive", "dynamo", "stack:dynamo", *options]) == Status.OK
    told = capsys.readouterr().out
    assert "stack:dynamo in exam freeze: " in told
    assert "predicted: progress: request-0 never ends" in told
    assert "(SIGSTOP)" in told


@pytest.mark.usefixtures("standing_in")
def test_an_interrupt_tells_where_the_record_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rackproof.checker.drive.command.carry_out", interrupted)
    out = tmp_path / "out"
    assert run(["drive", "dynamo", DRILL, "--out", str(out)]) == Status.INTERRUPTED
    assert f"interrupted: what there is of the run is in {out}" in capsys.readouterr().err


@pytest.mark.usefixtures("standing_in")
def test_a_prediction_that_is_confirmed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, data = tmp_path / "out", tmp_path / "a.json"
    options = ["--out", str(out), "--json", str(data), "--scale", "3"]
    assert run(["drive", "dynamo", DRILL, *options]) == Status.OK
    told = capsys.readouterr().out
    assert told.endswith(
        "no-blame-for-clients: predicted by the model, confirmed on the system\n"
        "complete-output-succeeds: seen on the system, and in every run of the model that explains "
        "its record\n"
    )
    assert f"{out} --stack dynamo" in told, "the command that tells all of it"
    assert "which says FAILED: a defect that was predicted is a defect" in told
    assert "  5. crash worker-0  ->  SIGKILL of w0: its exit status is -9" in told
    assert "crash, noticed as disconnected: " in told
    found = json.loads(data.read_text())
    assert found["verdict"] == "predicted by the model, confirmed on the system"
    assert found["request"]["n"] == found["request"]["max"] == 3
    assert [attempt["error"] for attempt in found["attempts"]] == [
        "disconnected",
        "cannot_connect",
        "cannot_connect",
    ]
    assert list(found["broken"]) == ["complete-output-succeeds", "no-blame-for-clients"]
    first, *_, last = found["probes"]
    assert (first["status"], first["health"], first["alive"]) == (503, "healthy", 2)
    assert last["succeeded"]
    assert {path.name for path in out.iterdir()} >= {"events.jsonl", "sse_s0.jsonl", "fe.log"}


@pytest.mark.usefixtures("standing_in")
def test_a_prediction_that_is_not_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the model has it that a usage counts too much, the stand-in counts right."""
    file = tmp_path / "usage.yaml"
    file.write_text(USAGE)
    options = ["--out", str(tmp_path / "out"), "--scale", "3"]
    assert run(["drive", "dynamo", str(file), *options]) == Status.INCONCLUSIVE
    assert "usage-exact: predicted by the model, not confirmed on the system" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("capture", "drill", "props"),
    [
        ("zero_budget", DRILL, {"no-blame-for-clients", "complete-output-succeeds"}),
        (
            "crash_behind_finish",
            "scenarios/drills/crash-behind-the-finish.yaml",
            {"nothing-after-finish", "terminal-latch"},
        ),
    ],
)
def test_what_was_recorded_of_dynamo_is_what_the_model_predicts(
    capture: str, drill: str, props: set[str]
) -> None:
    setting = load(Path(drill)).case.setting
    held = held_against_the_model(Path("tests/data/dynamo-1.6.1") / capture, setting)
    assert not held.rejected
    assert not held.doubts
    assert set(held.broken) == props


@pytest.mark.dynamo
@pytest.mark.skipif(NO_DYNAMO not in os.environ, reason=f"{NO_DYNAMO} is not set: no Dynamo here")
@pytest.mark.parametrize(
    ("scenario", "prop"),
    [
        (DRILL, "no-blame-for-clients"),
        ("scenarios/bugs/dynamo-w2-zero-budget-refused.yaml", "complete-output-succeeds"),
        ("scenarios/bugs/dynamo-usage-inflated-by-migration.yaml", "usage-exact"),
        ("scenarios/drills/crash-behind-the-finish.yaml", "nothing-after-finish"),
        ("scenarios/drills/decode-worker-dies.yaml", "usage-exact"),
        ("scenarios/bugs/dynamo-frozen-worker-chosen-again.yaml", "no-untested-restore"),
    ],
)
def test_on_dynamo_itself(
    scenario: str, prop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["drive", "dynamo", scenario, "--out", str(tmp_path / "out")]) == Status.OK
    assert f"{prop}: predicted by the model, confirmed on the system" in capsys.readouterr().out
