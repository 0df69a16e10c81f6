"""The KV index: which cached prefixes the router believes that each worker holds.

Belief follows the events that engines publish, finds out by their numbers that some are missing,
and asks. An index that is wrong makes requests slow, never wrong: the engine looks into its own
cache.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from rackproof.model.cache import NOBODY, Event, Kind, nothing, popped
from rackproof.model.kernel import (
    bounded,
    evolve,
    fault,
    frozen,
    members,
    step,
    timer,
    transition,
)
from rackproof.model.logic import lacks, some
from rackproof.model.protocol import AfterGap, RestartSignal
from rackproof.model.sorts import Prefixes, Workers

if TYPE_CHECKING:
    from rackproof.model.world import World


class Lane(Enum):
    """How the router stands to a worker."""

    FOLLOWING = "following"
    ASKING = "asking"
    """It has asked what the worker holds; events wait until the answer is there."""
    GONE = "gone"
    """The worker is not in its list."""


class Reading(Enum):
    """What the router makes of the next event of a worker."""

    NOTHING = "nothing"
    STALE = "stale"
    """Of an earlier life of the engine, of a removed worker, or applied already."""
    RESTART = "restart"
    GAP = "gap"
    NEXT = "next"


@frozen
class Answer:
    """An answer on its way: what the router is to believe, and the number to go on with; refused:
    some of it continues what the router does not know.
    """

    answered: bool = False
    refused: bool = False
    content: frozenset[int] = members(Prefixes)
    resume: int = bounded(0, "numbers")
    from_epoch: int = bounded(0, "epochs")


@frozen
class Known:
    """What the router believes of a worker.

    believed: what it holds. due: the number of the event that comes next. heard_epoch: the life of
    the engine that it is from. open, seen: for the event that is due the index entry has been read,
    and these workers were in it. answer: to what the router asked.
    """

    lane: Lane = Lane.FOLLOWING
    believed: frozenset[int] = members(Prefixes)
    due: int = bounded(0, "numbers")
    heard_epoch: int = bounded(0, "epochs")
    open: bool = False
    seen: frozenset[int] = members(Workers)
    answer: Answer = Answer()


@frozen
class Router:
    """The router as a process. early: it served before it had heard from every live worker."""

    serving: bool = True
    early: bool = False


@transition(fault, duration="any-time", worker=Workers)
def reregistration(world: World, worker: int) -> World | None:
    """{worker} is taken off the router's list and put on it again; its engine goes on."""
    if not world.prefixes or not world.budget.reregistration:
        return None
    known = world.known[worker]
    if known.lane == Lane.GONE or known.open or not world.endpoints[worker].listed:
        return None
    world = removed(world.spend("reregistration"), worker)
    return joined(world.with_cache(worker, flight=nothing(world)), worker)


@transition(fault, duration="any-time")
def router_restart(world: World) -> World | None:
    """The router starts again, with an empty index."""
    if not world.prefixes or not world.budget.router_restart:
        return None
    world = world.spend("router_restart")
    for worker in range(len(world.known)):
        world = world.with_cache(worker, subscribed=False, flight=nothing(world))
    fresh = tuple(Known(lane=Lane.GONE) for _ in world.known)
    return evolve(world, known=fresh, router=evolve(world.router, serving=False))


def reading(world: World, worker: int) -> Reading:
    """What the router makes of the oldest event on its way from a worker."""
    known, protocol = world.known[worker], world.protocol
    event = world.caches[worker].flight[0]
    if event.kind == Kind.NOTHING:
        return Reading.NOTHING
    if known.open:
        return Reading.NEXT
    if known.lane == Lane.ASKING and protocol.hold_while_asking:
        return Reading.NOTHING
    if known.lane == Lane.GONE:
        return Reading.STALE if protocol.fence_removed else Reading.NEXT
    if protocol.restart_signal == RestartSignal.EPOCH and event.epoch != known.heard_epoch:
        return Reading.RESTART if event.epoch > known.heard_epoch else Reading.STALE
    if event.number < known.due:
        back = protocol.restart_signal == RestartSignal.ROLLBACK
        return Reading.RESTART if back else Reading.STALE
    asks = protocol.after_gap != AfterGap.IGNORE and known.lane != Lane.ASKING
    if event.number > known.due and asks:
        return Reading.GAP
    return Reading.NEXT


