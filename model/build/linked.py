"""Links between workers, and bootstrap rooms, at the start."""

from __future__ import annotations

from rackproof.model.build.part import Part
from rackproof.model.endpoint import Role
from rackproof.model.kernel import Bundle, ModelError
from rackproof.model.peers import Format, Link, Peer
from rackproof.model.rack import Placement
from rackproof.model.rooms import Room
from rackproof.model.scope import Scope
from rackproof.model.sorts import Links, Peers, Rooms


def linked(scope: Scope, placement: Placement) -> Part:
    """The links and rooms that a scope asks for."""
    names = [instance.name for instance in placement.instances]
    pairs, peers = _pairs(scope, placement), names if scope.links else []
    return Part(
        fields={
            "link_readers": tuple(reader for reader, _ in pairs),
            "link_owners": tuple(serving for _, serving in pairs),
            "differs": tuple(kind for kind in Format if getattr(scope, f"mixed_{kind.value}")),
            "peers": tuple(Peer(generation=0, weights=0, cached=0) for _ in peers),
            "links": tuple(Link() for _ in pairs),
            "rooms": tuple(Room() for _ in range(scope.rooms)),
        },
        sizes={
            "generation": scope.faults.get("peer-crash", 0) + 1,
            "version": scope.faults.get("weight-update", 0) + 1,
        },
        names={
            Peers: tuple(peers),
            Links: tuple(f"{names[reader]}->{names[serving]}" for reader, serving in pairs),
        },
        interchangeable=(tuple(((Rooms, i),) for i in range(scope.rooms)), *_alike(pairs)),
    )


def _pairs(scope: Scope, placement: Placement) -> tuple[tuple[int, int], ...]:
    """The reader and the owner of each link: decode workers read from prefill workers."""
    roles = [Role(instance.role) for instance in placement.instances]
    readers = [worker for worker, role in enumerate(roles) if role is Role.DECODE]
    owners = [worker for worker, role in enumerate(roles) if role is Role.PREFILL]
    pairs = [(reader, serving) for serving in owners for reader in readers]
    if scope.links > len(pairs):
        raise ModelError(
            f"links join a decode and a prefill worker: {len(pairs)} at most, not {scope.links}"
        )
    return tuple(pairs[: scope.links])


def _alike(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[Bundle, ...], ...]:
    """The links to one worker, with those who have no other link."""
    found: dict[int, list[Bundle]] = {}
    readers = [reader for reader, _ in pairs]
    for link, (reader, serving) in enumerate(pairs):
        if readers.count(reader) == 1:
            found.setdefault(serving, []).append(((Peers, reader), (Links, link)))
    return tuple(tuple(bundles) for bundles in found.values())
