import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from written_out import Shape, write_capture

from rackproof.checker.cli import conform, run
from rackproof.checker.status import Status

ROOT = Path(__file__).parents[3]
CAPTURES = ROOT / "tests" / "data" / "dynamo-1.6.1"
INCOMPLETE = str(CAPTURES / "fault_incomplete")


def test_the_example_of_the_help_works_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert conform.epilog is not None
    assert run(conform.epilog.removeprefix("Example: rackproof ").split()) == 1
    told = capsys.readouterr().out
    assert "2 requests: 1 accepted, 1 rejected" in told
    assert "nothing explains client: end at sse_s0.jsonl:13" in told
    assert "To see it again: rackproof conform tests/data/dynamo-1.6.1/fault_incomplete" in told


def test_every_form_is_written_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "job.md"))
    capture = str(CAPTURES / "basic_SIGKILL_lim3_w2_round-robin")
    files = {name: tmp_path / f"it.{name}" for name in ("json", "junit", "summary")}
    options = [part for name, file in files.items() for part in (f"--{name}", str(file))]
    asked = ["conform", capture, INCOMPLETE, "--stack", "dynamo", "--known", "usage-exact"]
    assert run([*asked, *options, "-q"]) == 1
    assert "2 captures: 1 FAILED, 1 ok" in capsys.readouterr().out
    first, second = json.loads(files["json"].read_text())
    assert (first["status"], second["status"]) == (0, 1)
    assert first["breaks"] == [
        {"property": "usage-exact", "predicted": True, "known": True, "cases": 1}
    ]
    (error,) = (one for one in first["log_errors"] if one["kind"] == "token")
    assert (error["times"], error["first"]["said"], error["first"]["truth"]) == (40, "w0", "w1")
    (row,) = first["migrations"]["rows"]
    assert (row["fault"], row["error"], row["count"]) == ("crash", "disconnected", 1)
    assert 0.1 < row["stall_p50_s"] < 0.3
    suites = ET.fromstring(files["junit"].read_text())
    assert [suite.get("failures") for suite in suites] == ["0", "1"]
    assert "| FAILED |" in files["summary"].read_text()
    assert (tmp_path / "job.md").read_text() == files["summary"].read_text()


def test_a_log_of_a_world_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "run.jsonl"
    steps = [{"kind": "start", "reader": "reader-0"}, {"kind": "slow-read"}, {"kind": "reuse"}]
    world = str(ROOT / "docs" / "examples" / "lease.py") + ":world"

    def write(*more: dict[str, str]) -> None:
        lines = (json.dumps({"witness": "run", **one}) for one in (*steps, *more))
        log.write_text("".join(f"{line}\n" for line in lines))

    write()
    assert run(["conform", str(log), "--world", world, "--known", "no-overwrite-in-flight"]) == 0
    assert "1 run: 1 accepted" in capsys.readouterr().out
    write({"kind": "start", "reader": "reader-1"})
    assert run(["conform", str(log), "--world", world, "-v"]) == 1
    told = capsys.readouterr().out
    assert "nothing explains run: start" in told
    assert "reader-1 starts to read the block: block is reused" in told
    assert "--explain-changes" not in told


def test_logs_of_kv_events_are_cases_of_caches(capsys: pytest.CaptureFixture[str]) -> None:
    events = str(CAPTURES / "observability" / "kv_events_raw_vllm.jsonl")
    assert run(["conform", events, "--stack", "dynamo"]) == 0
    assert "cache records: " in capsys.readouterr().out


