"""The world of a relay whose output has an end, with what may be lost in it: all that a report
tells of, in few states.
"""

import relay
from attrs import evolve as with_changes

from rackproof.model.kernel import Item, evolve, step, transition

TOKENS = 2


@transition(step, duration="decode", worker=relay.Workers)
def emit(world: relay.World, worker: int) -> relay.World | None:
    """{worker} emits a token, and the client gets it."""
    if world.holder != worker or not world.alive[worker] or world.sent == TOKENS:
        return None
    return evolve(world, sent=world.sent + 1)


held = Item(
    "request on a worker",
    "what a worker that dies takes along",
    lives="worker",
    sort=relay.Workers,
    there=lambda world, worker: world.holder == worker and world.alive[worker],
)
base = relay.system(tokens=TOKENS)
assert base.picture is not None
assert base.timing is not None
world = with_changes(
    base,
    transitions=(relay.ask, relay.send, emit, relay.crash, relay.expire),
    picture=with_changes(base.picture, items=(held,)),
    timing=with_changes(base.timing, waiting=lambda world: (world.asked and world.sent < TOKENS,)),
)
