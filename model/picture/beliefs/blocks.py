"""What workers take their blocks for: whose they are, and what lies in them."""

from __future__ import annotations

from collections.abc import Iterator

from rackproof.model.kernel import Belief
from rackproof.model.kv import Hold
from rackproof.model.picture.cast import Cast
from rackproof.model.picture.words import lives
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Stage
from rackproof.model.world import World


def of_blocks(cast: Cast, world: World) -> Iterator[Belief]:
    """Whether a block that is allocated is in use, and holds what is decoded from."""
    for block, (room, home) in enumerate(zip(world.blocks, world.homes, strict=True)):
        if room.owner is None or not lives(world, home):
            continue
        name, used = cast.called(Blocks, block), _in_use(world, room.owner, block)
        believed = f"is in use for {cast.called(Requests, room.owner)}"
        truth = believed if used else "is in use for nobody"
        yield Belief(cast.worker(home), name, believed, truth, used)
    for request, stream in enumerate(world.streams):
        for here, load in zip(stream.attempts, world.loads[request].attempts, strict=True):
            running = here.stage is Stage.RUNNING and not here.severed
            if running and load.target is not None and lives(world, world.homes[load.target]):
                yield _content(cast, world, request, load.target)


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
