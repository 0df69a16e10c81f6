"""The rack: a graph of trays, GPUs and links, and the instances placed on it.

Read graph (what a rack is), presets and files (where racks come from), placement (instances on
GPUs, and what may be exchanged), symmetry (how that is shown).
"""

from rackproof.model.rack.files import load_rack
from rackproof.model.rack.graph import Part, Path, Rack, Wire, checked
from rackproof.model.rack.placement import CALLED, Instance, Placement, place
from rackproof.model.rack.presets import preset, presets

__all__ = [
    "CALLED",
    "Instance",
    "Part",
    "Path",
    "Placement",
    "Rack",
    "Wire",
    "checked",
    "load_rack",
    "place",
    "preset",
    "presets",
]
