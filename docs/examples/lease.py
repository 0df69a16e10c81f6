"""A protocol of one's own: a lease on a KV block, with a reader that may be slow.

Run it: rackproof verify docs/examples/lease.py:world
"""

from enum import Enum

from rackproof.model.kernel import (
    Identifiers,
    System,
    always,
    bounded,
    evolve,
    fault,
    frozen,
    identifier,
    members,
    sometimes,
    step,
    timer,
    transition,
)

Readers = Identifiers("reader")


class Block(Enum):
    """What the producer does with the block."""

    HELD = "held"
    FREED = "freed"
    REUSED = "reused"


@frozen
class World:
    """One block, its readers, and how many slow reads are still to be feared."""

    block: Block = Block.HELD
    reading: frozenset[int] = members(Readers)
    last: int | None = identifier(Readers)
    slow_left: int = bounded(0, "slow", initial=1)


@transition(step, reader=Readers)
def start(world: World, reader: int) -> World | None:
    """{reader} starts to read the block."""
    if world.block != Block.HELD or reader in world.reading:
        return None
    return evolve(world, reading=world.reading | {reader}, last=reader)


@transition(step, reader=Readers)
def finish(world: World, reader: int) -> World | None:
    """{reader} has read the block."""
    if reader not in world.reading:
        return None
    return evolve(world, reading=world.reading - {reader})


@transition(timer)
def expire(world: World) -> World | None:
    """The lease ends after the last read: the producer frees the block."""
    if world.block == Block.HELD and world.last != None and not world.reading:
        return evolve(world, block=Block.FREED)
    return None


@transition(fault)
def slow_read(world: World) -> World | None:
    """A read takes longer than the lease: the block is freed under its reader."""
    if world.block == Block.HELD and world.reading and world.slow_left:
        return evolve(world, block=Block.FREED, slow_left=world.slow_left - 1)
    return None


@transition(step)
def reuse(world: World) -> World | None:
    """The producer writes another request's KV into the block."""
    return evolve(world, block=Block.REUSED) if world.block == Block.FREED else None


@sometimes()
def somebody_reads(world: World) -> bool:
    """A read is under way."""
    return len(world.reading) > 0


@always(premise=somebody_reads, reader=Readers)
def no_overwrite_in_flight(world: World, reader: int) -> bool:
    """A block is not handed on while somebody reads it."""
    return not (reader in world.reading and world.block == Block.REUSED)


world = System(
    name="lease",
    initial=World(),
    transitions=(start, finish, expire, slow_read, reuse),
    properties=(no_overwrite_in_flight,),
    sizes={"slow": 1, "reader": 2},
)
