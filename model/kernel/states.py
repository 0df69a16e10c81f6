"""Small helpers for writing the next state."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def put(elements: tuple[T, ...], index: int, element: T) -> tuple[T, ...]:
    """Return the tuple with one element replaced."""
    if index < 0:
        raise IndexError(index)
    return (*elements[:index], element, *elements[index + 1 :])
