"""What results say of themselves: each command that is told runs, and what is told is so."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import attrs
import click
import pytest

from rackproof.checker.cli import cli, run
from rackproof.checker.engines import Options
from rackproof.checker.exams import report_on
from rackproof.checker.explain.asked import verify as command
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.explain.footing import lines, of_report
from rackproof.checker.targets import expand
from rackproof.checker.verify import Report

ROOT = Path(__file__).parents[3]
LEASE = f"{ROOT}/docs/examples/lease.py:world"
BUG = f"{ROOT}/scenarios/bugs/mooncake-2486-two-lock-orders.yaml"

HOLDS = """\
rackproof: 1
name: Nothing goes wrong
scope: {tokens: 1}
expect: {no-duplicate-tokens: holds}
"""
VACUOUS = """\
rackproof: 1
name: A store without a store
scope: {tokens: 1}
expect: {store-progress: holds}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str) -> str:
    Path("a scenario.yaml").write_text(text)  # a name that a shell must be told whole
    return "a scenario.yaml"


def of(target: str, options: Options) -> tuple[Report, Footing]:
    report = report_on(expand([target]).found[0], options)
    return report, of_report(report, options)


@functools.cache
def footing(target: str) -> Footing:
    return of(target, Options(workers=1))[1]


def commands(told: Footing) -> Iterator[list[str]]:
    """The arguments of each command that is told, as a shell would pass them."""
    for text in (told.reproduce, *told.next_moves):
        if text.startswith("rackproof "):
            yield shlex.split(text, comments=True)[1:]


def check(told: Footing) -> None:
    """Each command is one, and what it is given is understood."""
    found = list(commands(told))
    assert found
    for name, *arguments in found:
        chosen = cli.get_command(click.Context(cli), name)
        assert chosen is not None
        chosen.make_context(name, list(arguments))


def test_of_a_violation_that_nobody_expects() -> None:
    told = footing(LEASE)
    check(told)
    assert told.reproduce == f"rackproof verify {shlex.quote(LEASE)}"
    assert told.not_checked == (
        "anything larger than the sizes slow 1, reader 2",
        "how long steps take: this world does not say",
    )
    assert [text.split()[1] for text in told.next_moves] == ["export", "guards"]
    for arguments in commands(told):
        assert run(arguments) in (0, 1)


def test_of_a_bug_its_fix_comes_first() -> None:
    told = footing(BUG)
    check(told)
    assert told.next_moves[0] == (
        "set one-lock-order: true under protocol: in the scenario "
        "(the scenario's fix: holds with it)"
    )
    assert any(
        text.startswith("faults that this scope does not allow (") for text in told.not_checked
    )
    assert any("no verdict here" in text for text in told.not_checked)


def test_of_what_holds() -> None:
    _, told = of(written(HOLDS), Options(workers=1))
    check(told)
    assert [text.partition("  # ")[2] for text in told.next_moves[:3]] == [
        "in runs of any length",
        "whatever the number of tokens is",
        "which faults would break it",
    ]
    assert told.next_moves[3:] == ("a larger scope, such as scope: {requests: 2}",)
    larger = written(HOLDS.replace("tokens: 1", "tokens: 1, requests: 2"))
    assert expand([larger]).found[0].load().case.setting.bundled is not None


def test_of_what_there_is_nothing_of_the_size_that_is_missing() -> None:
    """Following what is told, there is something that the property speaks of."""
    report, told = of(written(VACUOUS), Options(workers=1))
    check(told)
    assert "not put to the test: store-progress" in told.not_checked
    (missing,) = [text for text in told.next_moves if "speaks of" in text]
    assert missing == "something that store-progress speaks of: scope: {clients: 1}"
    prop = report.judged[0][1].prop
    larger = expand([written(VACUOUS.replace("tokens: 1", "tokens: 1, clients: 1"))])
    system = larger.found[0].load().case.setting.system
    assert not report.runs[0].case.setting.system.speaks_of_anything(prop)
    assert system.speaks_of_anything(prop)


def test_of_what_was_not_decided_the_limit_and_the_other_engine() -> None:
    options = Options("search", workers=1, seconds=0.000001)
    report, told = of(written(HOLDS), options)
    check(told)
    assert report.judged[0][1].verdict.value == "inconclusive"
    assert told.not_checked[0].startswith("no-duplicate-tokens: ")
    assert any("--engine prove" in text for text in told.next_moves)
    assert any("--time-limit 0.000004s" in text for text in told.next_moves)


def test_the_line_that_shows_it_again_has_the_options_that_matter() -> None:
    options = Options("prove", seconds=30.0, coverage=True, repair=True, memory=4_000_000_000)
    told = command("a b.yaml", options)
    assert told == (
        "rackproof verify 'a b.yaml' --engine prove --time-limit 30s --memory 4000000000B "
        "--coverage --repair"
    )
    check(Footing(told))
    check(Footing(command("x", attrs.evolve(Options("search"), racks=True))))
    check(Footing(command("x", Options(open=("tokens", "faults")))))


def test_three_lines_at_a_terminal_and_none_where_it_is_to_be_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = footing(BUG)
    assert len(list(lines(told))) == 3
    run(["verify", LEASE])
    out = capsys.readouterr().out
    assert [line.partition(":")[0] for line in out.splitlines()[-5:-2]] == [
        "to see it again",
        "not checked",
        "next",
    ]
    run(["verify", LEASE, "-q"])
    assert "not checked" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["verify", LEASE], ["cuts", LEASE], ["guards", LEASE], ["replay", "replayed.yaml"]],
)
def test_json_has_it_whole(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "examples" / "lease.yaml").read_text()
    Path("replayed.yaml").write_text(text.replace("lease.py:world", LEASE))
    run([*arguments, "--json", "-"])
    (data,) = json.loads(capsys.readouterr().out)
    assert data["not_checked"]
    check(Footing(data["reproduce"], (), tuple(data["next"])))
    assert data["reproduce"].startswith(f"rackproof {arguments[0]} ")