def arrives(world: World, worker: int, prefix: int, kind: Kind) -> bool:
    """Whether the router is to apply an event of this kind, of this prefix."""
    event = world.caches[worker].flight[0]
    if event.kind != kind or event.prefix != prefix:
        return False
    return reading(world, worker) == Reading.NEXT


def consumed(world: World, worker: int) -> World:
    """The world in which the oldest event of a worker is applied, or dropped where it is next."""
    flight = world.caches[worker].flight
    world = world.with_cache(worker, flight=popped(flight))
    world = world.with_known(worker, open=False, seen=NOBODY)
    if world.known[worker].lane == Lane.GONE:
        return world
    return world.with_known(worker, due=flight[0].number + 1)


def parent_unknown(world: World, worker: int, prefix: int) -> bool:
    """Whether the index lacks what a prefix continues."""
    return prefix > 0 and prefix - 1 not in world.known[worker].believed


def others(world: World, worker: int, prefix: int) -> bool:
    """Whether the index has a prefix at another worker too."""
    return some(
        (not lacks(known.believed, prefix))
        for other, known in enumerate(world.known)
        if other != worker
    )


@transition(step, duration="event-delivery", worker=Workers, prefix=Prefixes)
def read_for_split(world: World, worker: int, prefix: int) -> World | None:
    """To enter {worker} at {prefix}, the router splits a node, and reads who is in it."""
    if world.protocol.revalidate_split or not others(world, worker, prefix):
        return None
    if world.known[worker].open or not arrives(world, worker, prefix, Kind.STORED):
        return None
    if parent_unknown(world, worker, prefix):
        return None
    seen = frozenset(w for w, known in enumerate(world.known) if prefix in known.believed)
    return world.with_known(worker, open=True, seen=seen)


@transition(step, duration="event-delivery", worker=Workers, prefix=Prefixes)
def apply_stored(world: World, worker: int, prefix: int) -> World | None:
    """The router hears that {worker} holds {prefix}, and enters it in the index."""
    known = world.known[worker]
    if known.open or not arrives(world, worker, prefix, Kind.STORED):
        return None
    if parent_unknown(world, worker, prefix):
        return None
    if not world.protocol.revalidate_split and others(world, worker, prefix):
        return None
    world = world.with_known(worker, believed=known.believed | {prefix})
    return consumed(world, worker)


@transition(step, duration="in-process", worker=Workers, prefix=Prefixes)
def write_split(world: World, worker: int, prefix: int) -> World | None:
    """The router enters {worker} at {prefix}, with the workers that it has read."""
    known = world.known[worker]
    if not known.open or not arrives(world, worker, prefix, Kind.STORED):
        return None
    for other in range(len(world.known)):
        if other == worker or other in known.seen:
            believed = world.known[other].believed | {prefix}
            world = world.with_known(other, believed=believed)
    return consumed(world, worker)


@transition(step, duration="event-delivery", worker=Workers, prefix=Prefixes)
def refuse_orphan(world: World, worker: int, prefix: int) -> World | None:
    """The router hears that {worker} holds {prefix}, and refuses it: its parent is not known."""
    if not arrives(world, worker, prefix, Kind.STORED) or world.known[worker].open:
        return None
    if not parent_unknown(world, worker, prefix):
        return None
    world, asks = consumed(world, worker), world.protocol.after_gap != AfterGap.IGNORE
    if world.protocol.ask_for_parents and asks and world.known[worker].lane == Lane.FOLLOWING:
        return world.with_known(worker, lane=Lane.ASKING)
    return world


@transition(step, duration="event-delivery", worker=Workers, prefix=Prefixes)
def apply_removed(world: World, worker: int, prefix: int) -> World | None:
    """The router hears that {worker} has evicted {prefix}, and takes it out of the index."""
    known = world.known[worker]
    if known.open or not arrives(world, worker, prefix, Kind.REMOVED):
        return None
    left = world.with_known(worker, believed=known.believed - {prefix})
    if world.protocol.revalidate_delete or others(world, worker, prefix):
        return consumed(left, worker)
    return left.with_known(worker, open=True)


@transition(step, duration="in-process", worker=Workers, prefix=Prefixes)
def delete_entry(world: World, worker: int, prefix: int) -> World | None:
    """The router deletes the entry of {prefix}, which was empty without {worker}."""
    if not world.known[worker].open or not arrives(world, worker, prefix, Kind.REMOVED):
        return None
    for other in range(len(world.known)):
        world = world.with_known(other, believed=world.known[other].believed - {prefix})
    return consumed(world, worker)


