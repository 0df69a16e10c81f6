"""What workers take their blocks for: whose they are, and what lies in them."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.kernel import Belief
from rackproof.model.kv import Block, Hold, given_up
from rackproof.model.picture.cast import Cast
from rackproof.model.picture.words import answers
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Stage
from rackproof.model.transfer import load_ends
from rackproof.model.world import World


def of_blocks(cast: Cast, world: World) -> Iterator[Belief]:
    """Whether a block that is allocated is in use, and holds what is decoded from."""
    for block, (room, home) in enumerate(zip(world.blocks, world.homes, strict=True)):
        if room.owner is None or not answers(world, home):
            continue
        name, used = cast.called(Blocks, block), _in_use(world, room.owner, block)
        believed = f"is in use for {cast.called(Requests, room.owner)}"
        truth = believed if used else "is in use for nobody"
        freed = not used and _is_freed(world, room.owner, block)
        yield Belief(cast.worker(home), name, believed, truth, used, freed)
    for request, stream in enumerate(world.streams):
        for here, load in zip(stream.attempts, world.loads[request].attempts, strict=True):
            running = here.stage is Stage.RUNNING and not here.severed
            if running and load.target is not None and answers(world, world.homes[load.target]):
                yield _content(cast, world, request, load.target)


def _is_freed(world: World, request: int, block: int) -> bool:
    """Whether the engine is about to see that a load into a block has ended, and frees it."""
    attempts = range(len(world.loads[request].attempts))
    return any(load_ends(world, request, attempt, block) is not None for attempt in attempts)


def _in_use(world: World, request: int, block: int) -> bool:
    """Whether an attempt still needs a block of its request."""
    pairs = zip(world.streams[request].attempts, world.loads[request].attempts, strict=True)
    return any(
        (load.source == block and load.hold is Hold.HELD and not load.stale)
        or (
            load.target == block
            and not here.severed
            and here.stage in (Stage.LOADING, Stage.RUNNING)
        )
        or (load.target == block and load.flying > 0 and not load.killed)
        for here, load in pairs
    )


def _content(cast: Cast, world: World, request: int, block: int) -> Belief:
    """Whether what is decoded from is the request's KV, with its scales."""
    whose = world.blocks[block].content
    believed = f"holds the KV of {cast.called(Requests, request)}"
    if whose is None:
        truth = "holds no KV"
    elif whose != request:
        truth = f"holds the KV of {cast.called(Requests, whose)}"
    elif not world.has_scales(request, block):
        truth = f"{believed} with the scales of other KV"
    else:
        truth = believed
    home = cast.worker(world.homes[block])
    return Belief(home, cast.called(Blocks, block), believed, truth, truth == believed)


def of_room(cast: Cast, world: World) -> Iterator[Belief]:
    """Whether requests that wait for a block each wait for those that wait themselves."""
    waiting = dict(_waiting(world))
    while going := [r for r, worker in waiting.items() if _owners(world, worker) - set(waiting)]:
        for request in going:
            del waiting[request]
    for request, worker in waiting.items():
        owners = sorted(_owners(world, worker) - {request})
        if owners:
            others = " and ".join(cast.called(Requests, owner) for owner in owners)
            truth = f"waits for room that {others} has, which waits for room elsewhere"
            name = cast.called(Requests, request)
            yield Belief(cast.worker(worker), name, "is going to have room", truth, False)


def _waiting(world: World) -> Iterator[tuple[int, int]]:
    """The requests that wait for a block, each with a worker on which none is free."""
    full = {
        home for home in world.homes if None not in (room.owner for room in _rooms(world, home))
    }
    for request, retry in enumerate(world.retries):
        if (attempt := retry.current) is None or given_up(world, request, attempt):
            continue
        here = world.streams[request].attempts[attempt]
        load = world.loads[request].attempts[attempt]
        if here.worker in full and here.stage is Stage.ACCEPTED and not here.severed:
            yield request, here.worker
        if load.prefill in full and load.hold is Hold.ASKED and not load.stale:
            yield request, load.prefill


def _rooms(world: World, worker: int) -> Iterator[Block]:
    """The blocks of a worker."""
    pairs = zip(world.blocks, world.homes, strict=True)
    return (room for room, home in pairs if home == worker)


def _owners(world: World, worker: int) -> set[int]:
    """Whom the blocks of a worker are allocated to."""
    return {room.owner for room in _rooms(world, worker) if room.owner is not None}
