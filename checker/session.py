"""One run of a command: target after target, and every report on them that was asked for."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import define, field

from rackproof.checker import interrupts
from rackproof.checker.engines import Options
from rackproof.checker.exams import report_on
from rackproof.checker.explain.footing import of_report
from rackproof.checker.replay import Replayed, replay
from rackproof.checker.report.machine import as_data, replay_as_data
from rackproof.checker.report.progress import Ticker
from rackproof.checker.report.screen import UNSHOWN, console
from rackproof.checker.report.terminal import Terminal
from rackproof.checker.saving import Saved, save
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target, expand, load_file
from rackproof.checker.verify import Report, failure
from rackproof.scenarios.files import is_file, is_folder
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.worlds import InputError


@define
class Session:
    """What was asked for on the command line."""

    options: Options
    verbosity: int = 0
    json_file: str | None = None
    junit_file: str | None = None
    save_to: Path | None = None
    explains: bool = False
    sarif_file: str | None = None
    summary_file: str | None = None
    annotates: bool = False
    strict: bool = False
    save_as: Sequence[str] = ()
    reports: list[Report] = field(factory=list)
    troubles: list[Status] = field(factory=list)

    def verify(self, texts: Sequence[str]) -> int:
        """Verify every target, and report; an interrupt ends it with what is known by then."""
        self.check_outputs()
        if not self.annotates:
            return self._verify(texts)
        from rackproof.checker.report.ci.github import no_commands  # noqa: PLC0415

        with no_commands(self._echo):
            status = self._verify(texts)
        self._annotate()
        return status

    def _verify(self, texts: Sequence[str]) -> Status:
        targets = expand(texts, self.options.changes)
        if self.options.exams and not any(target.stack for target in targets.found):
            raise click.UsageError(f"--exam {self.options.exams[0]}: none of these is a stack")
        interrupted = False
        try:
            for target in targets.found:
                with Ticker(target.label, self.verbosity) as ticker:
                    self.reports.append(report_on(target, self.options, ticker))
        except KeyboardInterrupt:
            interrupts.let_finish()
            interrupted = True
        saved = self._save()
        footings = [of_report(report, self.options) for report in self.reports]
        terminal = self.terminal()
        terminal.verified(self.reports, len(targets.found), saved, targets.left_out, footings)
        self.troubles += [wrong.status for wrong in (*saved.failures, *terminal.failures)]
        self.write(
            self.json_file,
            lambda: as_json([as_data(*one) for one in zip(self.reports, footings, strict=True)]),
        )
        done = len(self.reports)
        self._write_for_builds(targets.found[done:])
        if interrupted:
            told = f"{done} of {len(targets.found)} targets were done"
            click.echo(f"interrupted: {told}", err=True)
            return Status.INTERRUPTED
        return self.status

    @property
    def status(self) -> Status:
        """The gravest of all that was found."""
        return worst(
            [*self.troubles, *(report.status for report in self.reports), self._strictly()]
        )

    def _write_for_builds(self, left: Sequence[Target]) -> None:
        """Write what a build system reads; left: the targets that were not done."""
        if not (self.junit_file or self.sarif_file or self.summary_file or self.annotates):
            return
        from rackproof.checker.report.ci.checks import not_done  # noqa: PLC0415
        from rackproof.checker.report.ci.junit import as_junit  # noqa: PLC0415
        from rackproof.checker.report.ci.sarif import as_sarif  # noqa: PLC0415
        from rackproof.checker.report.ci.summary import as_summary  # noqa: PLC0415

        self.reports += map(not_done, left)
        self.write(self.junit_file, lambda: as_junit(self.reports))
        self.write(self.sarif_file, lambda: as_sarif(self.reports))
        self.write_summary(lambda room: as_summary(self.reports, room))

    def write_summary(self, summary: Callable[[int], str]) -> None:
        """Write the summary to the file that was named, and to the one that GitHub names; summary:
        writes it in at most so many bytes.
        """
        from rackproof.checker.report.ci.summary import LARGEST  # noqa: PLC0415

        job = os.environ.get("GITHUB_STEP_SUMMARY")
        if self.summary_file and not (job and _same(self.summary_file, job)):
            self.write(self.summary_file, lambda: summary(LARGEST))
        if job and (self.annotates or self.summary_file):
            there = Path(job).stat().st_size if is_file(Path(job)) else 0
            self.write(job, lambda: summary(LARGEST - there), append=True)

    def _annotate(self) -> None:
        from rackproof.checker.report.ci.checks import checks  # noqa: PLC0415
        from rackproof.checker.report.ci.github import commands  # noqa: PLC0415

        for told in commands(checks(self.reports)).splitlines():
            self._echo(told)

    def _echo(self, told: str) -> None:
        """Print a line for GitHub where people read."""
        click.echo(told, file=self.terminal().out.file)

    def _strictly(self) -> Status:
        """Whether all that counts was put to the test, where that is asked for; what is wrong
        otherwise has a status of its own.
        """
        from rackproof.checker.report.plain import untested  # noqa: PLC0415

        falls_short = self.strict and any(map(untested, self.reports))
        return Status.VIOLATED if falls_short else Status.OK

    def replay(self, file: str) -> int:
        """Replay one scenario, and report."""
        self.check_outputs()
        scenario, terminal = None, self.terminal()
        try:
            scenario, run = _replayed(Path(file))
            terminal.replayed(scenario, run)
        except (Exception, SystemExit) as error:
            wrong = failure(error, scenario)
            terminal.failed(wrong)
            return wrong.status
        self.write(self.json_file, lambda: as_json([replay_as_data(scenario, run)]))
        return worst([*self.troubles, Status.VIOLATED if run.complaints else Status.OK])

    def terminal(self) -> Terminal:
        """Where people read: stdout, unless a machine reads that."""
        machine = "-" in self._files.values()
        out = console(sys.stderr if machine else sys.stdout)
        return Terminal(out, self.verbosity, self.explains)

    def check_outputs(self) -> None:
        """Refuse before a long run what could not be written after it."""
        for option, name in self._files.items():
            if name != "-" and not is_folder(Path(name).parent):
                raise click.UsageError(f"{option} {name}: there is no such folder")
        for (one, name), (other, its) in itertools.combinations(self._files.items(), 2):
            if name == its == "-":
                raise click.UsageError(f"{one} and {other} cannot both go to stdout")
            if _same(name, its):
                raise click.UsageError(f"{one} {name} and {other} {its}: are the same file")
        if (
            self.save_to is not None
            and os.path.lexists(self.save_to)
            and not is_folder(self.save_to)
        ):
            raise click.UsageError(f"--save {self.save_to}: is a file, not a folder")

    @property
    def _files(self) -> dict[str, str]:
        """The files that were named, by option."""
        named = {
            "--json": self.json_file,
            "--junit": self.junit_file,
            "--sarif": self.sarif_file,
            "--summary": self.summary_file,
        }
        return {option: name for option, name in named.items() if name is not None}

    def _save(self) -> Saved:
        try:
            return (
                Saved() if self.save_to is None else save(self.reports, self.save_to, self.save_as)
            )
        except OSError as error:
            self._cannot_write(self.save_to, error)
            return Saved()

    def _cannot_write(self, name: object, error: OSError) -> None:
        """What was found is told all the same."""
        click.echo(f"{name}: cannot be written: {(error.strerror or '').lower()}", err=True)
        self.troubles.append(Status.BAD_INPUT)

    def write(self, name: str | None, text: Callable[[], str], append: bool = False) -> None:
        """Write a text to a file or stdout (-), where one was named."""
        if name == "-":
            click.echo(text().encode(), nl=False)
        elif name is not None:
            try:
                with Path(name).open("a" if append else "w", encoding="utf-8") as file:
                    file.write(text())
            except OSError as error:
                self._cannot_write(name, error)


def _same(one: str, other: str) -> bool:
    """Whether two names are of one file; a device may be written to twice."""
    path = Path(one)
    is_device = path.exists() and not is_file(path)
    return not is_device and "-" not in (one, other) and path.resolve() == Path(other).resolve()


def _replayed(file: Path) -> tuple[Scenario, Replayed]:
    scenario = load_file(file)
    if scenario.steps is None:
        raise InputError(f"{file}: has no steps to replay; rackproof verify explores it")
    return scenario, replay(scenario)


def as_json(data: list[dict[str, Any]] | dict[str, Any]) -> str:
    """A report for a machine; escaped is what would steer a person's screen, and what has no
    encoding.
    """
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return UNSHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
