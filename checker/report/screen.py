"""Where texts go to a terminal: whatever a file says, it does not steer the terminal.

Control characters, the marks that turn the direction of writing, and lone surrogates (which have no
encoding) are shown escaped; a line break is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import IO, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

PIPE_WIDTH: Final = 160
UNSHOWN: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(text: str) -> str:
    """A text as it may go to a terminal."""
    return UNSHOWN.sub(lambda found: ascii(found[0])[1:-1], text)


class Screen(Console):
    """A console; the colours and moves on it are its own, never those of a text."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces of what is printed."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else shown(text), style, control)


def console(file: IO[str]) -> Console:
    """A console as wide as its terminal, or of a fixed width where there is none."""
    piped = not file.isatty() and "COLUMNS" not in os.environ
    width = PIPE_WIDTH if piped else None
    return Screen(file=file, width=width, highlight=False, markup=False, emoji=False)
