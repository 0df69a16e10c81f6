"""What a step came to, in words: a sentence of a transition speaks of all that it may come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from rackproof.model.kernel import Firing
from rackproof.model.picture.cast import Cast
from rackproof.model.picture.outcomes.indexed import INDEXED
from rackproof.model.picture.outcomes.linked import LINKED
from rackproof.model.picture.outcomes.serving import SERVING
from rackproof.model.picture.outcomes.stored import STORED
from rackproof.model.picture.outcomes.transfers import TRANSFERS
from rackproof.model.picture.outcomes.workers import WORKERS
from rackproof.model.picture.scene import Scene
from rackproof.model.request import Phase
from rackproof.model.sorts import Workers

OUTCOMES: Final[Mapping[str, Callable[[Scene], str]]] = {
    **SERVING,
    **TRANSFERS,
    **WORKERS,
    **INDEXED,
    **LINKED,
    **STORED,
}
"""By the name of a transition that may come to different things."""
FATES: Final = {
    Phase.QUEUED: "{request} is to be sent again",
    Phase.FAILED: "{request} fails, and its client gets an error",
    Phase.CANCELLED: "{request} ends as cancelled",
    Phase.DONE: "{request} is done, as all its tokens were delivered",
}
"""What becomes of a request by a step that is not about its end."""
ENDS: Final = ("leave", "receive_end", "receive_finish")
"""Steps whose sentence says what becomes of the request."""
MARKS: Final = ("restore", "half_open", "report_load", "clear_mark", "restart")
"""Steps whose sentence says what the router holds against a worker."""


@frozen
class Outcomes:
    """The sentence of a step, with its placeholders."""

    cast: Cast

    def __call__(self, before: Any, firing: Firing, after: Any) -> str:
        """Look up what it came to in the states around the step."""
        name = firing.transition.name
        parameters = (parameter for parameter, _ in firing.transition.parameters)
        ids: Mapping[str, int] = dict(zip(parameters, firing.arguments, strict=True))
        scene = Scene(self.cast, before, after, ids)
        told = OUTCOMES.get(name)
        sentence = told(scene) if told else firing.transition.sentence
        fate = _fate(scene) if name not in ENDS else None
        if fate is not None:
            sentence = f"{sentence.rstrip('.')}{'; ' if ':' in sentence else ': '}{fate}."
        marks = "; ".join(_marks(scene)) if name not in MARKS else ""
        return f"{sentence.rstrip('.')}; {marks}." if marks else sentence


def _fate(scene: Scene) -> str | None:
    """What becomes of the request, where that is another thing than before."""
    if "request" not in scene.ids:
        return None
    number = scene.ids["request"]
    was, now = (world.requests[number].phase for world in (scene.before, scene.after))
    return FATES.get(now) if was is not now else None


def _marks(scene: Scene) -> Iterator[str]:
    """What the router begins to hold against workers, or no longer does."""
    pairs = zip(scene.before.endpoints, scene.after.endpoints, strict=True)
    for worker, (was, now) in enumerate(pairs):
        name = scene.called(Workers, worker)
        if now.inhibited and not was.inhibited:
            yield f"the router inhibits {name}"
        if was.inhibited and not now.inhibited:
            yield f"the router no longer inhibits {name}"
        if now.overloaded and not was.overloaded:
            yield f"the router marks {name} as overloaded"
