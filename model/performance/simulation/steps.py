"""Many decode steps at once: as long as nobody joins or leaves, their seconds have a closed form.

With a batch of b, the context grows by b tokens a step; the seconds of compute and of memory are
linear in it, and a step takes the larger of the two, and a rest that does not depend on it. So n
steps are one arithmetic series, or two where the one overtakes the other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Final

from attrs import field, frozen

from rackproof.model.performance.catalogue import not_negative, positive
from rackproof.model.performance.roofline import Work
from rackproof.model.performance.simulation.setting import Instance

_FAR: Final = 2**20
"""Tokens of context between the two points through which the lines are laid."""


class Pace:
    """Decode steps of a batch of one size; contexts are those before the first of them.

    compute, memory: seconds; compute_J, memory_J: joules; each a value at no context, and what a
    token of context adds. rest: seconds beside compute and memory. link_J: of a step.
    """

    __slots__ = ("batch", "compute", "compute_J", "link_J", "memory", "memory_J", "rest")

    def __init__(self, engine: Instance, batch: int) -> None:
        near, far = engine.step((), batch, 0), engine.step((), batch, _FAR)
        self.batch = batch
        self.compute = near.compute_s, (far.compute_s - near.compute_s) / _FAR
        self.memory = near.memory_s, (far.memory_s - near.memory_s) / _FAR
        self.compute_J = near.compute_J, (far.compute_J - near.compute_J) / _FAR
        self.memory_J = near.memory_J, (far.memory_J - near.memory_J) / _FAR
        self.rest = near.seconds - max(near.compute_s, near.memory_s)
        self.link_J = near.link_J

    def seconds(self, context: int, steps: int) -> float:
        """How long so many steps take."""
        (c0, c1), (m0, m1) = self.compute, self.memory
        last = context + (steps - 1) * self.batch
        compute, compute_last = c0 + c1 * context, c0 + c1 * last
        memory, memory_last = m0 + m1 * context, m0 + m1 * last
        if memory >= compute and memory_last >= compute_last:
            return steps * ((memory + memory_last) / 2 + self.rest)
        if compute >= memory and compute_last >= memory_last:
            return steps * ((compute + compute_last) / 2 + self.rest)
        before = int((compute - memory) / ((m1 - c1) * self.batch)) + 1
        before = min(before, steps - 1)
        return self.seconds(context, before) + self.seconds(
            context + before * self.batch, steps - before
        )

    def total(self, line: tuple[float, float], context: int, steps: int) -> float:
        """Joules of so many steps."""
        return steps * (line[0] + line[1] * (context + (steps - 1) * self.batch / 2))

    def until(self, context: int, seconds: float, most: int) -> int:
        """After how many steps (one at least) the first boundary comes at that time or later."""
        return 1 + bisect_left(range(1, most), seconds, key=partial(self.seconds, context))

    def whole(self, context: int, seconds: float, most: int) -> int:
        """How many steps are done by then."""
        return bisect_right(range(1, most + 1), seconds, key=partial(self.seconds, context))


@frozen
class FixedEngine:
    """An instance whose steps take what they take, whatever is in them: for queueing theory.

    A step with prompts takes prefill_ms, one with a decoding batch decode_ms, one with both both.
    """

    CALLED: ClassVar[str] = "instance"

    prefill_ms: float = field(validator=not_negative)
    decode_ms: float = field(validator=positive)
    kv_bytes_per_token: float = field(default=327_680.0, validator=positive)
    kv_capacity_tokens: int = field(default=10**9, validator=positive)
    layers: int = field(default=1, validator=positive)
    gpus: int = field(default=1, validator=positive)
    idle_W: float = field(default=0.0, validator=not_negative)  # noqa: N815 (the unit)

    def step(self, spans: Iterable[tuple[int, int]], batch: int, context: int) -> Work:  # noqa: ARG002
        """The seconds, and no work that draws power."""
        seconds = (bool(spans) * self.prefill_ms + bool(batch) * self.decode_ms) / 1e3
        return Work(0, 0, 0, seconds, 0, 0, 0, 0, 0, 0, 0)
