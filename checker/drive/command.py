"""The command ``drive``: from a scenario to whether it is so on a live deployment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import click
from attrs import frozen

from rackproof.checker import interrupts
from rackproof.checker.drive.held import held_against_the_model
from rackproof.checker.drive.outcome import Outcome
from rackproof.checker.drive.prediction import Prediction, predicted
from rackproof.checker.drive.telling import outcome_in_words, plan_in_words
from rackproof.checker.engines import Options
from rackproof.checker.session import Session, as_json
from rackproof.checker.status import Status
from rackproof.checker.targets import load_file
from rackproof.scenarios.errors import ScenarioError
from rackproof.scenarios.exams import named
from rackproof.scenarios.live.deployment import Failed
from rackproof.scenarios.live.dynamo import Dynamo, find_python
from rackproof.scenarios.live.observed import broken
from rackproof.scenarios.live.plan import STACK, Plan, planned
from rackproof.scenarios.live.trial import carry_out
from rackproof.scenarios.schema import Case, Scenario
from rackproof.scenarios.stacks import check_stack
from rackproof.scenarios.worlds import InputError, split_target

EVERY = 1.0
"""Seconds from one request to the next, once the one of the run is over."""


@frozen
class Drive:
    """How scenarios are tried: on which Python's Dynamo, and where each is recorded.

    prop: the property that is to be violated, where a scenario has runs for several. scale: tokens
    of the deployment for one of the model. dry: only tell what would be done. exam: in which a
    stack is tried.
    """

    session: Session
    python: str | None = None
    out: Path | None = None
    prop: str | None = None
    scale: int = 10
    dry: bool = False
    exam: str | None = None

    def tell(self, scenario: str) -> int:
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

    def _told(self, target: str) -> int:
        self._check_out()
        prediction = predicted(self._load(target), self.prop, Options("search"))
        plan = self._plan(prediction)
        self._say(plan_in_words(prediction, plan))
        if self.dry:
            return Status.OK
        dynamo = Dynamo(find_python(self.python), plan.engines)
        folder = self._folder(target)
        try:
            seen = carry_out(plan, dynamo, folder, EVERY)
        except Failed as error:
            click.echo(f"{error}\nwhat there is of the run is in {folder}", err=True)
            return Status.INCONCLUSIVE
        except KeyboardInterrupt:
            interrupts.let_finish()
            click.echo(f"interrupted: what there is of the run is in {folder}", err=True)
            return Status.INTERRUPTED
        timeout = plan.settings.stream_timeout
        timeouts = {} if timeout is None else {"stream-timeout": timeout}
        held = held_against_the_model(folder, prediction.scenario.case.setting, timeouts)
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

    def _folder(self, target: str) -> Path:
        """The folder for the record; ``UsageError`` where it cannot be written."""
        if self.out is None:
            name = target.replace(":", "-") if self._is_stack(target) else Path(target).stem
            return Path(tempfile.mkdtemp(prefix=f"drive-{name}-"))
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            (self.out / "events.jsonl").touch()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise click.UsageError(f"--out {self.out}: cannot be written: {why}") from None
        return self.out.absolute()

    def _is_stack(self, target: str) -> bool:
        return target.startswith("stack:")

    def _load(self, target: str) -> Scenario:
        """A scenario file, or a stack in an exam."""
        if not self._is_stack(target):
            if split_target(target)[1] is not None:
                told = f"is a world of its own; what can be driven is stack {STACK}"
                raise InputError(f"{target}: {told}")
            if self.exam is not None:
                raise click.UsageError(f"--exam {self.exam}: is for a stack, such as stack:{STACK}")
            return load_file(Path(target))
        stack = target.removeprefix("stack:")
        check_stack(stack)
        exam = named(self.exam or "crash")
        path = Path(f"{target} in exam {exam.name}")
        return Scenario(path, exam.title, Case(exam.setting(stack)))
