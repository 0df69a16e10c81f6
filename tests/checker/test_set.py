"""--set: a world with mechanisms set; and the lines that show again what was asked."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest

from rackproof.checker.cli import run
from rackproof.checker.engines import Options
from rackproof.checker.explain.asked import again, named
from rackproof.checker.proof.reading import target_system
from rackproof.checker.reference import explanation
from rackproof.checker.verify import Report
from rackproof.scenarios.changes import Change, read_change
from rackproof.scenarios.quantities import in_words

LATCH = "finish-latch=true"
BUG = "scenarios/bugs/dynamo-11646-router-mirror-lags.yaml"
EXAM = ["stack:dynamo", "--exam", "disconnect"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_a_stack_with_a_mechanism_set(capsys: pytest.CaptureFixture[str]) -> None:
    """What is set counts, and is told in every part."""
    run(["verify", *EXAM, "--set", LATCH, "--json", "-"])
    caught = capsys.readouterr()
    (data,) = json.loads(caught.out)
    line = f"rackproof verify stack:dynamo --exam disconnect --set {LATCH}"
    assert data["set"] == {"finish-latch": True}
    assert data["reproduce"] == line
    assert data["exams"][0]["protocol"]["finish-latch"] is True
    assert data["scenario"].endswith(f" with {LATCH}")
    assert f"stack:dynamo with {LATCH}, 1 exam" in caught.err
    assert f"  To see it again: {line}\n" in caught.err
    exports = [move for move in data["next"] if "export" in move]
    assert exports
    assert all(f"--exam disconnect --set {LATCH} " in move for move in exports)


def test_a_scenario_with_a_mechanism_set(capsys: pytest.CaptureFixture[str]) -> None:
    """What it expects as written is not expected of what it is not."""
    run(["verify", BUG, "--set", "select-from-discovery=true", "--json", "-"])
    (data,) = json.loads(capsys.readouterr().out)
    verdicts = {p["name"]: p for p in data["properties"]}
    assert verdicts["no-dispatch-to-removed"]["verdict"] == "holds"
    assert "fix" not in data
    assert data["reproduce"] == f"rackproof verify {BUG} --set select-from-discovery=true"


def test_an_exported_run_says_where_it_is_from(capsys: pytest.CaptureFixture[str]) -> None:
    line = [*EXAM, "--set", "finish-latch=false"]
    assert run(["export", *line, "--property", "usage-exact", "--to", "pytest"]) == 0
    told = capsys.readouterr().out
    assert f"rackproof verify {' '.join(line)}" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "finish-latsh=true"], "there is no mechanism 'finish-latsh'; did you mean"),
        (["--set", "finish-latch=7"], "finish-latch is true or false"),
        (["--set", "finish-latch"], "write MECHANISM=VALUE, such as finish-latch=true"),
        (["--set", "finish-latch=true", "--set", "finish-latch=false"], "one or the other"),
        (["--set", "release=leese"], "release is "),
    ],
)
def test_what_cannot_be_set(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("verify", "diff"):
        assert run([command, *EXAM, *arguments]) == 2
        assert told in " ".join(capsys.readouterr().err.split())


def test_nothing_is_set_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    own = "docs/examples/lease.py:world"
    for arguments, told in (
        (["verify", own, "--set", LATCH], "is a world of one's own, which has no such mechanisms"),
        (["export", BUG, "--set", LATCH, "--to", "aiger"], "is for runs; aiger is of a model"),
        (["verify", "stack:dynamo", "--set", "compare-dtype=true"], "says nothing of peers"),
    ):
        assert run(arguments) == 2, arguments
        caught = capsys.readouterr()
        assert told in " ".join((caught.out + caught.err).split())


def test_a_certificate_names_what_is_set() -> None:
    changes = (read_change(LATCH),)
    report = Report("stack:dynamo", None, options=Options(changes=changes))
    found = target_system(report.world, "crash", Path())
    plain = target_system("stack:dynamo", "crash", Path())
    assert found.initial.protocol.finish_latch
    assert not plain.initial.protocol.finish_latch


def test_the_line_that_shows_it_again() -> None:
    options = Options("prove", seconds=0.001, changes=(Change("finish-latch", False),))
    report = Report(str(ROOT / BUG), None, options=attrs.evolve(options, repair=True))
    line = f"rackproof verify {BUG} --engine prove --time-limit 0.001s --set finish-latch=false"
    assert again(report) == line
    assert named(str(ROOT / "a b.py:world")) == "'a b.py:world'"
    assert named("/elsewhere/x.yaml") == "/elsewhere/x.yaml"
    assert named("stack:dynamo") == "stack:dynamo"


def test_an_exam_is_explained_with_the_line_for_a_stack() -> None:
    lines = "\n".join(explanation("crash"))
    assert "rackproof verify stack:NAME --exam crash" in lines


def test_short_times_are_not_none() -> None:
    assert in_words(0.001) == "1 ms"
    assert in_words(0.0) == "0.00 s"
    assert in_words(0.005) != "0.00 s"


def test_an_impossible_step_fails_alone_as_beside_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path("docs/examples/lease.yaml").read_text("utf-8")
    world = f"world: {ROOT / 'docs/examples/lease.py'}:world"
    bad = tmp_path / "bad.yaml"
    steps = "steps: [slow-read, slow-read, slow-read]\n"
    head = text[: text.index("\nsteps:")]
    lines = [world if line.startswith("world:") else line for line in head.splitlines()]
    bad.write_text("\n".join(lines) + "\n" + steps)
    for targets in ([str(bad)], [str(bad), "docs/examples/lease.yaml"]):
        assert run(["verify", *targets]) == 1
        assert "FAILED" in capsys.readouterr().out
