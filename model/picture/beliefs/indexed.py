"""What the router's index has of the caches, and how the router stands to the engines."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rackproof.model.index import Lane
from rackproof.model.kernel import Belief
from rackproof.model.picture.cast import INDEX, ROUTER, Cast
from rackproof.model.picture.words import PROCESS, answers
from rackproof.model.sorts import Prefixes
from rackproof.model.world import World


def of_index(cast: Cast, world: World) -> Iterator[Belief]:
    """What each cache is thought to hold, and whether events of it arrive."""
    if not world.prefixes:
        return
    for worker in range(len(world.known)):
        yield _entries(cast, world, worker)
        yield from _standing(cast, world, worker)
        yield from _numbers(cast, world, worker)
    if world.router.early:
        believed, truth = "has heard from everybody", "serves before it has heard from everybody"
        yield Belief(ROUTER, ROUTER, believed, truth, False)


def _entries(cast: Cast, world: World, worker: int) -> Belief:
    """Whether a cache holds what the index says."""
    entered, process = world.known[worker].believed, world.endpoints[worker].process
    there = world.caches[worker].holds if answers(world, worker) else frozenset()
    truth = f"holds {_prefixes(there)}"
    if not answers(world, worker):
        truth = f"{truth}: it {PROCESS[process]}"
    return Belief(
        INDEX, cast.worker(worker), f"holds {_prefixes(entered)}", truth, entered == there
    )


def _prefixes(held: Collection[int]) -> str:
    return ", ".join(f"{Prefixes}-{prefix}" for prefix in sorted(held)) or "nothing"


def _standing(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether what the router waits for can come."""
    known, cache, name = world.known[worker], world.caches[worker], cast.worker(worker)
    process = PROCESS[world.endpoints[worker].process]
    if known.lane is Lane.ASKING and not known.answer.answered:
        fine = answers(world, worker) and cache.subscribed
        truth = "is asked" if fine else _unheard(world, worker)
        yield Belief(ROUTER, name, "is going to answer", truth, fine)
    elif known.lane is Lane.FOLLOWING:
        fine = answers(world, worker) and cache.subscribed
        truth = "is heard" if fine else _unheard(world, worker)
        yield Belief(ROUTER, name, "is heard", truth, fine)
    elif known.lane is Lane.GONE and world.router.serving:
        yield Belief(ROUTER, name, "is gone", process, not answers(world, worker))


def _unheard(world: World, worker: int) -> str:
    """Why nothing is heard of a worker."""
    if not answers(world, worker):
        return PROCESS[world.endpoints[worker].process]
    return "publishes where the router does not listen"


def _numbers(cast: Cast, world: World, worker: int) -> Iterator[Belief]:
    """Whether the number that the router counts on is one that the engine has yet to use."""
    known, cache, name = world.known[worker], world.caches[worker], cast.worker(worker)
    if known.lane is Lane.GONE or not answers(world, worker):
        return
    if known.heard_epoch != cache.epoch:
        truth = "has started again since its last event that was heard"
        yield Belief(ROUTER, name, "has gone on without a restart", truth, False)
    if known.due > cache.next:
        believed, truth = (f"comes to number {it} next" for it in (known.due, cache.next))
        yield Belief(ROUTER, name, believed, truth, False)
