"""What an adapter reports: the observations of a serving stack, under the names of the model.

Those of one request name it; where a world has only one, the name may be left out.
"""

from __future__ import annotations

from rackproof.model.kernel import Observation
from rackproof.model.kernel.evidence import Value


def token(request: str, position: int, **aside: Value) -> Observation:
    """The client got the token of a position of the output, from 0 on."""
    return _of(request, "client", "token", {"position": position}, aside)


def finish(request: str, **aside: Value) -> Observation:
    """The client got a finish reason."""
    return _of(request, "client", "finish", {}, aside)


def usage(request: str, more: bool, completion: int | None = None) -> Observation:
    """The client got a usage. more: it counts prompt tokens that are none of the client's prompt.
    completion: the tokens of the answer that it counts, where they are looked at.
    """
    values: dict[str, Value] = {"more": more}
    if completion is not None:
        values["completion"] = completion
    return _of(request, "client", "usage", values, {})


def error(request: str, **aside: Value) -> Observation:
    """The client got an error, in the stream or in place of one."""
    return _of(request, "client", "error", {}, aside)


def end(request: str) -> Observation:
    """The stream of the client ended, whatever came before."""
    return _of(request, "client", "end", {}, {})


def dispatch(request: str, attempt: int, worker: str, delivered: int) -> Observation:
    """The frontend sent a request to a worker, for the first time (attempt 0) or again.

    delivered: how many tokens of the output the attempt is told of, behind which it goes on.
    """
    values: dict[str, Value] = {"attempt": attempt, "worker": worker, "delivered": delivered}
    return _of(request, "frontend", "dispatch", values, {})


def failed(request: str, attempt: int, worker: str, why: str | None = None) -> Observation:
    """An attempt ended in an error. why: which, if it is known, such as ``disconnected``."""
    values: dict[str, Value] = {"attempt": attempt, "worker": worker}
    if why is not None:
        values["error"] = why
    return _of(request, "frontend", "failed", values, {})


def emitted(request: str, worker: str, position: int) -> Observation:
    """A worker sent the token of a position."""
    return _of(request, worker, "emitted", {"position": position}, {})


def _of(
    request: str, witness: str, kind: str, values: dict[str, Value], aside: dict[str, Value]
) -> Observation:
    return Observation(witness, kind, {"request": request, **values}, aside)
