"""What does it cost to move a request's KV cache from here to there?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from attrs import frozen

from rackproof.model.performance.catalogue import whole_numbers
from rackproof.model.performance.paths import Fabric, Flow, Load, Messages
from rackproof.model.performance.roofline import Engine
from rackproof.model.rack import Part, Placement


@frozen
class Transfer:
    """A transfer on an otherwise idle rack.

    way: the kinds of links it crosses. posted_s is for messages, and in seconds with latency_s and
    the time of the bytes.
    """

    source: str
    target: str
    way: str
    context_tokens: int
    bytes: float
    bytes_per_s: float
    latency_s: float
    posted_s: float
    seconds: float
    joules: float


def transfers(
    fabric: Fabric,
    placement: Placement,
    engine: Engine,
    contexts: Iterable[int],
    messages: Messages | None = None,
) -> tuple[Transfer, ...]:
    """A row for each different way and length of context.

    From an instance to another, and to its host and the store as far as the rack has them. Of pairs
    that cost the same the first is taken.
    """
    lengths = whole_numbers("a context length", contexts)
    seen: dict[tuple[str, float, float], tuple[str, str, Sequence[Flow]]] = {}
    for source, target, flows in _ways(fabric, placement):
        found = fabric.link(flows)
        key = (_way(fabric, flows), round(found.bandwidth_GB_s, 6), found.latency_us)
        seen.setdefault(key, (source, target, flows))
    return tuple(
        _transfer(fabric, engine, (*where, way), length, messages)
        for (way, _, _), where in seen.items()
        for length in lengths
    )


def _ways(fabric: Fabric, placement: Placement) -> Iterator[tuple[str, str, Sequence[Flow]]]:
    """Every pair of instances with something to move, and each instance with host and store."""
    for one in placement.instances:
        for other in placement.instances:
            if flows := fabric.flows(one, other):
                yield one.name, other.name, flows
    for one in placement.instances:
        for kind in (Part.HOST, Part.STORE):
            if set(fabric.rack.parts(kind)) - fabric.lost:
                yield one.name, kind.value, fabric.stored(one, kind)


def _way(fabric: Fabric, flows: Iterable[Flow]) -> str:
    edges = fabric.rack.graph.edges
    kinds = [edges[edge]["kind"] for flow in flows for edge in pairwise(flow.path.nodes)]
    return ", ".join(dict.fromkeys(kinds))


def _transfer(
    fabric: Fabric,
    engine: Engine,
    where: tuple[str, str, Sequence[Flow], str],
    tokens: int,
    messages: Messages | None,
) -> Transfer:
    source, target, flows, way = where
    posted = messages.seconds(tokens, engine.model.layers) if messages else 0.0
    size = engine.kv.bytes(tokens * engine.model.kv_values_per_token)
    load = Load(tuple(flows), size, posted_s=posted)
    link = fabric.link(flows)
    return Transfer(
        source,
        target,
        way,
        tokens,
        size,
        link.bytes_per_s,
        link.latency_s,
        posted,
        fabric.seconds(load),
        fabric.joules(load),
    )
