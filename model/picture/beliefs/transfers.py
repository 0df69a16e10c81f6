"""What workers take their part of a request for, and the KV that is on its way."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from rackproof.model.kernel import Belief
from rackproof.model.kv import Hold, Load, given_up, waits_in_vain
from rackproof.model.picture.cast import Cast
from rackproof.model.picture.words import PROCESS, answers, counted, lives
from rackproof.model.request import TERMINAL
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Attempt, Stage
from rackproof.model.world import World


@frozen
class Pair:
    """An attempt and its load, with names."""

    cast: Cast
    world: World
    request: int
    attempt: int

    @property
    def here(self) -> Attempt:
        """What its decode worker has of it."""
        return self.world.streams[self.request].attempts[self.attempt]

    @property
    def load(self) -> Load:
        """What there is of its KV."""
        return self.world.loads[self.request].attempts[self.attempt]

    @property
    def name(self) -> str:
        """The request."""
        return self.cast.called(Requests, self.request)

    def block(self, block: int) -> str:
        """A block by its name."""
        return self.cast.called(Blocks, block)

    @property
    def decoder(self) -> int | None:
        """The worker that decodes it, if that lives and knows of it."""
        worker = self.here.worker
        known = worker is not None and not self.here.severed and lives(self.world, worker)
        return worker if known else None

    @property
    def prefiller(self) -> int | None:
        """The worker that computed it, if that lives and knows of it."""
        worker = self.load.prefill
        known = worker is not None and not self.load.stale and lives(self.world, worker)
        return worker if known else None


def of_transfers(cast: Cast, world: World) -> Iterator[Belief]:
    """What both workers of an attempt think of it."""
    for request, stream in enumerate(world.streams):
        for attempt in range(len(stream.attempts)):
            pair = Pair(cast, world, request, attempt)
            if pair.decoder is not None:
                yield from _decode_side(pair, cast.worker(pair.decoder))
            if pair.prefiller is not None:
                yield from _prefill_side(pair, cast.worker(pair.prefiller))


def _decode_side(pair: Pair, who: str) -> Iterator[Belief]:
    here, load = pair.here, pair.load
    if here.stage in (Stage.ACCEPTED, Stage.LOADING, Stage.RUNNING):
        yield _wanted(pair, who)
    if here.stage is Stage.LOADING:
        yield _coming(pair, who)
    reads = here.stage is Stage.LOADING or (here.stage is Stage.ACCEPTED and load.prefill != None)
    if reads and load.source is not None and load.hold in (Hold.HELD, Hold.FREED):
        yield _still_held(pair, who, load.source)
    if load.target is not None:
        yield from _target(pair, who, load.target)
    if load.mistimed:
        yield Belief(who, pair.name, "has taken too long to load", "had not begun to load", False)


def _wanted(pair: Pair, who: str) -> Belief:
    """Whether a worker serves a request that somebody waits for."""
    unwanted = given_up(pair.world, pair.request, pair.attempt)
    over = pair.world.requests[pair.request].phase in TERMINAL
    truth = ("is over" if over else "is tried elsewhere") if unwanted else "is wanted"
    return Belief(who, pair.name, "is wanted", truth, not unwanted)


def _coming(pair: Pair, who: str) -> Belief:
    """Whether the KV that a decode worker waits for is on its way."""
    truth, fine = _on_the_way(pair)
    return Belief(who, pair.name, "has its KV on the way", truth, fine)


def _on_the_way(pair: Pair) -> tuple[str, bool]:
    """Where the KV that is waited for is, and whether it will come."""
    load, prefill = pair.load, "nobody"
    if load.prefill is not None:
        prefill = pair.cast.worker(load.prefill)
    gone = load.prefill is None or not answers(pair.world, load.prefill)
    if load.killed:
        return "has its transfer killed half-way", False
    if load.stuck:
        return "has a transfer that was never posted", False
    if gone or waits_in_vain(pair.world, pair.request, pair.attempt):
        return f"has nothing to come from {prefill}", False
    if load.bad:
        return "has a transfer that failed", False
    if load.garbage:
        return "has other KV moved instead", False
    if load.hold is Hold.ASKED:
        return f"is still to be computed by {prefill}", True
    moved = not load.flying and not load.unposted
    return "has its KV moved" if moved else "has its KV on the way", True


def _still_held(pair: Pair, who: str, source: int) -> Belief:
    """Whether what a decode worker reads is still there."""
    world, load = pair.world, pair.load
    home = world.homes[source]
    name, content = pair.cast.worker(home), world.blocks[source].content
    believed = f"has its KV held in {pair.block(source)}"
    if not world.exists(source):
        truth = f"has its KV nowhere: {name} {PROCESS[world.endpoints[home].process]}"
    elif load.stale:
        truth = f"has its KV nowhere: {name} has started again"
    elif content != pair.request:
        truth = f"has its KV overwritten{_by(pair, content)}"
    elif load.hold is not Hold.HELD:
        truth = f"has its KV freed by {name}"
    else:
        return Belief(who, pair.name, believed, believed, True)
    return Belief(who, pair.name, believed, truth, False)


def _by(pair: Pair, content: int | None) -> str:
    return "" if content is None else f" by that of {pair.cast.called(Requests, content)}"


def _target(pair: Pair, who: str, target: int) -> Iterator[Belief]:
    """What a decode worker thinks of the block that it gave to a load."""
    load, name = pair.load, pair.block(target)
    kept = pair.world.blocks[target].owner == pair.request
    if load.flying and load.killed and kept:
        believed, truth = "is written by a transfer", "is left half-way: the transfer was killed"
        yield Belief(who, name, believed, truth, False)
    elif load.flying and not load.torn and not kept:
        flying = counted(load.flying, "posted transfer")
        yield Belief(
            who, name, "is written by nobody", f"has {flying} of {pair.name} to come", False
        )
    if load.freed_twice:
        believed = f"was released once by {pair.name}"
        yield Belief(who, name, believed, f"was released twice by {pair.name}", False)


def _prefill_side(pair: Pair, who: str) -> Iterator[Belief]:
    load, world = pair.load, pair.world
    if load.hold is Hold.ASKED:
        yield _wanted(pair, who)
    if load.source is None:
        return
    name = pair.block(load.source)
    if load.hold is Hold.HELD:
        awaited = world.awaited(pair.request, pair.attempt)
        believed = f"is still to be read for {pair.name}"
        truth = believed if awaited else f"is read by nobody for {pair.name}"
        yield Belief(who, name, believed, truth, awaited)
    elif load.flying and not load.killed and not load.torn:
        yield Belief(who, name, "is read by nobody", _to_come(pair), False)


def _to_come(pair: Pair) -> str:
    return f"has {counted(pair.load.flying, 'posted transfer')} of {pair.name} to come"
