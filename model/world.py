"""The world: machines over one set of requests and workers, and a protocol."""

from __future__ import annotations

from typing import Any

from rackproof.model.cache import Cache
from rackproof.model.endpoint import DEAD, Endpoint, Process, Role
from rackproof.model.faults import Budget
from rackproof.model.index import Known, Lane, Router
from rackproof.model.kernel import (
    bounded,
    each,
    evolve,
    fixed,
    frozen,
    identifier,
    parameter,
    put,
)
from rackproof.model.kv import Block, Hold, Loads, Scales
from rackproof.model.logic import some
from rackproof.model.peers import Format, Link, Peer
from rackproof.model.protocol import Protocol, Release, ZeroBudget
from rackproof.model.request import Phase, Request
from rackproof.model.retry import Retry
from rackproof.model.rooms import Room
from rackproof.model.sorts import (
    Blocks,
    Clients,
    Keys,
    Links,
    Peers,
    Requests,
    Rooms,
    Scaled,
    Segments,
    Spaces,
    Workers,
)
from rackproof.model.store.records import Leader, Master, Object, Reader, Segment, Space
from rackproof.model.stream import Stage, Stream


@frozen
class World:
    """One state.

    tokens: how many an output has; max_tokens: how many a request may have; a_round: the retry
    limit and one; gateway_retries, client_retries: rounds that are begun again by whoever stands in
    front; most_dispatches: all of that together; handles: how many a transfer is split over;
    sessions: whether all requests are of one session, which is bound to a worker; given: the faults
    at the start. roles and trays: of each worker; homes: the worker that each block is on.
    link_readers and link_owners: of each link, who reads over it and whose memory; differs: in what
    the two differ.

    discovery_up: discovery itself answers. draining: the frontend was told to stop. session: the
    worker that the session is bound to. domain_down: the NVLink domain has a fault. prefixes: how
    many there are to cache; changes_left: how often caches may still change. gets, ranks,
    hot_copies, disk: how many look-ups a client of the store makes, whether clients are ranks of
    one request, whether they keep copies, whether the store is on disks; lenders: the segment that
    each space is in.
    """

    protocol: Protocol = fixed()
    tokens: int = parameter(1, "most")
    max_tokens: int = parameter(1, "most")
    a_round: int = parameter(1, "round")
    gateway_retries: int = fixed()
    client_retries: int = fixed()
    most_dispatches: int = parameter(1, "dispatches")
    handles: int = fixed()
    sessions: bool = fixed()
    given: Budget = parameter(0, "faults")
    roles: tuple[Role, ...] = fixed()
    trays: tuple[int, ...] = fixed()
    homes: tuple[int, ...] = fixed()
    link_readers: tuple[int, ...] = fixed(())
    link_owners: tuple[int, ...] = fixed(())
    differs: tuple[Format, ...] = fixed(())
    prefixes: int = fixed()
    gets: int = fixed()
    ranks: bool = fixed()
    hot_copies: bool = fixed()
    disk: bool = fixed()
    lenders: tuple[int, ...] = fixed()
    requests: tuple[Request, ...] = each(Requests)
    streams: tuple[Stream, ...] = each(Requests)
    loads: tuple[Loads, ...] = each(Requests)
    retries: tuple[Retry, ...] = each(Requests)
    endpoints: tuple[Endpoint, ...] = each(Workers)
    blocks: tuple[Block, ...] = each(Blocks)
    scales: tuple[Scales, ...] = each(Scaled)
    discovery_up: bool = True
    draining: bool = False
    session: int | None = identifier(Workers)
    peers: tuple[Peer, ...] = each(Peers)
    links: tuple[Link, ...] = each(Links)
    rooms: tuple[Room, ...] = each(Rooms)
    domain_down: bool = False
    caches: tuple[Cache, ...] = each(Workers)
    known: tuple[Known, ...] = each(Workers)
    router: Router = Router()
    changes_left: int = bounded(0, "changes")
    objects: tuple[Object, ...] = each(Keys)
    spaces: tuple[Space, ...] = each(Spaces)
    segments: tuple[Segment, ...] = each(Segments)
    readers: tuple[Reader, ...] = each(Clients)
    master: Master = Master()
    budget: Budget = Budget()

    def spend(self, fault: str) -> World:
        """The world with one fault fewer to come."""
        left = getattr(self.budget, fault) - 1
        return evolve(self, budget=evolve(self.budget, **{fault: left}))

    def with_request(self, request: int, **changes: Any) -> World:
        """The world with a request changed."""
        changed = evolve(self.requests[request], **changes)
        return evolve(self, requests=put(self.requests, request, changed))

    def with_stream(self, request: int, **changes: Any) -> World:
        """The world with a stream changed."""
        changed = evolve(self.streams[request], **changes)
        return evolve(self, streams=put(self.streams, request, changed))

    def with_attempt(self, request: int, attempt: int, **changes: Any) -> World:
        """The world with an attempt's frames changed."""
        attempts = self.streams[request].attempts
        changed = evolve(attempts[attempt], **changes)
        return self.with_stream(request, attempts=put(attempts, attempt, changed))

    def with_load(self, request: int, attempt: int, **changes: Any) -> World:
        """The world with an attempt's load changed."""
        attempts = self.loads[request].attempts
        changed = evolve(attempts[attempt], **changes)
        loads = evolve(self.loads[request], attempts=put(attempts, attempt, changed))
        return evolve(self, loads=put(self.loads, request, loads))

    def with_retry(self, request: int, **changes: Any) -> World:
        """The world with a request's retry state changed."""
        changed = evolve(self.retries[request], **changes)
        return evolve(self, retries=put(self.retries, request, changed))

    def with_endpoint(self, worker: int, **changes: Any) -> World:
        """The world with a worker changed."""
        changed = evolve(self.endpoints[worker], **changes)
        return evolve(self, endpoints=put(self.endpoints, worker, changed))

    def with_whole_endpoint(self, worker: int, endpoint: Endpoint) -> World:
        """The world with another state of a worker."""
        return evolve(self, endpoints=put(self.endpoints, worker, endpoint))

    def with_block(self, block: int, **changes: Any) -> World:
        """The world with a block changed."""
        changed = evolve(self.blocks[block], **changes)
        return evolve(self, blocks=put(self.blocks, block, changed))

    def with_scales(self, block: int, **changes: Any) -> World:
        """The world with the scales of a block changed, where KV is quantised and has any."""
        if not self.scales:
            return self
        changed = evolve(self.scales[block], **changes)
        return evolve(self, scales=put(self.scales, block, changed))

    def with_cache(self, worker: int, **changes: Any) -> World:
        """The world with a worker's cache changed."""
        changed = evolve(self.caches[worker], **changes)
        return evolve(self, caches=put(self.caches, worker, changed))

    def with_known(self, worker: int, **changes: Any) -> World:
        """The world with what the router's index has of a worker changed."""
        changed = evolve(self.known[worker], **changes)
        return evolve(self, known=put(self.known, worker, changed))

    def attached(self, worker: int) -> bool:
        """Whether the router has a worker on its list."""
        return self.known[worker].lane != Lane.GONE

    def change(self) -> World:
        """The world with one change of a cache fewer to come."""
        return evolve(self, changes_left=self.changes_left - 1)

    def with_object(self, key: int, **changes: Any) -> World:
        """The world with what the master has under a key changed."""
        return evolve(self, objects=put(self.objects, key, evolve(self.objects[key], **changes)))

    def with_space(self, space: int, **changes: Any) -> World:
        """The world with a space of the store changed."""
        return evolve(self, spaces=put(self.spaces, space, evolve(self.spaces[space], **changes)))

    def with_segment(self, segment: int, **changes: Any) -> World:
        """The world with a segment of the store changed."""
        changed = evolve(self.segments[segment], **changes)
        return evolve(self, segments=put(self.segments, segment, changed))

    def with_reader(self, client: int, **changes: Any) -> World:
        """The world with a client of the store changed."""
        changed = evolve(self.readers[client], **changes)
        return evolve(self, readers=put(self.readers, client, changed))

    def with_master(self, **changes: Any) -> World:
        """The world with the master of the store changed."""
        return evolve(self, master=evolve(self.master, **changes))

    @property
    def serving(self) -> bool:
        """Whether the master of the store answers."""
        return self.master.leader == Leader.SERVING

    def end(self, request: int, phase: Phase) -> World:
        """The world in which a request is over."""
        return self.with_request(request, phase=phase)

    def exists(self, block: int) -> bool:
        """Whether a block's memory still exists."""
        return self.endpoints[self.homes[block]].process not in DEAD

    def pinned(self, block: int) -> bool:
        """Whether a frozen worker has posted a transfer from a block, which may still run."""
        return some(
            (load.source == block) & (load.flying > 0) & self._frozen(request, attempt)
            for request, loads in enumerate(self.loads)
            for attempt, load in enumerate(loads.attempts)
        )

    def _frozen(self, request: int, attempt: int) -> bool:
        here = self.streams[request].attempts[attempt]
        return some(
            (endpoint.process == Process.HUNG) & (here.worker == worker)
            for worker, endpoint in enumerate(self.endpoints)
        )

    def can_serve(self) -> bool:
        """Whether there are workers alive that could serve a request: one that does everything, or
        one to decode, with one for the prefill unless it can do that too.
        """
        up = {role: self._is_up(role) for role in Role}
        prefill = up[Role.PREFILL] | self.protocol.local_prefill
        return up[Role.AGGREGATED] | (up[Role.DECODE] & prefill)

    def _is_up(self, role: Role) -> bool:
        return some(
            self.endpoints[worker].process == Process.UP for worker in self.serving_as(role)
        )

    def believed(self, worker: int) -> bool:
        """Whether the router takes a worker to be there."""
        if self.draining and not self.protocol.watch_outlives_requests:
            return False
        endpoint = self.endpoints[worker]
        return endpoint.listed if self.protocol.select_from_discovery else endpoint.mirrored

    def has_scales(self, request: int, block: int) -> bool:
        """Whether the scales that lie with a block are those of a request, where KV has any."""
        if not self.scales:
            return True
        here = self.scales[block]
        return (here.block_scales == request) & (here.tensor_scale == request)

    def free(self, request: int, block: int) -> World:
        """The world in which a block is released, if this request has it."""
        return self.with_block(block, owner=None) if self.blocks[block].owner == request else self

    def free_target(self, request: int, attempt: int, worker: int) -> World:
        """The world in which a decode worker released an attempt's blocks."""
        return self._free(request, self.loads[request].attempts[attempt].target, [worker])

    def release_hold(self, request: int, attempt: int) -> World:
        """The world in which the prefill worker released an attempt's blocks."""
        load = self.loads[request].attempts[attempt]
        if load.hold != Hold.HELD:
            return self
        world = self.with_load(request, attempt, hold=Hold.FREED)
        if load.stale and self.protocol.epoch_on_restart:
            return world
        return world._free(request, load.source, self.serving_as(Role.PREFILL))

    def acknowledge(self, request: int, attempt: int) -> World:
        """The world in which the reader told the prefill worker that it needs an attempt no more,
        if that got through.
        """
        if self.loads[request].attempts[attempt].ack_lost:
            return self
        return self.release_hold(request, attempt)

    def serving_as(self, role: Role) -> list[int]:
        """The workers of a role."""
        return [worker for worker, its in enumerate(self.roles) if its == role]

    def _free(self, request: int, wanted: int | None, workers: list[int]) -> World:
        for block, home in enumerate(self.homes):
            if home in workers and wanted == block:
                return self.free(request, block)
        return self

    def refuses(self, request: int, attempt: int) -> bool:
        """Whether a worker refuses an attempt: it is malformed, or nothing is left to generate."""
        if self.requests[request].malformed:
            return True
        start = self.streams[request].attempts[attempt].start
        return self.protocol.zero_budget == ZeroBudget.REFUSE and start >= self.max_tokens

    def awaited(self, request: int, attempt: int) -> bool:
        """Whether somebody alive is still going to read what a prefill worker holds."""
        retry, here = self.retries[request], self.streams[request].attempts[attempt]
        release = self.protocol.release
        load = self.loads[request].attempts[attempt]
        if load.flying or load.unposted:
            return self._reader(request, attempt, asleep=release != Release.HEARTBEAT)
        if here.stage in (Stage.ACCEPTED, Stage.LOADING):
            return self._reader(request, attempt, asleep=False)
        phase = self.requests[request].phase
        return here.stage == Stage.IDLE and retry.current == attempt and phase == Phase.READY

    def _reader(self, request: int, attempt: int, asleep: bool) -> bool:
        """Whether the decode worker of an attempt is awake (or, where asleep counts, not dead)."""
        here = self.streams[request].attempts[attempt]
        return some(
            (here.worker == worker)
            & (here.severed == False)
            & (endpoint.answers | (asleep & (endpoint.process == Process.HUNG)))
            for worker, endpoint in enumerate(self.endpoints)
        )


def given(world: World) -> bool:
    """What sizes of a scope have to do with each other, however large they are."""
    rounds = (world.gateway_retries + 1) * (world.client_retries + 1)
    return (
        (world.tokens <= world.max_tokens)
        & (world.most_dispatches == world.a_round * rounds)
        & (world.budget == world.given)
    )
