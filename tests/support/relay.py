"""A small world with all that an explanation can tell of: times, costs, a rack, beliefs, a loop.

A router hands one request to workers that it takes for alive; a worker dies unseen, and the request
is handed to it. ``explained`` is that run with everything found out about it, by hand.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import networkx as nx
from attrs import evolve as with_changes

from rackproof.checker.explain import (
    Condition,
    Explanation,
    Footing,
    Mend,
    Moment,
    NearMiss,
    Pivot,
    Smallest,
)
from rackproof.checker.explain.explanation import Parting
from rackproof.checker.timing.possible import charges, possible
from rackproof.checker.trace import Trace, for_ever, run
from rackproof.model.kernel import (
    Belief,
    Bound,
    Charge,
    Duration,
    Fairness,
    Firing,
    Identifiers,
    Lane,
    Message,
    Picture,
    Quantity,
    Site,
    System,
    Timing,
    always,
    bounded,
    client,
    each,
    environment,
    eventually,
    evolve,
    fault,
    frozen,
    identifier,
    put,
    step,
    timer,
    transition,
)

Workers = Identifiers("worker")
TRAY = 2
"""Workers on a tray."""


@frozen
class World:
    alive: tuple[bool, ...] = each(Workers)
    listed: tuple[bool, ...] = each(Workers)
    holder: int | None = identifier(Workers)
    sent: int = bounded(0, "tokens")
    asked: bool = False
    load: bool = False


@transition(client)
def ask(world: World) -> World | None:
    """The client sends its request to the router."""
    return None if world.asked else evolve(world, asked=True)


@transition(step, fairness=Fairness.NONE, duration="hop", worker=Workers)
def send(world: World, worker: int) -> World | None:
    """The router hands the request to {worker}, which it takes for alive."""
    free = world.asked and world.listed[worker] and world.holder != worker
    return evolve(world, holder=worker) if free else None


@transition(step, duration="decode", worker=Workers)
def emit(world: World, worker: int) -> World | None:
    """{worker} emits a token, and the client gets it."""
    if world.holder != worker or not world.alive[worker]:
        return None
    return evolve(world, sent=world.sent + 1)


@transition(fault, worker=Workers)
def crash(world: World, worker: int) -> World | None:
    """{worker} crashes: its KV blocks are gone, and nobody is told."""
    return evolve(world, alive=put(world.alive, worker, False))


@transition(timer, duration="lease", worker=Workers)
def expire(world: World, worker: int) -> World | None:
    """The lease of {worker} ends: discovery takes it off the list."""
    return evolve(world, listed=put(world.listed, worker, world.alive[worker]))


@transition(environment)
def shift(world: World) -> World:
    """The load of the cluster changes."""
    return evolve(world, load=not world.load)


@always()
def request_with_the_living(world: World) -> bool:
    """A request is only ever handed to a worker that is alive."""
    return world.holder == None or world.alive[world.holder]


@eventually()
def request_is_answered(world: World) -> bool:
    """Again and again, the client has got its answer."""
    return world.sent > 0


LIVING = with_changes(
    request_with_the_living,
    why="Whoever waits for a dead worker waits until a time-out ends it.",
    catches=("https://example.org/issues/1",),
)


def system(count: int = 2, tokens: int = 3, names: Sequence[str] = ()) -> System:
    """The world with so many workers; names: what they are called."""
    names = names or [f"worker-{index}" for index in range(count)]
    return System(
        "relay",
        World(
            alive=(True,) * count,
            listed=(True,) * count,
        ),
        (ask, send, emit, crash, expire, shift),
        (LIVING, request_is_answered),
        {"tokens": tokens, "worker": count},
        {Workers: names},
        timing=_timing(),
        picture=_picture(names),
    )


def _timing() -> Timing:
    return Timing(
        {
            "hop": Quantity("hop", "a message", 0.0005),
            "step": Quantity("step", "a step", 0.02),
            "ttl": Quantity("ttl", "the TTL of a lease", 10.0, "a default", chosen=True),
        },
        {
            "hop": Duration("hop", "", Bound(0, {"hop": 1})),
            "decode": Duration("decode", "", Bound(0, {"step": 1})),
            "lease": Duration("lease", "", Bound(0, {"ttl": 1})),
        },
        seen=lambda world: (world.sent,),
        waiting=lambda world: (world.asked,),
        clients=("client",),
        charge=_charge,
    )


def _charge(before: World, firing: Firing, after: World) -> Charge:
    if firing.transition.name == "send":
        again = 3_000.0 if before.holder != None and after.holder != None else 0.0
        return Charge(bytes_moved=983e6, tokens_recomputed=again, joules=12.5)
    return Charge(joules=0.25) if firing.transition.name == "emit" else Charge()


def _picture(names: Sequence[str]) -> Picture:
    lanes = [Lane("client", "client"), Lane("router", "router")]
    lanes += [Lane(name, "worker") for name in names]
    graph: nx.Graph[str] = nx.Graph()
    graph.add_node("rack", kind="rack")
    for index, name in enumerate(names):
        tray = f"tray-{index // TRAY}"
        graph.add_node(tray, kind="tray", on="rack")
        graph.add_node(name, kind="worker", on=tray)
    graph.add_node("tray-spare", kind="tray", on="rack")

    def message(_before: World, firing: Firing, _after: World) -> Message:
        worker = names[firing.arguments[0]] if firing.arguments else ""
        return {
            "ask": Message("client", "router"),
            "send": Message("router", worker),
            "emit": Message(worker, "client"),
            "shift": Message("router", "router"),
        }.get(firing.transition.name, Message(worker, worker))

    def beliefs(world: World) -> Iterator[Belief]:
        for name, alive, listed in zip(names, world.alive, world.listed, strict=True):
            told = ["is dead", "is alive"]
            yield Belief("router", name, told[listed], told[alive], listed == alive)

    def sites(world: World) -> Mapping[str, Site]:
        found = {}
        for index, name in enumerate(names):
            alive, listed = world.alive[index], world.listed[index]
            busy = world.holder == index
            condition = "busy" if busy else "fine"
            if not alive:
                condition = "failed"
            words = ("holds the request",) if busy else ()
            found[name] = Site(condition, (*words, "in discovery" if listed else "not listed"))
        return found

    return Picture(tuple(lanes), message, lambda world: tuple(beliefs(world)), graph, sites)


def firing(name: str, *arguments: int) -> Firing:
    """A transition by its name, with its worker."""
    chosen = {t.name: t for t in (ask, send, emit, crash, expire, shift)}
    return Firing(chosen[name], arguments)


SHORT = (
    firing("ask"),
    firing("send", 0),
    firing("emit", 0),
    firing("shift"),
    firing("crash", 1),
    firing("send", 1),
)


def moments(trace: Trace, times: Iterable[Fraction]) -> tuple[Moment, ...]:
    """Its steps, with times, costs and beliefs; each depends on the one before."""
    drawn = trace.system.picture
    assert drawn is not None
    return tuple(
        Moment(
            number,
            step,
            drawn.message(step.before, step.firing, step.after),
            why=(Condition("asked is true", 1 if number > 1 else None),),
            causes=(number - 1,) if number > 1 else (),
            at=at,
            charge=charge,
            beliefs=tuple(drawn.beliefs(step.after)),
        )
        for number, (step, at, charge) in enumerate(
            zip(trace.steps, times, charges(trace), strict=False), 1
        )
    )


def bare(trace: Trace, title: str = "A run") -> Explanation:
    """A run with what is there of every run."""
    timing = possible(trace)
    assert timing is not None
    told = untimed(trace, title, timing.times)
    return with_changes(told, timing=timing)


def untimed(trace: Trace, title: str, times: Iterable[Fraction]) -> Explanation:
    """A run whose steps happen when they are said to."""
    drawn = trace.system.picture
    assert drawn is not None
    return Explanation(
        title,
        trace,
        moments(trace, times),
        drawn.lanes,
        Footing("rackproof verify relay.py:world"),
        LIVING,
        f"violated: {trace.faults} fault, {len(trace.steps)} steps",
    )


def explained(world: System | None = None) -> Explanation:
    """The run with everything that can be found out about it."""
    world = world or system()
    told = bare(run(world, SHORT), "A request is handed to a dead worker")
    marked = (
        with_changes(
            moment,
            matters=moment.number != 4,
            needed=moment.number in (1, 5, 6),
            why=(*moment.why, Condition("listed[1] is true")) if moment.number == 6 else moment.why,
        )
        for moment in told.moments
    )
    safe = run(world, (*SHORT[:5], firing("expire", 1), firing("emit", 0)))
    return with_changes(
        told,
        moments=tuple(marked),
        where="After step 6 it does not hold",
        reads=("holder", "alive[worker-1]"),
        failing=(Condition("holder is worker-1", 6), Condition("alive.worker-1 is false", 5)),
        enough=(1, 5, 6),
        necessity=("Steps 1, 5 and 6 lead there alone (3 of 6), and none can be left out.",),
        untold=("Whether it holds with three workers was not found out within 20 s.",),
        scope="2 workers, 3 tokens; faults: crash 1",
        source="https://example.org/issues/1",
        notes="Seen in a test under load.",
        pivot=Pivot(
            6,
            "At this step the lease could still have ended first.",
            ("The lease of worker-1 ends: discovery takes it off the list.",),
            ("health-check: false -> true",),
            6,
            (
                Parting(
                    6, "this step would not have been possible", ("health-check: false -> true",)
                ),
            ),
        ),
        near_miss=NearMiss(safe, 6, "The lease ends before the router hands the request on."),
        smallest=Smallest(
            "One fault is enough, and none is not.",
            {"crash": 1},
            ("tokens: 3 -> 1",),
            ("workers: with one there is nobody else to hand the request to",),
        ),
        mends=(
            Mend(("health-check: false -> true",), "It holds: all 96 states.", "the fix"),
            Mend(("ttl: 10 s -> 0 s",), "It holds.", "a least change", ("request-is-answered",)),
        ),
        footing=Footing(
            "rackproof verify relay.py:world",
            ("more than 2 workers",),
            ("rackproof verify relay.py:world --engine prove",),
        ),
    )


@functools.cache
def long(steps: int = 200, count: int = 30) -> Explanation:
    """A run of so many steps among so many workers; workers die all along."""
    firings = [firing("ask")]
    for number in range(steps - 1):
        worker = number // 4 % count
        name = ("send", "emit", "emit", "crash")[number % 4]
        dead = number // 4 >= count
        firings.append(firing("shift") if dead else firing(name, worker))
    times = (Fraction(number, 100) for number in itertools.count())
    return untimed(run(system(count, 2 * steps), firings), "A long run", times)


def endless() -> Explanation:
    """A run that goes on for ever: the request is with a dead worker, and nobody takes it back."""
    start = [firing("ask"), firing("send", 0), firing("crash", 0), firing("expire", 0)]
    trace = run(system(2), start)
    told = bare(for_ever(trace, [firing("shift"), firing("shift")]), "A request waits for ever")
    return with_changes(told, prop=request_is_answered)


def immediate() -> Explanation:
    """A violation in the initial state."""
    return with_changes(bare(run(system(), [])), prop=request_is_answered)


def doubled() -> Explanation:
    """The same run, in which the router believes two things of each worker."""
    told = explained()

    def twice(beliefs: Sequence[Belief]) -> tuple[Belief, ...]:
        more = (with_changes(b, believed="answers", truth=b.truth + " now") for b in beliefs)
        return (*beliefs, *more, *beliefs[:1])

    return with_changes(
        told,
        moments=tuple(with_changes(m, beliefs=twice(m.beliefs)) for m in told.moments),
    )


def replayed() -> Explanation:
    """A run that was written down, with a complaint."""
    return with_changes(
        bare(run(system(), SHORT[:3]), "A run from the field"),
        prop=None,
        verdict="",
        complaints=("relay.yaml:9: then: expected holder: worker-1, but it is worker-0",),
        facts=(("holder", "worker-0", False), ("sent", "1", True)),
    )


HOSTILE = (
    "<script>document.title='gone'</script>",
    "\"'><img src=x onerror=alert(1)>",
    "line\nbreak\x1b[31m\u202egnp.exe",
    "</script><!--{{ 7 * 7 }}",
)


def hostile() -> Explanation:
    """The same run with names that try to be something else."""
    told = explained(system(2, names=HOSTILE[:2]))
    return with_changes(
        told,
        title=HOSTILE[2],
        source="javascript:alert(1)",
        notes=HOSTILE[3],
        scope=HOSTILE[0],
        footing=Footing(HOSTILE[1], (HOSTILE[0],), (HOSTILE[3],)),
        reads=("holder",),
    )
