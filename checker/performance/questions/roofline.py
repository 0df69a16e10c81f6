"""How long does a step take, and what is it bound by: compute, memory, or links?"""

from __future__ import annotations

from typing import Final

from rackproof.checker.performance.answers import Answer, Axis, Column, Plot, Series, Table, Unit
from rackproof.checker.performance.engines import engines
from rackproof.checker.performance.study import Study
from rackproof.model.performance.questions.roofline import Step, decodes, prefills
from rackproof.model.performance.roofline import Engine

PROMPTS: Final = (128, 512, 1024, 3000, 4096, 8192, 16_384, 32_768, 131_072)
BATCHES: Final = (1, 4, 16, 64, 256)
CONTEXTS: Final = (1024, 4096, 32_768)
COLUMNS: Final = (
    Column("phase", "phase"),
    Column("batch", "batch", Unit.COUNT),
    Column("context", "context", Unit.TOKENS),
    Column("step", "step", Unit.SECONDS),
    Column("a token", "token", Unit.SECONDS),
    Column("bound by", "bound"),
    Column("compute", "compute", Unit.SECONDS),
    Column("memory", "memory", Unit.SECONDS),
    Column("links", "links", Unit.SECONDS),
    Column("overhead", "overhead", Unit.SECONDS),
    Column("fits", "fits"),
)


def ask(study: Study) -> Answer:
    """For each kind of instance a row a step."""
    kinds = dict(engines(study, "prefill") + engines(study, "decode"))
    tables, plots = [], []
    for name, engine in kinds.items():
        steps = [*prefills(engine, PROMPTS), *decodes(engine, BATCHES, CONTEXTS)]
        tables.append(Table(f"Steps, {name}", COLUMNS, tuple(map(_row, steps))))
        plots.append(_plot(name, engine))
    note = (
        "Set beside measured kernels, a step of a dense model is right within a third or so, one "
        "of experts is too short: docs/performance.md has the ratios. Trust orderings first."
    )
    return Answer("roofline", tuple(tables), tuple(plots), (note,))


def _row(one: Step) -> tuple[float | int | str | bool, ...]:
    times = (one.compute_s, one.memory_s, one.link_s, one.overhead_s)
    return (
        one.phase,
        one.batch,
        one.context_tokens,
        one.step_s,
        one.token_s,
        one.bound,
        *times,
        one.fits,
    )


def _plot(name: str, engine: Engine) -> Plot:
    rows = prefills(engine, [round(2 ** (n / 2)) for n in range(14, 35)])
    lengths = [row.context_tokens for row in rows]
    series = (Series("prefill of a token", lengths, [row.token_s * 1e6 for row in rows]),)
    title = f"Prefill of a token, {name}"
    axes = Axis("prompt, tokens", log=True), Axis("microseconds", log=True)
    return Plot(f"prefill-{name}", title, *axes, series)
