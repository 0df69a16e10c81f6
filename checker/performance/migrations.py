"""Migrations of a recorded run beside what is predicted: who noticed when, and what clients waited.

Only what can be compared is. A detection is by a time-out, a lease or a broken connection, which
are the same on any machine; what is computed again takes what the GPUs and the model of the record
take, and no log names these.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import define, field, frozen

from rackproof.checker.performance.answers import Column, Table, Unit, Value
from rackproof.checker.verdicts import counted
from rackproof.model.kernel import Quantity
from rackproof.model.performance.architecture import architecture
from rackproof.model.performance.failures.detection import Delay, Lease, Traffic, detector
from rackproof.model.performance.formats import kv_format
from rackproof.model.performance.hardware import gpu
from rackproof.model.performance.roofline import Engine
from rackproof.model.timing.deployment import Deployment
from rackproof.scenarios.quantities import in_words
from rackproof.scenarios.recorded.migrations import Migration

COLUMNS: Final = (
    Column("fault", "fault"),
    Column("noticed by", "error"),
    Column("then", "path"),
    Column("times", "count", Unit.COUNT),
    Column("noticed (p50)", "detection_p50", Unit.SECONDS),
    Column("max", "detection_max", Unit.SECONDS),
    Column("predicted from", "detection_predicted_least", Unit.SECONDS),
    Column("to", "detection_predicted_most", Unit.SECONDS),
    Column("stall (p50)", "stall_p50", Unit.SECONDS),
    Column("max", "stall_max", Unit.SECONDS),
    Column("usual gap", "usual_gap", Unit.SECONDS),
    Column("rest (p50)", "rest_p50", Unit.SECONDS),
    Column("prefill", "prefill_predicted", Unit.SECONDS),
)
BY_CONNECTION: Final = frozenset({"cannot-connect", "disconnected", "engine-shutdown"})
BY_TIMEOUT: Final = "response-timeout"
BY_LEASE: Final = "worker-removed"
GPUS: Final = 4
"""Of an instance, where a deployment does not say."""


def predicted(error: str, timeouts: Mapping[str, Quantity], usual_s: float | None) -> Delay | None:
    """How long from a fault until it is noticed by an error; None where nothing predicts it.

    The clock of a silent stream begins with its last token, which came up to one usual gap before
    the fault.
    """
    if error in BY_CONNECTION:
        return detector("stream-break").delay(Traffic())
    if error == BY_TIMEOUT:
        limit = _seconds(timeouts["stream-timeout"])
        return Delay(max(0.0, limit - (usual_s or 0.0)), limit)
    if error == BY_LEASE:
        return Lease("lease", _seconds(timeouts["lease"])).delay(Traffic())
    return None


def _seconds(quantity: Quantity) -> float:
    assert not callable(quantity.value), "what is set is a number"
    return quantity.value


@define(eq=False)
class _Row:
    """Migrations with the same fault, error and path."""

    count: int = 0
    detections: array[float] = field(factory=lambda: array("d"))
    stalls: array[float] = field(factory=lambda: array("d"))
    usual: array[float] = field(factory=lambda: array("d"))
    rests: array[float] = field(factory=lambda: array("d"))
    contexts: array[float] = field(factory=lambda: array("d"))


@frozen(eq=False)
class Stalls:
    """The migrations of a capture, counted in one by one.

    timeouts: what is set in the stack, by name. deployment: of whose GPUs and model a prefill is
    predicted.
    """

    timeouts: Mapping[str, Quantity]
    deployment: Deployment = field(factory=Deployment)
    _rows: dict[tuple[str, str, str], _Row] = field(factory=dict, init=False)
    _untold: Counter[str] = field(factory=Counter, init=False)

    def add(self, found: Iterable[Migration], prompt: int | None = None) -> None:
        """Count the migrations of a request in. prompt: its tokens, where that is known."""
        for one in found:
            key = (one.fault or "unknown", one.error, one.path)
            self._count(self._rows.setdefault(key, _Row()), one, prompt)
            if one.untold:
                self._untold[one.untold] += 1

    def _count(self, row: _Row, one: Migration, prompt: int | None) -> None:
        row.count += 1
        _keep(row.detections, one.detection_s)
        _keep(row.stalls, one.stall_s)
        _keep(row.usual, one.usual_s)
        if one.stall_s is not None and one.detection_s is not None:
            row.rests.append(max(0.0, one.stall_s - one.detection_s))
        if prompt is not None and one.delivered is not None and one.to is not None:
            row.contexts.append(prompt + one.delivered)

    def table(self) -> Table | None:
        """All of them beside what is predicted; None where there was no migration."""
        if not self._rows:
            return None
        rows = tuple(self._row(key, row) for key, row in sorted(self._rows.items()))
        return Table("Migrations", COLUMNS, rows, tuple(self._notes()), names=3)

    def _row(self, key: tuple[str, str, str], row: _Row) -> tuple[Value, ...]:
        usual_s = _median(row.usual)
        expected = predicted(key[1], self.timeouts, usual_s)
        context = _median(row.contexts)
        return (
            *key,
            row.count,
            _median(row.detections),
            max(row.detections, default=None),
            None if expected is None else expected.low,
            None if expected is None else expected.high,
            _median(row.stalls),
            max(row.stalls, default=None),
            usual_s,
            _median(row.rests),
            None if context is None else prefill_s(self.deployment, context),
        )

    def _notes(self) -> Iterable[str]:
        limit, ttl = (_seconds(self.timeouts[name]) for name in ("stream-timeout", "lease"))
        told = "not set" if math.isinf(limit) else in_words(limit)
        yield "A row is of all attempts that failed in the same way; p50 and max are over these."
        yield (
            "noticed: from the fault until the frontend gave the attempt up. predicted: how long "
            "that takes by the model, from one time to another: by a broken connection within a "
            f"round trip, by the stream time-out ({told}), or by the lease ({in_words(ttl)}). "
            "--timeout NAME=DURATION sets another"
        )
        yield (
            "stall: how long the client waited, from its last token before to its first after, by "
            "its own clock. usual gap: how long it waits between two other tokens"
        )
        model, chip = self.deployment.model, self.deployment.gpu
        yield (
            "rest: the stall after the fault was noticed. Nothing predicts it, as no log names the "
            "model and its GPUs; prefill is for comparison: the time that as many tokens would "
            f"take, of {model} on {self.deployment.gpus or GPUS} x {chip}"
        )

    def untold(self) -> Iterable[str]:
        """Of how many attempts it is not known when the fault was noticed, and why."""
        for why, times in sorted(self._untold.items()):
            yield f"when the fault was noticed, of {counted(times, 'attempt')}: {why}"


def prefill_s(deployment: Deployment, context: float) -> float:
    """Seconds that the roofline gives a prefill of so many tokens, alone on an instance."""
    engine = Engine(
        gpu(deployment.gpu),
        deployment.gpus or GPUS,
        architecture(deployment.model),
        kv_format(deployment.kv_format),
    )
    return engine.prefill([(round(context), 0)]).seconds


def _keep(values: array[float], value: float | None) -> None:
    if value is not None:
        values.append(value)


def _median(values: array[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
