"""What the paths of a world take: as tables, as runs with times, and as plain data."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

from attrs import frozen
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rackproof.checker.report.machine import trace_as_data
from rackproof.checker.report.steps import run_in_words
from rackproof.checker.timing.amounts import ENDLESS, in_units
from rackproof.checker.timing.durations import Durations
from rackproof.checker.timing.network import Schedule
from rackproof.checker.timing.paths import PathClass, Paths, Range
from rackproof.checker.timing.possible import Possible, bytes_in_words, joules_in_words
from rackproof.checker.timing.reach import Reached
from rackproof.checker.timing.stalls import Stall, Stalls
from rackproof.checker.timing.windows import timed
from rackproof.checker.trace import Trace
from rackproof.checker.verdicts import counted

TIMES: Final = ("first delivery", "worst stall", "total")
COSTS: Final = ("moved", "recomputed", "energy")
USUAL: Final = "nothing out of the ordinary"
GAP: Final = 2
LEAST_TEXT: Final = 20
"""Letters that a column of text has at least, however narrow the terminal."""


@frozen
class CostReport:
    """What is known of one target.

    scope: what was explored, in words, where that can be told. durations: those that were asked for
    on the way. changed: the quantities whose values were given by who asks.
    """

    target: str
    scope: str | None
    durations: Durations
    changed: frozenset[str]
    stalls: Stalls
    paths: Paths
    reached: Reached

    @property
    def is_conclusive(self) -> bool:
        """Whether every run was seen."""
        return not any(self.reasons)

    @property
    def reasons(self) -> tuple[str | None, ...]:
        """Why some were not: for the worst stall, the paths, the properties."""
        return self.stalls.reason, self.paths.reason, self.reached.reason

    def show(self, out: Console, verbosity: int) -> None:
        """Print the table of paths, the worst stall, the quantities, and what is violated."""
        out.print(Text(f"cost of {self.target}", "bold"), soft_wrap=True)
        if self.scope and verbosity >= 0:
            out.print(f"scope: {self.scope}", soft_wrap=True)
        for line in self._unseen():
            out.print(line, soft_wrap=True)
        if self.paths.classes:
            out.print(self._table(out.width), crop=False)
            out.print()
        for line in self._stall(verbosity):
            out.print(line, soft_wrap=True)
        if verbosity > 0:
            out.print("\n".join(self._runs()), soft_wrap=True)
        if verbosity >= 0 and (quantities := self._quantities(out.width)).row_count:
            out.print(quantities, crop=False)
        for line in self._notes(verbosity):
            out.print(line, soft_wrap=True)
        out.print()

    def _table(self, width: int) -> Table:
        """A row for each class of paths; a column of costs only where anything costs that."""
        kinds = self.paths.classes
        costs = [name for name in COSTS if any(_cost(kind, name).most for kind in kinds)]
        columns = ("path", "faults", *TIMES, *costs)
        rows = [[cells[name] for name in columns] for cells in map(in_words, kinds)]
        return _grid(columns, rows, width)

    def _stall(self, verbosity: int) -> Iterator[str]:
        """The worst of all stalls, with its run."""
        stall = self.stalls.worst
        if stall is None:
            yield "nobody ever waits" if self._has_clients else "no client in this scope"
            return
        least = "" if self.stalls.reason is None else "at least "
        who = self.client(stall.client)
        if stall.seconds is None:
            yield f"worst stall: {who} may wait for ever: {stall.reason}"
        else:
            begin = f"step {stall.begin}" if stall.begin else "the start"
            yield (
                f"worst stall: {least}{in_units(stall.seconds)}, of {who}, "
                f"from {begin} to step {stall.end}"
            )
        if verbosity >= 0:
            yield from self._steps(stall.trace, stall.schedule)
            yield ""

    @property
    def remarks(self) -> list[str]:
        """What to know of the tables: what was not seen, what is violated, what they leave out."""
        return [*self._unseen(), *self._notes(0)]

    @property
    def stall_in_words(self) -> str:
        """The worst of all stalls, in a line."""
        return next(self._stall(-1))

    @property
    def _has_clients(self) -> bool:
        initial = self.durations.system.initial
        return bool(self.durations.timing.waiting(initial))

    def client(self, number: int) -> str:
        """What a client is called."""
        clients = self.durations.timing.clients
        return clients[number] if number < len(clients) else f"client {number}"

    def _steps(self, trace: Trace, schedule: Schedule | None) -> list[str]:
        """A run with the times of a schedule."""
        if schedule is None:
            return run_in_words(trace)
        return run_in_words(trace, timing=Possible(timed(trace, self.durations), schedule))

    def _runs(self) -> Iterator[str]:
        """A run of each class, with the times of its worst stall."""
        for kind in self.paths.classes:
            trace = kind.worst or kind.trace
            if trace is not None:
                yield f"{_name(kind)}:"
                yield from self._steps(trace, kind.schedule)
                yield ""

    def _quantities(self, width: int) -> Table:
        """The quantities that any duration depended on, with their values and where from."""
        return _grid(("quantity", "value", "source"), list(self.quantities()), width)

    def quantities(self) -> Iterator[tuple[str, str, str]]:
        """The name, the value and the source of each."""
        for name, values in self._values().items():
            quantity = self.durations.timing.quantities[name]
            span = Range(min(values), max(values))
            source = "given here" if name in self.changed else quantity.source
            yield name, _range(span, in_units), source

    def _values(self) -> dict[str, list[Fraction]]:
        """By quantity, in the order in which the world names them."""
        values = defaultdict[str, list[Fraction]](list)
        for symbol, name in self.durations.names.items():
            values[name].append(self.durations.values[symbol])
        return {n: sorted(values[n]) for n in self.durations.timing.quantities if n in values}

    def _unseen(self) -> Iterator[str]:
        """That there are other runs than those of the tables, if so, and why."""
        if not self.is_conclusive:
            yield "not all runs were seen: what follows is of those that were, and there are more"
        what = ("the worst stall", "the paths", "the properties")
        for told, reason in zip(what, self.reasons, strict=True):
            if reason is not None:
                yield f"of {told} not everything was seen: {reason}"

    @property
    def _unused(self) -> list[str]:
        """Quantities that were given a value on which nothing depends."""
        return sorted(self.changed - self._values().keys())

    def _endless(self) -> Iterator[str]:
        """Where the infinite in the table comes from, other than from waiting for ever."""
        kinds = [kind for kind in self.paths.classes if kind.reason is None]
        if any(known.most == math.inf for kind in kinds for known in (kind.first, kind.total)):
            for name, values in self._values().items():
                if values[-1] >= ENDLESS:
                    source = self.durations.timing.quantities[name].source
                    yield f"no end: {name} has none{f' ({source})' if source else ''}"

    def _notes(self, verbosity: int) -> Iterator[str]:
        """What is violated within the times, what to know of them, and how much was seen."""
        for name, found in self.reached.violated.items():
            steps = counted(len(found.trace.steps), "step")
            end = in_units(found.schedule.earliest[len(found.trace.steps)])
            yield f"violated within these times: {name}, after {steps}, at {end} at the earliest"
        for kind in self.paths.classes:
            if kind.reason is not None:
                yield f"{_name(kind)}: may wait for ever: {kind.reason}"
        yield from self._endless()
        for name in self._unused:
            yield f"{name} is given here, and nothing that can happen depends on it"
        if verbosity >= 0 and self._has_clients:
            yield from (f"note: {note}" for note in self.durations.timing.notes)
        if self.is_conclusive:
            classes = self.paths.explored + self.stalls.classes + self.reached.classes
            yield (
                f"over all runs within these times: {self.paths.states:,} states in "
                f"{classes:,} state classes"
            )

    def data(self) -> dict[str, Any]:
        """Plain lists, maps, texts and numbers; no number where something has no end."""
        return {
            "target": self.target,
            "scope": self.scope,
            "conclusive": self.is_conclusive,
            "reasons": [reason for reason in self.reasons if reason is not None],
            "states": self.paths.states,
            "classes": self.paths.explored,
            "quantities": [
                {
                    "name": name,
                    "values_s": [_ended(value) for value in values],
                    "source": self.durations.timing.quantities[name].source,
                    "chosen": self.durations.timing.quantities[name].chosen,
                    "given": name in self.changed,
                }
                for name, values in self._values().items()
            ],
            "unused": self._unused,
            "notes": list(self.durations.timing.notes),
            "paths": [self._path(kind) for kind in self.paths.classes],
            "worst_stall": self.stalls.worst and self._worst_stall(self.stalls.worst),
            "violated": [
                {"name": name, "steps": self._trace(found.trace, found.schedule)}
                for name, found in self.reached.violated.items()
            ],
        }

    def _worst_stall(self, stall: Stall) -> dict[str, Any]:
        return {
            "seconds": None if stall.seconds is None else float(stall.seconds),
            "client": self.client(stall.client),
            "from_step": stall.begin,
            "to_step": stall.end,
            **({"reason": stall.reason} if stall.reason else {}),
            **({} if stall.trace.loop is None else {"loop": stall.trace.loop + 1}),
            "steps": self._trace(stall.trace, stall.schedule),
        }

    def _path(self, kind: PathClass) -> dict[str, Any]:
        trace = kind.worst or kind.trace
        assert trace is not None, "each class has a run"
        return {
            "tags": list(kind.tags),
            "faults": _pair(kind.faults),
            "first_delivery_s": _pair(kind.first),
            "worst_stall_s": _finite(kind.stall.most),
            "is_exact": kind.is_exact,
            "total_s": _pair(kind.total),
            "bytes_moved": _pair(kind.bytes_moved),
            "tokens_recomputed": _pair(kind.tokens_recomputed),
            "joules": _pair(kind.joules),
            **({"reason": kind.reason} if kind.reason else {}),
            "steps": self._trace(trace, kind.schedule),
        }

    def _trace(self, trace: Trace, schedule: Schedule | None) -> list[dict[str, Any]]:
        if schedule is None:
            return trace_as_data(trace)
        return trace_as_data(trace, Possible(timed(trace, self.durations), schedule))


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Table:
    """A table of so many letters a line: in a narrow one texts wrap, and ranges at their "to"."""
    texts = [number for number, name in enumerate(columns) if name in ("path", "source")]
    lengths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    room = [min(n, LEAST_TEXT) if i in texts else n for i, n in enumerate(lengths)]
    narrow = sum(room) + GAP * len(room) > width
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for number, name in enumerate(columns):
        is_text = number in texts
        table.add_column(
            name,
            justify="left" if is_text or not number else "right",
            no_wrap=not is_text,
            min_width=room[number] if is_text else None,
        )
    for row in rows:
        folded = (cell.replace(" to ", " to\n") if narrow else cell for cell in row)
        table.add_row(*(row[i] if i in texts else cell for i, cell in enumerate(folded)))
    return table


def in_words(kind: PathClass) -> dict[str, str]:
    """What a class of paths takes, by the columns of the table."""
    return {
        "path": _name(kind),
        "faults": _range(kind.faults, str),
        **dict(zip(TIMES, _times(kind), strict=True)),
        **{name: _range(_cost(kind, name), told) for name, told in _IN_WORDS.items()},
    }


def _times(kind: PathClass) -> tuple[str, str, str]:
    return _range(kind.first, in_units), _worst(kind), _range(kind.total, in_units)


def _name(kind: PathClass) -> str:
    return ", then ".join(kind.tags) or (USUAL if kind.faults.most else "no failure")


def _cost(kind: PathClass, name: str) -> Range:
    return {
        "moved": kind.bytes_moved,
        "recomputed": kind.tokens_recomputed,
        "energy": kind.joules,
    }[name]


_IN_WORDS: Final[dict[str, Callable[[Any], str]]] = {
    "moved": lambda x: bytes_in_words(float(x)),
    "recomputed": lambda x: f"{float(x):,.0f}",
    "energy": lambda x: joules_in_words(float(x)),
}


def _range(known: Range, words: Callable[[Any], str]) -> str:
    """From the least to the most, or the one that both are."""
    if known.least is None or known.most is None:
        return "-"
    least, most = words(known.least), words(known.most)
    if known.most == math.inf and known.least == math.inf:
        return "no end"
    return least if least == most else f"{least} to {most}"


def _worst(kind: PathClass) -> str:
    """The worst stall; where no run was seen to have it, that it is no more."""
    if kind.stall.most is None:
        return "-"
    return f"{'' if kind.is_exact else 'at most '}{in_units(kind.stall.most)}"


def _pair(known: Range) -> list[float | None] | None:
    if known.least is None or known.most is None:
        return None
    return [_finite(known.least), _finite(known.most)]


def _ended(seconds: Fraction) -> float | None:
    return None if seconds >= ENDLESS else float(seconds)


def _finite(value: Fraction | float | None) -> float | None:
    return None if value is None or value == math.inf else float(value)
