"""What a run looks like in each of its states, written down once: how it starts, then changes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen
from markupsafe import Markup

from rackproof.checker.report.escaping import visible

ABSENT = None
"""What a key without a value has."""


@frozen
class Course:
    """What some keys stand for in one state after another, as little as tells it.

    values: each that occurs, once; elsewhere they are told by their index. start: one for each key.
    changes: for each later state a flat list of keys (by index) and their new values.
    """

    keys: tuple[str, ...]
    values: tuple[object, ...]
    start: tuple[int, ...]
    changes: tuple[tuple[int, ...], ...]

    @property
    def data(self) -> dict[str, object]:
        """For a script."""
        return {
            "keys": self.keys,
            "values": self.values,
            "start": self.start,
            "changes": self.changes,
        }


def course(states: Sequence[Mapping[str, Hashable]]) -> Course:
    """The course of what each state maps its keys to; keys come and go."""
    keys = tuple(dict.fromkeys(key for state in states for key in state))
    known: dict[Hashable, int] = {}
    rows = [
        tuple(known.setdefault(state.get(key, ABSENT), len(known)) for key in keys)
        for state in states
    ]
    changes = (tuple(_changes(old, new)) for old, new in itertools.pairwise(rows))
    return Course(keys, tuple(known), rows[0], tuple(changes))


def _changes(before: Sequence[int], after: Sequence[int]) -> Iterator[int]:
    for key, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            yield from (key, new)


def script_data(data: object) -> Markup:
    """Data as JSON that can stand in a script element, whatever texts are in it."""
    text = json.dumps(_inert(data), separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _inert(data: object) -> Any:
    """The same with every text as it may be shown."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, Mapping):
        return {_inert(key): _inert(value) for key, value in data.items()}
    if isinstance(data, (tuple, list)):
        return [_inert(item) for item in data]
    return data
