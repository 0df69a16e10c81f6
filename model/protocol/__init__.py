"""The mechanisms of recovery: what a serving stack does, or does not do, when something breaks.

A ``Protocol`` is a choice of each; a stack is a set of values with sources (``scenarios/stacks``).
The defaults are the reference design, in which every property holds. In YAML a mechanism is named
in kebab case: ``finish-latch: true``. Each concern has a file with its mechanisms.

``repo#N`` is issue or pull request N of: dynamo = ai-dynamo/dynamo, vllm = vllm-project/vllm,
sglang = sgl-project/sglang, TRT = NVIDIA/TensorRT-LLM, Mooncake = kvcache-ai/Mooncake,
nixl = ai-dynamo/nixl, LMCache = LMCache/LMCache, router = llm-d/llm-d-router,
kv-cache = llm-d/llm-d-kv-cache, aibrix = vllm-project/aibrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import attrs
from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.protocol.endpoint import EndpointMechanisms
from rackproof.model.protocol.index import AfterGap, IndexMechanisms, RestartSignal
from rackproof.model.protocol.kv import (
    Dispatch,
    KvMechanisms,
    LoadFailure,
    ReadValidation,
    Release,
    SenderStops,
    Transfer,
)
from rackproof.model.protocol.mechanism import Mechanism, described
from rackproof.model.protocol.peers import (
    CacheOnUpdate,
    LinkFailure,
    PeersMechanisms,
    WeightsCheck,
)
from rackproof.model.protocol.retry import Replay, RetryMechanisms
from rackproof.model.protocol.rooms import RoomsMechanisms
from rackproof.model.protocol.scales import ScalesMechanisms
from rackproof.model.protocol.store import (
    StoreAccess,
    StoreFailure,
    StoreMechanisms,
    StoreProtection,
)
from rackproof.model.protocol.stream import StreamMechanisms, ZeroBudget

__all__ = [
    "CONCERNS",
    "AfterGap",
    "CacheOnUpdate",
    "Dispatch",
    "LinkFailure",
    "LoadFailure",
    "Mechanism",
    "Protocol",
    "ReadValidation",
    "Release",
    "Replay",
    "RestartSignal",
    "SenderStops",
    "StoreAccess",
    "StoreFailure",
    "StoreProtection",
    "Transfer",
    "WeightsCheck",
    "ZeroBudget",
    "mechanisms",
    "with_mechanisms",
]

CONCERNS: Final = {
    "stream": StreamMechanisms,
    "retry": RetryMechanisms,
    "endpoint": EndpointMechanisms,
    "kv": KvMechanisms,
    "scales": ScalesMechanisms,
    "peers": PeersMechanisms,
    "rooms": RoomsMechanisms,
    "index": IndexMechanisms,
    "store": StoreMechanisms,
}
"""Each concern with its mechanisms, in the order in which they are told."""


@frozen(cache_hash=True)  # each state of a world has one, and is hashed
class Protocol(
    StreamMechanisms,
    RetryMechanisms,
    EndpointMechanisms,
    KvMechanisms,
    ScalesMechanisms,
    PeersMechanisms,
    RoomsMechanisms,
    IndexMechanisms,
    StoreMechanisms,
):
    """A choice of every mechanism."""


@cache
def mechanisms() -> tuple[Mechanism, ...]:
    """Every mechanism, concern by concern."""
    return tuple(
        described(concern, attribute)
        for concern, kind in CONCERNS.items()
        for attribute in attrs.fields(kind)
    )


def with_mechanisms(protocol: Protocol, values: Mapping[str, object]) -> Protocol:
    """Return the protocol with mechanisms (by their YAML names) changed."""
    known = {mechanism.name: mechanism for mechanism in mechanisms()}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise ModelError(f"there is no mechanism {name!r}")
        changes[known[name].field] = known[name].read(value)
    return attrs.evolve(protocol, **changes)
