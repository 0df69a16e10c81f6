"""What the nodes of the rack are like in a state: fine, busy, suspect or failed, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from rackproof.model.endpoint import ANSWERS, Process
from rackproof.model.kernel import Belief, Site
from rackproof.model.kv import Hold
from rackproof.model.peers import Life
from rackproof.model.picture.beliefs import Beliefs
from rackproof.model.picture.cast import MASTER, Cast
from rackproof.model.picture.words import PROCESS, counted
from rackproof.model.request import TERMINAL
from rackproof.model.sorts import Blocks, Keys, Prefixes, Requests, Segments, Spaces
from rackproof.model.store.records import Entry, Mount
from rackproof.model.stream import Stage
from rackproof.model.world import World

_SERVES: Final = {
    Stage.ACCEPTED: "has {} in its queue",
    Stage.LOADING: "waits for the KV of {}",
    Stage.RUNNING: "decodes {}",
}
_LIFE: Final = {Life.DOWN: "is dead", Life.STARTING: "is being started again"}


@frozen
class Sites:
    """The sites of the nodes that are drawn.

    gpus, trays: the workers on each. frontends, stores, switches: nodes of these kinds.
    """

    cast: Cast
    beliefs: Beliefs
    gpus: Mapping[str, int]
    trays: Mapping[str, tuple[int, ...]]
    frontends: tuple[str, ...]
    stores: tuple[str, ...]
    switches: tuple[str, ...]

    def __call__(self, world: Any) -> Mapping[str, Site]:
        """What each node is like; of the nodes that are not named nothing is known."""
        mistaken = [belief for belief in self.beliefs(world) if belief.mistaken]
        workers = [self._worker(world, worker, mistaken) for worker in range(len(world.endpoints))]
        found = {self.cast.worker(worker): site for worker, site in enumerate(workers)}
        found |= {gpu: self._gpu(world, worker) for gpu, worker in self.gpus.items()}
        found |= {tray: _tray(world, on) for tray, on in self.trays.items()}
        found |= {node: _switch(world) for node in self.switches}
        found |= {node: _frontend(self.cast, world) for node in self.frontends}
        if world.readers:
            store = _store(self.cast, world, mistaken)
            found |= dict.fromkeys(self.stores, store)
        return found

    def _worker(self, world: World, worker: int, mistaken: list[Belief]) -> Site:
        does, holds = (
            tuple(_does(self.cast, world, worker)),
            tuple(_holds(self.cast, world, worker)),
        )
        words = (*_state(world, worker), *_marks(world, worker), *does, *holds)
        if not _works(world, worker):
            return Site("failed", words)
        if any(self._is_of(belief, world, worker) for belief in mistaken):
            return Site("suspect", words)
        return Site("busy" if self._is_busy(world, worker) else "fine", words)

    def _gpu(self, world: World, worker: int) -> Site:
        """A GPU is as its worker is in truth, whatever is believed of that."""
        if not _works(world, worker):
            return Site("failed")
        return Site("busy" if self._is_busy(world, worker) else "fine")

    def _is_busy(self, world: World, worker: int) -> bool:
        """Whether a worker has requests, or blocks that are allocated."""
        return any(_does(self.cast, world, worker)) or any(
            home == worker and room.owner is not None
            for room, home in zip(world.blocks, world.homes, strict=True)
        )

    def _is_of(self, belief: Belief, world: World, worker: int) -> bool:
        """Whether others believe something of a worker, or anybody of its blocks."""
        name = self.cast.worker(worker)
        blocks = {
            self.cast.called(Blocks, block)
            for block, home in enumerate(world.homes)
            if home == worker
        }
        return belief.subject in blocks or (belief.subject == name and belief.who != name)


def _works(world: World, worker: int) -> bool:
    """Whether a worker is awake and at work."""
    up = world.endpoints[worker].process in ANSWERS
    return up and (not world.peers or world.peers[worker].life is Life.UP)


def _state(world: World, worker: int) -> Iterator[str]:
    """What has become of a worker's process, where that is no longer up."""
    process = world.endpoints[worker].process
    if process is not Process.UP:
        yield PROCESS[process]
    if world.peers and world.peers[worker].life is not Life.UP:
        yield _LIFE[world.peers[worker].life]


