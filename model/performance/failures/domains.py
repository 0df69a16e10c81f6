"""What a failure takes: the instances that stop, or whose KV goes another way from then on.

A part of the rack takes every instance with a GPU in its failure domain (``Rack.lost_with``): a
tray of two instances loses both at once. A NIC takes no instance, only its way out of the tray.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.detection import Symptom
from rackproof.model.rack import Part, Placement


@frozen
class Struck:
    """What a failure does.

    stopped: names of instances that are down. detoured: of those that run on, but whose KV goes
    over another link. symptom: what it looks like from outside.
    """

    stopped: tuple[str, ...]
    detoured: tuple[str, ...]
    symptom: Symptom


_SYMPTOMS: Final[Mapping[Part, Symptom]] = {
    Part.GPU: Symptom.CRASH,
    Part.NIC: Symptom.LINK,
    Part.NVLINK_SWITCH: Symptom.HANG,
}
"""A GPU that falls off ends its process; without NVLink, processes wait for one another. Whatever
else fails takes the host with it, and falls silent."""


def struck(
    name: str, instances: Iterable[str], placement: Placement | None, detour: bool = False
) -> Struck:
    """What the failure of an instance or of a part of the rack does; ``ModelError`` for neither.

    detour: what is lost is a way out of the instances, which run on (NVLink between trays, with the
    scale-out network in its place), rather than the instances.
    """
    instances = tuple(instances)
    if name in instances:
        return Struck((name,), (), Symptom.CRASH)
    if placement is None or name not in placement.rack.graph:
        raise ModelError(_unknown(name, instances, placement))
    rack = placement.rack
    part = rack.kind(name)
    if part is Part.NIC:
        return Struck((), _beside(name, placement), Symptom.LINK)
    lost = rack.lost_with(name)
    stopped = tuple(i.name for i in placement.instances if not lost.isdisjoint(i.gpus))
    if not stopped:
        raise ModelError(f"no instance is lost with {name}: there is none on it")
    if detour:
        return Struck((), stopped, Symptom.LINK)
    return Struck(stopped, (), _SYMPTOMS.get(part, Symptom.SILENCE))


def _beside(nic: str, placement: Placement) -> tuple[str, ...]:
    """The instances of the GPUs that a NIC is linked to."""
    near = set(placement.rack.graph[nic])
    found = tuple(i.name for i in placement.instances if not near.isdisjoint(i.gpus))
    if not found:
        raise ModelError(f"no instance sends over {nic}: there is none on its GPUs")
    return found


def _unknown(name: str, instances: tuple[str, ...], placement: Placement | None) -> str:
    parts = tuple(placement.rack.graph) if placement else ()
    near = difflib.get_close_matches(name, (*instances, *parts), n=1)
    if near:
        return f"nothing called {name!r} can fail; did you mean {near[0]}?"
    whole = f" or a part of the rack {placement.rack.name}" if placement else "; there is no rack"
    return f"nothing called {name!r} can fail; there are {', '.join(instances)}{whole}"