def test_what_the_model_wrote_out_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_capture(tmp_path, Shape(40, faults=0.3))
    assert run(["conform", str(tmp_path), "--stack", "dynamo", "--known", "usage-exact"]) == 0
    assert "40 requests: 40 accepted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--stack", "dynamoo"], "did you mean dynamo"),
        (["--stack", "dynamo", "--known", "usage-exakt"], "did you mean usage-exact"),
        (["--stack", "dynamo", "--mapping", "dynamoo"], "dynamo"),
        (["--stack", "dynamo", "--mapping", "nokv"], "did you mean dynamo-kv"),
        (["--stack", "dynamo", "--timeout", "stream-timeut=3s"], "did you mean stream-timeout"),
        (["--stack", "dynamo", "--timeout", "stream-timeout"], "write NAME=DURATION"),
        (["--stack", "dynamo", "--set", "finish-lach=true"], "did you mean finish-latch"),
        (["--world", "nowhere.py:world"], "there is no such file"),
        (["--world", "nowhere.py"], "write FILE.py:NAME"),
        (["--world", "x.py:world", "--one-host"], "are for stacks"),
        ([], "say what was recorded"),
    ],
)
def test_bad_input_is_told_in_a_message(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["conform", INCOMPLETE, *arguments]) == 2
    output = capsys.readouterr()
    assert told in output.out + output.err
    assert "Traceback" not in output.out + output.err


def test_nothing_to_look_at_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["conform", str(tmp_path), "--stack", "dynamo"]) == 2
    assert run(["conform", str(tmp_path / "none"), "--stack", "dynamo"]) == 2
    assert "there is no such file or folder" in capsys.readouterr().out


