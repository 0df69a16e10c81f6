"""The language in which worlds are written: plain Python over frozen attrs states.

Read domains (what a field may hold), transitions (how a world moves), properties (what must hold)
and system (all three together, with the reference semantics); timing, where runs are to be timed,
picture, where they are to be drawn, and evidence, where they are held against what was recorded.
Nothing here knows an engine or a solver.
"""

from attrs import evolve, frozen

from rackproof.model.kernel.domains import (
    Identifiers,
    bounded,
    each,
    fixed,
    identifier,
    members,
    owner,
    parameter,
    supply,
)
from rackproof.model.kernel.errors import ModelError, OutOfDomain
from rackproof.model.kernel.evidence import Evidence, Observation, Place, Record, evidence_of
from rackproof.model.kernel.picture import Belief, Item, Lane, Message, Picture, Site
from rackproof.model.kernel.properties import (
    Property,
    Scope,
    always,
    at_rest,
    eventually,
    sometimes,
)
from rackproof.model.kernel.schema import Schema, Slot
from rackproof.model.kernel.states import put
from rackproof.model.kernel.system import Bundle, Firing, System, holds, successors
from rackproof.model.kernel.timing import Bound, Charge, Duration, Quantity, Timing
from rackproof.model.kernel.transitions import (
    Fairness,
    Kind,
    Transition,
    client,
    environment,
    fault,
    step,
    timer,
    transition,
)

__all__ = [
    "Belief",
    "Bound",
    "Bundle",
    "Charge",
    "Duration",
    "Evidence",
    "Fairness",
    "Firing",
    "Identifiers",
    "Item",
    "Kind",
    "Lane",
    "Message",
    "ModelError",
    "Observation",
    "OutOfDomain",
    "Picture",
    "Place",
    "Property",
    "Quantity",
    "Record",
    "Schema",
    "Scope",
    "Site",
    "Slot",
    "System",
    "Timing",
    "Transition",
    "always",
    "at_rest",
    "bounded",
    "client",
    "each",
    "environment",
    "eventually",
    "evidence_of",
    "evolve",
    "fault",
    "fixed",
    "frozen",
    "holds",
    "identifier",
    "members",
    "owner",
    "parameter",
    "put",
    "sometimes",
    "step",
    "successors",
    "supply",
    "timer",
    "transition",
]
