"""What is explored: how many requests and tokens, which faults and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from attrs import field, frozen

from rackproof.model.faults import Budget
from rackproof.model.kernel import ModelError

_LIMITS: Final = "limits"
_PART: Final = "part"
_CONCERN: Final = "concern"
MOST_FAULTS: Final = 16
"""The largest budget of a fault."""
MOST_DISPATCHES: Final = 64
"""The most that the retries of all layers may come to."""


def fault_names() -> tuple[str, ...]:
    """The names of what can be given a budget, in kebab case."""
    return tuple(attribute.name.replace("_", "-") for attribute in attrs.fields(Budget))


def limits(attribute: attrs.Attribute[Any]) -> tuple[int, int] | None:
    """The least and the most that a size of the scope may be; None for what is no size."""
    return attribute.metadata.get(_LIMITS)


def part(attribute: attrs.Attribute[Any]) -> str | None:
    """The size without which this one has no meaning."""
    return attribute.metadata.get(_PART)


def concern(attribute: attrs.Attribute[Any]) -> str | None:
    """The concern of the protocol that a part of the world is about, which this size asks for."""
    return attribute.metadata.get(_CONCERN)


def _size(
    default: int | None,
    least: int,
    most: int,
    part: str | None = None,
    concern: str | None = None,
) -> Any:
    metadata = {_LIMITS: (least, most), _PART: part, _CONCERN: concern}
    return field(default=default, metadata=metadata)


@frozen
class Scope:
    """The finite world to explore.

    requests: how many, all of one shape; 0 where only an index or a store is looked at. tokens: how
    many each output has. max_tokens: how many each request may have (by default the same; more
    means that the engine stops by itself). retry_limit: retries of a request after its first
    dispatch. gateway_retries: how often a gateway in front of the router begins again after that.
    client_retries: how often the client itself asks again, after all the others. blocks_per_worker:
    requests whose KV fits on a disaggregated worker at a time. handles: how many pieces a transfer
    is split over. links: how many pairs of a decode and a prefill worker keep a connection. rooms:
    how many bootstrap rooms there are. mixed_model: the KV of the prefill workers of the links is
    of another model than that of the decode workers. mixed_dtype: that KV is of another data type.
    mixed_layout: that KV is laid out otherwise in memory. mixed_page_size: that KV is in pages of
    another size. mixed_scales: that KV has scales of another kind. quantised: KV is kept in few
    bits, with scales that lie elsewhere. prefixes: blocks of cached prompt, each behind the one
    before, that the router's index follows. cache_changes: how often caches change, in all.
    clients: how many engines use a shared store; 0 for no store. keys: how many keys it has.
    segments: how many workers lend it memory. spaces: how many objects each of them has room for.
    stored: how many of the keys are there at the start. gets: how many look-ups each client makes.
    ranks: the clients are the ranks of one request. hot_copies: clients keep what they read. disk:
    the store is on disks, which know what they do not have. guided, short, withholds, malformed:
    the shape of every request (see ``Request``). sessions: all requests are of one session, which
    is bound to the worker it was first sent to.
    faults: how often each fault may happen, by its kebab-case name.
    """

    requests: int = _size(1, 0, 8)
    tokens: int = _size(2, 1, 64, part="requests")
    max_tokens: int | None = _size(None, 1, 64, part="requests")
    retry_limit: int = _size(1, 0, 16, part="requests")
    gateway_retries: int = _size(0, 0, 4)
    client_retries: int = _size(0, 0, 4)
    blocks_per_worker: int = _size(1, 1, 16, part="requests")
    handles: int = _size(1, 1, 8, part="requests")
    links: int = _size(0, 0, 16, concern="peers")
    rooms: int = _size(0, 0, 8, concern="rooms")
    mixed_model: bool = False
    mixed_dtype: bool = False
    mixed_layout: bool = False
    mixed_page_size: bool = False
    mixed_scales: bool = False
    quantised: bool = field(default=False, metadata={_CONCERN: "scales"})
    prefixes: int = _size(0, 0, 4, concern="index")
    cache_changes: int = _size(3, 1, 8, part="prefixes")
    clients: int = _size(0, 0, 4, concern="store")
    keys: int = _size(1, 1, 4, part="clients")
    segments: int = _size(1, 1, 4, part="clients")
    spaces: int = _size(1, 1, 4, part="clients")
    stored: int = _size(0, 0, 4, part="clients")
    gets: int = _size(1, 1, 4, part="clients")
    ranks: bool = False
    hot_copies: bool = False
    disk: bool = False
    guided: bool = False
    short: bool = False
    withholds: bool = False
    malformed: bool = False
    sessions: bool = False
    faults: Mapping[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Refuse what makes no sense."""
        for attribute in attrs.fields(Scope):
            self._check_size(attribute)
        if self.max_tokens is not None and self.max_tokens < self.tokens:
            raise ModelError(
                f"max-tokens is at least tokens ({self.tokens}), not {self.max_tokens}"
            )
        if self.prefixes and self.requests:
            raise ModelError("prefixes are looked at by themselves: requests is 0 there")
        room = min(self.keys, self.segments * self.spaces)
        if self.stored > room:
            raise ModelError(f"stored is at most {room} (keys, and spaces), not {self.stored}")
        if self.prefixes and self.faults.get("restart"):
            raise ModelError("restart knows nothing of caches: with prefixes it is engine-restart")
        if self.most_dispatches > MOST_DISPATCHES:
            raise ModelError(
                f"the retries of all layers come to {self.most_dispatches} dispatches of a "
                f"request; at most {MOST_DISPATCHES} can be explored"
            )
        for fault, count in self.faults.items():
            if fault not in fault_names():
                raise ModelError(f"there is no fault {fault!r}")
            if count < 0:
                raise ModelError(f"the budget of {fault} is at least 0, not {count}")

    def _check_size(self, attribute: attrs.Attribute[Any]) -> None:
        value, bounds = getattr(self, attribute.name), limits(attribute)
        if bounds and value is not None and value < bounds[0]:
            kebab = attribute.name.replace("_", "-")
            raise ModelError(f"{kebab} is at least {bounds[0]}, not {value}")

    @property
    def most_dispatches(self) -> int:
        """What the retries of all layers come to: their product."""
        rounds = (self.gateway_retries + 1) * (self.client_retries + 1)
        return rounds * (self.retry_limit + 1)

    @property
    def budget(self) -> Budget:
        """The faults as the world counts them."""
        return Budget(**{name.replace("-", "_"): count for name, count in self.faults.items()})
