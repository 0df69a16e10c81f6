"""What the words of a command line stand for: a side for each case or exam, made when it is asked.

A scenario is compared as it was reported, or with its fix; a stack in every exam that it sits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from attrs import frozen

from rackproof.checker.diff.side import Side
from rackproof.checker.diff.subject import Asked, Subject, in_words_of
from rackproof.checker.searched import Progress
from rackproof.checker.targets import Target, expand
from rackproof.checker.verify import AS_REPORTED, WITH_FIX, mistake
from rackproof.scenarios.changes import Change, as_map, check_known
from rackproof.scenarios.exams import Exam, exams, named
from rackproof.scenarios.files import is_folder
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.stacks import check_stack, load_stack
from rackproof.scenarios.worlds import InputError

Make = Callable[[Side | None, Progress | None], Side]
"""Finds out about a side; what is known of another of the same form need not be found out again."""
Sides = Mapping[str, Make]
"""By case or exam."""


@frozen(slots=False)
class World:
    """A case or an exam of a target, built when it is asked about."""

    find: Callable[[], Subject]
    scenario: Scenario | None = None

    def __call__(self, like: Side | None, progress: Progress | None) -> Side:
        """Find out about it; whatever is wrong with the world is told as its author's mistake."""
        try:
            return self.find().side(like, progress)
        except (Exception, SystemExit) as error:
            raise InputError("\n".join(mistake(error, self.scenario).lines)) from error

    def tell(self, runs: Sequence[Sequence[str]]) -> list[list[str]]:
        """What the steps of runs of it come to."""
        return in_words_of(self.find().system, runs)


Worlds = Mapping[str, World]


def target_of(text: str) -> Target:
    """The one target that a text stands for."""
    if text.strip() and is_folder(Path(text)):
        raise InputError(f"{text}: is a folder; give a scenario, a stack or a world")
    return expand([text]).found[0]


def sides_of(
    text: str,
    asked: Asked,
    exam: str | None = None,
    label: str | None = None,
    changes: Sequence[Change] = (),
) -> Worlds:
    """The sides of a target: of a stack one for each exam, or for one; of anything else one.

    changes: mechanisms that are set otherwise than it is written.
    """
    target = target_of(text).with_changes(changes)
    name = label or text
    if target.stack is not None:
        return _of_stack(target, name, asked, exam)
    scenario = target.load()
    return {AS_REPORTED if scenario.fix else "": _case(scenario, name, asked, fixed=False)}


def with_fix(text: str, asked: Asked) -> tuple[Worlds, Worlds]:
    """A scenario as it was reported, and with its fix."""
    target = target_of(text)
    if target.stack is not None or target.file is None:
        raise InputError(f"{text}: has no fix to be compared with; give two targets")
    scenario = target.load()
    if scenario.fix is None:
        raise InputError(f"{text}: has no fix: to be compared with; give two targets")
    return (
        {AS_REPORTED: _case(scenario, text, asked, fixed=False)},
        {WITH_FIX: _case(scenario, text, asked, fixed=True)},
    )


def _case(scenario: Scenario, name: str, asked: Asked, *, fixed: bool) -> World:
    case = scenario.fix if fixed and scenario.fix else scenario.case
    label = WITH_FIX if fixed else AS_REPORTED if scenario.fix else ""
    subject = Subject(name, label, case.setting, asked)
    return World(lambda: subject, scenario)


def _of_stack(target: Target, name: str, asked: Asked, exam: str | None) -> Worlds:
    assert target.stack is not None, "it is a stack"
    stack, changes = check_stack(target.stack), target.changes
    check_known(stack, changes)
    concerns = load_stack(stack).concerns
    sits = [named(exam)] if exam else [each for each in exams() if each.concerns <= concerns]

    def subject(each: Exam) -> Subject:
        return Subject(name, each.name, each.setting(stack, as_map(changes)), asked)

    return {each.name: World(partial(subject, each)) for each in sits}
