"""What is written down of caches and of the index: the events of each worker, sent and lost.

A log of KV events is written where the router listens. One that was lost is in it too: the next one
shows that its number was used, and that it is missing. What an engine does is seen in no other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rackproof.model import cache, index
from rackproof.model.cache import NOBODY, Event, Kind
from rackproof.model.kernel import Evidence, Firing, Observation, Record, evolve
from rackproof.model.protocol import RestartSignal
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
PUBLISHED: Final = {
    cache.store.name: Kind.STORED,
    cache.evict.name: Kind.REMOVED,
    cache.clear_cache.name: Kind.CLEARED,
    cache.engine_restart.name: Kind.CLEARED,
}
"""What the transitions tell in which an event is sent."""
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
    tells: ``stored`` or ``removed`` (block), ``cleared``; and later, where it does not arrive, that
    its number is ``missing``. The router's says which blocks ``entered`` its index and which
    ``left`` it (worker, block).
    """

    def records(before: World, firing: Firing, after: World) -> Sequence[Record]:
        found: list[Record] = []
        for worker, name in enumerate(workers):
            event = _published(firing, after, worker)
            if event is not None:
                found += _told(name, event, prefixes)
            lost = _lost(before, firing, after, worker, event)
            found += (Record(name, "missing", _numbered(event)) for event in lost)
            found += _believed(before, after, worker, name, prefixes)
        return found

    def forced(world: World, observation: Observation) -> World | None:
        if observation.witness not in workers:
            return None
        worker = workers.index(observation.witness)
        event = _as_observed(world, worker, observation, prefixes)
        return None if event is None else _heard(world, worker, event)

    return Evidence(records, forced)


def _published(firing: Firing, after: World, worker: int) -> Event | None:
    """The event that a worker sends in a step, if it does."""
    kind = PUBLISHED.get(firing.transition.name)
    if kind is None or firing.arguments[0] != worker:
        return None
    if firing.transition.name == cache.engine_restart.name:
        signal = after.protocol.restart_signal
        kind = kind if signal == RestartSignal.CLEARED else None
    prefix = firing.arguments[1] if len(firing.arguments) > 1 else None
    sent = after.caches[worker]
    return None if kind is None else Event(kind, prefix, sent.next - 1, sent.epoch)


def _lost(
    before: World, firing: Firing, after: World, worker: int, event: Event | None
) -> list[Event]:
    """The events of a worker that from this step on cannot arrive."""
    old, new = before.caches[worker].flight, after.caches[worker].flight
    if firing.transition.name in LOSSES:
        return [event for event in old if event.kind != Kind.NOTHING and event not in new]
    return [event] if event is not None and not after.caches[worker].subscribed else []


def _numbered(event: Event) -> dict[str, int]:
    return {"number": event.number, "epoch": event.epoch}


def _told(worker: str, event: Event, prefixes: Sequence[str]) -> tuple[Record, Record]:
    """The records of an event that is sent."""
    block = {} if event.prefix is None else {"block": prefixes[event.prefix]}
    numbered = Record(worker, "event", _numbered(event))
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
    epoch = world.caches[worker].epoch
    if observation.kind == Kind.CLEARED.value:
        return Event(Kind.CLEARED, None, 0, epoch)
    block = observation.values.get("block")
    if observation.kind not in (Kind.STORED.value, Kind.REMOVED.value) or block not in prefixes:
        return None
    return Event(Kind(observation.kind), prefixes.index(str(block)), 0, epoch)


def _heard(world: World, worker: int, event: Event) -> World:
    """The world in which a cache is what an event says, and the router has heard the event."""
    world = _drained(world, worker)
    holds = world.caches[worker].holds
    if event.kind == Kind.CLEARED:
        holds = NOBODY
    elif event.prefix is not None:
        of = frozenset({event.prefix})
        holds = holds | of if event.kind == Kind.STORED else holds - of
    event = evolve(event, number=world.known[worker].due)
    flight = (event, *cache.nothing(world)[1:])
    return _drained(world.with_cache(worker, holds=holds, flight=flight), worker)


def _drained(world: World, worker: int) -> World:
    """The world in which the router has gone on with all that is on its way, as far as it can."""
    while (after := _consumed(world, worker)) is not None:
        world = after
    return world


def _consumed(world: World, worker: int) -> World | None:
    """The world in which the router has gone on with the next event of a worker, if it can."""
    prefix = world.caches[worker].flight[0].prefix
    for take, of_prefix in CONSUMERS:
        if of_prefix and prefix is None:
            continue
        after: World | None = take(world, worker, *((prefix,) if of_prefix else ()))
        if after is not None:
            return after
    return None
