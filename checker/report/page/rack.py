"""The rack as boxes in boxes, of the parts that have a part in the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import networkx as nx
from attrs import frozen

from rackproof.checker.explain.drawn import picture
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Site, System

GRAVEST: Final = ("failed", "suspect", "busy")


@frozen
class Box:
    """A node of the rack, what it is like at the end of the run (None: nobody says), what is on it.

    others: nodes that stand on it too and have no part in the run, in words. members: the nodes
    that it stands for, where it is several that are alike.
    """

    name: str
    kind: str
    site: Site | None
    inner: tuple[Box, ...] = ()
    others: str = ""
    members: tuple[str, ...] = ()

    @property
    def condition(self) -> str:
        """What it is like, in words; of several, what each is."""
        return self.site.condition if self.site else ""

    @property
    def worst(self) -> str:
        """The gravest condition of it or of its members, as it is drawn."""
        return next((each for each in GRAVEST if each in self.condition), self.condition)


@frozen(slots=False)
class Boxes:
    """The rack, by what stands on what; sites: what is told of its nodes at the end of the run.
    speaking: those of which more than their condition is told at any time.
    """

    graph: nx.Graph[str]
    sites: Mapping[str, Site]
    speaking: frozenset[str]

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
        """The boxes on a node, or on nothing, that have a part in the run; those that are alike and
        have nothing to say but their condition are one.
        """
        there = [each for each in self.on.get(node, ()) if each in self.told]
        kinds = dict.fromkeys(self._kind(each) for each in there)
        alike = {kind: [n for n in there if self._is_mute(n, kind)] for kind in kinds}
        many = [names for names in alike.values() if len(names) > 1]
        single = [each for each in there if not any(each in names for names in many)]
        return tuple(
            [self._box(each) for each in single] + [self._several(names) for names in many]
        )

    def _is_mute(self, node: str, kind: str) -> bool:
        return self._kind(node) == kind and node not in self.speaking and node not in self.on

    def _several(self, names: Sequence[str]) -> Box:
        kind = self._kind(names[0]) or "part"
        told = Site(conditions(self.sites[name].condition for name in names))
        return Box(counted(len(names), kind), "", told, members=tuple(names))

    def others(self, node: str | None = None) -> str:
        """The rest of what is there, counted by kind; a node may stand for several."""
        kinds = Counter[str]()
        for each in self.on.get(node, ()):
            if each not in self.told:
                kinds[self._kind(each)] += int(self.graph.nodes[each].get("count", 1))
        return ", ".join(counted(count, kind or "part") for kind, count in kinds.items())

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
    speaking = frozenset(name for sites in seen for name, site in sites.items() if site.words)
    told = {name: site for sites in seen for name, site in sites.items()}
    return Boxes(graph, told, speaking)


def conditions(those: Iterable[str]) -> str:
    """What several are like, each condition once: 1 failed, 3 fine."""
    counts = Counter(those)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} {condition}" for condition, count in sorted(counts.items()))
