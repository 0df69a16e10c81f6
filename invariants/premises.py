"""States that must be reached for a property to have been put to the test at all."""

from __future__ import annotations

from rackproof.model.endpoint import DEAD
from rackproof.model.kernel import sometimes
from rackproof.model.kv import Hold
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import Attempts, Blocks, Requests, Workers
from rackproof.model.world import World


@sometimes(request=Requests)
def a_token_was_delivered(world: World, request: int) -> bool:
    """A client got a token."""
    return world.streams[request].delivered > 0


@sometimes(request=Requests)
def a_finish_was_delivered(world: World, request: int) -> bool:
    """A client got a finish reason."""
    return world.streams[request].finished


@sometimes(request=Requests)
def a_whole_output_was_delivered(world: World, request: int) -> bool:
    """A client got every token of its output."""
    return world.streams[request].delivered >= world.tokens


@sometimes(request=Requests)
def a_request_was_dispatched(world: World, request: int) -> bool:
    """A request was dispatched."""
    return world.retries[request].dispatches > 0


@sometimes(request=Requests)
def a_request_was_retried_or_failed(world: World, request: int) -> bool:
    """A request was dispatched again, or failed."""
    again = world.retries[request].dispatches > 1
    return again or world.requests[request].phase == Phase.FAILED


@sometimes(request=Requests)
def a_request_is_over(world: World, request: int) -> bool:
    """A request came to an end."""
    return world.requests[request].phase in TERMINAL


@sometimes(block=Blocks)
def a_block_was_held(world: World, block: int) -> bool:
    """A block was allocated."""
    return world.blocks[block].owner != None


@sometimes(request=Requests, attempt=Attempts)
def a_transfer_was_posted(world: World, request: int, attempt: int) -> bool:
    """A transfer of KV was posted."""
    return world.loads[request].attempts[attempt].flying > 0


@sometimes(request=Requests, attempt=Attempts)
def a_target_was_allocated(world: World, request: int, attempt: int) -> bool:
    """A decode worker allocated blocks for a request."""
    return world.loads[request].attempts[attempt].target != None


@sometimes(worker=Workers)
def a_worker_was_dead(world: World, worker: int) -> bool:
    """A worker was dead."""
    return world.endpoints[worker].process in DEAD


@sometimes(worker=Workers)
def a_worker_was_unlisted(world: World, worker: int) -> bool:
    """A worker was not listed by discovery."""
    return not world.endpoints[worker].listed


@sometimes(worker=Workers)
def a_worker_was_marked(world: World, worker: int) -> bool:
    """The router had marked a worker as not to be chosen."""
    endpoint = world.endpoints[worker]
    return endpoint.inhibited or endpoint.overloaded


@sometimes(request=Requests)
def a_client_left_or_a_worker_failed(world: World, request: int) -> bool:
    """A client left, or a worker failed a request."""
    return world.requests[request].gone or world.retries[request].failed != frozenset()


@sometimes(request=Requests, attempt=Attempts)
def a_prefill_was_held(world: World, request: int, attempt: int) -> bool:
    """A prefill worker held blocks for a reader."""
    return world.loads[request].attempts[attempt].hold == Hold.HELD


@sometimes()
def discovery_was_away(world: World) -> bool:
    """Discovery was away."""
    return not world.discovery_up
