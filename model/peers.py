"""Links between workers: handshakes, registered memory, and the handles that reach into it.

A link is how one worker (the reader) reaches the memory of another (its peer). A peer that comes
back under its name is another incarnation, a generation, with other memory: what was connected,
mapped or prepared before is of the generation before. Who is alive here is what transports see of
it; requests need not be part of the world.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from rackproof.model.kernel import (
    client,
    evolve,
    fault,
    frozen,
    identifier,
    owner,
    put,
    step,
    transition,
)
from rackproof.model.logic import some
from rackproof.model.protocol import CacheOnUpdate, LinkFailure, WeightsCheck
from rackproof.model.sorts import Generations, Links, Peers, Versions

if TYPE_CHECKING:
    from rackproof.model.world import World


class Format(Enum):
    """What two workers must agree on for the KV of one to mean the same to the other.

    The values are the names of the mechanisms that compare it, without ``compare``.
    """

    MODEL = "model"
    DTYPE = "dtype"
    LAYOUT = "layout"
    PAGE_SIZE = "page_size"
    SCALES = "scales"


class Life(Enum):
    """What has become of a worker's process."""

    UP = "up"
    DOWN = "down"
    STARTING = "starting"
    """Its replacement is there under the same name, and has to allocate its memory."""


class Connection(Enum):
    """A link as its reader sees it."""

    CLOSED = "closed"
    CONNECTED = "connected"
    REFUSED = "refused"
    """The two are not compatible, and the handshake said so."""
    REJECTED = "rejected"
    """The peer would not have it, though the two are compatible."""


class Handle(Enum):
    """The transfer handle of a link."""

    NONE = "none"
    PREPARING = "preparing"
    """A thread of the reader unpacks the keys of the peer's memory."""
    READY = "ready"
    POSTED = "posted"


class Read(Enum):
    """The request at the reader that needs KV of the peer."""

    NONE = "none"
    WAITING = "waiting"
    STRANDED = "stranded"
    """It waits, and nobody will come back to it."""
    SERVED = "served"
    FAILED = "failed"


@frozen
class Peer:
    """A worker as its peers see it.

    weights: the version it computes with; cached: the version that computed the prefixes it has
    cached. felled: it died of what befell another. reused_old: it served a request from KV that
    other weights computed.
    """

    life: Life = Life.UP
    generation: int = owner(Generations)
    weights: int = owner(Versions)
    cached: int = owner(Versions)
    felled: bool = False
    reused_old: bool = False


@frozen
class Link:
    """One worker's way to the memory of another.

    generation: the peer's, as of the handshake. mapped: whose memory is mapped over NVLink.
    prepared: whose memory the handle reaches into. accepted: the reader's generation, as the peer
    noted it. signal: the data of a read is announced. landed: the version of the KV that arrived.
    stale: the reader used memory, or data, of another generation. unfit: it used KV whose layout or
    weights are not its own.
    """

    connection: Connection = Connection.CLOSED
    generation: int | None = identifier(Generations)
    mapped: int | None = identifier(Generations)
    handle: Handle = Handle.NONE
    prepared: int | None = identifier(Generations)
    accepted: int | None = identifier(Generations)
    read: Read = Read.NONE
    signal: bool = False
    landed: int | None = identifier(Versions)
    stale: bool = False
    unfit: bool = False


def with_link(world: World, link: int, **changes: Any) -> World:
    """The world with a link changed."""
    return evolve(world, links=put(world.links, link, evolve(world.links[link], **changes)))


def with_peer(world: World, peer: int, **changes: Any) -> World:
    """The world with a worker changed."""
    return evolve(world, peers=put(world.peers, peer, evolve(world.peers[peer], **changes)))


def reader_of(world: World, link: int) -> Peer:
    """The worker that reads over a link."""
    return world.peers[world.link_readers[link]]


def peer_of(world: World, link: int) -> Peer:
    """The worker whose memory a link reaches."""
    return world.peers[world.link_owners[link]]


def broken(world: World, link: int) -> bool:
    """Whether what a link is connected to is gone, or out of reach."""
    here, peer = world.links[link], peer_of(world, link)
    gone = (peer.life != Life.UP) | (here.generation != peer.generation)
    return gone | (world.domain_down & (here.mapped != None))


# Workers come and go.


@transition(fault, duration="any-time", peer=Peers)
def peer_crash(world: World, peer: int) -> World | None:
    """{peer} dies; whoever it is linked with is not told at once."""
    if world.peers[peer].life != Life.UP or not world.budget.peer_crash:
        return None
    return dies(world.spend("peer_crash"), peer)


