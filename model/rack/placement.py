"""Where the instances are: sets of GPUs by role, and what the rack's symmetry exchanges of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.rack.graph import Part, Rack
from rackproof.model.rack.symmetry import is_automorphism, swap, tray_swaps

CALLED: Final = {"prefill": "prefill", "decode": "decode", "aggregated": "worker"}
"""What the instances of a role are called, with a number behind it; in their order."""

GPUS_AN_INSTANCE: Final = 4

Names = tuple[tuple[str, int], ...]
"""A bundle by the names of its sorts: ("tray", 0), ("worker", 2)."""


@frozen
class Instance:
    """A worker on its GPUs; ``tray`` is a place in the placement's list of trays."""

    name: str
    role: str
    gpus: tuple[str, ...]
    tray: int


@frozen(eq=False)
class Placement:
    """Instances on a rack.

    trays: those that carry an instance. bundles: classes of trays (with the workers on them) or of
    workers that automorphisms of the rack exchange.
    """

    rack: Rack
    instances: tuple[Instance, ...]
    trays: tuple[str, ...]
    bundles: tuple[tuple[Names, ...], ...]


def place(
    rack: Rack,
    prefill: int = 0,
    decode: int = 0,
    aggregated: int = 0,
    on: Mapping[str, str | Sequence[str]] | None = None,
) -> Placement:
    """Place instances: one a tray in turn, on 4 GPUs (or all of a smaller tray).

    on: for an instance by its name (decode-0), the tray or the GPUs that it is put on instead.
    ``ModelError`` where they do not fit.
    """
    counts = {"prefill": prefill, "decode": decode, "aggregated": aggregated}
    _check_counts(counts)
    wanted = [(f"{CALLED[role]}-{i}", role) for role, n in counts.items() for i in range(n)]
    seats = _Seats(rack)
    chosen = dict(on or {})
    for name in chosen:
        if name not in dict(wanted):
            raise ModelError(f"there is no instance {name!r} to be placed")
    gpus = {name: seats.named(name, chosen[name]) for name, _ in wanted if name in chosen}
    for name, _ in wanted:
        if name not in gpus:
            gpus[name] = seats.following(name)
    return _placed(rack, [(name, role, gpus[name]) for name, role in wanted])


def _check_counts(counts: Mapping[str, int]) -> None:
    for role, count in counts.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ModelError(f"{role} is a number of instances, not {count!r}")
    if not any(counts.values()):
        raise ModelError("there is no instance: say how many prefill, decode, aggregated")
    if bool(counts["prefill"]) != bool(counts["decode"]):
        raise ModelError("prefill and decode instances need each other")


class _Seats:
    """Which GPUs are still free, and whose turn it is."""

    def __init__(self, rack: Rack) -> None:
        self.rack = rack
        self.trays = [tray for tray in rack.parts(Part.TRAY) if rack.gpus_of(tray)]
        self.free = {tray: list(rack.gpus_of(tray)) for tray in self.trays}
        self.turn = 0

    def named(self, name: str, where: str | Sequence[str]) -> tuple[str, ...]:
        """The GPUs that an instance is put on by hand."""
        if isinstance(where, str):
            if where not in self.free:
                raise ModelError(f"{name}: there is no tray {where!r} with GPUs in the rack")
            return self._from(name, where)
        for gpu in where:
            if gpu not in self.rack.graph or self.rack.kind(gpu) is not Part.GPU:
                raise ModelError(f"{name}: there is no GPU {gpu!r} in the rack")
        trays = {self.rack.tray_of(gpu) for gpu in where}
        if len(trays) != 1:
            raise ModelError(f"{name} needs GPUs of one tray, not of {len(trays)}")
        return self._take(name, trays.pop(), where)

    def following(self, name: str) -> tuple[str, ...]:
        """The next tray in turn that has room."""
        for _ in self.trays:
            tray = self.trays[self.turn % len(self.trays)]
            self.turn += 1
            if len(self.free[tray]) >= self._size(tray):
                return self._from(name, tray)
        raise ModelError(f"{name}: there is no room left on {self.rack.name}")

    def _size(self, tray: str) -> int:
        return min(GPUS_AN_INSTANCE, len(self.rack.gpus_of(tray)))

    def _from(self, name: str, tray: str) -> tuple[str, ...]:
        size = self._size(tray)
        if len(self.free[tray]) < size:
            raise ModelError(f"{name}: {tray} has no {size} free GPUs left")
        return self._take(name, tray, self.free[tray][:size])

    def _take(self, name: str, tray: str, gpus: Sequence[str]) -> tuple[str, ...]:
        for gpu in gpus:
            if gpu not in self.free[tray]:
                raise ModelError(f"{name}: {gpu} is taken")
            self.free[tray].remove(gpu)
        return tuple(gpus)


