"""Commands that ask one thing of every target: load it, find out, report, write JSON."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Protocol, TypeVar

from rackproof.checker.compare import compare
from rackproof.checker.explain.explanation import Footing
from rackproof.checker.explain.footing import as_data
from rackproof.checker.lowering import lower
from rackproof.checker.report.progress import Ticker
from rackproof.checker.searched import Progress
from rackproof.checker.session import Session, as_json
from rackproof.checker.status import Status, worst
from rackproof.checker.targets import Target, expand
from rackproof.checker.verify import failure
from rackproof.scenarios.changes import as_map, check_known
from rackproof.scenarios.errors import unknown
from rackproof.scenarios.schema import Scenario, Setting
from rackproof.scenarios.worlds import InputError

DEFAULT_EXAM: Final = "crash"
"""A request to two workers, the scope in which a stack is asked about."""


class Told(Protocol):
    """A report on one target."""

    @property
    def is_conclusive(self) -> bool:
        """Whether nothing was left open."""

    def data(self) -> dict[str, Any]:
        """Plain lists, maps, texts and numbers."""


R = TypeVar("R", bound=Told)
Ask = Callable[[Target, Scenario, Progress], R]


def ask(
    texts: Sequence[str],
    session: Session,
    find: Ask[R],
    show: Callable[[R], None],
    footing: Callable[[R], Footing],
) -> tuple[Status, list[R]]:
    """Find out about every target and show it, with what it says of itself; the exit status, and
    the reports.
    """
    session.check_outputs()
    reports: list[R] = []
    statuses = [Status.OK]
    for target in expand(texts, session.options.changes).found:
        scenario: Scenario | None = None
        try:
            scenario = target.load()
            with (
                Ticker(target.label, session.verbosity) as ticker,
                contextlib.redirect_stdout(sys.stderr),  # what a model prints is no report
            ):
                report = find(target, scenario, ticker)
        except (Exception, SystemExit) as error:
            wrong = failure(error, scenario)
            session.terminal().failed(wrong)
            statuses.append(wrong.status)
        else:
            reports.append(report)
            show(report)
            session.terminal().footing(footing(report))
            statuses.append(Status.OK if report.is_conclusive else Status.INCONCLUSIVE)

    def told(report: R) -> dict[str, Any]:
        return {**report.data(), **as_data(footing(report))}

    session.write(session.json_file, lambda: as_json([told(report) for report in reports]))
    return worst([*session.troubles, *statuses]), reports


def setting_of(
    target: Target, scenario: Scenario, exam: str | None, properties: Collection[str]
) -> Setting:
    """The world that is asked about: of a scenario as it was reported, of a stack in an exam.

    A world of a user's own is compared with its lowered form first. ``InputError`` names a
    property or an exam that there is not.
    """
    setting = scenario.case.setting
    if target.stack is not None:
        from rackproof.scenarios.exams import named  # noqa: PLC0415

        check_known(target.stack, target.changes)
        setting = named(exam or DEFAULT_EXAM).setting(target.stack, as_map(target.changes))
    check("property", properties, {prop.name for prop in setting.system.properties})
    if setting.file is not None:
        compare(lower(setting.system))
    return setting


def check(what: str, names: Collection[str], known: Collection[str]) -> None:
    """Raise ``InputError`` for a name that is not known."""
    for name in names:
        if name not in known:
            raise InputError(unknown(what, name, known))
