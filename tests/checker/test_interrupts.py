"""An end that is asked for from outside: what is known by then is told."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
LEASE = ROOT / "docs" / "examples" / "lease.py"
MAIN = "from rackproof.checker.cli import main; main()"
SLOW = """
import time
from pathlib import Path

Path("begun").touch()
time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW, "utf-8")
    return tmp_path


def ended(folder: Path, *arguments: str, by: signal.Signals) -> tuple[int, str]:
    """The status of a command that gets a signal while the slow world is verified, and its words.

    A build that is cancelled sends more than one.
    """
    process = subprocess.Popen(
        [sys.executable, "-Ic", MAIN, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (folder / "begun").exists() and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    process.send_signal(by)
    time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    told, _ = process.communicate(timeout=60)
    return process.returncode, told


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_verify_tells_what_is_known(folder: Path, by: signal.Signals) -> None:
    arguments = (f"{LEASE}:world", "slow.py:world", "--junit", "x.xml")
    status, told = ended(folder, "verify", *arguments, by=by)
    assert status == 130, told
    assert "interrupted: 1 of 2 targets were done" in told
    assert "Traceback" not in told
    suites = {suite.get("name"): suite for suite in ET.parse(folder / "x.xml").getroot()}
    assert suites["slow.py:world"].get("errors") == "1"


def test_report_writes_what_is_known(folder: Path) -> None:
    arguments = (f"{LEASE}:world", "slow.py:world", "--out", "review")
    status, told = ended(folder, "report", *arguments, by=signal.SIGTERM)
    assert status == 130, told
    assert "interrupted: 1 of 2 targets were done" in told
    index = (folder / "review" / "index.html").read_text("utf-8")
    assert "Interrupted: 1 of 2 targets" in index
    assert "Make the whole report" in index


def test_a_report_of_nothing_leaves_the_earlier_one(folder: Path) -> None:
    review = folder / "review"
    command = [sys.executable, "-Ic", MAIN, "report", f"{LEASE}:world", "--out", "review"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    before = {file: file.read_bytes() for file in review.rglob("*.*")}
    status, told = ended(folder, "report", "slow.py:world", "--out", "review", by=signal.SIGTERM)
    assert status == 130
    assert "interrupted: 0 of 1 targets were done; review is as it was" in told
    assert {file: file.read_bytes() for file in review.rglob("*.*")} == before
