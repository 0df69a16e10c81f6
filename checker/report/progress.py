"""A line that says how far an exploration is, on a terminal, once it takes more than a second."""

from __future__ import annotations

import sys
from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING, Final

from attrs import define

from rackproof.scenarios.quantities import in_words

if TYPE_CHECKING:
    from rich.status import Status

    from rackproof.checker.search import Snapshot

PATIENCE: Final = 1.0


@define
class Ticker:
    """Called a few times a second with how far a search is; until then, it is being prepared."""

    label: str
    verbosity: int = 0
    _status: Status | None = None
    _timer: Timer | None = None

    def __enter__(self) -> Ticker:
        """Show nothing yet."""
        if self.verbosity >= 0 and sys.stderr.isatty():
            self._timer = Timer(PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __call__(self, seen: Snapshot) -> None:
        """Renew the line."""
        if self._status is not None:
            rate = f"{seen.states / max(seen.seconds, 1e-3):,.0f}/s"
            words = f"{seen.states:,} states, {in_words(seen.seconds)}, {rate}"
            self._status.update(f"{self.label}: {words}")

    def _show(self) -> None:
        from rich.console import Console  # noqa: PLC0415

        status = Console(stderr=True, markup=False).status(f"{self.label}: preparing")
        status.start()
        self._status = status

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._status is not None:
            self._status.stop()
