"""What is written down of caches and of the index: the events of each worker, as they arrive.

A log of KV events is written where the router listens. An event is in it when it arrives; one that
was lost is in it too, as a number that is missing. What an engine does is seen in no other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rackproof.model import cache, index
from rackproof.model.cache import NOBODY, Event, Kind
from rackproof.model.kernel import Evidence, Firing, Observation, Record
from rackproof.model.world import World

ROUTER: Final = "router"
LOSSES: Final = frozenset(
    item.name
    for item in (
        cache.lost_event,
        cache.publish_failure,
        cache.publisher_move,
        index.reregistration,
        index.router_restart,
    )
)
"""The transitions by which events on their way do not arrive."""
CONSUMERS: Final = (
    (index.apply_stored, True),
    (index.refuse_orphan, True),
    (index.apply_removed, True),
    (index.delete_entry, True),
    (index.apply_cleared, False),
    (index.drop_event, False),
)
"""What the router makes of an event that has arrived, and whether that takes a prefix."""


def of_caches(workers: Sequence[str], prefixes: Sequence[str]) -> Evidence:
    """The evidence of a world with caches, whose workers and prefixes have these names.

    A worker's log says ``event`` (its number, the life of its engine) and then what the event
    tells: ``stored`` or ``removed`` (block), ``cleared``; or that a number is ``missing``. The
    router's says which blocks ``entered`` its index and which ``left`` it (worker, block).
    """

    def records(before: World, firing: Firing, after: World) -> Sequence[Record]:
        lost = firing.transition.name in LOSSES
        found: list[Record] = []
        for worker, name in enumerate(workers):
            for event in _gone(before, after, worker):
                found += (_missing(name, event),) if lost else _told(name, event, prefixes)
            found += (_missing(name, event) for event in _unheard(before, after, worker))
            found += _believed(before, after, worker, name, prefixes)
        return found

    def forced(world: World, observation: Observation) -> World | None:
        if observation.witness not in workers:
            return None
        worker = workers.index(observation.witness)
        event = _as_observed(world, worker, observation, prefixes)
        return None if event is None else _heard(world, worker, event)

    return Evidence(records, forced)


def _on_their_way(world: World, worker: int) -> list[Event]:
    return [event for event in world.caches[worker].flight if event.kind != Kind.NOTHING]


def _gone(before: World, after: World, worker: int) -> list[Event]:
    """The events that are no longer on their way, the oldest first."""
    old, new = _on_their_way(before, worker), _on_their_way(after, worker)
    left = next(n for n in range(len(old) + 1) if new[: len(old) - n] == old[n:])
    return old[:left]


def _unheard(before: World, after: World, worker: int) -> list[Event]:
    """What a worker has sent where nobody listens."""
    old, new = before.caches[worker], after.caches[worker]
    sent = new.epoch == old.epoch and new.next > old.next
    return [] if new.subscribed or not sent else [Event(number=old.next, epoch=old.epoch)]


def _missing(worker: str, event: Event) -> Record:
    return Record(worker, "missing", {"number": event.number, "epoch": event.epoch})


def _told(worker: str, event: Event, prefixes: Sequence[str]) -> tuple[Record, Record]:
    """The records of an event that has arrived."""
    block = {} if event.prefix is None else {"block": prefixes[event.prefix]}
    numbered = Record(worker, "event", {"number": event.number, "epoch": event.epoch})
    return numbered, Record(worker, event.kind.value, block)


def _believed(
    before: World, after: World, worker: int, name: str, prefixes: Sequence[str]
) -> Iterator[Record]:
    """What the index has of a worker after a step and had not before, and the other way round."""
    old, new = before.known[worker].believed, after.known[worker].believed
    for kind, changed in (("left", old - new), ("entered", new - old)):
        for prefix in sorted(changed):
            yield Record(ROUTER, kind, {"worker": name, "block": prefixes[prefix]})


def _as_observed(
    world: World, worker: int, observation: Observation, prefixes: Sequence[str]
) -> Event | None:
    """The event of an observation, where it is of one and says enough of it."""
    due, epoch = world.known[worker].due, world.caches[worker].epoch
    if observation.kind == Kind.CLEARED.value:
        return Event(Kind.CLEARED, None, due, epoch)
    block = observation.values.get("block")
    if observation.kind not in (Kind.STORED.value, Kind.REMOVED.value) or block not in prefixes:
        return None
    return Event(Kind(observation.kind), prefixes.index(str(block)), due, epoch)


def _heard(world: World, worker: int, event: Event) -> World:
    """The world in which a cache is what an event says, and the router has heard the event."""
    holds = world.caches[worker].holds
    if event.kind == Kind.CLEARED:
        holds = NOBODY
    elif event.prefix is not None:
        of = frozenset({event.prefix})
        holds = holds | of if event.kind == Kind.STORED else holds - of
    world = world.with_cache(worker, holds=holds, flight=(event, *cache.nothing(world)[1:]))
    while (after := _consumed(world, worker, event)) is not None:
        world = after
    return world


def _consumed(world: World, worker: int, event: Event) -> World | None:
    """The world in which the router has gone on with the event that has arrived, if it can."""
    for take, of_prefix in CONSUMERS:
        if of_prefix and event.prefix is None:
            continue
        after: World | None = take(world, worker, *((event.prefix,) if of_prefix else ()))
        if after is not None:
            return after
    return None
