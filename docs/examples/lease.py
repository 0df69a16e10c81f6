"""A lease on a KV block, with a reader that may be slow. rackproof verify lease.py:world."""

from enum import Enum

from rackproof.model import kernel
from rackproof.model.kernel import evolve, fault, frozen, step, timer

Readers = kernel.Identifiers("reader")


class Block(Enum):
    """What the producer does with the block."""

    HELD = "held"
    FREED = "freed"
    REUSED = "reused"


@frozen
class World:
    """One block, its readers, and how many slow reads are still to be feared."""

    block: Block = Block.HELD
    reading: frozenset[int] = kernel.members(Readers)
    last: int | None = kernel.identifier(Readers)
    slow_left: int = kernel.bounded(0, "slow", initial=1)


@kernel.transition(step, reader=Readers)
def start(world: World, reader: int) -> World | None:
    """{reader} starts to read the block."""
    idle = world.block == Block.HELD and reader not in world.reading
    return evolve(world, reading=world.reading | {reader}, last=reader) if idle else None


@kernel.transition(step, reader=Readers)
def finish(world: World, reader: int) -> World | None:
    """{reader} has read the block."""
    return evolve(world, reading=world.reading - {reader})


@kernel.transition(timer)
def expire(world: World) -> World | None:
    """The lease ends after the last read: the producer frees the block."""
    over = world.block == Block.HELD and world.last != None and not world.reading
    return evolve(world, block=Block.FREED) if over else None


@kernel.transition(fault)
def slow_read(world: World) -> World | None:
    """A read takes longer than the lease: the block is freed under its reader."""
    if world.block != Block.HELD or not world.reading or not world.slow_left:
        return None
    return evolve(world, block=Block.FREED, slow_left=world.slow_left - 1)


@kernel.transition(step)
def reuse(world: World) -> World | None:
    """The producer writes another request's KV into the block."""
    return evolve(world, block=Block.REUSED) if world.block == Block.FREED else None


@kernel.sometimes()
def somebody_reads(world: World) -> bool:
    """A read is under way."""
    return len(world.reading) > 0


@kernel.always(premise=somebody_reads, reader=Readers)
def no_overwrite_in_flight(world: World, reader: int) -> bool:
    """A block is not handed on while somebody reads it.
    Broken: {reader} reads the block, which holds another request's KV by now.
    """
    return not (reader in world.reading and world.block == Block.REUSED)


steps = (start, finish, expire, slow_read, reuse)
sizes = {"slow": 1, "reader": 2}
world = kernel.System("lease", World(), steps, (no_overwrite_in_flight,), sizes)
