"""The command ``conform``: from the files of captures to what came of each request in them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from attrs import evolve, frozen

from rackproof.checker import interrupts
from rackproof.checker.conform.conformity import MOST_IN_FULL, MOST_RUNS, Conformity, Told
from rackproof.checker.conform.explainer import Explainer
from rackproof.checker.conform.outcome import Answer, Explained
from rackproof.checker.conform.search import Limits
from rackproof.checker.conform.sources import Source, captures_in
from rackproof.checker.conform.tally import Tally, is_plain, status_of
from rackproof.checker.explain.asked import changes as change_options
from rackproof.checker.explain.asked import duration, line
from rackproof.checker.report.conform.data import as_data, case_as_data
from rackproof.checker.report.conform.junit import as_junit
from rackproof.checker.report.conform.markdown import as_markdown
from rackproof.checker.report.conform.terminal import Terminal
from rackproof.checker.report.conform.words import lines, title
from rackproof.checker.report.progress import Ticker
from rackproof.checker.session import Session, as_json
from rackproof.checker.status import Status, worst
from rackproof.checker.verdicts import counted
from rackproof.checker.verify import failure
from rackproof.scenarios.errors import unknown
from rackproof.scenarios.worlds import InputError

OFTEN: Final = 16
"""Cases between two words on how far it is."""


def told_of(found: Explained, conformity: Conformity) -> None:
    """Count a case in, and keep what is told of it where it is not plainly accepted."""
    conformity.tally.add(found)
    is_told = found.answer is not Answer.ACCEPTED or found.broken
    if conformity.with_runs and not is_told and len(conformity.runs) < MOST_RUNS:
        conformity.runs.append(lines(found, conformity.noun, every=True))
    if is_plain(found):
        return
    conformity.not_plain += 1
    if len(conformity.in_full) < MOST_IN_FULL:
        known, noun = conformity.tally.known, conformity.noun
        status = status_of(found, known)
        text = lines(found, noun, known, every=True)
        told = Told(found.case.name, status, found.place, title(found, noun), text, {})
        data = case_as_data(found, status)
        conformity.in_full.append(evolve(told, data=data))


def conform(
    session: Session,
    paths: Sequence[str],
    source: Source,
    known: Sequence[str] = (),
    changes: bool = False,
) -> int:
    """Hold captures against what a source has, and report; the exit status."""
    return _Conform(session, source, frozenset(known), changes).tell(paths)


@frozen
class _Conform:
    """What is asked: of which source, which violations are no news, and whether changes are sought
    by which a rejected case would be explained.
    """

    session: Session
    source: Source
    known: frozenset[str] = frozenset()
    changes: bool = False

    def tell(self, paths: Sequence[str]) -> int:
        """Hold every capture against the model, and report."""
        self.session.check_outputs()
        try:
            self.source.check()
            self._check_known()
            captures = list(captures_in(map(Path, paths)))
        except (Exception, SystemExit) as error:
            return self._failed(error)
        done: list[Conformity] = []
        terminal = Terminal(self.session.terminal().out, self.session.verbosity)
        try:
            for path in captures:
                done.append(self._capture(path))
                terminal.show(done[-1])
        except KeyboardInterrupt:
            interrupts.let_finish()
            self._write(done)
            told = f"{len(done)} of {counted(len(captures), 'capture')} were done"
            click.echo(f"interrupted: {told}", err=True)
            return Status.INTERRUPTED
        self._write(done)
        terminal.summary(done)
        return worst([*self.session.troubles, *(found.status for found in done)])

    def _failed(self, error: BaseException) -> Status:
        wrong = failure(error, None)
        self.session.terminal().failed(wrong)
        return wrong.status

    def _check_known(self) -> None:
        there = self.source.properties
        for name in sorted(self.known):
            if name not in there:
                raise InputError(f"--known {name}: {unknown('property', name, there)}")

    def _write(self, done: Sequence[Conformity]) -> None:
        session = self.session
        session.write(session.json_file, lambda: as_json([as_data(found) for found in done]))
        session.write(session.junit_file, lambda: as_junit(done))
        session.write_summary(lambda room: as_markdown(done, room))

    def _capture(self, path: Path) -> Conformity:
        started, label = time.monotonic(), str(path)
        found = Conformity(label, self.source.against, self._again(label), Tally(self.known))
        found.with_runs = self.session.verbosity > 0
        found.sought = self.changes or not self.source.has_mechanisms
        with (
            Ticker(label, self.session.verbosity) as ticker,
            contextlib.redirect_stdout(sys.stderr),  # what a model prints is no report
        ):
            ticker.says("reading")
            try:
                self._explain(path, found, ticker)
            except (Exception, SystemExit) as error:
                found.failure = failure(error, None)
        found.seconds = time.monotonic() - started
        return found

    def _explain(self, path: Path, found: Conformity, ticker: Ticker) -> None:
        capture = self.source.capture(path, found.doubts.add)
        found.noun = capture.noun
        limits = evolve(Limits(), seconds=self.session.options.seconds)
        explainer = Explainer(limits)
        for case in capture.cases():
            told_of(self._with_changes(explainer.explain(case), found, limits), found)
            if found.tally.count % OFTEN == 0:
                ticker.says(counted(found.tally.count, found.noun))
        found.checked, found.unchecked = capture.checked(), capture.unchecked()
        found.stalls = capture.stalls()

    def _with_changes(self, told: Explained, found: Conformity, limits: Limits) -> Explained:
        """The same with the changes that would explain it, of the first that looks like it."""
        if not self.changes or told.answer is not Answer.REJECTED or found.tally.has_like(told):
            return told
        from rackproof.checker.conform.changing import changes_that_explain  # noqa: PLC0415

        changes, untold, tried = changes_that_explain(told.case, limits)
        return evolve(told, changes=changes, untold=untold, tried=tried)

    def _again(self, label: str) -> str:
        given = self.session.options
        options = [
            *self.source.options,
            *change_options(given.changes),
            *(("--known", name) for name in sorted(self.known)),
            ("--time-limit", "" if given.seconds is None else duration(given.seconds)),
        ]
        flags = [*self.source.flags, *(["--explain-changes"] if self.changes else [])]
        return " ".join([line("conform", label, *options), *flags])
