"""Hand-offs over the links of a rack: from each prefill instance to each decode instance.

Instances are placed as the protocol world places them, one a tray in turn. A way is as wide as its
slowest edge, shard to shard; without an NVLink switch (``lost``) it leads over the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rackproof.model.kernel import ModelError
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.paths import Fabric
from rackproof.model.performance.simulation import Pool
from rackproof.model.rack import Part, Placement, load_rack, place, presets
from rackproof.scenarios.performance.parts import attempt
from rackproof.scenarios.places import Place

Paths = tuple[tuple[Link, ...], ...]


def read_paths(where: Place, prefill: Pool, decode: Pool, base: Path) -> Paths | None:
    """A link for every pair of instances; ``where`` names a rack and what of it is lost."""
    before = len(where.problems.found)
    found = {"preset": where} if where.is_scalar else _keys(where)
    if not found:
        return None
    text = found["preset"].choice(presets(), "rack") if "preset" in found else None
    if "path" in found:
        text = found["path"].text("the path of a rack file")
    if text is None:
        return None
    rack: str | Path = text if "preset" in found else base.parent / text
    lost = found["lost"].items("a list of parts") if "lost" in found else ()
    names = frozenset(name for one in lost if (name := one.text("the name of a part")))
    on = _seats(found)
    if len(where.problems.found) > before:
        return None
    return attempt(where, lambda: _links(rack, prefill, decode, names, on))


def _keys(where: Place) -> Mapping[str, Place]:
    found = where.record(("preset", "path", "lost", "on"), "a rack, or a map with preset or path")
    if where.is_map and ("preset" in found) == ("path" in found):
        where.fail("needs a preset or a path")
        return {}
    return found


def _seats(found: Mapping[str, Place]) -> dict[str, Any]:
    """The trays, or the GPUs, of instances that are placed by hand."""
    seats = found["on"].entries("a map from instances to trays") or {} if "on" in found else {}
    return {
        name: [gpu.text() for gpu in one.items()] if one.is_list else one.text("a tray")
        for name, one in seats.items()
    }


def _links(
    rack: str | Path, prefill: Pool, decode: Pool, lost: frozenset[str], on: dict[str, Any]
) -> Paths:
    loaded = load_rack(rack)
    placement = place(loaded, prefill=prefill.count, decode=decode.count, on=on)
    _check_sizes(placement, {"prefill": prefill, "decode": decode})
    fabric = Fabric(loaded, lost)  # type: ignore[arg-type] # its converter has no type of its own
    _check_lost(placement, fabric.lost)
    known: dict[tuple[Any, ...], Link] = {}
    instances = placement.instances
    sources = [one for one in instances if one.role == "prefill"]
    targets = [one for one in instances if one.role == "decode"]
    return tuple(
        tuple(_link(fabric, source, target, known) for target in targets) for source in sources
    )


def _link(fabric: Fabric, source: Any, target: Any, known: dict[tuple[Any, ...], Link]) -> Link:
    """The way from one to the other; ways that are alike are one link."""
    link = fabric.link(fabric.flows(source, target), "on the rack")
    return known.setdefault((link.bandwidth_GB_s, link.latency_us, link.pJ_per_bit), link)


def _check_lost(placement: Placement, lost: frozenset[str]) -> None:
    """Refuse an instance on GPUs that are lost; without an NVLink switch GPUs only lose a way."""
    rack = placement.rack
    for part in sorted(lost):
        gone = frozenset[str]() if rack.kind(part) is Part.NVLINK_SWITCH else rack.lost_with(part)
        for one in placement.instances:
            if not gone.isdisjoint(one.gpus):
                raise ModelError(
                    f"{one.name} is lost with {part}: put it elsewhere (on:), or let it fail "
                    "during the run (failures:)"
                )


def _check_sizes(placement: Placement, pools: Mapping[str, Pool]) -> None:
    for one in placement.instances:
        gpus = pools[one.role].engine.gpus
        if len(one.gpus) != gpus:
            raise ModelError(
                f"{one.role} instances have {gpus} GPUs; on rack {placement.rack.name} {one.name} "
                f"is placed on {len(one.gpus)}"
            )
