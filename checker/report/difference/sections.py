"""What there is to tell of a difference, in no particular form: titles, tables, lists and runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.diff.comparison import (
    OPEN,
    Changed,
    Comparison,
    Difference,
    Verdicts,
    on_both,
    worsened,
)
from rackproof.checker.diff.gained import Both, Gained, States
from rackproof.checker.diff.parting import Parting, Run
from rackproof.checker.diff.side import Side
from rackproof.checker.report.steps import wrapped
from rackproof.checker.verdicts import counted

MOST: Final = 10
"""Entries of a list or table that are told; JSON has them all."""


@frozen
class Table:
    """Rows of texts under columns; the first row may be cut off by ``more``."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0


@frozen
class Lines:
    """Sentences, each by itself."""

    lines: tuple[str, ...]
    more: int = 0


@frozen
class Told:
    """A run, with a sentence before it."""

    title: str
    lines: tuple[str, ...]


Block = Table | Lines | Told


@frozen
class Section:
    """Some blocks under a title."""

    title: str
    blocks: tuple[Block, ...]


def outcome(comparison: Comparison) -> str:
    """What became of one scope, in a line."""
    parts = [
        (f"worse: {_listed([e.name for e in comparison.verdicts if e.is_worse])}", "worse: "),
        (f"better: {_listed([e.name for e in comparison.verdicts if e.is_better])}", "better: "),
        (f"open: {_listed([e.name for e in comparison.verdicts if e.is_open])}", "open: "),
        (f"violated in both: {_listed(on_both(comparison, 'violated'))}", "violated in both: "),
    ]
    told = [line for line, nothing in parts if line != nothing]
    return "; ".join(told) or "no verdict differs, and none is violated"


def headline(difference: Difference) -> str:
    """What became of it, in a sentence or two."""
    if difference.is_same:
        return "The same target on both sides: no difference."
    if not difference.differs:
        return f"No difference was found{_cut_off(difference)}."
    every = [each for c in difference.comparisons for each in c.verdicts]
    worse, better = (sum(map(bool, those)) for those in (
        [each.is_worse for each in every], [each.is_better for each in every],
    ))  # fmt: skip
    parts = [
        f"{counted(number, 'verdict')} got {what}"
        for number, what in ((worse, "worse"), (better, "better"))
        if number
    ] or ["No verdict got worse or better"]
    several = len(difference.comparisons) > 1
    where = f" in {counted(len(difference.comparisons), 'exam')}" if several else ""
    is_open = any(each.is_open for each in every)
    told = "; some could not be told" if is_open else ""
    scopes = "; the scopes differ" if any(c.scopes for c in difference.comparisons) else ""
    return f"{', '.join(parts)}{where}{_cut_off(difference)}{scopes}{told}."


def _cut_off(difference: Difference) -> str:
    """How far it came, where an interrupt ended it."""
    done, of = len(difference.comparisons), difference.of
    return f"; interrupted: {done} of {of} exams were compared" if difference.is_cut else ""


def sections(difference: Difference, verbosity: int = 0) -> Iterator[Section]:
    """All there is to tell, the gravest first; with -v, of every scope and every run."""
    most = MOST if verbosity <= 0 else 10_000
    comparisons = difference.comparisons
    yield from _section("Verdicts", _verdicts(difference, most))
    yield from _section("As written", _written(comparisons, most))
    yield from _section("Transitions", _transitions(comparisons, most))
    for comparison in comparisons:
        where = f" ({comparison.case})" if len(comparisons) > 1 else ""
        if comparison.gained is not None:
            blocks = _behaviour(comparison.gained, most, verbosity)
            yield from _section(f"Behaviours{where}", blocks)
    yield from _section("Costs", _costs(comparisons, most))
    yield from _section("Footing", _footing(difference))


def _section(title: str, blocks: Iterator[Block]) -> Iterator[Section]:
    found = tuple(blocks)
    if found:
        yield Section(title, found)


def _cut(columns: Sequence[str], rows: Sequence[Sequence[str]], most: int) -> Iterator[Table]:
    """A table with so many rows at most; none where there are no rows."""
    if rows:
        shown = tuple(tuple(row) for row in rows[:most])
        yield Table(tuple(columns), shown, max(0, len(rows) - most))


def _some(lines: Sequence[str], most: int) -> Iterator[Lines]:
    """Lines, so many at most."""
    if lines:
        yield Lines(tuple(lines[:most]), max(0, len(lines) - most))


