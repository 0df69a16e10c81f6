"""An end that is asked for from outside: SIGTERM, which a build that is cancelled sends, counts as
an interrupt, so that what is known by then is still told.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` at SIGTERM too; only a main thread is told of signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def let_finish() -> None:
    """After an interrupt, let no SIGTERM come between what is known and its being written: a build
    sends one after another, and ends what takes long by itself.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    let_finish()
    raise KeyboardInterrupt
