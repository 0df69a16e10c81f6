"""The command line as people meet it: what it prints, and how it ends when things go wrong."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rackproof.checker import cli, engines, verify
from rackproof.checker.cli import run

ROOT = Path(__file__).parents[2]
LEASE = ROOT / "docs" / "examples" / "lease.py"
PROGRAM = Path(sys.executable).parent / "rackproof"
WORLDS = (ROOT / "tests" / "support" / "worlds.py").read_text(encoding="utf-8")
SLOW = """
from worlds import *
world = pool(3, 3, 3)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with worlds of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "worlds.py").write_text(WORLDS, encoding="utf-8")
    (tmp_path / "own.py").write_text(
        "from worlds import *\n"
        "lost = pool(2, 1, 2)\n"
        "safe = stream(2, replays=True)\n"
        "calm = pool(2, 1, 0)\n",
        encoding="utf-8",
    )
    return tmp_path


def scenario(path: str, world: str = "lost", more: str = "") -> str:
    text = f"rackproof: 1\nname: A pool\nworld: own.py:{world}\n{more}\n"
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    depth = "../" * (len(Path(path).parts) - 1)
    Path(path).write_text(text.replace("own.py", f"{depth}own.py"), encoding="utf-8")
    return path


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


# Verdicts and exit statuses


def test_a_violation_is_shown_step_by_step_and_ends_with_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("lease.py").write_bytes(LEASE.read_bytes())
    assert run(["verify", "lease.py:world"]) == 1
    shown = lines(re.sub(r"\d+\.\d\d s", "0.01 s", capsys.readouterr().out))
    assert shown == [
        "lease: no-overwrite-in-flight is violated: 1 fault, 3 steps",
        "  A block is not handed on while somebody reads it.",
        "  1. reader-0 starts to read the block.",
        "      reading: [] -> [reader-0]; last: none -> reader-0",
        "  2. A read takes longer than the lease: the block is freed under its reader. "
        "(fault 1 of 1)",
        "      block: held -> freed",
        "  3. The producer writes another request's KV into the block.",
        "      block: freed -> reused",
        "  After step 3: reader-0 reads the block, which holds another request's KV by now.",
        "     block: reused; reading: [reader-0]",
        "  1 fault suffices; without any, no run violates it.",
        "  To see it again: rackproof verify lease.py:world",
        "        scenario        property                verdict                     states    "
        "time",
        "FAILED  lease.py:world  no-overwrite-in-flight  violated: 1 fault, 3 steps      15  "
        "0.01 s",
        "to see it again: rackproof verify lease.py:world",
        "not checked: anything larger than the sizes slow 1, reader 2; how long steps take: this "
        "world does not say",
        "next: rackproof export lease.py:world --property no-overwrite-in-flight --to markdown "
        "(the run, to hand on); or rackproof guards lease.py:world --property "
        "no-overwrite-in-flight (find the guard that is missing)",
        "lease.py:world: no-overwrite-in-flight: violated: 1 fault, 3 steps",
        "0 of 1 target as expected",
    ]


def test_what_is_expected_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:safe"]) == 0
    assert lines(capsys.readouterr().out)[-1] == "all as expected: 1 target"


@pytest.mark.parametrize(
    ("expect", "status", "complaint"),
    [
        ("{answered: violated}", 0, None),
        ("{answered: {violated: {steps: 2, faults: 1}}}", 0, None),
        ("{fails-last: holds}", 0, None),
        (
            "{answered: {violated: {steps: 3}}}",
            1,
            "answered: expected a shortest run of 3 steps, not 2",
        ),
        (
            "{answered: holds}",
            1,
            "answered: expected holds, but it is violated: 1 fault, 2 steps",
        ),
        ("{fails-last: violated}", 1, "fails-last: expected violated, but it holds"),
        (
            "{fails-last: proved}",
            3,
            "fails-last: expected proved, but it holds in this scope only: a search proves nothing",
        ),
    ],
)
def test_expectations(
    capsys: pytest.CaptureFixture[str], expect: str, status: int, complaint: str | None
) -> None:
    path = scenario("s.yaml", more=f"expect: {expect}")
    assert run(["verify", path]) == status
    last = lines(capsys.readouterr().out)
    if complaint is None:
        assert last[-1] == "all as expected: 1 target"
    else:
        assert last[-2:] == [f"s.yaml: {complaint}", "0 of 1 target as expected"]


