"""Where do the joules of a token go? Of each variant's run, and of single steps."""

from __future__ import annotations

from typing import Final

from rackproof.checker.performance.answers import Answer, Axis, Column, Plot, Series, Table, Unit
from rackproof.checker.performance.engines import engines
from rackproof.checker.performance.study import Study
from rackproof.model.performance.questions.energy import Energy, decodes, prefills
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import Run
from rackproof.scenarios.performance.plan import Variant

PROMPTS: Final = (512, 3000, 32_768)
BATCHES: Final = (1, 8, 32, 128)
CONTEXT: Final = 3300
OF_RUNS: Final = (
    Column("variant", "variant"),
    Column("J/output token", "total", Unit.JOULES),
    Column("idle", "static", Unit.JOULES),
    Column("compute", "compute", Unit.JOULES),
    Column("memory", "memory", Unit.JOULES),
    Column("collectives", "collectives", Unit.JOULES),
    Column("hand-off", "hand_off", Unit.JOULES),
    Column("mean power", "power", Unit.WATTS),
)
OF_STEPS: Final = (
    Column("phase", "phase"),
    Column("batch", "batch", Unit.COUNT),
    Column("context", "context", Unit.TOKENS),
    Column("J/token", "total", Unit.JOULES),
    Column("idle", "idle", Unit.JOULES),
    Column("compute", "compute", Unit.JOULES),
    Column("memory", "memory", Unit.JOULES),
    Column("links", "links", Unit.JOULES),
)


def ask(study: Study) -> Answer:
    """A row a variant; and for each kind of instance a row a step."""
    runs = study.runs()
    tables = [Table("Energy of an output token", OF_RUNS, tuple(_of_run(v, r) for v, r in runs))]
    for name, engine in engines(study, "decode"):
        steps = [*prefills(engine, PROMPTS), *decodes(engine, BATCHES, [CONTEXT])]
        rows = tuple(map(_of_step, steps))
        tables.append(Table(f"Energy of a token in steps of its own, {name}", OF_STEPS, rows))
    plots = tuple(_plot(name, engine) for name, engine in engines(study, "decode"))
    return Answer("energy", tuple(tables), plots)


def _of_run(variant: Variant, run: Run) -> tuple[float | str | None, ...]:
    energy, tokens = run.energy, run.energy.output_tokens
    parts = (
        energy.static_J,
        energy.compute_J,
        energy.memory_J,
        energy.collectives_J,
        energy.hand_off_J,
    )
    each = tuple(part / tokens if tokens else None for part in parts)
    total = energy.J_per_token if tokens else None
    power = energy.total_J / run.horizon_s if run.horizon_s else None
    return (variant.name, total, *each, power)


def _of_step(one: Energy) -> tuple[float | int | str, ...]:
    parts = (one.total_J, one.idle_J, one.compute_J, one.memory_J, one.link_J)
    return (one.phase, one.batch, one.context_tokens, *parts)


def _plot(name: str, engine: Engine) -> Plot:
    rows = decodes(engine, [2**n for n in range(9)], [CONTEXT])
    batches = [row.batch for row in rows]
    parts = ("total", "idle", "compute", "memory", "link")
    series = tuple(
        Series(part, batches, [getattr(row, f"{part}_J") for row in rows]) for part in parts
    )
    title = f"Energy of a token at {CONTEXT:,} tokens of context, {name}"
    axes = Axis("requests in the batch", log=True), Axis("joules a token", log=True)
    return Plot(f"batch-{name}", title, *axes, series)