def dies(world: World, peer: int, felled: bool = False) -> World:
    """A worker's process ends, and with it all that it had open to others."""
    was = world.peers[peer].felled
    world = with_peer(world, peer, life=Life.DOWN, felled=was | felled)
    for link, reader in enumerate(world.link_readers):
        if reader == peer:
            world = forget(world, link)
    for link, serving in enumerate(world.link_owners):
        if serving == peer:
            world = with_link(world, link, accepted=None)
    return world


def forget(world: World, link: int) -> World:
    """The reader's side of a link is gone; what its peer noted of it stays."""
    return with_link(
        world,
        link,
        connection=Connection.CLOSED,
        generation=None,
        mapped=None,
        handle=Handle.NONE,
        prepared=None,
        read=Read.NONE,
        signal=False,
        landed=None,
    )


@transition(step, duration="replacement", peer=Peers, following=Generations)
def replace_peer(world: World, peer: int, following: int) -> World | None:
    """A replacement of {peer} is started under its name: it is {following}."""
    here = world.peers[peer]
    if here.life != Life.DOWN or following != here.generation + 1:
        return None
    return with_peer(world, peer, life=Life.STARTING, generation=following, cached=here.weights)


@transition(step, duration="memory-registration", peer=Peers)
def allocate_memory(world: World, peer: int) -> World | None:
    """{peer} allocates and registers its memory: nobody has its predecessor's mapped any more."""
    if world.peers[peer].life != Life.STARTING or still_mapped(world, peer):
        return None
    return with_peer(world, peer, life=Life.UP)


def outlived(world: World, peer: int) -> bool:
    """Whether somebody has memory mapped of a process of this worker that is gone."""
    here = world.peers[peer]
    return some(
        (serving == peer)
        & (world.links[link].mapped != None)
        & ((world.links[link].mapped != here.generation) | (here.life == Life.DOWN))
        for link, serving in enumerate(world.link_owners)
    )


def still_mapped(world: World, peer: int) -> bool:
    """Whether somebody has memory of a worker mapped that its process no longer has."""
    return some(
        (serving == peer) & (world.links[link].mapped != None)
        for link, serving in enumerate(world.link_owners)
    )


@transition(fault, duration="any-time")
def domain_fault(world: World) -> World | None:
    """The NVLink domain has a fault: what is mapped of another worker's memory is out of reach."""
    if not world.links or world.domain_down or not world.budget.domain_fault:
        return None
    world = evolve(world.spend("domain_fault"), domain_down=True)
    if world.protocol.fall_back_to_scale_out:
        return world
    struck = [here.mapped != None for here in world.links]
    for peer in range(len(world.peers)):
        ours = [hit for link, hit in enumerate(struck) if peer == world.link_readers[link]]
        if some(ours):
            world = dies(world, peer, felled=True)
    return world


@transition(fault, duration="any-time", link=Links)
def scale_up(world: World, link: int) -> World | None:
    """The reader makes room for more peers: the signal of {link} now lies where data lay before."""
    here = world.links[link]
    if here.connection == Connection.CONNECTED or here.signal or not world.budget.scale_up:
        return None
    return with_link(world.spend("scale_up"), link, signal=True)


# A request asks for KV of a peer: handshake, handle, read.


@transition(client, duration="client-choice", link=Links)
def ask(world: World, link: int) -> World | None:
    """A request at the reader needs KV over {link}."""
    if world.links[link].read not in (Read.NONE, Read.SERVED, Read.FAILED):
        return None
    if reader_of(world, link).life != Life.UP:
        return None
    return with_link(world, link, read=Read.WAITING)


def wants(world: World, link: int) -> bool:
    """Whether a request waits for a connection."""
    here = world.links[link]
    return (
        (here.read == Read.WAITING)
        & (here.connection != Connection.CONNECTED)
        & (here.handle != Handle.PREPARING)
    )


@transition(step, duration="handshake", link=Links)
def connect(world: World, link: int) -> World | None:
    """The reader of {link} shakes hands with its peer, and they are connected."""
    if not wants(world, link) or not reachable(world, link) or not compatible(world, link):
        return None
    if known(world, link) and not world.protocol.replace_stale_endpoint:
        return None
    here, now = world.links[link], peer_of(world, link).generation
    return with_link(
        world,
        link,
        connection=Connection.CONNECTED,
        generation=now,
        mapped=None if world.domain_down else now,
        accepted=reader_of(world, link).generation,
        signal=here.signal & (not world.protocol.clear_signals_on_connect),
    )


@transition(step, duration="handshake-given-up", link=Links)
def find_no_peer(world: World, link: int) -> World | None:
    """The reader of {link} finds nobody to shake hands with."""
    if not wants(world, link) or reachable(world, link):
        return None
    return fails(with_link(world, link, connection=Connection.CLOSED), link)


