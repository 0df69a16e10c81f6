"""What a step came to, in words: a sentence of a transition speaks of all that it may come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import frozen

from rackproof.model.endpoint import CLOSED
from rackproof.model.kernel import Firing
from rackproof.model.kv import Hold
from rackproof.model.picture.cast import Cast
from rackproof.model.picture.scene import Scene
from rackproof.model.protocol import AfterGap, Transfer
from rackproof.model.request import Phase
from rackproof.model.sorts import Blocks, Requests
from rackproof.model.stream import Stage

FATES: Final = {
    Phase.QUEUED: "{request} is to be sent again",
    Phase.FAILED: "{request} fails, and its client gets an error",
    Phase.CANCELLED: "{request} ends as cancelled",
    Phase.DONE: "{request} is done, as all its tokens were delivered",
}
"""What becomes of a request by a step that is not about its end."""
ENDS: Final = ("leave", "receive_end", "receive_finish")
"""Steps whose sentence says what becomes of the request."""


@frozen
class Outcomes:
    """The sentence of a step, with its placeholders."""

    cast: Cast

    def __call__(self, before: Any, firing: Firing, after: Any) -> str:
        """Look up what it came to in the states around the step."""
        parameters = (name for name, _ in firing.transition.parameters)
        ids: Mapping[str, int] = dict(zip(parameters, firing.arguments, strict=True))
        scene = Scene(self.cast, before, after, ids)
        told = OUTCOMES.get(firing.transition.name)
        sentence = told(scene) if told else firing.transition.sentence
        fate = _fate(scene) if firing.transition.name not in ENDS else None
        return f"{sentence.rstrip('.')}: {fate}." if fate else sentence


def _fate(scene: Scene) -> str | None:
    """What becomes of the request, where that is another thing than before."""
    if "request" not in scene.ids:
        return None
    number = scene.ids["request"]
    was, now = (world.requests[number].phase for world in (scene.before, scene.after))
    return FATES.get(now) if was is not now else None


def _dispatch(scene: Scene) -> str:
    request, endpoint = scene.ids["request"], scene.before.endpoints[scene.ids["worker"]]
    retry = scene.before.retries[request]
    if retry.booked:
        return "The router is to send {request} again, but still has it booked on a worker"
    again = " again," if retry.dispatches else ""
    sent = f"The router sends {{request}}{again} to {{worker}}"
    if endpoint.process in CLOSED:
        return f"{sent}, which cannot be reached."
    if endpoint.busy:
        return f"{sent}, which is full and refuses it."
    return f"{sent}, which accepts it."


def _refuse(scene: Scene) -> str:
    malformed = scene.before.requests[scene.ids["request"]].malformed
    why = "as malformed" if malformed else "because no token is left to generate"
    return f"{{worker}} refuses {{request}} {why}."


def _admit(scene: Scene) -> str:
    took = "{worker} allocates {block} for {request}"
    stage = scene.after.streams[scene.ids["request"]].attempts[scene.ids["attempt"]].stage
    if stage is Stage.OVER:
        return f"{took}, finds that its KV is no longer held for it, and reports an error."
    if stage is not Stage.LOADING:
        return f"{took}, and has its KV without a transfer."
    if scene.load_after.flying:
        return f"{took}, and begins to read its KV."
    pushed = scene.before.protocol.transfer is Transfer.PUSH
    return f"{took}, and waits for its KV to be {'written' if pushed else 'ready'}."


def _slow_read(scene: Scene) -> str:
    wanted = "The KV of {request} is wanted for longer than its lease"
    if scene.load_after.hold is not Hold.FREED or scene.load.source is None:
        return f"{wanted}, which heartbeats extend or nobody counts."
    return f"{wanted}, which expires: {scene.called(Blocks, scene.load.source)} is freed."


def _land(scene: Scene) -> str:
    landed = "A posted transfer of {request} from {source} to {target} lands"
    read = scene.before.blocks[scene.ids["source"]].content
    if read == scene.ids["request"]:
        return f"{landed}."
    content = "nothing of use" if read is None else f"the KV of {scene.called(Requests, read)}"
    return f"{landed}; what it brings is {content}, as that is what {{source}} holds by now."


def _load_ends(scene: Scene) -> str:
    if scene.attempt.stage is not Stage.LOADING:
        return "The engine with {target} sees the transfers of {request}, which was aborted, end."
    after = scene.after.streams[scene.ids["request"]].attempts[scene.ids["attempt"]]
    if after.stage is Stage.OVER:
        return "The engine with {target} finds that the load of {request} failed, and says so."
    decodes = "The engine with {target} takes the load of {request} for complete, and decodes"
    content = scene.after.blocks[scene.ids["target"]].content
    if content in (None, scene.ids["request"]):
        return f"{decodes}."
    return f"{decodes} from the KV of {scene.called(Requests, content)}."


def _abort(scene: Scene) -> str:
    heard = "{worker} hears that {request} was given up"
    after = scene.after.streams[scene.ids["request"]].attempts[scene.ids["attempt"]]
    if after.deaf:
        return f"{heard} while it is still in its queue, and forgets that."
    if scene.load_after.killed and not scene.load.killed:
        return f"{heard}, and breaks off the transfer that is under way."
    if after.stage is not Stage.OVER:
        return f"{heard}, and does nothing yet."
    return f"{heard}, and aborts it."


def _emit(scene: Scene) -> str:
    return f"{{worker}} emits token {scene.attempt.sent + 1} of {{request}}."


def _receive(scene: Scene) -> str:
    """Tokens are told from one on, and what is wrong with handing one on."""
    stream, position = scene.before.streams[scene.ids["request"]], scene.attempt.received
    told = f"The frontend gets token {position + 1} of {{request}} ({{attempt}}) and hands it on"
    if position < stream.delivered:
        return f"{told}; the client had it before."
    if position > stream.delivered:
        return f"{told}; the client never got token {stream.delivered + 1}."
    if stream.finished:
        return f"{told}, after the client was told that all had come."
    return f"{told} to the client."


def _finish_with_last_token(scene: Scene) -> str:
    both = scene.before.protocol.send_last_tokens
    sent = "both" if both else "the reason alone"
    got = "{worker} gets the last token of {request} together with the finish reason"
    return f"{got}, and sends on {sent}."


def _answer(scene: Scene) -> str:
    kept = scene.before.protocol.after_gap is AfterGap.REPLAY
    told = "the events that it kept" if kept else "all it holds"
    return f"{{worker}} answers the router with {told}."


def _take_answer(scene: Scene) -> str:
    refused = scene.before.known[scene.ids["worker"]].answer.refused
    then = "and asks again" if refused else "and follows its events from there on"
    return f"The router has the answer of {{worker}}, {then}."


def _nobody_left(_: Scene) -> str:
    return "No worker can be chosen for {request}."


OUTCOMES: Final[Mapping[str, Callable[[Scene], str]]] = {
    "dispatch": _dispatch,
    "nobody_left": _nobody_left,
    "refuse": _refuse,
    "admit": _admit,
    "slow_read": _slow_read,
    "land": _land,
    "load_ends": _load_ends,
    "emit": _emit,
    "receive": _receive,
    "abort": _abort,
    "finish_with_last_token": _finish_with_last_token,
    "answer": _answer,
    "take_answer": _take_answer,
}
"""By the name of a transition that may come to different things."""
