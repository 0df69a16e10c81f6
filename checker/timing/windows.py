"""A run as a network: when each instance was possible, and what that says of the times of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from attrs import frozen

from rackproof.checker.timing.amounts import Amount
from rackproof.checker.timing.durations import Durations, Span
from rackproof.checker.timing.network import Conflict, Limit, Schedule, most_between, solve
from rackproof.checker.trace import Trace
from rackproof.model.kernel import Firing, successors

ROUNDS: Final = 2
"""How often a loop is gone round: once from its beginning, once from its end."""


@frozen
class Window:
    """Where an instance was possible with the same bounds: after step ``opened``, until ``closed``.

    fired: whether step ``closed`` is it; otherwise that step changed its bounds or made it
    impossible, or the run ends. since: the step that the least counts from.
    """

    firing: Firing
    opened: int
    closed: int
    fired: bool
    span: Span
    since: int


def windows(trace: Trace, durations: Durations) -> Iterator[Window]:
    """Every window of a run, by when it closes."""
    states = [trace.system.initial, *(step.after for step in trace.steps)]
    fired: list[Firing | None] = [None, *(step.firing for step in trace.steps)]
    held = [f for f in trace.system.firings() if durations.duration(f).since is not None]
    opened, since = dict[Firing, tuple[int, Span]](), dict[Firing, int]()
    for number, state in enumerate(states):
        possible = {f: durations.span(f, state) for f, _ in successors(trace.system, state)}
        for firing, (begin, span) in list(opened.items()):
            same = firing in possible and _alike(durations, span, possible[firing])
            if firing == fired[number] or not same:
                start = since.get(firing, begin)
                yield Window(firing, begin, number, firing == fired[number], span, start)
                del opened[firing]
        for firing, span in possible.items():
            opened.setdefault(firing, (number, span))
        for firing in held:
            if not durations.holds_back(firing, state):
                since.pop(firing, None)
            elif firing == fired[number]:
                since[firing] = number
            else:
                since.setdefault(firing, number)
    for firing, (begin, span) in opened.items():
        yield Window(firing, begin, len(trace.steps), False, span, since.get(firing, begin))


def _alike(durations: Durations, span: Span, other: Span) -> bool:
    """Whether two spans have the same bounds in value."""
    return durations.limits(span) == durations.limits(other)


@frozen(eq=False)
class TimedTrace:
    """A run with what its steps' times must keep to; of a loop, the steps of two rounds.

    limits: over the times 0 (the start) to len(steps), the last step's. endless: what would be
    limits, too, if some names were not infinite; conditions on these names have them.
    """

    trace: Trace
    durations: Durations
    limits: tuple[Limit, ...]
    endless: tuple[Limit, ...] = ()

    @property
    def count(self) -> int:
        """How many times there are."""
        return len(self.trace.steps) + 1

    def solve(
        self, values: dict[str, Fraction] | None = None, more: Sequence[Limit] = ()
    ) -> Schedule | Conflict:
        """When its steps can happen, or why they cannot; values: instead of the defaults."""
        given = self.durations.values if values is None else values
        return solve(self.count, [*self.limits, *more], given)


def timed(trace: Trace, durations: Durations | None = None) -> TimedTrace:
    """What the times of a run's steps must keep to."""
    durations = durations or Durations(trace.system)
    if trace.loop is not None:
        again = trace.repeated * (ROUNDS - 1)
        trace = Trace(trace.system, (*trace.steps, *again))
    order = [Limit(k, k - 1, Amount()) for k in range(1, len(trace.steps) + 1)]
    own, endless = list[Limit](), list[Limit]()
    for window in windows(trace, durations):
        own += _limits(window, trace)
        if window.span.endless is not None and window.opened < window.closed:
            endless.append(_latest(window, window.span.endless, trace))
    return TimedTrace(trace, durations, (*order, *own), tuple(endless))


def _limits(window: Window, trace: Trace) -> Iterator[Limit]:
    """What a window says: nothing fires too early, and time does not pass what must be over."""
    words = window.firing.words(trace.system).rstrip(".")
    since = _step(window.since)
    if window.fired and window.span.never:
        never = f"never, as {' and '.join(window.span.never)} has no end: {words}"
        yield Limit(window.closed, window.closed, Amount(Fraction(-1)), never, window.span.never)
    if window.fired and not window.span.least.is_zero:
        why = f"at least {_told(window.span.least)} from {since} to step {window.closed}: {words}"
        yield Limit(window.closed, window.since, -window.span.least, why)
    if window.span.most is not None and window.opened < window.closed:
        yield _latest(window, window.span.most, trace)


def _latest(window: Window, most: Amount, trace: Trace) -> Limit:
    """That a window closes in time."""
    words = window.firing.words(trace.system).rstrip(".")
    told = f"within {_told(most)}" if not most.is_zero else "at once"
    why = f"{told} after {_step(window.opened)}: {words}"
    return Limit(window.opened, window.closed, most, why)


def _step(number: int) -> str:
    return f"step {number}" if number else "the start"


def _told(amount: Amount) -> str:
    return amount.words


def longest(timing: TimedTrace, begin: int, end: int) -> tuple[Fraction | None, Schedule] | None:
    """The most that can pass between two steps, and a schedule in which it does.

    None where the run is not possible; the most is None where there is no bound, and the schedule
    any.
    """
    found = timing.solve()
    if isinstance(found, Conflict):
        return None
    most = most_between(timing.count, timing.limits, timing.durations.values, begin, end)
    if most is None:
        return None, found
    attained = timing.solve(more=[Limit(end, begin, Amount(-most))])
    assert isinstance(attained, Schedule), "a shortest way is a bound that is met"
    return most, attained
