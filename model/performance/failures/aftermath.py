"""What a failure costs: a run with it beside the same run without.

Bystanders are requests that were on no instance that failed, and still wait longer: recomputation
takes the prefill pool from them, and fewer instances are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from attrs import frozen

from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.outage import Casualty, Failure, Outages
from rackproof.model.performance.simulation import Deployment, Record, Request, Run, Slo, simulate


@frozen
class Stall:
    """How long clients waited for the next token because of a failure, in seconds.

    resumed: how many of them had one. ended: how many never had: aborted, or nobody knew.
    """

    mean_s: float
    p99_s: float
    most_s: float
    resumed: int
    ended: int


@frozen
class Ttft:
    """99th percentiles of the time to the first token, in seconds, by both conventions."""

    prefill_p99_s: float
    decode_p99_s: float


@frozen
class Aftermath:
    """What came of the failures of a run.

    run, before: with them, and without. hit: requests that were on what failed, or sent there.
    lost_tokens: of KV, that were on it. recomputed_tokens: by the prefill pool again. moved_bytes,
    recovery_J: of what is moved, beside the hand-off, and recomputed, each request alone. work_J:
    more than without failure, for work and what moves (less, where fewer instances have fuller
    batches); idle_J: for GPUs that idle while it all takes longer. closed_s: until the last of a
    storm has its KV, once it is known, by the closed form. bystanders,
    bystanders_before: of the same requests, with failures and without. drained_s: from the first
    that was admitted again until the prefill pool has done as much as it would have (infinite:
    never; NaN: it had nothing to do again). slo, slo_before: the shares within objectives, of
    requests there from the first failure until all is as before. policies: what was done, for how
    many.
    """

    run: Run
    before: Run
    hit: int
    lost_tokens: int
    recomputed_tokens: int
    moved_bytes: float
    recovery_J: float  # noqa: N815 (the unit)
    work_J: float  # noqa: N815
    idle_J: float  # noqa: N815
    stall: Stall
    closed_s: float
    bystanders: Ttft
    bystanders_before: Ttft
    drained_s: float
    slo: float
    slo_before: float
    policies: tuple[tuple[str, int], ...]


def aftermath(
    deployment: Deployment,
    requests: Iterable[Request],
    failures: Sequence[Failure],
    slo: Slo | None = None,
    warm_up: float = 0.1,
    before: Run | None = None,
) -> Aftermath:
    """Run a workload with failures and (unless that is given) without, and compare.

    before: of the same workload, with the record of every request.
    """
    requests, slo = list(requests), slo or Slo()
    keep = len(requests)
    if before is None:
        before = simulate(deployment, requests, slo, warm_up=warm_up, keep=keep)
    if len(before.records) != keep:
        raise ModelError(
            f"a run without failures has {len(before.records):,} records; the workload has {keep:,}"
        )
    outages = Outages(failures)
    run = simulate(deployment, requests, slo, warm_up=warm_up, keep=keep, script=outages.script())
    return _compared(run, before, outages, slo, int(keep * warm_up))


def _compared(run: Run, before: Run, outages: Outages, slo: Slo, warm: int) -> Aftermath:
    casualties = outages.casualties
    gone = {record.index for record in run.records if record.outcome == "lost"}
    hit = {casualty.job.index for casualty in casualties} | gone
    bystanders = [i for i in range(warm, len(run.records)) if i not in hit]
    drained_s = _drained(run, before, casualties)
    window = _window(outages.failures, before, casualties)
    energies = run.energy, before.energy
    work = [energy.total_J - energy.static_J for energy in energies]
    return Aftermath(
        run=run,
        before=before,
        hit=len(hit),
        lost_tokens=sum(casualty.context for casualty in casualties),
        recomputed_tokens=sum(casualty.recomputed for casualty in casualties),
        moved_bytes=outages.moved_bytes,
        recovery_J=outages.moved_J + outages.recomputed_J,
        work_J=work[0] - work[1] + outages.moved_J,
        idle_J=energies[0].static_J - energies[1].static_J,
        stall=_stall(run, casualties),
        closed_s=outages.closed_s,
        bystanders=_ttft(run, bystanders),
        bystanders_before=_ttft(before, bystanders),
        drained_s=drained_s,
        slo=_kept(run, window, slo),
        slo_before=_kept(before, window, slo),
        policies=_policies(casualties, gone),
    )


def _stall(run: Run, casualties: Iterable[Casualty]) -> Stall:
    """Of requests that had a first token when it struck."""
    streaming = {c.job.index: c.job for c in casualties if not math.isnan(c.silent_s)}
    gaps = [job.resumed_gap_s for job in streaming.values() if job.outcome == "completed"]
    ended = sum(r.outcome == "lost" and not math.isnan(r.prefilled_s) for r in run.records)
    if not gaps:
        return Stall(math.nan, math.nan, math.nan, 0, ended)
    return Stall(float(np.mean(gaps)), _p99(gaps), max(gaps), len(gaps), ended)


def _ttft(run: Run, indices: Iterable[int]) -> Ttft:
    records = [run.records[i] for i in indices]
    done = [r for r in records if r.outcome == "completed"]
    prefill = [r.prefilled_s - r.arrival_s for r in done]
    decode = [r.decoded_s - r.arrival_s for r in done if not math.isnan(r.decoded_s)]
    return Ttft(_p99(prefill), _p99(decode))


def _p99(values: list[float]) -> float:
    return float(np.percentile(values, 99)) if values else math.nan


def _drained(run: Run, before: Run, casualties: Iterable[Casualty]) -> float:
    """Seconds until the prefill pool has done what it had in the run without failure, and the rest.

    Tokens that it owes more than there: up where some are to be recomputed, and where it ends a
    prompt later; down where that is done.
    """
    again = [c for c in casualties if c.recomputed]
    if not again:
        return math.nan
    start = min(casualty.again_s for casualty in again)
    later = [(r.prefilled_s, r.prompt) for r in before.records]
    done = [(r.prefilled_s, -r.prompt) for r in run.records]
    owed = [(c.again_s, c.recomputed) for c in again]
    owed += [(c.job.prefill_end_s, -c.recomputed) for c in again]
    level, last = 0, max(casualty.again_s for casualty in again)
    changes = sorted(c for c in (*later, *done, *owed) if not math.isnan(c[0]))
    for (time, change), following in zip(changes, [*changes[1:], (math.inf, 0)], strict=True):
        level += change
        if time >= last and level <= 0 and following[0] > time:
            return max(0.0, time - start)
    return math.inf


def _window(failures: Iterable[Failure], before: Run, casualties: Iterable[Casualty]) -> list[int]:
    """Requests that were there between the first failure and the last repair, or recovery."""
    times = [f.at_s for f in failures]
    start = min(times, default=math.inf)
    ends = [c.again_s for c in casualties if math.isfinite(c.again_s)]
    ends += [f.at_s + f.detection_s + f.restart_s for f in failures]
    end = max(ends, default=start)
    return [
        r.index
        for r in before.records
        if r.arrival_s <= end and not r.finished_s < start and math.isfinite(start)
    ]


def _kept(run: Run, indices: Iterable[int], slo: Slo) -> float:
    kept = [keeps(run.records[index], slo) for index in indices]
    return sum(kept) / len(kept) if kept else math.nan


def keeps(record: Record, slo: Slo) -> bool:
    """Whether a request ended within its objectives."""
    return record.outcome == "completed" and slo.kept(record, record.arrival_s)


def _policies(casualties: Sequence[Casualty], gone: set[int]) -> tuple[tuple[str, int], ...]:
    """What was done for how many; of those that nobody knew of, nothing."""
    names = [casualty.policy or "none" for casualty in casualties]
    unknown = gone - {casualty.job.index for casualty in casualties}
    names += ["none"] * len(unknown)
    return tuple((name, names.count(name)) for name in dict.fromkeys(names))
