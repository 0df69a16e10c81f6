"""States that must be reached for a property to have been put to the test at all."""

from __future__ import annotations

from rackproof.model.endpoint import DEAD
from rackproof.model.index import Lane
from rackproof.model.kernel import sometimes
from rackproof.model.kv import Hold
from rackproof.model.peers import Connection, Handle, Life, Read, broken
from rackproof.model.request import TERMINAL, Phase
from rackproof.model.rooms import Guest, Status, in_use
from rackproof.model.sorts import (
    Attempts,
    Blocks,
    Clients,
    Keys,
    Links,
    Peers,
    Prefixes,
    Requests,
    Rooms,
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
    return endpoint.inhibited or endpoint.overloaded or endpoint.stale


@sometimes(request=Requests)
def a_client_left_or_a_worker_failed(world: World, request: int) -> bool:
    """A client left, or a worker failed a request."""
    return world.requests[request].gone or world.retries[request].failed != frozenset()


@sometimes(request=Requests, attempt=Attempts)
def a_prefill_was_held(world: World, request: int, attempt: int) -> bool:
    """A prefill worker held blocks for a reader."""
    return world.loads[request].attempts[attempt].hold == Hold.HELD


@sometimes()
def a_healthy_worker_was_unheard(world: World) -> bool:
    """Discovery was away, or a renewal of a lease stalled."""
    return not world.discovery_up or world.budget.lost_renewal < world.given.lost_renewal


@sometimes(link=Links)
def a_link_was_in_trouble(world: World, link: int) -> bool:
    """A link lost its peer, or was refused, or a request over it failed."""
    here = world.links[link]
    if here.connection == Connection.CONNECTED and broken(world, link):
        return True
    return here.connection == Connection.REFUSED or here.read in (Read.STRANDED, Read.FAILED)


@sometimes(link=Links)
def a_handle_was_prepared(world: World, link: int) -> bool:
    """A transfer handle was prepared."""
    return world.links[link].handle == Handle.READY


@sometimes(link=Links)
def a_read_was_asked_for(world: World, link: int) -> bool:
    """A request needed KV of a peer."""
    return world.links[link].read == Read.WAITING


@sometimes(link=Links)
def kv_was_read(world: World, link: int) -> bool:
    """A request was served with KV of a peer, or refused it, or the two were found to differ."""
    here = world.links[link]
    return here.read == Read.SERVED or here.connection == Connection.REFUSED


@sometimes(peer=Peers)
def a_peer_was_gone(world: World, peer: int) -> bool:
    """A worker that others are linked with was dead."""
    return world.peers[peer].life == Life.DOWN


@sometimes(peer=Peers)
def a_peer_was_replaced(world: World, peer: int) -> bool:
    """A replacement of a worker was started."""
    return world.peers[peer].life == Life.STARTING


@sometimes(peer=Peers)
def weights_were_updated(world: World, peer: int) -> bool:
    """The weights of a worker were updated."""
    return world.peers[peer].weights > 0


@sometimes(room=Rooms)
def a_room_was_entered(world: World, room: int) -> bool:
    """A request was in a bootstrap room."""
    return world.rooms[room].guest != Guest.NONE


@sometimes(room=Rooms)
def a_room_was_asked_for_twice(world: World, room: int) -> bool:
    """A request came with the number of a room that was in use."""
    came = world.budget.duplicate_room < world.given.duplicate_room
    return came and in_use(world.rooms[room])


@sometimes(room=Rooms)
def a_room_was_failing(world: World, room: int) -> bool:
    """A room had failed while a request was in it."""
    here = world.rooms[room]
    return here.status == Status.FAILED and here.guest != Guest.NONE


@sometimes(worker=Workers, prefix=Prefixes)
def a_prefix_was_cached(world: World, worker: int, prefix: int) -> bool:
    """A worker held a prefix."""
    return prefix in world.caches[worker].holds


@sometimes(worker=Workers, prefix=Prefixes)
def a_prefix_was_indexed(world: World, worker: int, prefix: int) -> bool:
    """The index had an entry."""
    return prefix in world.known[worker].believed


@sometimes(worker=Workers)
def a_dead_worker_was_indexed(world: World, worker: int) -> bool:
    """The index had an entry of a dead worker."""
    if world.endpoints[worker].process not in DEAD:
        return False
    return world.known[worker].believed != frozenset()


@sometimes()
def a_router_was_recovering(world: World) -> bool:
    """A router had started and did not serve yet."""
    return not world.router.serving


@sometimes(worker=Workers)
def a_worker_was_asked(world: World, worker: int) -> bool:
    """The router had asked a worker what it holds."""
    return world.known[worker].lane == Lane.ASKING


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
