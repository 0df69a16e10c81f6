"""The format of the Mooncake traces: JSON lines of timestamp (milliseconds), input_length,
output_length, and hash_ids, one for each 512 tokens of the prompt, equal where a prefix is shared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rackproof.model.performance.workload.records import At, Row, in_order, lines, opened, tokens

BLOCK_TOKENS: Final = 512
"""Tokens of a prompt that one of hash_ids stands for."""
MOST_MS: Final = 10**15
"""A later timestamp is a mistake: since 1970, that is 31,700 years."""


def mooncake_rows(path: Path) -> Iterator[Row]:
    """The requests of a trace file, in order; ``ModelError`` names what cannot be used."""
    return in_order(_rows(path), path)


def _rows(path: Path) -> Iterator[tuple[int, Row]]:
    with opened(path) as file:
        for number, line in enumerate(lines(file, path), 1):
            if line.strip():
                yield number, _row(line, At(path, number))


def _row(line: str, at: At) -> Row:
    try:
        entries = json.loads(line)
    except (ValueError, RecursionError) as error:
        at.fail(f"is not JSON: {error}")
    if not isinstance(entries, dict):
        at.fail("is not a JSON object with timestamp, input_length and output_length")
    for name in ("timestamp", "input_length", "output_length"):
        if name not in entries:
            at.fail(f"{name} is missing")
    prompt = tokens(entries["input_length"], "input_length", at)
    output = tokens(entries["output_length"], "output_length", at)
    blocks = _blocks(entries.get("hash_ids", []), prompt, at)
    return Row(_time_ns(entries["timestamp"], at), prompt, output, blocks)


def _time_ns(value: Any, at: At) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= value <= MOST_MS):
        at.refuse("timestamp", value, f"a number of milliseconds from 0 to {MOST_MS:,}")
    nanoseconds: int = round(value * 10**6)
    return nanoseconds


def _blocks(value: Any, prompt: int, at: At) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(one) is int and one >= 0 for one in value):
        at.refuse("hash_ids", value, "a list of whole numbers from 0 on")
    most = -(-prompt // BLOCK_TOKENS)
    if value and len(value) != most:
        expected = f"one for each {BLOCK_TOKENS} tokens of the prompt, {most}"
        at.refuse("hash_ids", f"{len(value)} identifiers", expected)
    return tuple(value)
