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
    """Where an instance was possible without a break: after step ``opened``, until ``closed``.

    fired: whether step ``closed`` is it; otherwise that step made it impossible, or the run ends.
    """

    firing: Firing
    opened: int
    closed: int
    fired: bool
    span: Span


def windows(trace: Trace, durations: Durations) -> Iterator[Window]:
    """Every window of a run, by when it closes; spans are told of the state in which it opened."""
    system, open_since = trace.system, dict[Firing, tuple[int, Span]]()
    states = [system.initial, *(step.after for step in trace.steps)]
    fired: list[Firing | None] = [None, *(step.firing for step in trace.steps)]
    for number, state in enumerate(states):
        possible = [firing for firing, _ in successors(system, state)]
        for firing, (opened, span) in list(open_since.items()):
            if firing == fired[number] or firing not in possible:
                yield Window(firing, opened, number, firing == fired[number], span)
                del open_since[firing]
        for firing in possible:
            if firing not in open_since:
                open_since[firing] = (number, durations.span(firing, state))
    for firing, (opened, span) in open_since.items():
        yield Window(firing, opened, len(trace.steps), fired=False, span=span)


@frozen(eq=False)
class TimedTrace:
    """A run with what its steps' times must keep to; of a loop, the steps of two rounds.

    limits: over the times 0 (the start) to len(steps), the last step's.
    """

    trace: Trace
    durations: Durations
    limits: tuple[Limit, ...]

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
    own = (limit for window in windows(trace, durations) for limit in _limits(window, trace))
    return TimedTrace(trace, durations, (*order, *own))


def _limits(window: Window, trace: Trace) -> Iterator[Limit]:
    """What a window says: nothing fires too early, and time does not pass what must be over."""
    words = window.firing.words(trace.system).rstrip(".")
    begin = f"step {window.opened}" if window.opened else "the start"
    if window.fired and window.span.never:
        never = f"never, as {' and '.join(window.span.never)} has no end: {words}"
        yield Limit(window.closed, window.closed, Amount(Fraction(-1)), never, window.span.never)
    if window.fired and not window.span.least.is_zero:
        why = f"at least {_told(window.span.least)} from {begin} to step {window.closed}: {words}"
        yield Limit(window.closed, window.opened, -window.span.least, why)
    if window.span.most is not None and window.opened < window.closed:
        told = "within " + _told(window.span.most) if not window.span.most.is_zero else "at once"
        why = f"{told} after {begin}: {words}"
        yield Limit(window.opened, window.closed, window.span.most, why)


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
