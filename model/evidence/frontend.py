"""What the frontend writes down: whom it sends a request to, and how each attempt ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rackproof.model.endpoint import CLOSED, Process
from rackproof.model.evidence.step import Step
from rackproof.model.kernel import Record
from rackproof.model.kernel.evidence import Value
from rackproof.model.request import Phase
from rackproof.model.retry import Error, begins_at, used
from rackproof.model.stream import Link

FRONTEND: Final = "frontend"
SENDS: Final = ("dispatch", "decode")
"""What it writes when it sends a request to a worker."""
OUTCOMES: Final = {Phase.DONE: "done", Phase.FAILED: "failed", Phase.CANCELLED: "cancelled"}
_SAME: Final = {Error.REMOVED: Error.DISCONNECT}
"""A worker that leaves discovery is one that is no longer connected, as far as a log goes."""
ERRORS: Final = {error: _SAME.get(error, error).value.lower().replace(" ", "-") for error in Error}
"""What errors are called."""


def frontend(step: Step) -> Iterator[Record]:
    """What it writes of a step: of an attempt, and then of the request, if it is over by it."""
    if step.request is None:
        return
    writes = _WRITES.get(step.name)
    if writes is not None:
        yield from writes(step)
    if step.outcome is not None:
        aside = {**step.serving(step.current), "tokens": step.stream_after.delivered}
        yield step.record(FRONTEND, "over", {"outcome": OUTCOMES[step.outcome]}, aside)


def _dispatch(step: Step) -> Iterator[Record]:
    """A dispatch, and its end if the worker does not take it."""
    if step.before.retries[step.ids["request"]].booked:
        return  # refused as a double, before any worker is chosen
    attempt = used(step.before, step.ids["request"])
    delivered = begins_at(step.before, step.ids["request"])
    values = {**_where(step, attempt), "delivered": delivered}
    yield step.record(FRONTEND, "dispatch", values, _origin(step))
    yield from _turned_away(step, attempt)


def _decode(step: Step) -> Iterator[Record]:
    """The second half of a dispatch, at a decode worker."""
    values = {**_where(step, step.ids["attempt"]), "delivered": step.attempt.start}
    yield step.record(FRONTEND, "decode", values)
    yield from _turned_away(step, step.ids["attempt"])


def _turned_away(step: Step, attempt: int) -> Iterator[Record]:
    endpoint = step.before.endpoints[step.ids["worker"]]
    if endpoint.process in CLOSED:
        yield _failed(step, attempt, Error.CONNECT)
    elif endpoint.busy:
        yield _failed(step, attempt, Error.FULL)


def _origin(step: Step) -> dict[str, Value]:
    """The worker that a request is sent on from."""
    last = step.serving(step.current)
    return {"from": last["worker"]} if last else {}


def _where(step: Step, attempt: int) -> dict[str, Value]:
    return {"attempt": attempt, "worker": step.workers[step.ids["worker"]]}


def _failed(step: Step, attempt: int, error: Error) -> Record:
    values = {**_where(step, attempt), "error": ERRORS[error]}
    return step.record(FRONTEND, "failed", values)


def _fails(error: Callable[[Step], Error]) -> Callable[[Step], Iterator[Record]]:
    def writes(step: Step) -> Iterator[Record]:
        yield _failed(step, step.ids["attempt"], error(step))

    return writes


def _noticed(step: Step) -> Error:
    """How a stream breaks: by an error of its own, as its worker stops, or without a word."""
    if step.attempt.worker == step.ids["worker"] and step.attempt.link is Link.ERROR:
        return Error.LOAD
    stopped = step.before.endpoints[step.ids["worker"]].process is Process.STOPPED
    return Error.SHUTDOWN if stopped else Error.DISCONNECT


def _done(step: Step) -> Iterator[Record]:
    """The end of an attempt that went well."""
    if step.outcome is Phase.DONE:
        attempt = step.ids["attempt"]
        aside = {"tokens": step.attempt.received - step.attempt.start}
        values = {"attempt": attempt, **step.serving(attempt)}
        yield step.record(FRONTEND, "done", values, aside)


_WRITES: Final[dict[str, Callable[[Step], Iterator[Record]]]] = {
    "dispatch": _dispatch,
    "dispatch_without_prefill": _dispatch,
    "dispatch_decode": _decode,
    "refuse": _fails(lambda _: Error.REFUSED),
    "prefill_error": _fails(lambda _: Error.PREFILL),
    "notice": _fails(_noticed),
    "stream_timeout": _fails(lambda _: Error.TIMEOUT),
    "cancel_pending": _fails(lambda _: Error.REMOVED),
    "receive_finish": _done,
    "receive_end": _done,
}
