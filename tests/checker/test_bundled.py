"""The bundled world at the command line: stacks, scenarios of it, and counterexamples saved."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from rackproof.checker.cli import run

GUIDED = """\
rackproof: 1
name: A guided request is migrated after half its JSON was sent
source: https://github.com/ai-dynamo/dynamo/issues/7930
protocol: {stack: dynamo, migrate-guided-requests: true}
rack: {path: mine.yaml, prefill: 1, decode: 2}
scope: {requests: 1, tokens: 2, retry-limit: 1, guided: true, faults: {crash: 1}}
expect: {no-duplicate-tokens: {violated: {faults: 1}}, bounded-retries: holds}
fix: {protocol: {migrate-guided-requests: false}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scenario and a rack."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "mine.yaml").write_text("rack: mine\npreset: nvl72\noptions: {trays: 3}\n")
    (tmp_path / "guided.yaml").write_text(GUIDED)
    return tmp_path


def test_a_reported_bug_is_found_shown_with_its_source_and_gone_with_the_fix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "guided.yaml"]) == 0
    out = capsys.readouterr().out
    assert "decode-0 crashes: its KV blocks are gone" in out
    assert "(fault 1 of 1)" in out
    assert "1 fault suffices; without any, no run violates it." in out
    assert "As reported: https://github.com/ai-dynamo/dynamo/issues/7930" in out
    row = next(line for line in out.splitlines() if line.startswith("ok  guided"))
    assert row.split()[2:5] == ["no-duplicate-tokens", "violated:", "1"]
    assert " holds " in row


def test_a_budget_that_a_fault_uses_up_is_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "guided.yaml"]) == 0
    assert "budget" not in capsys.readouterr().out


def test_a_saved_counterexample_of_a_rack_in_a_file_replays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "guided.yaml", "--save", "out/a"]) == 0
    (path,) = Path("out/a").iterdir()
    saved = YAML(typ="safe").load(path)
    assert saved["source"] == "https://github.com/ai-dynamo/dynamo/issues/7930"
    assert saved["rack"] == {"path": "../../mine.yaml", "prefill": 1, "decode": 2}
    assert saved["then"]["no-duplicate-tokens"] == "violated"
    assert run(["replay", str(path)]) == 0
    assert run(["verify", str(path)]) == 0
    capsys.readouterr()


def test_json_tells_the_scope_and_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "guided.yaml", "--json", "-"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert data["scope"]["faults"] == {"crash": 1}
    assert data["fix"]["protocol"] == {"stack": "dynamo", "migrate-guided-requests": False}
    verdicts = {item["name"]: item["verdict"] for item in data["fix"]["properties"]}
    assert verdicts["no-duplicate-tokens"] == "holds"


def test_a_fault_that_never_takes_effect_makes_every_pass_vacuous(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = GUIDED.replace("crash: 1", "crash: 1, slow-read: 1").replace(
        "prefill: 1, decode: 2", "aggregated: 2"
    )
    Path("guided.yaml").write_text(text)
    assert run(["verify", "guided.yaml"]) == 1
    assert (
        "bounded-retries: expected holds, but it is vacuous (slow-read never took effect)"
        in capsys.readouterr().out
    )
