"""What is wrong with a scenario file, as the person who wrote it needs to hear it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import Factory, define, field, frozen

MOST_NAMES_SHOWN: Final = 12


@frozen(order=True)
class Problem:
    """One mistake: the line it is on (0 for the file as a whole), the key, and what is wrong.

    column: in characters, from one on; 0 where it is not known.
    """

    line: int
    key: str
    message: str
    column: int = field(default=0, eq=False, order=False)

    def at(self, path: object) -> str:
        """The problem as one line of a report, the way compilers write it."""
        place = f"{path}:{self.line}" if self.line else str(path)
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class ScenarioError(ValueError):
    """A scenario that cannot be used: everything wrong with it that could be told at once."""

    def __init__(self, path: object, problems: Iterable[Problem]) -> None:
        """Take the file and its problems, which are sorted by line."""
        self.path = path
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(problem.at(path) for problem in self.problems))


@define
class Problems:
    """The problems met so far in one file."""

    path: object
    found: list[Problem] = Factory(list)

    def add(self, line: int, key: str, message: str, column: int = 0) -> None:
        """Note a problem and go on, so that others are told too."""
        self.found.append(Problem(line, key, message, column))

    def check(self) -> None:
        """Raise ``ScenarioError`` if there were any."""
        if self.found:
            raise ScenarioError(self.path, self.found)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, and which known name is nearest (else, which there are)."""
    names = sorted(known)
    return f"there is no {what} {quoted(name)}{hint(name, names)}"


def hint(name: str, names: Sequence[str]) -> str:
    """What to write instead of a name: one that begins like it, the nearest, or all there are."""
    wanted = name.lower().replace("_", "-")
    begun = [known for known in names if len(wanted) > 2 and known.startswith(wanted)]
    near = begun[:1] or difflib.get_close_matches(wanted, names, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    if not names:
        return " (there are none)"
    shown = ", ".join(names[:MOST_NAMES_SHOWN])
    more = len(names) - MOST_NAMES_SHOWN
    return f" (there are: {shown}{f' and {more} more' if more > 0 else ''})"


def quoted(text: str) -> str:
    """A text from the file, in quotes, short and on one line."""
    short = text if len(text) <= 60 else text[:57] + "..."
    return repr(short)
