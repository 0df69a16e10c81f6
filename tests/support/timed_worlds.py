"""Small worlds with times: by hand, and random ones; and the slow explorer they are compared with.

A random world is a handful of flags that steps, timers and faults turn on and off; durations are
small whole seconds, so that runs whose steps are at whole seconds show all there is (bounds are
closed, and what is reached at all is reached at whole times).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import Enum
from typing import Any

from rackproof.model.kernel import (
    Bound,
    Charge,
    Duration,
    Identifiers,
    Kind,
    Quantity,
    System,
    Timing,
    always,
    at_rest,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    put,
    step,
    successors,
    timer,
    transition,
)

Flags = Identifiers("flag")


def constant(name: str, least: float, most: float | None) -> Duration:
    """A duration of so many seconds."""
    return Duration(name, "", Bound(least), None if most is None else Bound(most))


def of(name: str, most: bool = True) -> Duration:
    """A duration of just a quantity, or of at least it."""
    bound = Bound(0.0, {name: 1.0})
    return Duration(name, "", bound, bound if most else None)


# A lease and a read: the read takes between none and all of `read`, the lease ends after `lease`.


class Block(Enum):
    HELD = "held"
    FREED = "freed"
    REUSED = "reused"


@frozen
class Leased:
    block: Block = Block.HELD
    reading: bool = False
    is_read: bool = False


@transition(step, duration="start")
def start(world: Leased) -> Leased | None:
    """The reader starts."""
    return None if world.reading or world.is_read else evolve(world, reading=True)


@transition(step, duration="read")
def read(world: Leased) -> Leased | None:
    """The reader has read."""
    return evolve(world, reading=False, is_read=True) if world.reading else None


@transition(timer, duration="lease")
def expire(world: Leased) -> Leased | None:
    """The lease ends."""
    return evolve(world, block=Block.FREED) if world.block == Block.HELD else None


@transition(step, duration="reuse")
def reuse(world: Leased) -> Leased | None:
    """The block is written anew."""
    return evolve(world, block=Block.REUSED) if world.block == Block.FREED else None


@always()
def no_overwrite(world: Leased) -> bool:
    """Nobody reads a block that is written anew."""
    return not (world.reading and world.block == Block.REUSED)


def lease(read_s: float = 0.0003, lease_s: float = 30.0, reuse_s: float = 0.5) -> System:
    """A reader that starts within 2 s, and a lease on what it reads."""
    return System(
        "lease",
        Leased(),
        (start, read, expire, reuse),
        (no_overwrite,),
        timing=Timing(
            quantities={
                "read": Quantity("read", "a read", read_s, "measured"),
                "lease": Quantity("lease", "a lease", lease_s, "the default", chosen=True),
                "reuse": Quantity("reuse", "a write", reuse_s),
            },
            durations={
                "start": constant("start", 0.0, 2.0),
                "read": Duration("read", "", Bound(), Bound(0.0, {"read": 1.0})),
                "lease": of("lease"),
                "reuse": of("reuse"),
            },
            seen=lambda w: (w.is_read,),
            waiting=lambda w: (not w.is_read,),
            clients=("reader",),
        ),
    )


# A watchdog and a slow token: tokens take from `fast` to `slow`; the watchdog gives up after `limit`.


@frozen
class Watched:
    tokens: int = bounded(0, 3)
    gave_up: bool = False


@transition(step, duration="token")
def token(world: Watched) -> Watched | None:
    """A token comes."""
    return None if world.gave_up or world.tokens == 3 else evolve(world, tokens=world.tokens + 1)


@transition(timer, duration="watchdog")
def give_up(world: Watched) -> Watched | None:
    """The watchdog gives up."""
    return evolve(world, gave_up=True) if not world.gave_up and world.tokens < 3 else None


@at_rest()
def all_tokens(world: Watched) -> bool:
    """All tokens come."""
    return world.tokens == 3


def watchdog(fast: float, slow: float, limit: float) -> System:
    """Three tokens; the watchdog is not wound up by tokens but runs from the start."""
    return System(
        "watchdog",
        Watched(),
        (token, give_up),
        (all_tokens,),
        timing=Timing(
            quantities={
                "fast": Quantity("fast", "", fast),
                "slow": Quantity("slow", "", slow),
                "limit": Quantity("limit", "", limit, chosen=True),
            },
            durations={
                "token": Duration("token", "", Bound(0, {"fast": 1}), Bound(0, {"slow": 1})),
                "watchdog": of("limit"),
            },
            seen=lambda w: (w.tokens,),
            waiting=lambda w: (w.tokens < 3 and not w.gave_up,),
            clients=("user",),
        ),
    )


# Random worlds.


@frozen
class World:
    flags: tuple[bool, ...] = each(Flags)
    got: int = bounded(0, 3)
    faults_left: int = bounded(0, 2, initial=1)


def _random_transition(chance: random.Random, number: int, flags: int) -> Any:
    kind = chance.choice((Kind.STEP, Kind.STEP, Kind.TIMER, Kind.FAULT))
    needs = {i: chance.random() < 0.5 for i in chance.sample(range(flags), chance.randint(0, 2))}
    turned = {i: chance.random() < 0.5 for i in chance.sample(range(flags), chance.randint(1, 2))}
    gives = chance.random() < 0.4

    def fire(world: World) -> World | None:
        if any(world.flags[i] != on for i, on in needs.items()):
            return None
        if kind is Kind.FAULT:
            if not world.faults_left:
                return None
            world = evolve(world, faults_left=world.faults_left - 1)
        for i, on in turned.items():
            world = evolve(world, flags=put(world.flags, i, on))
        return evolve(world, got=world.got + 1) if gives and world.got < 3 else world

    fire.__name__ = f"fire_{number}"
    return transition(kind, duration=f"d{number}")(fire)


def random_timed(seed: int, most: int = 4) -> System:
    """The world of a seed: three to five transitions over three flags, durations up to ``most``."""
    chance = random.Random(seed)
    flags = 3
    steps = [_random_transition(chance, n, flags) for n in range(chance.randint(3, 5))]
    quantities, durations = {}, {}
    for number, item in enumerate(steps):
        low = chance.randint(0, most)
        high = chance.randint(low, most)
        for name, value in ((f"low{number}", low), (f"high{number}", high)):
            quantities[name] = Quantity(name, "", float(value), chosen=chance.random() < 0.6)
        unbounded = item.kind is Kind.FAULT or chance.random() < 0.1
        durations[f"d{number}"] = Duration(
            f"d{number}",
            "",
            Bound(0.0, {f"low{number}": 1.0}) if chance.random() < 0.8 else Bound(),
            None if unbounded else Bound(0.0, {f"high{number}": 1.0}),
        )
    target, two = chance.choice((1, 2, 3)), chance.random() < 0.3
    told = tuple(item for item in steps if item.kind is Kind.FAULT) or steps[:1]
    return System(
        f"timed-{seed}",
        World(flags=tuple(chance.random() < 0.4 for _ in range(flags)), got=0, faults_left=1),
        steps,
        (),
        timing=Timing(
            quantities,
            durations,
            seen=lambda w: (w.got, w.flags[0]),
            waiting=lambda w: (w.got < target, two and w.flags[1] and w.got < target),
            clients=("one", "two"),
            charge=lambda b, f, a: Charge(float(len(f.transition.name) + a.got), b.got, 0.25),
            tags=lambda b, f, a: (f.transition.name,) if f.transition in told else (),
        ),
    )


# The slow explorer: a state, the age of each instance that is possible, the age of what was seen.


def spans(system: System, state: Any, firing: Any) -> tuple[int, float]:
    """The least and the most of an instance, in whole seconds."""
    timing = system.timing
    assert timing is not None
    duration = timing.durations.get(firing.transition.duration or "")
    if duration is None:
        return 0, 0 if firing.is_progress else float("inf")
    values = {name: q.seconds(state, firing) for name, q in timing.quantities.items()}

    def total(bound: Bound) -> float:
        return bound.seconds + sum(k * values[n] for n, k in bound.times.items())

    most = float("inf") if duration.most is None else total(duration.most)
    return int(total(duration.least)), most


def by_ticks(system: System, most_age: int = 60) -> tuple[set[Any], float]:
    """Every state that is reached at whole times, and the worst stall of any client (inf: no end).

    Ages count up to the least of what has no bound above; a stall of ``most_age`` counts as endless.
    """
    timing = system.timing
    assert timing is not None
    seen, waiting = timing.seen, timing.waiting
    possible = {f: spans(system, system.initial, f) for f, _ in successors(system, system.initial)}
    start = (
        system.initial,
        tuple((f, 0, *span) for f, span in possible.items()),
        tuple(0 if w else None for w in waiting(system.initial)),
    )
    known, order, worst = {start}, [start], 0.0
    for node in order:
        state, clocks, ages = node
        worst = max([worst, *(age for age in ages if age is not None)])
        following = [(state, *later) for later in _ticked(clocks, ages, most_age)]
        for firing, age, least, _ in clocks:
            if age >= least:
                after = firing.apply(system, state)
                assert after is not None
                running = {c[0]: c for c in clocks if c[0] != firing}
                clocks_after = tuple(
                    running.get(f, (f, 0, *spans(system, after, f)))
                    for f, _ in successors(system, after)
                )
                same = (a == b for a, b in zip(seen(state), seen(after), strict=True))
                kept = zip(waiting(after), waiting(state), same, ages, strict=True)
                ages_after = tuple(
                    None if not waits else old if waited and alike else 0
                    for waits, waited, alike, old in kept
                )
                following.append((after, clocks_after, ages_after))
        for further in following:
            if further not in known:
                known.add(further)
                order.append(further)
    return {state for state, _, _ in order}, worst if worst < most_age else float("inf")


def _ticked(clocks: Any, ages: Any, most_age: int) -> Iterator[Any]:
    """One second later, where nothing must have happened by then."""
    if all(age < most for _, age, _, most in clocks):
        yield (
            tuple(
                (f, min(age + 1, least) if most == float("inf") else age + 1, least, most)
                for f, age, least, most in clocks
            ),
            tuple(None if age is None else min(age + 1, most_age) for age in ages),
        )


def paths_by_ticks(system: System, most_time: int = 40) -> dict[Any, dict[str, list[Any]]] | None:
    """What the class of paths of each sequence of tags takes, by trying every whole time; None where
    that is too much.

    By tags: for each measure its least and its most (``stall``: its most), inf without end.
    """
    timing = system.timing
    assert timing is not None
    found: dict[Any, dict[str, list[Any]]] = {}
    begun = any(timing.waiting(system.initial))
    clocks = tuple(
        (f, 0, *spans(system, system.initial, f)) for f, _ in successors(system, system.initial)
    )
    nobody = tuple(None for _ in timing.waiting(system.initial))
    ages = tuple(0 if w else None for w in timing.waiting(system.initial))
    asked = ages if begun else nobody
    asked = tuple(a if a is None else (a, False) for a in asked)
    start = (system.initial, clocks, ages, asked, nobody, 0, (), 0, (0.0, 0.0, 0.0), 0, begun, False)
    known, order = {start}, [start]
    for node in order:
        if len(order) > 4_000:
            return None
        state, clocks, ages, asked, first, stall, tags, faults, costs, total, begun, lost = node
        waits = timing.waiting(state)
        stall = max([stall, *(age for age in ages if age is not None)])
        over = begun and not any(waits)
        endless = begun and not over and all(most == float("inf") for *_, most in clocks)
        lost |= endless
        asked = tuple(a if a is None else (a[0], a[1] or endless) for a in asked)
        if over or endless:
            _note(found, tags, faults, first, stall, costs, total, lost)
        if total > most_time and not over and not lost:
            return None
        if over or total > most_time:
            continue
        following: list[Any] = []
        for later, older in _ticked(clocks, ages, most_time):
            older_asked = tuple(None if a is None else (a[0] + 1, a[1]) for a in asked)
            following.append(
                (state, later, older, older_asked, first, stall, tags, faults, costs)
                + (total + 1 if begun else 0, begun, lost)
            )
        for firing, age, least, _ in clocks:
            if age < least:
                continue
            after = firing.apply(system, state)
            assert after is not None
            running = {c[0]: c for c in clocks if c[0] != firing}
            clocks_after = tuple(
                running.get(f, (f, 0, *spans(system, after, f)))
                for f, _ in successors(system, after)
            )
            now = timing.waiting(after)
            same = [a == b for a, b in zip(timing.seen(state), timing.seen(after), strict=True)]
            ages_after = tuple(
                None if not n else old if w and alike else 0
                for n, w, alike, old in zip(now, waits, same, ages, strict=True)
            )
            asked_after = tuple(
                ((0, False) if n else None) if a is None else a
                for a, n in zip(asked, now, strict=True)
            )
            first_after = tuple(
                f if f is not None or alike or not w else a
                for f, alike, w, a in zip(first, same, waits, asked, strict=True)
            )
            told = tags
            for tag in timing.tags(state, firing, after):
                told = told if told[-1:] == (tag,) else (*told, tag)
            charge = timing.charge(state, firing, after)
            spent = (
                costs[0] + charge.bytes_moved,
                costs[1] + charge.tokens_recomputed,
                costs[2] + charge.joules,
            )
            more = faults + (firing.transition.kind is Kind.FAULT)
            following.append(
                (after, clocks_after, ages_after, asked_after, first_after, stall, told, more)
                + (spent, total, begun or any(now), lost)
            )
        for further in following:
            if further not in known:
                known.add(further)
                order.append(further)
    return found


def _note(
    found: Any, tags: Any, faults: int, first: Any, stall: int, costs: Any, total: int, lost: bool
) -> None:
    end = float("inf")
    kind = found.setdefault(tags, {})
    measures = [("faults", faults), ("stall", stall), ("total", total)]
    got = [value for value in first if value is not None]
    measures += [("first", value) for value, _ in got] + [("first", end) for _, late in got if late]
    measures += list(zip(("bytes", "tokens", "joules"), costs, strict=True))
    if lost:
        measures += [("total", end), ("stall", end)]
    for name, value in measures:
        low, high = kind.get(name, (value, value))
        kind[name] = (min(low, value), max(high, value))
