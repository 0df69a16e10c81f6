"""Amounts as people write them: 4GB, 512MiB, 30s, 2m, 1h30m."""

from __future__ import annotations

import re
from typing import Final

LEAST: Final = 0.005
"""Fewer seconds than this are told in milliseconds."""
_UNITS: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
    "k": 1 << 10,
    "m": 1 << 20,
    "g": 1 << 30,
    "t": 1 << 40,
}
_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
_PART: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*")


def size(text: str) -> int:
    """Bytes from a text such as 4GB or 512MiB; ``ValueError`` says what was expected."""
    part = _PART.fullmatch(text.lower())
    if not part or part[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a size; write for example 512MiB or 4GB")
    value = int(float(part[1]) * _UNITS[part[2]])
    if not value:
        raise ValueError(f"{text!r} is no memory at all")
    return value


def duration(text: str) -> float:
    """Seconds from a text such as 30s, 1h30m or 80 ms; ``ValueError`` says what was expected."""
    parts = _PART.findall(text.lower())
    whole = "".join(f"{number}{unit}" for number, unit in parts)
    if not parts or whole != re.sub(r"\s", "", text.lower()):
        raise ValueError(f"{text!r} is not a duration; write for example 30s, 2m or 1h30m")
    if any(unit not in _SECONDS for _, unit in parts):
        hint = "; it needs a unit" if not parts[-1][1] else ""
        raise ValueError(f"{text!r} is not a duration{hint}; write for example 30s, 2m or 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not seconds:
        raise ValueError(f"{text!r} is no time at all")
    return float(seconds)


def in_words(seconds: float) -> str:
    """Seconds, short: 1 ms, 0.42 s, 2 min 5 s."""
    if 0 < seconds < LEAST:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 100:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
