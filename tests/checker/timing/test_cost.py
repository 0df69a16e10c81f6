"""What people see of times: the command cost, counterexamples, replays and saved runs."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rackproof.checker.cli import run

BUGS = Path(__file__).parents[3] / "scenarios" / "bugs"

SUPPORT = Path(__file__).parents[2] / "support" / "timed_worlds.py"
WORLDS = """
import math
from timed_worlds import *
fast, slow = lease(), lease(read_s=40.0)
unset = lease(lease_s=math.inf)
settled = {n: with_changes(q, chosen=False) for n, q in fast.timing.quantities.items()}
fixed = with_changes(fast, timing=with_changes(fast.timing, quantities=settled))
dog = watchdog(1, 4, 10)
timers = racing(0.003, 5)
stuck = waiting_for_ever(timers)
heart = heartbeat(2, 3)
bare = System("bare", Raced(), (left, right))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    shutil.copy(SUPPORT, "timed_worlds.py")
    Path("own.py").write_text(WORLDS, encoding="utf-8")
    return tmp_path


def lines(text: str) -> list[str]:
    return [re.sub(r"  +", "  ", line.strip()) for line in text.splitlines() if line.strip()]


def data(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_cost_tells_paths_the_worst_stall_and_the_quantities(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["cost", "own.py:timers"]) == 0
    assert lines(capsys.readouterr().out) == [
        "cost of own.py:timers",
        "path  faults  first delivery  worst stall  total  energy",
        "no failure  0  3 ms  4.997 s  5 s  2.5 J",
        "broken  1  3 ms  4.997 s  5 s  2.5 J",
        "worst stall: 4.997 s, of user, from step 1 to step 2",
        "1. at 3 ms: The left timer goes off.",
        "left: false -> true; 2.5 J",
        "2. at 5 s: The right timer goes off.",
        "right: false -> true",
        "quantity  value  source",
        "left  3 ms",
        "right  5 s",
        "over all runs within these times: 8 states in 15 state classes",
        "to see it again: rackproof cost own.py:timers",
        "not checked: other times than the defaults; anything larger than this scope",
        "next: rackproof cost own.py:timers -v (a run of each class); or rackproof cost "
        "own.py:timers --set left=1s (with another value)",
    ]


def test_a_quantity_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "own.py:dog", "--set", "limit=2s", "--set", "fast=500 ms"]) == 0
    told = lines(capsys.readouterr().out)
    assert "limit  2 s  given here" in told
    assert "no failure  0  500 ms to 2 s  2 s  1.5 s to 2 s" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["own.py:dog", "--set", "limt=2s"], "there is no quantity 'limt'; did you mean limit?"),
        (["own.py:dog", "--set", "limit"], "--set limit: write NAME=DURATION"),
        (["own.py:dog", "--set", "limit=soon"], "--set limit: 'soon' is not a duration"),
        (["own.py:dog", "--set", "fast=5s"], "token takes at least fast = 5 s and at most slow"),
        (["own.py:bare"], "bare does not say how long anything takes"),
        (["own.py:nothing"], "nothing"),
        (["stack:nothing"], "nothing"),
        (["own.py:dog", "--json", "no/such/folder.json"], "there is no such folder"),
    ],
)
def test_what_cannot_be_asked_ends_with_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["cost", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.out + captured.err
    assert "Traceback" not in captured.out + captured.err


def test_a_wait_without_end_is_told_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "own.py:stuck", "--json", "-"]) == 0
    (found,) = data(capsys)
    assert found["worst_stall"]["seconds"] is None
    assert found["worst_stall"]["client"] == "user"
    assert found["worst_stall"]["reason"].endswith("any more, only: It breaks")
    assert [path["total_s"][1] for path in found["paths"]] == [None, None]


def test_loops_are_not_told_as_if_they_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "own.py:heart"]) == 3
    told = capsys.readouterr().out
    assert "patient may wait for ever: what happens can go on for ever: The heart beats" in told
    assert "of the paths not everything was seen: runs that go round this loop are left out" in told


def test_a_limit_that_is_too_short_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "own.py:dog", "--time-limit", "1ns"]) == 3
    told = capsys.readouterr().out
    assert "not everything was seen: the time limit of 1e-09 s" in told
    assert lines(told)[1] == (
        "not all runs were seen: what follows is of those that were, and there are more"
    )


