"""What GitHub Actions reads from the output of a step: errors, each at a line of a file.

GitHub takes every line that begins with two colons for a command, whoever wrote it; so while the
report for people is printed, it is told to take none.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from attrs import frozen

from rackproof.checker.report.ci.checks import Check, Spot
from rackproof.checker.report.escaping import line
from rackproof.checker.report.screen import shown
from rackproof.checker.verdicts import counted

MOST: Final = 10
"""Errors of a step that GitHub shows; it drops the others without a word."""
LONGEST: Final = 4_000
"""Characters of a message; GitHub shows 4,096."""
NAMES: Final = 3
"""Names in a title."""


_BY_GRAVITY: Final = ("our-fault", "bad-input", "wrong", "inconclusive", "interrupted", "vacuous")


@frozen
class _Error:
    """What is wrong in the same way at the same place, perhaps with several properties."""

    title: str
    spot: Spot | None
    lines: Sequence[str]


def commands(found: Sequence[Check]) -> str:
    """A command for each thing that is wrong, the gravest first; where there are too many, the last
    says which others there are.
    """
    wrong = sorted((check for check in found if check.wrong is not None), key=_gravity)
    errors = [*_errors(wrong)]
    if errors[MOST:]:
        errors[MOST - 1 :] = [_others(errors[MOST - 1 :])]
    return "".join(map(_command, errors))


@contextlib.contextmanager
def no_commands(echo: Callable[[str], None]) -> Iterator[None]:
    """Let GitHub take nothing that is printed for a command; echo: prints a line."""
    token = secrets.token_hex(16)
    echo(f"::stop-commands::{token}")
    try:
        yield
    finally:
        echo(f"::{token}::")


def _gravity(check: Check) -> int:
    """What is known to be wrong comes before what is not known, and that before what is idle."""
    return _BY_GRAVITY.index(check.kind if check.is_open else "wrong")


def _errors(wrong: Sequence[Check]) -> Iterator[_Error]:
    groups: dict[tuple[object, ...], list[Check]] = {}
    for check in wrong:
        key = (_gravity(check), check.report.target, check.spot, check.label, check.wrong)
        groups.setdefault(key, []).append(check)
    for those in groups.values():
        names = [check.name for check in those]
        more = f" and {len(names) - NAMES} more" if names[NAMES:] else ""
        where = line(those[0].report.target)
        title = f"{line(', '.join(names[:NAMES]))}{more} in {where}"
        whole = f"{where}: {', '.join(check.title for check in those)}: {those[0].wrong}"
        yield _Error(title, those[0].spot, [whole, *those[0].details])


def _others(errors: Sequence[_Error]) -> _Error:
    """Those of which GitHub would show nothing, in one."""
    told = f"{counted(len(errors), 'more error')}: {'; '.join(error.title for error in errors)}"
    why = f"GitHub shows at most {MOST} errors of a step; the report and the summary have all."
    return _Error("rackproof: not every error is shown here", None, [told, why])


def _command(error: _Error) -> str:
    spot = error.spot
    where = {} if spot is None else {"file": shown(spot.path), "line": str(spot.line)}
    if spot is not None and spot.column:
        where["col"] = str(spot.column)
    told = {**where, "title": error.title}
    properties = ",".join(f"{key}={_property(value)}" for key, value in told.items())
    return f"::error {properties}::{_data(_within(error.lines))}\n"


def _within(lines: Sequence[str]) -> str:
    """The lines that fit; the last, which says how to see it again, is always one of them."""
    whole = shown("\n".join(lines))
    if len(whole) <= LONGEST:
        return whole
    last = shown(lines[-1])[-LONGEST // 2 :]
    left_out = "\n[...]\n"
    return whole[: LONGEST - len(last) - len(left_out)] + left_out + last


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
