"""Aggregated or disaggregated on the same GPUs? By shape of the requests, and by rate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from attrs import frozen

from rackproof.checker.performance.answers import (
    Answer,
    Axis,
    Column,
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
)
from rackproof.checker.performance.side_by_side import (
    Ways,
    better,
    both,
    by_bucket,
    by_rate,
    rates_plot,
)
from rackproof.checker.performance.study import Study, objectives
from rackproof.model.performance.simulation import Aggregated, Disaggregated
from rackproof.scenarios.performance.plan import Variant

PROMPTS: Final = (256, 1024, 4096, 16_384)
OUTPUTS: Final = (64, 256)
FACTORS: Final = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)


def ask(study: Study) -> Answer:
    """By shape: the greatest rates; of the file's own workload: by bucket, and by rate."""
    ways = _ways(study.base)
    shapes, by_shape = _by_shape(study, ways)
    own = {factor: both(study, ways, factor) for factor in FACTORS}
    tables = (shapes, *by_bucket(ways, *own[1.0]), by_rate(ways, own))
    return Answer("crossover", tables, (by_shape, rates_plot(own)))


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
        return better(self.together.rate_per_s, other.rate_per_s)

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
        *objectives([ways.variant]),
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
