"""A shared store at the start: what it has, who lends it memory, who uses it."""

from __future__ import annotations

from rackproof.model.build.part import Part
from rackproof.model.kernel import Bundle, Identifiers
from rackproof.model.scope import Scope
from rackproof.model.sorts import Clients, Keys, Segments, Spaces
from rackproof.model.store.records import Entry, Object, Reader, Segment, Space


def stored(scope: Scope) -> Part:
    """The store that a scope asks for; without clients there is none."""
    remounts = sum(scope.faults.get(f"segment-{fault}", 0) for fault in ("return", "silence"))
    return Part(
        fields={
            "gets": scope.gets,
            "ranks": scope.ranks,
            "hot_copies": scope.hot_copies,
            "disk": scope.disk,
            "lenders": _lenders(scope),
            "objects": _objects(scope),
            "spaces": _spaces(scope),
            "segments": tuple(Segment() for _ in range(_segments(scope))),
            "readers": tuple(Reader() for _ in range(scope.clients)),
        },
        sizes={
            "puts": scope.clients * scope.gets * scope.segments + 2,
            "pins": 2 * max(scope.clients * scope.gets, 1),
            "segment_epochs": max(remounts, 1),
            "gets": scope.gets,
        },
        names=_names(scope),
        interchangeable=_alike(scope),
    )


def _names(scope: Scope) -> dict[Identifiers, tuple[str, ...]]:
    client, several = "rank" if scope.ranks else "client", scope.segments > 1
    return {
        Keys: tuple(f"key-{i}" for i in range(len(_objects(scope)))),
        Clients: tuple(f"{client}-{i}" for i in range(scope.clients)),
        Segments: tuple(f"segment-{i}" for i in range(_segments(scope))),
        Spaces: tuple(
            f"space-{i % scope.spaces}" + (f"@segment-{segment}" if several else "")
            for i, segment in enumerate(_lenders(scope))
        ),
    }


def _segments(scope: Scope) -> int:
    """How many segments there are: none without a store."""
    return scope.segments if scope.clients else 0


def _lenders(scope: Scope) -> tuple[int, ...]:
    """The segment that each space is in."""
    return tuple(segment for segment in range(_segments(scope)) for _ in range(scope.spaces))


def _objects(scope: Scope) -> tuple[Object, ...]:
    """What the master has at the start."""
    there = [Object(entry=Entry.COMPLETE, space=i, put=1, oldest=1) for i in range(scope.stored)]
    absent = [Object() for _ in range(scope.keys - scope.stored)]
    return (*there, *absent) if scope.clients else ()


def _spaces(scope: Scope) -> tuple[Space, ...]:
    """What lies in the store at the start."""
    there = [Space(owner=i, put=1, content=i, written=1, whole=True) for i in range(scope.stored)]
    empty = [Space() for _ in range(len(_lenders(scope)) - scope.stored)]
    return (*there, *empty) if scope.clients else ()


def _alike(scope: Scope) -> tuple[tuple[Bundle, ...], ...]:
    """What is alike in the store: clients, keys that are not there yet, segments that are empty."""
    clients = tuple(((Clients, i),) for i in range(scope.clients))
    if not scope.clients:
        return ()
    keys = tuple(((Keys, i),) for i in range(scope.stored, scope.keys))
    lenders, first = _lenders(scope), -(-scope.stored // scope.spaces)
    segments = tuple(
        ((Segments, i), *((Spaces, space) for space, lender in enumerate(lenders) if lender == i))
        for i in range(first, scope.segments)
    )
    return (clients, keys, segments)
