"""The rack as it is drawn: the instances on their trays, what joins them, and the rest as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import networkx as nx
from attrs import frozen

from rackproof.model.rack import Part, Placement, Rack

if TYPE_CHECKING:
    from rackproof.model.rack.graph import Graph

_AROUND: Final = (Part.NETWORK, Part.NVLINK_SWITCH)


@frozen(slots=False)
class Board:
    """The part of a placement's rack that is worth drawing."""

    placement: Placement

    @property
    def rack(self) -> Rack:
        """The rack."""
        return self.placement.rack

    @cached_property
    def _instances(self) -> frozenset[str]:
        return frozenset(instance.name for instance in self.placement.instances)

    def called(self, node: str) -> str:
        """What a node of the rack is called, which may have the name of an instance."""
        return f"{node} ({self.rack.kind(node).value})" if node in self._instances else node

    def graph(self) -> Graph:
        """The graph that is drawn.

        Each tray with an instance has the instance, by its name, the GPUs of that, and its NICs as
        one node; the other trays of its rack are one node, and those of other racks another:
        ``count`` says how many they are.
        """
        graph: Graph = nx.Graph()
        for kind in (Part.FRONTEND, Part.STORE, Part.NETWORK):
            for node in self.rack.parts(kind):
                self._add(graph, node)
        for tray in self.placement.trays:
            self._add_tray(graph, tray)
        for switch in self.rack.parts(Part.NVLINK_SWITCH):
            if any(self.called(gpu) in graph for gpu in self.rack.graph[switch]):
                self._add(graph, switch, self.rack.parent(switch))
                self._join(graph, switch, self.called(switch))
        for owner, trays in self._others(graph).items():
            self._add_rest(graph, owner, trays)
        for kind in (Part.FRONTEND, Part.STORE):
            for node in self.rack.parts(kind):
                self._join(graph, node, self.called(node))
        return graph

    def _add(self, graph: Graph, node: str, parent: str | None = None) -> None:
        """Draw a node of the rack, on its parent, and that on its own."""
        if parent is not None and self.called(parent) not in graph:
            self._add(graph, parent, self.rack.parent(parent))
        on = {} if parent is None else {"on": self.called(parent)}
        graph.add_node(self.called(node), kind=self.rack.kind(node).value, **on)

    def _add_tray(self, graph: Graph, tray: str) -> None:
        self._add(graph, tray, self.rack.parent(tray))
        on = self.called(tray)
        owners = dict.fromkeys(self.rack.gpus_of(tray), on)
        for instance in self.placement.instances:
            if self.placement.trays[instance.tray] == tray:
                graph.add_node(instance.name, kind=instance.role, on=on)
                owners |= dict.fromkeys(instance.gpus, instance.name)
        for gpu, owner in owners.items():
            graph.add_node(self.called(gpu), kind=Part.GPU.value, on=owner)
        inside = [node for node in self.rack.within(tray) if self.rack.kind(node) is Part.NIC]
        if inside:
            graph.add_node(f"NICs of {tray}", kind=Part.NIC.value, on=on, count=len(inside))
        for nic in inside:
            self._join(graph, nic, f"NICs of {tray}")

    def _join(self, graph: Graph, node: str, drawn: str) -> None:
        """Link what is drawn for a node with those of its neighbours that are drawn."""
        for other, link in self._links(node):
            if self.called(other) in graph:
                graph.add_edge(drawn, self.called(other), kind=link["kind"])

    def _links(self, node: str) -> Iterator[tuple[str, Any]]:
        return iter(self.rack.graph[node].items())

    def _others(self, graph: Graph) -> dict[str | None, list[str]]:
        """The trays that carry no instance, by the rack that is drawn; None for all other racks."""
        found: dict[str | None, list[str]] = {}
        placed = set(self.placement.trays)
        for tray in self.rack.parts(Part.TRAY):
            if tray not in placed:
                owner = self.rack.parent(tray)
                drawn = owner is not None and self.called(owner) in graph
                found.setdefault(owner if drawn else None, []).append(tray)
        return found

    def _add_rest(self, graph: Graph, owner: str | None, trays: Sequence[str]) -> None:
        """Some trays as one node, linked to what any of them is linked to."""
        name = f"{len(trays)} other trays" if len(trays) > 1 else "1 other tray"
        name = f"{name} of {owner}" if owner else f"{name} elsewhere"
        on = {} if owner is None else {"on": self.called(owner)}
        graph.add_node(name, kind=Part.TRAY.value, count=len(trays), **on)
        for node in (node for tray in trays for node in self.rack.within(tray)):
            for other, link in self._links(node):
                if self.rack.kind(other) in _AROUND and self.called(other) in graph:
                    graph.add_edge(name, self.called(other), kind=link["kind"])
