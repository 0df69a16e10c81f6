"""Bootstrap rooms: where a prefill and a decode worker meet over a request, under a number.

A room's status lives in a table under its number, and stays there when the request is over. The
statuses are ordered; what is newer is taken to be larger, and failed is the smallest.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from rackproof.model.kernel import client, evolve, fault, frozen, put, step, transition
from rackproof.model.sorts import Rooms

if TYPE_CHECKING:
    from rackproof.model.world import World


class Status(Enum):
    """What the table says of a room."""

    NONE = "none"
    FAILED = "failed"
    BOOTSTRAPPING = "bootstrapping"
    WAITING = "waiting for input"
    TRANSFERRING = "transferring"
    SUCCESS = "success"


class Guest(Enum):
    """Where the request in a room is, at the decode worker."""

    NONE = "none"
    HANDSHAKE = "handshake"
    """In the queue of those that wait for their prefill worker to be heard of."""
    ADMITTED = "admitted"
    """Its blocks are allocated, the prefill worker knows where."""


@frozen
class Room:
    """A room number.

    sending: the transfer worker of the prefill side has a transfer of this room under way, and will
    report. revived: a room that had failed was said to have succeeded. crashed: both schedulers
    died over it.
    """

    status: Status = Status.NONE
    guest: Guest = Guest.NONE
    sending: bool = False
    revived: bool = False
    crashed: bool = False


def with_room(world: World, room: int, **changes: Any) -> World:
    """The world with a room changed."""
    return evolve(world, rooms=put(world.rooms, room, evolve(world.rooms[room], **changes)))


def in_use(room: Room) -> bool:
    """Whether somebody still counts on what the table says of a room."""
    return (room.guest != Guest.NONE) | room.sending


@transition(client, duration="client-choice", room=Rooms)
def enter(world: World, room: int) -> World | None:
    """A request enters {room}, which nobody is in."""
    here = world.rooms[room]
    if in_use(here) or here.crashed:
        return None
    keeps = here.status == Status.SUCCESS and not world.protocol.clear_status_on_reuse
    status = here.status if keeps else Status.BOOTSTRAPPING
    return with_room(world, room, guest=Guest.HANDSHAKE, status=status)


@transition(fault, duration="any-time", room=Rooms)
def duplicate_room(world: World, room: int) -> World | None:
    """Another request comes with the number of {room}, which is in use."""
    here = world.rooms[room]
    if not in_use(here) or here.crashed or not world.budget.duplicate_room:
        return None
    world = world.spend("duplicate_room")
    if world.protocol.reject_duplicate_rooms:
        return world
    return with_room(world, room, crashed=True)


@transition(step, duration="message", room=Rooms)
def prefill_is_heard(world: World, room: int) -> World | None:
    """The prefill worker is heard of in {room}: it waits for the request's KV to be computed."""
    here = world.rooms[room]
    if here.guest != Guest.HANDSHAKE or here.status != Status.BOOTSTRAPPING or here.crashed:
        return None
    return with_room(world, room, status=Status.WAITING)


@transition(step, duration="admission", room=Rooms)
def admit_guest(world: World, room: int) -> World | None:
    """The decode worker allocates blocks for the request in {room}."""
    here = world.rooms[room]
    if here.guest != Guest.HANDSHAKE or here.status != Status.WAITING or here.crashed:
        return None
    return with_room(world, room, guest=Guest.ADMITTED)


@transition(step, duration="prefill", room=Rooms)
def send_kv(world: World, room: int) -> World | None:
    """The prefill worker sends the KV of {room}."""
    here = world.rooms[room]
    if here.guest != Guest.ADMITTED or here.status != Status.WAITING or here.crashed:
        return None
    return with_room(world, room, status=Status.TRANSFERRING, sending=True)


@transition(step, duration="kv-transfer", room=Rooms)
def report_sent(world: World, room: int) -> World | None:
    """The transfer worker reports that the KV of {room} is sent."""
    here = world.rooms[room]
    if not here.sending or here.crashed:
        return None
    if here.status != Status.FAILED or not world.protocol.latch_failed_status:
        revived = here.status == Status.FAILED and here.guest != Guest.NONE
        world = with_room(world, room, status=Status.SUCCESS, revived=here.revived | revived)
    return with_room(world, room, sending=False)


@transition(fault, duration="any-time", room=Rooms)
def room_failure(world: World, room: int) -> World | None:
    """{room} fails: a rank cannot send its part, or the decode worker gives it up."""
    here = world.rooms[room]
    under_way = (Status.BOOTSTRAPPING, Status.WAITING, Status.TRANSFERRING)
    if here.guest == Guest.NONE or here.status not in under_way or here.crashed:
        return None
    if not world.budget.room_failure:
        return None
    return with_room(world.spend("room_failure"), room, status=Status.FAILED)


@transition(step, duration="engine-loop", room=Rooms)
def conclude(world: World, room: int) -> World | None:
    """The decode worker sees how {room} ended, and the request leaves it."""
    here = world.rooms[room]
    if here.crashed or here.guest == Guest.NONE:
        return None
    done = here.status == Status.SUCCESS and here.guest == Guest.ADMITTED
    if not done and here.status != Status.FAILED:
        return None
    return with_room(world, room, guest=Guest.NONE)
