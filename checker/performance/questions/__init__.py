"""Questions that `rackproof simulate --ask` answers, a module each.

A module has ``ask(study)``, which gives an ``Answer``; its docstring's first line says what is
asked. A question raises ``ModelError`` or ``InputError`` where a file has no answer to it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

from rackproof.checker.performance.answers import Answer
from rackproof.checker.performance.study import Study

DEFAULT: Final = "run"
QUESTIONS: Final[tuple[str, ...]] = (
    DEFAULT,
    "published",
    "expected",
    "sizing",
    "crossover",
    "break-even",
    "capacity",
    "energy",
    "roofline",
    "paths",
    "playbook",
    "failures",
    "availability",
    "checkpoints",
    "nvfp4",
)


def question(name: str) -> Callable[[Study], Answer]:
    """The function that answers a question."""
    ask: Callable[[Study], Answer] = _module(name).ask
    return ask


def asked(name: str) -> str:
    """What a question asks, in a line."""
    text: str = _module(name).__doc__
    return text.split("\n", 1)[0]


def _module(name: str):  # type: ignore[no-untyped-def]
    return import_module(f"{__name__}.{name.replace('-', '_')}")
