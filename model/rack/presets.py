"""Racks that people have: an NVL72, servers of eight GPUs, two racks side by side.

Bandwidths are one way and for one GPU. Latencies are of one link: the two links of an NVLink path,
or of a scale-out path, make up the 5 and 10 microseconds that a transfer is charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import networkx as nx
from attrs import evolve, fields, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.rack.graph import Part, Rack, Wire, checked

if TYPE_CHECKING:
    from rackproof.model.rack.graph import Graph


@frozen
class Shape:
    """What a preset is made of.

    scale_out_GB_s: the network of one GPU (50 is 400 Gb/s). hosts: CPUs of a tray; each is joined
    to its share of the tray's GPUs, over C2C or PCIe. nvlink_across_trays: one NVLink domain a
    rack, rather than one a tray.
    """

    racks: int = 1
    trays: int = 18
    gpus: int = 4
    hosts: int = 2
    nvlink_GB_s: float = 900.0  # noqa: N815 (the unit)
    host_GB_s: float = 450.0  # noqa: N815
    scale_out_GB_s: float = 50.0  # noqa: N815
    host_wire: Wire = Wire.C2C
    nvlink_across_trays: bool = True


_SHAPES: Final[Mapping[str, Shape]] = {
    "nvl72": Shape(),
    "hgx": Shape(
        trays=4,
        gpus=8,
        nvlink_GB_s=450.0,
        host_GB_s=64.0,
        host_wire=Wire.PCIE,
        nvlink_across_trays=False,
    ),
    "two-rack": Shape(racks=2),
}

_OPTIONS: Final = ("racks", "trays", "gpus", "hosts", "nvlink_GB_s", "host_GB_s", "scale_out_GB_s")

_NVLINK_US: Final = 2.5
_HOST_US: Final = {Wire.C2C: 10.0, Wire.PCIE: 5.0}
_NETWORK_US: Final = 5.0
_STORE_GB_S: Final = 50.0


def presets() -> tuple[str, ...]:
    """The names of the presets."""
    return tuple(_SHAPES)


def preset(
    name: str, options: Mapping[str, object] | None = None, called: str | None = None
) -> Rack:
    """Make a preset, with other numbers where options give them (``trays: 4``)."""
    if name not in _SHAPES:
        raise ModelError(f"there is no rack {name!r}; there are {', '.join(_SHAPES)}")
    shape = _SHAPES[name]
    for key, value in (options or {}).items():
        shape = evolve(shape, **{_option(name, key): _positive(name, key, value)})
    if shape.gpus % shape.hosts:
        raise ModelError(
            f"rack {name}: {shape.gpus} GPUs have no even share of {shape.hosts} hosts"
        )
    return checked(called or name, _Builder(shape).graph)


def _option(name: str, key: str) -> str:
    options = {option.replace("_", "-"): option for option in _OPTIONS}
    if key not in options:
        raise ModelError(f"rack {name} has no option {key!r}; it has {', '.join(options)}")
    return options[key]


def _positive(name: str, key: str, value: object) -> Any:
    whole = fields(Shape)
    is_whole = isinstance(getattr(whole, _option(name, key)).default, int)
    kinds = int if is_whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value <= 4096:
        what = "whole number" if is_whole else "number"
        raise ModelError(f"rack {name}: {key} is a {what} from 1 to 4096, not {value!r}")
    return value


class _Builder:
    """A graph that grows, part by part."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.graph: Graph = nx.Graph()
        self._add("network", Part.NETWORK)
        for rack in range(shape.racks):
            self._rack(rack)
        for name, kind in (("frontend", Part.FRONTEND), ("store", Part.STORE)):
            self._add(name, kind)
            self._link(name, "network", Wire.NETWORK, _STORE_GB_S, _NETWORK_US)

    def _rack(self, rack: int) -> None:
        name = self._add(f"rack-{rack}", Part.RACK)
        across = self.shape.nvlink_across_trays
        switch = self._add(f"nvlink-{rack}", Part.NVLINK_SWITCH, name) if across else None
        for tray in range(rack * self.shape.trays, (rack + 1) * self.shape.trays):
            self._tray(tray, name, switch)

    def _tray(self, tray: int, rack: str, switch: str | None) -> None:
        shape, name = self.shape, self._add(f"tray-{tray}", Part.TRAY, rack)
        joined = switch or self._add(f"nvlink-{tray}", Part.NVLINK_SWITCH, name)
        hosts = [
            self._add(f"host-{tray * shape.hosts + i}", Part.HOST, name) for i in range(shape.hosts)
        ]
        for i in range(shape.gpus):
            number = tray * shape.gpus + i
            gpu = self._add(f"gpu-{number}", Part.GPU, name)
            nic = self._add(f"nic-{number}", Part.NIC, name)
            host, wire = hosts[i * shape.hosts // shape.gpus], shape.host_wire
            self._link(gpu, joined, Wire.NVLINK, shape.nvlink_GB_s, _NVLINK_US)
            self._link(gpu, host, wire, shape.host_GB_s, _HOST_US[wire])
            self._link(gpu, nic, Wire.PCIE, shape.scale_out_GB_s, 0.0)
            self._link(nic, "network", Wire.NETWORK, shape.scale_out_GB_s, _NETWORK_US)

    def _add(self, name: str, kind: Part, parent: str | None = None) -> str:
        self.graph.add_node(name, kind=kind.value, **({"parent": parent} if parent else {}))
        return name

    def _link(self, a: str, b: str, kind: Wire, bandwidth: float, latency: float) -> None:
        self.graph.add_edge(a, b, kind=kind.value, bandwidth_GB_s=bandwidth, latency_us=latency)
