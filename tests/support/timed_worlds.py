"""Small worlds with times: by hand, and random ones; and the slow explorer they are compared with.

A random world is a handful of flags that steps, timers and faults turn on and off; durations are
small whole seconds, so that runs whose steps are at whole seconds show all there is (bounds are
closed, and what is reached at all is reached at whole times).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import Enum
from typing import Any

from attrs import evolve as with_changes

from rackproof.model.kernel import (
    Bound,
    Charge,
    Duration,
    Firing,
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


# A watchdog and slow tokens: these take from `fast` to `slow`, it gives up after `limit`.


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


# Two timers that race, and a fault that nobody owes.


@frozen
class Raced:
    left: bool = False
    right: bool = False
    broken: bool = False


@transition(timer, duration="left")
def left(world: Raced) -> Raced | None:
    """The left timer goes off."""
    return None if world.left else evolve(world, left=True)


@transition(timer, duration="right")
def right(world: Raced) -> Raced | None:
    """The right timer goes off."""
    return None if world.right else evolve(world, right=True)


@transition(fault)
def break_down(world: Raced) -> Raced | None:
    """It breaks."""
    return None if world.broken else evolve(world, broken=True)


def racing(left_s: float, right_s: float) -> System:
    """Two timers; whoever waits, waits for both or for the fault."""
    return System(
        "racing",
        Raced(),
        (left, right, break_down),
        timing=Timing(
            quantities={
                "left": Quantity("left", "", left_s, chosen=True),
                "right": Quantity("right", "", right_s, chosen=True),
            },
            durations={"left": of("left"), "right": of("right")},
            seen=lambda w: (w.left + w.right,),
            waiting=lambda w: (not (w.left and w.right),),
            clients=("user",),
            charge=lambda _b, f, _a: Charge(joules=2.5 if f.transition is left else 0.0),
            tags=lambda _b, f, _a: ("broken",) if f.transition is break_down else (),
        ),
    )


def waiting_for_ever(system: System) -> System:
    """The same world, in which the client waits for what never comes."""
    assert system.timing is not None
    return with_changes(system, timing=with_changes(system.timing, waiting=lambda _: (True,)))


# A heart that beats for ever, and a client that waits for something else, or for nothing.


@frozen
class Beating:
    up: bool = False
    stopped: bool = False


@transition(timer, duration="beat")
def beat(world: Beating) -> Beating | None:
    """The heart beats."""
    return None if world.up or world.stopped else evolve(world, up=True)


@transition(step, duration="tire")
def tire(world: Beating) -> Beating | None:
    """It rests."""
    return evolve(world, up=False) if world.up and not world.stopped else None


@transition(timer, duration="stop")
def stop(world: Beating) -> Beating | None:
    """The client is sent away."""
    return None if world.stopped else evolve(world, stopped=True)


def heartbeat(low_s: float, high_s: float, stop_s: float | None = None) -> System:
    """Beats every ``low_s`` to ``high_s`` seconds and rests for 1 s; somebody waits until it stops,
    if it does.
    """
    return System(
        "heartbeat",
        Beating(),
        (beat, tire) if stop_s is None else (beat, tire, stop),
        timing=Timing(
            quantities={},
            durations={
                "beat": constant("beat", low_s, high_s),
                "tire": constant("tire", 1, 1),
                "stop": constant("stop", stop_s or 0, stop_s),
            },
            seen=lambda _: (0,),
            waiting=lambda w: (not w.stopped,),
            clients=("patient",),
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


def _growing(value: int, grows: int) -> Callable[[Any, Any], float]:
    """A time that is longer once the client has got something."""
    return lambda world, _: float(value + (grows if world.got else 0))


def _since(item: Any, flag: int) -> Callable[[Any, Firing], bool]:
    """So where the transition is possible, and where a flag is on."""
    return lambda world, _: bool(world.flags[flag] or item.function(world) not in (None, world))


def random_timed(seed: int, most: int = 4, growing: bool = True) -> System:
    """The world of a seed: three to five transitions over three flags, durations up to ``most``.

    growing: some of these are longer once the client has got something.
    """
    chance = random.Random(seed)
    flags = 3
    steps = [_random_transition(chance, n, flags) for n in range(chance.randint(3, 5))]
    quantities, durations = {}, {}
    for number, item in enumerate(steps):
        low = chance.randint(0, most)
        high = chance.randint(low, most)
        grows = chance.choice((0, 0, 0, 1, 2)) if growing else 0
        for name, value in ((f"low{number}", low), (f"high{number}", high)):
            own = _growing(value, grows) if grows else float(value)
            quantities[name] = Quantity(name, "", own, chosen=chance.random() < 0.6)
        unbounded = item.kind is Kind.FAULT or chance.random() < 0.1
        durations[f"d{number}"] = Duration(
            f"d{number}",
            "",
            Bound(0.0, {f"low{number}": 1.0}) if chance.random() < 0.8 else Bound(),
            None if unbounded else Bound(0.0, {f"high{number}": 1.0}),
            _since(item, chance.randrange(flags)) if chance.random() < 0.3 and not grows else None,
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
            tags=lambda _b, f, _a: (f.transition.name,) if f.transition in told else (),
        ),
    )