def _marks(world: World, worker: int) -> Iterator[str]:
    """What discovery and the router have against a worker."""
    endpoint = world.endpoints[worker]
    if not endpoint.listed:
        yield "not in discovery"
    if endpoint.inhibited:
        yield "inhibited by the router"
    if endpoint.overloaded:
        yield "marked as overloaded"
    elif endpoint.busy:
        yield "has more than it can take"
    if endpoint.stale:
        yield "sends no load reports"
    if endpoint.skewed:
        yield "has its clock behind"


def _does(cast: Cast, world: World, worker: int) -> Iterator[str]:
    """What a worker has of requests."""
    for request, stream in enumerate(world.streams):
        name = cast.called(Requests, request)
        for here, load in zip(stream.attempts, world.loads[request].attempts, strict=True):
            if load.prefill == worker and load.hold is Hold.ASKED and not load.stale:
                yield f"has the prefill of {name} to compute"
            if here.worker == worker and here.stage in _SERVES and not here.severed:
                yield _SERVES[here.stage].format(name)


def _holds(cast: Cast, world: World, worker: int) -> Iterator[str]:
    """What lies in the memory of a worker, and whose it is."""
    if world.endpoints[worker].process in (Process.DOWN, Process.LOST, Process.STOPPED):
        return
    for block, (room, home) in enumerate(zip(world.blocks, world.homes, strict=True)):
        if home == worker and (room.owner is not None or room.content is not None):
            owner = _whose(cast, room.owner, "allocated to {}", "free")
            content = _whose(cast, room.content, "holds KV of {}", "holds no KV")
            yield f"{cast.called(Blocks, block).split('@')[0]}: {owner}, {content}"
    if world.prefixes and world.caches[worker].holds:
        held = sorted(world.caches[worker].holds)
        yield f"caches {', '.join(f'{Prefixes}-{prefix}' for prefix in held)}"


def _whose(cast: Cast, request: int | None, some: str, none: str) -> str:
    return none if request is None else some.format(cast.called(Requests, request))


def _tray(world: World, workers: tuple[int, ...]) -> Site:
    """A tray is lost with all that is on it."""
    lost = all(world.endpoints[worker].process is Process.LOST for worker in workers)
    return Site("failed", ("has no power",)) if lost else Site("fine")


def _switch(world: World) -> Site:
    return Site("failed", ("the NVLink domain has a fault",)) if world.domain_down else Site("fine")


def _frontend(cast: Cast, world: World) -> Site:
    """What the frontend, with the router, is at."""
    words = []
    for request, here in enumerate(world.requests):
        given = counted(world.streams[request].delivered, "token")
        words.append(f"{cast.called(Requests, request)}: {here.phase.value}, {given} delivered")
    if world.draining:
        words.append("takes no new request: it is told to stop")
    if not world.discovery_up:
        words.append("discovery is away")
    busy = any(here.phase not in TERMINAL for here in world.requests)
    return Site("busy" if busy else "fine", tuple(words))


def _store(cast: Cast, world: World, mistaken: list[Belief]) -> Site:
    """What the shared store has, by its master."""
    words = []
    for key, found in enumerate(world.objects):
        where = "" if found.space is None else f" in {cast.called(Spaces, found.space)}"
        words.append(f"{cast.called(Keys, key)}: {found.entry.value}{where}")
    for number, segment in enumerate(world.segments):
        if not segment.up or segment.mount is not Mount.MOUNTED:
            state = "up" if segment.up else "gone with its worker"
            mount = f"{segment.mount.value} for the master"
            words.append(f"{cast.called(Segments, number)}: {state}, {mount}")
    if not world.serving:
        return Site("failed", (f"the master is {world.master.leader.value}", *words))
    if any(belief.who == MASTER for belief in mistaken):
        return Site("suspect", tuple(words))
    there = any(found.entry is not Entry.ABSENT for found in world.objects)
    return Site("busy" if there else "fine", tuple(words))
