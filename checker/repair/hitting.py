"""Implicit hitting sets: the cheapest protocols that no counterexample rules out, each explored.

Each counterexample rules out every protocol in which it is one (``runs``). The cheapest protocol
that none rules out (``candidates``) is explored: it is a solution, or it has a counterexample,
which rules out more. So each solution was explored, and no part of its changes is a solution, as
each part has a known counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import define, field

from rackproof.checker.repair.candidates import Candidates
from rackproof.checker.repair.protocols import Protocols
from rackproof.checker.repair.switches import Assignment
from rackproof.checker.verdicts import Result, Verdict
from rackproof.model.kernel import ModelError

MOST_EXPLORED: Final = 100
"""Protocols that are explored for one question before it is given up."""

Solution = tuple[Assignment, Mapping[str, Result]]
"""A protocol and what was found of each property in it."""


@define
class Solutions:
    """The protocols in which some properties are not violated, cheapest first.

    names: they must be put to the test, or what they are about must be averted; untested: neither
    is asked. kept: they must not be violated. doubts: why there may be others: what could not be
    decided.
    """

    protocols: Protocols
    candidates: Candidates
    names: tuple[str, ...]
    kept: tuple[str, ...] = ()
    untested: bool = False
    doubts: list[str] = field(factory=list)

    def __iter__(self) -> Iterator[Solution]:
        """Yield them; once the iteration ends there are no others, but for doubts."""
        last = self.protocols.explorations + MOST_EXPLORED
        while (candidate := self._cheapest()) is not None:
            if self._is_ruled_out(candidate):
                continue
            if self.protocols.explorations >= last:
                self.doubts.append(f"{MOST_EXPLORED} protocols were explored")
                return
            results = self._explored(candidate)
            if results is not None:
                yield candidate, results
            if not self._is_ruled_out(candidate):
                self.candidates.excluded.append(self.candidates.changes(candidate))

    def _cheapest(self) -> Assignment | None:
        required = (*self.names, *self.kept)
        known = (self.protocols.conflicts(name) for name in required)
        self.candidates.conflicts = [one for conflicts in known for one in conflicts]
        return self.candidates.cheapest()

    def _is_ruled_out(self, candidate: Assignment) -> bool:
        required = (*self.names, *self.kept)
        return any(self.protocols.violates(name, candidate) for name in required)

    def _explored(self, candidate: Assignment) -> Mapping[str, Result] | None:
        """What is so in a candidate; None where it is no solution."""
        try:
            results = self.protocols.results(candidate, self.names)
        except ModelError as error:
            self.doubts.append(str(error))
            return None
        if any(results[name].verdict is Verdict.VIOLATED for name in (*self.names, *self.kept)):
            return None
        for name in self.names:
            vacuous = self.untested and results[name].verdict is Verdict.VACUOUS
            if not results[name].is_averted and not vacuous:
                self.doubts.append(f"{name}: {results[name].reason}")
                return None
        return results
