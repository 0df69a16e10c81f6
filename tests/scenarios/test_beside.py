"""Files read in several processes: what they say is the same as read by one, in the same order."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rackproof.scenarios.recorded import beside
from rackproof.scenarios.recorded.mapping import find_mapping
from rackproof.scenarios.recorded.noted import Doubt, Noted
from rackproof.scenarios.recorded.reader import runs
from rackproof.scenarios.recorded.runs import Run, begun
from rackproof.scenarios.worlds import InputError

CAPTURES = Path(__file__).parents[1] / "data" / "dynamo-1.6.1"
ONE = CAPTURES / "misc_replay_kill"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "LEAST", 0)
    monkeypatch.setattr(beside, "PORTION", 1)
    monkeypatch.setattr(beside, "MOST_RUNS", 3)


def said(folder: Path, processes: int) -> tuple[list[Noted], list[Doubt]]:
    doubts: list[Doubt] = []
    found = runs(folder, find_mapping("dynamo"), doubts.append, processes=processes)
    return [noted for run in found for noted in run.notes()], doubts


def damaged(capture: Path, folder: Path) -> Path:
    """A capture of whose streams each has a line that is none, and one cannot be read."""
    shutil.copytree(capture, folder)
    for file in folder.glob("sse_*"):
        text = file.read_bytes()
        file.write_bytes(text[: len(text) // 2] + b"\n{\n" + text[len(text) // 2 :])
    (folder / "sse_nowhere.jsonl").symlink_to("nothing")
    return folder


@pytest.mark.parametrize("processes", [2, 3])
def test_the_same_is_said_and_doubted_in_the_same_order(tmp_path: Path, processes: int) -> None:
    folder = damaged(CAPTURES / "zombie_lim3_tmo3_round-robin", tmp_path / "capture")
    notes, doubts = said(folder, 1)
    assert doubts
    assert said(folder, processes) == (notes, doubts)
    assert not multiprocessing.active_children()


def test_one_process_reads_where_no_other_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = said(ONE, 1)
    forked = 0

    def fork() -> int:
        nonlocal forked
        forked += 1
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    assert said(ONE, 2) == alone
    assert forked == 1


def test_a_process_that_is_killed_is_told() -> None:
    def killed(_: Sequence[int], _tell: beside.TellDoubt) -> Iterator[Run]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from ()

    with pytest.raises(InputError, match="ended with status -9: is there enough memory"):
        list(beside.beside(sorted(ONE.iterdir()), killed, print, 2))


def test_nothing_runs_on_when_no_more_is_wanted() -> None:
    def endless(_: Sequence[int], _tell: beside.TellDoubt) -> Iterator[Run]:
        while True:
            yield begun("a", "client", "token", "driver", None, {}, {})

    found = beside.beside(sorted(ONE.iterdir()), endless, print, 2)
    next(found)
    assert len(multiprocessing.active_children()) == 2
    del found
    assert not multiprocessing.active_children()
