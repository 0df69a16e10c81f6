"""Small worlds with known state counts, each there for a kind of field or of Python.

``WORLDS`` maps a name to (system, reachable states, states up to symmetry). The counts are asserted
by the tests, from a naive breadth-first search over the plain functions and from every engine.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    at_rest,
    bounded,
    each,
    environment,
    evolve,
    fault,
    fixed,
    frozen,
    identifier,
    members,
    owner,
    put,
    sometimes,
    step,
    timer,
    transition,
)

Workers = Identifiers("worker")
Requests = Identifiers("request")
Trays = Identifiers("tray")
Attempts = Identifiers("attempt", ordered=True)


def _lease() -> System:
    path = Path(__file__).parents[2] / "docs" / "examples" / "lease.py"
    spec = importlib.util.spec_from_file_location("lease", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    world: System = module.world
    return world


# A counter with arithmetic, min and max, and a bound that is a size.


@frozen
class Counters:
    low: int = bounded(0, "top")
    high: int = bounded(0, "top")
    even: bool = True


@transition(step)
def raise_high(world: Counters) -> Counters | None:
    """The high counter goes up."""
    if world.high - world.low >= 3:
        return None
    high = min(world.high + 1, 7)
    return evolve(world, high=high, even=(high % 2 == 0))


@transition(step)
def raise_low(world: Counters) -> Counters | None:
    """The low counter follows, by two where it can."""
    if world.low >= world.high:
        return None
    return evolve(world, low=min(world.low + 2, world.high))


@transition(fault)
def reset(world: Counters) -> Counters | None:
    """Both start again, once they are equal and odd."""
    return (
        evolve(world, low=0, high=0, even=True)
        if world.low == world.high and not world.even
        else None
    )


@always()
def ordered(world: Counters) -> bool:
    """Low never passes high."""
    return world.low <= world.high


@always()
def never_six(world: Counters) -> bool:
    """The high counter never is six while the low one is three."""
    return not (world.high == 6 and world.low == 3)


def _counters() -> System:
    return System(
        "counters",
        Counters(),
        (raise_high, raise_low, reset),
        (ordered, never_six),
        sizes={"top": 7},
    )


# Workers in lanes, requests that name them, sets, tuples indexed by a field.


class Health(Enum):
    UP = "up"
    HUNG = "hung"
    DOWN = "down"

    @property
    def answers(self) -> bool:
        return self == Health.UP


class Phase(Enum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@frozen
class Worker:
    health: Health = Health.UP


@frozen
class Request:
    phase: Phase = Phase.QUEUED
    worker: int | None = identifier(Workers)
    tried: frozenset[int] = members(Workers)


@frozen
class Pool:
    workers: tuple[Worker, ...] = each(Workers)
    requests: tuple[Request, ...] = each(Requests)
    crashes_left: int = bounded(0, 3, initial=1)


@transition(step, request=Requests, worker=Workers)
def dispatch(world: Pool, request: int, worker: int) -> Pool | None:
    """{request} goes to {worker}."""
    item = world.requests[request]
    match item.phase:
        case Phase.QUEUED if worker not in item.tried:
            running = evolve(item, phase=Phase.RUNNING, worker=worker, tried=item.tried | {worker})
            return evolve(world, requests=put(world.requests, request, running))
        case _:
            return None


@transition(step, request=Requests)
def finish(world: Pool, request: int) -> Pool | None:
    """{request} gets its answer."""
    item = world.requests[request]
    if item.phase != Phase.RUNNING or not world.workers[item.worker].health.answers:
        return None
    done = evolve(item, phase=Phase.DONE, worker=None)
    return evolve(world, requests=put(world.requests, request, done))


@transition(timer, request=Requests)
def give_up(world: Pool, request: int) -> Pool | None:
    """{request} notices that its worker is gone, and is queued again or fails."""
    item = world.requests[request]
    if item.phase != Phase.RUNNING or world.workers[item.worker].health != Health.DOWN:
        return None
    phase = Phase.FAILED if len(item.tried) == len(world.workers) else Phase.QUEUED
    return evolve(
        world, requests=put(world.requests, request, evolve(item, phase=phase, worker=None))
    )


@transition(fault, worker=Workers)
def crash(world: Pool, worker: int) -> Pool | None:
    """{worker} dies."""
    if world.workers[worker].health == Health.DOWN or not world.crashes_left:
        return None
    dead = evolve(world.workers[worker], health=Health.DOWN)
    return evolve(
        world,
        workers=put(world.workers, worker, dead),
        crashes_left=world.crashes_left - 1,
    )


@transition(fault, worker=Workers)
def hang(world: Pool, worker: int) -> Pool | None:
    """{worker} freezes."""
    if world.workers[worker].health != Health.UP or not world.crashes_left:
        return None
    frozen_ = evolve(world.workers[worker], health=Health.HUNG)
    return evolve(
        world,
        workers=put(world.workers, worker, frozen_),
        crashes_left=world.crashes_left - 1,
    )


@sometimes()
def somebody_failed(world: Pool) -> bool:
    """A request failed."""
    return any(item.phase == Phase.FAILED for item in world.requests)


@at_rest(request=Requests)
def answered(world: Pool, request: int) -> bool:
    """At rest every request is done or failed."""
    return world.requests[request].phase in (Phase.DONE, Phase.FAILED)


@always(request=Requests, premise=somebody_failed)
def fails_last(world: Pool, request: int) -> bool:
    """A request fails only when it tried every worker."""
    item = world.requests[request]
    return item.phase != Phase.FAILED or len(item.tried) == len(world.workers)


def pool(workers: int, requests: int, crashes: int) -> System:
    """Requests over a pool of workers."""
    return System(
        f"pool-{workers}-{requests}-{crashes}",
        Pool(
            workers=tuple(Worker() for _ in range(workers)),
            requests=tuple(Request() for _ in range(requests)),
            crashes_left=crashes,
        ),
        (dispatch, finish, give_up, crash, hang),
        (answered, fails_last),
    )


# Trays: identifiers that are exchanged together with what lies on them.


@frozen
class Placed:
    tray: int = owner(Trays)
    up: bool = True
    load: int = bounded(0, 2)


@frozen
class Rack:
    powered: tuple[bool, ...] = each(Trays)
    placed: tuple[Placed, ...] = each(Workers)


@transition(fault, tray=Trays)
def tray_loss(world: Rack, tray: int) -> Rack | None:
    """{tray} goes, and every worker on it."""
    if not world.powered[tray]:
        return None
    placed = tuple(evolve(w, up=False, load=0) if w.tray == tray else w for w in world.placed)
    return evolve(world, powered=put(world.powered, tray, False), placed=placed)


@transition(step, worker=Workers)
def load(world: Rack, worker: int) -> Rack | None:
    """{worker} takes work."""
    lane = world.placed[worker]
    if not lane.up or lane.load == 2:
        return None
    return evolve(world, placed=put(world.placed, worker, evolve(lane, load=lane.load + 1)))


@always()
def half_lives(world: Rack) -> bool:
    """Not every worker is down."""
    return any(lane.up for lane in world.placed)


def trays(count: int, workers_each: int) -> System:
    """Trays with workers on them."""
    homes = [t for t in range(count) for _ in range(workers_each)]
    bundles = tuple(
        ((Trays, t), *((Workers, w) for w, home in enumerate(homes) if home == t))
        for t in range(count)
    )
    return System(
        f"trays-{count}-{workers_each}",
        Rack(
            powered=tuple(True for _ in range(count)),
            placed=tuple(Placed(tray=home) for home in homes),
        ),
        (tray_loss, load),
        (half_lives,),
        interchangeable=(bundles,),
    )


# Workers that name each other, which entangles the lanes.


@frozen
class Peer:
    copy: int | None = identifier(Workers)
    has: bool = False


@frozen
class Ring:
    peers: tuple[Peer, ...] = each(Workers)
    lost: int = bounded(0, 1)


@transition(step, source=Workers, target=Workers)
def replicate(world: Ring, source: int, target: int) -> Ring | None:
    """{source} writes a replica on {target}."""
    here = world.peers[source]
    if source == target or here.copy != None or not here.has:
        return None
    peers = put(world.peers, source, evolve(here, copy=target))
    return evolve(world, peers=put(peers, target, evolve(peers[target], has=True)))


@transition(environment, worker=Workers)
def write(world: Ring, worker: int) -> Ring | None:
    """The first KV block is written on {worker}."""
    if any(peer.has for peer in world.peers) or world.lost:
        return None
    return evolve(world, peers=put(world.peers, worker, evolve(world.peers[worker], has=True)))


@transition(fault, worker=Workers)
def lose(world: Ring, worker: int) -> Ring | None:
    """{worker} loses its memory."""
    here = world.peers[worker]
    if not here.has or world.lost:
        return None
    return evolve(world, peers=put(world.peers, worker, evolve(here, has=False, copy=None)), lost=1)


@always()
def still_somewhere(world: Ring) -> bool:
    """What was written is held by somebody."""
    return not world.lost or any(peer.has for peer in world.peers)


def ring(count: int) -> System:
    """Workers that hold replicas for each other."""
    return System(
        f"ring-{count}",
        Ring(peers=tuple(Peer() for _ in range(count))),
        (replicate, write, lose),
        (still_somewhere,),
    )


# Attempts in order, a constant, and wide lanes that need more than one word.


@frozen
class Try:
    sent: int = bounded(0, "tokens")
    broken: bool = False


@frozen
class Stream:
    tries: tuple[Try, ...] = each(Attempts)
    current: int | None = identifier(Attempts)
    delivered: int = bounded(0, "tokens")
    replays: bool = fixed()
    doubled: bool = False


@transition(step)
def attempt(world: Stream) -> Stream | None:
    """The next attempt starts."""
    if world.current == None:
        return evolve(world, current=0)
    if not world.tries[world.current].broken or world.current == len(world.tries) - 1:
        return None
    following = world.current + 1
    start = world.delivered if world.replays else 0
    tries = put(world.tries, following, evolve(world.tries[following], sent=start))
    return evolve(world, current=following, tries=tries)


@transition(step)
def token(world: Stream) -> Stream | None:
    """The engine emits a token, and the client gets it."""
    if world.current == None:
        return None
    now = world.tries[world.current]
    if now.broken or now.sent == 3:
        return None
    tries = put(world.tries, world.current, evolve(now, sent=now.sent + 1))
    if now.sent < world.delivered:
        return evolve(world, tries=tries, doubled=True)
    return evolve(world, tries=tries, delivered=world.delivered + 1)


@transition(fault)
def disconnect(world: Stream) -> Stream | None:
    """The stream breaks."""
    if world.current == None or world.tries[world.current].broken:
        return None
    now = evolve(world.tries[world.current], broken=True)
    return evolve(world, tries=put(world.tries, world.current, now))


@always()
def no_duplicate(world: Stream) -> bool:
    """No token reaches the client twice."""
    return not world.doubled


def stream(attempts: int, replays: bool) -> System:
    """Attempts of one request."""
    return System(
        f"stream-{attempts}-{replays}",
        Stream(tries=tuple(Try() for _ in range(attempts)), replays=replays),
        (attempt, token, disconnect),
        (no_duplicate,),
        sizes={"tokens": 3},
    )


WORLDS: dict[str, tuple[Callable[[], System], int, int]] = {
    "lease": (_lease, 29, 15),
    "counters": (_counters, 26, 26),
    "pool-2-1": (lambda: pool(2, 1, 1), 31, 16),
    "pool-3-2": (lambda: pool(3, 2, 2), 3154, 327),
    "pool-2-3": (lambda: pool(2, 3, 1), 1399, 174),
    "trays-2-2": (lambda: trays(2, 2), 100, 55),
    "trays-3-1": (lambda: trays(3, 1), 64, 20),
    "ring-3": (lambda: ring(3), 78, 19),
    "ring-4": (lambda: ring(4), 578, 37),
    "stream-3-restart": (lambda: stream(3, replays=False), 169, 169),
    "stream-3-replay": (lambda: stream(3, replays=True), 69, 69),
}


# Workers that take turns while others rest, fall and rise: what goes wrong does so very late.


@frozen
class Hand:
    rested: int = bounded(0, 2)
    mood: int = bounded(0, 2, initial=1)
    up: bool = True


@frozen
class Shift:
    hands: tuple[Hand, ...] = each(Workers)
    turn: int = owner(Workers)
    stage: int = bounded(0, 2)
    laps: int = bounded(0, "laps")
    faults_left: int = bounded(0, "faults", initial=2)


@transition(step, worker=Workers)
def work(world: Shift, worker: int) -> Shift | None:
    """{worker} does a piece of the work of its turn."""
    hand = world.hands[worker]
    if world.turn != worker or not hand.up or world.stage == 2 or hand.rested == 0:
        return None
    hands = put(world.hands, worker, evolve(hand, rested=hand.rested - 1))
    return evolve(world, hands=hands, stage=world.stage + 1)


@transition(step, worker=Workers)
def hand_over(world: Shift, worker: int) -> Shift | None:
    """{worker} is done with its turn; after the last one's a lap is over."""
    sulks = world.hands[worker].mood == 0
    if world.turn != worker or world.stage != 2 or world.laps == 7 or sulks:
        return None
    if worker == len(world.hands) - 1:
        return evolve(world, turn=0, stage=0, laps=world.laps + 1)
    return evolve(world, turn=worker + 1, stage=0)


