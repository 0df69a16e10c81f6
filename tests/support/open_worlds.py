"""Small worlds with parameters and supplies, right and with a mistake planted."""

from __future__ import annotations

from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    bounded,
    each,
    evolve,
    fault,
    frozen,
    identifier,
    parameter,
    put,
    step,
    supply,
    transition,
)

Attempts = Identifiers("attempt", ordered=True)


# A counter that a parameter bounds.


@frozen
class Climb:
    top: int = parameter(1, "height")
    slack: int = parameter(0, "height")
    at: int = bounded(0, "height")


@transition(step)
def climb(world: Climb) -> Climb | None:
    """One up."""
    return None if world.at >= world.top + world.slack else evolve(world, at=world.at + 1)


@transition(step)
def slide(world: Climb) -> Climb | None:
    """Down to the start."""
    return None if world.at != world.top else evolve(world, at=0)


@always()
def below(world: Climb) -> bool:
    """Never above the top."""
    return world.at <= world.top


def no_slack(world: Climb) -> bool:
    """What no climber may count on."""
    return world.slack == 0


def climbing(tight: bool, top: int = 2) -> System:
    """Where nothing says that there is no slack, the top is passed."""
    return System(
        "climbing",
        Climb(top=top, slack=0),
        (climb, slide),
        (below,),
        sizes={"height": top + 1},
        freedoms={"height": ("height",)},
        given=no_slack if tight else None,
    )


# One request, its retries, and what its client gets.


@frozen
class Call:
    """mistake: what is planted."""

    tokens: int = parameter(1, "length")
    most: int = parameter(1, "tries")
    crashes: int = supply("crashes")
    tries: int = bounded(0, "tries")
    running: bool = False
    sent: int = bounded(0, "length")
    got: int = bounded(0, "length")
    delivered: int = bounded(0, "length")
    doubled: bool = False
    replays: bool = True
    strict: bool = True


@transition(step)
def begin(world: Call) -> Call | None:
    """A worker takes the request, from where the client is."""
    left = world.tries < world.most if world.strict else world.tries <= world.most
    if world.running or not left:
        return None
    start = world.delivered if world.replays else 0
    return evolve(world, running=True, tries=world.tries + 1, sent=start, got=start)


@transition(step)
def emit(world: Call) -> Call | None:
    """It sends a token."""
    if not world.running or world.sent >= world.tokens:
        return None
    return evolve(world, sent=world.sent + 1)


@transition(step)
def receive(world: Call) -> Call | None:
    """The client gets one."""
    if not world.running or world.got >= world.sent:
        return None
    doubled = world.doubled | (world.got < world.delivered)
    world = evolve(world, doubled=doubled, got=world.got + 1)
    return world if world.got <= world.delivered else evolve(world, delivered=world.got)


@transition(fault)
def crash(world: Call) -> Call | None:
    """The worker dies."""
    if not world.crashes or not world.running:
        return None
    return evolve(world, crashes=world.crashes - 1, running=False)


@always()
def once(world: Call) -> bool:
    """No token comes twice."""
    return not world.doubled


@always()
def limited(world: Call) -> bool:
    """No more tries than there may be."""
    return world.tries <= world.most


def call(replays: bool = True, strict: bool = True, tokens: int = 2, most: int = 2) -> System:
    """The request; without replay, or with a try too many, where that is asked for."""

    def fresh(world: Call) -> bool:
        return (world.tries == 0) & (world.tokens >= 1)

    return System(
        "call",
        Call(tokens=tokens, most=most, crashes=2, replays=replays, strict=strict),
        (begin, emit, receive, crash),
        (once, limited),
        sizes={"length": tokens, "tries": most + 1, "crashes": 2},
        freedoms={"tokens": ("length",), "retries": ("tries",), "faults": ("crashes",)},
        given=fresh,
    )


# Attempts with a slot each: how many there are is no size that could be left open.


@frozen
class Slots:
    most: int = parameter(1, "tries")
    tries: int = bounded(0, "tries")
    current: int | None = identifier(Attempts)
    failed: tuple[bool, ...] = each(Attempts)


@transition(step)
def attempt(world: Slots) -> Slots | None:
    """The next attempt begins."""
    following = 0 if world.current == None else world.current + 1
    if world.tries >= world.most:
        return None
    return evolve(world, current=following, tries=world.tries + 1)


@transition(fault)
def fail(world: Slots) -> Slots | None:
    """It fails."""
    if world.current == None or world.failed[world.current]:
        return None
    return evolve(world, failed=put(world.failed, world.current, True))


@always()
def few(world: Slots) -> bool:
    """No more tries than there may be."""
    return world.tries <= world.most


def slots(count: int) -> System:
    """A retry limit above ``count`` needs an attempt that is not there."""
    return System(
        "slots",
        Slots(most=count, failed=(False,) * count),
        (attempt, fail),
        (few,),
        sizes={"tries": count},
        freedoms={"retries": ("tries",)},
    )
