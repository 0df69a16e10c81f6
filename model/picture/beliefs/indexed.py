"""What the router's index has of the caches, and how the router stands to the engines."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rackproof.model.cache import Kind
from rackproof.model.endpoint import DEAD, Process
from rackproof.model.index import Lane, Reading, attach, detach, others, reading, resubscribe
from rackproof.model.kernel import Belief
from rackproof.model.picture.beliefs.soon import caught_up, held, index_gets_right
from rackproof.model.picture.cast import INDEX, ROUTER, Cast
from rackproof.model.picture.words import PROCESS, answers
from rackproof.model.protocol import AfterGap
from rackproof.model.sorts import Prefixes
from rackproof.model.world import World

_ENDED = {
    Process.STOPPED: "stopped",
    Process.DOWN: "crashed",
    Process.LOST: "was lost with its tray",
}


def of_index(cast: Cast, world: World) -> Iterator[Belief]:
    """What each cache is thought to hold, and whether events of it arrive."""
    if not world.prefixes:
        return
    for worker in range(len(world.known)):
        yield _entries(cast, world, worker)
        yield from _standing(cast, world, worker)
        yield from _restarts(cast, world, worker)
        yield from _question(cast, world, worker)
        yield from _answer(cast, world, worker)
        yield from _race(cast, world, worker)
        yield from _late(cast, world, worker)
    if world.router.early:
        believed, truth = "has heard from everybody", "serves before it has heard from everybody"
        yield Belief(ROUTER, ROUTER, believed, truth, False)


def _entries(cast: Cast, world: World, worker: int) -> Belief:
    """Whether a cache holds what the index says; behind, where events on their way mend that."""
    entered, process = world.known[worker].believed, world.endpoints[worker].process
    there, cached = held(world, worker), world.caches[worker].holds
    truth = f"holds {prefixes(there)}"
    if process in DEAD:
        had = f"held {prefixes(cached)} when it {_ENDED[process]}, and holds nothing now"
        truth = had if cached else f"holds nothing: it {PROCESS[process]}"
    fine = entered == there
    behind = not fine and index_gets_right(world, worker)
    believed = f"holds {prefixes(entered)}"
    return Belief(INDEX, cast.worker(worker), believed, truth, fine, behind)


def prefixes(held: Collection[int]) -> str:
    """Prefixes by their names."""
    return ", ".join(f"{Prefixes}-{prefix}" for prefix in sorted(held)) or "nothing"


def _standing(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether what the router waits for can come.

    Of a worker that ended and is still listed, discovery is to tell.
    """
    known, cache, name = world.known[worker], world.caches[worker], cast.worker(worker)
    endpoint = world.endpoints[worker]
    alive, told = answers(world, worker), detach(world, worker) is not None
    if known.lane is Lane.ASKING and not known.answer.answered:
        believed, fine = "is going to answer", alive and cache.subscribed
        truth = believed if fine else _unheard(world, worker)
        yield Belief(ROUTER, name, believed, truth, fine, told and not fine)
    elif known.lane is Lane.FOLLOWING and (alive or not endpoint.listed):
        fine = alive and cache.subscribed
        told = told or resubscribe(world, worker) is not None
        truth = "is heard" if fine else _unheard(world, worker)
        yield Belief(ROUTER, name, "is heard", truth, fine, told and not fine)
    elif known.lane is Lane.GONE and world.router.serving:
        up, told = endpoint.process is Process.UP, attach(world, worker) is not None
        yield Belief(ROUTER, name, "is gone", PROCESS[endpoint.process], not up, told and up)


def _unheard(world: World, worker: int) -> str:
    """Why nothing is heard of a worker."""
    if not answers(world, worker):
        return PROCESS[world.endpoints[worker].process]
    return "publishes where the router does not listen"


def _restarts(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether the router takes an engine that started again for the one that it knew."""
    known, cache, name = world.known[worker], world.caches[worker], cast.worker(worker)
    if known.lane is Lane.GONE or not answers(world, worker):
        return
    if known.heard_epoch != cache.epoch and not index_gets_right(world, worker):
        believed = f"is the same process as before, and comes to event {known.due} next"
        truth = f"has started again, and comes to event {cache.next} next"
        yield Belief(ROUTER, name, believed, truth, False)


def _question(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether the events that the router asks for are all that it lacks, and all kept."""
    known, cache, name = world.known[worker], world.caches[worker], cast.worker(worker)
    replays = world.protocol.after_gap is AfterGap.REPLAY
    if known.lane is not Lane.ASKING or not replays or not answers(world, worker):
        return
    lacking = cache.holds - caught_up(world, worker).known[worker].believed
    kept = [event for event in cache.kept if event.kind is not Kind.NOTHING]
    told = {event.prefix for event in kept if event.number >= known.due}
    first = min((event.number for event in kept), default=cache.next)
    if first > known.due and lacking:
        believed, truth = (f"has kept its events from {it} on" for it in (known.due, first))
        yield Belief(ROUTER, name, believed, truth, False)
    elif earlier := lacking - told:
        believed = f"holds nothing from before event {known.due} that the index lacks"
        yield Belief(ROUTER, name, believed, f"holds {prefixes(earlier)} from before that", False)


def _answer(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether an answer on its way is newer than the events that were applied meanwhile."""
    known = world.known[worker]
    if known.answer.answered and known.answer.resume < known.due:
        believed = "has in its answer all that it holds"
        truth = f"has in it what it held before event {known.answer.resume}, which was heard since"
        yield Belief(ROUTER, cast.worker(worker), believed, truth, False)


def _race(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether what the router has read of an index entry that it is about to write is still so."""
    known, event = world.known[worker], world.caches[worker].flight[0]
    if not known.open or event.prefix is None:
        return
    name, prefix = f"the entry of {Prefixes}-{event.prefix}", event.prefix
    if event.kind is Kind.REMOVED and others(world, worker, prefix):
        yield Belief(ROUTER, name, "is empty", "has another worker in it by now", False)
    for other in sorted(known.seen - {worker}):
        if event.kind is Kind.STORED and prefix not in world.known[other].believed:
            whose = cast.worker(other)
            yield Belief(ROUTER, name, f"has {whose} in it", f"has {whose} out of it by now", False)


def _late(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether an event of a worker that the router has taken off its list is news."""
    event, name = world.caches[worker].flight[0], cast.worker(worker)
    if world.known[worker].lane is Lane.GONE and reading(world, worker) is Reading.NEXT:
        subject, truth = f"event {event.number} of {name}", f"is from before {name} was removed"
        yield Belief(ROUTER, subject, "is news", truth, False)
