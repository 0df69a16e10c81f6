"""Texts as they go into a command that is to be run again."""

from __future__ import annotations

import re
import shlex
from typing import Final

from rackproof.checker.report.screen import UNSHOWN, shown

_STEERS: Final = re.compile(rf"[\\'\n]|{UNSHOWN.pattern}")


def argument(text: str) -> str:
    """A text as an argument in a shell, on one line; what steers is written as bash reads it."""
    if shown(text) == text and "\n" not in text:
        return shlex.quote(text)
    return f"$'{_STEERS.sub(_escaped, text)}'"


def commanded(*words: str) -> str:
    """A command of these words."""
    return " ".join(map(argument, words))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if found[0] in "\\'":
        return f"\\{found[0]}"
    return f"\\x{code & 0xFF:02x}" if code < 0x80 or 0xDC80 <= code < 0xDD00 else f"\\u{code:04x}"