@transition(environment, worker=Workers)
def rest(world: Shift, worker: int) -> Shift | None:
    """{worker} rests."""
    hand = world.hands[worker]
    if world.turn != worker or hand.rested == 2 or not hand.up:
        return None
    return evolve(world, hands=put(world.hands, worker, evolve(hand, rested=2)))


@transition(environment, worker=Workers)
def cheer(world: Shift, worker: int) -> Shift | None:
    """{worker} is in a better mood, until it turns."""
    hand = world.hands[worker]
    if not hand.up:
        return None
    cheered = evolve(hand, mood=(hand.mood + 1 if hand.mood < 2 else 0))
    return evolve(world, hands=put(world.hands, worker, cheered))


@transition(fault, worker=Workers)
def fall(world: Shift, worker: int) -> Shift | None:
    """{worker} falls; what is done of its turn is lost."""
    if not world.hands[worker].up or not world.faults_left:
        return None
    fallen = evolve(
        world,
        hands=put(world.hands, worker, Hand(up=False)),
        faults_left=world.faults_left - 1,
    )
    return evolve(fallen, stage=0) if world.turn == worker else fallen


@transition(timer, worker=Workers)
def rise(world: Shift, worker: int) -> Shift | None:
    """{worker} is up again, and somewhat rested."""
    if world.hands[worker].up:
        return None
    return evolve(world, hands=put(world.hands, worker, Hand(rested=1, mood=0)))


@always()
def unfinished(world: Shift) -> bool:
    """There is always a lap left."""
    return world.laps < 5


@sometimes()
def all_down(world: Shift) -> bool:
    """The last lap begins while two are down."""
    return world.laps == 1 and sum(not hand.up for hand in world.hands) == 2


def shift(workers: int) -> System:
    """Workers in turns: a turn takes two pieces of work, a rest and handing over."""
    return System(
        f"shift-{workers}",
        Shift(hands=tuple(Hand() for _ in range(workers)), turn=0),
        (work, hand_over, rest, cheer, fall, rise),
        (unfinished, all_down),
        sizes={"laps": 7, "faults": 2},
        interchangeable=(),
    )
