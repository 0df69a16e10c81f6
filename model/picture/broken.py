"""What is so where a property does not hold, told with what the state has to say of it.

Only where that says much more than the sentence of the property itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from rackproof.model.kernel import Identifiers, Property
from rackproof.model.peers import Life, outlived
from rackproof.model.picture.cast import Cast
from rackproof.model.request import Phase
from rackproof.model.sorts import Requests, Workers
from rackproof.model.world import World

OVER: Final = {
    Phase.DONE: "is done",
    Phase.FAILED: "has failed",
    Phase.CANCELLED: "was cancelled",
}


@frozen
class Broken:
    """The sentence for a property that does not hold for some identifiers, with placeholders."""

    cast: Cast

    def __call__(self, state: Any, prop: Property, arguments: Sequence[int]) -> str | None:
        """Look up what the state says; else what the property does."""
        told = BROKEN.get(prop.name)
        if told is None:
            return prop.broken
        names = (name for name, _ in prop.parameters)
        return told(Failing(self.cast, state, dict(zip(names, arguments, strict=True)))) or (
            prop.broken
        )


@frozen
class Failing:
    """A state in which a property does not hold, and the identifiers for which, by parameter."""

    cast: Cast
    world: World
    ids: Mapping[str, int]

    def called(self, sort: Identifiers, index: int) -> str:
        """What an identifier is called, to be put into a sentence with placeholders."""
        return self.cast.called(sort, index).replace("{", "{{").replace("}", "}}")

    def over(self, request: int) -> str:
        """What has become of a request that is over, to end a sentence with; else just its end."""
        told = OVER.get(self.world.requests[request].phase)
        return f", though that {told}." if told else "."


def _kv_consistent(failing: Failing) -> str:
    """Whose KV it is, or whose scales lie with it."""
    request, block = failing.ids["request"], failing.ids["block"]
    decodes, content = "{request} decodes from {block}", failing.world.blocks[block].content
    if content is None:
        return f"{decodes}, which holds the KV of no request."
    if content != request:
        return f"{decodes}, which holds the KV of {failing.called(Requests, content)}."
    here = failing.world.scales[block]
    scales = here.tensor_scale if here.block_scales == request else here.block_scales
    if scales is None:
        return f"{decodes}, which holds its KV without all of its scales."
    of = failing.called(Requests, scales)
    return f"{decodes}, which holds its KV with scales for that of {of}."


def _no_overwrite_in_flight(failing: Failing) -> str:
    """Whose the blocks are by now."""
    blocks, own = failing.world.blocks, failing.ids["request"]
    owners = {name: blocks[failing.ids[name]].owner for name in ("target", "source")}
    taken = {name: owner for name, owner in owners.items() if owner not in (None, own)}
    belong = " and ".join(
        f"{{{name}}} belongs to {failing.called(Requests, owner)}"
        for name, owner in taken.items()
        if owner is not None
    )
    way = "from {source} into {target}"
    if len(taken) == 1:
        way = "into it" if "target" in taken else "from it"
    return f"{belong} by now, while a transfer {way} for {{request}} is still posted."


def _no_kv_leak(failing: Failing) -> str | None:
    """Who has the block."""
    owner = failing.world.blocks[failing.ids["block"]].owner
    if owner is None:
        return None
    stays = f"{{block}} stays allocated to {failing.called(Requests, owner)} for ever"
    return f"{stays}{failing.over(owner)}"


def _bookings_exact(failing: Failing) -> str:
    """Where it is booked."""
    request = failing.ids["request"]
    booked = sorted(failing.world.retries[request].booked)
    where = " and ".join(failing.called(Workers, worker) for worker in booked)
    return f"{{request}} stays booked at {where} for ever{failing.over(request)}"


def _live_endpoint_selectable(failing: Failing) -> str:
    """What keeps the worker out."""
    endpoint, protocol = failing.world.endpoints[failing.ids["worker"]], failing.world.protocol
    why = {
        "off the list of discovery": not endpoint.listed,
        "inhibited": endpoint.inhibited and not endpoint.half_open,
        "marked as overloaded": endpoint.overloaded,
        "without a fresh load report": endpoint.stale and not protocol.route_on_stale_metrics,
    }
    told = " and ".join(words for words, is_so in why.items() if is_so)
    return f"{{worker}} is up, but stays {told} for ever."


def _memory_reclaimed(failing: Failing) -> str:
    """Whether it waits, and whether somebody has memory that is gone."""
    peer = failing.ids["peer"]
    if failing.world.peers[peer].life != Life.STARTING:
        return "Memory of a process of {peer} that is gone stays mapped for ever."
    kept = ", and that of its predecessor stays mapped" if outlived(failing.world, peer) else ""
    return f"The replacement of {{peer}} waits for its memory for ever{kept}."


def _no_duplicate_tokens(failing: Failing) -> str | None:
    """That it is the same token, where none was skipped before."""
    if failing.world.streams[failing.ids["request"]].lost:
        return None
    return "The client of {request} was sent a token twice."


def _terminal_latch(failing: Failing) -> str:
    """Whether it is retried, or has failed."""
    failed = failing.world.requests[failing.ids["request"]].phase == Phase.FAILED
    then = "has failed" if failed else "is still being tried"
    return f"{{request}} {then}, though its client was given the finish reason."


BROKEN: Final[Mapping[str, Callable[[Failing], str | None]]] = {
    "kv-consistent": _kv_consistent,
    "no-overwrite-in-flight": _no_overwrite_in_flight,
    "no-kv-leak": _no_kv_leak,
    "bookings-exact": _bookings_exact,
    "live-endpoint-selectable": _live_endpoint_selectable,
    "memory-reclaimed": _memory_reclaimed,
    "no-duplicate-tokens": _no_duplicate_tokens,
    "terminal-latch": _terminal_latch,
}
"""By the name of a property."""
