"""What workers take their part of a request for, and the KV that is on its way."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from rackproof.model.endpoint import DEAD, Process
from rackproof.model.kernel import Belief
from rackproof.model.kv import (
    Hold,
    Load,
    drop_prefill,
    given_up,
    hold_expires,
    waits_in_vain,
)
from rackproof.model.picture.beliefs.soon import sees_loss
from rackproof.model.picture.cast import Cast
from rackproof.model.picture.words import PROCESS, answers, counted
from rackproof.model.protocol import LoadFailure, Transfer
from rackproof.model.request import TERMINAL
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Attempt, Stage
from rackproof.model.transfer import post
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
        """The worker that decodes it, if that is awake and knows of it."""
        worker = self.here.worker
        known = worker is not None and not self.here.severed and answers(self.world, worker)
        return worker if known else None

    @property
    def prefiller(self) -> int | None:
        """The worker that computed it, if that is awake and knows of it."""
        worker = self.load.prefill
        known = worker is not None and not self.load.stale and answers(self.world, worker)
        return worker if known else None

    @property
    def prefill(self) -> str:
        """Whom its KV is to come from."""
        return "nobody" if self.load.prefill is None else self.cast.worker(self.load.prefill)

    @property
    def pushes(self) -> bool:
        """Whether the prefill worker writes."""
        return self.world.protocol.transfer is Transfer.PUSH

    @property
    def has_target(self) -> bool:
        """Whether the block that it was given to load into is still its own."""
        target = self.load.target
        return target is not None and self.world.blocks[target].owner == self.request


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
        told = not (here.told or here.deaf or load.decode_untold)
        yield from _wanted(pair, who, told)
    if here.stage is Stage.LOADING:
        yield _coming(pair, who)
    to_move = here.stage is Stage.LOADING and (load.flying or load.unposted)
    reads = to_move or (here.stage is Stage.ACCEPTED and load.prefill is not None)
    if reads and load.source is not None and load.hold in (Hold.HELD, Hold.FREED):
        yield _still_held(pair, who, load.source)
    if load.target is not None:
        yield from _target(pair, who, load.target)
    if load.mistimed:
        yield Belief(who, pair.name, "has taken too long to load", "had not begun to load", False)


def _wanted(pair: Pair, who: str, told: bool) -> Iterator[Belief]:
    """Whether a worker serves a request that somebody waits for; told: it hears if not."""
    if pair.world.refuses(pair.request, pair.attempt):
        return
    unwanted = given_up(pair.world, pair.request, pair.attempt)
    over = pair.world.requests[pair.request].phase in TERMINAL
    truth = ("is over" if over else "is tried elsewhere") if unwanted else "is wanted"
    yield Belief(who, pair.name, "is wanted", truth, not unwanted, unwanted and told)


def _coming(pair: Pair, who: str) -> Belief:
    """Whether the KV that a decode worker waits for is on its way."""
    truth, fine = _on_the_way(pair)
    reported = pair.load.bad and pair.world.protocol.load_failure is not LoadFailure.UNREPORTED
    told = reported or sees_loss(pair.world, pair.request, pair.attempt)
    return Belief(who, pair.name, "has its KV on the way", truth, fine, told and not fine)


def _on_the_way(pair: Pair) -> tuple[str, bool]:
    """Where the KV that is waited for is, and whether it will come."""
    load = pair.load
    if load.killed:
        return "has its transfer killed half-way", False
    if load.stuck:
        return "has a transfer that was never posted", False
    if load.bad:
        return "has a transfer that failed", False
    if load.garbage:
        return _instead(pair), False
    moved = not load.flying and not load.unposted
    if moved:
        return "has its KV moved", True
    gone = load.prefill is None or not answers(pair.world, load.prefill)
    if gone or nothing_comes(pair.world, pair.request, pair.attempt):
        return f"has nothing to come from {pair.prefill}", False
    if load.hold is Hold.ASKED:
        return f"is still to be computed by {pair.prefill}", True
    return "has its KV on the way", True


def _instead(pair: Pair) -> str:
    """What came of a transfer that did not bring a request's KV."""
    if not pair.load.reused or pair.load.target is None:
        return f"has not all of its KV moved, and {pair.prefill} sends no more"
    content = pair.world.blocks[pair.load.target].content
    if content is None:
        return "has moved what is no KV"
    return f"has the KV of {pair.cast.called(Requests, content)} moved instead"


