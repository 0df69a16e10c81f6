"""Is it quicker to fetch KV over a link, or to compute it again? Ranges of context, bandwidths."""

from __future__ import annotations

from collections.abc import Iterable
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
from rackproof.checker.performance.engines import engines
from rackproof.checker.performance.study import Study
from rackproof.model.performance.hardware import Link, link
from rackproof.model.performance.questions.break_even import (
    Choice,
    Span,
    Threshold,
    critical,
    over_bandwidth,
    over_length,
)
from rackproof.model.performance.roofline import Engine
from rackproof.model.performance.simulation import Disaggregated

LINKS: Final = ("4x-nvlink5", "4x400g", "100gbe", "nvme", "25gbe")
"""From a lost instance's peers, the network, and a store, to what is too slow."""
LENGTHS: Final = tuple(2**n for n in range(7, 18))


def ask(study: Study) -> Answer:
    """For each kind of prefill instance: a row a link, and a row a length of context."""
    tables, plots = [], []
    for name, engine in engines(study, "prefill"):
        choices = [Choice(engine, one) for one in _links(study, engine)]
        worst = critical(choices[0])
        tables += [_over_links(name, choices, worst), _over_lengths(name, choices[0])]
        plots.append(_plot(name, choices[0], worst))
    notes = (
        "On an idle link at its whole bandwidth, and with an idle instance to compute: a failure "
        "that every request on an instance suffers at once is another question (failures).",
    )
    return Answer("break-even", tuple(tables), tuple(plots), notes)


def _links(study: Study, _engine: Engine) -> list[Link]:
    """Those of the file, then presets."""
    own = [
        variant.deployment.hand_off.link
        for variant in study.plan.variants
        if isinstance(variant.deployment, Disaggregated)
    ]
    found = {one.name: one for one in [*own, *map(link, LINKS)]}
    return sorted(found.values(), key=lambda one: (-one.bytes_per_s, one.name))


def _over_links(name: str, choices: Iterable[Choice], worst: Threshold) -> Table:
    columns = (
        Column("link", "link"),
        Column("bandwidth", "bandwidth", Unit.BYTES_PER_S),
        Column("transfer is quicker for", "transfer"),
        Column("recomputing for (tokens of context)", "recompute"),
    )
    rows: list[tuple[Value, ...]] = []
    for choice in choices:
        spans = over_length(choice)
        told = [_told(spans, way) for way in ("transfer", "recompute")]
        rows.append((choice.link.name, choice.link.bytes_per_s, *told))
    least = worst.least_bytes_per_s
    note = (
        f"Above {Unit.BYTES_PER_S.shown(least, 4)} (with the first link's latency) transfer is "
        f"quicker at every length; a context of {worst.tokens:,} tokens asks most"
        if least is not None
        else "At some lengths no bandwidth is enough: latency alone is longer than computing again"
    )
    return Table(f"Transfer or recompute, {name}", columns, tuple(rows), (f"{note}.",))


def _told(spans: Iterable[Span], better: str) -> str:
    found = [f"{s.first_tokens:,}..{s.last_tokens:,}" for s in spans if s.better == better]
    return ", ".join(found) or "-"


def _over_lengths(name: str, choice: Choice) -> Table:
    columns = (
        Column("context", "context", Unit.TOKENS),
        Column("KV", "kv", Unit.BYTES),
        Column("recomputing takes", "recompute", Unit.SECONDS),
        Column("transfer is quicker above", "least_bandwidth", Unit.BYTES_PER_S),
    )
    rows = tuple(
        (one.tokens, choice.size(one.tokens), one.recompute_s, one.least_bytes_per_s)
        for one in over_bandwidth(choice, LENGTHS)
    )
    note = f"With the latency of {choice.link.name}, {Unit.SECONDS.shown(choice.link.latency_s)}."
    return Table(f"The bandwidth that it takes, {name}", columns, rows, (note,))


def _plot(name: str, choice: Choice, worst: Threshold) -> Plot:
    lengths = [round(2 ** (n / 4)) for n in range(4 * 6, 4 * 17 + 1)]
    rows = [one for one in over_bandwidth(choice, lengths) if one.least_bytes_per_s is not None]
    needed = [(one.least_bytes_per_s or 0) / 1e9 for one in rows]
    series = (Series("transfer is quicker above", [one.tokens for one in rows], needed),)
    levels = tuple((link(one).bandwidth_GB_s, one) for one in ("100gbe", "nvme", "25gbe"))
    return Plot(
        f"bandwidth-{name}",
        f"Transfer or recompute, {name}",
        Axis("context, tokens", log=True),
        Axis("bandwidth, GB/s", log=True),
        series,
        (Mark(worst.tokens, f"asks most, {worst.tokens:,} tokens"),),
        levels,
    )