def _verdicts(difference: Difference, most: int) -> Iterator[Block]:
    """The verdicts that changed, and the counterexamples of what got worse."""
    several = len(difference.comparisons) > 1
    rows = [
        [each.name, *([comparison.case] if several else []), *_verdict(each)]
        for comparison in difference.comparisons
        for each in comparison.verdicts
        if each.differs
    ]
    columns = ["property", *(["exam"] if several else []), "A", "B", ""]
    yield from _cut(columns, rows, most)
    if not rows and difference.comparisons:
        count = sum(len(comparison.verdicts) for comparison in difference.comparisons)
        yield Lines((f"No verdict differs ({counted(count, 'property').replace('ys', 'ies')}).",))
    yield from _in_both(difference, most)
    asked = [f"{name}: {told}" for c in difference.comparisons for name, told in c.asked_otherwise]
    yield from _some(list(dict.fromkeys(asked)), most)
    for comparison, each in list(worsened(difference.comparisons))[:most]:
        if each.theirs is not None and each.theirs.run:
            where = f" in the exam {comparison.case}" if several else ""
            yield Told(f"{each.name} is {each.theirs.words}{where}, in B:", each.theirs.run)


def _in_both(difference: Difference, most: int) -> Iterator[Block]:
    """What is violated, or open, on both sides, and where."""
    comparisons = difference.comparisons
    for verdict, told in (("violated", "violated"), (OPEN, "not decided")):
        where: dict[str, list[str]] = {}
        for comparison in comparisons:
            for name in on_both(comparison, verdict):
                where.setdefault(name, []).append(comparison.case)
        if len(comparisons) == 1 and where:
            yield Lines((f"{told} in both: {', '.join(where)}",))
        elif where:
            lines = [f"{told} in both: {name} ({_listed(cases)})" for name, cases in where.items()]
            yield from _some(lines, most)


def _verdict(each: Verdicts) -> tuple[str, str, str]:
    told = [judged.words if judged else "not asked" for judged in (each.mine, each.theirs)]
    for number, judged in enumerate((each.mine, each.theirs)):
        if judged is not None and judged.reason and judged.verdict != "holds":
            told[number] += f" ({judged.reason})"
    mark = "worse" if each.is_worse else "better" if each.is_better else _length(each)
    return told[0], told[1], mark


def _length(each: Verdicts) -> str:
    """Which counterexample is longer, where there are two."""
    if each.mine is None or each.theirs is None:
        return ""
    sizes = [(judged.faults, judged.steps) for judged in (each.mine, each.theirs)]
    (faults, steps), (others, other) = sizes
    if faults is None or steps is None or others is None or other is None:
        return ""
    if faults != others:
        return f"{counted(abs(faults - others), 'fault')} {'fewer' if others < faults else 'more'}"
    return f"{counted(abs(steps - other), 'step')} {'shorter' if other < steps else 'longer'}"


def _written(comparisons: Sequence[Comparison], most: int) -> Iterator[Block]:
    """What differs as it is written, each thing once, with the exams where it is not so in all."""
    found: dict[Changed, list[str]] = {}
    for comparison in comparisons:
        for changed in comparison.written:
            found.setdefault(changed, []).append(comparison.case)
    rows = [
        [changed.part, changed.key, _or_none(changed.mine), _or_none(changed.theirs)]
        for changed, cases in found.items()
        if len(cases) == len(comparisons) or changed.part not in ("rack", "scope", "faults")
    ]
    yield from _cut(("part", "key", "A", "B"), rows, most)
    some = [
        f"{changed.key}: {_or_none(changed.mine)} -> {_or_none(changed.theirs)} in {_listed(cases)}"
        for changed, cases in found.items()
        if len(cases) < len(comparisons) and changed.part in ("rack", "scope", "faults")
    ]
    yield from _some(some, most)


def _or_none(value: str | None) -> str:
    return "not there" if value is None else value


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _transitions(comparisons: Sequence[Comparison], most: int) -> Iterator[Block]:
    """Transitions added, removed and changed, each thing once."""
    told: dict[str, list[str]] = {}
    for comparison in comparisons:
        for line in _rules(comparison):
            told.setdefault(line, []).append(comparison.case)
    several = len(comparisons) > 1
    lines = [
        f"{line} ({_listed(cases)})" if several and len(cases) < len(comparisons) else line
        for line, cases in told.items()
    ]
    yield from _some(lines, most)


def _rules(comparison: Comparison) -> Iterator[str]:
    yield from (f"{name}: in A only" for name in comparison.rules.mine)
    yield from (f"{name}: in B only" for name in comparison.rules.theirs)
    for name, changes in comparison.changed.items():
        for change in changes:
            yield f"{name}: {change}"


