"""The two ways to serve on the same GPUs, side by side under a file's own workload."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

from rackproof.checker.performance.answers import (
    Axis,
    Column,
    Mark,
    Plot,
    Series,
    Table,
    Unit,
    Value,
)
from rackproof.checker.performance.shapes import record_keeps, tpot_s
from rackproof.checker.performance.study import Study, objectives, run
from rackproof.model.performance.simulation import (
    Aggregated,
    Deployment,
    Disaggregated,
    Record,
    Run,
    Slo,
)
from rackproof.model.performance.workload import Replayed, Synthetic
from rackproof.scenarios.performance.plan import Variant, Workload

EDGES: Final = (512, 2048, 8192)
OUTPUT_EDGES: Final = (128, 512)
ALIKE: Final = 0.03
"""Rates that differ by less are taken for equal: the search is no finer."""
SEVERAL: Final = 20
"""Requests of a bucket, below which it tells nothing."""


@frozen
class Ways:
    """The two ways to serve on the same GPUs, and what both are asked."""

    together: Aggregated
    apart: Disaggregated
    variant: Variant

    @property
    def slo(self) -> Slo:
        """What a request is to keep."""
        return self.variant.slo


def better(together: float, apart: float) -> str:
    """The way with more of something; alike where the difference tells nothing."""
    if abs(together - apart) <= ALIKE * max(together, apart):
        return "alike" if together or apart else "neither"
    return "disaggregated" if apart > together else "aggregated"


def both(study: Study, ways: Ways, factor: float) -> tuple[Run, Run]:
    """Both ways under the workload at so many times its rate."""
    study.progress(f"the workload at {factor:g} times its rate")
    workload = _faster(ways.variant.workload, factor)
    deployments: tuple[Deployment, ...] = (ways.together, ways.apart)
    one, other = (run(d, workload, ways.slo, ways.variant.warm_up) for d in deployments)
    return one, other


def _faster(workload: Workload, factor: float) -> Workload:
    if isinstance(workload, Synthetic):
        arrivals = workload.arrivals
        return evolve(workload, arrivals=evolve(arrivals, rate_per_s=factor * arrivals.rate_per_s))
    assert isinstance(workload, Replayed), "the other kind"
    return evolve(workload, speed=factor * workload.speed)


def by_rate(ways: Ways, own: dict[float, tuple[Run, Run]]) -> Table:
    """A row a rate; own: runs of both ways at so many times the rate of the workload."""
    columns = (
        Column("times the rate", "factor", Unit.COUNT),
        Column("offered", "offered", Unit.PER_S),
        Column("SLO met, aggregated", "slo_met_aggregated", Unit.SHARE),
        Column("disaggregated", "slo_met_disaggregated", Unit.SHARE),
        Column("TPOT p99, aggregated", "tpot_p99_aggregated", Unit.SECONDS),
        Column("disaggregated", "tpot_p99_disaggregated", Unit.SECONDS),
        Column("J/output token, aggregated", "energy_per_output_token_aggregated", Unit.JOULES),
        Column("disaggregated", "energy_per_output_token_disaggregated", Unit.JOULES),
        Column("better", "better"),
    )
    rows: list[tuple[Value, ...]] = []
    for factor, (together, apart) in own.items():
        pairs = [
            value
            for run in ("slo_attainment", "tpot.p99", "energy.J_per_token")
            for value in (_at(together, run), _at(apart, run))
        ]
        rows.append((factor, _offered(together), *pairs, _by_attainment((together, apart))))
    notes = (_rate_crossing(own), *objectives([ways.variant]))
    return Table("The file's workload, by rate", columns, tuple(rows), notes)


def _at(run: Run, path: str) -> float:
    value: object = run
    for name in path.split("."):
        value = getattr(value, name)
    assert isinstance(value, float), "a figure of a run"
    return value


def _offered(run: Run) -> float:
    return run.offered / run.last_arrival_s if run.last_arrival_s else float("nan")


def _by_attainment(pair: tuple[Run, Run]) -> str:
    """The way in which more requests keep the SLO."""
    return better(*(run.slo_attainment for run in pair))


def _changes(own: dict[float, tuple[Run, Run]]) -> list[tuple[float, float, str, str]]:
    """Neighbouring rates between which the better way changes, and both ways."""
    known = [(_offered(pair[0]), _by_attainment(pair)) for pair in own.values()]
    return [(a, b, way, other) for (a, way), (b, other) in pairwise(known) if way != other]


def _rate_crossing(own: dict[float, tuple[Run, Run]]) -> str:
    told = [
        f"between {low:.3g} and {high:.3g} requests a second ({way} below, {other} above)"
        for low, high, way, other in _changes(own)
    ]
    same = f"none, {_by_attainment(next(iter(own.values())))} at all of these rates"
    return f"Crossover by the SLO: {'; '.join(told) or same}."


def rates_plot(own: dict[float, tuple[Run, Run]]) -> Plot:
    """How many requests keep the SLO, both ways, over the rate."""
    offered = [_offered(together) for together, _ in own.values()]
    series = tuple(
        Series(name, offered, [100 * pair[place].slo_attainment for pair in own.values()])
        for place, name in enumerate(("aggregated", "disaggregated"))
    )
    marks = tuple(
        Mark((low + high) / 2, f"{way}, then {other}") for low, high, way, other in _changes(own)
    )
    axes = Axis("requests a second"), Axis("SLO met, %")
    return Plot("rates", "The file's workload, by rate", *axes, series, marks)


def by_bucket(ways: Ways, together: Run, apart: Run) -> tuple[Table, ...]:
    """The requests of one run by the lengths of prompt and output; none where no records are."""
    if not together.records or not apart.records:
        return ()
    first = f"TTFT p99 ({ways.slo.convention.text}), aggregated"
    columns = (
        Column("prompt", "prompt"),
        Column("output", "output"),
        Column("requests", "requests", Unit.COUNT),
        Column(first, "ttft_p99_aggregated", Unit.SECONDS),
        Column("disaggregated", "ttft_p99_disaggregated", Unit.SECONDS),
        Column("TPOT p99, aggregated", "tpot_p99_aggregated", Unit.SECONDS),
        Column("disaggregated", "tpot_p99_disaggregated", Unit.SECONDS),
        Column("SLO met, aggregated", "slo_met_aggregated", Unit.SHARE),
        Column("disaggregated", "slo_met_disaggregated", Unit.SHARE),
        Column("better", "better"),
    )
    one, other = (_buckets(run.records, ways) for run in (together, apart))
    rows: list[tuple[Value, ...]] = []
    for key in sorted(one.keys() & other.keys()):
        a, b = one[key], other[key]
        if len(a) < SEVERAL:
            continue
        figures = [
            value
            for of in (partial(_ttft_p99, ways.slo), _tpot_p99, partial(_kept, ways.slo))
            for value in (of(a), of(b))
        ]
        way = better(figures[4] or 0.0, figures[5] or 0.0)
        rows.append((_range(key[0], EDGES), _range(key[1], OUTPUT_EDGES), len(a), *figures, way))
    note = f"Buckets with fewer than {SEVERAL} requests are left out; better is by the SLO."
    notes = (note, *objectives([ways.variant]))
    return (Table("The file's workload, by bucket", columns, tuple(rows), notes, names=2),)


def _buckets(records: Sequence[Record], ways: Ways) -> dict[tuple[int, int], list[Record]]:
    """The records after the warm-up, by the number of edges their lengths are above."""
    found: dict[tuple[int, int], list[Record]] = {}
    for record in records[round(ways.variant.warm_up * len(records)) :]:
        prompt = sum(record.prompt > edge for edge in EDGES)
        output = sum(record.output > edge for edge in OUTPUT_EDGES)
        found.setdefault((prompt, output), []).append(record)
    return found


def _range(place: int, edges: Sequence[int]) -> str:
    low = edges[place - 1] + 1 if place else 1
    return f"{low:,}..{edges[place]:,}" if place < len(edges) else f"over {edges[-1]:,}"


def _ttft_p99(slo: Slo, records: Sequence[Record]) -> float | None:
    return _p99([slo.first_s(r) - r.arrival_s for r in records])


def _tpot_p99(records: Sequence[Record]) -> float | None:
    return _p99([tpot_s(r) for r in records if r.output > 1])


def _kept(slo: Slo, records: Sequence[Record]) -> float:
    return sum(record_keeps(record, slo) for record in records) / len(records)


def _p99(values: Sequence[float]) -> float | None:
    """The quantile, linearly between two values; what never came to be is left out."""
    there = sorted(value for value in values if value == value)  # noqa: PLR0124 (NaN)
    if not there:
        return None
    place = 0.99 * (len(there) - 1)
    low = int(place)
    high = min(low + 1, len(there) - 1)
    return there[low] + (there[high] - there[low]) * (place - low)
