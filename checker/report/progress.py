"""A line that says how far it is: on a terminal after a second, elsewhere every half a minute."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Timer
from types import TracebackType
from typing import TYPE_CHECKING, Final

import click
from attrs import define

from rackproof.scenarios.quantities import in_words

if TYPE_CHECKING:
    from rich.status import Status

    from rackproof.checker.search import Snapshot

PATIENCE: Final = 1.0
LONG: Final = 30.0


@define
class Ticker:
    """Called a few times a second with how far a search is; until then, it is being prepared."""

    label: str
    verbosity: int = 0
    _status: Status | None = None
    _timer: Timer | None = None
    _words: str = "preparing"
    _waited: float = 0.0

    def __enter__(self) -> Ticker:
        """Show nothing yet."""
        if self.verbosity >= 0 and sys.stderr.isatty():
            self._start(PATIENCE, self._show)
        elif self.verbosity >= 0:
            self._start(LONG, self._tell)
        return self

    def _start(self, seconds: float, then: Callable[[], None]) -> None:
        self._timer = Timer(seconds, then)
        self._timer.daemon = True
        self._timer.start()

    def _tell(self) -> None:
        """A line for a log, so that a long run is not taken for a hung one."""
        self._waited += LONG
        from rackproof.checker.report.screen import shown  # noqa: PLC0415

        click.echo(shown(f"{self.label}: {in_words(self._waited)}, {self._words}"), err=True)
        self._start(LONG, self._tell)

    def __call__(self, seen: Snapshot) -> None:
        """Renew the line."""
        self._words = seen.doing or f"{seen.states:,} states, {seen.rate:,.0f}/s"
        if self._status is not None:
            self._status.update(f"{self.label}: {self._words}, {in_words(seen.seconds)}")

    def says(self, words: str) -> None:
        """Renew the line of something that is no search."""
        self._words = words
        if self._status is not None:
            self._status.update(f"{self.label}: {words}")

    def _show(self) -> None:
        from rackproof.checker.report.screen import console  # noqa: PLC0415

        status = console(sys.stderr).status(f"{self.label}: preparing")
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
