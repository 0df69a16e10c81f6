"""What a record says of each migration: how long until it was noticed, how long the client waited.

Times of different clocks are never held against each other: the stall is of the client's clock
alone, and a detection delay only there where the operator and the frontend read the same one.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from rackproof.model.evidence.client import CLIENT
from rackproof.model.evidence.frontend import FRONTEND, SENDS
from rackproof.model.kernel import Place
from rackproof.model.kernel.evidence import Value
from rackproof.scenarios.recorded.noted import Noted

NOTHING: Final[Mapping[str, Sequence[Noted]]] = {}
FAULTS: Final = ("crash", "hang", "drain", "restart")
"""What an operator does that a worker may be given up for."""
WRITTEN_LATE_S: Final = 0.1
"""An operator writes a fault down once it is done, by which time it may have been noticed."""


@frozen
class Migration:
    """How one attempt of a request ended, and what came of that.

    error: what the frontend gave it up for. fault: what the operator had done to its worker, if
    anything. to: where the next attempt went; None where there was none. handed_over: whether that
    one was prefilled elsewhere, so that its KV was moved. delivered: tokens the client had by then.
    detection_s: from the fault, or from when the attempt was sent to a worker that had it already,
    until the frontend knew. stall_s: between the last token before and
    the first after it; usual_s: the median between two others. Each is None where no log tells it
    (or none that can be compared, which ``untold`` says).
    """

    attempt: int
    worker: str
    error: str
    fault: str | None = None
    to: str | None = None
    handed_over: bool = False
    delivered: int | None = None
    detection_s: float | None = None
    stall_s: float | None = None
    usual_s: float | None = None
    untold: str | None = None
    place: Place | None = None

    @property
    def path(self) -> str:
        """What was done for the request, in words."""
        if self.to is None:
            return "given up"
        return "prefilled apart, KV moved" if self.handed_over else "prefilled anew"


def migrations(
    own: Iterable[Noted],
    faults: Mapping[str, Sequence[Noted]] = NOTHING,
    called: Callable[[Value], str] = str,
    one_host: bool = False,
) -> tuple[Migration, ...]:
    """Every attempt of a request that ended in an error.

    own: what was noted of the request. faults: what was done to each worker, by its name. called:
    from whatever the frontend calls a worker to that name. one_host: whether somebody vouches for
    it that all clocks are one.
    """
    mine = list(own)
    told = _Told(
        tuple(one for one in mine if one.observation.witness == FRONTEND),
        tuple(_tokens(mine)),
        faults,
        called,
        one_host,
    )
    return tuple(told.migrations())


def _tokens(noted: Iterable[Noted]) -> Iterator[float | None]:
    """When the client got each of its tokens."""
    for one in noted:
        if one.observation.witness == CLIENT and one.observation.kind == "token":
            yield one.observation.time


@frozen
class _Told:
    """What was noted of a request: by the frontend in its order, and when the client got tokens."""

    frontend: tuple[Noted, ...]
    tokens: tuple[float | None, ...]
    faults: Mapping[str, Sequence[Noted]]
    called: Callable[[Value], str]
    one_host: bool

    def migrations(self) -> Iterator[Migration]:
        """One for each failure that the frontend tells of."""
        failures = [
            (number, one)
            for number, one in enumerate(self.frontend)
            if one.observation.kind == "failed"
        ]
        gaps = self._gaps()
        after = [self._after(number) for number, _ in failures]
        stalled = {had for _, _, had in after if had is not None}
        usual = [gap for had, gap in gaps.items() if had not in stalled]
        usual_s = statistics.median(usual) if usual else None
        for (_, one), (to, handed_over, had) in zip(failures, after, strict=True):
            yield self._migration(one, to, handed_over, had, gaps.get(had), usual_s)

    def _migration(
        self,
        one: Noted,
        to: str | None,
        handed_over: bool,
        had: int | None,
        stall_s: float | None,
        usual_s: float | None,
    ) -> Migration:
        values = one.observation.values
        worker = self.called(values.get("worker", "unknown"))
        attempt = values.get("attempt", 0)
        fault, detection_s, untold = self._noticed(one, worker, self._sent(attempt, worker))
        return Migration(
            attempt if isinstance(attempt, int) else 0,
            worker,
            str(values.get("error", "an error")),
            fault,
            to,
            handed_over,
            had,
            detection_s,
            stall_s if to is not None else None,
            usual_s,
            untold,
            one.observation.place,
        )

    def _gaps(self) -> dict[int | None, float]:
        """Seconds before each token of the client but the first, by how many it had by then."""
        pairs = enumerate(itertools.pairwise(self.tokens), 1)
        return {n: b - a for n, (a, b) in pairs if a is not None and b is not None}

    def _after(self, number: int) -> tuple[str | None, bool, int | None]:
        """Where the next attempt went, whether by a hand-over, and with how many tokens."""
        to, handed_over, had = None, False, None
        for one in self.frontend[number + 1 :]:
            kind, values = one.observation.kind, one.observation.values
            if kind == "failed" or (kind == "dispatch" and to is not None):
                break
            if kind in SENDS:
                handed_over = kind == "decode"
                to = self.called(values.get("worker", "unknown"))
                sent = values.get("delivered", had)
                had = sent if isinstance(sent, int) else None
        return to, handed_over, had

    def _sent(self, attempt: Value, worker: str) -> float | None:
        """When an attempt was sent to a worker."""
        sent = (one for one in self.frontend if one.observation.kind in SENDS)
        for one in sent:
            values = one.observation.values
            there = self.called(values.get("worker", "unknown"))
            if values.get("attempt") == attempt and there == worker:
                return one.observation.time
        return None

    def _noticed(
        self, one: Noted, worker: str, sent: float | None
    ) -> tuple[str | None, float | None, str | None]:
        """The fault behind a failure, how long ago it was, and why that is not known."""
        faults = [f for f in self.faults.get(worker, ()) if f.observation.kind in FAULTS]
        at = one.observation.time
        if not faults:
            return None, None, "no operator tells of a fault there"
        comparable = [f for f in faults if self.one_host or f.clock == one.clock]
        if not comparable or at is None:
            kind = faults[-1].observation.kind
            clocks = f"the clocks {faults[-1].clock} and {one.clock} cannot be compared"
            return kind, None, f"{clocks} (--one-host if they are of one host)"
        for fault in reversed(comparable):
            then = fault.observation.time
            if then is not None and at - then > -WRITTEN_LATE_S:
                since = then if sent is None else max(then, sent)
                return fault.observation.kind, max(0.0, at - since), None
        return None, None, "no operator tells of a fault there before"
