"""From a protocol, a scope and a placement on a rack to a ``System``: part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from rackproof.model import (
    cache,
    discovery,
    endpoint,
    index,
    kv,
    marks,
    peers,
    request,
    retry,
    rooms,
    stream,
    transfer,
)
from rackproof.model.build.indexed import indexed
from rackproof.model.build.linked import linked
from rackproof.model.build.serving import serving
from rackproof.model.build.stored import stored
from rackproof.model.evidence import evidence
from rackproof.model.kernel import Property, Quantity, System, Transition
from rackproof.model.picture import picture
from rackproof.model.protocol import Protocol
from rackproof.model.scope import Scope
from rackproof.model.store import gets, loss, puts, room
from rackproof.model.timing.clock import timing
from rackproof.model.timing.deployment import Deployment
from rackproof.model.timing.timeouts import TIMEOUTS
from rackproof.model.world import World, given

if TYPE_CHECKING:
    from rackproof.model.rack import Placement


def _transitions(module: ModuleType) -> list[Transition[..., Any]]:
    """The transitions that a machine's file defines, in the order it does."""
    found = [value for value in vars(module).values() if isinstance(value, Transition)]
    return [item for item in found if item.function.__module__ == module.__name__]


MACHINES: Final = (
    request,
    retry,
    stream,
    kv,
    transfer,
    endpoint,
    discovery,
    marks,
    peers,
    rooms,
    cache,
    index,
    gets,
    puts,
    room,
    loss,
)
"""The files of the machines, in the order in which their transitions are told."""

TRANSITIONS: Final = tuple(
    transition for machine in MACHINES for transition in _transitions(machine)
)
"""Every transition of the world, machine by machine."""


FREEDOMS: Final = {"tokens": ("most",), "retries": ("round", "dispatches"), "faults": ("faults",)}
"""What a proof may leave open: the length of outputs, the retry limit, how many faults there are (of
those that a scope has at all).
"""


def build(
    protocol: Protocol,
    scope: Scope,
    placement: Placement,
    properties: Sequence[Property],
    name: str = "world",
    deployment: Deployment | None = None,
    timeouts: Mapping[str, Quantity] = TIMEOUTS,
) -> System:
    """Return the world in which this protocol serves this scope on these instances.

    deployment: what is served, by default as in the rack study. timeouts: what an operator set.
    """
    parts = (
        serving(scope, placement),
        linked(scope, placement),
        indexed(scope, placement),
        stored(scope),
    )
    fields: dict[str, Any] = {}
    for part in parts:
        fields |= part.fields
    names = {sort: names for part in parts for sort, names in part.names.items()}
    return System(
        name=name,
        initial=World(protocol=protocol, **fields),
        transitions=TRANSITIONS,
        properties=tuple(properties),
        sizes={name: size for part in parts for name, size in part.sizes.items()},
        names=names,
        interchangeable=tuple(bundles for part in parts for bundles in part.interchangeable),
        freedoms=FREEDOMS,
        given=given,
        timing=timing(protocol, scope, placement, deployment, timeouts),
        picture=picture(scope, placement, names),
        evidence=evidence(names),
    )
