"""What is simulated: pools of instances, how a request goes through them, and what is asked."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import ClassVar, Protocol

from attrs import field, frozen
from attrs.validators import instance_of, optional

from rackproof.model.kernel import ModelError
from rackproof.model.performance.catalogue import called, positive
from rackproof.model.performance.hardware import Link
from rackproof.model.performance.roofline import Work


class Instance(Protocol):
    """What a simulation asks of a serving instance; ``roofline.Engine`` is one.

    For a batch of one size, seconds of compute and of memory, and joules of both, grow linearly
    with the context, and nothing else does (``steps.Pace``).
    """

    @property
    def gpus(self) -> int:
        """GPUs that it is made of."""

    @property
    def idle_W(self) -> float:  # noqa: N802 (the unit)
        """What they draw whatever they do."""

    @property
    def layers(self) -> int:
        """Of the model: how many pieces a streamed hand-off has."""

    @property
    def kv_capacity_tokens(self) -> int:
        """Tokens of KV that fit."""

    @property
    def kv_bytes_per_token(self) -> float:
        """Bytes of KV of one token."""

    def step(self, spans: Iterable[tuple[int, int]], batch: int, context: int) -> Work:
        """Prompts (their new tokens, and those cached) and one token each of a batch, together."""


@frozen
class Pool:
    """Instances of one kind."""

    CALLED: ClassVar[str] = "pool"

    engine: Instance
    count: int = field(validator=positive)


@frozen
class HandOff:
    """How KV goes from prefill to decode: over channels of a link, first come, first served.

    streaming: layer by layer while the prefill computes; otherwise stored, and forwarded once it is
    done. channels: as many as there are prefill instances, unless told.
    """

    CALLED: ClassVar[str] = "hand-off"

    link: Link
    channels: int | None = field(default=None, validator=optional(positive))
    streaming: bool = False


@frozen
class PrefixCache:
    """KV of earlier prompts that each prefill instance keeps, in blocks, the least recent go first.

    blocks: how many an instance keeps (None: all).
    """

    CALLED: ClassVar[str] = "prefix cache"

    block_tokens: int = field(default=512, validator=positive)
    blocks: int | None = field(default=None, validator=optional(positive))


@frozen(kw_only=True)
class Disaggregated:
    """Prefill and decode on instances of their own.

    prefill_tokens: of whole prompts batched in one prefill (one prompt at least). decode_batch: the
    most requests in a step. context_tokens: of prompt and output, the most a request may have.
    choose_early: the decode instance is chosen before the hand-off, rather than once KV has left
    prefill (as the rack study has it). back_pressure: chosen early, and KV is handed over only once
    there is room for it, and stays where it is until then; otherwise it waits at decode, in memory
    that nobody counts. paths: a link from each prefill instance to each decode instance, chosen
    early, where they are not all alike.
    """

    CALLED: ClassVar[str] = "deployment"

    prefill: Pool
    decode: Pool
    hand_off: HandOff
    prefill_tokens: int = field(default=8192, validator=positive)
    decode_batch: int = field(default=256, validator=positive)
    prefill_routing: str = "least-queued-tokens"
    decode_routing: str = "least-loaded"
    cache: PrefixCache | None = None
    choose_early: bool = False
    back_pressure: bool = False
    context_tokens: int | None = field(default=None, validator=optional(positive))
    paths: tuple[tuple[Link, ...], ...] | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse pools that do not speak of the same KV, and paths that are not for them."""
        one, other = (p.engine.kv_bytes_per_token for p in (self.prefill, self.decode))
        if one != other:
            raise ModelError(
                f"{called(type(self))}: prefill has {one:,.0f} B of KV a token, decode {other:,.0f}"
                "; what is handed over must be the same"
            )
        shape = (self.decode.count,) * self.prefill.count
        if self.paths is not None and tuple(map(len, self.paths)) != shape:
            raise ModelError(
                f"{called(type(self))}: paths are {self.prefill.count} rows (prefill) of "
                f"{self.decode.count} links (decode)"
            )

    @property
    def chosen_early(self) -> bool:
        """Whether the decode instance is known when the hand-off begins."""
        return self.choose_early or self.back_pressure or self.paths is not None

    @property
    def pools(self) -> tuple[Pool, ...]:
        """All instances."""
        return (self.prefill, self.decode)


