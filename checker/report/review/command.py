"""The command ``report``: targets verified, and all that is to be said of them written as pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from attrs import frozen

from rackproof.checker.explain import asked
from rackproof.checker.report.progress import Ticker
from rackproof.checker.report.review.folder import Folder
from rackproof.checker.report.review.found import Found
from rackproof.checker.report.review.render import Site
from rackproof.checker.report.review.study import patience, study
from rackproof.checker.report.review.violations import Explaining
from rackproof.checker.report.shell import commanded
from rackproof.checker.session import Session
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target, expand
from rackproof.checker.verdicts import counted
from rackproof.scenarios.worlds import InputError

FEW: Final = 12
"""Targets, and counterexamples, up to which all is told of each."""
LEFT_OUT: Final = (
    "What survives which fault, and what recovery costs, were not computed: there are more than "
    "{few} targets. Name fewer, or give --full."
)


@frozen
class Review:
    """What was asked for. full: all of it, however many targets there are."""

    session: Session
    folder: Path
    title: str | None = None
    full: bool = False

    def write(self, texts: Sequence[str]) -> int:
        """Verify every target and write the pages; an interrupt ends it with what is known. Where
        that is nothing, an earlier report is left as it is.
        """
        try:
            folder = Folder.at(self.folder)
        except InputError as error:
            raise click.UsageError(str(error)) from None
        targets = expand(texts, self.session.options.changes).found
        with Ticker(str(self.folder), self.session.verbosity) as ticker:
            found = self._found(targets, folder, ticker)
            done = len(found.studies)
            if found.interrupted:
                kept = "" if done else f"; {self.folder} is as it was"
                click.echo(
                    f"interrupted: {done} of {len(targets)} targets were done{kept}", err=True
                )
            if found.studies:
                self._pages(found, folder, texts, ticker)
        reports = [one.report for one in found.studies]
        self.session.terminal().summary(reports, len(targets))
        statuses = [report.status for report in reports]
        return worst([*statuses, *([Status.INTERRUPTED] if found.interrupted else [])])

    def _found(self, targets: Sequence[Target], folder: Folder, ticker: Ticker) -> Found:
        """All that there is to tell, or as much of it as an interrupt leaves."""
        full = self.full or len(targets) <= FEW
        found = Found(len(targets), () if full else (LEFT_OUT.format(few=FEW),))
        with found.until_interrupted():
            for number, target in enumerate(targets, 1):
                which = f"{number:,} of {len(targets):,}, " if targets[1:] else ""
                ticker.label = f"{which}{target.label}"
                for known in study(target, self.session.options, ticker, full=full):
                    found.studies[number - 1 :] = [known]
        deep = 0 if found.interrupted else None if self.full else FEW
        reports = [one.report for one in found.studies]
        found.explaining = Explaining.of(reports, deep, patience(self.session.options))
        ticker.label = str(self.folder)
        with found.until_interrupted():
            found.explaining.work(folder, ticker)
        return found

    def _pages(self, found: Found, folder: Folder, texts: Sequence[str], ticker: Ticker) -> None:
        of = found.of
        only = found.studies[0].report.name if len(found.studies) == of == 1 else None
        title = self.title or only or f"Review of {counted(of, 'target')}"
        command = f"rackproof report {' '.join(map(asked.named, texts))}{self._flags}"
        ticker.says("writing the pages")
        try:
            files = Site(title, found, command, folder, self.session.options).files()
            folder.write(files)
        except OSError as error:
            reason = (error.strerror or "cannot be written").lower()
            raise click.UsageError(f"--out {self.folder}: {reason}") from None
        index, more = self.folder / "index.html", len(files) - 1
        click.echo(f"{index} is written, and {counted(more, 'file')} that it leads to")

    @property
    def _flags(self) -> str:
        """The options that make the same report, those of ``verify`` first."""
        flags = "".join(f" {flag}" for flag in asked.flags(self.session.options))
        title = ["--title", self.title] if self.title else []
        full = ["--full"] if self.full else []
        return f"{flags} {commanded(*title, *full, '--out', str(self.folder))}"
