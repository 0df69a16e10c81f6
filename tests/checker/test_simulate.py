"""rackproof simulate: real files in, real output out, and what is told when things go wrong."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from rackproof.checker.cli import run
from rackproof.checker.performance import plots
from rackproof.checker.performance.answers import Column, Table, Unit
from rackproof.checker.performance.questions import QUESTIONS
from rackproof.checker.report.screen import Screen

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scenarios" / "performance"
STUDY = FOLDER / "rack-study.yaml"
PROGRAM = Path(sys.executable).parent / "rackproof"
SMALL = """\
rackproof: 1
name: A few requests
deployment:
  model: llama-3-8b
  gpu: gb200
  prefill: {instances: 1, gpus: 1}
  decode: {instances: 2, gpus: 1}
  hand-off: {link: 400g}
workload:
  synthetic: {requests: 60, rate: 40 /s, prompt: 500 tokens, output: 40 tokens}
failures: [{fails: decode-0, at: 500 ms, detection: lease}]
"""
CSV = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.5,480,10\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a small file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    return tmp_path


def written(name: str, *changes: tuple[str, str]) -> str:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(name).write_text(text, encoding="utf-8")
    return name


def answers(*arguments: str, status: int = 0) -> list[dict]:
    """What JSON says of each question of each file."""
    assert run(["simulate", *arguments, "--json", "out.json"]) == status
    files = json.loads(Path("out.json").read_text(encoding="utf-8"))
    return [answer for file in files for answer in file["answers"]]


def rows(answer: dict, table: int = 0) -> list[dict]:
    return answer["tables"][table]["rows"]


# The rack study


def test_every_published_figure_of_the_rack_study(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = answers(str(STUDY), "--ask", "published")
    found = rows(answer)
    assert len(found) == 21
    assert {row["agrees"] for row in found} == {"ok"}
    assert all(row["published"] == row["rounded"] for row in found)
    assert {"268,708 tok/s", "420 ms", "65.3 ms", "13 %", "1.36 J", "279 us"} <= {
        row["published"] for row in found
    }
    out = capsys.readouterr().out
    assert "TTFT p99 (end of prefill)" in out
    assert "p50 and mean are printed as 12.4 ms, p99 would be 12.8 ms" in out
    assert "TTFT in the study ends with prefill and leaves the hand-off out" in out


def test_a_figure_that_differs_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    text = STUDY.read_text(encoding="utf-8").replace("value: 420 ms", "value: 419 ms")
    Path("study.yaml").write_text(text, encoding="utf-8")
    arguments = ["study.yaml", "--ask", "published", "--variant", "12:6"]
    (answer,) = answers(*arguments, status=1)
    assert answer["shortfalls"] == ["TTFT at 12:6: published 419 ms, computed 420.048 ms"]
    assert "TTFT at 12:6: published 419 ms" in capsys.readouterr().out


def test_both_conventions_of_ttft_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    (answer,) = answers(str(STUDY), "--ask", "run", "--variant", "12:6")
    (row,) = rows(answer)
    assert row["ttft_end_of_prefill_p99_s"] == pytest.approx(0.42004760252714235, rel=1e-9)
    assert row["ttft_with_hand_off_and_first_step_p99_s"] > row["ttft_end_of_prefill_p99_s"]
    assert row["slo_met_share"] == 1
    out = capsys.readouterr().out
    assert "TTFT p99 (end of prefill)" in out
    assert "TTFT p99 (with hand-off and first step)" in out


def test_the_convention_of_the_slo_decides_what_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = written("slow.yaml", ("link: 400g", "link: 100gbe"))
    times = rows(answers(name)[0])[0]
    prefill, first = (
        times[f"ttft_{one}_p99_s"] for one in ("end_of_prefill", "with_hand_off_and_first_step")
    )
    assert prefill < first
    between = f"slo.ttft={(prefill + first) / 2} s"
    setting = ["--set", between, "--set", "slo.convention="]
    kept = {}
    for convention in ("end-of-prefill", "first-token"):
        setting[-1] = f"slo.convention={convention}"
        kept[convention] = rows(answers(name, *setting)[0])[0]["slo_met_share"]
    assert kept["end-of-prefill"] > kept["first-token"]
    assert "SLO: first token (with hand-off and first step) within" in capsys.readouterr().out


@pytest.mark.parametrize(
    "question", ["run", "sizing", "expected", "playbook", "failures", "availability"]
)
@pytest.mark.parametrize(
    ("convention", "text"),
    [("end-of-prefill", "end of prefill"), ("first-token", "with hand-off and first step")],
)
def test_what_speaks_of_the_slo_names_its_convention(
    question: str, convention: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path("small.yaml")
    path.write_text(SMALL + "expect: [{measure: goodput, at-least: 1 /s}]\n", encoding="utf-8")
    assert (
        run(["simulate", "small.yaml", "--ask", question, "--set", f"slo.convention={convention}"])
        == 0
    )
    assert f"SLO: first token ({text}) within 2 s, then 50 ms a token." in capsys.readouterr().out


def test_objectives_of_variants_that_differ_are_told_of_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = "variants: [{name: a}, {name: b, slo: {convention: first-token}}]\n"
    Path("two.yaml").write_text(SMALL + more, encoding="utf-8")
    assert run(["simulate", "two.yaml"]) == 0
    out = capsys.readouterr().out
    assert "SLO of a: first token (end of prefill) within 2 s" in out
    assert "SLO of b: first token (with hand-off and first step) within 2 s" in out


def test_failures_that_a_question_leaves_out_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    note = "failures: nothing of it is in these figures; --ask failures"
    for asked, told in (((), True), (("--ask", "sizing"), True), (("--ask", "failures"), False)):
        assert run(["simulate", "small.yaml", *asked, "--json", "out.json"]) == 0
        (file,) = json.loads(Path("out.json").read_text(encoding="utf-8"))
        assert file["notes"] == ([note] if told else [])
        assert (note in capsys.readouterr().out) is told


@pytest.mark.parametrize("question", ["run", "energy", "capacity"])
def test_expert_parallelism_is_told_with_every_answer(question: str) -> None:
    note = "with expert parallelism steps come out too short, by 1.04 to 14 times"
    (answer,) = answers(str(FOLDER / "moe.yaml"), "--ask", question)
    assert any(note in one for one in answer["notes"])
    (answer,) = answers("small.yaml", "--ask", question)
    assert not any(note in one for one in answer["notes"])


def test_source_and_notes_of_a_file_are_told_with_its_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path("small.yaml")
    path.write_text(SMALL + "source: a paper\nnotes: beware\n", encoding="utf-8")
    for asked, told in (((), True), (("--ask", "capacity"), False)):
        assert run(["simulate", "small.yaml", *asked]) == 0
        out = capsys.readouterr().out
        assert out.startswith("A few requests\nsmall.yaml")
        assert ("a paper" in out, "beware" in out) == (told, told)


def test_what_is_set_is_of_the_variants_it_fits_and_of_those_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = "{name: together, deployment: {aggregated: {instances: 3, gpus: 1}}}"
    more = f"variants: [{{name: apart}}, {other}]"
    Path("two.yaml").write_text(SMALL + more + "\n", encoding="utf-8")
    setting = "deployment.prefill.instances=2"
    pools = rows(answers("two.yaml", "--set", setting)[0], 1)
    counts = {(pool["variant"], pool["pool"]): pool["instances"] for pool in pools}
    assert counts["apart", "prefill"] == 2
    assert counts["together", "aggregated"] == 3
    note = "--set deployment.prefill.instances: left out of together, of another kind"
    assert note in capsys.readouterr().out
    (answer,) = answers("two.yaml", "--set", setting, "--variant", "apart")
    assert [row["variant"] for row in rows(answer)] == ["apart"]
    assert "left out" not in capsys.readouterr().out
    routing = "deployment.routing.prefill=round-robin"
    assert run(["simulate", "two.yaml", "--variant", "apart", "--set", routing]) == 0
    assert run(["simulate", "two.yaml", "--variant", "together", "--set", routing]) == 2


def test_an_expectation_that_is_missed_ends_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    expect = "expect:\n  - {measure: slo-met, at-least: 99 %}\n"
    Path("good.yaml").write_text(SMALL + expect)
    assert run(["simulate", "good.yaml"]) == 0
    assert re.search(r"SLO met +ok +at least 99\.0 % +100\.0 %", capsys.readouterr().out)
    more = "  - {measure: tpot-p99, at-least: 1 ms, at-most: 1.1 ms}\n"
    Path("bad.yaml").write_text(SMALL + expect + more)
    (answer,) = answers("bad.yaml", "--ask", "expected", status=1)
    assert [row["kept"] for row in rows(answer)] == ["ok", "missed"]
    assert re.fullmatch(
        r"1 prefill \+ 2 decode: TPOT p99 is \S+ ms, expected at least 1 ms and at most 1\.100 ms",
        answer["shortfalls"][0],
    )
    never = "workload.synthetic.output={mean: 1 tokens, cv: 0}"
    (answer,) = answers("bad.yaml", "--ask", "expected", "--set", never, status=1)
    assert rows(answer)[1]["computed"] == "-"


# Texts that would steer the terminal, or that have no encoding

NASTY = '"\\uD800 \\e[31mred \\u202E $x^$ \\x9b"'


def test_no_text_of_a_file_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    name = written("nasty.yaml", ("name: A few requests", f"name: {NASTY}"))
    with Path(name).open("a", encoding="utf-8") as file:
        file.write(f"notes: {NASTY}\nvariants: [{{name: {NASTY}}}]\n")
        file.write(f"expect: [{{of: {NASTY}, measure: slo-met, at-least: 1 %}}]\n")
    asked = ["--ask", "run", "--ask", "expected", "--ask", "failures"]
    told = answers(name, *asked, "--plot", "plots")
    assert len(told) == 3
    assert rows(told[0])[0]["variant"] == "\ud800 \x1b[31mred \u202e $x^$ \x9b"
    out = capsys.readouterr().out
    assert r"\ud800 \x1b[31mred \u202e $x^$ \x9b" in out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", out)


@pytest.mark.parametrize(
    "change", [("slo: ", '"\\e[31m": '), ("fails: decode-0", f"fails: {NASTY}")]
)
def test_nor_does_a_message_about_it(
    change: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = (SMALL + "slo: {ttft: 1 s}\n").replace(*change)
    Path("nasty.yaml").write_text(text, encoding="utf-8")
    assert run(["simulate", "nasty.yaml", "--ask", "failures"]) == 2
    assert run(["verify", "nasty.yaml"]) == 2
    assert not re.search("[\x1b\x9b\u202e\ud800]", capsys.readouterr().out)


def test_colours_are_those_of_the_console_alone() -> None:
    out = io.StringIO()
    screen = Screen(file=out, force_terminal=True, color_system="standard", width=60)
    screen.print(Text("a\x1b[31mb\n\ud800", "green"))
    assert out.getvalue().splitlines() == [
        "\x1b[32ma\\x1b[31mb\x1b[0m",
        "\x1b[32m\\ud800\x1b[0m",
    ]


# Names of files

LONG = "x" * 5000


@pytest.mark.parametrize("command", ["simulate", "verify", "replay", "cost"])
def test_a_name_longer_than_names_may_be(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, LONG]) == 2
    assert "file name too long" in capsys.readouterr().out


def test_a_long_name_within_a_file_or_of_an_output(capsys: pytest.CaptureFixture[str]) -> None:
    trace = f"workload={{azure: {{file: {LONG}}}}}"
    rack = f"deployment.hand-off={{rack: {{path: {LONG}.yaml}}, link: }}"
    assert run(["simulate", "small.yaml", "--set", trace]) == 2
    assert run(["simulate", "small.yaml", "--set", rack]) == 2
    out = capsys.readouterr().out
    assert "workload.azure.file: there is no file" in out
    assert "file name too long" in out.lower()
    for option in ("--plot", "--json"):
        assert run(["simulate", "small.yaml", option, LONG]) == 2


@pytest.mark.parametrize(
    ("option", "name"),
    [(o, name) for o in ("--plot", "--json") for name in ("", " ", "small.yaml/x")]
    + [("--plot", "/proc"), ("--plot", "/proc/x"), ("--json", "/tmp")],
)
def test_an_output_that_cannot_be_is_refused_before_the_run(
    option: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "small.yaml", option, name]) == 2
    assert "What requests see" not in capsys.readouterr().out


def test_an_empty_name_is_not_the_folder_one_is_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", ""]) == 2
    assert capsys.readouterr().out.strip() == "the name of a file is empty"


@pytest.mark.parametrize("top", ['"deployment":', "'deployment':", "deployment :"])
def test_a_quoted_key_is_a_key(top: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plans").mkdir()
    text = SMALL.replace("deployment:", top).replace("rackproof:", '"rackproof":')
    Path("plans", "quoted.yaml").write_text(text, encoding="utf-8")
    braces = "# all in braces\n{rackproof: 1, name: N, deployment: {prefill: 1}, workload: {}}"
    Path("plans", "braces.yaml").write_text(braces, encoding="utf-8")
    assert run(["simulate", "plans", "--ask", "capacity"]) == 2
    out = capsys.readouterr().out
    assert "plans/braces.yaml:2: deployment.decode: is missing" in out
    assert "KV" in out
    assert run(["verify", "plans/quoted.yaml"]) == 2
    assert "rackproof simulate plans/quoted.yaml" in capsys.readouterr().out


def test_a_message_names_its_file_once(capsys: pytest.CaptureFixture[str]) -> None:
    name = written(
        "none.yaml", ("failures: [{fails: decode-0, at: 500 ms, detection: lease}]\n", "")
    )
    for question in ("failures", "availability", "checkpoints", "published", "expected", "sizing"):
        run(["simulate", name, "--ask", question])
        told = capsys.readouterr().out.splitlines()
        assert all(line.count(name) <= 1 for line in told)


def test_energy_of_a_run_in_which_nothing_happens() -> None:
    Path("one.csv").write_text(CSV, encoding="utf-8")
    changes = ["workload={azure: {file: one.csv}}", "deployment.longest-context=1 tokens"]
    settings = [word for change in changes for word in ("--set", change)]
    for question in sorted(set(QUESTIONS) - {"published", "expected"}):
        run(["simulate", "small.yaml", "--ask", question, *settings, "--json", "out.json"])
        (file,) = json.loads(Path("out.json").read_text(encoding="utf-8"))
        assert not any("a fault of" in line for line in file["answers"][0].get("errors", ()))
    (answer,) = answers("small.yaml", "--ask", "energy", *settings)
    assert rows(answer)[0]["power_W"] is None


# The other bundled files


@pytest.mark.parametrize("name", ["azure-code", "azure-conv", "moe"])
def test_a_bundled_file_runs_and_loses_no_request(name: str) -> None:
    answer, *_ = answers(str(FOLDER / f"{name}.yaml"))
    assert all(row["completed"] >= 200 and row["rejected"] == 0 for row in rows(answer))


def test_a_smaller_format_relieves_a_slow_link_and_a_cache_is_hit_by_those_who_ask_it() -> None:
    pairs, cached = answers(str(FOLDER / "h100-pairs.yaml"), str(FOLDER / "mooncake.yaml"))
    moved = {row["variant"]: row["hand_off_mean_s"] for row in rows(pairs)}
    assert moved["25GbE, FP8 KV"] < moved["25GbE"] / 10
    assert moved["25GbE, streaming"] < moved["25GbE"]
    hits = {
        row["variant"]: row["prefix_hits_share"]
        for row in rows(cached, 1)
        if row["pool"] == "prefill"
    }
    assert hits["no cache"] is None
    assert hits["cache, estimated completion"] > hits["cache, fewest queued tokens"] > 0


def test_a_rack_without_its_switches_hands_over_by_the_network() -> None:
    (answer,) = answers(str(FOLDER / "rack-links.yaml"))
    moved = [row["hand_off_mean_s"] for row in rows(answer)]
    whole, fallen, half = moved
    assert whole < half < fallen
    assert fallen == pytest.approx(0.0049503, rel=0.01)  # 4x400G of the published study


# Questions


@pytest.mark.parametrize(
    "name", [name for name in QUESTIONS if name not in ("published", "expected")]
)
def test_every_question_has_an_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from rackproof.checker.performance.questions import crossover  # noqa: PLC0415

    monkeypatch.setattr(crossover, "PROMPTS", (512, 2048))
    monkeypatch.setattr(crossover, "OUTPUTS", (32,))
    monkeypatch.setattr(crossover, "FACTORS", (1.0, 4.0))
    (answer,) = answers("small.yaml", "--ask", name)
    assert answer["question"] == name
    assert all(table["rows"] for table in answer["tables"])


def test_sizing_tries_every_split_and_marks_the_best() -> None:
    (answer,) = answers("small.yaml", "--ask", "sizing", "--set", "deployment.decode.instances=4")
    found = rows(answer)
    assert [row["split"] for row in found] == ["1:4", "2:3", "3:2", "4:1"]
    (best,) = [row for row in found if row["best"]]
    kept = [row for row in found if row["slo_met_share"] >= 0.99]
    assert best["energy_per_output_token_J"] == min(
        row["energy_per_output_token_J"] for row in kept
    )


def test_sizing_uses_all_gpus_in_every_split() -> None:
    pools = "{prefill: {instances: 3, gpus: 4}, decode: {instances: 1, gpus: 8}}"
    (answer,) = answers("small.yaml", "--ask", "sizing", "--set", f"deployment={pools}")
    assert [row["split"] for row in rows(answer)] == ["1:2", "3:1"]


def test_break_even_is_a_set_of_ranges() -> None:
    (answer,) = answers(str(STUDY), "--ask", "break-even", "--variant", "12:6")
    links = {row["link"]: row for row in rows(answer)}
    assert links["nvme"]["transfer"] == "1..304, 71,739..131,072"
    assert links["nvme"]["recompute"] == "305..71,738"
    assert links["25gbe"]["recompute"] == "107..131,072"
    assert links["100gbe"]["recompute"] == "-"
    assert "Above 10.28 GB/s" in answer["tables"][0]["notes"][0]


def test_capacity_of_the_worked_example() -> None:
    changes = ["--set", "deployment.model={like: llama-3-8b}", "--set", "deployment.kv-format=bf16"]
    (answer,) = answers("small.yaml", "--ask", "capacity", *changes)
    found = {(row["kv_format"], row["context_tokens"]): row for row in rows(answer)}
    assert found["bf16", 4096]["request_B"] == 512 * 2**20
    assert found["nvfp4", 4096]["request_B"] < found["bf16", 4096]["request_B"] / 3.5
    assert found["fp8", 4096]["requests"] == pytest.approx(
        2 * found["bf16", 4096]["requests"], abs=1
    )


def test_paths_of_racks_are_as_wide_as_their_slowest_link() -> None:
    (answer,) = answers(str(STUDY), "--variant", "12:6", "--ask", "paths")
    within, without, between = (
        next(row for row in rows(answer, table) if row["target"] == "decode-0")
        for table in range(3)
    )
    assert within["whole_s"] == pytest.approx(983_040_000 / 3.6e12 + 5e-6)
    assert without["whole_s"] == between["whole_s"] == pytest.approx(983_040_000 / 2e11 + 10e-6)
    assert within["paged_s"] - within["whole_s"] == pytest.approx(188 * 80 * 0.9e-6)


@pytest.mark.parametrize(
    ("gpu", "gpus", "bandwidths"),
    [
        ("gb200", 1, [900e9, 50e9, 50e9]),
        ("gb200", 2, [1.8e12, 100e9, 100e9]),
        ("{like: gb200, memory_GB: 96}", 4, [3.6e12, 200e9, 200e9]),
        ("h100", 8, [400e9]),
        ("a100", 4, [100e9]),
        ("gb200", 8, None),
        ("rubin-cpx", 1, None),
    ],
)
def test_paths_are_of_the_gpus_that_there_are(
    gpu: str, gpus: int, bandwidths: list[float] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    pools = f"{{instances: 1, gpus: {gpus}}}"
    change = f"deployment={{gpu: {gpu}, prefill: {pools}, decode: {pools}}}"
    asked = ["small.yaml", "--ask", "paths", "--set", change]
    if bandwidths is None:
        assert run(["simulate", *asked]) == 2
        assert f"no server that is known has {gpus} GPUs such as" in capsys.readouterr().out
        return
    (answer,) = answers(*asked)
    ways = [
        next(row["bandwidth_B_per_s"] for row in table["rows"] if row["target"] == "decode-0")
        for table in answer["tables"]
    ]
    assert ways == pytest.approx(bandwidths)


def test_nvfp4_keeps_what_one_scale_loses() -> None:
    (answer,) = answers(str(STUDY), "--variant", "12:6", "--ask", "nvfp4")
    plain, outliers = rows(answer)[:2]
    assert plain["sqnr_nvfp4_two_levels_dB"] - plain["sqnr_tensor_scale_alone_dB"] > 3
    assert outliers["sqnr_nvfp4_two_levels_dB"] - outliers["sqnr_tensor_scale_alone_dB"] > 15


def test_energy_of_the_study_adds_up() -> None:
    (answer,) = answers(str(STUDY), "--ask", "energy", "--variant", "6:12", "--variant", "12:6")
    parts = ("static_J", "compute_J", "memory_J", "collectives_J", "hand_off_J")
    for row in rows(answer):
        assert sum(row[part] for part in parts) == pytest.approx(row["total_J"], rel=1e-12)
    assert [round(row["total_J"], 2) for row in rows(answer)] == [1.18, 1.36]


def test_crossover_says_which_way_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    from rackproof.checker.performance.questions import crossover  # noqa: PLC0415

    monkeypatch.setattr(crossover, "PROMPTS", (2048,))
    monkeypatch.setattr(crossover, "OUTPUTS", (8,))
    monkeypatch.setattr(crossover, "FACTORS", (1.0,))
    (answer,) = answers("small.yaml", "--ask", "crossover")
    (row,) = rows(answer)
    assert row["better_as_given"] == "aggregated"  # one of three instances prefills
    assert row["split"] == "2:1"
    assert row["disaggregated_at_best_per_s"] > row["disaggregated_as_given_per_s"]
    assert answer["tables"][0]["notes"][0].startswith("Crossover, 1:2 or aggregated, outputs of 8")


def test_playbook_names_the_evidence() -> None:
    changes = ("--set", "workload.synthetic.rate=900 /s", "--set", "slo.ttft=100 ms")
    (answer,) = answers("small.yaml", "--ask", "playbook", *changes)
    found = {row["diagnosis"]: row for row in rows(answer)}
    assert "prefill is busy 100% while requests arrive" in found["prefill-overloaded"]["evidence"]


# Options


def test_several_files_folders_and_questions(capsys: pytest.CaptureFixture[str]) -> None:
    Path("more").mkdir()
    written("more/other.yaml", ("A few requests", "Others"))
    Path("more/lease.yaml").write_text("rackproof: 1\nname: n\nexpect: {}\n")
    found = answers("small.yaml", "more", "--ask", "run", "--ask", "roofline")
    assert [answer["question"] for answer in found] == ["run", "roofline"] * 2
    out = capsys.readouterr().out
    assert out.index("A few requests") < out.index("Others")


def test_json_goes_to_stdout_and_people_read_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "small.yaml", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    (file,) = json.loads(out)
    assert file["file"] == "small.yaml"
    assert "What requests see" in err


def test_a_seed_and_settings_change_the_run() -> None:
    plain, seeded, slower = (
        rows(answers("small.yaml", *more)[0])[0]["ttft_end_of_prefill_p99_s"]
        for more in ([], ["--seed", "7"], ["--set", "deployment.overhead=20 ms"])
    )
    assert plain != seeded
    assert slower > plain + 0.018


def test_the_same_bytes_whatever_the_hash_seed() -> None:
    outputs = set()
    for seed in ("0", "12345"):
        command = [PROGRAM, "simulate", "small.yaml", "--plot", seed]
        done = subprocess.run(
            [*map(str, command), "--json", "-"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
        files = sorted(Path(seed).iterdir())
        assert [file.name for file in files] == [
            "small-run-in-system.svg",
            "small-run-ttft.svg",
        ]
        outputs.add((done.stdout, *(file.read_bytes() for file in files)))
    assert len(outputs) == 1


def test_plots_of_files_with_one_name_do_not_overwrite_each_other() -> None:
    Path("more").mkdir()
    written("more/small.yaml", ("60", "50"))
    assert run(["simulate", "small.yaml", "more", "--ask", "sizing", "--plot", "plots"]) == 0
    assert sorted(path.name for path in Path("plots").iterdir()) == [
        "small-2-sizing-splits.svg",
        "small-sizing-splits.svg",
    ]


def test_every_plot_has_a_file_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["a b", "a_b", "日本", "語学", "../../evil/x", "語" * 300]
    variants = ", ".join(f'{{name: "{name}"}}' for name in names)
    Path("many.yaml").write_text(f"{SMALL}variants: [{variants}]\n", encoding="utf-8")
    asked = ["--ask", "failures", "--plot", "plots"]
    assert run(["simulate", "many.yaml", "small.yaml", "small.yaml", *asked]) == 0
    told = re.findall(r"plots/\S+\.svg", capsys.readouterr().out)
    files = {str(path) for path in Path().rglob("*.svg")}
    assert set(told) == files
    again = [path for path in told if told.count(path) > 1]
    assert len(told) - len(again) // 2 == len(files)
    assert {path.split("-")[0] for path in again} == {"plots/small"}
    assert any("日本" in path for path in told)


def test_plots_are_svg_without_a_date() -> None:
    assert run(["simulate", "small.yaml", "--ask", "sizing", "--plot", "here/plots"]) == 0
    (path,) = Path("here/plots").iterdir()
    text = path.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "<dc:date>" not in text
    assert "prefill instances" in text


def test_plots_without_matplotlib(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["simulate", "small.yaml", "--plot", "plots"]) == 2
    assert plots.ABSENT in capsys.readouterr().err
    assert run(["simulate", "small.yaml"]) == 0


def test_a_narrow_terminal_shows_every_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for width in ("200", "60"):
        monkeypatch.setenv("COLUMNS", width)
        assert run(["simulate", "small.yaml"]) == 0
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= int(width)
        texts.append(set(re.findall(r"[\d.]+ (?:ms|us|%|J|/s)", out)))
    assert texts[0] <= texts[1]


# What goes wrong


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("gb200", "gb20")], "x.yaml:5: deployment.gpu: there is no GPU 'gb20'; did you mean gb"),
        ([("40 /s", "-1 /s")], "x.yaml:10: workload.synthetic.rate: expected a rate above 0"),
        ([("40 /s", ".nan")], "x.yaml:10: workload.synthetic.rate: expected a rate"),
        ([("instances: 2", "instances: 0")], "decode.instances: expected a whole number from 1"),
        (
            [("llama-3-8b", "llama-3-405b")],
            "x.yaml:6: deployment.prefill: llama-3-405b does not fit",
        ),
        ([("400g}", "400g, streams: 1}")], "hand-off.streams: there is no such key; did you mean"),
    ],
)
def test_a_bad_file_loses_no_other(
    changes: list[tuple[str, str]], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", written("x.yaml", *changes), "small.yaml"]) == 2
    out = capsys.readouterr().out
    assert message in out
    assert "Traceback" not in out
    assert "A few requests" in out


def test_a_trace_with_a_broken_row_loses_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text(CSV + "2023-11-16 18:17:04.5,-480,10\n")
    trace = (
        "synthetic: {requests: 60, rate: 40 /s, prompt: 500 tokens, output: 40 tokens}",
        "azure: {file: t.csv}",
    )
    assert run(["simulate", written("x.yaml", trace), "small.yaml"]) == 2
    out = capsys.readouterr().out
    assert "x.yaml: run: t.csv:3: ContextTokens: '-480' is not a whole number of tokens" in out
    assert "Traceback" not in out
    assert "What pools do" in out


def test_json_tells_what_went_wrong_where() -> None:
    written("x.yaml", ("gb200", "gb20"))
    files = ["x.yaml", "small.yaml", "--ask", "published", "--ask", "roofline"]
    assert run(["simulate", *files, "--json", "out.json"]) == 2
    bad, good = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert bad["errors"] == [
        "x.yaml:5: deployment.gpu: there is no GPU 'gb20'; did you mean gb200?"
    ]
    none, roofline = good["answers"]
    assert none["errors"] == ["small.yaml: there are no published figures in it (published:)"]
    assert roofline["tables"]


def test_a_request_that_can_never_fit_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "small.yaml", "--set", "deployment.longest-context=600 tokens"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"1 prefill \+ 2 decode: .*600", out)


def test_a_trace_of_one_request() -> None:
    Path("t.csv").write_text(CSV)
    trace = (
        "synthetic: {requests: 60, rate: 40 /s, prompt: 500 tokens, output: 40 tokens}",
        "azure: {file: t.csv}",
    )
    run_, playbook = answers(written("x.yaml", trace), "--ask", "run", "--ask", "playbook")
    (row,) = rows(run_)
    assert (row["completed"], row["slo_met_share"]) == (1, 1)
    assert rows(playbook)[0]["diagnosis"] == "none"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.yaml"], "none.yaml: there is no such file"),
        (["rack-study"], "rack-study: there is no such file; did you mean"),
        (["small.yaml", "--ask", "sizin"], "there is no question 'sizin'; did you mean sizing?"),
        (["small.yaml", "--set", "x"], "--set x: write KEY=VALUE"),
        (["small.yaml", "--set", "deployment.gpus=3"], "deployment.gpus: there is no such key"),
        (["small.yaml", "--variant", "b"], "small.yaml: there is no variant 'b'"),
        (["small.yaml", "--ask", "published"], "small.yaml: there are no published figures"),
        (["small.yaml", "--ask", "expected"], "small.yaml: nothing is expected in it"),
        (["small.yaml", "--seed", "-1"], "-1 is not in the range"),
        (["small.yaml", "--json", "no/such.json"], "there is no such folder"),
        (["small.yaml", "--plot", "small.yaml"], "--plot small.yaml: is a file, not a folder"),
        (["."], "A few requests"),
        (["empty"], "empty: there is nothing to simulate in this folder"),
        ([], "Missing argument 'FILE...'"),
    ],
)
def test_bad_usage_is_one_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    status = run(["simulate", *arguments])
    out = "".join(capsys.readouterr())
    assert status == (0 if arguments == ["."] else 2)
    assert message in out
    assert "Traceback" not in out


def test_each_command_knows_the_files_of_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lease.yaml").write_text("rackproof: 1\nname: n\nprotocol: {stack: dynamo}\n")
    assert run(["simulate", "lease.yaml"]) == 2
    assert "lease.yaml: has no deployment with a workload: rackproof verify" in "".join(
        capsys.readouterr()
    )
    assert run(["verify", "small.yaml"]) == 2
    assert "small.yaml: is a deployment with a workload: rackproof simulate" in "".join(
        capsys.readouterr()
    )


# How values are shown


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        (Unit.SECONDS, 0.42, "420 ms"),
        (Unit.SECONDS, 6.89586, "6.90 s"),
        (Unit.SECONDS, 2.7307e-4, "273 us"),
        (Unit.SECONDS, 0, "0 s"),
        (Unit.SECONDS, 124.0, "2.07 min"),
        (Unit.SECONDS, 7200, "2 h"),
        (Unit.SECONDS, float("inf"), "never"),
        (Unit.SHARE, 0.24889, "24.9 %"),
        (Unit.COUNT, 1_612_839, "1,612,839"),
        (Unit.COUNT, 0.999999, "1.000"),
        (Unit.BYTES, 536_870_912, "537 MB"),
        (Unit.BYTES_PER_S, 1.028e10, "10.3 GB/s"),
        (Unit.JOULES, 1.17645, "1.18 J"),
        (Unit.TEXT, "x", "x"),
        (Unit.COUNT, None, "-"),
        (Unit.TEXT, True, "yes"),
    ],
)
def test_a_value_is_shown_as_people_write_it(unit: Unit, value: float, text: str) -> None:
    assert unit.shown(value) == text


def test_what_is_not_finite_is_a_text_in_json() -> None:
    table = Table("t", (Column("a", "a", Unit.SECONDS),), ((float("inf"),), (float("nan"),)))
    assert [row["a_s"] for row in table.data()["rows"]] == ["inf", None]
