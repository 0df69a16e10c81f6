"""What does it cost to move a request's KV over a rack: by NVLink, network, to host or store?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rackproof.checker.performance.answers import Answer, Column, Table, Unit
from rackproof.checker.performance.engines import engines
from rackproof.checker.performance.study import Study
from rackproof.model.performance.paths import Fabric, Messages
from rackproof.model.performance.questions.paths import Transfer, transfers
from rackproof.model.performance.roofline import Engine
from rackproof.model.rack import place, preset

CONTEXTS: Final = (3000, 32_768)
RACKS: Final[Mapping[str, tuple[str, frozenset[str], Mapping[str, str]]]] = {
    "NVL72": ("nvl72", frozenset(), {}),
    "NVL72 without its NVLink switches": ("nvl72", frozenset({"nvlink-0"}), {}),
    "two NVL72, one instance on each": ("two-rack", frozenset(), {"decode-0": "tray-18"}),
}
"""Each a preset, what is lost of it, and where instances are put by hand."""
COLUMNS: Final = (
    Column("from", "source"),
    Column("to", "target"),
    Column("over", "way"),
    Column("context", "context", Unit.TOKENS),
    Column("KV", "size", Unit.BYTES),
    Column("bandwidth", "bandwidth", Unit.BYTES_PER_S),
    Column("whole", "whole", Unit.SECONDS),
    Column("in pages of 16", "paged", Unit.SECONDS),
    Column("energy", "energy", Unit.JOULES),
)


def ask(study: Study) -> Answer:
    """The different ways of each rack, for each kind of instance that prefills."""
    tables = tuple(
        _table(f"{rack}: {name}", engine, *parts)
        for name, engine in engines(study, "prefill")
        for rack, parts in RACKS.items()
    )
    return Answer("paths", tables, notes=("On an otherwise idle rack, at the whole bandwidth.",))


def _table(
    title: str, engine: Engine, name: str, lost: frozenset[str], on: Mapping[str, str]
) -> Table:
    rack = preset(name)
    placement = place(rack, prefill=1, decode=1, on=dict(on))
    fabric = Fabric(rack, lost)  # type: ignore[arg-type] # its converter has no type of its own
    whole = transfers(fabric, placement, engine, CONTEXTS)
    paged = transfers(fabric, placement, engine, CONTEXTS, Messages())
    rows = tuple(_row(one, other) for one, other in zip(whole, paged, strict=True))
    return Table(title, COLUMNS, rows, (f"pages of 16 tokens: {Messages().overhead_us} us each",))


def _row(one: Transfer, paged: Transfer) -> tuple[str | float, ...]:
    return (
        one.source,
        one.target,
        one.way,
        one.context_tokens,
        one.bytes,
        one.bytes_per_s,
        one.seconds,
        paged.seconds,
        one.joules,
    )
