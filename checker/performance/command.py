"""The command simulate: every question of every file; what goes wrong with one loses no other."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

import click
from attrs import define, evolve, field
from rich.console import Console
from rich.text import Text

from rackproof.checker.performance import plots, tables
from rackproof.checker.performance.questions import DEFAULT, QUESTIONS, question
from rackproof.checker.performance.study import Study, cautions
from rackproof.checker.reference import nearest_target
from rackproof.checker.report.progress import Ticker
from rackproof.checker.report.screen import console
from rackproof.checker.session import Session, as_json
from rackproof.checker.status import Status, worst
from rackproof.checker.verify import Failure, failure
from rackproof.model.kernel import ModelError
from rackproof.scenarios.document import Node, read_text
from rackproof.scenarios.errors import ScenarioError, unknown
from rackproof.scenarios.files import is_folder
from rackproof.scenarios.loader import is_scenario
from rackproof.scenarios.performance.kind import is_plan
from rackproof.scenarios.performance.loader import loads
from rackproof.scenarios.performance.overrides import assignment
from rackproof.scenarios.performance.plan import Plan
from rackproof.scenarios.worlds import InputError

OF_FILE: Final = ("published", "expected")
"""Questions of figures that a file has."""
OF_RUNS: Final = frozenset({DEFAULT, *OF_FILE})
"""Questions of runs of a file as it is, for which it matters where the file is from."""


@define
class Simulation:
    """What was asked for on the command line."""

    session: Session
    questions: Sequence[str]
    plot_to: Path | None = None
    variants: Sequence[str] = ()
    changes: Sequence[Node] = ()
    seed: int | None = None
    statuses: list[Status] = field(factory=lambda: [Status.OK])
    data: list[dict[str, Any]] = field(factory=list)
    _names: dict[tuple[object, ...], Path] = field(factory=dict)

    def tell(self, files: Sequence[str]) -> int:
        """Answer, and return the exit status; an interrupt ends it with what is known by then."""
        self.session.check_outputs()
        try:
            for file in files:
                for path in self._found(file):
                    self.data.append({"file": str(path)})
                    self._file(path, self.data[-1])
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            self.statuses.append(Status.INTERRUPTED)
        self.session.write(self.session.json_file, lambda: as_json(self.data))
        return worst([*self.session.troubles, *self.statuses])

    def _found(self, file: str) -> list[Path]:
        """A file, or those of a folder that are meant for this command."""
        path = Path(file)
        if not file.strip():
            self._failed(InputError("the name of a file is empty"))
            return []
        if not is_folder(path):
            return [path]
        found = [one for one in sorted(path.rglob("*.y*ml")) if _is_meant(one)]
        if not found:
            self._failed(InputError(f"{path}: there is nothing to simulate in this folder"))
        return found

    def _file(self, path: Path, data: dict[str, Any]) -> None:
        """Answer what is asked of a file; data: what JSON will say of it."""
        try:
            plan = chosen(read(path, self.changes, self.seed, self.variants), self.variants)
        except Exception as error:
            data["errors"] = self._failed(error)
            return
        asked = self._asked(plan)
        left = [section for section in plan.sections if section not in asked]
        notes = list(plan.left)
        notes += [f"{key}: nothing of it is in these figures; --ask {key}" for key in left]
        data.update(name=plan.name, notes=notes, answers=[])
        self._head(plan, notes, whole=not OF_RUNS.isdisjoint(asked))
        study = Study(plan)
        for name in asked:
            data["answers"].append({"question": name})
            try:
                self._ask(study, name, data["answers"][-1])
            except Exception as error:
                data["answers"][-1]["errors"] = self._failed(error, f"{path}: {name}: ")

    def _head(self, plan: Plan, notes: Sequence[str], whole: bool) -> None:
        """What a file is, and where it is from: that with its run, not with each question again."""
        self.out.print(Text(plan.name, "bold underline"))
        source = plan.source if whole else ""
        self.out.print(Text(" ".join(filter(None, (str(plan.path), source))), "dim"))
        for note in (*([" ".join(plan.notes.split())] if whole and plan.notes else []), *notes):
            self.out.print(Text(note, "dim"))

    def _asked(self, plan: Plan) -> Sequence[str]:
        """The questions of the command line; else the run, and figures that the file has of it."""
        known = dict(zip(OF_FILE, (plan.published, plan.expected), strict=True))
        return self.questions or (DEFAULT, *(name for name, there in known.items() if there))

    def _ask(self, study: Study, name: str, data: dict[str, Any]) -> None:
        with Ticker(f"{study.plan.path}: {name}", self.session.verbosity) as ticker:
            study.progress = ticker.says
            answer = question(name)(study)
        answer = evolve(answer, notes=(*answer.notes, *cautions(study.plan.variants)))
        data.update(answer.data())
        tables.show(answer, self.out)
        if answer.shortfalls:
            self.statuses.append(Status.VIOLATED)
        if self.plot_to is not None:
            for number, plot in enumerate(answer.plots):
                words = map(plots.slug, (self._stem(study.plan.path), name, plot.name))
                wanted = self.plot_to / f"{'-'.join(words)}.svg"
                path = self._own(wanted, study.plan.path, name, number)
                plots.draw(plot, path)
                self.out.print(Text(f"  {path}", "dim"))

    def _stem(self, path: Path) -> str:
        """What plots of a file are called: its name, with a number where another has it too."""
        return self._own(Path(plots.slug(path.stem)), path).name

    def _own(self, wanted: Path, *what: object) -> Path:
        """The name that is wanted for something, with a number where others have it already."""
        if what not in self._names:
            numbered = (wanted.with_stem(f"{wanted.stem}-{number}") for number in count(2))
            taken = set(self._names.values())
            self._names[what] = next(one for one in chain([wanted], numbered) if one not in taken)
        return self._names[what]

    def _failed(self, error: Exception, before: str = "") -> list[str]:
        """Tell what is wrong with a file or a question, for the others go on; the messages."""
        wrong = failure(error, None)
        if isinstance(error, ModelError):
            wrong = Failure((f"{before}{error}",), Status.BAD_INPUT)
        self.session.terminal().failed(wrong)
        self.statuses.append(wrong.status)
        return list(wrong.lines)

    @property
    def out(self) -> Console:
        """Where people read: stdout, unless a machine reads that."""
        return console(sys.stderr if self.session.json_file == "-" else sys.stdout)


def simulation(
    session: Session,
    asked: Sequence[str],
    variants: Sequence[str],
    settings: Sequence[str],
    plot_to: Path | None,
    seed: int | None,
) -> Simulation:
    """What the command line asks; ``UsageError`` where it asks for what there is not."""
    for name in asked:
        if name not in QUESTIONS:
            raise click.UsageError(unknown("question", name, QUESTIONS))
    try:
        changes = [assignment(text) for text in settings]
        if plot_to is not None:
            plots.check(plot_to)
    except InputError as error:
        raise click.UsageError(str(error)) from None
    return Simulation(session, tuple(dict.fromkeys(asked)), plot_to, variants, changes, seed)


def read(path: Path, changes: Sequence[Node], seed: int | None, only: Sequence[str]) -> Plan:
    """Read a file; where there is none, or one for another command, the message says what to do."""
    if not os.path.lexists(path) and (near := nearest_target(str(path))):
        raise InputError(f"{path}: there is no such file{near}")
    text = read_text(path)
    if is_scenario(text) and not is_plan(text):
        raise InputError(f"{path}: has no deployment with a workload: rackproof verify {path}")
    return loads(text, path, changes, seed, only)


def _is_meant(path: Path) -> bool:
    """Whether a file of a folder is for this command; one that cannot be read is, and is told."""
    try:
        return is_plan(read_text(path))
    except ScenarioError:
        return True


def chosen(plan: Plan, names: Sequence[str]) -> Plan:
    """A plan with only some of its variants, in its order; ``InputError`` for one it has not."""
    known = [variant.name for variant in plan.variants]
    for name in names:
        if name not in known:
            raise InputError(f"{plan.path}: {unknown('variant', name, known)}")
    if not names:
        return plan
    variants = tuple(variant for variant in plan.variants if variant.name in names)
    return evolve(
        plan,
        variants=variants,
        published=tuple(figure for figure in plan.published if figure.variant in names),
        expected=tuple(bound for bound in plan.expected if bound.variant in ("", *names)),
    )
