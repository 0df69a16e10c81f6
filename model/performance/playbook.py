"""What is wrong with a run, by the figures that show it, and what to try next.

A diagnosis looks at a run (with the deployment, the SLO and, where it has been run, an aggregated
deployment of the same GPUs) and is silent unless its evidence is there. Thresholds are where a
person who reads the figures would begin to ask; they are named, and told with the finding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import frozen

from rackproof.model.performance.simulation import (
    Deployment,
    Disaggregated,
    HandOff,
    Pool,
    Run,
    Slo,
    Use,
)

BLOCKED: Final = 0.05
"""The share of instance time with work waiting, from which on that is no accident."""
IDLE: Final = 0.6
"""Up to which an instance counts as idle, on average."""
FULL: Final = 0.95
"""From which on it has no reserve."""
SLOWED: Final = 1.5
"""Times as slow as alone, from which on concurrency is felt."""
QUEUED: Final = 2.0
"""Times as long as over an idle link, from which on hand-offs queue."""
LESS: Final = 0.98
"""Of the goodput of the baseline, below which less is not noise."""
SPIKED: Final = 2.0
"""Times the median, from which on a late token has a cause of its own."""


@frozen
class Case:
    """A run, of what, and what was asked; baseline: aggregated on the same GPUs, if it was run."""

    deployment: Deployment
    slo: Slo
    run: Run
    baseline: Run | None = None

    def use(self, name: str) -> Use | None:
        """What a pool did, if there is one of that name."""
        return next((pool for pool in self.run.pools if pool.name == name), None)

    @property
    def disaggregated(self) -> Disaggregated | None:
        """The deployment, if it is."""
        return self.deployment if isinstance(self.deployment, Disaggregated) else None

    def busy(self, name: str) -> float:
        """How busy a pool was while requests arrived: its work over that time, at most all of it.

        A run goes on until its last answer is out, and then prefill has nothing to do.
        """
        use, run = self.use(name), self.run
        assert use is not None, "it is a pool of the deployment"
        return min(1.0, use.utilisation * run.horizon_s / max(run.last_arrival_s, 1e-9))


@frozen
class Finding:
    """A diagnosis that fits: its name, what is seen, the figures that show it, what to try."""

    diagnosis: str
    symptom: str
    evidence: str
    remedy: str


def findings(case: Case) -> tuple[Finding, ...]:
    """Every diagnosis that fits, in the order in which a request meets the causes."""
    found = (diagnose(case) for diagnose in DIAGNOSES)
    return tuple(finding for finding in found if finding is not None)


def never_fits(case: Case) -> Finding | None:
    """Requests that no instance could ever take."""
    run = case.run
    if not run.rejected:
        return None
    return Finding(
        "never-fits",
        "requests are rejected",
        f"{run.rejected:,} of {run.offered:,} could never fit; {run.reasons[0]}",
        "a longer context, GPUs with more memory, or a smaller KV format",
    )


def misplaced_prefill(case: Case) -> Finding | None:
    """Prompts wait while prefill instances are idle."""
    use = case.use("prefill")
    if use is None or case.disaggregated is None:
        return None
    if use.idle_while_waiting < BLOCKED or case.busy("prefill") > FULL:
        return None
    wait, ttft = case.run.prefill_wait.p99, case.run.ttft_prefill.p99
    if not ttft > case.slo.ttft_s or wait < ttft / 2:
        return None
    return Finding(
        "misplaced-prefill",
        "high TTFT while prefill is idle",
        f"prefill is busy {case.busy('prefill'):.0%} of the time, and for "
        f"{use.idle_while_waiting:.0%} of it an instance idles while another has a queue; "
        f"p99 of the wait {_ms(wait)} of TTFT p99 {_ms(ttft)}",
        _ROUTE_BY.get(case.disaggregated.prefill_routing, _ROUTE_BY["round-robin"]),
    )


_ROUTE_BY: Final = {
    "round-robin": "route prefill by queued tokens or estimated completion, not in turn",
    "least-queued-tokens": "route prefill by estimated completion, which counts what is under way",
    "estimated-completion": "smaller prefill batches (prefill-batch), which leave work for others",
}
"""What to try instead of a routing policy."""


def late_first_token(case: Case) -> Finding | None:
    """The first token is late to the client although prefill is quick and idle."""
    if case.disaggregated is None or case.busy("prefill") > IDLE:
        return None
    run = case.run
    added = run.ttft_decode.p99 - run.ttft_prefill.p99
    if not run.ttft_decode.p99 > case.slo.ttft_s or added < run.ttft_decode.p99 / 2:
        return None
    moved, waited = run.hand_off.p99, run.decode_wait.p99
    is_moved = moved > waited and not _waits_for_decode(case)
    where = "the hand-off" if is_moved else "the wait for decode"
    return Finding(
        "late-first-token",
        "high TTFT while prefill is idle",
        f"prefill is busy {case.busy('prefill'):.0%}; TTFT p99 is {_ms(run.ttft_prefill.p99)} at "
        f"the end of prefill and {_ms(run.ttft_decode.p99)} with hand-off and first step: most of "
        f"it is {where} (p99: hand-off, with the wait before it, {_ms(moved)}; queue of decode "
        f"{_ms(waited)})",
        _first_token_remedy(is_moved, case.disaggregated.hand_off),
    )


def _first_token_remedy(moved: bool, hand_off: HandOff) -> str:
    if not moved:
        return "more decode instances, or more room for KV"
    return "a faster link" if hand_off.streaming else "a faster link, or streaming layer by layer"


def _waits_for_decode(case: Case) -> bool:
    """Whether hand-offs that take long wait for room at decode rather than for a channel."""
    use, deployment = _decoding(case), case.disaggregated
    if deployment is None or not deployment.chosen_early:
        return False
    blocked = max(use.blocked_kv, use.blocked_batch)
    return blocked >= BLOCKED and not case.run.hand_off_utilisation > IDLE


def too_slow_alone(case: Case) -> Finding | None:
    """Even by itself a request would miss its objectives."""
    run, prompt = case.run, case.run.prompt_tokens // max(case.run.offered, 1)
    prefill_s = case.deployment.pools[0].engine.step([(prompt, 0)], 0, 0).seconds
    step_s = _pool(case).engine.step((), 1, prompt).seconds
    if not (prefill_s > case.slo.ttft_s or (run.tpot.count and step_s > case.slo.tpot_s)):
        return None
    if not run.completed:
        return None
    return Finding(
        "too-slow-alone",
        "the objectives are missed without any load",
        f"alone, a prompt of {prompt:,} tokens takes {_ms(prefill_s)} of {_ms(case.slo.ttft_s)} "
        f"allowed, a token then {_ms(step_s)} of {_ms(case.slo.tpot_s)}; in the run, TTFT p50 "
        f"{_ms(run.ttft_prefill.p50)}, TPOT p50 {_ms(run.tpot.p50)}",
        "faster GPUs, more of them an instance, fewer bits for the weights, or other objectives",
    )


def overloaded(case: Case) -> Finding | None:
    """Aggregated, and no reserve: prompts queue, or share their steps with too many others."""
    use, run = case.use("aggregated"), case.run
    if use is None or case.busy("aggregated") < FULL or not run.ttft_prefill.p99 > case.slo.ttft_s:
        return None
    alone_s = _pool(case).engine.step([(run.prompt_tokens // run.offered, 0)], 0, 0).seconds
    if run.ttft_prefill.p50 < QUEUED * alone_s:
        return None
    return Finding(
        "overloaded",
        "high TTFT, and all instances are busy",
        f"instances are busy {case.busy('aggregated'):.0%} while requests arrive, "
        f"{use.batch:.0f} requests a step; TTFT p50 {_ms(run.ttft_prefill.p50)}, p99 "
        f"{_ms(run.ttft_prefill.p99)}, a prompt alone {_ms(alone_s)}",
        "more instances, or a prefix cache if prompts share beginnings",
    )


def prefill_overloaded(case: Case) -> Finding | None:
    """Prefill has no reserve, so that prompts queue."""
    use, run = case.use("prefill"), case.run
    if use is None or case.busy("prefill") < FULL or not run.ttft_prefill.p99 > case.slo.ttft_s:
        return None
    decode = _decoding(case).utilisation
    return Finding(
        "prefill-overloaded",
        "high TTFT, and prefill is busy",
        f"prefill is busy {case.busy('prefill'):.0%} while requests arrive (decode {decode:.0%}); "
        f"TTFT p99 {_ms(run.ttft_prefill.p99)}, of which waiting {_ms(run.prefill_wait.p99)}",
        "more prefill instances (ask sizing), or a prefix cache if prompts share beginnings",
    )


def transfer_bound(case: Case) -> Finding | None:
    """Hand-offs wait for one another."""
    deployment, run = case.disaggregated, case.run
    if deployment is None or run.hand_off.count == 0 or not run.offered:
        return None
    idle = deployment.hand_off.link.seconds(
        deployment.prefill.engine.kv_bytes_per_token * run.prompt_tokens / run.offered
    )
    if not run.hand_off_mean_all_s >= QUEUED * idle or _waits_for_decode(case):
        return None
    channels = deployment.hand_off.channels or deployment.prefill.count
    return Finding(
        "transfer-bound",
        "late second token: hand-offs queue",
        f"a hand-off takes {_ms(run.hand_off_mean_all_s)} on average, over an idle link "
        f"{_ms(idle)}; {channels} x {deployment.hand_off.link.name}",
        "more channels, a faster link, or a smaller KV format",
    )


def kv_bound(case: Case) -> Finding | None:
    """Requests wait for room for their KV."""
    use = _decoding(case)
    if not use.blocked_kv >= BLOCKED:
        return None
    return Finding(
        "kv-bound",
        "requests wait for memory, not for compute",
        f"for {use.blocked_kv:.0%} of the time an instance has a request that its KV room does "
        f"not take; {use.kv_peak:.0%} reserved at the peak, {use.kv_mean:.0%} on average; wait "
        f"for decode p99 {_ms(case.run.decode_wait.p99)}",
        "a smaller KV format (FP8, NVFP4), more decode instances, or GPUs with more memory",
    )


def batch_bound(case: Case) -> Finding | None:
    """Requests wait for a place in the batch."""
    use = _decoding(case)
    if not use.blocked_batch >= BLOCKED:
        return None
    return Finding(
        "batch-bound",
        "requests wait for a place in the batch",
        f"for {use.blocked_batch:.0%} of the time an instance has a request that its full batch "
        f"does not take; {use.batch:.0f} requests a step on average",
        "a larger decode-batch while TPOT allows it, or more decode instances",
    )


def slowed_by_concurrency(case: Case) -> Finding | None:
    """A step takes longer the more requests are in it, and TPOT is over the SLO for it."""
    use, pool, run = _decoding(case), _pool(case), case.run
    engine = pool.engine
    if case.disaggregated is None or not run.tpot.p99 > case.slo.tpot_s or not use.steps:
        return None
    context = run.prompt_tokens // max(run.offered, 1)
    alone = engine.step((), 1, context).seconds
    if use.step_s < SLOWED * alone:
        return None
    bound = engine.step((), round(use.batch), round(use.batch * context)).bound
    return Finding(
        "slowed-by-concurrency",
        "ITL that degrades with concurrency",
        f"a step takes {_ms(use.step_s)} with {use.batch:.0f} requests on average, {_ms(alone)} "
        f"with one, bound by {bound}; TPOT p99 {_ms(run.tpot.p99)} "
        f"of {_ms(case.slo.tpot_s)} allowed",
        "more decode instances, a smaller decode-batch, a smaller KV format to read",
    )


def prefill_interference(case: Case) -> Finding | None:
    """Prompts in decode's steps: some tokens come late."""
    run = case.run
    if case.disaggregated is not None or not run.itl.p99 >= SPIKED * run.itl.p50:
        return None
    if not run.itl.p99 > case.slo.tpot_s:
        return None
    return Finding(
        "prefill-interference",
        "ITL that degrades with concurrency",
        f"ITL p99 {_ms(run.itl.p99)}, p50 {_ms(run.itl.p50)}: chunks of prompts share the steps",
        "a smaller chunk, or prefill on instances of its own",
    )