def _behaviour(gained: Gained, most: int, verbosity: int) -> Iterator[Block]:
    """What happens and what is reached in one of them only, and where their runs part."""
    lines = [*_fired(gained.fired), *_of_states(gained.states)]
    yield from _some(lines, most)
    rows = [
        [family, what, _values(both.mine), _values(both.theirs)]
        for what, found in (("value", gained.values), ("change", gained.edges))
        for family, both in found.items()
    ]
    yield from _cut(("field", "", "in A only", "in B only"), rows, most)
    yield from _partings(gained.parting, verbosity, gained.is_whole)


def _fired(fired: Both) -> Iterator[str]:
    if fired.mine:
        yield f"take effect in A only: {', '.join(fired.mine)}"
    if fired.theirs:
        yield f"take effect in B only: {', '.join(fired.theirs)}"


def _of_states(states: States | None) -> Iterator[str]:
    """How many states only one of them reaches, and what is possible in those that both do."""
    if states is None:
        return
    yield (
        f"states: {states.both:,} in both, {states.mine:,} in A only, {states.theirs:,} in B only"
    )
    for name, counts in states.possible.items():
        told = [
            f"{what} in {count:,}"
            for count, what in (
                (counts.mine, "possible in A only"),
                (counts.theirs, "possible in B only"),
                (counts.elsewhere, "leads elsewhere"),
            )
            if count
        ]
        yield f"{name}, of the states in both: {', '.join(told)}"


def _values(values: Sequence[str]) -> str:
    return _listed(values, 6) or "-"


def _partings(parting: Parting, verbosity: int, is_whole: bool) -> Iterator[Block]:
    """The shortest run that only one can do; with -v, one for each transition they part with."""
    for which, other, runs in (("A", "B", parting.mine), ("B", "A", parting.theirs)):
        chosen = sorted(runs.values(), key=len)
        if not chosen:
            whole = is_whole and parting.reason is None
            depth = "" if whole else f" of up to {counted(parting.depth, 'step')}"
            of = " (but for steps of what only one has)" if parting.left_out else ""
            yield Lines((f"Every run{depth} of {which}{of} is one of {other} too.",))
        for run in chosen if verbosity > 0 else chosen[:1]:
            ends = f" that ends with {run[-1].transition}" if verbosity > 0 else ""
            title = (
                f"The shortest run{ends} that is possible in {which} and not in {other}: "
                f"{other} can take every step of it but the last"
                if len(run) > 1
                else f"A first step{ends} that is possible in {which} and not in {other}"
            )
            yield Told(f"{title}:", tuple(as_lines(run)))
        others = [run[-1].transition for run in chosen[1:]]
        if others and verbosity <= 0:
            told = f"Other steps that {which} can take where {other} cannot, after the same run"
            yield Lines((f"{told}: {_listed(others, 8)} (-v shows the runs).",))


def as_lines(run: Run) -> Iterator[str]:
    """A run in words, with what each step changes."""
    width = len(str(len(run)))
    for number, step in enumerate(run, 1):
        yield f"  {number:>{width}}. {step.words}{' (fault)' if step.is_fault else ''}"
        yield from wrapped(list(step.changes), " " * (width + 5))


def _costs(comparisons: Sequence[Comparison], most: int) -> Iterator[Block]:
    several = len(comparisons) > 1
    rows = [
        [*([c.case] if several else []), x.part, x.key, _or_none(x.mine), _or_none(x.theirs)]
        for c in comparisons
        for x in c.costs
    ]
    yield from _cut([*(["exam"] if several else []), "path", "", "A", "B"], rows, most)
    known = [c for c in comparisons if c.mine.costs and c.theirs.costs]
    if known and not rows:
        yield Lines(("No cost differs.",))


def _footing(difference: Difference) -> Iterator[Block]:
    """The line that shows it again, what was not compared, and what to do next."""
    yield Lines((f"To see it again: {difference.footing.reproduce}",))
    yield from _some([f"Not compared: {told}" for told in difference.footing.not_checked], 100)
    yield from _some([f"Next: {move}" for move in difference.footing.next_moves], 100)


def names(difference: Difference) -> Iterator[str]:
    """What A and B are."""
    for letter, name, sides in (
        ("A", difference.mine, [c.mine for c in difference.comparisons]),
        ("B", difference.theirs, [c.theirs for c in difference.comparisons]),
    ):
        yield f"{letter}: {name}{_case(sides)}"


def _case(sides: Sequence[Side]) -> str:
    return f" ({sides[0].case})" if len(sides) == 1 and sides[0].case else ""
