"""Missing guards: taken out of small worlds and found again; on bundled bugs; and where none is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from naive import reachable

from rackproof.checker.cli import run
from rackproof.checker.engines import Options
from rackproof.checker.guards import Synthesis, missing_guards
from rackproof.model.kernel import (
    Identifiers,
    ModelError,
    System,
    always,
    at_rest,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    identifier,
    put,
    sometimes,
    step,
    timer,
    transition,
)

Readers = Identifiers("reader")
Attempts = Identifiers("attempt", ordered=True)
BUGS = Path("scenarios/bugs")


# One lock, which whoever wants it takes: the test for it is made elsewhere only.


@frozen
class Lock:
    holder: int | None = identifier(Readers)
    inside: tuple[bool, ...] = each(Readers)
    done: tuple[bool, ...] = each(Readers)


def taking(guarded: bool) -> System:
    @transition(step, reader=Readers)
    def enter(world: Lock, reader: int) -> Lock | None:
        """{reader} takes the lock."""
        if world.inside[reader] or world.done[reader]:
            return None
        if guarded and world.holder != None:
            return None
        return evolve(world, holder=reader, inside=put(world.inside, reader, True))

    @transition(step, reader=Readers)
    def leave(world: Lock, reader: int) -> Lock | None:
        """{reader} gives it back."""
        if not world.inside[reader]:
            return None
        left = evolve(
            world,
            inside=put(world.inside, reader, False),
            done=put(world.done, reader, True),
        )
        return evolve(left, holder=None) if world.holder == reader else left

    @transition(timer)
    def tidy(world: Lock) -> Lock | None:
        """A lock that nobody holds is looked at: what one reader did is forgotten."""
        if world.holder == None and all(world.done):
            return evolve(world, done=tuple(False for _ in world.done))
        return None

    @sometimes()
    def somebody_is_inside(world: Lock) -> bool:
        """The lock is used."""
        return any(world.inside)

    @always(premise=somebody_is_inside, reader=Readers, other=Readers)
    def alone(world: Lock, reader: int, other: int) -> bool:
        """No two readers are inside."""
        return reader == other or not (world.inside[reader] and world.inside[other])

    start = Lock(inside=(False, False), done=(False, False))
    return System("lock", start, (enter, leave, tidy), (alone,), sizes={"reader": 2})


# Attempts, of which an old one may still answer.


@frozen
class Stream:
    current: int = bounded(0, 1)
    sent: tuple[bool, ...] = each(Attempts)
    got: tuple[bool, ...] = each(Attempts)
    open: int | None = identifier(Attempts)
    doubled: bool = False


def streaming(guarded: bool) -> System:
    @transition(step, attempt=Attempts)
    def send(world: Stream, attempt: int) -> Stream | None:
        """The worker of {attempt} sends its answer."""
        if world.sent[attempt] or world.open != attempt:
            return None
        return evolve(world, sent=put(world.sent, attempt, True))

    @transition(fault)
    def break_off(world: Stream) -> Stream | None:
        """The connection breaks before the answer, and another attempt is made."""
        return evolve(world, open=1) if world.open == 0 and not world.got[0] else None

    @transition(step, attempt=Attempts)
    def receive(world: Stream, attempt: int) -> Stream | None:
        """The client gets the answer of {attempt}."""
        if not world.sent[attempt] or world.got[attempt]:
            return None
        if guarded and world.open != attempt:
            return None
        doubled = any(world.got)
        return evolve(world, got=put(world.got, attempt, True), doubled=doubled)

    @timer_of_stale
    def drop(world: Stream, attempt: int) -> Stream | None:
        """What an attempt sent that is over is dropped."""
        if world.open == attempt or not world.sent[attempt] or world.got[attempt]:
            return None
        return evolve(world, sent=put(world.sent, attempt, False), got=world.got)

    @sometimes()
    def answered(world: Stream) -> bool:
        """An answer arrives."""
        return any(world.got)

    @always(premise=answered)
    def answered_once(world: Stream) -> bool:
        """There is one answer."""
        return not world.doubled

    start = Stream(sent=(False, False), got=(False, False), open=0)
    return System("stream", start, (send, break_off, receive, drop), (answered_once,))


timer_of_stale = transition(timer, attempt=Attempts)


# Two locks, taken in either order.


@frozen
class Locks:
    first: int | None = identifier(Readers)
    second: int | None = identifier(Readers)
    finished: tuple[bool, ...] = each(Readers)


@transition(step)
def one_takes_first(world: Locks) -> Locks | None:
    """Reader 0 takes the first lock."""
    return evolve(world, first=0) if world.first == None and not world.finished[0] else None


@transition(step)
def one_takes_second(world: Locks) -> Locks | None:
    """Reader 0 takes the second lock, and is done."""
    if world.first != 0 or world.second != None:
        return None
    return evolve(world, first=None, finished=put(world.finished, 0, True))


@transition(step)
def other_takes_second(world: Locks) -> Locks | None:
    """Reader 1 takes the second lock."""
    return evolve(world, second=1) if world.second == None and not world.finished[1] else None


@transition(step)
def other_takes_first(world: Locks) -> Locks | None:
    """Reader 1 takes the first lock, and is done."""
    if world.second != 1 or world.first != None:
        return None
    return evolve(world, second=None, finished=put(world.finished, 1, True))


@at_rest(reader=Readers)
def finishes(world: Locks, reader: int) -> bool:
    """Both are done in the end."""
    return world.finished[reader]


def locks() -> System:
    steps = (one_takes_first, one_takes_second, other_takes_second, other_takes_first)
    return System("locks", Locks(finished=(False, False)), steps, (finishes,))


def first(found: Sequence[Synthesis]) -> list[str]:
    (synthesis,) = found
    return ["; ".join(guard.words for guard in mend.guards) for mend in synthesis.mends]


def test_the_guard_that_was_taken_out_is_found() -> None:
    (found,) = missing_guards(taking(guarded=False))
    best = found.mends[0]
    assert best.guards[0].words == "enter: only if holder == none"
    whole = missing_guards(taking(guarded=True), ["alone"])[0]
    assert "it is not violated" in str(whole.reason)
    assert best.states == whole.states
    assert found.states > best.states


def test_a_guard_is_over_what_the_transition_takes() -> None:
    (found,) = missing_guards(streaming(guarded=False))
    words = [mend.guards[0].words for mend in found.mends]
    assert "receive: only if open == attempt" in words
    best = found.mends[0]
    assert best.states >= len(reachable(streaming(guarded=True)))
    assert all(mend.states <= best.states for mend in found.mends)


def test_deadlock_of_two_locks() -> None:
    (found,) = missing_guards(locks())
    guards = (
        "other-takes-second: only if first == none",
        "one-takes-first: only if second == none",
    )
    assert first([found])[0] == "; ".join(guards)
    assert found.mends[0].states == found.states - 1  # all but the deadlock itself


@transition(fault)
def flip(world: Lock) -> Lock | None:
    """Both are inside at once, whatever anyone does."""
    return evolve(world, inside=(True, True)) if not world.inside[0] else None


def test_nature_cannot_be_guarded() -> None:
    system = taking(guarded=True)
    system = System("flip", system.initial, (*system.transitions, flip), system.properties)
    (found,) = missing_guards(system)
    assert found.mends == ()
    assert found.reason is not None
    assert "no test that a step" in found.reason
    assert not found.is_open


def test_a_guard_that_costs_a_goal_is_no_mend() -> None:
    @frozen
    class Count:
        value: int = bounded(0, 3)

    @transition(step)
    def add(world: Count) -> Count | None:
        """One more."""
        return evolve(world, value=world.value + 1) if world.value < 3 else None

    @sometimes()
    def three(world: Count) -> bool:
        """Three are there."""
        return world.value == 3

    @always(premise=three)
    def never_two(world: Count) -> bool:
        """There are never just two."""
        return world.value != 2

    (found,) = missing_guards(System("count", Count(), (add,), (never_two,)))
    assert found.mends == ()
    assert found.nearest is not None or found.tried == 0


def test_states_without_end_are_told() -> None:
    (found,) = missing_guards(taking(guarded=False), ["alone"], Options(seconds=0.0))
    assert found.is_open
    assert str(found.reason).startswith("not all states were seen")


def test_a_model_that_raises() -> None:
    @transition(step)
    def fails(world: Lock) -> Lock | None:
        """It fails."""
        raise ValueError("no" if world.inside else "never")

    system = taking(guarded=False)
    system = System("raises", system.initial, (fails,), system.properties)
    with pytest.raises(ModelError, match="no"):
        missing_guards(system)


KNOWN = {
    "dynamo-11646-router-mirror-lags": {
        "no-dispatch-to-removed": "dispatch: only if endpoints[worker].listed",
        "terminal-latch": "notice: only if not streams[request].finished",
    },
    "lmcache-993-pinned-object-evicted": {
        "store-read-consistent": "evict-object: only if spaces[space].pins <= 0",
    },
    "mooncake-2486-two-lock-orders": {
        "store-progress": "lock-segments: only if master.objects_locked == none; "
        "lock-objects: only if master.segments_locked == none",
    },
    "mooncake-2818-published-before-commit": {
        "no-get-failure-without-fault": "find: only if spaces[space].whole",
    },
    "dynamo-7489-cancel-kills-transfer": {
        "no-kv-leak": "abort: only if loads[request].attempts[attempt].flying == 0",
    },
}
"""Bugs whose fix is a guard, with the guard that is to be among those found."""


@pytest.mark.parametrize("bug", KNOWN)
def test_bundled_bugs(bug: str, tmp_path: Path) -> None:
    file = tmp_path / "guards.json"
    names = [word for name in KNOWN[bug] for word in ("--property", name)]
    assert run(["guards", str(BUGS / f"{bug}.yaml"), *names, "--json", str(file)]) == 0
    (report,) = json.loads(file.read_text())
    for found in report["properties"]:
        told = [
            "; ".join(f"{part['to']}: only if {part['only_if']}" for part in mend["add"])
            for mend in found["guards"]
        ]
        assert KNOWN[bug][found["name"]] in told


def test_command_tells_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guards", str(BUGS / "aibrix-2287-cleared-event-ignored.yaml")]) == 0
    out = capsys.readouterr().out
    assert "no test that a step, a timer or the property makes lets it hold" in out
    assert "a-prefix-was-indexed is never reached" in out


def test_unknown_property(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guards", "docs/examples/lease.py:world", "--property", "no-overwrite"]) == 2
    assert "did you mean no-overwrite-in-flight?" in capsys.readouterr().out
