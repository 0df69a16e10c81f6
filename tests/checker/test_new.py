"""rackproof new: a scenario to begin with, of which every line that is commented out is valid."""

from __future__ import annotations

import json
import re
from pathlib import Path

import attrs
import pytest

from rackproof.checker.cli import run
from rackproof.checker.exams import differences
from rackproof.checker.targets import expand, load_file
from rackproof.checker.template import template
from rackproof.model.scope import Scope, fault_names, limits
from rackproof.scenarios.loader import loads
from rackproof.scenarios.schema import DEFAULT_STACK
from rackproof.scenarios.stacks import stack_names

CHOICE = re.compile(r"( *)#(\S.*)")


def choices(text: str) -> dict[int, str]:
    """The lines that are commented out, each without its mark."""
    found = {}
    for number, line in enumerate(text.splitlines()):
        if match := CHOICE.fullmatch(line):
            found[number] = "".join(match.groups())
    return found


def with_lines(text: str, changed: dict[int, str]) -> str:
    return "\n".join(changed.get(i, line) for i, line in enumerate(text.splitlines())) + "\n"


@pytest.mark.parametrize("stack", stack_names())
def test_every_line_that_is_commented_out_is_valid(stack: str) -> None:
    text = template(stack, "mine.yaml")
    assert loads(text, Path("mine.yaml")).case.setting.origin["protocol"] == {"stack": stack}
    found = choices(text)
    for number, line in found.items():
        scenario = loads(with_lines(text, {number: line}), Path("mine.yaml"))
        assert scenario != loads(text, Path("mine.yaml")), line
    loads(with_lines(text, found), Path("mine.yaml"))


@pytest.mark.parametrize("stack", stack_names())
def test_the_file_is_a_scenario_untouched_and_with_every_choice_made(
    stack: str, tmp_path: Path
) -> None:
    """Also for a folder, though it has a deployment, as the files of simulate have."""
    text = template(stack, "mine.yaml")
    (tmp_path / "mine.yaml").write_text(text)
    (tmp_path / "open.yaml").write_text(with_lines(text, choices(text)))
    targets = expand([str(tmp_path)])
    assert [Path(target.label).name for target in targets.found] == ["mine.yaml", "open.yaml"]
    for name in ("mine.yaml", "open.yaml"):
        assert load_file(tmp_path / name).case.setting.system.timing is not None
    for target in targets.found:
        target.load()


@pytest.mark.parametrize("stack", stack_names())
def test_everything_that_can_be_chosen_is_there(stack: str) -> None:
    text = template(stack, "mine.yaml")
    keys = {line.split(":")[0].strip(): line for line in choices(text).values()}
    keys |= {line.split(":")[0].strip(): line for line in text.splitlines() if "#" not in line[:9]}
    assert set(differences(stack)) <= keys.keys()
    assert set(fault_names()) <= keys.keys()
    for size in attrs.fields(Scope):
        bounds, name = limits(size), size.name.replace("_", "-")
        assert name in keys
        if bounds:
            assert f"# {bounds[0]} to {bounds[1]}, by default " in keys[name]


@pytest.mark.parametrize("stack", stack_names())
def test_no_line_is_too_long(stack: str) -> None:
    prose = [line for line in template(stack, "x.yaml").splitlines() if " # " not in line]
    assert max(map(len, prose)) <= 100


@pytest.mark.parametrize("stack", [DEFAULT_STACK, "dynamo"])
def test_as_written_it_verifies(
    stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    assert run(["new", stack, "--out", str(file)]) == 0
    assert capsys.readouterr().out == f"{file} is written; next: rackproof verify {file}\n"
    assert f"#   rackproof verify {file}\n" in file.read_text()
    assert run(["verify", str(file)]) == (0 if stack == DEFAULT_STACK else 1)
    capsys.readouterr()


def test_what_a_stack_does_not_do_is_no_false_alarm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """vLLM migrates no request, and is not blamed for it: as in its exams, so in a scenario."""
    text = template("vllm-nixl", "mine.yaml")
    assert "  retry-limit: 0  # 0 to 16, by default 0 as vllm-nixl has it\n" in text
    (tmp_path / "mine.yaml").write_text(text)
    assert run(["verify", str(tmp_path / "mine.yaml"), "--json", "-"]) == 1
    (data,) = json.loads(capsys.readouterr().out)
    wrong = {p["name"] for p in data["properties"] if p["verdict"] == "violated"}
    assert wrong == {"dead-endpoint-removed"}
    bare = loads("rackproof: 1\nname: x\nprotocol: {stack: sglang}\n", Path("x.yaml"))
    assert bare.case.setting.bundled is not None
    assert bare.case.setting.bundled.scope == {"retry-limit": 0, "gateway-retries": 1}


@pytest.mark.parametrize("stack", stack_names())
def test_each_choice_is_told_by_itself(stack: str) -> None:
    text = template(stack, "x.yaml")
    assert "``" not in text
    scope = text[text.index("scope:") : text.index("# How often each fault")].splitlines()
    told = [line for line in scope if line.startswith("  # ")]
    assert len(set(told)) == len(told)


def test_without_a_file_it_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new"]) == 0
    assert capsys.readouterr().out == template(DEFAULT_STACK, "FILE")
    assert run(["new", "stack:dynamo", "--out", "-"]) == 0
    assert capsys.readouterr().out == template("dynamo", "FILE")


def test_a_file_that_is_there_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine\n")
    assert run(["new", "--out", str(file)]) == 2
    assert "is there already, and is not overwritten" in capsys.readouterr().err
    assert file.read_text() == "mine\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["dynamoo"], "there is no stack 'dynamoo'; did you mean dynamo?\n"),
        ([""], "there is no stack '' (there are: "),
        (["../stacks/dynamo"], "there is no stack '../stacks/dynamo'"),
        (["dynamo", "--out", "nowhere/mine.yaml"], "nowhere/mine.yaml: no such file or directory"),
        (["dynamo", "--out", "/"], "is a directory"),
        (["dynamo", "vllm-nixl"], "unexpected extra argument"),
    ],
)
def test_bad_input(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["new", *arguments]) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert out == ""
