"""Servers: which GPUs they have, how far NVLink reaches, and the rack they make up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import Attribute, field, frozen

from rackproof.model.performance.catalogue import chosen, positive, presets
from rackproof.model.performance.hardware import Gpu, gpu
from rackproof.model.rack import Rack, preset


def _known_gpu(_: Node, __: Attribute[str], value: str) -> None:
    gpu(value)


@frozen
class Node:
    """A server of GPUs. options: of the rack preset."""

    CALLED: ClassVar[str] = "node"

    name: str
    gpu: str = field(validator=_known_gpu)
    gpus: int = field(validator=positive)
    nvlink_gpus: int = field(validator=positive)
    rack: str
    options: Mapping[str, object] = field(factory=dict)
    text: str = ""
    source: str = ""

    @property
    def part(self) -> Gpu:
        """Its kind of GPU."""
        return gpu(self.gpu)

    def build(self) -> Rack:
        """The rack of such nodes; ``ModelError`` where there is no such preset or option."""
        return preset(self.rack, self.options, self.name)


def node(name: str) -> Node:
    """The preset of a server."""
    return chosen("nodes.yaml", Node, name)


def nodes() -> Mapping[str, Node]:
    """Every preset, by name."""
    return presets("nodes.yaml", Node)
