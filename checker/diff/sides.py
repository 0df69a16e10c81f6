"""What the words of a command line stand for: a side for each case or exam, made when it is asked.

A scenario is compared as it was reported, or with its fix; a stack in every exam that it sits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rackproof.checker.diff.side import Side
from rackproof.checker.diff.subject import Asked, Subject
from rackproof.checker.searched import Progress
from rackproof.checker.status import Status
from rackproof.checker.targets import Target, expand
from rackproof.checker.verify import AS_REPORTED, WITH_FIX, failure
from rackproof.scenarios.exams import Exam, exams, named
from rackproof.scenarios.files import is_folder
from rackproof.scenarios.schema import Scenario
from rackproof.scenarios.stacks import check_stack, load_stack
from rackproof.scenarios.worlds import InputError

Make = Callable[[Side | None, Progress | None], Side]
"""Finds out about a side; what is known of another of the same form need not be found out again."""
Sides = Mapping[str, Make]
"""By case or exam."""


def target_of(text: str) -> Target:
    """The one target that a text stands for."""
    if text.strip() and is_folder(Path(text)):
        raise InputError(f"{text}: is a folder; give a scenario, a stack or a world")
    return expand([text]).found[0]


def sides_of(text: str, asked: Asked, exam: str | None = None, label: str | None = None) -> Sides:
    """The sides of a target: of a stack one for each exam, or for one; of anything else one."""
    target = target_of(text)
    name = label or text
    if target.stack is not None:
        return _of_stack(check_stack(target.stack), name, asked, exam)
    scenario = target.load()
    return {AS_REPORTED if scenario.fix else "": _case(scenario, name, asked, fixed=False)}


def with_fix(text: str, asked: Asked) -> tuple[Sides, Sides]:
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


def _case(scenario: Scenario, name: str, asked: Asked, *, fixed: bool) -> Make:
    case = scenario.fix if fixed and scenario.fix else scenario.case
    label = WITH_FIX if fixed else AS_REPORTED if scenario.fix else ""
    subject = Subject(name, label, case.setting, asked)

    def make(like: Side | None, progress: Progress | None) -> Side:
        """Whatever is wrong with the world is told as its author's mistake."""
        try:
            return subject.side(like, progress)
        except (Exception, SystemExit) as error:
            wrong = failure(error, scenario)
            if wrong.status is not Status.BAD_INPUT:
                raise
            raise InputError("\n".join(wrong.lines)) from error

    return make


def _of_stack(stack: str, name: str, asked: Asked, exam: str | None) -> Sides:
    if exam is not None:
        return {exam: partial(_examined, named(exam), stack, name, asked)}
    concerns = load_stack(stack).concerns
    sits = [each for each in exams() if each.concerns <= concerns]
    return {each.name: partial(_examined, each, stack, name, asked) for each in sits}


def _examined(
    exam: Exam, stack: str, name: str, asked: Asked, like: Side | None, progress: Progress | None
) -> Side:
    return Subject(name, exam.name, exam.setting(stack), asked).side(like, progress)
