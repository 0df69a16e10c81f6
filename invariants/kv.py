"""Where the KV cache is, and whose it is."""

from __future__ import annotations

from rackproof.invariants.premises import (
    a_block_was_held,
    a_prefill_was_held,
    a_target_was_allocated,
    a_transfer_was_posted,
)
from rackproof.model.endpoint import Process
from rackproof.model.kernel import always, eventually
from rackproof.model.sorts import Attempts, Blocks, Requests
from rackproof.model.stream import Stage
from rackproof.model.world import World


@always(
    request=Requests,
    attempt=Attempts,
    block=Blocks,
    premise=a_target_was_allocated,
    why="Decoding from other KV gives a fluent answer to somebody else's prompt, with HTTP 200.",
    catches=(
        "dynamo#826",
        "vllm#21570",
        "vllm#32255",
        "vllm#52234",
        "vllm#56104",
        "Mooncake#2832",
        "sglang#24527",
        "sglang#30233",
        "sglang#38961",
        "sglang#39229",
        "vllm#47021",
        "vllm#55470",
    ),
)
def kv_consistent(world: World, request: int, attempt: int, block: int) -> bool:
    """A running request decodes from its own KV, whole.

    Broken: {request} decodes from {block}, which does not hold its KV, whole.

    Quantised KV is whole with the scales that it was quantised with, of its blocks and the tensor.
    """
    here = world.streams[request].attempts[attempt]
    if here.stage != Stage.RUNNING or here.severed:
        return True
    if world.loads[request].attempts[attempt].target != block or not world.exists(block):
        return True
    return (world.blocks[block].content == request) & world.has_scales(request, block)


@always(
    request=Requests,
    attempt=Attempts,
    source=Blocks,
    target=Blocks,
    premise=a_transfer_was_posted,
    why="A posted RDMA operation cannot be recalled: it reads or overwrites the next owner's KV.",
    catches=("vllm#32255", "vllm#56104", "vllm#21570", "sglang#24527", "vllm#47021"),
)
def no_overwrite_in_flight(
    world: World, request: int, attempt: int, source: int, target: int
) -> bool:
    """A block is not handed to another request while a transfer from or to it is posted.

    Broken: {source} or {target} belongs to another request by now, while a transfer for {request}
    from the one to the other is still posted.
    """
    load = world.loads[request].attempts[attempt]
    if not load.flying or load.source != source or load.target != target or load.torn:
        return True
    if world.streams[request].attempts[attempt].severed:
        return True
    if not world.exists(source) or not world.exists(target):
        return True
    return all(world.blocks[block].owner in (None, request) for block in (source, target))


@eventually(
    block=Blocks,
    premise=a_block_was_held,
    why="Blocks that nobody frees are memory lost until a restart; enough of them wedge the node.",
    catches=(
        "vllm#20139",
        "vllm#18591",
        "vllm#18485",
        "vllm#50425",
        "vllm#46283",
        "dynamo#13855",
        "dynamo#7489",
        "aibrix#2289",
        "sglang#31206",
        "sglang#34692",
        "sglang#36029",
        "vllm#32255",
        "vllm#35943",
        "vllm#50754",
        "vllm#53095",
    ),
)
def no_kv_leak(world: World, block: int) -> bool:
    """No block of a live worker stays taken for good, unless a frozen worker's posted transfer
    still pins it.

    Broken: {block} is never free again.
    """
    here = world.blocks[block]
    if here.owner == None or world.endpoints[world.homes[block]].process != Process.UP:
        return True
    return world.pinned(block)


@always(
    request=Requests,
    attempt=Attempts,
    premise=a_target_was_allocated,
    why="The engine asserts that it frees a request once, and dies where it does not.",
    catches=("vllm#46240",),
)
def no_double_free(world: World, request: int, attempt: int) -> bool:
    """The blocks of an attempt are released once.

    Broken: The blocks of {attempt} of {request} were released twice.
    """
    return not world.loads[request].attempts[attempt].freed_twice


@always(
    request=Requests,
    attempt=Attempts,
    premise=a_prefill_was_held,
    why="Under load every request queues; a deadline that runs meanwhile fails what works.",
    catches=("TRT#13824",),
)
def no_spurious_timeout(world: World, request: int, attempt: int) -> bool:
    """No transfer is timed out before it could begin.

    Broken: The transfer for {request} was timed out before it could begin.
    """
    return not world.loads[request].attempts[attempt].mistimed
