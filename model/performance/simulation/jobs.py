"""A request on its way: what is known of it, and when what happened."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Final

from attrs import define

from rackproof.model.performance.simulation.setting import Request

if TYPE_CHECKING:
    from rackproof.model.performance.simulation.decode import Decode
    from rackproof.model.performance.simulation.prefill import Prefill

NEVER: Final = float("nan")


@define(eq=False, slots=True)
class Job:
    """emitted: tokens its client has. cached: tokens whose KV prefill finds. attempt: grows when it
    is taken off an instance, so that what was under way for it is void. offset: of the decode
    step's count to the tokens emitted. done: tokens of a chunked prompt that are prefilled.
    ready: its KV is there, and it needs no prefill. landed: any decode instance can have it.
    source: the prefill instance that still has its KV. promise: the decode instance that has
    reserved room for it. streamed_s: when the last layer of its KV will be there, if each is
    handed over by itself. first: its prefill goes ahead of others that wait. resumed_gap_s: the
    longest its client waited for a token because of a failure.
    """

    request: Request
    index: int
    prompt: int
    output: int
    emitted: int = 0
    cached: int = 0
    attempt: int = 0
    interruptions: int = 0
    interrupted: bool = False
    offset: int = 0
    done: int = 0
    ready: bool = False
    source: Prefill | None = None
    promise: Decode | None = None
    landed: bool = False
    streamed_s: float | None = None
    first: bool = False
    started_s: float = NEVER
    prefilled_s: float = NEVER
    prefill_end_s: float = NEVER
    handed_over_s: float = NEVER
    joined_s: float = NEVER
    decoded_s: float = NEVER
    finished_s: float = NEVER
    last_token_s: float = NEVER
    stall_s: float = 0.0
    resumed_gap_s: float = 0.0
    outcome: str = ""

    @property
    def known(self) -> int:
        """Tokens of prompt and answer so far, all of which prefill must have seen."""
        return self.prompt + self.emitted

    @property
    def new(self) -> int:
        """Tokens that prefill is to compute."""
        return self.prompt + self.emitted - self.cached

    @property
    def reserved(self) -> int:
        """Tokens of KV to reserve: prompt and output, whole."""
        return self.prompt + self.output

    def token(self, now: float) -> float:
        """The next token came, after a hand-off or an interruption; the gap before it."""
        gap = now - self.last_token_s
        self.stall_s = max(self.stall_s, gap)
        if self.interrupted:
            self.resumed_gap_s = max(self.resumed_gap_s, gap)
            self.interrupted = False
        self.last_token_s = now
        return gap

    def prefilled(self, now: float) -> None:
        """Its prefill is done, and gave a token."""
        self.emitted += 1
        self.ready = True
        self.prefill_end_s = now
        if isnan(self.prefilled_s):
            self.prefilled_s = self.last_token_s = now
            self.interrupted = False
        else:
            self.token(now)

    def interrupt(self) -> None:
        """It is taken off an instance; what was under way for it is void."""
        self.attempt += 1
        self.interruptions += 1
        self.interrupted = True
        self.streamed_s, self.landed = None, False
        if self.promise is not None:
            self.promise.withdraw(self)
