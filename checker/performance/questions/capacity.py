"""How much KV fits, in each format, and how many requests is that at each length of context?"""

from __future__ import annotations

from typing import Final

from rackproof.checker.performance.answers import Answer, Axis, Column, Plot, Series, Table, Unit
from rackproof.checker.performance.engines import engines
from rackproof.checker.performance.study import Study
from rackproof.model.performance.formats import KvFormat, kv_format
from rackproof.model.performance.questions.capacity import Capacity, capacities
from rackproof.model.performance.roofline import Engine

FORMATS: Final = ("bf16", "fp8", "nvfp4")
CONTEXTS: Final = (1024, 4096, 16_384, 32_768, 131_072)
COLUMNS: Final = (
    Column("KV format", "kv_format"),
    Column("a token", "token", Unit.BYTES, 6),
    Column("tokens of an instance", "instance", Unit.TOKENS),
    Column("context", "context", Unit.TOKENS),
    Column("KV of a request", "request", Unit.BYTES, 4),
    Column("requests at once", "requests", Unit.COUNT),
)


def ask(study: Study) -> Answer:
    """For each kind of decode instance a row a format and length of context."""
    tables, plots = [], []
    for name, engine in engines(study, "decode"):
        rows = capacities(engine, _formats(engine), CONTEXTS)
        tables.append(Table(f"KV capacity, {name}", COLUMNS, tuple(map(_row, rows))))
        plots.append(_plot(name, rows))
    return Answer("capacity", tuple(tables), tuple(plots))


def _formats(engine: Engine) -> list[KvFormat]:
    """That of the file, then presets."""
    found = {engine.kv.name: engine.kv}
    for name in FORMATS:
        found.setdefault(name, kv_format(name))
    return list(found.values())


def _row(one: Capacity) -> tuple[float | int | str, ...]:
    return (
        one.kv,
        one.token_bytes,
        one.instance_tokens,
        one.context_tokens,
        one.request_bytes,
        one.requests,
    )


def _plot(name: str, rows: tuple[Capacity, ...]) -> Plot:
    formats = list(dict.fromkeys(row.kv for row in rows))
    series = tuple(
        Series(
            kv,
            [row.context_tokens for row in rows if row.kv == kv],
            [row.requests for row in rows if row.kv == kv],
        )
        for kv in formats
    )
    axes = Axis("context, tokens", log=True), Axis("requests at once", log=True)
    return Plot(f"requests-{name}", f"Requests that fit, {name}", *axes, series)
