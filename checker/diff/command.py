"""The command ``diff``: from two targets to what differs, and what became better or worse."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import attrs
import click
from attrs import frozen
from rich.console import Console

from rackproof.checker.asking import check
from rackproof.checker.diff.comparison import Comparison, Difference, worsened
from rackproof.checker.diff.gained import Both
from rackproof.checker.diff.revisions import Looking, Repository, Revision, as_revision, looked_at
from rackproof.checker.diff.side import Side
from rackproof.checker.diff.sides import Make, Sides, sides_of, target_of, with_fix
from rackproof.checker.diff.subject import MOST_STATES, Asked
from rackproof.checker.explain import asked
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.report.difference.data import as_data
from rackproof.checker.report.difference.markdown import as_markdown
from rackproof.checker.report.difference.sections import outcome
from rackproof.checker.report.difference.terminal import show
from rackproof.checker.report.progress import Ticker
from rackproof.checker.report.screen import console
from rackproof.checker.report.shell import argument
from rackproof.checker.search import Snapshot
from rackproof.checker.searched import Progress
from rackproof.checker.session import Session, as_json
from rackproof.checker.status import Status, worst
from rackproof.checker.verdicts import counted
from rackproof.checker.verify import failure
from rackproof.scenarios.changes import Change
from rackproof.scenarios.changes import told as in_words
from rackproof.scenarios.quantities import in_words as duration_in_words
from rackproof.scenarios.worlds import InputError

STATES_AN_EXAM: Final = 2_000
"""States of which all moves are followed, where stacks are compared in every exam."""


@frozen
class Changed:
    """A target with mechanisms set otherwise than it is written."""

    target: str
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        return f"{self.target}{in_words(self.changes)}"


Word = str | Revision | Changed


@frozen
class Diff:
    """What is asked: in which exam of a stack, of which properties (all, if none), whether costs
    are compared (None: where one scope is), and whether a scenario is compared with its own fix.
    """

    session: Session
    exam: str | None = None
    properties: Sequence[str] = ()
    costs: bool | None = None
    fixed: bool = False

    def tell(self, texts: Sequence[str], commits: Sequence[str], markdown: str | None) -> int:
        """Compare, and report; in Markdown too where a file is named."""
        if markdown == self.session.json_file == "-":
            raise click.UsageError("--json and --markdown cannot both go to stdout")
        self.session.check_outputs()
        words = _words(texts, commits, self.session.options.changes, fixed=self.fixed)
        label = " and ".join(map(str, words))
        try:
            with (
                Ticker(label, self.session.verbosity) as ticker,
                contextlib.redirect_stdout(sys.stderr),  # what a model prints is no report
            ):
                found = self._difference(words, ticker)
        except (Exception, SystemExit) as error:
            wrong = failure(error, None)
            self.session.terminal().failed(wrong)
            return wrong.status
        verbosity = self.session.verbosity
        show(found, self._console(markdown), verbosity)
        self.session.write(markdown, lambda: as_markdown(found, verbosity))
        self.session.write(self.session.json_file, lambda: as_json([as_data(found)]))
        if found.is_cut:
            done = f"{len(found.comparisons)} of {counted(found.of, 'exam')} were compared"
            click.echo(f"interrupted: {done}", err=True)
            return Status.INTERRUPTED
        return worst([*self.session.troubles, found.status])

    def _console(self, markdown: str | None) -> Console:
        """Where people read: stdout, unless that is for Markdown or JSON."""
        return console(sys.stderr) if markdown == "-" else self.session.terminal().out

    def _difference(self, words: Sequence[Word], ticker: Ticker) -> Difference:
        names = [str(word) for word in words]
        if len(words) == 2 and _is_same(*words):
            self._check_same(words[0])
            footing = self._footing(words, (), Both())
            return Difference(names[0], names[-1], (), footing, is_same=True)
        with ExitStack() as stack:
            mine, theirs = self._sides(words, stack)
            pairs, alone = _paired(mine, theirs)
            comparisons = tuple(self._one_by_one(pairs, ticker))
        _check_common(names, comparisons)
        self._check_properties(comparisons)
        left = tuple(pairs)[len(comparisons) :]
        footing = self._footing(words, comparisons, alone, left)
        return Difference(names[0], names[-1], comparisons, footing, alone, of=len(pairs))

    def _one_by_one(
        self, pairs: Mapping[str, tuple[Make, Make]], ticker: Ticker
    ) -> Iterator[Comparison]:
        """The comparisons, exam by exam; where one has been made, an interrupt ends them."""
        found, started = None, time.monotonic()
        for number, (case, pair) in enumerate(pairs.items(), 1):
            try:
                with _stoppable():
                    found = self._compared(*pair, _Told(ticker, case, number, len(pairs)))
            except KeyboardInterrupt:
                if found is None:
                    raise
                return
            if len(pairs) > 1 and self.session.verbosity >= 0:
                spent = duration_in_words(time.monotonic() - started)
                click.echo(
                    f"{number} of {len(pairs)}, {case}: {outcome(found)} (after {spent})", err=True
                )
            yield found

    def _check_same(self, word: Word) -> None:
        """Refuse what is on both sides, if it is no target."""
        assert not isinstance(word, Changed), "what it is changed from is on the other side"
        if isinstance(word, Revision):
            repository = Repository(Path.cwd())
            repository.place(repository.commit(word.name), word)
        else:
            target_of(word).load()

    def _check_exam(self, words: Sequence[Word]) -> None:
        """Refuse an exam where there is no stack, and a stack in every exam beside what is none."""
        stacks = _stacks(words)
        if self.exam is not None and not stacks:
            raise InputError(f"--exam {self.exam}: is for stacks, and {words[0]} is none")
        if self.exam is None and 0 < len(stacks) < len(words):
            raise InputError(
                f"{stacks[0]} sits many exams, and the other is one world: give --exam"
            )

    def _sides(self, words: Sequence[Word], stack: ExitStack) -> tuple[Sides, Sides]:
        """Both sides; commits are looked at by processes that run beside one another."""
        wanted = self._asked(words)
        self._check_exam(words)
        if len(words) == 1:
            assert isinstance(words[0], str), "a commit is compared with another"
            return with_fix(words[0], wanted)
        looking = [
            stack.enter_context(looked_at(word, wanted, self.exam))
            if isinstance(word, Revision)
            else word
            for word in words
        ]
        mine, theirs = (self._sides_of(item, wanted) for item in looking)
        return mine, theirs

    def _sides_of(self, item: Looking | str | Changed, wanted: Asked) -> Sides:
        if isinstance(item, Looking):
            return _known(item)
        if isinstance(item, Changed):
            return sides_of(item.target, wanted, self.exam, str(item), item.changes)
        return sides_of(item, wanted, self.exam)

    def _asked(self, words: Sequence[Word]) -> Asked:
        options = self.session.options
        is_one = self.exam is not None or not _stacks(words)
        costs = is_one if self.costs is None else self.costs
        states = MOST_STATES if is_one else STATES_AN_EXAM
        return Asked(options.seconds, options.memory, options.workers, costs, states)

    def _compared(self, mine: Make, theirs: Make, progress: Progress) -> Comparison:
        first = mine(None, progress)
        comparison = Comparison(first, theirs(first, progress))
        comparison = attrs.evolve(
            comparison, mine=self._only(comparison.mine), theirs=self._only(comparison.theirs)
        )
        _ = comparison.gained  # which takes a while, and is to be seen as progress
        return comparison

    def _only(self, side: Side) -> Side:
        """A side with the properties that are asked about."""
        if not self.properties:
            return side
        wanted = {name: j for name, j in side.properties.items() if name in self.properties}
        unknown = tuple(name for name in side.properties if name not in wanted)
        return attrs.evolve(side, properties=wanted, others=unknown)

    def _check_properties(self, comparisons: Sequence[Comparison]) -> None:
        sides = [side for c in comparisons for side in (c.mine, c.theirs)]
        known = {name for side in sides for name in (*side.properties, *side.others)}
        check("property", self.properties, known)

    def _footing(
        self,
        words: Sequence[Word],
        comparisons: Sequence[Comparison],
        alone: Both,
        left: Sequence[str] = (),
    ) -> Footing:
        """left: the exams that an interrupt left out."""
        targets = [asked.named(str(word)) for word in words if not isinstance(word, Changed)]
        unseen = [f"exams left out by an interrupt: {', '.join(left)}"] if left else []
        unseen += _not_checked(comparisons, alone)
        return Footing(
            reproduce=" ".join(["rackproof diff", *targets, *map(argument, self._options)]),
            not_checked=tuple(dict.fromkeys(unseen)),
            next_moves=tuple(_next_moves(words[-1], comparisons, self.exam)),
        )

    @property
    def _options(self) -> Iterator[str]:
        """The options that what is found depends on."""
        yield from (["--with-fix"] if self.fixed else [])
        for change in self.session.options.changes:
            yield from ("--set", str(change))
        yield from (["--exam", self.exam] if self.exam else [])
        for name in self.properties:
            yield from ("--property", name)
        if self.costs is not None:
            yield "--costs" if self.costs else "--no-costs"
        if self.session.options.seconds is not None:
            yield from ("--time-limit", asked.duration(self.session.options.seconds))
        if self.session.options.memory is not None:
            yield from ("--memory", f"{self.session.options.memory}B")


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Where a request to end, such as of ``timeout``, is taken as an interrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@frozen
class _Told:
    """Progress, with the exam it is of."""

    ticker: Ticker
    case: str
    number: int
    of: int

    def __call__(self, seen: Snapshot) -> None:
        """Renew the line."""
        if self.of > 1:
            doing = seen.doing or f"{seen.states:,} states"
            seen = attrs.evolve(seen, doing=f"{self.case} ({self.number} of {self.of}): {doing}")
        self.ticker(seen)


def _words(
    texts: Sequence[str], commits: Sequence[str], changes: tuple[Change, ...], *, fixed: bool
) -> list[Word]:
    """What is compared: two targets, each perhaps in a commit; a scenario with its fix; or a target
    as it is written with what it is where mechanisms are set.
    """
    if len(texts) > 2:
        raise click.UsageError(f"two targets are compared, not {len(texts)}")
    if changes:
        return _with_changes(texts, changes, others=bool(commits) or fixed)
    if commits:
        if fixed:
            raise click.UsageError("--git compares commits, not a scenario with its fix")
        return [Revision(c, t) for c, t in zip(commits, [texts[0], texts[-1]], strict=True)]
    if fixed and len(texts) == 2:
        raise click.UsageError("--with-fix takes one scenario, which is compared with its fix")
    words: list[Word] = [as_revision(text) or text for text in texts]
    if len(words) == 1 and isinstance(words[0], Revision):
        raise click.UsageError(f"{words[0]}: with what is it to be compared?")
    return words


def _with_changes(texts: Sequence[str], changes: tuple[Change, ...], *, others: bool) -> list[Word]:
    """A target, and the same with mechanisms set."""
    option = f"--set {changes[0]}"
    if others:
        raise click.UsageError(f"{option}: cannot go with --git or --with-fix")
    if len(texts) == 2:
        raise click.UsageError(f"{option}: compares one target with itself; leave one out")
    if as_revision(texts[0]) is not None:
        raise click.UsageError(f"{option}: is not for targets of a commit")
    return [texts[0], Changed(texts[0], changes)]


def _is_same(one: Word, other: Word) -> bool:
    if isinstance(one, Revision) and isinstance(other, Revision):
        repository = Repository(Path.cwd())
        commits = [repository.commit(word.name) for word in (one, other)]
        return commits[0] == commits[1] and one.target == other.target
    return one == other


def _stacks(words: Sequence[Word]) -> list[str]:
    """Those that are stacks."""
    targets = [word if isinstance(word, str) else word.target for word in words]
    return [target for target in targets if target.startswith("stack:")]


def _known(looking: Looking) -> Sides:
    """The sides that another process has looked at."""

    def make(side: Side) -> Make:
        return lambda _like, _progress: side

    return {case: make(side) for case, side in looking.sides().items()}


def _paired(mine: Sides, theirs: Sides) -> tuple[dict[str, tuple[Make, Make]], Both]:
    """What is compared with what: exam by exam, or the one that each has; and what is left."""
    if len(mine) == len(theirs) == 1:
        return {"": (next(iter(mine.values())), next(iter(theirs.values())))}, Both()
    common = [case for case in mine if case in theirs]
    if not common:
        raise InputError("there is no exam that both sit")
    alone = Both(
        tuple(case for case in mine if case not in theirs),
        tuple(case for case in theirs if case not in mine),
    )
    return {case: (mine[case], theirs[case]) for case in common}, alone


def _check_common(names: Sequence[str], comparisons: Sequence[Comparison]) -> None:
    if comparisons and not any(c.has_something_in_common for c in comparisons):
        raise InputError(
            f"{names[0]} and {names[-1]} have nothing in common: no field and no property has the "
            "same name in both"
        )


def _not_checked(comparisons: Sequence[Comparison], alone: Both) -> Iterator[str]:
    """What was not compared, and why."""
    several = len(comparisons) > 1
    for letter, exams in (("A", alone.mine), ("B", alone.theirs)):
        if exams:
            yield f"exams that only {letter} sits: {', '.join(exams)}"
    for comparison in comparisons:
        where = f"{comparison.case}: " if several else ""
        yield from (f"{where}{told}" for told in _gaps(comparison))
    if comparisons:
        yield "runs without end are compared by the verdicts on them alone"


def _gaps(comparison: Comparison) -> Iterator[str]:
    """What was not compared in one scope."""
    if scopes := comparison.scopes:
        told = ", ".join(f"{c.key}: {c.mine} -> {c.theirs}" for c in scopes)
        yield f"the scopes differ ({told}): counts of states, faults and steps are of two scopes"
    yield from dict.fromkeys((*comparison.mine.notes, *comparison.theirs.notes))
    found = comparison.gained
    for letter, reason in zip("AB", found.reasons if found else (), strict=False):
        if reason:
            yield f"states of {letter} beyond {reason}"
    if found is not None and found.states is None and found.is_whole:
        yield "state by state, as the two do not have the same fields"
    if found is not None and found.parting.left_out:
        steps = found.parting.left_out
        yield f"runs with steps of what only one has, such as {steps[0]}"
    if found is not None and found.parting.reason:
        yield f"runs of more than {counted(found.parting.depth, 'step')}: {found.parting.reason}"
    yield from _uncosted(comparison)


def _uncosted(comparison: Comparison) -> Iterator[str]:
    sides = (("A", comparison.mine.costs), ("B", comparison.theirs.costs))
    for letter, costs in sides:
        if costs is not None and costs.reason:
            yield f"costs of {letter} beyond {costs.reason}: those told are of what was seen"
    for letter, side in (("A", comparison.mine), ("B", comparison.theirs)):
        if side.behaviour is not None and not side.written.get("times"):
            yield f"costs: {letter} does not say how long things take"
            return
    if any(costs is None for _, costs in sides):
        yield "costs: they are with --costs"


def _next_moves(word: Word, comparisons: Sequence[Comparison], exam: str | None) -> Iterator[str]:
    """What to do about what got worse, or is not known; word: what the second side is."""
    worse = list(worsened(comparisons))
    if worse:
        comparison, _ = worse[0]
        case = exam or (comparison.case if len(comparisons) > 1 else None)
        yield _verify(word, case)
    if any(each.is_open for c in comparisons for each in c.verdicts):
        yield "give it longer with --time-limit, for what is inconclusive"
    if not worse and any(c.differs for c in comparisons):
        yield "-v shows every run that one of them alone can take"


def _verify(word: Word, exam: str | None) -> str:
    """How to look more closely at what is violated in a target, perhaps of a commit."""
    target = word if isinstance(word, str) else word.target
    changes = asked.changes(word.changes) if isinstance(word, Changed) else []
    told = asked.line("verify", target, ("--exam", exam or ""), *changes)
    why = f"in {word.name}" if isinstance(word, Revision) else "tells why, and what mends it"
    return f"{told} --explain  # {why}"
