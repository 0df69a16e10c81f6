"""What the router's index says of the caches, and whether the router serves."""

from __future__ import annotations

from rackproof.invariants.premises import (
    a_dead_worker_was_indexed,
    a_prefix_was_cached,
    a_prefix_was_indexed,
    a_router_was_recovering,
    a_worker_was_asked,
)
from rackproof.model.endpoint import DEAD, Process
from rackproof.model.index import Lane
from rackproof.model.kernel import always, eventually
from rackproof.model.sorts import Prefixes, Workers
from rackproof.model.world import World


@eventually(
    worker=Workers,
    prefix=Prefixes,
    premise=a_prefix_was_indexed,
    why="Requests are sent, past other workers, to one that computes the prompt again: slow, not "
    "wrong.",
    catches=(
        "dynamo#11169",
        "dynamo#13044",
        "dynamo#13174",
        "vllm#57789",
        "router#2853",
        "router#2854",
        "aibrix#2287",
    ),
)
def index_sound(world: World, worker: int, prefix: int) -> bool:
    """No entry that the index has of a live worker stays wrong for good.

    Broken: The index goes on listing {prefix} at {worker}, which does not hold it.
    """
    if world.endpoints[worker].process != Process.UP or not world.endpoints[worker].listed:
        return True
    return prefix in world.caches[worker].holds or prefix not in world.known[worker].believed


@eventually(
    worker=Workers,
    prefix=Prefixes,
    premise=a_prefix_was_cached,
    why="KV that is there and that no router knows of is computed again elsewhere, and takes room.",
    catches=(
        "dynamo#7863",
        "dynamo#9881",
        "dynamo#13174",
        "vllm#57789",
        "vllm distributed/kv_events.py",
        "router#1737",
        "kv-cache#372",
        "kv-cache#393",
    ),
)
def index_complete(world: World, worker: int, prefix: int) -> bool:
    """Nothing that a live worker holds stays unknown to the index for good.

    Broken: {worker} holds {prefix}, and the index stays without an entry of it.
    """
    if world.endpoints[worker].process != Process.UP or not world.endpoints[worker].listed:
        return True
    return prefix not in world.caches[worker].holds or prefix in world.known[worker].believed


@eventually(
    worker=Workers,
    premise=a_dead_worker_was_indexed,
    why="Entries of a worker that is gone take memory, and a prefix looks cached that nobody has.",
    catches=("router#1736", "router#1738"),
)
def dead_worker_not_indexed(world: World, worker: int) -> bool:
    """Entries of a dead worker leave the index in the end.

    Broken: The index keeps an entry of {worker}, which no longer runs.
    """
    if world.endpoints[worker].process not in DEAD:
        return True
    return not world.known[worker].believed


@eventually(
    premise=a_router_was_recovering,
    why="A router that never serves is an outage, with every worker healthy.",
    catches=("dynamo#10580", "dynamo#4904"),
)
def router_recovers(world: World) -> bool:
    """The router does not stay out of service for good.

    Broken: The router never serves again.
    """
    return world.router.serving


@eventually(
    worker=Workers,
    premise=a_worker_was_asked,
    why="A task that asks a worker which is gone stays for ever; with each change there is one "
    "more.",
    catches=("dynamo#10729",),
)
def recovery_ends(world: World, worker: int) -> bool:
    """The router does not ask a dead worker for ever what it holds.

    Broken: {worker} no longer runs, and the router waits for ever for what it holds.
    """
    dead = world.endpoints[worker].process in DEAD
    return not dead or world.known[worker].lane != Lane.ASKING


@always(
    premise=a_router_was_recovering,
    why="Routed by half an index, requests go to cold workers and tip them over: slow, not wrong.",
    catches=("dynamo#10581",),
)
def recovered_before_serving(world: World) -> bool:
    """A router serves once it has heard from every worker that answers.

    Broken: The router began to serve before it had heard from every worker that answers.
    """
    return not world.router.early


@eventually(
    worker=Workers,
    premise=a_worker_was_asked,
    why="A router that asks the same thing over and over loads the worker, and learns nothing.",
    catches=("dynamo#7863",),
)
def asking_ends(world: World, worker: int) -> bool:
    """The router does not wait for ever for what a live worker holds.

    Broken: {worker} runs, and the router waits for ever for what it holds.
    """
    return world.known[worker].lane != Lane.ASKING or not world.endpoints[worker].answers
