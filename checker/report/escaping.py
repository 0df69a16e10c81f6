"""Names as they may go into a file: whatever a world or a scenario calls its things, it is text."""

from __future__ import annotations

import re
from typing import Final

from rackproof.checker.report.screen import shown

_PUNCTUATION: Final = re.compile(r"([\\`*\[\]|~$@:#]|(?<!\w)_|_(?!\w)|^[-+=>])")
_HTML: Final = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;"})


def line(text: str) -> str:
    """A text on one line, in which nothing steers."""
    return shown(text).replace("\n", "\\n")


def in_markdown(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _PUNCTUATION.sub(r"\\\1", line(text).translate(_HTML))