@transition(step, duration="event-delivery", worker=Workers)
def apply_cleared(world: World, worker: int) -> World | None:
    """The router hears that {worker} has cleared its cache."""
    if not world.prefixes or world.caches[worker].flight[0].kind != Kind.CLEARED:
        return None
    if reading(world, worker) != Reading.NEXT:
        return None
    if world.protocol.obey_cleared:
        world = world.with_known(worker, believed=NOBODY)
    return consumed(world, worker)


@transition(step, duration="event-delivery", worker=Workers)
def drop_event(world: World, worker: int) -> World | None:
    """The router drops an event of {worker}: it is old, or the worker is removed."""
    if not world.prefixes or reading(world, worker) != Reading.STALE:
        return None
    return world.with_cache(worker, flight=popped(world.caches[worker].flight))


@transition(step, duration="event-delivery", worker=Workers)
def see_gap(world: World, worker: int) -> World | None:
    """The router finds that events of {worker} are missing, and asks for them."""
    if not world.prefixes or reading(world, worker) != Reading.GAP:
        return None
    return world.with_known(worker, lane=Lane.ASKING)


@transition(step, duration="event-delivery", worker=Workers)
def see_restart(world: World, worker: int) -> World | None:
    """By its next event the router finds that the engine of {worker} has started again."""
    if not world.prefixes or reading(world, worker) != Reading.RESTART:
        return None
    event = world.caches[worker].flight[0]
    return reset(world, worker, event.epoch, event.number)


def reset(world: World, worker: int, epoch: int, due: int) -> World:
    """The world in which the router has begun anew with a worker that started again."""
    asks = world.protocol.after_gap != AfterGap.IGNORE
    lane = Lane.ASKING if asks else Lane.FOLLOWING
    due = 0 if asks else due
    return world.with_known(worker, believed=NOBODY, heard_epoch=epoch, due=due, lane=lane)


@transition(timer, duration="index-heartbeat", worker=Workers)
def heartbeat(world: World, worker: int) -> World | None:
    """{worker} repeats its last number, and the router finds that it is not where it should be."""
    if not world.prefixes or not world.protocol.heartbeat_numbers:
        return None
    cache, known, protocol = world.caches[worker], world.known[worker], world.protocol
    if known.lane != Lane.FOLLOWING or not cache.subscribed or not world.endpoints[worker].answers:
        return None
    if cache.flight[0].kind != Kind.NOTHING:
        return None
    if protocol.restart_signal == RestartSignal.EPOCH and cache.epoch != known.heard_epoch:
        return reset(world, worker, cache.epoch, cache.next)
    if protocol.restart_signal == RestartSignal.ROLLBACK and cache.next < known.due:
        return reset(world, worker, cache.epoch, cache.next)
    if cache.next <= known.due or protocol.after_gap == AfterGap.IGNORE:
        return None
    return world.with_known(worker, lane=Lane.ASKING)


@transition(step, duration="index-dump", worker=Workers)
def answer(world: World, worker: int) -> World | None:
    """{worker} answers the router: with all it holds, or with the events that it kept."""
    if not world.prefixes:
        return None
    known, cache = world.known[worker], world.caches[worker]
    if known.lane != Lane.ASKING or known.answer.answered or not cache.subscribed:
        return None
    if not world.endpoints[worker].answers or known.open:
        return None
    if world.protocol.after_gap == AfterGap.REPLAY:
        found = replayed(world, worker)
    else:
        found = Answer(True, False, cache.holds, cache.next, cache.epoch)
    # What is still on its way is older than the answer.
    world = world.with_cache(worker, flight=nothing(world))
    return world.with_known(worker, answer=found)


@transition(step, duration="message", worker=Workers)
def take_answer(world: World, worker: int) -> World | None:
    """The router has the answer of {worker}: it follows its events from there on, or asks again."""
    known = world.known[worker]
    if not world.prefixes or known.lane != Lane.ASKING or not known.answer.answered:
        return None
    found = known.answer
    if found.refused:
        return world.with_known(worker, believed=found.content, answer=Answer())
    return world.with_known(
        worker,
        lane=Lane.FOLLOWING,
        believed=found.content,
        due=found.resume,
        heard_epoch=found.from_epoch,
        answer=Answer(),
    )


