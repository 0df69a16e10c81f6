"""What mends and what is needed, told: two tables, and the same as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.table import Table

from rackproof.checker.repair.diagnosis import Diagnosis
from rackproof.checker.repair.needs import Needs
from rackproof.checker.repair.repairs import Repair, Repairs
from rackproof.checker.report.stack import choice
from rackproof.checker.verdicts import counted
from rackproof.checker.verify import Report

SHOWN: Final = 6
"""Names that are told of a long list, unless all are asked for."""


def tables(report: Report, every: bool) -> Iterator[Table]:
    """What mends each violation, and what each property that holds needs; every: all the names."""
    found = report.diagnosis
    if found is not None and found.repairs:
        yield _table(
            (
                "property",
                "verdict",
                "changes",
                "mended by (all least changes to what the reference or the fix has, else to any)",
            ),
            (row for one in found.repairs for row in _mended(found, one, every)),
        )
    if found is not None and found.needs:
        yield _table(
            ("property", "needed", "interchangeable", "redundant in this scope"),
            (row for one in found.needs for row in _needed(one, every)),
        )


def _table(columns: Sequence[str], rows: Iterator[list[str]]) -> Table:
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _mended(found: Diagnosis, one: Repairs, every: bool) -> Iterator[list[str]]:
    """A row a repair; what is open has one of its own."""
    told = [[str(len(repair.choice)), change(found, repair, every)] for repair in one.found]
    if not one.found and one.whole:
        told = [["", "no choice of mechanisms"]]
    if one.doubt is not None:
        told.append(["", f"perhaps more: {one.doubt}" if one.found else f"unknown: {one.doubt}"])
    heads = [[" and ".join(one.names), "violated"], *([["", ""]] * len(told))]
    yield from (head + cells for head, cells in zip(heads, told, strict=False))


def change(found: Diagnosis, repair: Repair, every: bool = True) -> str:
    """A repair in words: what it changes, and what follows."""
    notes = ["reported fix"] if found.is_reported(repair.choice) else []
    if repair.averted:
        notes.append("it can no longer happen")
    for what, names in (("breaks", repair.breaks), ("uncovers", repair.uncovers)):
        if names:
            notes.append(f"{what} {listed(names, every)}")
    return choice(repair.choice) + (f" ({'; '.join(notes)})" if notes else "")


def _needed(one: Needs, every: bool) -> Iterator[list[str]]:
    """A row a property; where several sets are enough, each is told."""
    others = [[name for name in those if name not in one.needed] for those in one.sets]
    either = ", or ".join(" and ".join(those) for those in others if those)
    if one.doubt is not None:
        either = f"{either} (perhaps more: {one.doubt})".strip()
    redundant = ", ".join(one.redundant) if every else counted(len(one.redundant), "mechanism")
    yield [one.name, ", ".join(one.needed) or "none", either, redundant]


def listed(names: Sequence[str], every: bool) -> str:
    """Names, or the first few of many."""
    if every or len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more"


def as_data(found: Diagnosis) -> dict[str, Any]:
    """What JSON says of it."""
    return {
        "repairs": [_repairs(found, one) for one in found.repairs],
        "needs": [_needs(one) for one in found.needs],
    }


def _repairs(found: Diagnosis, one: Repairs) -> dict[str, Any]:
    return {
        "properties": list(one.names),
        "whole": one.whole,
        **({} if one.doubt is None else {"doubt": one.doubt}),
        "choices": [
            {
                "change": dict(repair.choice),
                "reported_fix": found.is_reported(repair.choice),
                "can_no_longer_happen": list(repair.averted),
                "breaks": list(repair.breaks),
                "uncovers": list(repair.uncovers),
            }
            for repair in one.found
        ],
    }


def _needs(one: Needs) -> dict[str, Any]:
    return {
        "property": one.name,
        "whole": one.whole,
        **({} if one.doubt is None else {"doubt": one.doubt}),
        "needed": {
            name: {"faults": trace.faults, "steps": len(trace.steps)}
            for name, trace in one.needed.items()
        },
        "enough": [list(those) for those in one.sets],
        "untested_with": [list(one.sets[number]) for number in one.averted],
        "interchangeable": list(one.interchangeable),
        "redundant": list(one.redundant),
    }


def effort(found: Diagnosis) -> str:
    """How many protocols were explored for it."""
    explored = sum(one.explored for one in found.repairs)
    explored += sum(one.explored for one in found.needs)
    return f"{counted(explored, 'protocol')} explored"