@transition(step, duration="handshake", link=Links)
def refuse_handshake(world: World, link: int) -> World | None:
    """The handshake over {link} finds that the two workers are not compatible."""
    if not wants(world, link) or not reachable(world, link) or compatible(world, link):
        return None
    return fails(with_link(world, link, connection=Connection.REFUSED), link)


@transition(step, duration="handshake", link=Links)
def reject_handshake(world: World, link: int) -> World | None:
    """The peer still has an endpoint for the reader of {link}, and rejects the handshake."""
    if not wants(world, link) or not reachable(world, link) or not compatible(world, link):
        return None
    if not known(world, link) or world.protocol.replace_stale_endpoint:
        return None
    return fails(with_link(world, link, connection=Connection.REJECTED), link)


def reachable(world: World, link: int) -> bool:
    """Whether a peer is there to answer, over NVLink or over the network."""
    way = (not world.domain_down) | world.protocol.fall_back_to_scale_out
    return (peer_of(world, link).life == Life.UP) & way


def known(world: World, link: int) -> bool:
    """Whether the peer has an endpoint for an earlier incarnation of a link's reader."""
    accepted = world.links[link].accepted
    return (accepted != None) & (accepted != reader_of(world, link).generation)


def compatible(world: World, link: int) -> bool:
    """Whether a handshake finds nothing that differs, in what it compares."""
    protocol = world.protocol
    if any(getattr(protocol, f"compare_{field.value}") for field in world.differs):
        return False
    if protocol.compare_weights_version == WeightsCheck.NEVER:
        return True
    return peer_of(world, link).weights == reader_of(world, link).weights


def fails(world: World, link: int) -> World:
    """The request that waits on a link cannot be served over it."""
    policy = world.protocol.fail_path_of_handshake
    if policy == LinkFailure.WAIT:
        return with_link(world, link, read=Read.STRANDED)
    if policy == LinkFailure.CRASH:
        return dies(world, world.link_readers[link], felled=True)
    return with_link(world, link, read=Read.FAILED)


@transition(fault, duration="outlived-handshake", link=Links)
def handshake_failure(world: World, link: int) -> World | None:
    """The handshake over {link} runs into its time limit."""
    if not world.budget.handshake_failure or not wants(world, link):
        return None
    return fails(world.spend("handshake_failure"), link)


@transition(step, duration="at-once", link=Links)
def begin_prepare(world: World, link: int) -> World | None:
    """The reader of {link} begins to unpack the keys of its peer's memory."""
    here = world.links[link]
    if here.connection != Connection.CONNECTED or here.read != Read.WAITING:
        return None
    if here.handle != Handle.NONE:
        return None
    return with_link(world, link, handle=Handle.PREPARING)


@transition(step, duration="key-unpack", link=Links)
def end_prepare(world: World, link: int) -> World | None:
    """The keys are unpacked: the reader of {link} has a transfer handle."""
    here = world.links[link]
    if here.handle != Handle.PREPARING:
        return None
    return with_link(world, link, handle=Handle.READY, prepared=here.generation)


def ready(world: World, link: int) -> bool:
    """Whether a reader is about to post its read."""
    here = world.links[link]
    return (
        (here.connection == Connection.CONNECTED)
        & (here.read == Read.WAITING)
        & (here.handle == Handle.READY)
    )


@transition(step, duration="transfer-post", link=Links)
def post_read(world: World, link: int) -> World | None:
    """The reader of {link} posts its read."""
    here = world.links[link]
    if not ready(world, link) or here.prepared != here.generation:
        return None
    return with_link(world, link, handle=Handle.POSTED)


@transition(step, duration="transfer-post", link=Links)
def post_with_stale_handle(world: World, link: int) -> World | None:
    """The reader of {link} posts its read with a handle of the peer's earlier incarnation."""
    here = world.links[link]
    if not ready(world, link) or here.prepared == here.generation:
        return None
    if world.protocol.generation_in_handles:
        return None
    return with_link(world, link, handle=Handle.POSTED, stale=True)


@transition(step, duration="in-process", link=Links)
def refuse_stale_handle(world: World, link: int) -> World | None:
    """The handle of {link} is of the peer's earlier incarnation: it is refused, and dropped."""
    here = world.links[link]
    if not ready(world, link) or here.prepared == here.generation:
        return None
    if not world.protocol.generation_in_handles:
        return None
    return with_link(world, link, handle=Handle.NONE, prepared=None)


@transition(fault, duration="any-time", link=Links)
def link_post_failure(world: World, link: int) -> World | None:
    """The read over {link} cannot be posted, though the peer is there."""
    if not ready(world, link) or not world.budget.link_post_failure:
        return None
    return fails(world.spend("link_post_failure"), link)