DAMAGE = {
    "cut off": (lambda text: text[:-40], "is cut off"),
    "binary": (lambda text: text.replace(b"\n", b"\n\x00\xff\xfe\n", 1), "sse_s0.jsonl:2"),
    "another schema": (lambda _: b'{"when": 1, "who": "me"}\n' * 3, "sse_s0.jsonl:1: has no ts"),
    "a line lost": (lambda text: text.replace(b"data: {", b"data: {{", 1), "is no JSON"),
    "empty": (lambda _: b"", "is empty"),
}
"""What may have become of a client's log, and what is told of it then."""


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_log_is_told_with_its_line_and_hides_nothing(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(INCOMPLETE, tmp_path / "it")
    log = tmp_path / "it" / "sse_s0.jsonl"
    damaged, words = DAMAGE[damage]
    log.write_bytes(damaged(log.read_bytes()))
    asked = ["conform", str(tmp_path / "it"), "--stack", "dynamo", "--json", "-"]
    assert run([*asked, "--quiet"]) in (1, 3)
    (capture,) = json.loads(capsys.readouterr().out)
    others = len(list(log.parent.glob("sse_*.jsonl"))) - 1
    assert capture["accepted"] <= others, "nothing of a damaged log is accepted"
    doubts = [f"{one['file']}:{one['line']}: {one['words']}" for one in capture["doubts"]["first"]]
    assert any(words in one for one in doubts)
    assert capture["failure"] is None


def test_clocks_that_are_mixed_are_told_and_decide_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(CAPTURES / "basic_SIGTERM_lim3_w2_kv", tmp_path / "it")
    log = tmp_path / "it" / "sse_s0.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines[10:]:
        line["ts"] -= 3600
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert run(["conform", str(tmp_path / "it"), "--stack", "dynamo"]) == 0
    assert "sse_s0.jsonl:11: the time goes back by 35" in capsys.readouterr().out


def at_once(folder: Path, **changed: object) -> None:
    """The capture of one stream, as if its client had asked for one answer that is no stream."""
    shutil.copytree(CAPTURES / "basic_SIGTERM_lim3_w2_kv", folder)
    log = folder / "sse_s0.jsonl"
    asked, status, *lines = map(json.loads, log.read_text().splitlines())
    del asked["request"]["stream"]
    asked["request"] |= changed.pop("request", {})
    text = (str(line.get("line", "")).removeprefix("data: ") for line in lines)
    events = [json.loads(one) for one in text if one.startswith("{")]
    usage = next(event["usage"] for event in events if event.get("usage"))
    choice = {"index": 0, "message": {"content": "so"}, "finish_reason": "length"}
    answer = {"id": events[0]["id"], "choices": [choice], "usage": usage, **changed}
    body = {"ts": lines[-1]["ts"], "body": json.dumps(answer)}
    told = (asked, status, body, {"ts": lines[-1]["ts"], "end": True})
    log.write_text("".join(f"{json.dumps(line)}\n" for line in told))


@pytest.mark.parametrize(
    ("changed", "status", "told"),
    [
        ({}, 0, "1 request: 1 accepted"),
        ({"usage": {"prompt_tokens": 12, "completion_tokens": 61}}, 1, "max-tokens-kept"),
        ({"usage": None}, 3, "sse_s0.jsonl:3: an answer that is no stream says nothing of how"),
        ({"request": {"n": 2}}, 3, "sse_s0.jsonl:3: is of a request for several choices (n > 1)"),
    ],
)
def test_an_answer_that_is_no_stream_is_counted_by_its_usage(
    changed: dict[str, object],
    status: int,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    at_once(tmp_path / "it", **changed)
    assert run(["conform", str(tmp_path / "it"), "--stack", "dynamo"]) == status
    assert told in capsys.readouterr().out


PAGE = Path(__file__).parents[3] / "docs" / "recorded.md"


def the_gateway(folder: Path) -> tuple[Path, Path]:
    """The example of the document: its logs, and its mapping."""
    page = PAGE.read_text(encoding="utf-8")
    logs = folder / "logs"
    logs.mkdir()
    for name in ("gateway.log", "stream-r-7.jsonl"):
        shown = page.partition(f"`{name}`:\n\n```jsonl\n")[2].partition("```")[0]
        (logs / name).write_text(shown)
    mapping = folder / "gateway.yaml"
    mapping.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    return logs, mapping


def test_the_example_of_a_mapping_ends_in_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, mapping = the_gateway(tmp_path)
    asked = ["conform", str(logs), "--stack", "reference", "--mapping", str(mapping)]
    assert run(asked) == Status.OK
    told = capsys.readouterr().out
    assert "1 request: 1 accepted" in told
    assert "r-7: finished (length) after 3 of 3 tokens; attempt 0 at 10.0.0.4:8000: disc" in told
    mapping.write_text(mapping.read_text().replace("finish, error, end]", "finish, end]"))
    assert run(asked) == Status.INCONCLUSIVE
    told = capsys.readouterr().out
    assert "claim of the mapping that every error of the client is there (complete: " in told
    assert "whole logs, by requests: frontend (1)" in told


def test_a_rule_that_no_line_met_is_told_once_all_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, mapping = the_gateway(tmp_path)
    wrong = mapping.read_text().replace("{event: lost}", "{event: losst}")
    mapping.write_text(wrong.replace("position: data.index", "position: indx"))
    run(["conform", str(logs), "--stack", "reference", "--mapping", str(mapping), "-v"])
    told = capsys.readouterr().out
    line = 1 + wrong[: wrong.index("{event: losst}")].count("\n")
    assert f"gateway.yaml:{line}: no line met this rule" in told
    assert "has no position: there is no field indx (for the text write {is: indx})" in told


def test_what_was_recorded_is_asked_for_with_the_stack_that_it_looks_like(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["conform", INCOMPLETE]) == Status.BAD_INPUT
    told = capsys.readouterr().err
    assert "the files look like those of --stack dynamo (stacks: dynamo, " in told


def test_a_stream_as_curl_wrote_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        json.loads(line) for line in (Path(INCOMPLETE) / "sse_s0.jsonl").open(encoding="utf-8")
    ]
    raw = "\n\n".join(line["line"] for line in lines if "line" in line)
    (tmp_path / "sse_s0.txt").write_text(raw + "\n")
    (tmp_path / "fe.log").write_text("12:00 INFO a log of lines that are text\n" * 3)
    assert run(["conform", str(tmp_path), "--stack", "dynamo"]) == Status.VIOLATED
    told = capsys.readouterr().out
    assert "fe.log: has 3 lines, and none of them is JSON as of NVIDIA Dynamo" in told
    assert "ended after 10 tokens, with neither a finish reason nor an error" in told
    assert "whole log of the frontend (fe*.log)" in told
    (tmp_path / "fe.log").unlink()
    shutil.copy(Path(INCOMPLETE) / "fe.log", tmp_path / "frontend-7f9c.log")
    run(["conform", str(tmp_path), "--stack", "dynamo"])
    told = capsys.readouterr().out
    assert "no name as of dynamo: frontend-7f9c.log (rename it: its lines are as of fe{" in told