@frozen(kw_only=True)
class Aggregated:
    """Prefill and decode in the same steps, the prompts in chunks.

    chunk_tokens: of a step: one for each request that decodes, the rest for prompts, in the order
    they came (Sarathi-Serve, OSDI '24). Others as in ``Disaggregated``.
    """

    CALLED: ClassVar[str] = "deployment"

    pool: Pool
    chunk_tokens: int = field(default=2048, validator=positive)
    decode_batch: int = field(default=256, validator=positive)
    routing: str = "least-loaded"
    cache: PrefixCache | None = None
    context_tokens: int | None = field(default=None, validator=optional(positive))

    def __attrs_post_init__(self) -> None:
        """Refuse a step in which prompts would never have a turn."""
        if self.chunk_tokens <= self.decode_batch:
            raise ModelError(
                f"{called(type(self))}: chunk_tokens are more than decode_batch, or prompts starve;"
                f" they are {self.chunk_tokens} and {self.decode_batch}"
            )

    @property
    def pools(self) -> tuple[Pool, ...]:
        """All instances."""
        return (self.pool,)


Deployment = Disaggregated | Aggregated


@frozen
class Request:
    """A request: when it comes, its tokens, and hashes of the blocks its prompt is made of.

    A block's hash stands for everything up to its end: equal hashes have equal prefixes.
    """

    arrival_s: float
    prompt: int
    output: int
    blocks: tuple[int, ...] = ()


class Convention(Enum):
    """Until when a time to the first token counts (``results.TTFT_NAMES``).

    END_OF_PREFILL leaves the hand-off out, as the published rack study has it. FIRST_TOKEN ends
    with the first step of decode, after the hand-off, if there is one to come (DynoSim's): so long
    a client waits where the decode instance is the one that answers.
    """

    END_OF_PREFILL = "end-of-prefill"
    FIRST_TOKEN = "first-token"

    @property
    def text(self) -> str:
        """What it counts, in words."""
        first = self is Convention.FIRST_TOKEN
        return "with hand-off and first step" if first else "end of prefill"


class Served(Protocol):
    """What tells whether a request kept its objectives; NaN for what never came to be."""

    @property
    def output(self) -> int:
        """Tokens that it gives."""

    @property
    def prefilled_s(self) -> float:
        """The end of prefill."""

    @property
    def decoded_s(self) -> float:
        """The end of its first step of decode."""

    @property
    def finished_s(self) -> float:
        """Its last token."""


@frozen
class Slo:
    """What a request is to keep: seconds to the first token, then seconds a token on average.

    convention: until when the first counts; seconds a token count from the end of prefill in both.
    """

    CALLED: ClassVar[str] = "SLO"

    ttft_s: float = field(default=2.0, validator=positive)
    tpot_s: float = field(default=0.05, validator=positive)
    convention: Convention = field(
        default=Convention.END_OF_PREFILL, validator=instance_of(Convention)
    )

    def first_s(self, one: Served) -> float:
        """When a request has its first token, by the convention."""
        stepped = self.convention is Convention.FIRST_TOKEN and one.output > 1
        return one.decoded_s if stepped else one.prefilled_s

    def kept(self, one: Served, arrival_s: float) -> bool:
        """Whether a request kept both times; one that did not end has not."""
        tpot_s = (one.finished_s - one.prefilled_s) / max(1, one.output - 1)
        return self.first_s(one) - arrival_s <= self.ttft_s and tpot_s <= self.tpot_s
