"""How long does a step take, and what is it bound by?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from attrs import frozen

from rackproof.model.performance.catalogue import whole_numbers
from rackproof.model.performance.roofline import Engine, Work


@frozen
class Step:
    """A step of one phase: prefill of a prompt (batch 1), or a token for each of a batch.

    The slower of compute_s and memory_s (which one is bound) and link_s and overhead_s make up
    step_s; token_s is its share for one token. fits: whether the KV of the batch fits the instance.
    """

    phase: str
    batch: int
    context_tokens: int
    step_s: float
    token_s: float
    bound: str
    compute_s: float
    memory_s: float
    link_s: float
    overhead_s: float
    fits: bool


def prefills(engine: Engine, prompts: Iterable[int]) -> tuple[Step, ...]:
    """A row for every length of prompt, each alone in its step."""
    return tuple(
        _step(engine, "prefill", 1, n, n, engine.prefill([(n, 0)]))
        for n in whole_numbers("a prompt length", prompts)
    )


def decodes(engine: Engine, batches: Iterable[int], contexts: Iterable[int]) -> tuple[Step, ...]:
    """A row for every batch size and length of context."""
    sizes = whole_numbers("a batch size", batches)
    lengths = whole_numbers("a context length", contexts)
    return tuple(
        _step(engine, "decode", batch, context, batch, engine.decode(batch, batch * context))
        for batch, context in product(sizes, lengths)
    )


def _step(engine: Engine, phase: str, batch: int, context: int, tokens: int, work: Work) -> Step:
    return Step(
        phase,
        batch,
        context,
        work.seconds,
        work.seconds / tokens,
        work.bound,
        work.compute_s,
        work.memory_s,
        work.link_s,
        engine.overhead_ms * 1e-3,
        batch * context <= engine.kv_capacity_tokens,
    )
