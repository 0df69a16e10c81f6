"""All that a report tells: of every target, or of those that were done before an interrupt."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from attrs import define, field

from rackproof.checker.interrupts import let_finish
from rackproof.checker.report.review.study import Study
from rackproof.checker.report.review.violations import Explaining
from rackproof.checker.verdicts import counted


@define
class Found:
    """What is known. of: how many targets there were. left_out: parts that are not there, why."""

    of: int
    left_out: tuple[str, ...] = ()
    studies: list[Study] = field(factory=list)
    explaining: Explaining = field(factory=lambda: Explaining.of((), None, 0))
    interrupted: bool = False

    @contextlib.contextmanager
    def until_interrupted(self) -> Iterator[None]:
        """Go on after an interrupt with what is known by then."""
        try:
            yield
        except KeyboardInterrupt:
            let_finish()
            self.interrupted = True

    @property
    def unseen(self) -> Iterator[str]:
        """What an interrupt left out, a sentence each."""
        if not self.interrupted:
            return
        left, pending = self.of - len(self.studies), len(self.explaining.pending)
        if left:
            yield f"{left:,} of {self.of:,} targets were not verified: there was an interrupt."
        bare = [s.report.target for s in self.studies if not s.covered and not s.report.failure]
        if bare:
            yield f"What is beside the verdicts of {', '.join(bare)}: there was an interrupt."
        if pending:
            yield f"{counted(pending, 'counterexample')} without a page: there was an interrupt."
        if self.explaining.told and self.explaining.deep == 0:
            yield "What would have saved a counterexample was not looked for after the interrupt."
