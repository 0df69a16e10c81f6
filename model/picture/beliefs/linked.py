"""What workers take those for that they are linked with, and both sides of a room each other."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from rackproof.model.kernel import Belief
from rackproof.model.peers import (
    Connection,
    Format,
    Handle,
    Life,
    Link,
    Peer,
    Read,
    broken,
    peer_of,
    reader_of,
)
from rackproof.model.picture.cast import Cast
from rackproof.model.rooms import Guest, Room, Status
from rackproof.model.sorts import Generations, Links, Rooms, Versions
from rackproof.model.world import World

_LIFE = {
    Life.UP: "is up",
    Life.DOWN: "is dead",
    Life.STARTING: "is being started again",
}


@frozen
class Sight:
    """A link, and both of its workers, with names."""

    cast: Cast
    world: World
    link: int

    @property
    def here(self) -> Link:
        """The link."""
        return self.world.links[self.link]

    @property
    def peer(self) -> Peer:
        """The worker whose memory it reaches."""
        return peer_of(self.world, self.link)

    @property
    def reader(self) -> str:
        """Who reads over it."""
        return self.cast.worker(self.world.link_readers[self.link])

    @property
    def owner(self) -> str:
        """Whose memory it reaches."""
        return self.cast.worker(self.world.link_owners[self.link])

    def is_now(self, generation: int) -> bool:
        """Whether the peer's process is this one, and up."""
        return self.peer.life is Life.UP and self.peer.generation == generation

    @property
    def truth(self) -> str:
        """What the peer is."""
        return f"{_LIFE[self.peer.life]}, as {generation(self.peer.generation)}"


def generation(number: int) -> str:
    """The incarnation of a worker."""
    return f"{Generations}-{number}"


def of_links(cast: Cast, world: World) -> Iterator[Belief]:
    """What readers take their peers for, and peers their readers."""
    for link in range(len(world.links)):
        sight = Sight(cast, world, link)
        if reader_of(world, link).life is Life.UP:
            yield from _peer(sight)
            yield from _memory(sight)
            yield from _data(sight)
        yield from _reader(sight)
    for peer, here in enumerate(world.peers):
        if here.felled and here.life is Life.DOWN:
            name, truth = cast.worker(peer), "was well: what failed was a link, or its peer"
            yield Belief(name, name, "cannot go on", truth, False)
        if here.cached != here.weights and here.life is Life.UP:
            name = cast.worker(peer)
            believed = "has prefixes cached that its weights computed"
            truth = f"has prefixes cached that {Versions}-{here.cached} computed"
            yield Belief(name, name, believed, truth, False)


def _peer(sight: Sight) -> Iterator[Belief]:
    """Whether a peer is the one that a link was made with."""
    here = sight.here
    if here.connection is Connection.CONNECTED and here.generation is not None:
        believed = f"is up, as {generation(here.generation)}"
        out = sight.world.domain_down and here.mapped is not None
        truth = "is out of reach over NVLink" if out else sight.truth
        yield Belief(
            sight.reader, sight.owner, believed, truth, not broken(sight.world, sight.link)
        )
        if sight.world.differs:
            yield _format(sight)
    if here.read is Read.STRANDED:
        believed, truth = "is going to send KV", "is asked for nothing: nobody comes back to it"
        yield Belief(sight.reader, sight.owner, believed, truth, False)


def _format(sight: Sight) -> Belief:
    differs = " and ".join(_format_words(kind) for kind in sight.world.differs)
    return Belief(sight.reader, sight.owner, "has KV like its own", f"has another {differs}", False)


def _format_words(kind: Format) -> str:
    return f"{kind.value.replace('_', ' ')} of KV"


def _memory(sight: Sight) -> Iterator[Belief]:
    """Whether memory that is mapped, or that a handle reaches into, is still there."""
    here = sight.here
    for reached, how in (
        (here.mapped, "is mapped"),
        (_prepared(here), "is where the handle reads"),
    ):
        if reached is not None:
            fine = sight.is_now(reached)
            believed = f"has the memory of {generation(reached)}, which {how}"
            yield Belief(
                sight.reader, sight.owner, believed, believed if fine else sight.truth, fine
            )


def _prepared(here: Link) -> int | None:
    return here.prepared if here.handle in (Handle.READY, Handle.POSTED) else None


def _data(sight: Sight) -> Iterator[Belief]:
    """Whether what a signal announces is there, and of the reader's weights."""
    here, name = sight.here, sight.cast.called(Links, sight.link)
    if here.handle is Handle.POSTED and here.signal:
        fine, believed = here.landed is not None, "has its data there"
        truth = believed if fine else "has no data there: the signal is an old one"
        yield Belief(sight.reader, name, believed, truth, fine)
    if here.landed is not None:
        own = reader_of(sight.world, sight.link).weights
        believed, truth = (f"brought KV of {Versions}-{it}" for it in (own, here.landed))
        yield Belief(sight.reader, name, believed, truth, own == here.landed)
    if here.stale:
        believed, truth = "brought KV of its peer of now", "brought what is not that"
        yield Belief(sight.reader, name, believed, truth, False)
    if here.unfit:
        believed, truth = "brought KV like its own", "brought KV that means something else to it"
        yield Belief(sight.reader, name, believed, truth, False)


def _reader(sight: Sight) -> Iterator[Belief]:
    """Whether the endpoint that a peer has for a reader is of the reader's process."""
    here, reader = sight.here, reader_of(sight.world, sight.link)
    if here.accepted is None or sight.peer.life is not Life.UP:
        return
    fine = reader.generation == here.accepted and reader.life is Life.UP
    believed = f"is up, as {generation(here.accepted)}"
    truth = f"{_LIFE[reader.life]}, as {generation(reader.generation)}"
    yield Belief(sight.owner, sight.reader, believed, truth, fine)


def of_rooms(cast: Cast, world: World) -> Iterator[Belief]:
    """What both sides of a room make of its status."""
    for number, room in enumerate(world.rooms):
        name = cast.called(Rooms, number) if Rooms in cast.names else f"{Rooms}-{number}"
        if room.crashed:
            truth = "was the number of two requests"
            yield Belief(cast.decode_side, name, "is the number of one request", truth, False)
        elif room.guest is not Guest.NONE:
            yield _status(cast, name, room)
        if room.sending and room.status is Status.FAILED and not room.crashed:
            yield Belief(cast.prefill_side, name, "is transferring", "has failed", False)


def _status(cast: Cast, name: str, room: Room) -> Belief:
    """Whether what the table says of a room is of the request that is in it."""
    believed = f"is {room.status.value}"
    if room.revived:
        truth = "failed, before its transfer was reported"
    elif room.status is Status.SUCCESS and room.guest is Guest.HANDSHAKE:
        truth = "has had no transfer: that was of the request before"
    else:
        return Belief(cast.decode_side, name, believed, believed, True)
    return Belief(cast.decode_side, name, believed, truth, False)
