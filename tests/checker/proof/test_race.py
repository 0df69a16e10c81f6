"""Runners in processes of their own: the first ends the others, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import pytest

from rackproof.checker.proof.race import OUT_OF_MEMORY, Race, Told


def forever() -> Iterator[None]:
    while True:
        yield from ()
        time.sleep(0.05)


def gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def first(race: Race) -> Told:
    return next(race.news(60))


def test_the_first_result_is_there_while_others_run() -> None:
    with Race({"slow": forever, "quick": lambda: [(1, "two")]}) as race:
        assert first(race) == Told("quick", (1, "two"))
        assert not race.is_over


def test_results_come_one_by_one() -> None:
    with Race({"counts": lambda: range(3)}) as race:
        told = list(race.news(60))
    assert told == [*(Told("counts", n) for n in range(3)), Told("counts", is_last=True)]


def test_leaving_ends_the_others_and_what_they_started() -> None:
    read, write = os.pipe()

    def spawns() -> Iterator[None]:
        child = subprocess.Popen(["sleep", "60"])
        os.write(write, f"{os.getpid()} {child.pid} ".encode())
        return forever()

    with Race({"spawns": spawns}):
        pids = [int(word) for word in os.read(read, 100).split()]
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


def test_an_error_is_told() -> None:
    def fails() -> list[int]:
        raise ValueError("this is wrong")

    with Race({"fails": fails}) as race:
        assert first(race) == Told("fails", is_last=True, trouble="ValueError: this is wrong")
        assert race.is_over


def test_a_death_is_told() -> None:
    with Race({"dies": lambda: [os._exit(7)]}) as race:
        assert first(race) == Told("dies", is_last=True, trouble="ended with status 7")


def test_memory_is_bounded() -> None:
    with Race({"eats": lambda: bytearray(1 << 30)}, memory=1 << 28) as race:
        assert first(race) == Told("eats", is_last=True, trouble=OUT_OF_MEMORY)


def test_nothing_is_told_before_its_time() -> None:
    with Race({"slow": forever}) as race:
        assert list(race.news(0.05)) == []
        assert not race.is_over


def test_an_interrupt_ends_them() -> None:
    read, write = os.pipe()

    def tells() -> Iterator[None]:
        os.write(write, str(os.getpid()).encode())
        return forever()

    def interrupted(pids: list[int]) -> None:
        with Race({"tells": tells}):
            pids.append(int(os.read(read, 100)))
            raise KeyboardInterrupt

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(pids)
    assert gone(pids[0])
