"""The slow way to all timed runs of a small world: second by second, every clock written out.

Durations are whole seconds and closed, so that whatever is reached at all is reached at whole
times, and so are the least and the most of anything that takes time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from attrs import evolve, field, frozen

from rackproof.model.kernel import Bound, Firing, Kind, System, Timing, successors

Clock = tuple[Firing, int, int, float]
"""An instance that is possible, its age, and its least and most."""
OLD = 12
"""An age beyond every bound."""
Measures = dict[str, tuple[Any, Any]]
"""The least and the most by name."""


def clock(system: System, state: Any, firing: Firing) -> Clock:
    """The clock of an instance that becomes possible in a state."""
    timing = timing_of(system)
    duration = timing.durations.get(firing.transition.duration or "")
    if duration is None:
        return firing, 0, 0, 0 if firing.is_progress else math.inf
    values = {name: q.seconds(state, firing) for name, q in timing.quantities.items()}

    def total(bound: Bound) -> float:
        return bound.seconds + sum(k * values[n] for n, k in bound.times.items())

    most = math.inf if duration.most is None else total(duration.most)
    return firing, 0, int(total(duration.least)), most


def timing_of(system: System) -> Timing:
    assert system.timing is not None
    return system.timing


@frozen
class Moment:
    """A state at a time. held: for how long that has been so from which the least of an instance
    counts. ages: since when each client that waits has got nothing. asked: since when
    each waits at all, and whether that can be as long ago as one likes; first: the same when it got
    something. begun: somebody has waited. idle: nothing need have happened for as long as one
    likes; lost: and somebody waited. fresh: something has just happened.
    """

    state: Any
    clocks: tuple[Clock, ...]
    held: tuple[tuple[Firing, int], ...]
    ages: tuple[int | None, ...]
    asked: tuple[tuple[int, bool] | None, ...] = ()
    first: tuple[tuple[int, bool] | None, ...] = ()
    stall: int = 0
    tags: tuple[str, ...] = ()
    faults: int = 0
    costs: tuple[float, float, float] = field(default=(0.0, 0.0, 0.0))
    total: int = 0
    begun: bool = False
    idle: bool = False
    lost: bool = False
    fresh: bool = True

    @property
    def is_endless(self) -> bool:
        return all(most == math.inf for *_, most in self.clocks)


def first_moment(system: System) -> Moment:
    state, waits = system.initial, timing_of(system).waiting(system.initial)
    clocks = tuple(clock(system, state, firing) for firing, _ in successors(system, state))
    asked = tuple((0, False) if waiting else None for waiting in waits)
    ages = tuple(0 if waiting else None for waiting in waits)
    nobody = tuple(None for _ in waits)
    held = tuple((firing, 0) for firing in held_in(system, state))
    return Moment(state, clocks, held, ages, asked, nobody, begun=any(waits))


def held_in(system: System, state: Any) -> Iterator[Firing]:
    """The instances of which that is so in a state which their least counts from."""
    durations = timing_of(system).durations
    for firing in system.firings():
        duration = durations.get(firing.transition.duration or "")
        if duration is not None and duration.since is not None and duration.since(state, firing):
            yield firing


def may_fire(system: System, now: Moment, firing: Firing, age: int, least: int) -> bool:
    """Whether the least of an instance has passed."""
    duration = timing_of(system).durations.get(firing.transition.duration or "")
    held = duration is not None and duration.since is not None
    return (dict(now.held)[firing] if held else age) >= least


def a_second_later(now: Moment, most_age: int) -> Iterator[Moment]:
    """The same state, where nothing must have happened by then."""
    if all(age < most for _, age, _, most in now.clocks):
        yield evolve(
            now,
            clocks=tuple(
                (f, min(age + 1, least) if most == math.inf else age + 1, least, most)
                for f, age, least, most in now.clocks
            ),
            held=tuple((f, min(age + 1, OLD)) for f, age in now.held),
            ages=tuple(None if age is None else min(age + 1, most_age) for age in now.ages),
            asked=tuple(a and (a[0] + 1, a[1]) for a in now.asked),
            total=now.total + 1 if now.begun else 0,
            fresh=False,
        )


def fired(system: System, now: Moment) -> Iterator[Moment]:
    """Whatever can happen at once."""
    timing, before = timing_of(system), now.state
    for firing, age, least, _ in now.clocks:
        if not may_fire(system, now, firing, age, least):
            continue
        after = firing.apply(system, before)
        assert after is not None
        running = {(one[0], *one[2:]): one for one in now.clocks if one[0] != firing}
        anew = [clock(system, after, f) for f, _ in successors(system, after)]
        waits, seen = timing.waiting(after), zip(timing.seen(before), timing.seen(after))  # noqa: B905
        waited, same = timing.waiting(before), [old == new for old, new in seen]
        tags, charge = now.tags, timing.charge(before, firing, after)
        for tag in timing.tags(before, firing, after):
            tags = tags if tags[-1:] == (tag,) else (*tags, tag)
        numbers = range(len(waits))
        yield evolve(
            now,
            state=after,
            clocks=tuple(running.get((one[0], *one[2:]), one) for one in anew),
            held=tuple(
                (f, 0 if f == firing else dict(now.held).get(f, 0)) for f in held_in(system, after)
            ),
            ages=tuple(
                (now.ages[n] if waited[n] and same[n] else 0) if waits[n] else None for n in numbers
            ),
            asked=tuple(now.asked[n] or ((0, False) if waits[n] else None) for n in numbers),
            first=tuple(
                now.first[n] or (now.asked[n] if not same[n] or waited[n] > waits[n] else None)
                for n in numbers
            ),
            tags=tags,
            faults=now.faults + (firing.transition.kind is Kind.FAULT),
            costs=(
                now.costs[0] + charge.bytes_moved,
                now.costs[1] + charge.tokens_recomputed,
                now.costs[2] + charge.joules,
            ),
            begun=now.begun or any(waits),
            fresh=True,
        )


def states_and_stall(system: System, most_age: int = 60) -> tuple[set[Any], float]:
    """Every state that is reached, and the worst stall of any client (inf: at least most_age)."""
    start = first_moment(system)
    order = [evolve(start, asked=(), first=())]
    known, worst = set(order), 0
    for now in order:
        worst = max([worst, *(age for age in now.ages if age is not None)])
        for later in (*a_second_later(now, most_age), *_bare(system, now)):
            bare = evolve(later, total=0, fresh=True)
            if bare not in known:
                known.add(bare)
                order.append(bare)
    return {now.state for now in order}, worst if worst < most_age else math.inf


def _bare(system: System, now: Moment) -> Iterator[Moment]:
    """What can happen at once, with nothing remembered but what decides what is possible."""
    nobody = tuple(None for _ in now.ages)
    for after in fired(system, evolve(now, asked=nobody, first=nobody)):
        yield Moment(after.state, after.clocks, after.held, after.ages)


def paths(
    system: System, most_time: int = 40, most: int = 3_000
) -> dict[tuple[str, ...], Measures] | None:
    """What the runs with each sequence of tags take; None where there are too many moments."""
    found: dict[tuple[str, ...], Measures] = {}
    order = [first_moment(system)]
    known = set(order)
    for reached in order:
        if len(order) > most:
            return None
        waits = timing_of(system).waiting(reached.state)
        over = reached.begun and not any(waits) and _is_done(system, reached.state)
        endless = reached.begun and not over and reached.is_endless
        now = evolve(
            reached,
            stall=max([reached.stall, *(age for age in reached.ages if age is not None)]),
            lost=reached.lost or (endless and any(waits)),
        )
        if over or (endless and (any(waits) or reached.fresh)):
            _note(found.setdefault(now.tags, {}), now)
        if endless:
            now = evolve(now, idle=True, asked=tuple(a and (a[0], True) for a in now.asked))
        if now.total > most_time and not over and not now.idle:
            return None
        if not over and now.total <= most_time:
            for later in (*a_second_later(now, most_time), *fired(system, now)):
                if later not in known:
                    known.add(later)
                    order.append(later)
    return found


def _is_done(system: System, state: Any) -> bool:
    """Whether no state that can follow has anything new for a client."""
    timing, order = timing_of(system), [state]
    told = timing.seen(state), timing.waiting(state)
    for each in order:
        for _, after in successors(system, each):
            if (timing.seen(after), timing.waiting(after)) != told:
                return False
            if after not in order:
                order.append(after)
    return True


def _note(measures: Measures, now: Moment) -> None:
    got = [first for first in now.first if first is not None]
    new: list[tuple[str, float]] = [("faults", now.faults), ("stall", now.stall)]
    new += [("total", now.total), *(("first", age) for age, _ in got)]
    new += list(zip(("bytes", "tokens", "joules"), now.costs, strict=True))
    new += [("first", math.inf) for _, is_endless in got if is_endless]
    new += [("total", math.inf)] if now.idle or now.lost else []
    new += [("stall", math.inf)] if now.lost else []
    for name, value in new:
        least, most = measures.get(name, (value, value))
        measures[name] = (min(least, value), max(most, value))
