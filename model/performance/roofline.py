"""What a step of a serving instance takes: the slower of compute and memory, and the rest.

seconds = max(operations / peak, bytes / bandwidth) + traffic between GPUs + a fixed overhead; the
formulas, their constants and how true they are (prefill 5 to 10 % optimistic, decode 5 to 30 %
pessimistic against measured kernels) are told in docs/performance.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar

from attrs import field, frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.architecture import BF16_BYTES, Architecture
from rackproof.model.performance.catalogue import instance_of, not_negative, positive, share
from rackproof.model.performance.formats import KvFormat
from rackproof.model.performance.hardware import Gpu, Link
from rackproof.model.performance.parallel import ExpertParallel, Parallel, TensorParallel


@frozen
class Work:
    """A step: operations, bytes of memory, bytes over links, seconds; joules beside idle.

    compute_s and memory_s overlap (the slower counts), link_s comes on top. joules is the sum of
    compute_J, memory_J and link_J.
    """

    flops: float
    memory_bytes: float
    link_bytes: float
    seconds: float
    joules: float
    compute_s: float = 0.0
    memory_s: float = 0.0
    link_s: float = 0.0
    compute_J: float = 0.0  # noqa: N815 (the unit)
    memory_J: float = 0.0  # noqa: N815
    link_J: float = 0.0  # noqa: N815

    @property
    def bound(self) -> str:
        """Which side of the roofline it is on: compute or memory."""
        return "compute" if self.compute_s > self.memory_s else "memory"


@frozen
class Engine:
    """A serving instance: GPUs that hold a model together.

    overhead_ms: of each step, for launching and scheduling. memory_share: of the GPUs' memory, what
    weights and KV may fill. ``ModelError`` where the model does not fit.
    """

    CALLED: ClassVar[str] = "instance"

    gpu: Gpu = field(validator=instance_of(Gpu))
    gpus: int = field(validator=positive)
    model: Architecture = field(validator=instance_of(Architecture))
    kv: KvFormat = field(validator=instance_of(KvFormat))
    overhead_ms: float = field(default=0.5, validator=not_negative)
    memory_share: float = field(default=0.9, validator=share)
    parallel: Parallel = field(
        factory=TensorParallel, validator=instance_of(TensorParallel, ExpertParallel)
    )

    def __attrs_post_init__(self) -> None:
        """Refuse a model that cannot be dealt out, or leaves no room for a single token."""
        self.parallel.check(self.model, self.gpus)
        self.gpu.speedup(self.model.precision)
        if self.kv_capacity_tokens < 1:
            raise ModelError(
                f"{self.model.name} does not fit: its weights are {self.weight_bytes / 1e9:,.1f} "
                f"GB, and {self.gpus} x {self.gpu.name} have {self._room / 1e9:,.1f} GB for them "
                f"and KV ({self.memory_share:.0%} of {self.gpus} x {self.gpu.memory_GB:g} GB)"
            )

    @cached_property
    def link(self) -> Link:
        """The link over which its GPUs talk."""
        return self.gpu.link

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return self.model.layers

    @property
    def _room(self) -> float:
        return self.memory_share * self.gpu.memory_GB * 1e9 * self.gpus

    @cached_property
    def weight_bytes(self) -> float:
        """Bytes of the weights on all its GPUs, copies included."""
        return self._weight_copies * self.model.common_bytes + self.model.routed_bytes

    @property
    def _weight_copies(self) -> int:
        return self.gpus if self.parallel.data_parallel else 1

    @cached_property
    def kv_bytes_per_token(self) -> float:
        """Bytes of KV of one token: of one copy, which is what is handed off."""
        return self.kv.bytes(self.model.kv_values_per_token)

    @cached_property
    def kv_copies(self) -> float:
        """How often the KV of a token is kept by its GPUs."""
        return 1 if self.parallel.data_parallel else max(1, self.gpus / self.model.kv_shards)

    @cached_property
    def kv_room_bytes(self) -> float:
        """What is left for one copy of the KV beside the weights."""
        return (self._room - self.weight_bytes) / self.kv_copies

    @cached_property
    def kv_capacity_tokens(self) -> int:
        """How many tokens of KV fit beside the weights."""
        return int(self.kv_room_bytes // self.kv_bytes_per_token)

    @property
    def idle_W(self) -> float:  # noqa: N802 (the unit)
        """What its GPUs draw whatever they do."""
        return self.gpus * self.gpu.idle_W

    def prefill(self, spans: Iterable[tuple[int, int]]) -> Work:
        """A batch of prompts: for each, its new tokens and those whose KV is there already."""
        return self.step(spans, 0, 0)

    def decode(self, batch: int, context: int) -> Work:
        """One token for each of a batch; context: the tokens they have in the cache, summed."""
        return self.step((), batch, context)

    def step(self, spans: Iterable[tuple[int, int]], batch: int, context: int) -> Work:
        """Both at once, as chunked prefill has it: the weights are read once.

        ``ModelError`` for numbers below 0, and for what is no number.
        """
        model, spans = self.model, tuple(spans)
        new = sum(n for n, _ in spans)
        if not (new >= 0 and batch >= 0 and context >= 0):
            raise ModelError(f"a step has no {new!r} tokens, batch {batch!r}, context {context!r}")
        attention = sum(model.prefill_attention_flops(n, c) for n, c in spans)
        attention += model.decode_attention_flops(context + batch) if batch else 0
        cached = sum(c for _, c in spans) + (context + batch if batch else 0)
        return self._work(new + batch, attention, (new + cached) * self._kv_bytes_kept)

    @cached_property
    def _kv_bytes_kept(self) -> float:
        return self.kv_bytes_per_token * self.kv_copies

    @cached_property
    def _common_read(self) -> float:
        """Bytes of the weights that every step reads: of the embedding only what it needs."""
        embedding = self.model.head_parameters * BF16_BYTES
        return self._weight_copies * (self.model.common_bytes - embedding)

    @cached_property
    def _rates(self) -> tuple[float, float]:
        return self.gpu.flop_per_s * self.gpus, self.gpu.bytes_per_s * self.gpus

    @cached_property
    def _charged_a_token(self) -> tuple[float, float]:
        """Matrix operations of a token, as of BF16: at the pace of the busiest GPU, and evenly."""
        model, speedup = self.model, self.gpu.speedup(self.model.precision)
        rest = model.common_parameters / speedup + model.head_parameters
        experts = model.expert_multiplied / speedup
        return 2 * (rest + experts * self.parallel.imbalance), 2 * (rest + experts)

    def _work(self, tokens: int, attention: float, kv_bytes: float) -> Work:
        gpu, model, (flop_per_s, bytes_per_s) = self.gpu, self.model, self._rates
        size = self._common_read + tokens * model.width * BF16_BYTES + kv_bytes
        size += model.touched_bytes(tokens)
        slowest, evenly = self._charged_a_token
        compute_s = (slowest * tokens + attention) / flop_per_s
        memory_s = size / bytes_per_s
        traffic = self.parallel.traffic(model, tokens, self.gpus, self.link)
        compute_j = (evenly * tokens + attention) * gpu.pJ_per_FLOP * 1e-12
        memory_j = size * gpu.pJ_per_byte * 1e-12
        return Work(
            flops=model.linear_flops(tokens) + attention,
            memory_bytes=size,
            link_bytes=traffic.bytes,
            seconds=max(compute_s, memory_s) + traffic.seconds + self.overhead_ms * 1e-3,
            joules=compute_j + memory_j + traffic.joules,
            compute_s=compute_s,
            memory_s=memory_s,
            link_s=traffic.seconds,
            compute_J=compute_j,
            memory_J=memory_j,
            link_J=traffic.joules,
        )
