"""States that must be reached for a property to have been put to the test at all."""

from __future__ import annotations

from rackproof.model.endpoint import DEAD
from rackproof.model.kernel import sometimes
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.sorts import (
    Attempts,
    Blocks,
    Clients,
    Keys,
    Requests,
    Segments,
    Workers,
)
from rackproof.model.store.records import Entry, Get, Mount
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


@sometimes(client=Clients)
def a_lookup_was_made(world: World, client: int) -> bool:
    """A client looked a key up."""
    return world.readers[client].gets > 0


@sometimes(client=Clients)
def an_object_was_found(world: World, client: int) -> bool:
    """A client found what it looked up."""
    return world.readers[client].stage == Get.FOUND


@sometimes(client=Clients)
def a_client_was_served(world: World, client: int) -> bool:
    """A client used what it got from the store."""
    return world.readers[client].stage == Get.USED


@sometimes(client=Clients)
def a_rank_was_served(world: World, client: int) -> bool:
    """One of several ranks used what it got from the store."""
    return world.ranks and world.readers[client].stage == Get.USED


@sometimes(key=Keys)
def an_object_was_complete(world: World, key: int) -> bool:
    """An object could be looked up."""
    return world.objects[key].entry == Entry.COMPLETE


@sometimes(client=Clients)
def a_put_was_tried(world: World, client: int) -> bool:
    """A put was given a space."""
    return world.readers[client].stage == Get.WRITING


@sometimes(segment=Segments)
def a_segment_was_unreachable(world: World, segment: int) -> bool:
    """A worker that lends memory had died, or was struck off, or its address was lost."""
    here = world.segments[segment]
    return here.mount != Mount.MOUNTED or not here.published
