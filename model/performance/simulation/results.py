"""What a simulation tells."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen


@frozen
class Spread:
    """How values are distributed. relative_error: of the quantiles, 0 where they are exact.

    Exact quantiles lie linearly between two values (numpy's default). No values: all are NaN.
    """

    count: int
    mean: float
    least: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float
    relative_error: float


@frozen
class Record:
    """What became of a request, in seconds of the run; NaN for what never came to be.

    prefilled_s: the end of prefill, and its first token. handed_over_s: its KV is at decode.
    decoded_s: the end of its first decode step. stall_s: the longest its client waited for a token
    after a first one, because of the hand-off or of a failure.
    """

    index: int
    arrival_s: float
    prompt: int
    output: int
    cached: int
    started_s: float
    prefilled_s: float
    handed_over_s: float
    decoded_s: float
    finished_s: float
    stall_s: float
    interruptions: int
    outcome: str


@frozen
class Use:
    """What a pool did until the last request was done.

    utilisation: the share of its instances' seconds in a step. steps: how many; batch and step_s:
    what they had and took on average. kv_mean, kv_peak: shares of the capacity reserved (of the
    fullest instance, the peak). blocked_kv, blocked_batch: the shares of its instances' seconds in
    which a request waited for KV room, or for a place in the batch, wherever it did.
    idle_while_waiting: the share of its instances' seconds idle while another had a queue.
    hit_blocks of asked_blocks: of the prefix cache.
    """

    name: str
    instances: int
    gpus: int
    utilisation: float
    steps: int
    batch: float
    step_s: float
    tokens: int
    kv_mean: float
    kv_peak: float
    blocked_kv: float
    blocked_batch: float
    idle_while_waiting: float
    asked_blocks: int
    hit_blocks: int


@frozen
class Energy:
    """Joules of the whole run: GPUs that idle, and what work, memory and links add.

    output_tokens: of the requests that were completed.
    """

    static_J: float  # noqa: N815 (the unit)
    compute_J: float  # noqa: N815
    memory_J: float  # noqa: N815
    hand_off_J: float  # noqa: N815
    collectives_J: float  # noqa: N815
    output_tokens: int

    @property
    def total_J(self) -> float:  # noqa: N802
        """All of it."""
        return self.static_J + self.compute_J + self.memory_J + self.hand_off_J + self.collectives_J

    @property
    def J_per_token(self) -> float:  # noqa: N802
        """Of each output token."""
        return self.total_J / self.output_tokens if self.output_tokens else float("nan")


@frozen
class Series:
    """Samples over time, evenly spaced, a bounded number: columns by name, all as long as time_s.

    Columns: in_system, and of each pool waiting, running, kv (the share of capacity reserved).
    """

    time_s: tuple[float, ...]
    columns: Mapping[str, tuple[float, ...]]


@frozen
class Run:
    """A simulation's result. Spreads are of the requests that are left after the warm-up.

    offered, completed, rejected (could never fit), lost (to failures): requests, all of them.
    horizon_s: until the last was done. ttft_prefill: to the end of prefill, without hand-off;
    ttft_decode: to the end of the first decode step, with hand-off (DynoSim's). tpot: from the end
    of prefill to the last token, over the tokens but the first. itl: between any two tokens
    that decode gives, the warm-up's too. prefill_wait: from arrival. hand_off: from the end of
    prefill until KV is at decode, with the wait for a channel; decode_wait: from then to a place in
    the batch; both of requests that nothing interrupted. hand_off_mean_all_s: the warm-up's too.
    hand_off_utilisation: the share of the channels' seconds that they are taken.
    slo_attainment: of the requests after the warm-up, those rejected and lost among them.
    goodput_per_s: requests that kept it, a second of arrivals. in_system: requests on average, by
    integration; mean_stay_s: of all that were let in. reasons: of rejected and lost requests, the
    first few.
    """

    offered: int
    completed: int
    rejected: int
    lost: int
    prompt_tokens: int
    output_tokens: int
    last_arrival_s: float
    horizon_s: float
    ttft_prefill: Spread
    ttft_decode: Spread
    tpot: Spread
    itl: Spread
    e2e: Spread
    hand_off: Spread
    hand_off_mean_all_s: float
    hand_off_utilisation: float
    prefill_wait: Spread
    decode_wait: Spread
    slo_attainment: float
    goodput_per_s: float
    in_system: float
    mean_stay_s: float
    pools: tuple[Use, ...]
    energy: Energy
    series: Series
    records: tuple[Record, ...]
    reasons: tuple[str, ...]

    def pool(self, name: str) -> Use:
        """The pool of a name: prefill, decode or aggregated."""
        return next(pool for pool in self.pools if pool.name == name)


TTFT_NAMES: Mapping[str, str] = {
    "ttft_prefill": "ttft (end of prefill)",
    "ttft_decode": "ttft (first decode token, with hand-off and first step)",
}
"""What the two conventions are called wherever a figure is shown."""
