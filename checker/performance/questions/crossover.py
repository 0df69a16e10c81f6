"""Aggregated or disaggregated on the same GPUs? By shape of the requests, and by rate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from attrs import evolve, frozen

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
from rackproof.checker.performance.baseline import aggregated, disaggregated, gpus
from rackproof.checker.performance.shapes import (
    KEPT,
    REQUESTS,
    Greatest,
    Shape,
    chunked,
    fitted,
    greatest,
    grid,
    record_keeps,
    tpot_s,
)
from rackproof.checker.performance.study import Study, run
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

PROMPTS: Final = (256, 1024, 4096, 16_384)
OUTPUTS: Final = (64, 256)
FACTORS: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
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


def ask(study: Study) -> Answer:
    """By shape: the greatest rates; of the file's own workload: by bucket, and by rate."""
    ways = _ways(study.base)
    shapes, by_shape = _by_shape(study, ways)
    own = {factor: _runs(study, ways, factor) for factor in FACTORS}
    tables = (shapes, *_by_bucket(ways, *own[1.0]), _by_rate(own))
    return Answer("crossover", tables, (by_shape, _rates(own)))


def _ways(variant: Variant) -> Ways:
    deployment = variant.deployment
    if isinstance(deployment, Aggregated):
        return Ways(deployment, disaggregated(deployment), variant)
    return Ways(aggregated(deployment), deployment, variant)


# By shape


@frozen
class Cell:
    """The greatest rates of a shape: aggregated, disaggregated as the file has it, and at best."""

    shape: Shape
    together: Greatest
    given: Greatest
    apart: Greatest

    def better(self, given: bool) -> str:
        """The way that takes more, with the split of the file or the best."""
        other = self.given if given else self.apart
        return _better(self.together.rate_per_s, other.rate_per_s)

    def row(self) -> tuple[Value, ...]:
        """Rates, what reaches them, and which is better."""
        together, apart = self.together.deployment, self.apart.deployment
        assert isinstance(together, Aggregated), "it is the one"
        assert isinstance(apart, Disaggregated), "it is the other"
        return (
            self.shape.output,
            self.shape.prompt,
            self.together.rate_per_s,
            together.chunk_tokens,
            self.given.rate_per_s,
            self.better(given=True),
            self.apart.rate_per_s,
            split(apart),
            self.better(given=False),
        )


def _better(together: float, apart: float) -> str:
    if abs(together - apart) <= ALIKE * max(together, apart):
        return "alike" if together or apart else "neither"
    return "disaggregated" if apart > together else "aggregated"


def _by_shape(study: Study, ways: Ways) -> tuple[Table, Plot]:
    cells = []
    for shape in grid(PROMPTS, OUTPUTS):
        study.progress(f"prompts of {shape.prompt}, outputs of {shape.output}")
        one = greatest(chunked(ways.together), shape, ways.slo)
        given = greatest([ways.apart], shape, ways.slo)
        best = greatest(fitted(ways.apart, shape, ways.slo), shape, ways.slo)
        cells.append(Cell(shape, one, given, max(best, given, key=lambda one: one.rate_per_s)))
    own = split(ways.apart)
    columns = (
        Column("output", "output", Unit.TOKENS),
        Column("prompt", "prompt", Unit.TOKENS),
        Column("aggregated takes", "aggregated", Unit.PER_S),
        Column("with chunks of", "chunk", Unit.TOKENS),
        Column(f"{own} takes", "disaggregated_as_given", Unit.PER_S),
        Column("better", "better_as_given"),
        Column("best split takes", "disaggregated_at_best", Unit.PER_S),
        Column("which is", "split"),
        Column("better", "better_at_best"),
    )
    notes = (
        *_crossings(f"{own} or aggregated", cells, given=True),
        *_crossings("best split or aggregated", cells, given=False),
        f"The greatest rate at which {KEPT:.0%} of the requests keep the SLO, of the middle third "
        f"of runs of up to {REQUESTS[1]:,}. Aggregated with the best of three chunks; the best "
        "split is that of the roofline for the shape, or a neighbour.",
    )
    title = f"Aggregated or disaggregated on {gpus(ways.apart)} GPUs, by shape"
    table = Table(title, columns, tuple(cell.row() for cell in cells), notes, names=2)
    return table, _ratios(title, own, cells)


def split(deployment: Disaggregated) -> str:
    """Instances, prefill:decode."""
    return f"{deployment.prefill.count}:{deployment.decode.count}"


def _crossings(what: str, cells: Sequence[Cell], given: bool) -> list[str]:
    """Between which prompts the better way changes, for each length of output."""
    told = []
    for output in OUTPUTS:
        row = [(cell.shape.prompt, cell.better(given)) for cell in cells]
        row = row[OUTPUTS.index(output) * len(PROMPTS) :][: len(PROMPTS)]
        known = [one for one in row if one[1] in ("aggregated", "disaggregated")]
        changes = [
            f"between prompts of {prompt:,} and {later:,} tokens ({way} before, {other} after)"
            for (prompt, way), (later, other) in pairwise(known)
            if way != other
        ]
        same = f"none, {known[0][1]} throughout" if known else "none"
        told.append(f"Crossover, {what}, outputs of {output}: {'; '.join(changes) or same}.")
    return told