@transition(step, duration="kv-transfer", link=Links)
def data_lands(world: World, link: int) -> World | None:
    """The KV arrives over {link}, and its signal behind it."""
    here, peer = world.links[link], peer_of(world, link)
    if here.handle != Handle.POSTED or here.landed != None or broken(world, link):
        return None
    keeps = world.protocol.cache_on_weight_update == CacheOnUpdate.KEEP
    return with_link(world, link, signal=True, landed=peer.cached if keeps else peer.weights)


def announced(world: World, link: int) -> bool:
    """Whether a reader sees a signal for the read that it posted."""
    here = world.links[link]
    return (here.handle == Handle.POSTED) & here.signal


def outdated(world: World, link: int) -> bool:
    """Whether the KV that arrived is of other weights than the reader's."""
    return world.links[link].landed != reader_of(world, link).weights


@transition(step, duration="load-end", link=Links)
def use_data(world: World, link: int) -> World | None:
    """The reader of {link} sees the signal, and decodes from the KV that arrived."""
    here, protocol = world.links[link], world.protocol
    if not announced(world, link) or here.landed == None:
        return None
    other = outdated(world, link)
    if other and protocol.compare_weights_version == WeightsCheck.EACH_READ:
        return None
    unfit = here.unfit | other | (len(world.differs) > 0)
    return taken(world, link, Read.SERVED, unfit=unfit)


@transition(step, duration="engine-loop", link=Links)
def refuse_data(world: World, link: int) -> World | None:
    """The KV that arrived over {link} is of other weights: the request does without it."""
    here, protocol = world.links[link], world.protocol
    if not announced(world, link) or here.landed == None or not outdated(world, link):
        return None
    if protocol.compare_weights_version != WeightsCheck.EACH_READ:
        return None
    return taken(world, link, Read.FAILED)


@transition(step, duration="engine-loop", link=Links)
def use_too_early(world: World, link: int) -> World | None:
    """The reader of {link} sees a signal that was there before, and decodes from what is no KV."""
    if not announced(world, link) or world.links[link].landed != None:
        return None
    return taken(world, link, Read.SERVED, stale=True)


def taken(world: World, link: int, read: Read, **changes: Any) -> World:
    """The read of a link is over; its handle is kept for the next."""
    kept: dict[str, Any] = {"handle": Handle.READY, "signal": False, "landed": None}
    return with_link(world, link, read=read, **kept, **changes)


# What becomes of a link whose peer is gone.


@transition(step, duration="transport-loss", link=Links)
def close_endpoint(world: World, link: int) -> World | None:
    """The transport of {link} finds its peer gone, or out of reach, and closes the endpoint."""
    here = world.links[link]
    if here.connection != Connection.CONNECTED or not broken(world, link):
        return None
    if here.handle == Handle.PREPARING:
        return None
    posted = here.handle == Handle.POSTED
    world = with_link(
        world,
        link,
        connection=Connection.CLOSED,
        generation=None,
        mapped=None if world.protocol.unmap_on_peer_loss else here.mapped,
        handle=Handle.READY if posted else here.handle,
        landed=None,
    )
    return fails(world, link) if posted else world


@transition(step, duration="transport-loss", link=Links)
def close_under_unpack(world: World, link: int) -> World | None:
    """The transport of {link} closes the endpoint of a peer that is gone, under the thread that
    unpacks keys on it: the reader dies.
    """
    here = world.links[link]
    if here.connection != Connection.CONNECTED or not broken(world, link):
        return None
    if here.handle != Handle.PREPARING or world.protocol.quiesce_before_teardown:
        return None
    return dies(world, world.link_readers[link], felled=True)


# Weights are updated.


@transition(fault, duration="any-time", peer=Peers, version=Versions)
def weight_update(world: World, peer: int, version: int) -> World | None:
    """The weights of {peer} are updated in place, to {version}."""
    here = world.peers[peer]
    if here.life != Life.UP or not world.budget.weight_update or version != here.weights + 1:
        return None
    clears = world.protocol.cache_on_weight_update == CacheOnUpdate.CLEAR
    world = world.spend("weight_update")
    return with_peer(world, peer, weights=version, cached=version if clears else here.cached)


@transition(client, duration="client-choice", peer=Peers)
def reuse_prefix(world: World, peer: int) -> World | None:
    """{peer} serves a request from a prefix that its weights of before the update computed."""
    here = world.peers[peer]
    if here.life != Life.UP or here.cached == here.weights:
        return None
    if world.protocol.cache_on_weight_update != CacheOnUpdate.KEEP:
        return None
    return with_peer(world, peer, reused_old=True)
