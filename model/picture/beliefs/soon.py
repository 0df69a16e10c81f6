"""What is on its way: whether somebody is about to hear what puts a belief right."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.endpoint import Process
from rackproof.model.index import (
    answer,
    apply_cleared,
    apply_removed,
    apply_stored,
    attach,
    delete_entry,
    detach,
    drop_event,
    read_for_split,
    refuse_orphan,
    resubscribe,
    see_gap,
    see_restart,
    take_answer,
    write_split,
)
from rackproof.model.retry import cancel_pending, notice, streams_from, waits_unanswered
from rackproof.model.transfer import peer_is_gone
from rackproof.model.world import World

_OF_PREFIXES = (
    read_for_split,
    apply_stored,
    write_split,
    refuse_orphan,
    apply_removed,
    delete_entry,
)
_OF_WORKERS = (
    apply_cleared,
    drop_event,
    see_gap,
    see_restart,
    answer,
    take_answer,
    resubscribe,
    attach,
    detach,
)


def caught_up(world: World, worker: int) -> World:
    """The world once all that is on its way from a worker, and from discovery about it, has come to
    the index, were nothing else to happen.
    """
    seen: list[World] = []
    while world not in seen:
        seen.append(world)
        world = next(_moves(world, worker), world)
    return world


def _moves(world: World, worker: int) -> Iterator[World]:
    """What the router and a worker can do next about what the index has of it."""
    for prefix in range(world.prefixes):
        yield from (
            after for move in _OF_PREFIXES if (after := move(world, worker, prefix)) is not None
        )
    yield from (after for move in _OF_WORKERS if (after := move(world, worker)) is not None)


def index_gets_right(world: World, worker: int) -> bool:
    """Whether what is on its way leads the index to what a worker holds."""
    return caught_up(world, worker).known[worker].believed == held(world, worker)


def held(world: World, worker: int) -> frozenset[int]:
    """The prefixes in the memory of a worker, if it has one."""
    kept = (Process.UP, Process.HUNG, Process.DRAINING)
    there = world.endpoints[worker].process in kept
    return world.caches[worker].holds if there else frozenset()


def is_told(world: World, request: int, attempt: int) -> bool:
    """Whether the frontend is about to hear that an attempt has ended, or is lost."""
    return any(
        notice(world, request, attempt, worker) is not None
        or cancel_pending(world, request, attempt, worker) is not None
        or _says_that_it_stopped(world, request, attempt, worker)
        for worker in range(len(world.endpoints))
    ) or sees_loss(world, request, attempt)


def _says_that_it_stopped(world: World, request: int, attempt: int, worker: int) -> bool:
    """Whether a worker that stopped in good order says so behind the tokens that it has sent."""
    waits = waits_unanswered(world, request, attempt, worker)
    there = streams_from(world, request, attempt, worker) or waits
    return world.endpoints[worker].process is Process.STOPPED and there


def sees_loss(world: World, request: int, attempt: int) -> bool:
    """Whether the transport of a decode worker is about to find that its peer is gone."""
    load = world.loads[request].attempts[attempt]
    if load.prefill is None or load.target is None:
        return False
    return peer_is_gone(world, request, attempt, load.prefill, load.target) is not None
