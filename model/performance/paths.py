"""What it costs to move bytes between parts of a rack.

seconds = latency + messages x overhead + bytes / (efficiency x bandwidth), where bandwidth is what
a flow gets of the slowest link on its way. An instance sends shard to shard: one flow for each pair
of GPUs that hold the same part of the KV cache. Flows that share a link (each direction is one)
share it max-min fairly (Bertsekas and Gallager, Data Networks, section 6.5.2), and whoever ends
leaves its share to the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from math import ceil, inf
from typing import ClassVar, Final

import networkx as nx
from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import not_negative, positive, share
from rackproof.model.performance.hardware import Link, link
from rackproof.model.rack import Instance, Part, Path, Rack, Wire

Edge = tuple[str, str]

_PRICED_AS: Final = {
    Wire.NVLINK: "nvlink5",
    Wire.C2C: "c2c",
    Wire.PCIE: "pcie5",
    Wire.NETWORK: "400g",
}
"""The preset whose energy a bit costs on a link of a kind."""


@frozen
class Messages:
    """How a paged KV cache is cut up: one message a block and layer, or one in all if merged.

    overhead_us: to post and complete one, on each GPU that sends. 0.9 is the difference of the 20
    and 8 ms that a report on vLLM gives for 7,500 tokens over NVLink in pages of 16 and of 128,
    over the 13,120 messages that larger pages save a model of 32 layers (the report names none).
    """

    CALLED: ClassVar[str] = "messages"

    block_tokens: int = field(default=16, validator=positive)
    merged: bool = False
    overhead_us: float = field(default=0.9, validator=not_negative)

    def count(self, tokens: int, layers: int) -> int:
        """Messages for so many tokens."""
        return 1 if self.merged else ceil(tokens / self.block_tokens) * layers

    def seconds(self, tokens: int, layers: int) -> float:
        """What they cost beside their bytes."""
        return self.count(tokens, layers) * self.overhead_us * 1e-6


@frozen
class Flow:
    """A part of a transfer, from one place to one other; part: of the transfer's bytes."""

    path: Path
    part: float

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The links it crosses, each with its direction."""
        return tuple(pairwise(self.path.nodes))


@frozen
class Load:
    """A transfer: its flows, and bytes of them all; posted_s: for its messages, on top."""

    CALLED: ClassVar[str] = "transfer"

    flows: tuple[Flow, ...]
    size: float = field(validator=not_negative)
    posted_s: float = field(default=0.0, validator=not_negative)
    efficiency: float = field(default=1.0, validator=share)


@frozen(eq=False)
class Fabric:
    """The links of a rack, less those of the parts that are lost.

    lost: nodes of the graph that carry nothing; without an NVLink switch its GPUs fall back to the
    scale-out network. ``ModelError`` for a node that is none, or where no way is left.
    """

    rack: Rack
    lost: frozenset[str] = field(default=frozenset(), converter=frozenset)

    def __attrs_post_init__(self) -> None:
        """Refuse to lose what is not there."""
        for node in sorted(self.lost - set(self.rack.graph)):
            raise ModelError(f"rack {self.rack.name} has no {node!r} to lose")

    @cached_property
    def _left(self) -> Rack:
        graph = self.rack.graph
        return Rack(self.rack.name, nx.Graph(graph.subgraph(graph.nodes - self.lost)))

    @cached_property
    def _by_width(self) -> tuple[tuple[float, nx.Graph[str]], ...]:
        """The links that are at least so wide, widest first."""
        edges = list(self._left.graph.edges(data=True))
        widths = sorted({data["bandwidth_GB_s"] for _, _, data in edges}, reverse=True)
        return tuple(
            (width, nx.Graph([edge for edge in edges if edge[2]["bandwidth_GB_s"] >= width]))
            for width in widths
        )

    @cached_property
    def _known(self) -> dict[str, dict[str, Path]]:
        return {}

    def path(self, start: str, end: str) -> Path:
        """The widest way between two nodes, of those the quickest (as ``Rack.path`` has it)."""
        for node in (start, end):
            if node not in self._left.graph:
                there = "lost" if node in self.rack.graph else f"not in rack {self.rack.name}"
                raise ModelError(f"there is no way from {start} to {end}: {node} is {there}")
        if start not in self._known:
            self._known[start] = self._paths(start)
        if end not in self._known[start]:
            raise ModelError(f"there is no way from {start} to {end} on {self.rack.name}")
        return self._known[start][end]

    def _paths(self, start: str) -> dict[str, Path]:
        """The ways from a node to all that can be reached."""
        ends = {*self._left.parts(Part.FRONTEND), *self._left.parts(Part.STORE)} - {start}

        def latency(node: str, _: str, data: dict[str, float]) -> float | None:
            return None if node in ends else data["latency_us"]

        found = {start: Path((start,), inf, 0.0)}
        for width, graph in self._by_width:
            if start in graph:
                ways = nx.single_source_dijkstra_path(graph, start, weight=latency)
                for end in ways.keys() - found.keys():
                    took = nx.path_weight(graph, ways[end], "latency_us")
                    found[end] = Path(tuple(ways[end]), width, float(took))
        return found

    def flows(self, source: Instance, target: Instance) -> tuple[Flow, ...]:
        """From the GPUs of one instance to those of another, shard to shard.

        With n and m GPUs, each of the n has an n-th of the bytes, and sends to those of the m whose
        m-ths it overlaps. GPUs that are in both keep what they have: it takes no flow.
        """
        n, m = len(source.gpus), len(target.gpus)
        parts = [
            (a, b, min((i + 1) / n, (j + 1) / m) - max(i / n, j / m))
            for i, a in enumerate(source.gpus)
            for j, b in enumerate(target.gpus)
            if max(i * m, j * n) < min((i + 1) * m, (j + 1) * n)
        ]
        return tuple(Flow(self.path(a, b), part) for a, b, part in parts if a != b)

    def stored(self, instance: Instance, kind: Part) -> tuple[Flow, ...]:
        """From each GPU of an instance to the nearest host, or store, there is."""
        return tuple(
            Flow(self._nearest(gpu, kind), 1 / len(instance.gpus)) for gpu in instance.gpus
        )

    def loaded(self, instance: Instance, kind: Part) -> tuple[Flow, ...]:
        """The other way: from the nearest host, or store, to each GPU."""
        return tuple(
            Flow(Path(flow.path.nodes[::-1], *_numbers(flow.path)), flow.part)
            for flow in self.stored(instance, kind)
        )

    def _nearest(self, gpu: str, kind: Part) -> Path:
        places = [node for node in self._left.parts(kind) if node != gpu]
        if not places:
            raise ModelError(f"rack {self.rack.name} has no {kind.value} left")
        paths = [self.path(gpu, node) for node in places]
        return min(paths, key=lambda path: (-path.bandwidth_GB_s, path.latency_us))

    def link(self, flows: Sequence[Flow], name: str = "path") -> Link:
        """Flows on an otherwise idle rack, taken together as one link.

        Its bandwidth is that of the transfer as a whole: the flow that takes longest has the last
        byte. ``ModelError`` where nothing is to be moved.
        """
        if not flows:
            raise ModelError(f"{name}: there is nothing to be moved")
        rates = self.rates(flows)
        slowest = min(rate / flow.part for rate, flow in zip(rates, flows, strict=True))
        latency = max(flow.path.latency_us for flow in flows)
        energy = sum(flow.part * self.pj_per_bit(flow.path) for flow in flows)
        energy /= sum(flow.part for flow in flows)
        return Link(name, slowest / 1e9, latency, energy)

    def pj_per_bit(self, path: Path) -> float:
        """Energy of a bit on a way: that of its dearest kind of link, end to end."""
        graph = self.rack.graph
        kinds = {Wire(graph.edges[edge]["kind"]) for edge in pairwise(path.nodes)}
        return max((link(_PRICED_AS[kind]).pJ_per_bit for kind in kinds), default=0.0)

    def joules(self, load: Load) -> float:
        """What it takes to move a load."""
        priced = sum(flow.part * self.pj_per_bit(flow.path) for flow in load.flows)
        return 8 * load.size * priced * 1e-12

    def rates(self, flows: Sequence[Flow]) -> tuple[float, ...]:
        """Bytes a second of flows that go on together, max-min fair.

        Again and again the link that leaves least to each of its flows is found, and these are
        given just that.
        """
        rates: dict[int, float] = {i: inf for i, flow in enumerate(flows) if not flow.edges}
        while len(rates) < len(flows):
            going = [i for i in range(len(flows)) if i not in rates]
            room = self._room(flows, rates)
            users = Counter(edge for i in going for edge in flows[i].edges)
            tightest = min(users, key=lambda edge: (room[edge] / users[edge], edge))
            fair = room[tightest] / users[tightest]
            rates |= {i: fair for i in going if tightest in flows[i].edges}
        return tuple(rates[i] for i in range(len(flows)))

    def _room(self, flows: Sequence[Flow], rates: dict[int, float]) -> dict[Edge, float]:
        """What the flows with a rate leave of every link in use."""
        edges = self.rack.graph.edges
        room = {e: edges[e]["bandwidth_GB_s"] * 1e9 for flow in flows for e in flow.edges}
        for i, rate in rates.items():
            for edge in flows[i].edges:
                room[edge] -= rate
        return room

    def seconds(self, load: Load) -> float:
        """How long a transfer takes on an otherwise idle rack."""
        return self.finish_s([load])[0]

    def finish_s(self, loads: Iterable[Load]) -> tuple[float, ...]:
        """When each of some transfers ends that start together.

        Bytes flow from the start on; latency and messages come on top, as if they were not
        overlapped with them.
        """
        loads = tuple(loads)
        left = {
            (i, k): load.size * flow.part / load.efficiency
            for i, load in enumerate(loads)
            for k, flow in enumerate(load.flows)
            if load.size
        }
        ends = [0.0] * len(loads)
        now = 0.0
        while left:
            keys = tuple(left)
            rates = dict(zip(keys, self.rates([loads[i].flows[k] for i, k in keys]), strict=True))
            step = min(left[key] / rates[key] for key in keys)
            now += step
            for i, k in keys:
                rest = left[i, k] - rates[i, k] * step
                if rest <= _NOTHING * loads[i].size:
                    del left[i, k]
                    ends[i] = max(ends[i], now + loads[i].flows[k].path.latency_us * 1e-6)
                else:
                    left[i, k] = rest
        return tuple(end + load.posted_s for end, load in zip(ends, loads, strict=True))


_NOTHING: Final = 1e-12
"""The share of a transfer below which the rest is rounding."""


def _numbers(path: Path) -> tuple[float, float]:
    return path.bandwidth_GB_s, path.latency_us
