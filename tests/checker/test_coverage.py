"""Guards that always come out the same way, and transitions that never fire, are told."""

from __future__ import annotations

import naive
import pytest

from rackproof.checker.cli import run
from rackproof.checker.coverage import coverage
from rackproof.model.kernel import System, always, bounded, evolve, frozen, step, transition


@frozen
class Counter:
    count: int = bounded(0, 7)
    flag: bool = False


@transition(step)
def up(w: Counter) -> Counter | None:
    """Up."""
    if w.count == 5:
        return evolve(w, flag=not w.flag)
    return evolve(w, count=w.count + 1) if w.count < 5 else None


@transition(step)
def jump(w: Counter) -> Counter | None:
    """Jump from where the count never is together with the flag."""
    if w.flag and w.count == 2:
        return evolve(w, count=7)
    return None


@always()
def small(w: Counter) -> bool:
    """The count stays small."""
    return w.count < 7


COUNTER = System("counter", Counter(), (up, jump), (small,))


def lines(system: System) -> list[str]:
    found = coverage(system)
    assert found.reason is None
    return [guard.text for guard in found.guards]


def test_a_guard_that_is_never_met_is_told_by_its_line() -> None:
    assert len(naive.reachable(COUNTER)) == 7
    assert lines(COUNTER) == [
        "return evolve(w, count=w.count + 1) if w.count < 5 else None",
        "if w.flag and w.count == 2:",
    ]


def test_what_a_transition_does_besides_is_no_guard() -> None:
    assert lines(System("jump", Counter(flag=True, count=2), (jump,), (small,))) == []


def test_the_command_line_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--coverage", "docs/examples/lease.py:world"]) == 1
    out = capsys.readouterr().out
    assert "guards that always came out the same way:" in out
