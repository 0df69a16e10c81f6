"""Bootstrap rooms."""

from __future__ import annotations

from rackproof.invariants.premises import (
    a_room_was_asked_for_twice,
    a_room_was_entered,
    a_room_was_failing,
)
from rackproof.model.kernel import always, eventually
from rackproof.model.rooms import Guest
from rackproof.model.sorts import Rooms
from rackproof.model.world import World


@eventually(
    room=Rooms,
    premise=a_room_was_entered,
    why="A request that never leaves its room holds its place in the queue, and its client.",
    catches=("sglang#6857",),
)
def rooms_empty(world: World, room: int) -> bool:
    """No request is left in a bootstrap room for good.

    Broken: There is a request in {room} for ever.
    """
    here = world.rooms[room]
    return here.guest == Guest.NONE or here.crashed


@always(
    room=Rooms,
    premise=a_room_was_asked_for_twice,
    why="One request with a number that is in use should fail alone, and not with every other.",
    catches=("sglang#40125",),
)
def no_crash_by_room(world: World, room: int) -> bool:
    """No room number brings a scheduler down.

    Broken: Both schedulers died of a second request with the number of {room}.
    """
    return not world.rooms[room].crashed


@always(
    room=Rooms,
    premise=a_room_was_failing,
    why="A failure that is forgotten lets the decode worker go on from KV that came in part.",
    catches=("sglang#30352",),
)
def failed_rooms_stay_failed(world: World, room: int) -> bool:
    """No room that failed is said to have succeeded while its request is in it.

    Broken: {room} had failed, and was then said to have succeeded while its request was in it.
    """
    return not world.rooms[room].revived
