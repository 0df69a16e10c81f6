"""The rack as a graph: what is in it, what lies in what, and which links join it.

Nodes have a ``kind`` and, where they are part of something, the name of their ``parent``; further
attributes (a scheduling domain, a tenant) are labels. Links have a ``kind``, ``bandwidth_GB_s``
(one way) and ``latency_us``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import networkx as nx
from attrs import frozen

from rackproof.model.kernel import ModelError

if TYPE_CHECKING:
    Graph = nx.Graph[str]


class Part(Enum):
    """What a node of the graph is."""

    RACK = "rack"
    TRAY = "tray"
    """What is powered and lost as one: a compute tray, or a server."""
    GPU = "gpu"
    NVLINK_SWITCH = "nvlink-switch"
    """The switches of one NVLink domain, taken together."""
    HOST = "host"
    NIC = "nic"
    NETWORK = "network"
    FRONTEND = "frontend"
    STORE = "store"


class Wire(Enum):
    """What a link of the graph is."""

    NVLINK = "nvlink"
    C2C = "c2c"
    """The coherent link between a Grace CPU and its GPUs."""
    PCIE = "pcie"
    NETWORK = "network"
    """Ethernet or InfiniBand."""


_NUMBERS: Final = ("bandwidth_GB_s", "latency_us")


@frozen
class Path:
    """A way through the rack: its slowest link, and the sum of its latencies."""

    nodes: tuple[str, ...]
    bandwidth_GB_s: float  # noqa: N815 (the unit)
    latency_us: float


@frozen(eq=False)
class Rack:
    """A checked graph and its name."""

    name: str
    graph: Graph

    def parts(self, kind: Part) -> tuple[str, ...]:
        """The nodes of a kind, in the order of the graph."""
        return tuple(n for n, data in self.graph.nodes(data=True) if data["kind"] == kind.value)

    def kind(self, node: str) -> Part:
        """What a node is."""
        return Part(self.graph.nodes[node]["kind"])

    def parent(self, node: str) -> str | None:
        """What a node is part of."""
        parent: str | None = self.graph.nodes[node].get("parent")
        return parent

    def within(self, node: str) -> tuple[str, ...]:
        """Everything that is part of a node, however deep; the node itself first."""
        return (node, *(inner for child in self._children[node] for inner in self.within(child)))

    def gpus_of(self, tray: str) -> tuple[str, ...]:
        """The GPUs of a tray, in the order of the graph."""
        return tuple(node for node in self.within(tray) if self.kind(node) is Part.GPU)

    def tray_of(self, gpu: str) -> str:
        """The tray that a GPU is part of."""
        return next(n for n in _ancestors(self.graph, gpu) if self.kind(n) is Part.TRAY)

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        children: dict[str, list[str]] = {node: [] for node in self.graph}
        for node in self.graph:
            parent = self.parent(node)
            if parent is not None:
                children[parent].append(node)
        return children

    def lost_with(self, node: str) -> frozenset[str]:
        """The failure domain of a node: all that is of no use once the node fails.

        A tray or rack takes all that is in it; a Grace host its GPUs; the NVLink switches of a
        domain the GPUs they join.
        """
        lost = set(self.within(node))
        reach = {Part.HOST: Wire.C2C, Part.NVLINK_SWITCH: Wire.NVLINK}.get(self.kind(node))
        for other in self.graph[node]:
            if reach is not None and self.graph.edges[node, other]["kind"] == reach.value:
                lost |= {other} if self.kind(other) is Part.GPU else set()
        return frozenset(lost)

    def failure_domains(self) -> dict[str, frozenset[str]]:
        """Every node with what is lost with it."""
        return {node: self.lost_with(node) for node in self.graph}

    def path(self, start: str, end: str) -> Path | None:
        """The widest way between two nodes, of those the quickest; None where there is none.

        Frontends and stores are ends, never on the way.
        """
        if start == end:
            return Path((start,), math.inf, 0.0)
        ends = {*self.parts(Part.FRONTEND), *self.parts(Part.STORE)} - {start, end}
        graph = self.graph.subgraph(self.graph.nodes - ends)
        widths = {data["bandwidth_GB_s"] for _, _, data in graph.edges(data=True)}
        for width in sorted(widths, reverse=True):
            wide = nx.subgraph_view(graph, filter_edge=_at_least(graph, width))
            if nx.has_path(wide, start, end):
                nodes = nx.shortest_path(wide, start, end, weight="latency_us")
                latency = nx.path_weight(wide, nodes, "latency_us")
                return Path(tuple(nodes), width, float(latency))
        return None


def _at_least(graph: Graph, width: float) -> Any:
    def wide_enough(a: str, b: str) -> bool:
        return bool(graph.edges[a, b]["bandwidth_GB_s"] >= width)

    return wide_enough


def _ancestors(graph: Graph, node: str) -> Iterator[str]:
    """What a node is part of, from the inside out."""
    parent = graph.nodes[node].get("parent")
    while parent is not None:
        yield parent
        parent = graph.nodes[parent].get("parent")


def checked(name: str, graph: Graph) -> Rack:
    """Return a rack; ``ModelError`` says what is wrong with the graph."""
    try:
        if graph.is_directed() or graph.is_multigraph():
            raise ModelError("links have no direction, and two nodes have one link at most")
        _check_nodes(graph)
        _check_links(graph)
        if not any(data["kind"] == Part.GPU.value for _, data in graph.nodes(data=True)):
            raise ModelError("there is no GPU in it")
    except ModelError as error:
        raise ModelError(f"rack {name}: {error}") from None
    return Rack(name, graph)


def _check_nodes(graph: Graph) -> None:
    kinds = {part.value for part in Part}
    for node, data in graph.nodes(data=True):
        if not isinstance(node, str):
            raise ModelError(f"the name of a node is a text, not {node!r}")
        kind, parent = data.get("kind"), data.get("parent")
        if kind not in kinds:
            raise ModelError(f"{node} has the kind {kind!r}; there are {', '.join(sorted(kinds))}")
        if parent is not None and parent not in graph:
            raise ModelError(f"the parent of {node}, {parent!r}, is not in it")
    for node, data in graph.nodes(data=True):
        _check_ancestors(graph, node, data["kind"])


def _check_ancestors(graph: Graph, node: str, kind: str) -> None:
    seen = [node]
    for ancestor in _ancestors(graph, node):
        if ancestor in seen:
            raise ModelError(f"{node} is part of itself, by way of {ancestor}")
        seen.append(ancestor)
    trays = [n for n in seen[1:] if graph.nodes[n]["kind"] == Part.TRAY.value]
    if kind == Part.GPU.value and len(trays) != 1:
        raise ModelError(f"{node} is a GPU; it must be part of one tray, not {len(trays)}")


def _check_links(graph: Graph) -> None:
    kinds = {wire.value for wire in Wire}
    for a, b, data in graph.edges(data=True):
        link = f"the link of {a} and {b}"
        if a == b:
            raise ModelError(f"{a} is linked with itself")
        if data.get("kind") not in kinds:
            raise ModelError(
                f"{link} has the kind {data.get('kind')!r}; there are {', '.join(sorted(kinds))}"
            )
        for key in _NUMBERS:
            value = data.get(key)
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ModelError(f"{link} needs {key}, a number; it has {value!r}")
            if not math.isfinite(value) or value < 0 or (key == "bandwidth_GB_s" and not value):
                raise ModelError(f"{link} cannot have {key} {value!r}")
