"""Texts as they go into Markdown: whatever a world calls its things, it is text there.

What is plain stays as it is; a text with anything that Markdown, HTML or GitHub (mentions, issue
numbers, addresses) might take for more is shown as code. Control characters and marks that turn the
direction of writing are shown escaped, as on a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rackproof.checker.report.screen import shown

_PLAIN: Final = re.compile(r"[A-Za-z0-9 .,;:()'\"/=%+?\u00a0-\u1fff-]*")
_SUSPECT: Final = re.compile(r"://|www\.|^\s*[-+=>]|^\s*\d+[.)]|[0-9a-f]{7}|\bGH-\d", re.IGNORECASE)


def on_one_line(text: str) -> str:
    """A text on one line, in which nothing steers."""
    return shown(text.strip()).replace("\n", "\\n")


def in_markdown(text: str) -> str:
    """A text in a sentence."""
    line = on_one_line(text)
    is_plain = _PLAIN.fullmatch(line) and not _SUSPECT.search(line)
    return line if is_plain else as_code(line)


def in_cell(text: str) -> str:
    """A text in the cell of a table."""
    return in_markdown(text).replace("|", "\\|")


def as_code(text: str) -> str:
    """A text as code."""
    line = on_one_line(text)
    fence = "`" * (_longest(line) + 1)
    pad = " " if line[:1] in ("`", " ", "") or line[-1:] in ("`", " ") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(lines: Iterable[str]) -> list[str]:
    """Lines that stay as they are."""
    texts = [shown(line) for line in lines]
    fence = "`" * max(3, _longest("\n".join(texts)) + 1)
    return [f"{fence}text", *texts, fence]


def _longest(text: str) -> int:
    """The longest run of backticks."""
    return max((len(run) for run in re.findall("`+", text)), default=0)
