"""One run of a command: target after target, and every report on them that was asked for."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from attrs import define, field

from rackproof.checker.engines import Options
from rackproof.checker.exams import report_on
from rackproof.checker.replay import Replayed, replay
from rackproof.checker.report.machine import as_data, replay_as_data
from rackproof.checker.report.progress import Ticker
from rackproof.checker.report.screen import console
from rackproof.checker.report.terminal import Terminal
from rackproof.checker.saving import Saved, save
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import expand, load_file
from rackproof.checker.verify import Report, failure
from rackproof.scenarios.files import is_folder
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.worlds import InputError

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@define
class Session:
    """What was asked for on the command line."""

    options: Options
    verbosity: int = 0
    json_file: str | None = None
    junit_file: str | None = None
    save_to: Path | None = None
    explains: bool = False
    reports: list[Report] = field(factory=list)
    troubles: list[Status] = field(factory=list)

    def verify(self, texts: Sequence[str]) -> int:
        """Verify every target, and report; an interrupt ends it with what is known by then."""
        self.check_outputs()
        targets = expand(texts)
        interrupted = False
        try:
            for target in targets.found:
                with Ticker(target.label, self.verbosity) as ticker:
                    self.reports.append(report_on(target, self.options, ticker))
        except KeyboardInterrupt:
            interrupted = True
        saved = self._save()
        self.terminal().verified(self.reports, len(targets.found), saved, targets.left_out)
        self.write(self.json_file, lambda: as_json([as_data(report) for report in self.reports]))
        self.write(self.junit_file, self._junit)
        if interrupted:
            done = f"{len(self.reports)} of {len(targets.found)} targets were done"
            click.echo(f"interrupted: {done}", err=True)
            return Status.INTERRUPTED
        return worst([*self.troubles, *(report.status for report in self.reports)])

    def replay(self, file: str) -> int:
        """Replay one scenario, and report."""
        self.check_outputs()
        try:
            scenario, run = _replayed(Path(file))
        except Exception as error:
            wrong = failure(error, None)
            self.terminal().failed(wrong)
            return wrong.status
        self.terminal().replayed(scenario, run)
        self.write(self.json_file, lambda: as_json([replay_as_data(scenario, run)]))
        return worst([*self.troubles, Status.VIOLATED if run.complaints else Status.OK])

    def terminal(self) -> Terminal:
        """Where people read: stdout, unless a machine reads that."""
        machine = "-" in (self.json_file, self.junit_file)
        out = console(sys.stderr if machine else sys.stdout)
        return Terminal(out, self.verbosity, self.explains)

    def check_outputs(self) -> None:
        """Refuse before a long run what could not be written after it."""
        if self.json_file == self.junit_file == "-":
            raise click.UsageError("--json and --junit cannot both go to stdout")
        for option, name in (("--json", self.json_file), ("--junit", self.junit_file)):
            if name is not None and name != "-" and not is_folder(Path(name).parent):
                raise click.UsageError(f"{option} {name}: there is no such folder")
        if (
            self.save_to is not None
            and os.path.lexists(self.save_to)
            and not is_folder(self.save_to)
        ):
            raise click.UsageError(f"--save {self.save_to}: is a file, not a folder")

    def _save(self) -> Saved:
        try:
            return Saved() if self.save_to is None else save(self.reports, self.save_to)
        except OSError as error:
            self._cannot_write(self.save_to, error)
            return Saved()

    def _cannot_write(self, name: object, error: OSError) -> None:
        """What was found is told all the same."""
        click.echo(f"{name}: cannot be written: {(error.strerror or '').lower()}", err=True)
        self.troubles.append(Status.BAD_INPUT)

    def write(self, name: str | None, text: Callable[[], str]) -> None:
        """Write a text to a file or stdout (-), where one was named."""
        if name == "-":
            sys.stdout.write(text())
        elif name is not None:
            try:
                Path(name).write_text(text(), encoding="utf-8")
            except OSError as error:
                self._cannot_write(name, error)

    def _junit(self) -> str:
        from rackproof.checker.report.junit import as_junit  # noqa: PLC0415

        return as_junit(self.reports)


def _replayed(file: Path) -> tuple[Scenario, Replayed]:
    scenario = load_file(file)
    if scenario.steps is None:
        raise InputError(f"{file}: has no steps to replay; rackproof verify explores it")
    return scenario, replay(scenario)


def as_json(data: list[dict[str, Any]] | dict[str, Any]) -> str:
    """A report for a machine; a lone surrogate, which has no encoding, is escaped."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return _SURROGATE.sub(lambda found: ascii(found[0])[1:-1], text)