def test_a_vacuous_pass_is_told_and_fails_only_where_it_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "own.py:calm", "-v"]) == 0
    assert re.search(r"fails-last +vacuous", capsys.readouterr().out)
    path = scenario("s.yaml", "calm", "expect: {fails-last: holds}")
    assert run(["verify", path]) == 1
    assert (
        "fails-last: expected holds, but it is vacuous (this never happens: a request failed)"
        in capsys.readouterr().out
    )


def test_a_sometimes_that_never_happens_fails(capsys: pytest.CaptureFixture[str]) -> None:
    Path("never.py").write_text(
        "from worlds import *\n"
        "def world(crashes=0):\n"
        "    calm = pool(2, 1, crashes)\n"
        "    return System('w', calm.initial, calm.transitions, (answered, somebody_failed))\n"
        "def rough():\n    return world(2)\n",
        encoding="utf-8",
    )
    assert run(["verify", "never.py:world"]) == 1
    assert (
        "never.py:world: somebody-failed: vacuous: no reachable state satisfies it"
        in capsys.readouterr().out
    )
    assert run(["verify", "never.py:rough", "-v"]) == 1
    assert re.search(r"somebody-failed +holds", capsys.readouterr().out)


def test_a_target_of_which_nothing_was_tested_fails(capsys: pytest.CaptureFixture[str]) -> None:
    Path("none.py").write_text(
        "from worlds import *\n"
        "calm = pool(2, 1, 0)\n"
        "world = System('idle', calm.initial, calm.transitions, (fails_last,))\n",
        encoding="utf-8",
    )
    assert run(["verify", "none.py:world"]) == 1
    assert "none.py:world: no property was put to the test" in capsys.readouterr().out


def test_a_fix_is_a_second_run_with_expectations_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = "expect: {answered: violated}\nfix: {world: own.py:calm}"
    assert run(["verify", scenario("s.yaml", more=more)]) == 0
    row = next(line for line in lines(capsys.readouterr().out) if line.startswith("ok"))
    assert re.search(r"s +answered +violated: 1 fault, 2 steps +holds", row)

    more = "expect: {answered: violated}\nfix: {world: own.py:lost}"
    assert run(["verify", scenario("t.yaml", more=more)]) == 1
    assert (
        "t.yaml: with the fix, answered: expected holds, but it is violated: 1 fault, 2 steps"
        in capsys.readouterr().out
    )


def test_out_of_time_is_inconclusive_and_ends_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    Path("slow.py").write_text(SLOW, encoding="utf-8")
    more = "expect: {fails-last: holds}"
    path = scenario("s.yaml", more=more)
    Path(path).write_text(Path(path).read_text().replace("own.py:lost", "slow.py:world"))
    assert run(["verify", path, "--time-limit", "1ns"]) == 3
    out = capsys.readouterr().out
    assert "s.yaml: fails-last: expected holds, but it is inconclusive (out of time" in out


def test_one_bad_target_does_not_keep_the_others_from_being_verified(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "own.py:safe", "gone.yaml", "own.py:lost"]) == 2
    out = lines(capsys.readouterr().out)
    assert "gone.yaml: there is no such file" in out
    assert any(line.startswith("ok") for line in out)
    assert any(line.startswith("FAILED") for line in out)
    assert out[-1] == "1 of 3 targets as expected"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("gone.yaml", "gone.yaml: there is no such file"),
        ("own.py", "own.py: say which world in it, such as own.py:world"),
        ("gone.py:world", "gone.py: there is no such file"),
        ("own.py:gone", "own.py: there is no 'gone' in it (its systems: calm, lost, safe)"),
        ("own.py:pool", "own.py: pool(workers, requests, crashes) takes arguments"),
        ("bare", "bare: there is no scenario in this folder"),
        ("stack:nonesuch", "there is no stack 'nonesuch'"),
        ("/dev/null", "/dev/null: is not a regular file"),
        ("", "a target is empty"),
    ],
)
def test_targets_that_are_none(
    capsys: pytest.CaptureFixture[str], target: str, message: str
) -> None:
    Path("bare").mkdir()
    assert run(["verify", target]) == 2
    out = capsys.readouterr().out
    assert message in out
    assert "Traceback" not in out


