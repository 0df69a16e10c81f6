"""How long a client can wait for the next thing it is to get, over all runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from attrs import frozen

from rackproof.checker.searched import Progress
from rackproof.checker.timing.classes import Blind, Bounds, Class, Classes
from rackproof.checker.timing.moves import Moves
from rackproof.checker.timing.network import Schedule
from rackproof.checker.timing.windows import TimedTrace, longest, timed
from rackproof.checker.trace import EngineError, Trace, run
from rackproof.model.kernel import Firing, Timing


class Waits(Blind):
    """Remembers of each client that waits since when it has got nothing."""

    def __init__(self, moves: Moves) -> None:
        self.timing, self.moves = moves.durations.timing, moves
        self.is_done: dict[int, bool] = {}

    def moments(self, memory: Any, state: Any) -> tuple[Any, ...]:
        """The numbers of the clients that wait."""
        del memory
        return tuple(n for n, waits in enumerate(self.timing.waiting(state)) if waits)

    def begins(self, moment: Any, before: Any, after: Any) -> bool:
        """Whether a client that waits has got something."""
        return bool(self.timing.seen(before)[moment] != self.timing.seen(after)[moment])

    def is_over(self, memory: Any, number: int) -> bool:
        """Whether nobody waits, or gets anything, any more."""
        del memory
        waits = self.timing.waiting(self.moves.states[number])
        return not any(waits) and self._done(number)

    def _done(self, state: int) -> bool:
        """Whether nothing that can come, at whatever time, is of any interest to a client."""
        if state not in self.is_done:
            reached, told = [state], self._told(state)
            known = {state}
            for at in reached:
                for _, after in self.moves.of(at):
                    if self._told(after) != told or self.is_done.get(after) is False:
                        self.is_done[state] = False
                        return False
                    if after not in known and after not in self.is_done:
                        known.add(after)
                        reached.append(after)
            self.is_done.update(dict.fromkeys(known, True))
        return self.is_done[state]

    def _told(self, state: int) -> tuple[object, object]:
        """What clients have, and whether they wait."""
        plain = self.moves.states[state]
        return self.timing.seen(plain), self.timing.waiting(plain)


@frozen
class Stall:
    """A wait of a client: seconds (None: for ever), from a step to another of a run.

    reason: why it never ends, if so. schedule: times of the run's steps with which it is that long.
    """

    client: int
    seconds: Fraction | None
    trace: Trace
    begin: int
    end: int
    schedule: Schedule | None
    reason: str | None = None


@frozen
class Stalls:
    """The worst stall over all runs within the times (None: nobody waits), and how it was found.

    reason: why not every run was seen; None when all were.
    """

    worst: Stall | None
    classes: int
    states: int
    reason: str | None


def worst_stall(
    moves: Moves, bounds: Bounds | None = None, progress: Progress | None = None
) -> Stalls:
    """The longest that any client can wait for anything; ends at the first wait without end."""
    classes = Classes(moves, Waits(moves), bounds or Bounds(), progress)
    worst, longest_ticks = None, -1.0
    for found in classes.explore():
        latest = found.latest
        for client in found.place.moments:
            ticks = float(latest[found.place.variable(client)])
            if ticks > longest_ticks:
                worst, longest_ticks = (found, client), ticks
        if longest_ticks == math.inf or classes.loops:
            break
    if classes.loops and longest_ticks < math.inf:
        stall: Stall | None = _for_ever(moves, classes)
    else:
        stall = worst and _stall(moves, *worst, longest_ticks)
    is_settled = stall is not None and stall.seconds is None
    return Stalls(stall, classes.found, len(moves.states), None if is_settled else classes.reason)


def _stall(moves: Moves, found: Class, client: Any, ticks: float) -> Stall:
    """The stall that ends with the next firing after a class, as its run has it."""
    ends = [] if ticks == math.inf else [found.successors[0][0]]
    trace = run(moves.system, [moves.firings[n] for n in (*found.firings, *ends)])
    begin, end = since(moves.durations.timing, trace, client, found.depth), len(trace.steps)
    if ticks == math.inf:
        possible = [moves.firings[n] for n, _ in moves.of(found.place.state)]
        schedule = timed(trace, moves.durations).solve()
        if not isinstance(schedule, Schedule):
            raise EngineError("a class is reached by a run that its times do not allow")
        reason = nothing_ends(moves, possible)
        return Stall(client, None, trace, begin, end, schedule, reason)
    seconds = Fraction(int(ticks), moves.durations.ticks_a_second)
    attained = longest(timed(trace, moves.durations), begin, end)
    if attained is None or attained[0] != seconds:
        raise EngineError(f"a stall of {seconds} s is not what the times of its run come to")
    return Stall(client, seconds, trace, begin, end, attained[1])


def worst_of(timing: TimedTrace) -> Stall | None:
    """The longest wait in one run, as long as its times allow, up to where it ends.

    None where nobody waits or the run is not possible.
    """
    found = [_wait(timing, client, end) for client, end in _ends(timing)]
    known = [stall for stall in found if stall is not None]
    return max(known, key=lambda s: math.inf if s.seconds is None else s.seconds, default=None)


def _ends(timing: TimedTrace) -> Iterator[tuple[int, int]]:
    """Each client with each step at which a wait of it ends, the run's last included."""
    told, trace = timing.durations.timing, timing.trace
    for number, step in enumerate(trace.steps, 1):
        gets = zip(told.seen(step.before), told.seen(step.after), strict=True)
        waits = zip(told.waiting(step.before), told.waiting(step.after), strict=True)
        for client, ((old, new), (before, after)) in enumerate(zip(gets, waits, strict=True)):
            if before and (old != new or not after or number == len(trace.steps)):
                yield client, number


