"""What does a token cost in joules, and where do they go?"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from attrs import frozen

from rackproof.model.performance.catalogue import whole_numbers
from rackproof.model.performance.roofline import Engine, Work


@frozen
class Energy:
    """Joules of one token, of a step that has only such tokens.

    phase: prefill (batch is 1, a token of the prompt) or decode (a token of each request). idle_J
    is what the GPUs draw whatever they do, for as long as the step takes.
    """

    phase: str
    batch: int
    context_tokens: int
    compute_J: float  # noqa: N815 (the unit)
    memory_J: float  # noqa: N815
    link_J: float  # noqa: N815
    idle_J: float  # noqa: N815

    @property
    def total_J(self) -> float:  # noqa: N802 (the unit)
        """All of it."""
        return self.compute_J + self.memory_J + self.link_J + self.idle_J


def prefills(engine: Engine, prompts: Iterable[int]) -> tuple[Energy, ...]:
    """A row for every length of prompt, each alone in its step."""
    return tuple(
        _energy(engine, "prefill", 1, n, n, engine.prefill([(n, 0)]))
        for n in whole_numbers("a prompt length", prompts)
    )


def decodes(engine: Engine, batches: Iterable[int], contexts: Iterable[int]) -> tuple[Energy, ...]:
    """A row for every batch size and length of context."""
    sizes = whole_numbers("a batch size", batches)
    lengths = whole_numbers("a context length", contexts)
    return tuple(
        _energy(engine, "decode", batch, context, batch, engine.decode(batch, batch * context))
        for batch, context in product(sizes, lengths)
    )


def _energy(
    engine: Engine, phase: str, batch: int, context: int, tokens: int, work: Work
) -> Energy:
    parts = (work.compute_J, work.memory_J, work.link_J, engine.idle_W * work.seconds)
    return Energy(phase, batch, context, *(part / tokens for part in parts))
