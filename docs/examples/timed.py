"""A lease and a read, with how long each takes: rackproof verify timed.py:world, and cost."""

from enum import Enum

from rackproof.model import kernel
from rackproof.model.kernel import Bound, Duration, Firing, Quantity, evolve, frozen, step, timer


class Block(Enum):
    """What the producer does with the block."""

    HELD = "held"
    FREED = "freed"
    REUSED = "reused"


@frozen
class World:
    """A block that is leased to a reader."""

    block: Block = Block.HELD
    reading: bool = False
    has_read: bool = False


@kernel.transition(step, duration="queue")
def start(world: World) -> World | None:
    """The reader starts to read the block."""
    return None if world.reading or world.has_read else evolve(world, reading=True)


@kernel.transition(step, duration="read")
def finish(world: World) -> World | None:
    """The reader has read the block."""
    return evolve(world, reading=False, has_read=True) if world.reading else None


@kernel.transition(timer, duration="lease")
def expire(world: World) -> World | None:
    """The lease ends: the producer frees the block."""
    return evolve(world, block=Block.FREED) if world.block == Block.HELD else None


@kernel.transition(step, duration="reuse")
def reuse(world: World) -> World | None:
    """The producer writes another request's KV into the block."""
    return evolve(world, block=Block.REUSED) if world.block == Block.FREED else None


@kernel.always()
def no_overwrite_in_flight(world: World) -> bool:
    """A block is not handed on while somebody reads it."""
    return not (world.reading and world.block == Block.REUSED)


def charge(before: World, _firing: Firing, after: World) -> kernel.Charge:
    """A read moves 983 MB: 3,000 tokens of Llama 3 70B."""
    done = after.has_read and not before.has_read
    return kernel.Charge(bytes_moved=983_040_000 * done)


def up_to(name: str) -> Duration:
    """It takes as long as the quantity at most."""
    return Duration(name, name, Bound(), Bound(times={name: 1}))


exactly = Bound(times={"lease": 1})
timing = kernel.Timing(
    quantities={
        "lease": Quantity("lease", "how long a block is kept", 30.0, "the default", chosen=True),
        "queue": Quantity("queue", "until the reader starts, at worst", 2.0, "measured: p99"),
        "read": Quantity("read", "a read, at worst", 0.0787, "983 MB over 12.5 GB/s"),
        "reuse": Quantity("reuse", "until the next request comes, at worst", 60.0, "assumed"),
    },
    durations={
        "lease": Duration("lease", "the lease", exactly, exactly),
        **{name: up_to(name) for name in ("queue", "read", "reuse")},
    },
    seen=lambda world: (world.has_read,),
    waiting=lambda world: (not world.has_read,),
    clients=("the reader",),
    charge=charge,
)
steps = (start, finish, expire, reuse)
world = kernel.System("lease", World(), steps, (no_overwrite_in_flight,), timing=timing)
