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
from rackproof.checker.report.review.render import Site
from rackproof.checker.report.review.study import Study, study
from rackproof.checker.report.shell import commanded
from rackproof.checker.session import Session
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import expand
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
        """Verify every target and write the pages; an interrupt ends it with what is known."""
        try:
            folder = Folder.at(self.folder)
        except InputError as error:
            raise click.UsageError(str(error)) from None
        targets = expand(texts, self.session.options.changes).found
        full = self.full or len(targets) <= FEW
        studies, interrupted = list[Study](), False
        try:
            for target in targets:
                with Ticker(target.label, self.session.verbosity) as ticker:
                    studies.append(study(target, self.session.options, ticker, full=full))
        except KeyboardInterrupt:
            interrupted = True
        left_out = () if full else (LEFT_OUT.format(few=FEW),)
        self._pages(folder, studies, len(targets), texts, left_out)
        reports = [one.report for one in studies]
        self.session.terminal().summary(reports, len(targets))
        return Status.INTERRUPTED if interrupted else worst(report.status for report in reports)

    def _pages(
        self,
        folder: Folder,
        studies: Sequence[Study],
        of: int,
        texts: Sequence[str],
        left_out: tuple[str, ...],
    ) -> None:
        only = studies[0].report.name if len(studies) == of == 1 else None
        title = self.title or only or f"Review of {counted(of, 'target')}"
        command = f"rackproof report {' '.join(map(asked.named, texts))}{self._flags}"
        try:
            deep = None if self.full else FEW
            options = self.session.options
            site = Site(title, studies, of, command, folder, options, left_out, deep)
            with Ticker(str(self.folder), self.session.verbosity) as ticker:
                files = site.files(ticker)
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