def _ratios(title: str, own: str, cells: Sequence[Cell]) -> Plot:
    series = []
    for output in OUTPUTS:
        row = [c for c in cells if c.shape.output == output and c.together.rate_per_s]
        prompts = [cell.shape.prompt for cell in row]
        given = [cell.given.rate_per_s / cell.together.rate_per_s for cell in row]
        best = [cell.apart.rate_per_s / cell.together.rate_per_s for cell in row]
        series.append(Series(f"{own}, outputs of {output}", prompts, given))
        series.append(Series(f"best split, outputs of {output}", prompts, best))
    axes = Axis("prompt, tokens", log=True), Axis("disaggregated / aggregated rate")
    return Plot("shapes", title, *axes, tuple(series), levels=((1.0, "equal"),))


# Of the file's own workload


def _runs(study: Study, ways: Ways, factor: float) -> tuple[Run, Run]:
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


def _by_rate(own: dict[float, tuple[Run, Run]]) -> Table:
    columns = (
        Column("times the rate", "factor", Unit.COUNT),
        Column("offered", "offered", Unit.PER_S),
        Column("SLO met, aggregated", "slo_met_aggregated", Unit.SHARE),
        Column("disaggregated", "slo_met_disaggregated", Unit.SHARE),
        Column("TPOT p99, aggregated", "tpot_p99_aggregated", Unit.SECONDS),
        Column("disaggregated", "tpot_p99_disaggregated", Unit.SECONDS),
        Column("J/output token, aggregated", "energy_aggregated", Unit.JOULES),
        Column("disaggregated", "energy_disaggregated", Unit.JOULES),
        Column("better", "better"),
    )
    rows: list[tuple[Value, ...]] = []
    for factor, (together, apart) in own.items():
        pairs = [
            value
            for run in ("slo_attainment", "tpot.p99", "energy.J_per_token")
            for value in (_at(together, run), _at(apart, run))
        ]
        better = _better(together.slo_attainment, apart.slo_attainment)
        rows.append((factor, _offered(together), *pairs, better))
    note = _rate_crossing(own)
    return Table("The file's workload, by rate", columns, tuple(rows), (note,))


def _at(run: Run, path: str) -> float:
    value: object = run
    for name in path.split("."):
        value = getattr(value, name)
    assert isinstance(value, float), "a figure of a run"
    return value


def _offered(run: Run) -> float:
    return run.offered / run.last_arrival_s if run.last_arrival_s else float("nan")


def _gains(own: dict[float, tuple[Run, Run]]) -> list[tuple[float, float]]:
    """Rates, with the SLO attainment that disaggregating adds."""
    return [(_offered(a), b.slo_attainment - a.slo_attainment) for a, b in own.values()]


def _crossing(own: dict[float, tuple[Run, Run]]) -> float | None:
    """The first rate at which the better way changes, linearly between the rates that were run."""
    gains = [(rate, gain) for rate, gain in _gains(own) if gain]
    for (rate, gain), (later, other) in pairwise(gains):
        if gain * other < 0:
            return rate + (later - rate) * gain / (gain - other)
    return None


def _rate_crossing(own: dict[float, tuple[Run, Run]]) -> str:
    rate = _crossing(own)
    if rate is None:
        return "Crossover: none within these rates."
    gain = next(gain for _, gain in _gains(own) if gain)
    before, after = ("disaggregated", "aggregated") if gain > 0 else ("aggregated", "disaggregated")
    return f"Crossover at about {rate:.3g} requests a second: {before} below, {after} above."


def _rates(own: dict[float, tuple[Run, Run]]) -> Plot:
    offered = [_offered(together) for together, _ in own.values()]
    series = tuple(
        Series(name, offered, [100 * pair[place].slo_attainment for pair in own.values()])
        for place, name in enumerate(("aggregated", "disaggregated"))
    )
    rate = _crossing(own)
    marks = () if rate is None else (Mark(rate, f"crossover, {rate:.3g}/s"),)
    axes = Axis("requests a second"), Axis("SLO met, %")
    return Plot("rates", "The file's workload, by rate", *axes, series, marks)


def _by_bucket(ways: Ways, together: Run, apart: Run) -> tuple[Table, ...]:
    """The requests of one run by the lengths of prompt and output; none where no records are."""
    if not together.records or not apart.records:
        return ()
    columns = (
        Column("prompt", "prompt"),
        Column("output", "output"),
        Column("requests", "requests", Unit.COUNT),
        Column("TTFT p99 (end of prefill), aggregated", "ttft_p99_aggregated", Unit.SECONDS),
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
            for of in (_ttft_p99, _tpot_p99, lambda rs: _kept(rs, ways.slo))
            for value in (of(a), of(b))
        ]
        better = _better(figures[4] or 0.0, figures[5] or 0.0)
        rows.append((_range(key[0], EDGES), _range(key[1], OUTPUT_EDGES), len(a), *figures, better))
    note = f"Buckets with fewer than {SEVERAL} requests are left out; better is by the SLO."
    return (Table("The file's workload, by bucket", columns, tuple(rows), (note,), names=2),)


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


def _ttft_p99(records: Sequence[Record]) -> float | None:
    return _p99([r.prefilled_s - r.arrival_s for r in records])


def _tpot_p99(records: Sequence[Record]) -> float | None:
    return _p99([tpot_s(r) for r in records if r.output > 1])


def _kept(records: Sequence[Record], slo: Slo) -> float:
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
