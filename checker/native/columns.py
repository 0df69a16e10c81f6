"""All the states that a search kept, a column for each variable."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rackproof.checker.lowering.relation import Relation
from rackproof.checker.native.layout import Binary, Layout, Stored

Column = NDArray[Any]


def columns(relation: Relation, layout: Layout, stored: bytes) -> dict[int, Column]:
    """The ordinals of each variable in every state, from the words of all states."""
    words = np.frombuffer(stored, dtype=np.uint64).reshape(-1, layout.words)
    return {v.slot: _column(words, layout.stored[v.slot]) for v in relation.variables}


def _column(words: Column, stored: Stored) -> Column:
    if isinstance(stored, Binary):
        place = stored.place
        bits = (words[:, place.word] & np.uint64(place.mask)) >> np.uint64(place.shift)
        return bits.astype(np.int32) + np.int32(stored.low)
    column = np.full(len(words), -1, dtype=np.int32)
    for member, place in stored.bits.items():
        column[(words[:, place.word] & np.uint64(place.mask)) != 0] = member
    return column
