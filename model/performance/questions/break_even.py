"""Fetch a request's KV cache over a link, or compute it again?

Fetching wins iff wait + latency + messages + bytes / bandwidth < wait + prefill + hand-off. The
cost of prefill a token falls at first (fixed costs are spread), then rises (attention): so at one
bandwidth the answer may change twice over context length, and is a set of ranges, not a length.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import ClassVar, Final

from attrs import field, frozen
from attrs.validators import optional

from rackproof.model.performance.architecture import Architecture
from rackproof.model.performance.catalogue import (
    instance_of,
    not_negative,
    share,
    whole_numbers,
)
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.paths import Messages
from rackproof.model.performance.questions.search import greatest_ratio, runs
from rackproof.model.performance.roofline import Engine

LONGEST: Final = 131_072
"""Tokens of context up to which is searched where nothing else is said: Llama 3.1's limit."""


@frozen
class Choice:
    """Two ways to have the KV cache of n tokens on an instance.

    engine: that computes it again. handoff: the link from there to where it is needed, if it is
    elsewhere. efficiency: the share of the link's bandwidth that is reached. kept_tokens: context
    before the n that is there in any case. The waits are for the link and for the engine.
    """

    CALLED: ClassVar[str] = "choice"

    engine: Engine = field(validator=instance_of(Engine))
    link: Link = field(validator=instance_of(Link))
    efficiency: float = field(default=1.0, validator=share)
    messages: Messages | None = field(default=None, validator=optional(instance_of(Messages)))
    handoff: Link | None = field(default=None, validator=optional(instance_of(Link)))
    link_wait_s: float = field(default=0.0, validator=not_negative)
    prefill_wait_s: float = field(default=0.0, validator=not_negative)
    kept_tokens: int = field(default=0, validator=not_negative)

    def size(self, tokens: int) -> float:
        """Bytes of the KV cache of so many tokens."""
        return self.engine.kv.bytes(tokens * self.engine.model.kv_values_per_token)

    def fixed_s(self, tokens: int) -> float:
        """What fetching takes at any bandwidth."""
        layers = self.engine.model.layers
        posted = self.messages.seconds(tokens, layers) if self.messages else 0.0
        return self.link_wait_s + self.link.latency_s + posted

    def transfer_s(self, tokens: int) -> float:
        """What fetching takes."""
        return self.fixed_s(tokens) + self.size(tokens) / (self.link.bytes_per_s * self.efficiency)

    def recompute_s(self, tokens: int) -> float:
        """What computing it again takes."""
        prefill = self.engine.prefill([(tokens, self.kept_tokens)]).seconds
        moved = self.handoff.seconds(self.size(tokens)) if self.handoff else 0.0
        return self.prefill_wait_s + prefill + moved


@frozen
class Span:
    """From first to last token of context, one way is better: ``transfer`` or ``recompute``."""

    first_tokens: int
    last_tokens: int
    better: str


@frozen
class Threshold:
    """The bandwidth above which fetching wins; None where no bandwidth is enough."""

    tokens: int
    least_bytes_per_s: float | None
    transfer_s: float
    recompute_s: float

    @property
    def better(self) -> str:
        """What is better over the link as it is."""
        return "transfer" if self.transfer_s < self.recompute_s else "recompute"


def over_length(choice: Choice, longest: int = LONGEST) -> tuple[Span, ...]:
    """Which way is better at every length of 1..longest, exact to the token.

    No crossing is missed: both costs never fall as the context grows, and that is all the search
    relies on (``search.runs``).
    """
    (longest,) = whole_numbers("the longest context", [longest])
    found = runs(choice.transfer_s, choice.recompute_s, 1, longest)
    return tuple(
        Span(first, last, "transfer" if better else "recompute") for first, last, better in found
    )


def over_bandwidth(choice: Choice, lengths: Iterable[int]) -> tuple[Threshold, ...]:
    """For each length the bandwidth above which fetching wins: at one length there is but one."""
    return tuple(_threshold(choice, n) for n in whole_numbers("a context length", lengths))


def critical(choice: Choice, longest: int = LONGEST) -> Threshold:
    """The length that asks most of a link: above its bandwidth fetching wins at every length."""
    (longest,) = whole_numbers("the longest context", [longest])
    tokens, _ = greatest_ratio(choice.size, choice.recompute_s, choice.fixed_s, 1, longest)
    return _threshold(choice, tokens)


def _threshold(choice: Choice, tokens: int) -> Threshold:
    recompute_s = choice.recompute_s(tokens)
    left = recompute_s - choice.fixed_s(tokens)
    least = choice.size(tokens) / left / choice.efficiency if left > 0 else inf
    return Threshold(tokens, least if least < inf else None, choice.transfer_s(tokens), recompute_s)


def mooncake_bytes_per_s(model: Architecture, flop_per_s: float, tokens: int) -> float:
    """Mooncake's estimate of the same, to compare with.

    B > 2 d s G / (gqa (a p d + b d^2)) for p tokens of prompt on hardware of G operations a second,
    s = 2 bytes a value, gqa query heads a KV head, a = 4 and b = 22. Source: Mooncake, FAST '25,
    equation 2. (The exact b of Llama 3 70B is larger.)
    """
    shared, d = model.heads / model.kv_heads, model.width
    return flop_per_s * 2 * d * 2 / (shared * (4 * tokens * d + 22 * d**2))