def below_baseline(case: Case) -> Finding | None:
    """Disaggregated, with less goodput than aggregated on the same GPUs."""
    run, base = case.run, case.baseline
    if case.disaggregated is None or base is None:
        return None
    if not run.goodput_per_s < LESS * base.goodput_per_s:
        return None
    prefill, decode = case.busy("prefill"), _decoding(case).utilisation
    scarce = "prefill" if run.ttft_prefill.p99 > case.slo.ttft_s else "decode"
    return Finding(
        "below-baseline",
        "disaggregated throughput under the baseline",
        f"goodput {run.goodput_per_s:.1f}/s, aggregated on the same GPUs "
        f"{base.goodput_per_s:.1f}/s; prefill busy {prefill:.0%}, decode {decode:.0%}; TTFT p99 "
        f"{_ms(run.ttft_prefill.p99)}, TPOT p99 {_ms(run.tpot.p99)}",
        f"more {scarce} instances in the split (ask sizing); aggregated where prompts are short "
        "(ask crossover)",
    )


def _decoding(case: Case) -> Use:
    use = case.use("decode") or case.use("aggregated")
    assert use is not None, "something decodes"
    return use


def _pool(case: Case) -> Pool:
    return case.deployment.pools[-1]


def _ms(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


DIAGNOSES: Final[tuple[Callable[[Case], Finding | None], ...]] = (
    never_fits,
    too_slow_alone,
    misplaced_prefill,
    prefill_overloaded,
    overloaded,
    late_first_token,
    transfer_bound,
    kv_bound,
    batch_bound,
    slowed_by_concurrency,
    prefill_interference,
    below_baseline,
)
"""All of them."""
