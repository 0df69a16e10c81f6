"""The questions failures, availability and checkpoints, asked of small files."""

import json
from pathlib import Path
from typing import Any

import pytest

from rackproof.checker.cli import run
from rackproof.checker.performance.answers import Answer, Table
from rackproof.checker.performance.questions import asked, question
from rackproof.checker.performance.study import Study
from rackproof.model.kernel import ModelError
from rackproof.scenarios.performance.loader import loads

HEAD = """\
rackproof: 1
name: Two and two
deployment:
  model: llama-3-70b
  gpu: gb200
  prefill: {instances: 2, gpus: 4}
  decode: {instances: 2, gpus: 4}
  hand-off: {link: 4x-nvlink5}
workload:
  synthetic: {requests: 60, rate: 20 /s, prompt: 1000 tokens, output: 100 tokens}
"""
CRASH = "failures: [{fails: decode-0, at: 1 s, detection: lease, recovery: recompute}]\n"


def ask(name: str, text: str) -> Answer:
    return question(name)(Study(loads(HEAD + text, Path("x.yaml"))))


def rows(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.data()["rows"]
    assert len({column.name for column in table.columns}) == len(table.columns)
    return found


@pytest.mark.parametrize("name", ["failures", "availability", "checkpoints"])
def test_a_question_says_what_it_asks(name: str) -> None:
    assert asked(name).endswith("?")


def test_failures_by_recovery_and_by_detection() -> None:
    answer = ask("failures", CRASH)
    seen, clients, work, detection = map(rows, answer.tables)
    assert seen[0]["mechanism"] == "lease"
    assert (seen[0]["delay_least_s"], seen[0]["delay_most_s"]) == pytest.approx((5, 10))
    by = {row["recovery_by"]: row for row in clients}
    assert next(iter(by)) == "as planned (recompute)"
    assert by["as planned (recompute)"]["stall_most_s"] == by["recompute"]["stall_most_s"] > 7.5
    assert by["abort"]["never_finished"] == by["abort"]["hit"] > 0
    assert by["transfer 4x-nvlink5"]["stall_mean_s"] < by["transfer 100gbe"]["stall_mean_s"]
    lost = {row["lost_tokens"] for row in work}
    assert len(lost) == 1
    moved = {row["recovery_by"]: row["moved_B"] for row in work}
    assert moved["transfer 100gbe"] == lost.pop() * 327_680
    assert moved["recompute"] == 0
    after = {row["mechanism"]: row["stall_most_s"] for row in detection}
    assert after["stream-break"] < after["watchdog"] < after["lease"] < after["lease-60"]
    assert after["transport"] is None
    json.dumps(answer.data(), allow_nan=False)


def test_failures_that_stop_nothing_have_no_recovery_to_choose() -> None:
    text = "failures: [{fails: nvlink-0, at: 1 s, detection: 1 s, falls-back: true}]\n"
    _, clients, _, _ = map(rows, ask("failures", text).tables)
    (only,) = clients
    assert only["recovery_by"] == "as planned (nothing lost)"
    late, usual = (only[f"bystanders_ttft_with_hand_off_p99{end}_s"] for end in ("", "_before"))
    assert late > usual + 0.5
    assert only["bystanders_ttft_p99_s"] == only["bystanders_ttft_p99_before_s"]


def test_a_domain_with_all_of_them_leaves_no_peer() -> None:
    text = "failures: [{fails: nvlink-0, at: 1 s, detection: 0 s, restart: 1 s}]\n"
    _, clients, _, _ = map(rows, ask("failures", text).tables)
    names = [row["recovery_by"] for row in clients]
    assert "replica" not in names
    assert "transfer 4x-nvlink5" not in names
    assert "transfer 4x-c2c" in names


def test_a_plot_marks_the_failure() -> None:
    for plot in ask("failures", CRASH).plots:
        assert [(mark.x, mark.label) for mark in plot.marks] == [(1.0, "decode-0")]
        assert [series.label for series in plot.series] == ["with failures", "without"]
        assert all(len(series.xs) == len(series.ys) > 0 for series in plot.series)


def test_availability_by_domain_and_by_rate() -> None:
    answer = ask("availability", "availability: {gpu: 1000 h, restart: 1 min, recovery: abort}\n")
    found, totals = map(rows, answer.tables)
    prefill, decode = found
    assert prefill["mtbf_s"] == decode["mtbf_s"] == 250 * 3600
    assert decode["mttr_s"] == pytest.approx(67.5)
    assert (decode["detection_s"], decode["restart_s"]) == pytest.approx((7.5, 60))
    assert decode["hit"] > 0
    assert len(totals) == 1 + 3 * 4
    expected = totals[0]
    assert expected["mtbf_any_s"] == pytest.approx(250 / 4 * 3600)
    *_, last = loads(HEAD, Path("x.yaml")).variants[0].workload
    offered = 60 / last.arrival_s
    assert expected["goodput_per_s"] == pytest.approx(offered, rel=1e-3)
    assert expected["goodput_per_s"] < offered


def test_availability_says_what_its_rates_and_restarts_stand_for() -> None:
    answer = ask("availability", "")
    told = "failures gpu: Interruptions of any cause, by GPU: one in 2,112 d (Llama 3"
    assert any(note.startswith(told) for note in answer.notes)  # 16,384 GPUs, 54 days, 419 of them
    assert "restart standby: 400 ms (Tarragon" in "\n".join(answer.notes)
    totals = rows(answer.tables[1])[1:]
    for key, what in (("rate", "failures"), ("restart", "restart")):
        for name in {row[key] for row in totals}:
            assert sum(note.startswith(f"{what} {name}:") for note in answer.notes) == 1


def test_an_nvlink_domain_is_known_and_restarts() -> None:
    text = "availability: {gpu: 1000 h, nvlink-domain: 5000 h, nvlink-restart: 5 min}\n"
    *_, domain = rows(ask("availability", text).tables[0])
    assert domain["domain"] == "NVLink domain"
    assert domain["restart_s"] == pytest.approx(300)
    assert domain["detection_s"] + domain["restart_s"] == pytest.approx(domain["mttr_s"])


def test_checkpoints_by_rate_and_strategy() -> None:
    text = "checkpoints: {over: 4x-c2c-like, intervals: [1 s]}\n".replace("4x-c2c-like", "c2c")
    prices, intervals = map(rows, ask("checkpoints", text).tables)
    assert len(prices) == 3 * 4
    assert [row["strategy"] for row in prices if row["cheapest"]] == ["recompute"] * 3
    for row in intervals:
        assert row["young_s"] == pytest.approx((2 * row["checkpoint_s"] * row["mtbf_s"]) ** 0.5)
        assert row["daly_s"] == pytest.approx(row["young_s"], rel=0.01)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("failures", "", "nothing fails in it; say what does"),
        (
            "availability",
            "availability: {detection: stream-break}\n",
            r"silent \(detection: stream-break\)",
        ),
        ("availability", "availability: {detection: never}\n", r"silent \(detection: never\)"),
    ],
)
def test_what_cannot_be_answered(name: str, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        ask(name, text)


def test_no_steady_state() -> None:
    one = HEAD.replace("output: 100 tokens", "output: {mean: 1 tokens, cv: 0}")
    with pytest.raises(ModelError, match=r"^2 prefill \+ 2 decode: .* more than one token"):
        question("checkpoints")(Study(loads(one, Path("x.yaml"))))


def test_a_file_without_an_answer_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(HEAD + CRASH.replace("decode-0", "tray-99"))
    assert run(["simulate", str(path), "--ask", "failures"]) == 2
    told = capsys.readouterr()
    assert "nothing called 'tray-99' can fail; did you mean tray-9?" in told.out + told.err