def test_folders_are_searched_in_order_and_what_is_no_scenario_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("f/b.yaml", "f/a.yml", "f/deep/c.yaml", "f/.hidden/d.yaml"):
        scenario(name, "safe")
    Path("f/ci.yaml").write_text("on: push\njobs: {}\n", encoding="utf-8")
    Path("f/typo.yaml").write_text("rackprof: 1\nexpect: {}\nscope: {}\n", encoding="utf-8")
    assert run(["verify", "f", "-v"]) == 2
    out = lines(capsys.readouterr().out)
    rows = [
        line.split()[1] for line in out if line.startswith(("ok", "error")) and "yaml:" not in line
    ]
    assert list(dict.fromkeys(rows)) == ["a", "b", "typo", "c"]
    assert "no scenarios: f/ci.yaml" in out
    assert "f/typo.yaml:1: rackprof: there is no such key; did you mean rackproof?" in out


def test_a_link_to_a_scenario_of_the_same_folder_is_no_second_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = Path(scenario("f/x/a.yaml", "safe"))
    Path("f/b.yaml").symlink_to(path.resolve())
    Path("f/broken.yaml").symlink_to("nowhere")
    assert run(["verify", "f"]) == 2
    out = lines(capsys.readouterr().out)
    assert "f/broken.yaml: is a broken link to nowhere" in out
    assert out[-1] == "1 of 2 targets as expected"


def test_what_is_named_twice_is_verified_once(capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario("f/a.yaml", "safe")
    assert run(["verify", "f", path]) == 0
    assert lines(capsys.readouterr().out)[-1] == "all as expected: 1 target"


# Mistakes in a user's own file


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def world(:\n", "mine.py:1: invalid syntax"),
        ("x = 1\nworld = x.y\n", "mine.py:2: AttributeError: 'int' object has no attribute 'y'"),
        ("import nonesuch\n", "mine.py:1: ModuleNotFoundError: No module named 'nonesuch'"),
        ("def world():\n    raise KeyError('a')\n", "mine.py:2: KeyError: 'a'"),
        ("def world():\n    return 3\n", "mine.py: world is a int, not a System"),
        (
            "from worlds import *\n"
            "@transition(step, worker=Workers)\n"
            "def odd(world, worker):\n"
            '    """Odd."""\n'
            "    return world.nonesuch\n"
            "world = System('w', pool(2, 1, 1).initial, (odd,), (answered,))\n",
            "mine.py:5: ",
        ),
        (
            "from worlds import *\n"
            "@transition(step)\n"
            "def up(world):\n"
            '    """Up."""\n'
            "    return evolve(world, high=world.high + 1)\n"
            "world = System('w', Counters(), (up,), (ordered,), sizes={'top': 3})\n",
            "mine.py",
        ),
    ],
)
def test_errors_in_the_users_file_are_told_as_theirs(
    capsys: pytest.CaptureFixture[str], body: str, message: str
) -> None:
    Path("mine.py").write_text(body, encoding="utf-8")
    assert run(["verify", "mine.py:world"]) == 2
    out = capsys.readouterr().out
    assert message in out
    assert "Traceback" not in out


