"""Racks from files: YAML of our own, node-link JSON, GraphML.

::

    rack: four trays                 rack: a pair
    preset: nvl72                    nodes:
    options: {trays: 4}              - {name: tray-0, kind: tray}
                                     - {name: gpu-0, kind: gpu, parent: tray-0}
                                     links:
                                     - {between: [gpu-0, gpu-1], kind: nvlink, bandwidth_GB_s: 900,
                                        latency_us: 2.5}
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import ParseError

import networkx as nx
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from rackproof.model.kernel import ModelError
from rackproof.model.rack.graph import Rack, checked
from rackproof.model.rack.presets import preset

if TYPE_CHECKING:
    from rackproof.model.rack.graph import Graph

_MOST_BYTES: Final = 4 * 1024 * 1024
_KEYS: Final = ("rack", "preset", "options", "nodes", "links")


def load_rack(where: str | Path) -> Rack:
    """Return a preset by its name, or the rack in a file; ``ModelError`` says what is wrong."""
    if isinstance(where, str) and not Path(where).suffix:
        return preset(where)
    path = Path(where)
    readers: dict[str, Callable[[str, str], Rack]] = {
        ".yaml": _from_yaml,
        ".yml": _from_yaml,
        ".json": _from_json,
        ".graphml": _from_graphml,
    }
    if path.suffix not in readers:
        raise ModelError(f"{path}: a rack is read from {', '.join(readers)}")
    try:
        return readers[path.suffix](path.stem, _text(path))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise ModelError("there is no such file")
        if path.stat().st_size > _MOST_BYTES:
            raise ModelError(f"is larger than {_MOST_BYTES // 1024**2} MiB")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot be read: {error}") from error


def _from_yaml(name: str, text: str) -> Rack:
    try:
        content = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise ModelError(f"is not YAML: {error}") from error
    entries = _map(content, "a rack", _KEYS)
    name = str(entries.get("rack", name))
    if "preset" in entries:
        if "nodes" in entries or "links" in entries:
            raise ModelError("nodes and links cannot go with a preset")
        options = entries.get("options", {})
        return preset(str(entries["preset"]), _map(options, "options"), name)
    if "options" in entries:
        raise ModelError("options are of a preset, and there is none")
    return checked(name, _listed(entries.get("nodes"), entries.get("links", [])))


def _listed(nodes: object, links: object) -> Graph:
    graph: Graph = nx.Graph()
    if not isinstance(nodes, list) or not isinstance(links, list):
        raise ModelError("a rack is a preset, or a list of nodes and a list of links")
    for item in nodes:
        node = _map(item, "a node")
        name = node.pop("name", None)
        if not isinstance(name, str):
            raise ModelError(f"a node needs a name, a text: {item!r}")
        if name in graph:
            raise ModelError(f"there are two nodes {name}")
        graph.add_node(name, **node)
    for item in links:
        link = _map(item, "a link")
        ends = link.pop("between", None)
        if not isinstance(ends, list) or len(ends) != 2 or not all(end in graph for end in ends):
            raise ModelError(f"a link is between two of the nodes: {item!r}")
        if graph.has_edge(*ends):
            raise ModelError(f"there are two links between {ends[0]} and {ends[1]}")
        graph.add_edge(*ends, **link)
    return graph


def _map(value: object, what: str, known: tuple[str, ...] | None = None) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ModelError(f"{what} is a map, not {value!r}")
    for key in value:
        if known is not None and key not in known:
            raise ModelError(f"{what} has no key {key!r}; it has {', '.join(known)}")
    return dict(value)


def _from_json(name: str, text: str) -> Rack:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"is not JSON: {error}") from error
    entries = _map(content, "node-link JSON")
    edges = "edges" if "edges" in entries else "links"
    try:
        graph = nx.node_link_graph(entries, directed=False, multigraph=False, edges=edges)
    except (KeyError, TypeError, ValueError, AttributeError, nx.NetworkXException) as error:
        raise ModelError(f"is not node-link JSON: {error!r}") from error
    return checked(name, graph)


def _from_graphml(name: str, text: str) -> Rack:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ModelError("has a document type; a rack has no use for one")
    try:
        graph = nx.read_graphml(io.BytesIO(text.encode()))
    except (ParseError, KeyError, ValueError, nx.NetworkXException) as error:
        raise ModelError(f"is not GraphML: {error}") from error
    return checked(name, graph)