def test_a_quantity_on_which_nothing_depends_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["cost", "stack:dynamo", "--exam", "crash", "--set", "handshake-timeout=3s"]
    assert run([*arguments, "--set", "lease=5s", "--json", "found.json"]) == 0
    told = lines(capsys.readouterr().out)
    assert "handshake-timeout is given here, and nothing that can happen depends on it" in told
    (found,) = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert found["unused"] == ["handshake-timeout"]
    notes = [line.removeprefix("note: ") for line in told if line.startswith("note: ")]
    assert found["notes"] == notes
    assert len(notes) == 2
    values = {quantity["name"]: quantity["values_s"] for quantity in found["quantities"]}
    assert values["arrival"] == [0.0, None]


def test_a_narrow_terminal_has_whole_cells(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every word of the wide table is in the narrow one, and no line has an ellipsis."""
    told = {}
    for width in ("100", "300"):
        monkeypatch.setenv("COLUMNS", width)
        assert run(["cost", "stack:dynamo", "--exam", "crash"]) == 0
        told[width] = capsys.readouterr().out
    assert sorted(told["100"].split()) == sorted(told["300"].split())
    assert (
        max(len(line.rstrip()) for line in told["100"].split("worst stall:")[0].splitlines()) <= 120
    )
    assert "no failure " in told["100"]
    source = "rack study, 12:6 at 90 requests/s: TTFT p99 is 420 ms, of which the prefill is 96 ms"
    assert source in told["300"]


def test_an_arrival_without_end_is_told_as_the_clients_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "rackproof: 1\nname: Two\nscope: {requests: 2, tokens: 1}\nrack: {aggregated: 1}\n"
    Path("two.yaml").write_text(text, encoding="utf-8")
    assert run(["cost", "two.yaml"]) == 0
    told = lines(capsys.readouterr().out)
    assert any(line.startswith("no failure") and " to no end" in line for line in told)
    assert "no end: arrival has none (a client's choice)" in told


def test_a_scope_without_clients_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", str(BUGS / "mooncake-1549-disk-eviction-untold.yaml")]) == 0
    told = lines(capsys.readouterr().out)
    assert told[2] == "no client in this scope"
    assert not any(line.startswith(("path", "note")) for line in told)


def test_a_folder_can_be_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    text = "rackproof: 1\nname: One\ndeployment: {queue-wait: 40 s}\ntimeouts: {}\n"
    Path("mine", "one.yaml").write_text(text, encoding="utf-8")
    assert run(["cost", "mine"]) == 0
    told = lines(capsys.readouterr().out)
    assert told[0] == "cost of mine/one.yaml"
    assert "queue-wait  40 s  the scenario" in told


def test_the_data_of_a_cost_are_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "own.py:slow", "--json", "-"]) == 0
    (found,) = data(capsys)
    assert found["conclusive"] is True
    assert found["quantities"][1] == {
        "name": "lease",
        "values_s": [30.0],
        "source": "the default",
        "chosen": True,
        "given": False,
    }
    assert found["worst_stall"]["seconds"] == 42.0
    assert [step["at_s"] for step in found["worst_stall"]["steps"]] == [2.0, 30.0, 30.5, 42.0]
    assert [violated["name"] for violated in found["violated"]] == ["no-overwrite"]
    (path,) = found["paths"]
    assert (path["tags"], path["faults"], path["is_exact"]) == ([], [0.0, 0.0], True)
    assert path["first_delivery_s"] == [0.0, 42.0]


def test_a_counterexample_that_no_clock_allows_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:fast"]) == 1
    told = lines(capsys.readouterr().out)
    assert "1. The lease ends." in told
    begin = told.index(
        "Timing: impossible within these times (lease 30 s): no run of this scope violates it "
        "(5 state classes, all there are)"
    )
    assert told[begin + 2 : begin + 8] == [
        "It is possible, with all else as it is, with either of these alone:",
        "lease <= 1.5 s (now 30 s: the default)",
        "read >= 28.5 s (now 300 us: measured)",
        "The run below is not the counterexample itself: 3 steps, the same in another order from "
        "step 2 on.",
        "As here, where lease <= 1.5 s:",
        "1. at 1.5 s: The lease ends.",
    ]


def test_that_no_value_of_what_is_chosen_helps_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:fixed"]) == 1
    told = lines(capsys.readouterr().out)
    begin = next(n for n, line in enumerate(told) if line.startswith("Timing: impossible"))
    assert told[begin + 2 : begin + 4] == [
        "It is possible, with all else as it is, where",
        "read >= 28.5 s (now 300 us: measured)",
    ]


def test_another_run_that_is_possible_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:slow"]) == 1
    told = lines(capsys.readouterr().out)
    begin = told.index(
        "Another run that violates it is possible, with 0 faults, 3 steps; this run is while lease "
        "<= 41.5 s."
    )
    assert [line for line in told[begin:] if line[:1].isdigit()][:3] == [
        "1. at 0 s: The reader starts.",
        "2. at 30 s: The lease ends.",
        "3. at 30.5 s: The block is written anew.",
    ]


def test_a_counterexample_has_times_and_its_condition(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:dog", "--json", "-"]) == 1
    (found,) = data(capsys)
    (prop,) = found["properties"]
    steps, timing = prop["counterexample"]["steps"], prop["counterexample"]["timing"]
    assert len(steps) == 1
    assert "at_s" not in steps[0]
    assert timing == {
        "possible": False,
        "conflict": "it takes limit (10 s) to be over within slow (4 s)",
        "chosen": ["limit"],
        "condition": ["limit <= 4 s"],
        "condition_on_all": ["slow >= limit"],
    }
    assert steps[0]["cost"] == {"bytes_moved": 0.0, "tokens_recomputed": 0.0, "joules": 0.0}


def replayed(capsys: pytest.CaptureFixture[str], steps: str, world: str = "slow") -> list[str]:
    text = f"rackproof: 1\nname: A lease\nworld: own.py:{world}\nsteps:\n{steps}"
    Path("run.yaml").write_text(text, encoding="utf-8")
    status = run(["replay", "run.yaml"])
    return [str(status), *lines(capsys.readouterr().out)]


def test_a_replay_tells_times_with_the_pauses_that_are_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = replayed(capsys, "- start: {}\n  after: 1s\n- expire\n- reuse\n")
    assert told[:3] == ["0", "A lease", "1. at 1 s: The reader starts."]
    assert "2. at 30 s: The lease ends." in told
    assert (
        "Timing: possible within these times (lease 30 s); this run is while lease <= 41.5 s"
        in told
    )


def test_a_pause_that_cannot_be_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = replayed(capsys, "- start: {}\n  after: 3s\n- expire\n")
    assert told[0] == "1"
    assert any(
        line.startswith("run.yaml: after: with these pauses the run is not possible: ")
        and "within 2 s after the start: The reader starts" in line
        for line in told
    )


def test_a_run_that_no_pause_makes_possible_is_only_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = replayed(capsys, "- start: {}\n  after: 1s\n- expire\n", world="fast")
    assert told[0] == "0"
    assert any(
        line.startswith("Timing: impossible within these times (lease 30 s)") for line in told
    )


def test_a_saved_run_has_pauses_that_replay(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    Path("late.py").write_text(
        "from timed_worlds import *\nworld = watchdog(0.333333, 4, 0.1234567)\n", encoding="utf-8"
    )
    assert run(["verify", "late.py:world", "--save", "out"]) == 1
    (saved,) = (folder / "out").glob("*.yaml")
    text = saved.read_text(encoding="utf-8")
    assert "- {give-up: {}, after: 123.457 ms}" in text
    capsys.readouterr()
    assert run(["replay", str(saved)]) == 0
    assert "1. at 123.5 ms: The watchdog gives up." in lines(capsys.readouterr().out)


def test_the_same_question_gets_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run(["cost", "own.py:slow", "own.py:dog", "own.py:timers", "-v"]) == 0
    told = capsys.readouterr().out
    half = len(told) // 2
    assert told[:half] == told[half:]


def test_what_one_other_value_allows_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The lease stands in the way; a step that is overdue in the shortest run does not."""
    assert run(["verify", str(BUGS / "dynamo-frozen-worker-chosen-again.yaml")]) == 0
    told = lines(capsys.readouterr().out)
    assert any(line.startswith("lease >= 35 s (now 10 s: ") for line in told)
    assert any(line.startswith("stream-timeout <= 5 s (now 30 s: ") for line in told)
    assert "As here, where lease >= 35 s:" in told


def test_the_example_of_the_guide_says_what_the_guide_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    docs = Path(__file__).parents[3] / "docs"
    guide = (docs / "modelling.md").read_text(encoding="utf-8")
    assert run(["verify", str(docs / "examples" / "timed.py:world")]) == 1
    told = [line.strip() for line in capsys.readouterr().out.splitlines()]
    begin = guide.index("      Timing: impossible")
    shown = [line.strip() for line in guide[begin : guide.index("\n\n", begin)].splitlines()]
    assert len(shown) == 4
    assert set(shown) <= set(told)


DRILL = BUGS.parent / "drills" / "wait-for-the-lease.yaml"


@pytest.mark.parametrize(
    ("bound", "lease", "told"),
    [
        ("<11 s", "10 s", None),
        ("<10.9 s", "10 s", "expected stall: <10.9 s, but it is 10.93 s"),
        ("<11 s", "20 s", "expected stall: <11 s, but it is 20.93 s"),
        ("<11 s", "none", "expected stall: <11 s, but it is not known: the run is not possible"),
    ],
)
def test_how_long_clients_wait_is_a_fact_of_a_run(
    bound: str, lease: str, told: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DRILL.read_text(encoding="utf-8").replace("<11 s", bound)
    Path("drill.yaml").write_text(text.replace("lease: 10 s", f"lease: {lease}"), encoding="utf-8")
    assert run(["replay", "drill.yaml"]) == (0 if told is None else 1)
    assert told is None or told in capsys.readouterr().out


def test_a_pause_that_is_written_shortens_the_wait(capsys: pytest.CaptureFixture[str]) -> None:
    text = DRILL.read_text(encoding="utf-8").replace("<11 s", "<6.1 s")
    late = "- lease-expires: {worker: worker-0}"
    Path("drill.yaml").write_text(text.replace(late, f"{late}\n  after: 5.1 s"), encoding="utf-8")
    assert run(["replay", "drill.yaml"]) == 0
    assert "stall: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("80 ms", "'80 ms' is no bound on the longest wait; write for example <80 ms"),
        ("<80", "'80' is not a duration; it needs a unit"),
        ("7", "a bound on the longest wait, such as <80 ms"),
    ],
)
def test_a_bound_that_is_none_is_told(
    bound: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DRILL.read_text(encoding="utf-8").replace("<11 s", bound)
    Path("drill.yaml").write_text(text, encoding="utf-8")
    assert run(["replay", "drill.yaml"]) == 2
    assert told in "".join(capsys.readouterr())


@pytest.mark.parametrize("late", ["3.0", "math.inf"])
def test_a_time_that_is_not_set_is_in_the_condition_all_the_same(
    late: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """That nothing bounds the other timer now does not mean that nothing would."""
    world = f"""
import math
from timed_worlds import *
@always()
def never_left(world: Raced) -> bool:
    return not world.left
ours = with_changes(racing(2.0, {late}), properties=(never_left,))
"""
    Path("own.py").write_text(world, encoding="utf-8")
    assert run(["verify", "own.py:ours"]) == 1
    (told,) = (line for line in lines(capsys.readouterr().out) if line.startswith("Timing: "))
    assert told.endswith("this run is while right >= left")


HANGS = BUGS / "dynamo-11647-frozen-worker-hangs-request.yaml"


@pytest.mark.parametrize(("limit", "violated"), [("30 s", False), ("none", True)])
def test_what_waits_for_a_time_that_is_not_set_has_come_to_rest(
    limit: str, violated: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HANGS.read_text(encoding="utf-8")
    told = text.replace("\nprotocol:", f"\ntimeouts: {{stream-timeout: {limit}}}\nprotocol:", 1)
    Path("hangs.yaml").write_text(told, encoding="utf-8")
    assert run(["cost", "--fixed", "hangs.yaml"]) == 0
    out = capsys.readouterr().out
    assert ("violated within these times: progress" in out) is violated
    assert ("may wait for ever" in out) is violated
