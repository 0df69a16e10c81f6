"""An end that is asked for from outside: SIGTERM, which a build that is cancelled sends, counts as
an interrupt, so that what is known by then is still told.
"""

from __future__ import annotations

import signal
from types import FrameType


def heed() -> None:
    """From now on, raise ``KeyboardInterrupt`` at SIGTERM too; in the main thread."""
    signal.signal(signal.SIGTERM, _interrupt)


def let_finish() -> None:
    """After an interrupt, let no SIGTERM come between what is known and its being written: a build
    sends one after another, and ends what takes long by itself.
    """
    if signal.getsignal(signal.SIGTERM) is _interrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    let_finish()
    raise KeyboardInterrupt
