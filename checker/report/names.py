"""Names of files, made of texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

LONGEST: Final = 80


def slug(text: str) -> str:
    """A text as a part of a name: small letters, digits and hyphens, 80 at most; maybe nothing."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST].strip("-")


def numbered(name: str, is_taken: Callable[[str], bool]) -> str:
    """A name, or where it is taken the same with a number."""
    found, number = name, 1
    while is_taken(found):
        number += 1
        found = f"{name}-{number}"
    return found