def test_what_a_users_file_prints_stays_out_of_the_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("loud.py").write_text("print('hello')\nfrom own import safe\n", encoding="utf-8")
    assert run(["verify", "loud.py:safe", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert "hello" in captured.err
    json.loads(captured.out)


def test_worlds_of_two_folders_import_what_lies_beside_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, crashes in (("a", 0), ("b", 2)):
        Path(name).mkdir()
        Path(name, "sizes.py").write_text(f"crashes = {crashes}\n", encoding="utf-8")
        Path(name, "mine.py").write_text(
            "from worlds import pool\nimport sizes\nworld = pool(2, 1, sizes.crashes)\n",
            encoding="utf-8",
        )
        Path(name, "worlds.py").write_text(WORLDS, encoding="utf-8")
    assert run(["verify", "a/mine.py:world", "b/mine.py:world"]) == 1
    out = lines(capsys.readouterr().out)
    assert out[-2:] == [
        "b/mine.py:world: answered: violated: 1 fault, 2 steps",
        "1 of 2 targets as expected",
    ]


# Faults of ours, interrupts, pipes


def test_a_fault_of_ours_ends_with_70_and_the_other_targets_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the wheels came off")

    monkeypatch.setattr(verify, "explore", broken)
    assert run(["verify", "own.py:safe", "gone.yaml"]) == 70
    out = capsys.readouterr().out
    assert "a fault of rackproof itself: RuntimeError: the wheels came off" in out
    assert "Traceback (most recent call last)" in out
    assert "please report it" in out.lower()
    assert "gone.yaml: there is no such file" in out


def test_what_a_certified_reduction_left_out_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    run(["verify", "own.py:safe", "--reduce", "--json", "-"])
    captured = capsys.readouterr()
    assert "certified reduction" in captured.err + captured.out


def test_a_fault_outside_every_target_ends_with_70_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(engines, "Options", broken)
    assert run(["verify", "own.py:safe"]) == 70
    err = capsys.readouterr().err
    assert "RuntimeError: no such luck" in err
    assert cli.APOLOGY in err


def test_an_interrupt_ends_with_130_and_tells_what_was_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    explore, calls = verify.explore, []

    def interrupted(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return explore(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(verify, "explore", interrupted)
    assert run(["verify", "own.py:safe", "own.py:calm", "own.py:lost"]) == 130
    captured = capsys.readouterr()
    assert "own.py:safe" in captured.out
    assert "1 of 3 targets as expected" in captured.out
    assert captured.err == "interrupted: 1 of 3 targets were done\n"


def command(*arguments: str, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(PROGRAM), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,  # type: ignore[call-overload]
    )


def test_ctrl_c_in_the_middle_of_a_search() -> None:
    Path("slow.py").write_text(
        "from worlds import *\nimport time\ndef world():\n    print('now')\n    time.sleep(60)\n",
        encoding="utf-8",
    )
    process = command("verify", "own.py:safe", "slow.py:world")
    assert process.stderr is not None
    while "now" not in process.stderr.readline():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "own.py:safe" in out
    assert "interrupted: 1 of 2 targets were done" in err
    assert "Traceback" not in err


def test_a_closed_pipe_is_no_reason_to_complain() -> None:
    line = f"{shlex.quote(str(PROGRAM))} verify own.py:lost -v | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_full_disk_is_no_fault_of_ours() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [PROGRAM, "verify", "own.py:lost"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "the output cannot be written: no space left on device\n"


# Files for machines


def test_json_has_one_object_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:lost", "gone.yaml", "--json", "-"]) == 2
    captured = capsys.readouterr()
    lost, gone = json.loads(captured.out)
    assert "as expected" in captured.err
    assert (lost["scenario"], lost["world"], lost["status"]) == ("pool-2-1-2", "own.py:lost", 1)
    answered, fails_last = lost["properties"]
    assert (answered["name"], answered["verdict"], answered["engine"]) == (
        "answered",
        "violated",
        "search",
    )
    assert answered["states"] > 0
    assert fails_last["verdict"] == "holds"
    assert "counterexample" not in fails_last
    example = answered["counterexample"]
    assert (example["faults"], example["fewest_faults"]) == (1, True)
    assert example["for"] == [{"request": "request-0"}]
    assert sorted(step["transition"] for step in example["steps"]) == ["dispatch", "hang"]
    (first,) = (step for step in example["steps"] if step["transition"] == "dispatch")
    assert first["kind"] == "step"
    assert first["explanation"] == "request-0 goes to worker-0."
    assert first["arguments"] == {"request": "request-0", "worker": "worker-0"}
    assert first["changes"][0] == {
        "field": "requests[request-0].phase",
        "before": "queued",
        "after": "running",
    }
    assert gone == {
        "scenario": "gone.yaml",
        "target": "gone.yaml",
        "status": 2,
        "seconds": gone["seconds"],
        "complaints": ["gone.yaml: there is no such file"],
    }


def test_json_goes_to_a_file_and_the_table_stays(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:safe", "--json", "out.json"]) == 0
    assert "all as expected" in capsys.readouterr().out
    assert len(json.loads(Path("out.json").read_text(encoding="utf-8"))) == 1


def test_junit_never_skips(capsys: pytest.CaptureFixture[str]) -> None:
    scenario("vacuous.yaml", "calm")
    scenario("broken.yaml", "lost", "expect: 3")
    arguments = ["own.py:lost", "own.py:safe", "vacuous.yaml", "broken.yaml"]
    assert run(["verify", *arguments, "--junit", "-"]) == 2
    root = ET.fromstring(capsys.readouterr().out)
    found = {
        suite.get("name"): (suite.get("tests"), suite.get("failures"), suite.get("errors"))
        for suite in root
    }
    assert found == {
        "own.py:lost": ("2", "1", "0"),
        "own.py:safe": ("1", "0", "0"),
        "vacuous.yaml": ("2", "0", "1"),
        "broken.yaml": ("1", "0", "1"),
    }
    assert not list(root.iter("skipped"))
    failure = next(root.iter("failure"))
    assert failure.get("message") == "violated: 1 fault, 2 steps"
    assert "request-0 goes to worker-0." in (failure.text or "")


def test_junit_tells_what_is_inconclusive_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:safe", "--junit", "-", "--time-limit", "1ns"]) == 3
    (error,) = ET.fromstring(capsys.readouterr().out).iter("error")
    assert (error.get("message") or "").startswith("inconclusive: out of time")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "-", "--junit", "-"], "--json and --junit cannot both go to stdout"),
        (["--json", "no/such/x.json"], "--json no/such/x.json: there is no such folder"),
        (["--junit", "no/x.xml"], "--junit no/x.xml: there is no such folder"),
        (["--save", "own.py"], "--save own.py: is a file, not a folder"),
        (["--workers", "0"], "0 is not in the range"),
        (["--memory", "lots"], "'lots' is not a size; write for example 512MiB or 4GB"),
        (["--memory", "0GB"], "'0GB' is no memory at all"),
        (["--time-limit", "5"], "'5' is not a duration; it needs a unit; write for example 30s"),
        (["--time-limit", "-1s"], "'-1s' is not a duration"),
        (["--engine", "magic"], "'magic' is not one of 'auto', 'search'"),
        (["--nonesuch"], "No such option"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["verify", "own.py:safe", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


# Saving and replaying


def test_a_saved_counterexample_replays_to_the_same_violation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", "own.py:lost", "--save", "out/deep"]) == 1
    (path,) = Path("out/deep").iterdir()
    assert f"rackproof replay {path}" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == (
        """\
rackproof: 1
name: 'pool-2-1-2: answered is violated'
world: ../../own.py:lost
expect: {answered: {violated: {steps: 2, faults: 1}}}
steps:
- hang: {worker: worker-0}
- dispatch: {request: request-0, worker: worker-0}
then:
  workers[worker-0].health: hung
  crashes_left: 1
  requests[request-0].phase: running
  requests[request-0].worker: worker-0
  requests[request-0].tried: [worker-0]
  answered: violated
"""
    )
    assert run(["replay", str(path)]) == 0
    assert run(["verify", str(path)]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json", "/dev/full"], "/dev/full: cannot be written: no space left on device"),
        (["--junit", "/dev/full"], "/dev/full: cannot be written: no space left on device"),
        (["--save", "/proc/rackproof"], "/proc/rackproof: cannot be written: no such file"),
    ],
)
def test_what_cannot_be_written_is_told_and_so_is_what_was_found(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(["verify", "own.py:lost", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "0 of 1 target as expected" in captured.out


STEPS = """\
steps:
- dispatch: {request: request-0, worker: worker-1}
- hang: {worker: worker-1}
  after: 80 ms
then: {request-0: running, answered: violated}
"""


def test_replay_shows_each_step_and_what_it_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", scenario("s.yaml", more=STEPS)]) == 0
    assert lines(capsys.readouterr().out) == [
        "A pool",
        "  1. request-0 goes to worker-1.",
        "      phase: queued -> running; worker: none -> worker-1; tried: [] -> [worker-1]",
        "  2. (0.08 s later) worker-1 freezes. (fault 1 of 1)",
        "      worker-1.health: up -> hung",
        "  requests[request-0].phase: running",
        "  answered: violated",
        "to see it again: rackproof replay s.yaml",
        "not checked: any run but this one; how long steps take: this world does not say",
        "next: rackproof verify s.yaml (every run of its scope); or rackproof export s.yaml --to "
        "markdown (this run, to hand on)",
        "as written: 2 of 2 steps",
    ]


def test_a_step_that_is_not_possible_names_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = "steps:\n- finish: {request: request-0}\n- crash: {worker: worker-0}"
    assert run(["replay", scenario("s.yaml", more=more)]) == 1
    assert lines(capsys.readouterr().out)[-2:] == [
        "s.yaml:5: step 1: finish: {request: request-0} is not possible here; possible are: "
        "dispatch: {request: request-0, worker: worker-0}, "
        "dispatch: {request: request-0, worker: worker-1}, "
        "crash: {worker: worker-0}, crash: {worker: worker-1}, "
        "hang: {worker: worker-0}, hang: {worker: worker-1}",
        "not as written: 0 of 2 steps",
    ]


def test_a_fact_that_is_not_so_is_told_with_what_is(capsys: pytest.CaptureFixture[str]) -> None:
    more = STEPS.replace("running", "done").replace("violated", "holds")
    assert run(["replay", scenario("s.yaml", more=more)]) == 1
    out = lines(capsys.readouterr().out)
    assert out[-3:-1] == [
        "s.yaml:8: then: expected requests[request-0].phase: done, but it is running",
        "s.yaml:8: then: expected answered: holds, but it is violated",
    ]
    assert run(["verify", "s.yaml"]) == 1


def test_facts_in_the_middle_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    more = "steps:\n- crash: {worker: worker-0}\n  then: {crashes_left: 2}"
    assert run(["replay", scenario("s.yaml", more=more)]) == 1
    assert "s.yaml:5: step 1: expected crashes_left: 2, but it is 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "s.yaml: has no steps to replay; rackproof verify explores it"),
        ("steps: [crash]", "s.yaml:4: steps[1]: crash needs to know which: crash: {worker: ...}"),
    ],
)
def test_replay_of_what_cannot_be_replayed(
    capsys: pytest.CaptureFixture[str], more: str, message: str
) -> None:
    assert run(["replay", scenario("s.yaml", more=more)]) == 2
    assert lines(capsys.readouterr().out) == [message]


def test_replay_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", scenario("s.yaml", more=STEPS), "--json", "-"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert [step["transition"] for step in data["steps"]] == ["dispatch", "hang"]
    assert [step.get("after") for step in data["steps"]] == [None, 0.08]
    assert data["then"] == {"requests[request-0].phase": "running", "answered": "violated"}
    assert data["complaints"] == []


# How it looks


def test_quiet_tells_only_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:lost", "own.py:safe", "-q"]) == 1
    assert lines(capsys.readouterr().out) == [
        "own.py:lost: answered: violated: 1 fault, 2 steps",
        "1 of 2 targets as expected",
    ]


def test_colours_only_on_a_terminal_that_wants_them() -> None:
    plain = subprocess.run(
        [PROGRAM, "verify", "own.py:safe"], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in plain.stdout
    for name in ("NO_COLOR", "TERM"):
        environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
        environment.pop(name)
        script = ["script", "-qec", f"{PROGRAM} verify own.py:safe", "/dev/null"]
        shown = subprocess.run(script, capture_output=True, text=True, check=True, env=environment)
        assert "\x1b[3" not in shown.stdout


@pytest.mark.parametrize("columns", ["20", "40", "80", "300"])
def test_any_width_of_terminal_will_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["verify", "own.py:lost", "own.py:safe", "-v"]) == 1
    assert "1 of 2 targets as expected" in capsys.readouterr().out


def test_what_takes_long_is_shown_to_be_under_way_on_a_terminal_alone() -> None:
    Path("slow.py").write_text(
        "from worlds import *\nimport time\n"
        "def world():\n    time.sleep(1.5)\n    return pool(2, 1, 0)\n",
        encoding="utf-8",
    )
    line = f"{PROGRAM} verify slow.py:world"
    shown = subprocess.run(
        ["script", "-qec", line, "/dev/null"], capture_output=True, text=True, check=True
    )
    assert "slow.py:world: preparing" in shown.stdout
    piped = subprocess.run(line.split(), capture_output=True, text=True, check=True)
    assert piped.stderr == ""


RELEASE = """
rackproof: 1
name: The lease ends
protocol: {stack: vllm-nixl, release: lease}
rack: {prefill: 1, decode: 1}
scope: {requests: 2, tokens: 1, retry-limit: 0, faults: {slow-read: 1}}
expect: {kv-consistent: violated}
fix: {protocol: {release: FIXED}, scope: {handles: 2}, expect: {kv-consistent: VERDICT}}
"""


def released(fixed: str, verdict: str) -> str:
    text = RELEASE.replace("FIXED", fixed).replace("VERDICT", verdict)
    Path("release.yaml").write_text(text, encoding="utf-8")
    return "release.yaml"


def test_what_mends_a_violation_is_told_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    changes = "release: lease -> heartbeat; handles: 1 -> 2"
    assert run(["verify", released("heartbeat", "holds")]) == 0
    assert f"  With the fix it holds: {changes}" in lines(capsys.readouterr().out)


def test_a_fix_that_does_not_mend_is_told_with_its_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["verify", released("on-finish", "holds")]) == 1
    out = capsys.readouterr().out
    told = "With the fix (release: lease -> on-finish; handles: 1 -> 2) it is violated: "
    assert told in out
    assert out.count("With the fix") == 1

    more = "expect: {answered: violated}\nfix: {world: own.py:calm}"
    assert run(["verify", scenario("s.yaml", more=more)]) == 0
    assert "  With the fix it holds: world: own.py:lost -> own.py:calm" in capsys.readouterr().out


def test_the_scope_is_told_with_its_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    scope = "2 requests, 1 token, retry limit 0, 1 block per worker, 1 handle; faults: slow-read 1"
    line = f"scope: {scope}; prefill 1, decode 1 on nvl72"
    path = released("heartbeat", "holds")
    assert run(["verify", path, "--json", "out.json"]) == 0
    assert lines(capsys.readouterr().out).count(line) == 1
    assert run(["verify", path, "own.py:safe"]) == 0
    assert "scope:" not in capsys.readouterr().out
    assert run(["verify", path, "own.py:safe", "-v"]) == 0
    assert f"release.yaml: {line}" in lines(capsys.readouterr().out)

    (data,) = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert data["rack"] == {"preset": "nvl72", "prefill": 1, "decode": 1, "aggregated": 0}
    assert (data["scope"]["handles"], data["fix"]["scope"]["handles"]) == (1, 2)
    assert data["scope"]["max-tokens"] == 1
    assert data["scope"]["faults"] == {"slow-read": 1}


def test_what_was_not_put_to_the_test_is_no_ok(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "own.py:calm"]) == 0
    out = lines(capsys.readouterr().out)
    assert any(re.match(r"untested +fails-last +vacuous", line) for line in out)
    assert "fails-last is vacuous: this never happens: a request failed" in out


def test_what_was_not_judged_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", released("heartbeat", "holds"), "-v"]) == 0
    out = lines(capsys.readouterr().out)
    reason = "not judged: the search ended at the violations that were sought: "
    (told,) = (line for line in out if line.startswith(reason))
    open_rows = [line.split()[0] for line in out if re.search(r"\w +inconclusive ", line)]
    assert told.removeprefix(reason).split(", ") == open_rows
    assert "no-kv-leak" in open_rows


@pytest.mark.parametrize("columns", [None, "20", "60", "100"])
def test_only_the_column_of_scenarios_is_folded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str | None
) -> None:
    name = f"{'long-name-' * 12}.yaml"
    monkeypatch.delenv("COLUMNS")
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    assert run(["verify", scenario(name), "own.py:safe"]) == 1
    rows = lines(capsys.readouterr().out)
    row = next(line for line in rows if line.startswith("FAILED"))
    assert re.search(r" answered \(\+1\) +violated: 1 fault, 2 steps +\d+ +[\d.]+ m?s$", row)
    assert len(row) <= max(int(columns or 160), 100)


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("dynamo", "stack:dynamo?"),
        ("dynamo-7930", "bugs/dynamo-7930-guided-request-migrated.yaml?"),
        ("tray-loss", "drills/tray-loss.yaml?"),
        ("tray-los.yaml", "drills/tray-loss.yaml?"),
    ],
)
def test_a_target_that_is_no_file_is_told_with_what_may_be_meant(
    capsys: pytest.CaptureFixture[str], target: str, meant: str
) -> None:
    for command in ("verify", "replay"):
        assert run([command, target]) == 2
        first = lines(capsys.readouterr().out)[0]
        assert first.startswith(f"{target}: there is no such file; did you mean ")
        assert first.endswith(meant)


