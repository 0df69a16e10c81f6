"""What a worker writes down: when it starts on an attempt, each token, and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rackproof.model.evidence.step import Step
from rackproof.model.kernel import Record
from rackproof.model.stream import Stage


def worker(step: Step) -> Iterator[Record]:
    """What the worker of an attempt writes of a step."""
    writes = _WRITES.get(step.name)
    if writes is not None:
        yield from writes(step)


def _started(step: Step) -> Iterator[Record]:
    """It begins to decode: at once, or when the KV of the attempt is there."""
    now = step.stream_after.attempts[step.ids["attempt"]]
    if now.stage is Stage.RUNNING and step.attempt.stage is not Stage.RUNNING:
        assert now.worker is not None, "an attempt runs at a worker"
        yield step.record(step.workers[now.worker], "started", {"start": now.start})


def _emitted(step: Step) -> Iterator[Record]:
    now = step.stream_after.attempts[step.ids["attempt"]]
    late = step.name == "late_token" and not step.before.protocol.fence_steps
    if now.sent > step.attempt.sent or late:
        yield step.record(_own(step), "emitted", {"position": step.attempt.sent})


def _finished(step: Step) -> Iterator[Record]:
    yield from _emitted(step)
    yield step.record(_own(step), "finished")


def _refused(step: Step) -> Iterator[Record]:
    yield step.record(_own(step), "refused")


def _own(step: Step) -> str:
    return step.workers[step.ids["worker"]]


_WRITES: Final[dict[str, Callable[[Step], Iterator[Record]]]] = {
    "start_stream": _started,
    "admit": _started,
    "load_ends": _started,
    "load_timeout": _started,
    "long_queue": _started,
    "emit": _emitted,
    "late_token": _emitted,
    "finish": _finished,
    "finish_with_last_token": _finished,
    "refuse": _refused,
}
