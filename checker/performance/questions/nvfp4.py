"""What does NVFP4 keep of a tensor, and what are its two levels of scales for?"""

from __future__ import annotations

from typing import Final

from rackproof.checker.performance.answers import Answer, Column, Table
from rackproof.checker.performance.study import Study
from rackproof.model.performance.nvfp4.study import SCHEMES, rows


def _key(name: str) -> str:
    return f"sqnr_{name.lower().replace(',', '').replace(' ', '_')}_dB"


COLUMNS: Final = (
    Column("values", "values"),
    *(Column(f"{name}, dB", _key(name), digits=4) for name in SCHEMES),
)
BITS: Final = ", ".join(f"{name} {bits:g}" for name, (bits, _) in SCHEMES.items())


def ask(study: Study) -> Answer:
    """Signal to quantisation noise of families of values; the file has no part in it."""
    study.progress("a million values of each family")
    found: dict[str, list[float | str]] = {}
    for row in rows():
        found.setdefault(row.family, [row.family]).append(round(row.sqnr_db, 2))
    table = Table(
        "Signal to quantisation noise of 4-bit values",
        COLUMNS,
        tuple(tuple(values) for values in found.values()),
        (f"bits a value: {BITS}", "2^20 values of each family, from one seed"),
    )
    return Answer("nvfp4", (table,))
