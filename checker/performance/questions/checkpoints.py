"""What does it cost to be ready: nothing and recompute, replicas, or checkpoints of the KV?"""

from __future__ import annotations

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
from rackproof.checker.performance.study import Study
from rackproof.model.kernel import ModelError
from rackproof.model.performance.failures.checkpoints import (
    Price,
    Readiness,
    Saving,
    cheapest,
    crossover_h,
    daly_s,
    priced,
    steady,
    young_s,
)
from rackproof.model.performance.failures.rates import HOUR_S
from rackproof.model.performance.hardware import link
from rackproof.scenarios.performance.plan import Variant

PRICES: Final = (
    Column("MTBF of an instance", "mtbf", Unit.SECONDS),
    Column("strategy", "strategy"),
    Column("interval", "interval", Unit.SECONDS),
    Column("written", "written", Unit.BYTES_PER_S),
    Column("power", "power", Unit.WATTS),
    Column("halted", "halted"),
    Column("recomputed, a failure", "recomputed_tokens", Unit.COUNT),
    Column("fetched", "fetched", Unit.BYTES),
    Column("KV is back after", "back_after", Unit.SECONDS),
    Column("an hour, in the mean", "an_hour", Unit.JOULES),
    Column("halted an hour", "halted_an_hour", Unit.SECONDS),
    Column("", "cheapest"),
)
INTERVALS: Final = (
    Column("MTBF of an instance", "mtbf", Unit.SECONDS),
    Column("a checkpoint halts for", "checkpoint", Unit.SECONDS),
    Column("Young", "young", Unit.SECONDS),
    Column("Daly", "daly", Unit.SECONDS),
    Column("a request lives", "life", Unit.SECONDS),
    Column("halts least", "best"),
    Column("every", "best_interval", Unit.SECONDS),
    Column("replica is cheaper below an MTBF of", "crossover", Unit.SECONDS),
)
NOTES: Final = (
    "of one decode instance in steady state, by Little's law at the rate and lengths of the run",
    "written: KV as it grows, prompts included; power: to read, move and write it, beside all else",
    "KV is back: all requests of the instance, once it is known; halted: its requests wait for a "
    "checkpoint, or for their KV",
    "cheapest: in joules; Young's interval sqrt(2 C MTBF) does not know that a request ends: what "
    "is younger than the last checkpoint is lost whole",
)


def ask(study: Study) -> Answer:
    """For each variant what each strategy costs, and which interval is best."""
    saving = study.plan.sections.get("checkpoints") or Saving(link("4x-nvlink5"))
    tables: list[Table] = []
    plots = []
    for variant in study.plan.variants:
        try:
            readiness = _readiness(study, variant, saving)
            tables += [
                _prices(variant, readiness, saving),
                _intervals(variant, readiness, saving),
            ]
            plots.append(_plot(variant, readiness, saving))
        except ModelError as error:
            raise ModelError(f"{variant.name}: {error}") from None
    return Answer("checkpoints", tuple(tables), tuple(plots), NOTES)


def _readiness(study: Study, variant: Variant, saving: Saving) -> Readiness:
    deployment = variant.deployment
    duty = steady(deployment, study.run(variant))
    return saving.readiness(duty, deployment.pools[0].count)


def _prices(variant: Variant, readiness: Readiness, saving: Saving) -> Table:
    rows: list[tuple[Value, ...]] = []
    for gpu_mtbf_h in saving.gpu_mtbf_h:
        mtbf_h = gpu_mtbf_h / readiness.duty.engine.gpus
        prices = priced(readiness, mtbf_h * HOUR_S, saving.intervals_s)
        best = cheapest(prices, mtbf_h)
        rows += [_row(price, mtbf_h, price is best) for price in prices]
    duty = readiness.duty
    title = (
        f"Ready for a failure, over {readiness.link.name} ({variant.name}: "
        f"{duty.requests:.0f} requests, {duty.tokens:,.0f} tokens of KV)"
    )
    return Table(title, PRICES, tuple(rows))


def _row(price: Price, mtbf_h: float, is_best: bool) -> tuple[Value, ...]:
    return (
        mtbf_h * HOUR_S,
        price.strategy,
        price.interval_s,
        price.moved_bytes_per_s,
        price.running_W,
        f"{price.pause_share:.2g}",
        round(price.failure_tokens),
        price.failure_bytes,
        price.failure_s,
        price.joules_per_h(mtbf_h),
        price.lost_s_per_h(mtbf_h),
        "cheapest" if is_best else "",
    )


def _intervals(variant: Variant, readiness: Readiness, saving: Saving) -> Table:
    cost_s = readiness.checkpoint_s(float("inf"))
    crossover = crossover_h(readiness.nothing(), readiness.replica())
    rows = []
    for gpu_mtbf_h in saving.gpu_mtbf_h:
        mtbf_s = gpu_mtbf_h / readiness.duty.engine.gpus * HOUR_S
        best = readiness.best(mtbf_s)
        rows.append(
            (
                mtbf_s,
                cost_s,
                young_s(cost_s, mtbf_s),
                daly_s(cost_s, mtbf_s),
                readiness.duty.life_s,
                best.strategy,
                best.interval_s,
                None if crossover is None else crossover * HOUR_S,
            )
        )
    return Table(f"Intervals between checkpoints ({variant.name})", INTERVALS, tuple(rows))


def _plot(variant: Variant, readiness: Readiness, saving: Saving) -> Plot:
    """Joules an hour over the time between failures: where the lines cross."""
    hours = [10 ** (step / 10) for step in range(-20, 51)]
    strategies = [
        readiness.nothing(),
        readiness.replica(),
        *(readiness.checkpoints(interval) for interval in saving.intervals_s),
    ]
    series = tuple(
        Series(
            price.strategy + (f" each {price.interval_s:g} s" if price.interval_s else ""),
            hours,
            [price.joules_per_h(hour) for hour in hours],
        )
        for price in strategies
    )
    marks = tuple(
        Mark(h / readiness.duty.engine.gpus, f"{h / readiness.duty.engine.gpus:,.0f} h")
        for h in saving.gpu_mtbf_h
    )
    axes = Axis("MTBF of an instance, h", log=True), Axis("J an hour", log=True)
    return Plot(f"joules-{variant.name}", f"Being ready ({variant.name})", *axes, series, marks)
