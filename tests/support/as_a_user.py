"""What docs/ci.md shows, done as a user does it: away from the repository, with the wheel alone.

    PYTHON tests/support/as_a_user.py

PYTHON is that of an environment in which the wheel and pytest are installed and nothing else. The
project of docs/examples/ci is copied to a new folder, and there each command of the first job of
the workflow runs as GitHub runs it. All of them succeed. Then the recorded run, the router and the
protocol are broken, and each has to fail the step whose matter it is, which says what is wrong.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "ci"
CAPTURE = ROOT / "tests" / "data" / "dynamo-1.6.1" / "kills_lim3_w5_cw_kv"

WRITTEN = {
    "Verify": ("rackproof.xml", "rackproof.sarif"),
    "Test": ("pytest.xml",),
    "Hold recorded runs against the model": ("conform.xml", "conform.md"),
    "Write the report": ("review/index.html",),
}
"""What each step leaves behind."""


def commands() -> Iterator[tuple[str, str]]:
    """The steps of the job that run something, beside the installation."""
    workflow = YAML(typ="safe").load(EXAMPLE / "github-actions.yml")
    for step in workflow["jobs"]["verify"]["steps"]:
        if "name" in step and "run" in step:
            yield step["name"], step["run"]


def project(folder: Path) -> None:
    """A repository of a user, with a run that was recorded."""
    for name in ("protocols", "tests"):
        shutil.copytree(EXAMPLE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(CAPTURE, folder / "recorded" / "a-worker-is-killed")


def step(folder: Path, command: str) -> tuple[int, str]:
    """Run a command as GitHub does."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    summary = {"GITHUB_STEP_SUMMARY": str(folder / "job.md"), "GITHUB_WORKSPACE": str(folder)}
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env={**os.environ, **summary, "PATH": programs},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def edit(file: Path, before: str, after: str) -> None:
    """Put one text in the place of another that is there once."""
    text = file.read_text("utf-8")
    if text.count(before) != 1:
        raise SystemExit(f"{file}: not once: {before}")
    file.write_text(text.replace(before, after), "utf-8")


def break_protocol(folder: Path) -> None:
    """A request that is sent again starts at its first token."""
    protocol = "protocol:\n  stack: reference"
    edit(folder / "protocols/router.yaml", protocol, f"{protocol}\n  replay-delivered: false")


def break_router(folder: Path) -> None:
    """A token in flight counts as delivered."""
    tests = folder / "tests/test_recovery.py"
    edit(tests, "import FakeAdapter", "import Bug, FakeAdapter")
    edit(tests, ", FakeAdapter,", ", lambda: FakeAdapter([Bug.SKIPS]),")


def lose_token(folder: Path) -> None:
    """The client was not sent a token that the worker made."""
    stream = folder / "recorded/a-worker-is-killed/sse_s0.jsonl"
    lines = stream.read_text("utf-8").splitlines(keepends=True)
    stream.write_text("".join(lines[:30] + lines[31:]), "utf-8")


FOUND: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "Verify": (
        break_protocol,
        (
            "no-duplicate-tokens: expected holds, but it is violated: 1 fault",
            "::error file=protocols/router.yaml,line=21,",
        ),
    ),
    "Test": (
        break_router,
        (
            "lock step with protocols/router.yaml: the implementation did what no run of the model",
            "client token: position",
            "1 failed, 2 deselected",
        ),
    ),
    "Hold recorded runs against the model": (
        lose_token,
        (
            "is rejected at sse_s0.jsonl:31, which breaks no-lost-tokens",
            "nothing explains client: token (position 29) at sse_s0.jsonl:31",
        ),
    ),
}
"""How what a step looks at is broken, and what the step says then."""
LESS = {"Test": " -k test_router"}
"""The part of a step that is enough to see that."""


def failures(folder: Path) -> Iterator[str]:
    """What is not as docs/ci.md says."""
    steps = dict(commands())
    for name, command in steps.items():
        status, out = step(folder, command)
        if status:
            yield f"{name}: ends with {status}\n{out}"
        yield from (f"{name}: {file}" for file in WRITTEN[name] if not (folder / file).exists())
    for name in reversed(FOUND):  # the protocol last: the tests rest on it
        spoil, told = FOUND[name]
        spoil(folder)
        status, out = step(folder, steps[name] + LESS.get(name, ""))
        if status != 1 or any(text not in out for text in told):
            yield f"{name}, where it should fail: ends with {status}\n{out}"


def main() -> int:
    """Do it, and say what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder)
        wrong = list(failures(folder))
    print("\n".join(wrong) or "as docs/ci.md says: all green, and each fault is found by its step")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
