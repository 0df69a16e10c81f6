"""What is explored: how many requests and tokens, which faults and how often."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from attrs import field, frozen

from rackproof.model.faults import Budget
from rackproof.model.kernel import ModelError


def fault_names() -> tuple[str, ...]:
    """The names of what can be given a budget, in kebab case."""
    return tuple(attribute.name.replace("_", "-") for attribute in attrs.fields(Budget))


@frozen
class Scope:
    """The finite world to explore.

    tokens: how many each output has. max_tokens: how many each request may have (by default the
    same; more means that the engine stops by itself). retry_limit: retries of a request after its
    first dispatch. blocks_per_worker: requests whose KV fits on a disaggregated worker at a time.
    handles: how many pieces a transfer is split over. guided, short, withholds: the shape of every
    request (see ``Request``). faults: how often each fault may happen, by its kebab-case name.
    """

    requests: int = 1
    tokens: int = 2
    max_tokens: int | None = None
    retry_limit: int = 1
    blocks_per_worker: int = 1
    handles: int = 1
    guided: bool = False
    short: bool = False
    withholds: bool = False
    faults: Mapping[str, int] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value < least:
                kebab = name.replace("_", "-")
                raise ModelError(f"{kebab} is at least {least}, not {value}")
        if self.max_tokens is not None and self.max_tokens < self.tokens:
            raise ModelError(
                f"max-tokens is at least tokens ({self.tokens}), not {self.max_tokens}"
            )
        for fault, count in self.faults.items():
            if fault not in fault_names():
                raise ModelError(f"there is no fault {fault!r}")
            if count < 0:
                raise ModelError(f"the budget of {fault} is at least 0, not {count}")

    @property
    def budget(self) -> Budget:
        """The faults as the world counts them."""
        return Budget(**{name.replace("-", "_"): count for name, count in self.faults.items()})


_LEAST = {"requests": 1, "tokens": 1, "retry_limit": 0, "blocks_per_worker": 1, "handles": 1}