def _placed(rack: Rack, seats: Iterable[tuple[str, str, tuple[str, ...]]]) -> Placement:
    seats = list(seats)
    trays = tuple(dict.fromkeys(rack.tray_of(gpus[0]) for _, _, gpus in seats))
    instances = tuple(
        Instance(name, role, gpus, trays.index(rack.tray_of(gpus[0]))) for name, role, gpus in seats
    )
    return Placement(rack, instances, trays, _bundles(rack, instances, trays))


def _bundles(
    rack: Rack, instances: Sequence[Instance], trays: Sequence[str]
) -> tuple[tuple[Names, ...], ...]:
    """Classes that share nothing: trays that are alike, and on the others, workers that are."""
    classes: list[tuple[Names, ...]] = []
    for group in _grouped(range(len(trays)), lambda a, b: _laid_over(rack, instances, trays, a, b)):
        if len(group) > 1:
            classes.append(tuple(bundle for _, bundle in group.items()))
        else:
            classes.extend(_workers_alike(rack, instances, *group))
    return tuple(classes)


def _grouped(
    items: Iterable[int], laid: Callable[[int, int], tuple[Names, Names] | None]
) -> list[dict[int, Names]]:
    """Put items together that can be exchanged with the first of their group."""
    groups: list[dict[int, Names]] = []
    for item in items:
        for group in groups:
            first = next(iter(group))
            found = laid(first, item)
            if found is not None:
                group[first], group[item] = found
                break
        else:
            groups.append({item: ()})
    return groups


def _laid_over(
    rack: Rack, instances: Sequence[Instance], trays: Sequence[str], one: int, other: int
) -> tuple[Names, Names] | None:
    """The bundles of two trays, in one order, where the rack lets them be exchanged."""
    mine, others = (_on(instances, tray) for tray in (one, other))
    if sorted(instances[i].role for i in mine) != sorted(instances[i].role for i in others):
        return None
    theirs = {(instances[i].role, frozenset(instances[i].gpus)): i for i in others}
    for moved in tray_swaps(rack, trays[one], trays[other]):
        images = [
            theirs.get((instances[i].role, frozenset(moved[gpu] for gpu in instances[i].gpus)))
            for i in mine
        ]
        found = [image for image in images if image is not None]
        if len(found) == len(mine):
            return _names(one, mine), _names(other, found)
    return None


def _on(instances: Sequence[Instance], tray: int) -> list[int]:
    return [i for i, instance in enumerate(instances) if instance.tray == tray]


def _names(tray: int, workers: Iterable[int]) -> Names:
    return (("tray", tray), *(("worker", worker) for worker in workers))


def _workers_alike(
    rack: Rack, instances: Sequence[Instance], tray: int
) -> Iterable[tuple[Names, ...]]:
    """Classes of workers on one tray that can be exchanged, each with its own NICs."""

    def laid(one: int, other: int) -> tuple[Names, Names] | None:
        a, b = instances[one], instances[other]
        if a.role != b.role or not _can_swap(rack, a.gpus, b.gpus):
            return None
        return (("worker", one),), (("worker", other),)

    for group in _grouped(_on(instances, tray), laid):
        if len(group) > 1:
            yield tuple(group.values())


def _can_swap(rack: Rack, one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lists of GPUs can be exchanged, with what is linked to them alone."""
    if len(one) != len(other):
        return False
    mine, theirs = _with_own(rack, one), _with_own(rack, other)
    return len(mine) == len(theirs) and is_automorphism(rack, swap(mine, theirs))


def _with_own(rack: Rack, gpus: Sequence[str]) -> list[str]:
    """GPUs, and the hosts and NICs of their tray that serve no other GPU."""
    inside = set(rack.within(rack.tray_of(gpus[0])))
    found = list(gpus)
    for gpu in gpus:
        for node in rack.graph[gpu]:
            served = {other for other in rack.graph[node] if rack.kind(other) is Part.GPU}
            if node in inside and served <= set(gpus) and node not in found:
                found.append(node)
    return found