def _wait(timing: TimedTrace, client: int, end: int) -> Stall | None:
    begin = since(timing.durations.timing, timing.trace, client, end - 1)
    attained = longest(timing, begin, end)
    if attained is None:
        return None
    seconds, schedule = attained
    reason = "nothing bounds it" if seconds is None else None
    return Stall(client, seconds, timing.trace, begin, end, schedule, reason)


def nothing_ends(moves: Moves, possible: list[Firing]) -> str:
    """Why a wait has no end in a state."""
    if not possible:
        return "nothing more can happen"
    words = [firing.words(moves.system).rstrip(".") for firing in possible[:3]]
    more = f" (and {len(possible) - 3} more)" if len(possible) > 3 else ""
    return f"nothing with a bound is possible any more, only: {'; '.join(words)}{more}"


def _for_ever(moves: Moves, classes: Classes) -> Stall:
    """A stall in which a loop is gone round for ever."""
    loop = classes.loops[0]
    trace = loop.trace(moves)
    timing: TimedTrace = timed(trace, moves.durations)
    schedule = timing.solve()
    kept = [m for m in loop.end.place.moments if m in loop.begin.place.moments]
    begins = [since(moves.durations.timing, trace, client, len(trace.steps)) for client in kept]
    begin = min(begins)
    words = "; ".join(step.words.rstrip(".") for step in trace.repeated)
    return Stall(
        kept[begins.index(begin)],
        None,
        trace,
        begin,
        len(trace.steps),
        schedule if isinstance(schedule, Schedule) else None,
        f"what happens can go on for ever: {words}",
    )


def since(timing: Timing, trace: Trace, client: int, number: int) -> int:
    """The step after which a client that waits after step ``number`` got nothing until then."""
    states = [trace.system.initial, *(step.after for step in trace.steps)]
    while number and (
        timing.waiting(states[number - 1])[client]
        and timing.seen(states[number - 1])[client] == timing.seen(states[number])[client]
    ):
        number -= 1
    return number