# Help


def examples() -> list[tuple[str, str]]:
    return [
        (name, (command.epilog or "").removeprefix("Example: "))
        for name, command in cli.cli.commands.items()
    ]


@pytest.mark.parametrize(("name", "example"), examples())
def test_the_example_of_every_command_works_as_printed(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    example: str,
) -> None:
    assert run([name, "--help"]) == 0
    assert example in " ".join(capsys.readouterr().out.split())
    program, *arguments = shlex.split(example)
    assert program == "rackproof"
    for folder in ("scenarios", "docs", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    if "proof.smt2" in arguments:
        saved_proof(tmp_path).rename("proof.smt2")
    assert run(arguments) in (0, 1)
    assert capsys.readouterr().out


def saved_proof(folder: Path) -> Path:
    """The certificate of a bundled scenario."""
    scenario = "scenarios/bugs/vllm-40364-refused-handshake-kills-engine.yaml"
    assert run(["verify", scenario, "--engine", "prove", "--save", str(folder)]) == 0
    (found,) = folder.glob("*.smt2")
    return found


def imported(commands: list[list[str]], names: tuple[str, ...]) -> list[str]:
    """Which of some modules are imported by running commands."""
    program = f"""
import sys
from rackproof.checker.cli import run
for command in {commands}:
    run(command)
print(*(name for name in {names} if name in sys.modules), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-Ic", program], check=True, capture_output=True, text=True
    )
    return done.stderr.split()


def test_help_and_version_need_nothing_heavy() -> None:
    heavy = ("attrs", "llvmlite", "networkx", "numpy", "rich", "ruamel.yaml", "pytest")
    assert imported([["--help"], ["verify", "--help"], ["--version"]], heavy) == []


@pytest.mark.parametrize("kind", ["stacks", "mechanisms", "properties", "bugs", "drills"])
def test_lists_need_no_engine_and_no_rack(kind: str) -> None:
    assert imported([["list", kind]], ("llvmlite", "networkx", "numpy", "rich")) == []


def test_what_the_file_of_a_stack_says_nothing_of_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "weights.yaml"
    head = "rackproof: 1\nname: weights\nrack: {prefill: 1, decode: 1}\n"
    scope = "scope: {requests: 0, links: 1, faults: {weight-update: 1}}\n"
    path.write_text(f"{head}protocol: {{stack: dynamo}}\n{scope}")
    run(["verify", str(path)])
    note = "note: the file of stack dynamo says nothing of peers: there it is as the reference is"
    assert note in capsys.readouterr().out
    path.write_text(f"{head}protocol: {{stack: sglang}}\n{scope}")
    run(["verify", str(path)])
    assert "note:" not in capsys.readouterr().out
