"""What a step of a serving instance takes: the slower of compute and memory, and the rest.

seconds = max(operations / peak, bytes / bandwidth) + all-reduces + a fixed overhead; the formulas,
their constants and how true they are (prefill 5 to 10 % optimistic, decode 5 to 30 % pessimistic
against measured kernels) are told in docs/performance.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, Final

from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import Architecture
from rackproof.model.performance.catalogue import not_negative, positive, share
from rackproof.model.performance.collectives import all_reduce_bytes, all_reduce_s
from rackproof.model.performance.formats import KvFormat
from rackproof.model.performance.hardware import Gpu, Link

_ALL_REDUCES_A_LAYER: Final = 2
"""Of tensor parallelism: one behind attention, one behind the feed-forward network."""


@frozen
class Work:
    """A step: operations, bytes of memory, bytes over links, seconds; joules beside idle."""

    flops: float
    memory_bytes: float
    link_bytes: float
    seconds: float
    joules: float


@frozen
class Engine:
    """A serving instance: GPUs that hold a model together, tensor-parallel.

    overhead_ms: of each step, for launching and scheduling. memory_share: of the GPUs' memory, what
    weights and KV may fill. ``ModelError`` where the model does not fit.
    """

    CALLED: ClassVar[str] = "instance"

    gpu: Gpu
    gpus: int = field(validator=positive)
    model: Architecture
    kv: KvFormat
    overhead_ms: float = field(default=0.5, validator=not_negative)
    memory_share: float = field(default=0.9, validator=share)

    def __attrs_post_init__(self) -> None:
        """Refuse a model that leaves no room for a single token."""
        if self.kv_capacity_tokens < 1:
            room, needed = self._room, self.model.weight_bytes
            raise ModelError(
                f"{self.model.name} does not fit: its weights are {needed / 1e9:,.1f} GB, and "
                f"{self.gpus} x {self.gpu.name} have {room / 1e9:,.1f} GB for weights and KV "
                f"({self.memory_share:.0%} of {self.gpus} x {self.gpu.memory_GB:g} GB)"
            )

    @cached_property
    def link(self) -> Link:
        """The link over which its GPUs reduce."""
        return self.gpu.link

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return self.model.layers

    @property
    def flop_per_s(self) -> float:
        """Operations a second that all its GPUs reach."""
        return self.gpu.flop_per_s * self.gpus

    @property
    def bytes_per_s(self) -> float:
        """Bytes of memory a second that all its GPUs reach."""
        return self.gpu.bytes_per_s * self.gpus

    @property
    def _room(self) -> float:
        return self.memory_share * self.gpu.memory_GB * 1e9 * self.gpus

    @cached_property
    def kv_bytes_per_token(self) -> float:
        """Bytes of KV of one token."""
        return self.kv.bytes(self.model.kv_values_per_token)

    @cached_property
    def kv_capacity_tokens(self) -> int:
        """How many tokens of KV fit beside the weights."""
        return int((self._room - self.model.weight_bytes) // self.kv_bytes_per_token)

    def prefill(self, spans: Iterable[tuple[int, int]]) -> Work:
        """A batch of prompts: for each, its new tokens and those whose KV is there already."""
        return self.step(spans, 0, 0)

    def decode(self, batch: int, context: int) -> Work:
        """One token for each of a batch; context: the tokens they have in the cache, summed."""
        return self.step((), batch, context)

    def step(self, spans: Iterable[tuple[int, int]], batch: int, context: int) -> Work:
        """Both at once, as chunked prefill has it: the weights are read once."""
        model, kv = self.model, self.kv_bytes_per_token
        spans = tuple(spans)
        new = sum(n for n, _ in spans)
        tokens = new + batch
        flops = model.linear_flops(tokens) + sum(model.prefill_attention_flops(*s) for s in spans)
        flops += model.decode_attention_flops(context + batch) if batch else 0
        cached = sum(c for _, c in spans) + (context + batch if batch else 0)
        size = (
            model.matmul_parameters * model.bytes_per_parameter
            + tokens * model.width * 2
            + (new + cached) * kv
        )
        return self._work(flops, size, tokens)

    def _work(self, flops: float, size: float, tokens: int) -> Work:
        gpu, n = self.gpu, self.gpus
        busy = max(flops / self.flop_per_s, size / self.bytes_per_s)
        reduces = _ALL_REDUCES_A_LAYER * self.model.layers
        message = tokens * self.model.width * 2
        moved = reduces * all_reduce_bytes(message, n)
        seconds = busy + reduces * all_reduce_s(message, n, self.link) + self.overhead_ms * 1e-3
        joules = (flops * gpu.pJ_per_FLOP + size * gpu.pJ_per_byte) * 1e-12
        return Work(flops, size, moved, seconds, joules + self.link.joules(moved))
