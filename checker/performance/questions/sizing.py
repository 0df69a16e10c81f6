"""How many instances should prefill, and how many decode? Every split of the same GPUs."""

from __future__ import annotations

from attrs import frozen

from rackproof.checker.performance.answers import (
    Answer,
    Axis,
    Column,
    Mark,
    Plot,
    Series,
    Table,
    Unit,
)
from rackproof.checker.performance.baseline import gpus, resized
from rackproof.checker.performance.questions.run import column, row
from rackproof.checker.performance.study import Study, objectives, sweep
from rackproof.model.kernel import ModelError
from rackproof.model.performance.measures import ttft
from rackproof.model.performance.simulation import Disaggregated, Run
from rackproof.scenarios.performance.plan import Variant

SHOWN = ("ttft-prefill-p99", "ttft-decode-p99", "tpot-p99", "slo-met", "goodput", "energy")
WANTED = 0.99
"""The share of the requests that is to keep the SLO."""
MOST_SPLITS = 36
"""Of more instances, evenly spaced splits are tried."""


@frozen
class Split:
    """A deployment with its run."""

    deployment: Disaggregated
    run: Run

    @property
    def name(self) -> str:
        """Prefill : decode."""
        return f"{self.deployment.prefill.count}:{self.deployment.decode.count}"


def ask(study: Study) -> Answer:
    """A row a split of the first disaggregated variant."""
    variant, deployment = _base(study)
    tried = splits(deployment)
    runs = sweep(study, "split", tried, variant)
    found = [Split(one, run) for one, run in zip(tried, runs, strict=True)]
    best = _best(found)
    title = f"Splits of {gpus(deployment)} GPUs ({variant.name})"
    table = _table(title, variant, found, best)
    return Answer("sizing", (table,), (_plot(variant, title, found, best),))


def _base(study: Study) -> tuple[Variant, Disaggregated]:
    for variant in study.plan.variants:
        if isinstance(variant.deployment, Disaggregated):
            return variant, variant.deployment
    raise ModelError("sizing is of disaggregated deployments; it has none")


def splits(deployment: Disaggregated) -> list[Disaggregated]:
    """The same GPUs dealt otherwise: each number of prefill instances, and decode from the rest."""
    most = gpus(deployment) // deployment.prefill.engine.gpus
    sized = (resized(deployment, count) for count in range(1, most + 1))
    found = [one for one in sized if one is not None]
    step = -(-len(found) // MOST_SPLITS)
    return found[:: max(step, 1)]


def _best(tried: list[Split]) -> Split | None:
    """Of the splits in which nearly all requests keep the SLO, the one with the least energy."""
    good = [split for split in tried if split.run.slo_attainment >= WANTED]
    return min(good, key=lambda split: split.run.energy.J_per_token, default=None)


def _table(title: str, variant: Variant, tried: list[Split], best: Split | None) -> Table:
    columns = (
        Column("prefill:decode", "split"),
        *map(column, SHOWN),
        Column("prefill busy", "prefill_utilisation", Unit.SHARE),
        Column("decode busy", "decode_utilisation", Unit.SHARE),
        Column("", "best"),
    )
    rows = tuple(
        (
            split.name,
            *row(split.run, SHOWN),
            *(split.run.pool(name).utilisation for name in ("prefill", "decode")),
            "best" if split is best else "",
        )
        for split in tried
    )
    most = max(tried, key=lambda split: split.run.slo_attainment)
    note = (
        f"best: least energy of the splits in which {WANTED:.0%} of the requests keep the SLO"
        if best
        else f"no split keeps the SLO for {WANTED:.0%} of the requests; {most.name} does for most"
    )
    return Table(title, columns, rows, (note, *objectives([variant])))


def _plot(variant: Variant, title: str, tried: list[Split], best: Split | None) -> Plot:
    counts = [split.deployment.prefill.count for split in tried]
    slo = variant.slo
    first = f"TTFT p99 ({slo.convention.text}) / SLO"
    series = (
        Series(first, counts, [ttft(s.run, slo).p99 / slo.ttft_s for s in tried]),
        Series("TPOT p99 / SLO", counts, [s.run.tpot.p99 / slo.tpot_s for s in tried]),
    )
    marks = (Mark(best.deployment.prefill.count, f"best, {best.name}"),) if best else ()
    return Plot(
        "splits",
        title,
        Axis("prefill instances"),
        Axis("share of the SLO", log=True),
        series,
        marks,
        ((1.0, "SLO"),),
    )
