"""The rack as boxes in boxes, of the parts that have a part in the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import networkx as nx
from attrs import frozen

from rackproof.checker.explain.drawn import picture
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Site, System


@frozen
class Box:
    """A node of the rack, what it is like at the end of the run (None: nobody says), what is on it.

    others: nodes that stand on it too and have no part in the run, in words.
    """

    name: str
    kind: str
    site: Site | None
    inner: tuple[Box, ...] = ()
    others: str = ""


@frozen(slots=False)
class Boxes:
    """The rack, by what stands on what; sites: what is told of its nodes at the end of the run."""

    graph: nx.Graph[str]
    sites: Mapping[str, Site]

    @cached_property
    def on(self) -> dict[str | None, list[str]]:
        """By a node, what stands on it; by None, what stands on nothing."""
        found: dict[str | None, list[str]] = {}
        for node in self.graph:
            found.setdefault(self._below(node), []).append(node)
        return found

    def _below(self, node: str) -> str | None:
        below = self.graph.nodes[node].get("on")
        return below if below in self.graph and below != node else None

    @cached_property
    def told(self) -> frozenset[str]:
        """The nodes that somebody says something of, and what they stand on."""
        found: set[str] = set()
        for name in self.sites:
            node: str | None = name
            while node is not None and node not in found:
                found.add(node)
                node = self._below(node)
        return frozenset(found)

    def boxes(self, node: str | None = None) -> tuple[Box, ...]:
        """The boxes on a node, or on nothing, that have a part in the run."""
        return tuple(self._box(each) for each in self.on.get(node, ()) if each in self.told)

    def others(self, node: str | None = None) -> str:
        """The rest of what is there, counted by kind."""
        kinds = [self._kind(each) for each in self.on.get(node, ()) if each not in self.told]
        told = [counted(kinds.count(kind), kind or "part") for kind in dict.fromkeys(kinds)]
        return ", ".join(told)

    def _box(self, node: str) -> Box:
        site = self.sites.get(node)
        return Box(node, self._kind(node), site, self.boxes(node), self.others(node))

    def _kind(self, node: str) -> str:
        return str(self.graph.nodes[node].get("kind", ""))


def drawn_rack(system: System, states: Sequence[object]) -> Boxes | None:
    """The rack at the end of a run; None where the picture has none."""
    drawn = picture(system)
    seen = [drawn.sites(state) for state in states]
    if not any(seen):
        return None
    graph: nx.Graph[str] = nx.Graph()
    if drawn.graph is not None:
        graph.add_nodes_from(drawn.graph.nodes(data=True))
    graph.add_nodes_from(name for sites in seen for name in sites if name not in graph)
    return Boxes(graph, {name: site for sites in seen for name, site in sites.items()})
