"""Which parts of a rack can be exchanged without anybody noticing: automorphisms of its graph."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import networkx as nx
from networkx.algorithms.isomorphism import GraphMatcher

from rackproof.model.rack.graph import Part, Rack

if TYPE_CHECKING:
    from rackproof.model.rack.graph import Graph

Exchange = Mapping[str, str]

_MOST_TRIED: Final = 200
"""How many ways to lay one tray on another are tried before they count as different."""


def is_automorphism(rack: Rack, moved: Exchange) -> bool:
    """Whether a permutation of nodes (those not named stay) leaves the rack as it is."""
    graph = rack.graph
    if set(moved) != set(moved.values()):
        return False
    children = [node for node in graph if graph.nodes[node].get("parent") in moved]
    return all(_same_node(graph, node, moved) for node in {*moved, *children}) and all(
        _same_links(graph, node, moved) for node in moved
    )


def _same_node(graph: Graph, node: str, moved: Exchange) -> bool:
    before, after = dict(graph.nodes[node]), graph.nodes[moved.get(node, node)]
    if "parent" in before:
        before["parent"] = moved.get(before["parent"], before["parent"])
    return before == after


def _same_links(graph: Graph, node: str, moved: Exchange) -> bool:
    image = {moved.get(other, other): data for other, data in graph[node].items()}
    return image == dict(graph[moved[node]])


def swap(one: Sequence[str], other: Sequence[str]) -> Exchange:
    """The exchange of two lists of nodes, place by place."""
    pairs = tuple(zip(one, other, strict=True))
    return {**dict(pairs), **{b: a for a, b in pairs}}


def tray_swaps(rack: Rack, one: str, other: str) -> Iterator[Exchange]:
    """Exchanges of two trays, with all that is in them, that leave the rack as it is."""
    inside, outside = rack.within(one), rack.within(other)
    if _kinds(rack, inside) == _kinds(rack, outside):
        # As a rack is usually written down: the n-th part of one is the n-th of the other.
        straight = swap(inside, outside)
        if is_automorphism(rack, straight):
            yield straight
    if len(inside) == len(outside):
        for laid in itertools.islice(_laid(rack, inside, outside), _MOST_TRIED):
            moved = {**laid, **{b: a for a, b in laid.items()}}
            if is_automorphism(rack, moved):
                yield moved


def _kinds(rack: Rack, nodes: Sequence[str]) -> list[Part]:
    return [rack.kind(node) for node in nodes]


def _laid(rack: Rack, one: Sequence[str], other: Sequence[str]) -> Iterator[dict[str, str]]:
    """The ways to lay the parts of one tray on those of another, links among them included."""
    matcher = GraphMatcher(
        _apart(rack, one), _apart(rack, other), node_match=_equal, edge_match=_equal
    )
    yield from matcher.isomorphisms_iter()


def _apart(rack: Rack, nodes: Sequence[str]) -> Graph:
    """The part of the rack that some nodes are, each labelled with its links to all the rest."""
    graph: Graph = nx.Graph()
    for node in nodes:
        labels = {key: item for key, item in rack.graph.nodes[node].items() if key != "parent"}
        links = {other: dict(link) for other, link in rack.graph[node].items()}
        outside = {other: link for other, link in links.items() if other not in nodes}
        graph.add_node(node, **labels, outside=outside)
        graph.add_edges_from((node, other, links[other]) for other in links if other in nodes)
    return graph


def _equal(one: object, other: object) -> bool:
    return one == other
