"""A proof that goes on beside a search which takes long."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Final

from attrs import define, field

from rackproof.checker.proof.prover import Prover, Working
from rackproof.checker.search import Snapshot
from rackproof.checker.searched import Progress

GRACE: Final = 5.0
"""Seconds of a search after which a proof is tried beside it."""
PROVED: Final = "the search ended when the rest was proved"


@define
class Beside:
    """Called a few times a second with how far the search is; ``enough`` says when it may end.

    goals: the properties of which something is to be known.
    """

    prover: Prover
    goals: frozenset[str]
    progress: Progress | None = None
    _work: Working | None = None
    _is_done: bool = field(default=False, init=False)

    def __enter__(self) -> Beside:
        """Nothing yet: most searches are short."""
        return self

    def __call__(self, seen: Snapshot) -> None:
        """Pass on how far the search is, and see how far the proof is."""
        if self.progress is not None:
            self.progress(seen)
        if seen.seconds > GRACE and not self._is_done:
            self.prover.reached |= seen.reached
            self._look(patience=0.0)

    def enough(self) -> str | None:
        """Why the search may end: all that it was for is known."""
        known = self.prover.proofs.keys() | self.prover.violated.keys() | self.prover.reached
        return PROVED if self._is_done and self.goals <= known else None

    def finish(self, seconds: float) -> None:
        """Work on without the search for at most so long, if there is time."""
        if self.prover.is_late and self._work is None:
            return
        if self.prover.seconds is None:
            self.prover.seconds = self.prover.spent + seconds
        while not self._is_done:
            self._look(patience=0.2)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._work is not None:
            self._work.close()

    def _look(self, patience: float) -> None:
        self.prover.patience = patience
        if self._work is None:
            self._work = self.prover.work()
        with warnings.catch_warnings():
            # The threads of the search hold no lock of Python's when the processes are made.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._is_done = next(self._work, self) is self
