"""The command ``drive``: from a scenario to whether it is so on a live deployment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import click
from attrs import frozen

from rackproof.checker.drive.held import held_against_the_model
from rackproof.checker.drive.outcome import Outcome
from rackproof.checker.drive.prediction import Prediction, predicted
from rackproof.checker.drive.telling import outcome_in_words, plan_in_words
from rackproof.checker.engines import Options
from rackproof.checker.session import Session, as_json
from rackproof.checker.status import Status
from rackproof.checker.targets import load_file
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.live.deployment import Failed
from rackproof.scenarios.live.dynamo import Dynamo, find_python
from rackproof.scenarios.live.observed import broken
from rackproof.scenarios.live.plan import Plan, planned
from rackproof.scenarios.live.trial import carry_out
from rackproof.scenarios.worlds import InputError

EVERY = 1.0
"""Seconds from one request to the next, once the one of the run is over."""


@frozen
class Drive:
    """How scenarios are tried: on which Python's Dynamo, and where each is recorded.

    prop: the property that is to be violated, where a scenario has runs for several. scale: tokens
    of the deployment for one of the model. dry: only tell what would be done.
    """

    session: Session
    python: str | None = None
    out: Path | None = None
    prop: str | None = None
    scale: int = 10
    dry: bool = False

    def tell(self, scenario: Path) -> int:
        """Try one scenario and report; the exit status."""
        self.session.check_outputs()
        try:
            return self._told(scenario)
        except ScenarioError as error:
            for problem in error.problems:
                click.echo(problem.at(error.path), err=True)
        except (InputError, Failed) as error:
            click.echo(error, err=True)
        return Status.BAD_INPUT

    def _told(self, file: Path) -> int:
        self._check_out()
        prediction = predicted(load_file(file), self.prop, Options("search"))
        plan = self._plan(prediction)
        self._say(plan_in_words(prediction, plan))
        if self.dry:
            return Status.OK
        dynamo = Dynamo(find_python(self.python), plan.engines)
        folder = self._folder(file)
        try:
            seen = carry_out(plan, dynamo, folder, EVERY)
        except Failed as error:
            click.echo(f"{error}\nwhat there is of the run is in {folder}", err=True)
            return Status.INCONCLUSIVE
        held = held_against_the_model(folder, prediction.scenario.case.setting)
        outcome = Outcome(prediction, plan, seen, broken(plan, seen), held)
        self._say(outcome_in_words(outcome))
        self.session.write(self.session.json_file, lambda: as_json(outcome.data()))
        return outcome.status

    def _say(self, lines: Iterable[str]) -> None:
        for line in lines:
            click.echo(line, err=self.session.json_file == "-")

    def _plan(self, prediction: Prediction) -> Plan:
        try:
            setting = prediction.scenario.case.setting
            return planned(setting, prediction.trace.steps, prediction.prop, self.scale)
        except InputError as error:
            raise InputError(f"{prediction.scenario.path}: {error}") from None

    def _check_out(self) -> None:
        """Refuse to write over anything."""
        out = self.out
        if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise click.UsageError(f"--out {out}: is there already, and is not overwritten")

    def _folder(self, file: Path) -> Path:
        """The folder for the record."""
        if self.out is None:
            return Path(tempfile.mkdtemp(prefix=f"drive-{file.stem}-"))
        return self.out.absolute()
