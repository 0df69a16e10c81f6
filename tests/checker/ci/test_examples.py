"""The workflows that docs/ci.md shows: they are YAML, and what they run does run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from rackproof.checker.cli import cli, run
from rackproof.scenarios.document import read

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs" / "examples" / "ci"
NAMES = ("github-actions.yml", "gitlab-ci.yml")


def document(name: str) -> Any:
    return YAML(typ="safe").load((EXAMPLES / name).read_text(encoding="utf-8"))


def commands(node: Any) -> Iterator[str]:
    """The lines that a workflow gives to a shell."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("run", "script", "before_script", "after_script"):
                yield from [value] if isinstance(value, str) else value
            else:
                yield from commands(value)
    elif isinstance(node, list):
        for item in node:
            yield from commands(item)


def ours(name: str) -> list[str]:
    return [line for line in commands(document(name)) if line.startswith("rackproof ")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a protocol in it, committed."""
    folder = tmp_path_factory.mktemp("project")
    protocols = folder / "protocols"
    protocols.mkdir()
    for name in ("lease.py", "lease.yaml"):
        shutil.copy(ROOT / "docs" / "examples" / name, protocols)
    capture = ROOT / "tests" / "data" / "dynamo-1.6.1" / "basic_SIGKILL_lim3_w2_round-robin"
    shutil.copytree(capture, folder / "recorded" / "a-worker-is-killed")
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "The lease"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_is_yaml_that_our_own_careful_reader_takes_too(name: str) -> None:
    assert document(name)
    assert read(EXAMPLES / name)


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_verifies_reports_and_compares(name: str) -> None:
    used = [line.split()[1] for line in ours(name)]
    assert sorted(used) == ["conform", "report", "verify"]
    assert any(line.startswith("bash ci/compare.sh ") for line in commands(document(name)))
    assert set(used) <= cli.commands.keys()
    assert "pytest tests --junit-xml pytest.xml" in commands(document(name))
    mentioned = re.findall(r"\brackproof ([a-z]+) ", " ".join(commands(document(name))))
    assert mentioned == used


def words(line: str) -> list[str]:
    """A command as a shell has it, whatever becomes of its status."""
    return shlex.split(line.partition(" || ")[0])[1:]


def test_what_the_workflows_run_does_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "job.md")
    told = [words(line) for name in NAMES for line in ours(name)]
    for arguments in [one for number, one in enumerate(told) if one not in told[:number]]:
        assert run(arguments) == 0, arguments
    capsys.readouterr()
    for name in NAMES:
        kept = re.findall(r"(?:rackproof|conform)\.(?:xml|sarif|md)", str(document(name)))
        assert all((project / path).stat().st_size for path in kept)
    assert (project / "job.md").stat().st_size
    assert (project / "review" / "index.html").is_file()


def test_what_changes_is_told_of_each_scenario(project: Path) -> None:
    lease, new = (project / "protocols" / name for name in ("lease.yaml", "a new one.yaml"))
    before = lease.read_text("utf-8")
    program = Path(sys.executable).parent
    try:
        lease.write_text(before.replace("rackproof: 1\n", "rackproof: 1\n\n"), "utf-8")
        new.write_text(before, "utf-8")
        subprocess.run(["git", "add", "-N", "."], cwd=project, check=True)
        subprocess.run(
            ["bash", str(EXAMPLES / "compare.sh"), "HEAD"],
            cwd=project,
            check=True,
            env={**os.environ, "PATH": f"{program}:{os.environ['PATH']}"},
        )
    finally:
        lease.write_text(before, "utf-8")
        new.unlink()
    told = (project / "changes.md").read_text("utf-8")
    assert "protocols/a new one.yaml is new: there is nothing to compare it with." in told
    assert told.count("protocols/lease.yaml") >= 1


def test_the_page_shows_what_the_workflow_has() -> None:
    page = " ".join((ROOT / "docs" / "ci.md").read_text(encoding="utf-8").split())
    told = [line for line in ours("github-actions.yml") if " report " not in line]
    assert len(told) == 2
    assert all(" ".join(line.split()) in page for line in told)
    tests = (EXAMPLES / "tests" / "test_recovery.py").read_text(encoding="utf-8")
    assert " ".join(tests.partition('"""\n\n')[2].split()) in page


def test_the_hook_is_yaml_and_its_command_one_of_ours() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(# \.pre-commit.*?)```", page, re.DOTALL)
    (repository,) = YAML(typ="safe").load(block)["repos"]
    (hook,) = repository["hooks"]
    assert re.match(hook["files"], "protocols/a/lease.yaml")
    program, command, *arguments = hook["entry"].split()
    assert program == "rackproof"
    target = str(ROOT / "docs" / "examples" / "lease.yaml")
    cli.commands[command].make_context(command, [*arguments, target])
