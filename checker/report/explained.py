"""An explanation for a person at a terminal: step by step, then what it comes to.

What does not matter is dim, and said to be so: nothing depends on colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import frozen
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rackproof.checker.explain.explanation import END, Condition, Explanation, Moment
from rackproof.checker.report.counterexample import few_faults
from rackproof.checker.report.setting import source_label
from rackproof.checker.report.steps import FOR_EVER
from rackproof.checker.timing.amounts import in_units
from rackproof.checker.timing.possible import amount_in_words
from rackproof.model.kernel import Belief

WIDTH: Final = 100
MOST_TOLD: Final = 8
"""Conditions under which nothing changes any more that are told; the rest are counted."""
RESTS: Final = "Nothing more happens of its own accord that would change this, because:"
LOOPS: Final = "It goes round for ever, and what else would have to happen cannot, because:"
_TIMING: Final = "Timing: "
FAULT, BAD, DIM, HEAD = "red", "yellow", "dim", "bold"


def print_explained(out: Console, explanation: Explanation) -> None:
    """Print an explanation on a console, at most 100 columns wide."""
    width = min(out.width, WIDTH)
    for part in _Told(explanation).parts:
        whole = isinstance(part, Text) and part.no_wrap  # a command is not torn
        out.print(part, width=None if whole else width, soft_wrap=whole or False)


@frozen
class _Told:
    """The parts of an explanation, from the property to the command that shows it again."""

    all: Explanation

    @property
    def parts(self) -> Iterator[RenderableType]:
        yield from self._head()
        yield ""
        yield from self._steps()
        yield from self._outcome()
        yield from self._alternatives()
        yield from self._footing()

    def _head(self) -> Iterator[RenderableType]:
        told = self.all
        verdict = f": {told.prop.name} is {told.verdict}" if told.prop else ""
        yield Text(f"{told.title}{verdict}", HEAD)
        lines = [told.prop.statement if told.prop else ""]
        if told.prop and told.prop.why:
            lines.append(f"Why it matters: {told.prop.why}")
        if told.scope:
            lines.append(f"Scope: {told.scope}")
        if told.unexplained:
            lines.append(f"The steps are not explained: {told.unexplained}")
        if any(not moment.matters for moment in told.moments):
            lines.append("Steps in [brackets] do not matter: it comes to the same without them.")
        yield from ("", *(_indented(line) for line in lines if line))

    def _steps(self) -> Iterator[RenderableType]:
        trace, before, faults = self.all.trace, tuple[Belief, ...](), 0
        for moment in self.all.moments:
            if moment.number == trace.lead + 1:
                yield _indented(FOR_EVER)
            faults += moment.step.is_fault
            new = [belief for belief in moment.mistaken if belief not in before]
            before = moment.mistaken
            yield self._step(moment, new, f"FAULT {faults} of {trace.faults}: ")
        if trace.loop is not None:
            yield _indented(f"-- and back to the state before step {trace.lead + 1}")
        if not trace.steps:
            yield _indented("(no step: the initial state itself)")

    def _step(self, moment: Moment, mistaken: Sequence[Belief], nth: str) -> RenderableType:
        """A step with what it changed, why it was possible, and who is mistaken after it."""
        when = f"at {in_units(moment.at)}: " if moment.at is not None else ""
        words = f"{when}{nth if moment.step.is_fault else ''}{moment.step.words}"
        if not moment.matters:
            return self._numbered(moment, Text(f"[{words}]", DIM))
        told = Text(words, FAULT if moment.step.is_fault else HEAD)
        rows = [*self._rows(moment), *(("mistaken", _mistaken(belief)) for belief in mistaken)]
        return self._numbered(moment, Group(told, _labelled(rows)) if rows else told)

    def _rows(self, moment: Moment) -> Iterator[tuple[str, Text]]:
        if moment.why:
            yield "because", _conditions(moment.why, moment.number)
        used, rest = changes_in_words(self.all, moment)
        if used:
            yield "changes", Text("; ".join(used))
        if rest:
            yield ("changes" if not used else "also"), Text("; ".join(rest), DIM)
        if moment.charge is not None and (costs := amount_in_words(moment.charge)):
            yield "costs", Text("; ".join(costs), DIM)

    def _numbered(self, moment: Moment, told: RenderableType) -> RenderableType:
        grid = Table.grid(padding=(0, 1, 0, 0))
        width = len(str(len(self.all.moments))) + 3
        grid.add_column(justify="right", min_width=width, no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(f"{moment.number}."), told)
        return grid

    def _outcome(self) -> Iterator[RenderableType]:
        told = self.all
        yield from _section(
            "Where it goes wrong",
            [
                ending(told),
                *(f"  {since_in_words(c, None)}" for c in told.failing),
            ],
        )
        stays = [f"  {since_in_words(condition, None)}" for condition in told.stays[:MOST_TOLD]]
        if len(told.stays) > MOST_TOLD:
            stays.append(f"  and {len(told.stays) - MOST_TOLD} more")
        if stays:
            endless = told.trace.loop is not None
            yield from _section("Why nothing mends it", [LOOPS if endless else RESTS, *stays])
        facts = [
            f"{key}: {found}{'' if met else ', which is not as written'}"
            for key, found, met in told.facts
        ]
        yield from _section("What it leads to", [*facts, *told.complaints])
        smallest = told.smallest
        fewest = told.fewest_faults and told.trace.faults and not smallest
        needs = [smallest.words] if smallest else []
        needs = [few_faults(told.trace)] if fewest else needs
        yield from _section("What it takes", [*needs, *told.necessity])

    def _alternatives(self) -> Iterator[RenderableType]:
        pivot, near, told = self.all.pivot, self.all.near_miss, self.all
        if pivot:
            more = [f"Or {mechanism}." for mechanism in pivot.mechanisms[1:]]
            yield from _section(f"The turning point: step {pivot.number}", [pivot.words, *more])
        yield from _section("The nearest run that is safe", [near.words] if near else [])
        mends = []
        for mend in told.mends:
            verdict = f": {mend.verdict}" if mend.verdict else ""
            mends.append(f"{'; '.join(mend.changes)}{verdict} ({mend.source})")
            if mend.side_effects:
                mends.append(f"  but violated with it: {', '.join(mend.side_effects)}")
        yield from _section("What mends it", mends)
        yield from _section("Timing", [line.removeprefix(_TIMING) for line in told.timing_words])

    def _footing(self) -> Iterator[RenderableType]:
        footing, source = self.all.footing, self.all.source
        yield from _section("Not found out", self.all.untold)
        yield from _section("Not checked", footing.not_checked)
        yield from _section("What to do next", footing.next_moves)
        lines = [f"{source_label(source)}: {source}"] if source else []
        yield ""
        for line in [*lines, f"To see it again: {footing.reproduce}"]:
            yield Text(f"  {line}", no_wrap=True)


def _section(title: str, lines: Iterable[str]) -> Iterator[RenderableType]:
    """A heading and what stands under it; nothing where that is nothing."""
    told = [line for line in lines if line]
    if told:
        yield ""
        yield _indented(title, 2, HEAD)
        for line in told:
            inner = line.lstrip(" ")
            yield _indented(inner, 4 + len(line) - len(inner))


def _indented(line: str, by: int = 2, style: str = "") -> RenderableType:
    return Padding(Text(line, style), (0, 0, 0, by), expand=False)


def _labelled(rows: Iterable[tuple[str, Text]]) -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, min_width=8, style=DIM)
    grid.add_column(overflow="fold")
    for label, told in rows:
        grid.add_row(label, told)
    return grid


def _conditions(conditions: Sequence[Condition], number: int) -> Text:
    """What made a step possible: first what an earlier step has made so."""
    made = [since_in_words(c, number) for c in conditions if c.since is not None]
    always = [c.text for c in conditions if c.since is None]
    told = Text("; ".join(made))
    if always:
        told.append(("; and " if made else "") + "from the start: ", DIM)
        told.append("; ".join(always), DIM)
    return told


def ending(told: Explanation) -> str:
    """In which state it fails, and how; what it fails by may follow."""
    where = f"{told.where}{':' if told.failing else '.'}" if told.where else ""
    return told.outcome or where


def since_in_words(condition: Condition, number: int | None) -> str:
    """A condition with the step that made it so."""
    if condition.since is None:
        return condition.text if number is not None else f"{condition.text} (from the start)"
    return f"{condition.text} (step {condition.since})"


def changes_in_words(explanation: Explanation, moment: Moment) -> tuple[list[str], list[str]]:
    """What a step changed that something depends on, and for what; and what else it changed."""
    used, rest = list[str](), list[str]()
    for change in moment.step.changes:
        field = explanation.fields.by_label[change.label]
        if not moment.step.spends(change.label):
            words = f"{field.words(change.before)} -> {field.words(change.after)}"
            told, users = f"{explanation.name(field)}: {words}", moment.users.get(change.label)
            if users:
                used.append(f"{told}{users_in_words(explanation, users)}")
            else:
                rest.append(told)
    return used, rest


def users_in_words(explanation: Explanation, users: Sequence[int]) -> str:
    """For what a change is needed later: steps, and the violation or the loop by itself."""
    steps = [str(number) for number in users if number != END]
    told = [f"step{'s' if steps[1:] else ''} {', '.join(steps)}"] if steps else []
    if END in users:
        end = "the violation" if explanation.prop else "the end"
        told.append("the loop" if explanation.trace.loop is not None else end)
    return f" (for {' and '.join(told)})"


def _mistaken(belief: Belief) -> Text:
    told = f"{belief.who} believes of {belief.subject}: {belief.believed}"
    return Text(f"{told}; in truth: {belief.truth}", BAD)
