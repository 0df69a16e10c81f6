"""The minimal cut sets as a table, as Markdown and as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen
from rich.table import Table
from rich.text import Text

from rackproof.checker.cuts import CutSet, CutSets, Row
from rackproof.checker.cuts.words import in_words
from rackproof.checker.report.machine import trace_as_data
from rackproof.checker.report.steps import run_in_words
from rackproof.checker.verdicts import ABSENT, counted
from rackproof.scenarios.steps import kebab

COLUMNS: Final = ("property", "faults that break it", "steps", "sets ruled out")


@frozen
class CutReport:
    """The cut sets of one target.

    scope: what was explored, in words, where that can be told. seats: the tray of each instance, by
    their names. named: whether the faults were named by who asks.
    """

    target: str
    found: CutSets
    scope: str | None = None
    seats: Mapping[str, str] = field(factory=dict)
    named: bool = False

    @property
    def is_conclusive(self) -> bool:
        """Whether every property is settled as far as was asked."""
        return all(row.settled == self.found.most for row in self._asked)

    @property
    def _asked(self) -> list[Row]:
        return [row for row in self.found.rows if row.vacuous is None]

    @property
    def broken(self) -> list[Row]:
        """The properties that some set violates, and those that are not settled."""
        return [row for row in self._asked if row.cuts or row.settled != self.found.most]

    @property
    def unbroken(self) -> list[Row]:
        """The properties that no set of faults of the size asked for violates."""
        return [row for row in self._asked if not row.cuts and row.settled == self.found.most]

    @property
    def untested(self) -> list[Row]:
        """The properties that nothing put to the test."""
        return [row for row in self.found.rows if row.vacuous is not None]

    def cells(self) -> Iterator[tuple[str, str, str, str]]:
        """The rows of the table: one for each cut set, the property's name at its first."""
        for row in self.broken:
            for number, cut in enumerate(row.cuts):
                first = number == 0
                steps = _steps(cut)
                yield (
                    row.prop.name if first else "",
                    in_words(cut.trace, self.found.classes),
                    steps,
                    self._ruled_out(row) if first else "",
                )
            if row.settled != self.found.most:
                yield "" if row.cuts else row.prop.name, self._open(row), "", ""

    def _ruled_out(self, row: Row) -> str:
        return "" if row.ruled_out is None else f"{row.ruled_out:,}"

    def _open(self, row: Row) -> str:
        known = "nothing is settled"
        if row.settled is not None:
            more = "other " if row.cuts else ""
            known = f"no {more}set of up to {counted(row.settled, 'fault')}"
        return f"{known}; larger ones are open: {row.reason}"

    def lines(self, every: bool = False) -> Iterator[str]:
        """What is said below the table; every: also of what this world has nothing of."""
        found, most = self.found, self.found.most
        if seats := self._told_seats():
            yield f"on the rack: {seats}"
        if names := _names(self.unbroken):
            yield f"no set of up to {counted(most, 'fault')} breaks: {names}"
        if names := _names(row for row in self.untested if every or row.vacuous != ABSENT):
            yield f"not put to the test here: {names}"
        if found.silent and (every or self.named):
            yield f"faults that never take effect here: {', '.join(map(kebab, found.silent))}"
        events = f"{most} of {counted(len(found.possible), 'fault event')}"
        if not self.is_conclusive:
            yield f"asked for: all runs with up to {events}; not all of them were examined"
            return
        searches = f"{found.searches} search{'' if found.searches == 1 else 'es'}"
        yield (
            f"shown by exhaustion of all runs with up to {events}: {self._sets()}"
            f"{searches}, of up to {counted(found.states, 'state')}"
        )

    def _told_seats(self) -> str:
        """Who is on the trays that the table names."""
        faults = " ".join(cells[1] for cells in self.cells())
        told = (f"{who} on {tray}" for who, tray in self.seats.items() if f"({tray})" in faults)
        return ", ".join(told)

    def _sets(self) -> str:
        sizes = range(self.found.most + 1)
        count = sum(math.comb(len(self.found.possible) + s - 1, s) for s in sizes if s) + 1
        return f"{counted(count, 'set')}, "

    def runs(self) -> Iterator[str]:
        """Each cut set with its run, step by step."""
        for row in self.broken:
            for cut in row.cuts:
                yield f"{row.prop.name}: {in_words(cut.trace, self.found.classes)}"
                yield from run_in_words(cut.trace)
                yield ""

    def table(self) -> Table:
        """The table for a terminal."""
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for column in COLUMNS:
            right = column in COLUMNS[2:]
            table.add_column(column, justify="right" if right else "left", overflow="fold")
        for name, faults, steps, ruled_out in self.cells():
            table.add_row(Text(name), Text(faults, "red" if steps else "yellow"), steps, ruled_out)
        return table

    def markdown(self) -> str:
        """The table and what is said below it, in Markdown."""
        rows = [COLUMNS, ("---", "---", "---:", "---:"), *self.cells()]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
        scope = [f"Scope: {self.scope}."] if self.scope else []
        said = [f"- {line}" for line in self.lines()]
        return "\n\n".join([f"# Cut sets of {self.target}", *scope, table, "\n".join(said)]) + "\n"

    def data(self) -> dict[str, Any]:
        """Plain lists, maps, texts and numbers."""
        found = self.found
        return {
            "target": self.target,
            "scope": self.scope,
            "at_most": found.most,
            "conclusive": self.is_conclusive,
            "events": [{"fault": kebab(e.fault), "hits": self._hits(e)} for e in found.possible],
            "silent": [kebab(name) for name in found.silent],
            "states": found.states,
            "searches": found.searches,
            "seconds": round(found.seconds, 6),
            "properties": [self._row(row) for row in found.rows],
        }

    def _hits(self, event: Any) -> list[str]:
        system = self.found.system
        parameters = next(t.parameters for t in system.transitions if t.name == event.fault)
        pairs = zip(parameters, event.arguments, strict=True)
        return [system.label(sort, index) for (_, sort), index in pairs]

    def _row(self, row: Row) -> dict[str, Any]:
        told = {"reason": row.reason, "vacuous": row.vacuous, "ruled_out": row.ruled_out}
        return {
            "name": row.prop.name,
            "settled": row.settled,
            **{key: value for key, value in told.items() if value is not None},
            "cuts": [self._cut(cut) for cut in row.cuts],
        }

    def _cut(self, cut: CutSet) -> dict[str, Any]:
        loop = {} if cut.trace.loop is None else {"loop": cut.trace.loop + 1}
        return {
            "faults": in_words(cut.trace, self.found.classes),
            "events": [{"fault": kebab(e.fault), "hits": self._hits(e)} for e in cut.events],
            "alike": cut.alike,
            "steps": trace_as_data(cut.trace),
            **loop,
        }


def _steps(cut: CutSet) -> str:
    loop = "" if cut.trace.loop is None else f" and a loop of {len(cut.trace.repeated)}"
    return f"{cut.trace.lead}{loop}"


def _names(rows: Iterable[Row]) -> str:
    return ", ".join(row.prop.name for row in rows)