def replayed(world: World, worker: int) -> Answer:
    """What the router is to believe once it has what a worker kept, from the event due on."""
    known, cache = world.known[worker], world.caches[worker]
    believed, due = known.believed, known.due
    if world.protocol.restart_signal == RestartSignal.EPOCH and cache.epoch != known.heard_epoch:
        believed, due = NOBODY, 0
    refused = False
    for event in cache.kept:
        if event.kind != Kind.NOTHING and event.number >= due:
            refused = refused | continues_unknown(world, believed, event)
            believed = told(world, believed, event)
    refused = refused & world.protocol.ask_for_parents
    return Answer(True, refused, believed, max(due, cache.next), cache.epoch)


def continues_unknown(world: World, believed: frozenset[int], event: Event) -> bool:
    """Whether an event tells of a block whose parent is not among those that are believed."""
    unknown = some(
        (event.prefix == prefix) & lacks(believed, prefix - 1)
        for prefix in range(1, world.prefixes)
    )
    return (event.kind == Kind.STORED) & unknown


def told(world: World, believed: frozenset[int], event: Event) -> frozenset[int]:
    """What is believed after an event."""
    if event.kind == Kind.CLEARED:
        return NOBODY if world.protocol.obey_cleared else believed
    for prefix in range(world.prefixes):
        if event.prefix == prefix:
            if event.kind == Kind.REMOVED:
                return believed - {prefix}
            orphan = prefix > 0 and prefix - 1 not in believed
            return believed if orphan else believed | {prefix}
    return believed


def removed(world: World, worker: int) -> World:
    """The world in which the router has taken a worker off its list."""
    known, protocol = world.known[worker], world.protocol
    return world.with_cache(worker, subscribed=False).with_known(
        worker,
        lane=Lane.GONE,
        answer=Answer(),
        believed=NOBODY if protocol.clear_on_removal else known.believed,
        due=0 if protocol.reset_number_on_removal else known.due,
    )


def joined(world: World, worker: int) -> World:
    """The world in which the router has put a worker on its list."""
    asks = world.protocol.ask_on_join and world.protocol.after_gap != AfterGap.IGNORE
    lane = Lane.ASKING if asks else Lane.FOLLOWING
    world = world.with_cache(worker, subscribed=True)
    return world.with_known(worker, lane=lane, answer=Answer())


@transition(step, duration="discovery-event", worker=Workers)
def attach(world: World, worker: int) -> World | None:
    """The router finds {worker} in discovery, follows its events, and may ask what it holds."""
    if not world.prefixes or world.known[worker].lane != Lane.GONE:
        return None
    return joined(world, worker) if world.endpoints[worker].listed else None


@transition(step, duration="discovery-event", worker=Workers)
def detach(world: World, worker: int) -> World | None:
    """The router hears that {worker} left discovery."""
    if not world.prefixes:
        return None
    endpoint, lane = world.endpoints[worker], world.known[worker].lane
    if endpoint.listed or endpoint.removal_missed or lane == Lane.GONE:
        return None
    if lane == Lane.ASKING and not world.protocol.cancel_recovery_on_removal:
        return None
    return removed(world, worker)


@transition(step, duration="discovery-event", worker=Workers)
def resubscribe(world: World, worker: int) -> World | None:
    """The router finds where the publisher of {worker} is now, and subscribes there."""
    if not world.prefixes or not world.protocol.follow_publisher:
        return None
    if world.caches[worker].subscribed or world.known[worker].lane == Lane.GONE:
        return None
    return joined(world, worker)


def unheard(world: World, alive: bool) -> bool:
    """Whether the router has yet to hear from a worker (alive: from one that would answer)."""
    return some(
        ((known.lane == Lane.ASKING) | ((known.lane == Lane.GONE) & endpoint.listed))
        & (endpoint.answers | (not alive))
        for known, endpoint in zip(world.known, world.endpoints, strict=True)
    )


@transition(step, duration="in-process")
def serve(world: World) -> World | None:
    """The router begins to serve."""
    if not world.prefixes or world.router.serving:
        return None
    if world.protocol.recover_before_serving and unheard(world, alive=False):
        return None
    early = world.router.early | unheard(world, alive=True)
    return evolve(world, router=Router(serving=True, early=early))


@transition(timer, duration="recovery-timeout")
def recovery_times_out(world: World) -> World | None:
    """None of the workers that the router waits for answers: it serves without them."""
    if not world.prefixes or world.router.serving or not world.protocol.recovery_timeout:
        return None
    if not unheard(world, alive=False) or unheard(world, alive=True):
        return None
    return evolve(world, router=evolve(world.router, serving=True))
