"""What steps of requests, their dispatch and their streams came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rackproof.model.endpoint import CLOSED, Process
from rackproof.model.picture.scene import Scene, front
from rackproof.model.request import Phase
from rackproof.model.retry import Retry
from rackproof.model.sorts import Workers
from rackproof.model.stream import Link


def _retry(scene: Scene) -> Retry:
    return scene.before.retries[scene.ids["request"]]


def _booked(scene: Scene) -> str:
    """Where a request is booked."""
    return scene.listed(scene.called(Workers, worker) for worker in sorted(_retry(scene).booked))


def _leave(scene: Scene) -> str:
    leaves = f"The client of {{request}} closes its connection to the {front(scene)}: "
    match scene.after.requests[scene.ids["request"]].phase:
        case Phase.PREFILLING:
            return f"{leaves}the frontend cancels {{request}} once its prefill is done."
        case Phase.READY:
            return f"{leaves}the frontend cancels {{request}} once its KV is collected."
        case _:
            return f"{leaves}{{request}} ends as cancelled."


def _answered(scene: Scene) -> str:
    """How a worker takes a request that is sent to it."""
    endpoint = scene.before.endpoints[scene.ids["worker"]]
    if endpoint.process in CLOSED:
        return "which cannot be reached"
    return "which is full and refuses it" if endpoint.busy else "which accepts it"


def _dispatch(scene: Scene) -> str:
    retry = _retry(scene)
    if retry.booked:
        twice = f"still has it booked on {_booked(scene)}, and takes it for a duplicate"
        return f"The router is to send {{request}} again, but {twice}."
    again = " again," if retry.dispatches else ""
    return f"The router sends {{request}}{again} to {{worker}}, {_answered(scene)}."


def _dispatch_without_prefill(scene: Scene) -> str:
    return f"No prefill worker can be chosen: {_dispatch(scene)[0].lower()}{_dispatch(scene)[1:]}"


def _dispatch_decode(scene: Scene) -> str:
    return f"The router sends {{request}} on to {{worker}} to decode, {_answered(scene)}."


def _nobody_left(_: Scene) -> str:
    return "The router tells the frontend that no worker can be chosen for {request}."


def _refuse(scene: Scene) -> str:
    malformed = scene.before.requests[scene.ids["request"]].malformed
    why = "it is malformed" if malformed else "no token is left to generate"
    return f"{{worker}} tells the frontend that it refuses {{request}}, as {why}."


def _notice(scene: Scene) -> str:
    if scene.attempt.link is Link.ERROR and scene.attempt.worker == scene.ids["worker"]:
        return "{worker} tells the frontend that {request} ended with an error."
    if scene.before.endpoints[scene.ids["worker"]].process is Process.STOPPED:
        return "{worker} tells the frontend at the end of the stream of {request} that it stops."
    return "The frontend finds the stream of {request} from {worker} broken."


def _cancel_pending(_: Scene) -> str:
    told = "The frontend hears from discovery that {worker} is no longer listed"
    return f"{told}, and gives it up for {{request}}, which it has not answered."


def _release_booking(scene: Scene) -> str:
    told = "The frontend tells the router that {request} is over"
    return f"{told}, which gives up its booking on {_booked(scene)}."


def _lost_release(scene: Scene) -> str:
    lost = "What the frontend tells the router of the end of {request} is lost"
    return f"{lost}: its booking on {_booked(scene)} stays."


def _expire_booking(scene: Scene) -> str:
    return f"The router sweeps out the booking of {{request}} on {_booked(scene)}: it is too old."


def _start_stream(_: Scene) -> str:
    return "{worker} opens the response stream of {request} to the frontend, and computes its KV."


def _emit(scene: Scene) -> str:
    return f"{{worker}} sends token {scene.attempt.sent + 1} of {{request}} to the frontend."


def _finish(scene: Scene) -> str:
    freed = scene.freed()
    frees = f"; it frees {freed}" if freed else ""
    sends = "sends the finish reason to the frontend"
    return f"{{worker}} has generated all of {{request}}, and {sends}{frees}."


def _finish_with_last_token(scene: Scene) -> str:
    last, freed = scene.attempt.sent + 1, scene.freed()
    both = scene.before.protocol.send_last_tokens
    sent = "both" if both else f"the reason alone: token {last} is never sent"
    frees = f"; it frees {freed}" if freed else ""
    got = f"{{worker}} gets token {last}, the last of {{request}}, together with the finish reason"
    return f"{got}, and sends the frontend {sent}{frees}."


def _receive(scene: Scene) -> str:
    """Tokens are told from one on, and what is wrong with handing one on."""
    stream, position = scene.before.streams[scene.ids["request"]], scene.attempt.received
    gets = f"The frontend gets token {position + 1} of {{request}} ({{attempt}}) and"
    told = f"{gets} hands it on"
    if position < stream.delivered:
        return f"{told}; the client had it before."
    if position > stream.delivered:
        return f"{told}; the client never got token {stream.delivered + 1}."
    if stream.finished:
        return f"{told}, after the client was told that all had come."
    if position >= scene.before.max_tokens:
        return f"{told}, which is more than the client asked for."
    if scene.after.streams[scene.ids["request"]].withheld:
        return f"{gets} holds its text back, as that may begin a stop string."
    return f"{told} to the client."


def _receive_finish(scene: Scene) -> str:
    told = "The frontend gets the finish reason of {request}, and hands it to the client"
    stream = scene.before.streams[scene.ids["request"]]
    missing = range(stream.delivered, scene.before.tokens)
    if missing:
        told = f"{told}, who never got token {missing[0] + 1}"
    if scene.after.requests[scene.ids["request"]].phase is Phase.DONE:
        return f"{told}: {{request}} is done."
    return f"{told}; the stream is still to end."


def _receive_end(_: Scene) -> str:
    return "The stream of {request} ends as it should: {request} is done."


def _late_token(scene: Scene) -> str:
    late = "The token of the step that was in flight reaches {worker} after {request} resumed"
    if scene.before.protocol.fence_steps:
        return f"{late}, and is dropped."
    number = scene.attempt.sent + 1
    return f"{late}: it goes to the client as token {number}, which {{worker}} still counts as due."


SERVING: Final[Mapping[str, Callable[[Scene], str]]] = {
    "leave": _leave,
    "dispatch": _dispatch,
    "dispatch_without_prefill": _dispatch_without_prefill,
    "dispatch_decode": _dispatch_decode,
    "nobody_left": _nobody_left,
    "refuse": _refuse,
    "notice": _notice,
    "cancel_pending": _cancel_pending,
    "release_booking": _release_booking,
    "lost_release": _lost_release,
    "expire_booking": _expire_booking,
    "start_stream": _start_stream,
    "emit": _emit,
    "finish": _finish,
    "finish_with_last_token": _finish_with_last_token,
    "receive": _receive,
    "receive_finish": _receive_finish,
    "receive_end": _receive_end,
    "late_token": _late_token,
}
