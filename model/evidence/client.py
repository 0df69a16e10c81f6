"""What the client writes down: every line of the answer that it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rackproof.model.evidence.step import Step
from rackproof.model.kernel import Record
from rackproof.model.kernel.evidence import Value
from rackproof.model.request import Phase

CLIENT: Final = "client"


def client(step: Step) -> Iterator[Record]:
    """What it gets of a step; one that has left gets nothing."""
    if step.request is None or step.before.requests[step.request].gone:
        return
    gets = _GETS.get(step.name)
    if gets is not None:
        yield from gets(step)
    if step.outcome is Phase.FAILED:
        yield step.record(CLIENT, "error")
        yield step.record(CLIENT, "end")
    elif step.outcome is Phase.DONE:
        yield from _ended(step)


def _token(step: Step) -> Iterator[Record]:
    """A token, behind the one whose text was held back so far; none if it is held back itself."""
    yield from _released(step)
    if _is_delivered(step) and not step.stream_after.withheld:
        yield _tokens(step, _position(step))


def _position(step: Step) -> int:
    return step.attempt.received if step.name == "receive" else step.attempt.sent


def _is_delivered(step: Step) -> bool:
    return step.name == "receive" or not step.before.protocol.fence_steps


def _released(step: Step) -> Iterator[Record]:
    """The first token, once the detokeniser holds its text back no more."""
    if step.stream.withheld and not step.stream_after.withheld:
        yield _tokens(step, 0)


def _tokens(step: Step, position: int) -> Record:
    return step.record(CLIENT, "token", {"position": position}, step.serving(step.ids["attempt"]))


def _finish(step: Step) -> Iterator[Record]:
    yield from _released(step)
    reason: Value = "length" if step.before.tokens == step.before.max_tokens else "stop"
    aside = {"reason": reason, **step.serving(step.ids["attempt"])}
    yield step.record(CLIENT, "finish", {}, aside)


def _ended(step: Step) -> Iterator[Record]:
    """The usage, which is counted as the stream ends, and the end itself."""
    if step.stream_after.finished and not step.stream.finished and step.name != "receive_finish":
        yield step.record(CLIENT, "finish")
    yield step.record(CLIENT, "usage", _usage(step))
    yield step.record(CLIENT, "end")


def _usage(step: Step) -> dict[str, Value]:
    """Whether tokens of the output count as the prompt's, and how many the output has; nothing of
    that where not each of them came once.
    """
    stream, current = step.stream_after, step.current
    start = 0 if current is None else stream.attempts[current].start
    usage: dict[str, Value] = {"more": start > 0 and not step.before.protocol.usage_from_request}
    if not stream.duplicated and not stream.lost:
        usage["completion"] = stream.delivered
    return usage


def _left(step: Step) -> Iterator[Record]:
    yield step.record(CLIENT, "left")


_GETS: Final[dict[str, Callable[[Step], Iterator[Record]]]] = {
    "receive": _token,
    "late_token": _token,
    "receive_finish": _finish,
    "leave": _left,
}
