"""The caches of the engines: what each holds, and the numbered events in which it says so.

A prefix continues the one before it, whose blocks are its parent. Every change of a cache is
published; what is published can be lost, and an engine can start again with an empty cache.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from rackproof.model.endpoint import DEAD, Process
from rackproof.model.kernel import (
    bounded,
    each,
    environment,
    fault,
    frozen,
    identifier,
    members,
    transition,
)
from rackproof.model.protocol import AfterGap, RestartSignal
from rackproof.model.sorts import Places, Prefixes, Workers

if TYPE_CHECKING:
    from rackproof.model.world import World

IN_FLIGHT: Final = 2
"""How many events may be on their way from a worker, and how many it can replay."""
NOBODY: Final[frozenset[int]] = frozenset()
"""The empty set of prefixes, or of workers."""


class Kind(Enum):
    """What an event tells."""

    NOTHING = "nothing"
    """There is no event in this place."""
    STORED = "stored"
    REMOVED = "removed"
    CLEARED = "cleared"


@frozen
class Event:
    """A change of a cache, as it is told."""

    kind: Kind = Kind.NOTHING
    prefix: int | None = identifier(Prefixes)
    number: int = bounded(0, "numbers")
    epoch: int = bounded(0, "epochs")


@frozen
class Cache:
    """What an engine has cached, and what it publishes of it.

    next: the number of its next event. epoch: how often it has started again. kept: the events that
    it could replay, the last one last. subscribed: the router listens where it publishes. flight:
    events on their way to the router, the oldest first.
    """

    holds: frozenset[int] = members(Prefixes)
    next: int = bounded(0, "numbers")
    epoch: int = bounded(0, "epochs")
    kept: tuple[Event, ...] = each(Places)
    subscribed: bool = True
    flight: tuple[Event, ...] = each(Places)


def nothing(world: World) -> tuple[Event, ...]:
    """No event in any place."""
    return tuple(Event() for _ in range(IN_FLIGHT if world.prefixes else 0))


def popped(flight: tuple[Event, ...]) -> tuple[Event, ...]:
    """The events on their way, without the oldest."""
    return (*flight[1:], Event())


def published(world: World, worker: int, kind: Kind, prefix: int | None) -> World | None:
    """The world in which a worker has sent an event; None where no more may be on their way."""
    cache = world.caches[worker]
    event = Event(kind=kind, prefix=prefix, number=cache.next, epoch=cache.epoch)
    world = world.with_cache(worker, next=cache.next + 1)
    if world.protocol.after_gap == AfterGap.REPLAY:
        world = world.with_cache(worker, kept=(*cache.kept[1:], event))
    if not cache.subscribed:
        return world
    first, second = cache.flight
    if second.kind != Kind.NOTHING:
        return None
    if first.kind == Kind.NOTHING:
        return world.with_cache(worker, flight=(event, second))
    return world.with_cache(worker, flight=(first, event))


@transition(environment, duration="any-time", worker=Workers, prefix=Prefixes)
def store(world: World, worker: int, prefix: int) -> World | None:
    """{worker} computes {prefix}, keeps it in its cache, and publishes that."""
    holds = world.caches[worker].holds
    if not world.changes_left or world.endpoints[worker].process != Process.UP or prefix in holds:
        return None
    if prefix > 0 and prefix - 1 not in holds:
        return None
    changed = world.change().with_cache(worker, holds=holds | {prefix})
    return published(changed, worker, Kind.STORED, prefix)


@transition(environment, duration="any-time", worker=Workers, prefix=Prefixes)
def evict(world: World, worker: int, prefix: int) -> World | None:
    """{worker} evicts {prefix}, which nothing in its cache continues, and publishes that."""
    holds = world.caches[worker].holds
    if not world.changes_left or world.endpoints[worker].process != Process.UP:
        return None
    if prefix not in holds or (prefix + 1 < world.prefixes and prefix + 1 in holds):
        return None
    changed = world.change().with_cache(worker, holds=holds - {prefix})
    return published(changed, worker, Kind.REMOVED, prefix)


@transition(environment, duration="any-time", worker=Workers)
def clear_cache(world: World, worker: int) -> World | None:
    """{worker} clears its whole cache (a reset, new weights), and publishes that."""
    if not world.changes_left or not world.caches[worker].holds:
        return None
    if world.endpoints[worker].process != Process.UP:
        return None
    changed = world.change().with_cache(worker, holds=NOBODY)
    return published(changed, worker, Kind.CLEARED, None)


@transition(fault, duration="any-time", worker=Workers)
def lost_event(world: World, worker: int) -> World | None:
    """The oldest event on its way from {worker} is lost: a blip, a full buffer, a slow consumer."""
    if not world.prefixes or not world.budget.lost_event:
        return None
    flight = world.caches[worker].flight
    if flight[0].kind == Kind.NOTHING or world.known[worker].open:
        return None
    return world.spend("lost_event").with_cache(worker, flight=popped(flight))


@transition(fault, duration="any-time", worker=Workers)
def publish_failure(world: World, worker: int) -> World | None:
    """{worker} fails to publish its event: the number is used, nothing is sent or kept."""
    if not world.prefixes or not world.budget.publish_failure:
        return None
    cache = world.caches[worker]
    first, second = cache.flight
    if first.kind == Kind.NOTHING or second.kind != Kind.NOTHING or world.known[worker].open:
        return None
    kept = cache.kept
    if kept[-1] == first:
        kept = (Event(), *kept[:-1])
    world = world.spend("publish_failure")
    return world.with_cache(worker, kept=kept, flight=nothing(world))


def restarted(world: World, worker: int, numbers_go_on: bool) -> World:
    """The world in which an engine has started again, with an empty cache."""
    cache = world.caches[worker]
    world = world.with_cache(worker, holds=NOBODY, epoch=cache.epoch + 1)
    return world if numbers_go_on else world.with_cache(worker, next=0, kept=nothing(world))


@transition(fault, duration="any-time", worker=Workers)
def engine_restart(world: World, worker: int) -> World | None:
    """The engine of {worker} starts again under its old id, with an empty cache."""
    if not world.prefixes or not world.budget.engine_restart:
        return None
    if world.endpoints[worker].process != Process.UP:
        return None
    protocol = world.protocol
    world = restarted(world.spend("engine_restart"), worker, protocol.persistent_publisher)
    if protocol.restart_signal == RestartSignal.CLEARED:
        return published(world, worker, Kind.CLEARED, None)
    return world


@transition(fault, duration="restart", worker=Workers)
def rejoin(world: World, worker: int) -> World | None:
    """{worker}, which was dead and removed, is started again and registers under its old id."""
    if not world.prefixes or not world.budget.rejoin:
        return None
    if world.endpoints[worker].process not in DEAD or world.attached(worker):
        return None
    world = restarted(world.spend("rejoin"), worker, numbers_go_on=False)
    return world.with_endpoint(worker, process=Process.UP, listed=True, mirrored=True)


@transition(fault, duration="any-time", worker=Workers)
def publisher_move(world: World, worker: int) -> World | None:
    """The publisher of {worker} moves to another address: what it sends does not arrive."""
    if not world.prefixes or not world.budget.publisher_move:
        return None
    if not world.caches[worker].subscribed or world.known[worker].open:
        return None
    world = world.spend("publisher_move")
    return world.with_cache(worker, subscribed=False, flight=nothing(world))