def nothing_comes(world: World, request: int, attempt: int) -> bool:
    """Whether a decode worker waits for KV that nobody is going to send."""
    load = world.loads[request].attempts[attempt]
    source, target = load.source, load.target
    if source is None or target is None or post(world, request, attempt, source, target) is None:
        return waits_in_vain(world, request, attempt)
    return False


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
    kept = pair.has_target
    if load.flying and load.killed and kept:
        believed, truth = "is written by a transfer", "is left half-way: the transfer was killed"
        yield Belief(who, name, believed, truth, False)
    elif not kept and (writer := _writer(pair)) is not None:
        yield Belief(who, name, "is written by nobody", writer, False)
    if load.freed_twice:
        believed = f"was released once by {pair.name}"
        yield Belief(who, name, believed, f"was released twice by {pair.name}", False)


def _writer(pair: Pair) -> str | None:
    """What may still be written into a block that a load was given."""
    load, world = pair.load, pair.world
    if load.killed or load.torn:
        return None
    if load.flying:
        return _to_come(pair)
    if not pair.pushes or not load.unposted or load.stuck or load.stale or load.prefill is None:
        return None
    holds = load.hold in (Hold.ASKED, Hold.HELD) or not world.protocol.check_hold_before_post
    if not holds or world.endpoints[load.prefill].process in DEAD:
        return None
    return f"may still be written for {pair.name}: {pair.prefill} has its address"


def _prefill_side(pair: Pair, who: str) -> Iterator[Belief]:
    load = pair.load
    if load.hold is Hold.ASKED:
        yield from _wanted(pair, who, not load.prefill_untold)
    astray = pair.pushes and not pair.has_target and _writer(pair) is not None
    if astray and load.target is not None:
        yield _address(pair, who, load.target)
    if load.source is None:
        return
    if load.hold is Hold.HELD:
        yield _reader(pair, who, load.source)
    elif load.flying and not load.killed and not load.torn:
        yield Belief(who, pair.block(load.source), "is read by nobody", _to_come(pair), False)


def _address(pair: Pair, who: str, target: int) -> Belief:
    """Whose the block is that a prefill worker writes."""
    owner = pair.world.blocks[target].owner
    truth = "is free" if owner is None else f"is {pair.cast.called(Requests, owner)}'s"
    return Belief(who, pair.block(target), f"is {pair.name}'s", truth, False)


def _reader(pair: Pair, who: str, source: int) -> Belief:
    """Whether what a prefill worker holds is going to be read."""
    world, request, attempt = pair.world, pair.request, pair.attempt
    believed, name = f"is still to be read for {pair.name}", pair.block(source)
    if world.awaited(request, attempt):
        return Belief(who, name, believed, believed, True)
    if (sleeper := _asleep(pair)) is not None:
        return Belief(who, name, believed, f"{believed}, once {sleeper} wakes up", True)
    expires = hold_expires(world, request, attempt, source) is not None
    dropped = drop_prefill(world, request, attempt, world.homes[source]) is not None
    lets_go = expires or dropped
    return Belief(who, name, believed, f"is read by nobody for {pair.name}", False, lets_go)


def _asleep(pair: Pair) -> str | None:
    """The worker that is to read it, where that is frozen."""
    here, world = pair.here, pair.world
    if here.worker is None or here.severed or given_up(world, pair.request, pair.attempt):
        return None
    frozen = world.endpoints[here.worker].process is Process.HUNG
    waits = here.stage in (Stage.ACCEPTED, Stage.LOADING)
    return pair.cast.worker(here.worker) if frozen and waits else None


def _to_come(pair: Pair) -> str:
    return f"has {counted(pair.load.flying, 'posted transfer')} of {pair.name} to come"
