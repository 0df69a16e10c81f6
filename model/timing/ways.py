"""Ways through the rack between instances: every GPU of one to its fellow of the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import networkx as nx
from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.rack import Path, Rack, Wire

_PJ_PER_BIT: Final[Mapping[Wire, float]] = {
    Wire.NVLINK: 5.0,
    Wire.C2C: 5.0,
    Wire.PCIE: 5.0,
    Wire.NETWORK: 15.0,
}
"""NVLink and networks as in the rack study; those within a tray as NVLink, which is assumed."""


@frozen
class Way:
    """All paths together: bytes a second, the longest latency, and what a bit takes."""

    bytes_per_s: float
    latency_s: float
    pJ_per_bit: float  # noqa: N815 (the unit)

    def seconds(self, size: float, share: float = 1.0) -> float:
        """How long so many bytes take with a share of the bandwidth."""
        return self.latency_s + size / (self.bytes_per_s * share)

    def joules(self, size: float) -> float:
        """What it takes to move so many bytes."""
        return 8 * size * self.pJ_per_bit * 1e-12


def way(rack: Rack, starts: Sequence[str], ends: Sequence[str]) -> Way | None:
    """The way between the GPUs of two instances (or one node), None where there is none.

    A link is shared by as many GPUs as have to cross it; the slowest GPU is the last to be done.
    """
    count = max(len(starts), len(ends))
    pairs = [(starts[i % len(starts)], ends[i % len(ends)]) for i in range(count)]
    paths = [rack.path(start, end) for start, end in pairs]
    if not all(paths):
        return None
    there: list[Path] = [path for path in paths if path]
    hops = (sorted(hop) for path in there for hop in pairwise(path.nodes))
    crossed = Counter((a, b) for a, b in hops)
    if not crossed:
        return Way(float("inf"), 0.0, 0.0)
    links = {hop: rack.graph.edges[hop] for hop in crossed}
    slowest = min(links[hop]["bandwidth_GB_s"] / times for hop, times in crossed.items())
    return Way(
        slowest * 1e9 * count,
        max(path.latency_us for path in there) / 1e6,
        max(_PJ_PER_BIT[Wire(link["kind"])] for link in links.values()),
    )


def without_nvlink(rack: Rack) -> Rack:
    """The rack whose NVLink domains have a fault."""
    graph = rack.graph.copy()
    kinds = nx.get_edge_attributes(graph, "kind")
    graph.remove_edges_from([edge for edge, kind in kinds.items() if kind == Wire.NVLINK.value])
    return Rack(f"{rack.name} without NVLink", graph)


def found(way: Way | None, start: str, end: str, rack: Rack) -> Way:
    """The way, or ``ModelError`` that names the two that have none."""
    if way is None:
        raise ModelError(f"rack {rack.name}: there is no way from {start} to {end}")
    return way
