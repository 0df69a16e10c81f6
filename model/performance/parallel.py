"""How the GPUs of an instance share a model, and what they tell one another within a step."""

from __future__ import annotations

from math import ceil
from typing import ClassVar, Final

from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import BF16_BYTES, Architecture
from rackproof.model.performance.catalogue import at_least_one, instance_of, positive, share
from rackproof.model.performance.collectives import (
    all_reduce_bytes,
    all_reduce_s,
    switch_reduce_s,
)
from rackproof.model.performance.hardware import Link

_ALL_REDUCES_A_LAYER: Final = 2
"""Of tensor parallelism: one behind attention, one behind the feed-forward network."""


@frozen
class Traffic:
    """What a step sends between the GPUs of an instance: seconds, bytes in all, joules."""

    seconds: float
    bytes: float
    joules: float


@frozen
class TensorParallel:
    """Every matrix is cut; two all-reduces a layer, not overlapped with anything.

    The KV cache is cut by heads, as far as there are any: latent attention has one vector a token,
    which every GPU keeps. in_switch: reduced by the NVLink switch, rather than in a ring (as the
    study has it), whose latency grows with the GPUs: 14 hops for 8 of them.
    """

    CALLED: ClassVar[str] = "parallelism"

    data_parallel: ClassVar[bool] = False
    imbalance: ClassVar[float] = 1.0

    in_switch: bool = field(default=False, validator=instance_of(bool))

    def check(self, model: Architecture, gpus: int) -> None:
        """Refuse heads that cannot be dealt to the GPUs."""
        if model.heads % gpus:
            raise ModelError(
                f"{model.heads} heads of {model.name} have no even share of {gpus} GPUs"
            )

    def traffic(self, model: Architecture, tokens: int, gpus: int, link: Link) -> Traffic:
        """All-reduces of a step."""
        reduces, message = _ALL_REDUCES_A_LAYER * model.layers, tokens * model.width * BF16_BYTES
        if gpus > 1 and self.in_switch:
            moved, seconds = float(gpus * message), switch_reduce_s(message, link)
        else:
            moved = all_reduce_bytes(message, gpus)
            seconds = all_reduce_s(message, gpus, link)
        return Traffic(reduces * seconds, reduces * moved, reduces * link.joules(moved))


@frozen
class ExpertParallel:
    """Experts are dealt to the GPUs; attention is data-parallel, with a copy of it on every GPU.

    A step's tokens, and their KV, count as dealt evenly (many requests, or context parallelism: one
    short prompt alone takes longer than this says). In each layer with experts a token is sent once
    to every GPU that has one of its experts, and comes back from there: two all-to-alls, not
    overlapped. domain: so many GPUs reach one another over the scale-up link, the rest over
    scale_out (a link of one GPU). imbalance: load of the busiest expert GPU over the mean.
    efficiency: the share of a link that the kernels reach; 0.7 is DeepEP's 726 and 740 GB/s of 8
    GPUs over 900 GB/s links, once the eighth that stays at home is taken out. dispatch_bytes and
    combine_bytes: of a value on the way there (FP8) and back (BF16).
    """

    CALLED: ClassVar[str] = "parallelism"

    data_parallel: ClassVar[bool] = True

    scale_out: Link | None = field(default=None)
    domain: int = field(default=72, validator=positive)
    imbalance: float = field(default=1.0, validator=at_least_one)
    efficiency: float = field(default=0.7, validator=share)
    dispatch_bytes: float = field(default=1.0, validator=positive)
    combine_bytes: float = field(default=2.0, validator=positive)

    @scale_out.validator
    def _a_link(self, attribute: object, value: object) -> None:
        if value is not None:
            instance_of(Link)(self, attribute, value)  # type: ignore[arg-type]

    def check(self, model: Architecture, gpus: int) -> None:
        """Refuse a dense model, experts that cannot be dealt, GPUs with no link between them."""
        if model.mixture is None:
            raise ModelError(f"{model.name} has no experts; it needs tensor parallelism")
        if model.mixture.experts % gpus:
            count = model.mixture.experts
            raise ModelError(
                f"{count} experts of {model.name} have no even share of {gpus} GPUs; it takes a "
                f"divisor of {count}"
            )
        if gpus > self.domain and self.scale_out is None:
            raise ModelError(
                f"{gpus} GPUs are more than the {self.domain} of an NVLink domain; "
                "they need scale_out"
            )

    def traffic(self, model: Architecture, tokens: int, gpus: int, link: Link) -> Traffic:
        """Dispatch and combine of a step, in every layer with experts."""
        if gpus == 1 or model.mixture is None:
            return Traffic(0.0, 0.0, 0.0)
        layers, values = model.mixture_layers, model.width * model.mixture.reached(gpus)
        inside = (min(gpus, self.domain) - 1) / (gpus - 1)
        ways = [(link, inside)]
        if self.scale_out and inside < 1:
            ways.append((self.scale_out, 1 - inside))
        there_and_back = self.dispatch_bytes + self.combine_bytes
        sent = ceil(tokens / gpus) * values * there_and_back * self.imbalance
        seconds = max(
            2 * way.latency_s + sent * part / (way.bytes_per_s * self.efficiency)
            for way, part in ways
        )
        moved = layers * tokens * values * there_and_back
        joules = sum(way.joules(moved * part) for way, part in ways)
        return Traffic(layers * seconds, moved, joules)


Parallel = TensorParallel | ExpertParallel
