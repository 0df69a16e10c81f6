"""Places in a document: a value with the key that leads to it, which tells what is wrong with it.

Every reading method returns None where the value is not of the wanted kind, after noting a problem;
the rest of the document is read on, so that one run tells every mistake.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import frozen

from rackproof.scenarios.document import Items, Node, Pairs, Scalar
from rackproof.scenarios.errors import Problems, hint, quoted
from rackproof.scenarios.quantities import duration

LARGEST: Final = 1_000_000
NOT_SET: Final = "none"
"""How a time-out is written that is not set."""


@frozen
class Place:
    """A value, the dotted key that leads to it, and the line and column that key is on."""

    node: Node
    key: str
    line: int
    problems: Problems
    column: int = 0

    def fail(self, message: str) -> None:
        """Note a problem with this value."""
        self.problems.add(self.line, self.key, message, self.column)

    def lacks(self, key: str) -> None:
        """Note that a key is missing from this map."""
        self.problems.add(self.line, f"{self.key}.{key}", "is missing", self.column)

    def wrong(self, expected: str) -> None:
        """Note that something else was expected here."""
        self.fail(f"expected {expected}, not {self.seen}")

    @property
    def seen(self) -> str:
        """The value in a message."""
        match self.node:
            case Items():
                return "a list"
            case Pairs():
                return "a map"
            case Scalar(_, None, _):
                return "nothing"
            case Scalar(_, str(), text):
                return quoted(text)
            case Scalar(_, _, text):
                return text if len(text) <= 30 else f"{text[:27]}..."

    @property
    def is_map(self) -> bool:
        """Whether this is a map."""
        return isinstance(self.node, Pairs)

    @property
    def is_scalar(self) -> bool:
        """Whether this is neither a list nor a map."""
        return isinstance(self.node, Scalar)

    @property
    def is_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self.node, Items)

    @property
    def length(self) -> int:
        """How many elements a list has; none, if this is not one."""
        return len(self.node.items) if isinstance(self.node, Items) else 0

    @property
    def is_empty(self) -> bool:
        """Whether this is a list or a map with nothing in it."""
        return self.node in (Items(self.node.line, ()), Pairs(self.node.line, ()))

    @property
    def value(self) -> bool | int | float | str | None:
        """The scalar, whatever it is; None for a list or a map too."""
        return self.node.value if isinstance(self.node, Scalar) else None

    def entries(self, what: str = "a map") -> dict[str, Place] | None:
        """The entries of a map with any keys that are names."""
        if not isinstance(self.node, Pairs):
            self.wrong(what)
            return None
        found: dict[str, Place] = {}
        for key, node in self.node.entries:
            place = self._below(key, node)
            if not isinstance(key.value, str) or not key.value.strip():
                told = f"the key {key.text or 'nothing'} is no name"
                self.problems.add(key.line, self.key, told, key.column)
            elif key.value in found:
                first = found[key.value].line
                place.fail(f"is given twice (first on line {first})")
            else:
                found[key.value] = place
        return found

    def record(self, known: Iterable[str], what: str = "a map") -> dict[str, Place]:
        """The entries of a map whose keys are these; an unknown key is a problem, and left out."""
        names = sorted(known)
        found = self.entries(what) or {}
        for name in [name for name in found if name not in names]:
            found.pop(name).fail(f"there is no such key{hint(name, names)}")
        return found

    def items(self, what: str = "a list") -> Iterator[Place]:
        """The elements of a list."""
        if not isinstance(self.node, Items):
            self.wrong(what)
            return
        for number, node in enumerate(self.node.items, 1):
            yield Place(node, f"{self.key}[{number}]", node.line, self.problems, node.column)

    def text(self, what: str = "a text") -> str | None:
        """A text that is not empty; a number is not taken for one."""
        value = self.value
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.wrong(what)
        return None

    def whole(self, low: int = 0, high: int = LARGEST) -> int | None:
        """A whole number from ``low`` to ``high``."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        upto = f"from {low} to {high}" if high < LARGEST else f"of {low} or more"
        self.wrong(f"a whole number {upto}")
        return None

    def seconds(self, or_none: bool = False) -> float | None:
        """A duration such as 30 s, in seconds; infinity for none, where that is allowed."""
        text = self.text("a duration, such as 30 s" + (", or none" if or_none else ""))
        if text is None:
            return None
        if or_none and text == NOT_SET:
            return math.inf
        try:
            return duration(text)
        except ValueError as error:
            self.fail(str(error))
            return None

    def flag(self) -> bool | None:
        """Either true or false."""
        value = self.value
        if isinstance(value, bool):
            return value
        self.wrong("true or false")
        return None

    def choice(self, names: Iterable[str], what: str) -> str | None:
        """One of some names."""
        known = sorted(names)
        value = self.value
        if not isinstance(value, str):
            self.wrong(f"{what}{hint('', known)}")
        elif value not in known:
            self.fail(f"there is no {what} {quoted(value)}{hint(value, known)}")
        else:
            return value
        return None

    def _below(self, key: Scalar, node: Node) -> Place:
        name = f"{self.key}.{key.text}" if self.key else key.text
        short = name if len(name) <= 80 else name[:77] + "..."
        return Place(node, short, key.line, self.problems, key.column)
