"""Links between workers, and the memory that they reach."""

from __future__ import annotations

from rackproof.invariants.premises import (
    a_handle_was_prepared,
    a_link_was_in_trouble,
    a_peer_was_gone,
    a_peer_was_replaced,
    a_read_was_asked_for,
    kv_was_read,
    weights_were_updated,
)
from rackproof.model.kernel import always, eventually
from rackproof.model.peers import Connection, Life, Read, broken, outlived, peer_of, reader_of
from rackproof.model.sorts import Links, Peers
from rackproof.model.world import World


@always(
    link=Links,
    premise=a_handle_was_prepared,
    why="The addresses and keys of a peer that came back are of memory that is something else now: "
    "a crash at best, another's KV at worst.",
    catches=("nixl#2027", "nixl#1451"),
)
def no_stale_access(world: World, link: int) -> bool:
    """Nobody reads through a handle of its peer's earlier incarnation, or takes what a signal of
    before announced for its data.

    Broken: The reader of {link} used a handle of its peer's earlier incarnation, or took an old
    signal for the arrival of its data.
    """
    return not world.links[link].stale


@always(
    link=Links,
    premise=kv_was_read,
    why="KV of another layout or of other weights gives plausible text, wrong, and no error.",
    catches=("sglang#37838",),
)
def kv_compatible(world: World, link: int) -> bool:
    """No KV is used whose format or weights differ from the reader's.

    Broken: The reader of {link} used KV whose format or weights differ from its own.
    """
    return not world.links[link].unfit


@always(
    peer=Peers,
    premise=weights_were_updated,
    why="A prefix that other weights computed makes every answer behind it wrong, without error.",
    catches=("lmdeploy#4917", "RL#4018", "prime-rl#2266"),
)
def cache_is_current(world: World, peer: int) -> bool:
    """No worker serves a request from KV that its weights of before an update computed.

    Broken: {peer} served a request from KV that its weights of before an update computed.
    """
    return not world.peers[peer].reused_old


@always(
    peer=Peers,
    premise=a_link_was_in_trouble,
    why="A worker that dies of what befell another takes its own requests with it.",
    catches=("nixl#1986", "marin#8934", "vllm#40364"),
)
def no_crash_by_peer(world: World, peer: int) -> bool:
    """No worker dies because another one did, or because a link between them failed.

    Broken: {peer} died because another worker did, or because a link between them failed.
    """
    return not world.peers[peer].felled


@eventually(
    link=Links,
    premise=a_peer_was_gone,
    why="A link that nothing mends fails every request that is sent over it, though both are well.",
    catches=("Mooncake#3188",),
)
def links_recover(world: World, link: int) -> bool:
    """No link between two live workers stays broken, or rejected though the two are compatible, for
    good.

    Broken: Both workers of {link} are up, and it stays broken or rejected.
    """
    here = world.links[link]
    if reader_of(world, link).life != Life.UP or peer_of(world, link).life != Life.UP:
        return True
    if here.connection == Connection.CONNECTED:
        return not broken(world, link)
    return here.connection != Connection.REJECTED


@eventually(
    link=Links,
    premise=a_read_was_asked_for,
    why="A request whose handshake or read failed unheard holds its client and blocks for ever.",
    catches=("vllm#26171", "vllm#50754"),
)
def reads_end(world: World, link: int) -> bool:
    """No request of a live worker waits for KV of a peer for ever.

    Broken: A request at the reader of {link} waits for KV of its peer for ever.
    """
    waits = world.links[link].read in (Read.WAITING, Read.STRANDED)
    return reader_of(world, link).life != Life.UP or not waits


@eventually(
    peer=Peers,
    premise=a_peer_was_replaced,
    why="A replacement that finds its GPU full of its predecessor's memory cannot start, and those "
    "who keep that memory mapped wait for it to start.",
    catches=("vllm#58063",),
)
def memory_reclaimed(world: World, peer: int) -> bool:
    """Every replacement gets its memory in the end, and nobody keeps that of a process that is
    gone.

    Broken: {peer} still waits for its memory, or somebody still has that of a process of it mapped
    that is gone.
    """
    return (world.peers[peer].life != Life.STARTING) & (not outlived(world, peer))
