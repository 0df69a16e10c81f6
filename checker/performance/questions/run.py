"""What comes of each variant: times to tokens, the SLO, energy, and how busy the pools are."""

from __future__ import annotations

from math import isnan
from typing import Final

from rackproof.checker.performance.answers import (
    Answer,
    Axis,
    Column,
    Mark,
    Plot,
    Series,
    Table,
    Unit,
    Value,
)
from rackproof.checker.performance.study import Study, objectives
from rackproof.model.performance.measures import MEASURES, ttft
from rackproof.model.performance.simulation import Run, Slo, Use
from rackproof.scenarios.performance.plan import Variant

SHOWN: Final = (
    "ttft-prefill-p99",
    "ttft-decode-p99",
    "tpot-p99",
    "itl-p99",
    "slo-met",
    "goodput",
    "energy",
    "hand-off-mean",
)
UNITS: Final = {
    "seconds": Unit.SECONDS,
    "share": Unit.SHARE,
    "joules": Unit.JOULES,
    "tokens/s": Unit.TOKENS_PER_S,
    "requests/s": Unit.PER_S,
}
FULL_NAMES: Final = {
    "ttft-prefill": "ttft-end-of-prefill",
    "ttft-decode": "ttft-with-hand-off-and-first-step",
    "energy": "energy-per-output-token",
}
"""What JSON calls a measure, where the short name does not say all."""
POINTS: Final = 200
"""Of a curve over many requests."""
OF_POOLS: Final = (
    Column("variant", "variant"),
    Column("pool", "pool"),
    Column("instances", "instances", Unit.COUNT),
    Column("GPUs", "gpus", Unit.COUNT),
    Column("busy", "utilisation", Unit.SHARE),
    Column("batch", "batch", Unit.COUNT),
    Column("step", "step", Unit.SECONDS),
    Column("KV reserved, mean", "kv_mean", Unit.SHARE),
    Column("peak", "kv_peak", Unit.SHARE),
    Column("prefix hits", "prefix_hits", Unit.SHARE),
)


def column(name: str) -> Column:
    """The column of a measure; its key in JSON says which convention it is of."""
    measure = MEASURES[name]
    key = name
    for short, full in FULL_NAMES.items():
        key = key.replace(short, full)
    return Column(measure.title, key.replace("-", "_"), UNITS[measure.kind])


def row(run: Run, names: tuple[str, ...] = SHOWN) -> tuple[float, ...]:
    """The measures of a run; NaN for what did not come to be."""
    return tuple(MEASURES[name].of(run) for name in names)


def ask(study: Study) -> Answer:
    """A row a variant, and a row a pool of it."""
    runs = study.runs()
    columns = (
        Column("variant", "variant"),
        *map(column, SHOWN),
        Column("requests", "completed", Unit.COUNT),
        Column("rejected", "rejected", Unit.COUNT),
    )
    rows: list[tuple[Value, ...]] = [
        (v.name, *row(run), run.completed, run.rejected) for v, run in runs
    ]
    uses = [_use(variant, use) for variant, run in runs for use in run.pools]
    tables = (
        Table("What requests see", columns, tuple(rows), tuple(_notes(runs))),
        Table("What pools do", OF_POOLS, tuple(uses), names=2),
    )
    return Answer("run", tables, (_times(runs), *_queues(runs)))


def _use(variant: Variant, use: Use) -> tuple[float | int | str | None, ...]:
    hits = use.hit_blocks / use.asked_blocks if use.asked_blocks else None
    return (
        variant.name,
        use.name,
        use.instances,
        use.gpus,
        use.utilisation,
        use.batch,
        use.step_s,
        use.kv_mean,
        use.kv_peak,
        hits,
    )


def _notes(runs: list[tuple[Variant, Run]]) -> list[str]:
    """What figures are of, and what became of requests that never ended."""
    variant, run = runs[0]
    told = [
        *objectives([variant for variant, _ in runs]),
        f"Figures leave out the first {variant.warm_up:.0%} of the requests; energy and goodput "
        "are of all.",
    ]
    if run.ttft_prefill.relative_error:
        told.append(f"Quantiles are within {run.ttft_prefill.relative_error:.1%} (many requests).")
    told += [f"{v.name}: {reason}" for v, run in runs for reason in run.reasons[:3]]
    return told


def _times(runs: list[tuple[Variant, Run]]) -> Plot:
    """How many requests have had their first token by when."""
    slo = runs[0][0].slo
    series = [Series(v.name, *_by_when(v, run, slo)) for v, run in runs]
    level = slo.ttft_s
    return Plot(
        "ttft",
        f"Time to the first token ({slo.convention.text})",
        Axis("seconds", log=True),
        Axis("share of the requests, %"),
        tuple(series),
        (Mark(level, f"SLO, {Unit.SECONDS.shown(level)}"),),
    )


def _by_when(variant: Variant, run: Run, slo: Slo) -> tuple[list[float], list[float]]:
    """Times and shares: of the records where there are any, else the quantiles that are known."""
    records = run.records[round(variant.warm_up * len(run.records)) :]
    waits = [slo.first_s(record) - record.arrival_s for record in records]
    times = sorted(wait for wait in waits if not isnan(wait))
    if not times:
        spread = ttft(run, slo)
        return [spread.p50, spread.p90, spread.p95, spread.p99], [50, 90, 95, 99]
    shares = [share / POINTS for share in range(1, POINTS + 1)]
    places = [min(round(share * len(times)), len(times)) - 1 for share in shares]
    return [times[max(place, 0)] for place in places], [100 * share for share in shares]


def _queues(runs: list[tuple[Variant, Run]]) -> list[Plot]:
    """How many requests are in each variant, over time."""
    series = [
        Series(variant.name, run.series.time_s, run.series.columns["in_system"])
        for variant, run in runs
        if run.series.time_s
    ]
    axes = Axis("seconds"), Axis("requests")
    return [Plot("in-system", "Requests in the system", *axes, tuple(series))] if series else []
