"""What came of trying a run of the model on a live deployment."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from attrs import asdict, frozen

from rackproof.checker.drive.held import Held
from rackproof.checker.drive.prediction import Prediction
from rackproof.checker.status import Status
from rackproof.scenarios.live.observed import Fact
from rackproof.scenarios.live.plan import Plan
from rackproof.scenarios.live.trial import Seen


class Verdict(Enum):
    """How the model and the system compare."""

    CONFIRMED = "predicted by the model, confirmed on the system"
    NOT_CONFIRMED = "predicted by the model, not confirmed on the system"
    AS_PREDICTED = "the model predicts no violation, and none was seen on the system"
    UNPREDICTED = "not predicted by this run of the model, but seen on the system"
    NOT_ALLOWED = "the system did something the model does not allow"


_STATUS = {
    Verdict.CONFIRMED: Status.OK,
    Verdict.AS_PREDICTED: Status.OK,
    Verdict.NOT_CONFIRMED: Status.INCONCLUSIVE,
    Verdict.UNPREDICTED: Status.VIOLATED,
    Verdict.NOT_ALLOWED: Status.VIOLATED,
}


@frozen(eq=False)
class Outcome:
    """A prediction, what was done, what was seen, and what comes of it.

    facts: the properties that were seen to be broken from outside. held: what came of holding the
    record against the model.
    """

    prediction: Prediction
    plan: Plan
    seen: Seen
    facts: Sequence[Fact]
    held: Held

    @property
    def broken(self) -> dict[str, str]:
        """The properties that were broken, each with what is so instead."""
        return {**{fact.prop: fact.sentence for fact in self.facts}, **self.held.broken}

    @property
    def verdict(self) -> Verdict:
        """How the two compare."""
        prop = self.prediction.prop
        if prop is not None and prop in self.broken:
            return Verdict.CONFIRMED
        if self.held.rejected:
            return Verdict.NOT_ALLOWED
        if prop is not None:
            return Verdict.NOT_CONFIRMED
        return Verdict.UNPREDICTED if self.broken else Verdict.AS_PREDICTED

    @property
    def confirmed(self) -> dict[str, str]:
        """Of each property that was broken, whether the model has that too, in words."""
        return {prop: self._told(prop) for prop in self.broken}

    def _told(self, prop: str) -> str:
        if prop in self.prediction.props:
            return Verdict.CONFIRMED.value
        if prop in self.held.defects:
            return "seen on the system, and in every run of the model that explains its record"
        return Verdict.UNPREDICTED.value

    @property
    def status(self) -> Status:
        """The exit status: what was confirmed is as expected; what was not, is open; and
        what no run of the model explains is wrong, whatever else was confirmed.
        """
        if self.verdict is Verdict.AS_PREDICTED and self.seen.missed is not None:
            return Status.INCONCLUSIVE
        if self.held.rejected:
            return Status.VIOLATED
        return _STATUS[self.verdict]

    def data(self) -> dict[str, Any]:
        """Plain lists, maps, texts and numbers."""
        seen, stream = self.seen, self.seen.stream
        return {
            "scenario": str(self.prediction.scenario.path),
            "property": self.prediction.prop,
            "predicted": list(self.prediction.broken),
            "verdict": self.verdict.value,
            "mapping": list(self.plan.mapping),
            "engines": list(self.plan.engines),
            "actions": [str(action) for action in self.plan.actions],
            "effects": [asdict(effect) for effect in seen.effects],
            "missed": seen.missed,
            "stands-for": dict(seen.bound),
            "request": stream.told(),
            "requests": [{"name": had.name, **had.stream.told()} for had in seen.requests],
            "attempts": [{"worker": r.worker.name, "error": r.error} for r in seen.routes],
            "broken": self.broken,
            "confirmed": self.confirmed,
            "conform": self.held.data(),
            "probes": [asdict(probe) for probe in seen.probes],
            "record": str(seen.folder),
            "seconds": round(seen.seconds, 3),
        }
